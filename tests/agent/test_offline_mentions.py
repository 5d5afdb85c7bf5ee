"""Files that a prompt names with ``@``: the offline assistant reads them and quotes them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.agent.test_offline_agent import agent_over, assert_quotes_are_real, quotes
from tui_app.agent.offline.turn import understand
from tui_app.context.counting.attachments import file_content

NOTES = "The tide turns at noon.\nBring a lamp.\n"
SPACED = "def lantern():\n    return 'oil'\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text(NOTES)
    (tmp_path / "my file.py").write_text(SPACED)
    (tmp_path / "Makefile").write_text("all:\n\techo built\n")
    (tmp_path / "shore.md").write_text("See notes.txt for the tide of the harbour.\n")
    (tmp_path / "cards.py").write_text("class Card:\n    @property\n    def suit(self): ...\n")
    return tmp_path


async def ask(folder: Path, prompt: str, attached: Sequence[str] = ()) -> tuple[str, list[str]]:
    """The answer to a prompt that brings files along, and the paths that were read or looked for."""
    files = [file_content(path, (folder / path).read_text()) for path in attached]
    result = await agent_over(folder).run([prompt, *files])
    calls = [call for message in result.all_messages() for call in getattr(message, "tool_calls", ())]
    return result.output, [f"{each.tool_name} {next(iter(each.args_as_dict().values()))}" for each in calls]


@pytest.mark.parametrize("attached", [True, False])
@pytest.mark.parametrize(
    ("prompt", "path"),
    [
        ("read @notes.txt", "notes.txt"),
        ("read @./notes.txt", "./notes.txt"),
        ("please read @notes.txt.", "notes.txt"),
        ("read @notes.txt?", "notes.txt"),
        ("read (@notes.txt)!", "notes.txt"),
        ("cat `@notes.txt`", "notes.txt"),
        ('read "@notes.txt"', "notes.txt"),
        ('read @"my file.py"', "my file.py"),
        ('show me @"my file.py".', "my file.py"),
        ("read @Makefile", "Makefile"),
    ],
)
async def test_a_mention_is_the_path_without_its_sign(
    folder: Path, prompt: str, path: str, attached: bool
) -> None:
    text, calls = await ask(folder, prompt, [path] if attached else [])
    assert calls == [f"read_file {path}"]
    assert assert_quotes_are_real(folder, text) == [path.removeprefix("./")]


@pytest.mark.parametrize(
    "prompt",
    [
        'read @notes.txt  and @"my file.py"',
        'read @notes.txt, @"my file.py".',
        'show the files @notes.txt @"my file.py"',
        'read @notes.txt and then @"my file.py" for me',
        'compare @notes.txt with @"my file.py"!',
    ],
)
@pytest.mark.parametrize("attached", [True, False])
async def test_all_files_that_are_mentioned_are_quoted(folder: Path, prompt: str, attached: bool) -> None:
    text, calls = await ask(folder, prompt, ["notes.txt", "my file.py"] if attached else [])
    assert calls[:2] == ["read_file notes.txt", "read_file my file.py"]
    assert assert_quotes_are_real(folder, text)[:2] == ["notes.txt", "my file.py"]


async def test_of_several_files_the_missing_one_is_named(folder: Path) -> None:
    text, _ = await ask(folder, "read @notes.txt and @gone.txt", ["notes.txt"])
    assert "There is no file 'gone.txt'. No file here has that name." in text
    assert assert_quotes_are_real(folder, text) == ["notes.txt"]
    text, _ = await ask(folder, "read @lost.txt and @gone.txt")
    assert "There is no file 'lost.txt'." in text
    assert "There is no file 'gone.txt'." in text


async def test_an_empty_file_is_said_to_be_empty(folder: Path) -> None:
    (folder / "bare.txt").write_text("")
    for prompt in ("read @bare.txt", "read bare.txt", "read @bare.txt and @notes.txt", "explain @bare.txt"):
        text, _ = await ask(folder, prompt)
        assert "bare.txt is empty." in text
        assert ("The tide" in text) == ("@notes" in prompt)


async def test_lines_of_a_range_are_those_of_the_mention(folder: Path) -> None:
    for prompt in ('read @"my file.py" lines 2-2', 'read @"my file.py":2', 'show line 2 of @"my file.py"'):
        text, _ = await ask(folder, prompt, ["my file.py"])
        assert quotes(text) == [("my file.py", 2, 2, ["    return 'oil'"])]


async def test_a_question_is_answered_from_the_mentioned_file_first(folder: Path) -> None:
    text, _ = await ask(folder, "When does the tide turn, says @notes.txt?", ["notes.txt"])
    assert assert_quotes_are_real(folder, text)[0] == "notes.txt"
    assert quotes(text)[0][3][0] == "The tide turns at noon."
    text, _ = await ask(folder, "what does @notes.txt say?", ["notes.txt"])
    assert assert_quotes_are_real(folder, text)[0] == "notes.txt"
    text, _ = await ask(folder, "search for lamp in @notes.txt", ["notes.txt"])
    assert quotes(text)[0][:2] == ("notes.txt", 2)


async def test_a_question_about_the_conversation_reads_the_mentioned_file_too(folder: Path) -> None:
    text, _ = await ask(folder, "what did I say about the budget year, see @notes.txt", ["notes.txt"])
    assert "#7 user: Our budget year starts in April." in text
    assert assert_quotes_are_real(folder, text) == ["notes.txt"]


async def test_signs_belong_to_a_file_that_is_called_so(folder: Path) -> None:
    (folder / "odd.txt!").write_text("an odd name\n")
    for prompt in ('read @"odd.txt!"', "read @odd.txt!"):
        text, _ = await ask(folder, prompt)
        assert assert_quotes_are_real(folder, text) == ["odd.txt!"]


@pytest.mark.parametrize(
    "prompt",
    [
        "who is me@example.org?",
        "what does @property do?",
        "where is @cached.setter used",
        'what is @app.get("/") for?',
        "what does @babel/core do?",
        "@ alone, and @, too",
    ],
)
async def test_addresses_and_decorators_are_no_files(folder: Path, prompt: str) -> None:
    text, calls = await ask(folder, prompt)
    assert understand(prompt).files == ()
    assert "There is no file" not in text
    read = [call.removeprefix("read_file ") for call in calls if call.startswith("read_file ")]
    assert all((folder / path).is_file() for path in read)


async def test_a_decorator_of_the_project_is_not_said_to_be_missing(folder: Path) -> None:
    (folder / "tools.py").write_text("import app\n\n@app.task\ndef sweep(): ...\n")
    text, _ = await ask(folder, "what does @app.task mark?")
    assert "There is no file" not in text
    assert "tools.py" in assert_quotes_are_real(folder, text)
    text, _ = await ask(folder, "what is in @gone.py?")
    assert "There is no file 'gone.py'." in text


def test_orders_take_a_mention_for_its_path() -> None:
    assert understand("write @notes.txt: one").path == "notes.txt"
    assert understand('write @"my notes.txt": one').path == "my notes.txt"
    assert understand("ls @src/").path == "src/"
    assert understand("run: pip install a @ b").pattern == "pip install a @ b"
