"""The offline assistant, in a real agent on a real folder, with all connections refused."""

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent, AgentRunResultEvent, CancellationToken
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    CompactionPart,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from tui_app.agent.instructions.instructions import system_instructions
from tui_app.agent.offline.answer import next_steps, ranked, term_pattern
from tui_app.agent.offline.model import CannotAnswerOffline, OfflineModel
from tui_app.agent.offline.turn import (
    INTRODUCTION,
    MAX_TERMS,
    Found,
    Passage,
    Question,
    passages,
    read_turn,
    understand,
)
from tui_app.agent.tools.history import HistoryHit
from tui_app.agent.tools.lookup import build_toolset
from tui_app.agent.tools.workspace import Workspace
from tui_app.context.counting.attachments import file_content, picture_content, piped_content
from tui_app.conversation.approvals import Approvals

FILES = {
    "README.md": "# Ledger\n\nLedger reads bank statements and sorts payments into budgets.\n\n## Use\n",
    "pyproject.toml": '[project]\nname = "ledger"\ndescription = "Sorts payments into budgets"\n',
    "ledger/importer.py": (
        "import csv\n\n\ndef parse_statement(path):\n    # Sunday bookings count for Monday.\n"
        "    return [row for row in csv.reader(open(path))]\n"
    ),
    "ledger/budget.py": (
        "class Budget:\n    limit = 100\n\n    def overdrawn(self, spent):\n        return spent > 1\n"
    ),
    "notes/todo.txt": "ask about the sunday rule\nbudget limits per month\n",
    "notes/odd.md": "```\nfence `inside` sunday fence\n```\n",
}


@dataclass
class Talk:
    """A history of two messages."""

    hits: Sequence[HistoryHit] = (
        HistoryHit(7, "user", "Our budget year starts in April."),
        HistoryHit(12, "assistant", "Noted."),
    )

    def search(self, words: str, limit: int = 8) -> Sequence[HistoryHit]:
        wanted = words.lower().split()
        return [hit for hit in self.hits if any(word in hit.text.lower() for word in wanted)][:limit]

    def fetch(self, seq: int, session: str = "") -> HistoryHit | None:
        return next((hit for hit in self.hits if hit.seq == seq), None)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("the offline model connected to something")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def agent_over(
    project: Path, model: OfflineModel | None = None, talk: Talk | None = None
) -> Agent[object, str]:
    workspace = Workspace(project)
    return Agent(
        model or OfflineModel(),
        toolsets=[build_toolset(workspace, talk or Talk(), Approvals(print))],
        instructions=system_instructions(),
    )


async def ask(
    project: Path, prompt: str, history: Sequence[ModelMessage] = ()
) -> tuple[str, list[ToolCallPart], list[ModelMessage]]:
    """Run one streamed turn; returns the answer, the tool calls and all messages."""
    calls: list[ToolCallPart] = []
    returned: list[str] = []
    async with agent_over(project).run_stream_events(prompt, message_history=list(history)) as events:
        async for event in events:
            if isinstance(event, FunctionToolCallEvent):
                calls.append(event.part)
            elif isinstance(event, FunctionToolResultEvent):
                returned.append(event.tool_call_id)
            elif isinstance(event, AgentRunResultEvent):
                assert sorted(returned) == sorted(call.tool_call_id for call in calls)
                return event.result.output, calls, event.result.all_messages()
    raise AssertionError("the run ended without a result")


def quotes(text: str) -> list[tuple[str, int, int, list[str]]]:
    """Return the quotes in an answer: path, first line, last line, text."""
    found = re.findall(r"^`([^`\n]+?):(\d+)(?:-(\d+))?`[^\n]*\n(`{3,})text\n(.*?)\n\4$", text, re.M | re.S)
    return [(path, int(a), int(b or a), body.split("\n")) for path, a, b, _, body in found]


def assert_quotes_are_real(project: Path, text: str) -> list[str]:
    """Check every quoted line against its file, and return the quoted paths."""
    found = quotes(text)
    assert found, text
    for path, first, last, body in found:
        assert body == (project / path).read_text().split("\n")[first - 1 : last]
    return [path for path, *_ in found]


@pytest.mark.usefixtures("no_network")
async def test_what_a_project_does_is_answered_from_its_own_files(project: Path) -> None:
    text, calls, _ = await ask(project, "What does this project do?")
    paths = assert_quotes_are_real(project, text)
    assert paths[0] == "README.md", "what names the project comes first"
    assert "Ledger reads bank statements and sorts payments into budgets." in text
    assert 'description = "Sorts payments into budgets"' in text
    assert "ls" in {call.tool_name for call in calls}


@pytest.mark.usefixtures("no_network")
async def test_what_a_project_is_comes_before_lines_that_hold_the_words_of_the_question(
    project: Path,
) -> None:
    (project / "README.md").write_text(
        '# Ledger\n\nLedger reads bank statements.\n\n    ledger ask "what does this project do?"\n\n'
        "See what this needs, and what leaves this machine.\n"
    )
    for name in ("CONTRIBUTING.md", "notes/rules.txt", "notes/more.txt", "notes/others.txt"):
        (project / name).write_text("Write in this project what each change does.\n")
    text, _, _ = await ask(project, "what does this project do?")
    assert_quotes_are_real(project, text)
    path, first, _, body = quotes(text)[0]
    assert (path, first, body[2]) == ("README.md", 1, "Ledger reads bank statements.")
    echo = [place for place in quotes(text) if place[:2] == ("README.md", 5)]
    assert not echo, "who asks the same does not answer"


@pytest.mark.usefixtures("no_network")
async def test_a_folder_is_introduced_by_how_its_introduction_begins(tmp_path: Path) -> None:
    filler = "".join(f"Line {number}.\n" for number in range(60))
    (tmp_path / "README.md").write_text(
        f"# Ledger\n\n{filler}\nSee what leaves this machine, and what it does.\n"
    )
    text, _, _ = await ask(tmp_path, "what does this project do?")
    assert quotes(text)[0][:2] == ("README.md", 1)


@pytest.mark.usefixtures("no_network")
async def test_what_was_read_before_a_compaction_is_not_read_again(project: Path) -> None:
    _, calls, messages = await ask(project, "When do Sunday bookings count?")
    assert calls[-1].tool_name == "read_file"
    # Only the question and the last round of the turn remain.
    turn = read_turn([messages[0], *messages[3:5]])
    assert turn.rounds == 1
    assert next_steps(turn, {"grep", "read_file"}) == []


@pytest.mark.usefixtures("no_network")
async def test_any_folder_of_text_files_has_an_answer(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    text, _, _ = await ask(tmp_path, "what does this project do?")
    assert "letters/" in text, "what it holds"
    (tmp_path / "one.txt").write_text("Dear Ann,\nthe roof leaks.\n")
    text, _, _ = await ask(tmp_path, "Was macht dieses Projekt?")
    assert assert_quotes_are_real(tmp_path, text) == ["one.txt"]


@pytest.mark.usefixtures("no_network")
async def test_an_empty_folder_is_said_to_hold_nothing(tmp_path: Path) -> None:
    text, calls, _ = await ask(tmp_path, "what does this project do?")
    assert calls
    assert "This folder has no files to search." in text
    assert not quotes(text)


@pytest.mark.usefixtures("no_network")
async def test_a_question_is_answered_with_the_lines_that_fit_best(project: Path) -> None:
    text, calls, _ = await ask(project, "How are sunday bookings handled by the statement parser?")
    paths = assert_quotes_are_real(project, text)
    assert paths[0] == "ledger/importer.py"
    assert "# Sunday bookings count for Monday." in text
    assert "grep" in {call.tool_name for call in calls}


@pytest.mark.usefixtures("no_network")
async def test_a_name_from_code_is_found_where_it_is_defined(project: Path) -> None:
    text, _, _ = await ask(project, "where is `parse_statement` defined?")
    assert quotes(text)[0][:2] == ("ledger/importer.py", 4)


@pytest.mark.usefixtures("no_network")
async def test_quotes_that_hold_fences_stay_quotes(project: Path) -> None:
    text, _, _ = await ask(project, "read notes/odd.md")
    assert "````text\n```\nfence `inside` sunday fence\n```\n````" in text


@pytest.mark.usefixtures("no_network")
async def test_nothing_found_is_said_with_where_it_looked(project: Path) -> None:
    text, calls, _ = await ask(project, "How does the flubberwock work?")
    assert "I found nothing for `flubberwock`, `work`" in text
    assert assert_quotes_are_real(project, text)[0] == "README.md", "what the folder is about"
    assert {call.tool_name for call in calls} == {"grep", "glob", "ls", "search_history", "read_file"}


@pytest.mark.usefixtures("no_network")
async def test_what_a_project_is_about_ends_with_why_it_is_quoted(tmp_path: Path) -> None:
    for name, text in (("README.md", "# Tides\n"), (".gitignore", "*.pyc\n"), ("AGENTS.md", "Be brief.\n")):
        (tmp_path / name).write_text(text)
    text, _, _ = await ask(tmp_path, "how is it done?")
    assert assert_quotes_are_real(tmp_path, text) == ["README.md", "AGENTS.md"]
    assert text.splitlines()[-1].startswith(
        "I found nothing for `done`, `how`, so I quote how files here begin."
    )


@pytest.mark.usefixtures("no_network")
async def test_a_file_is_found_by_its_name_when_no_line_fits(project: Path) -> None:
    (project / "notes" / "zebra.txt").write_text("black and white\n")
    text, _, _ = await ask(project, "anything on zebra?")
    assert assert_quotes_are_real(project, text)[0] == "notes/zebra.txt"


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    ("prompt", "call"),
    [
        ("list files", ("ls", {"path": "."})),
        ("ls ledger", ("ls", {"path": "ledger"})),
        ("read notes/todo.txt", ("read_file", {"path": "notes/todo.txt", "start": 1, "lines": 200})),
        ("read README.md:2-4", ("read_file", {"path": "README.md", "start": 2, "lines": 3})),
        ("read ledger/budget.py:2", ("read_file", {"path": "ledger/budget.py", "start": 2, "lines": 1})),
        ("find *.py", ("glob", {"pattern": "*.py"})),
        ("grep limit", ("grep", {"pattern": "limit", "ignore_case": True, "limit": 60})),
    ],
)
async def test_plain_commands_are_done_with_one_call(
    project: Path, prompt: str, call: tuple[str, dict[str, object]]
) -> None:
    _, calls, _ = await ask(project, prompt)
    assert [(each.tool_name, each.args_as_dict()) for each in calls] == [call]


@pytest.mark.usefixtures("no_network")
async def test_a_range_is_quoted_exactly(project: Path) -> None:
    text, _, _ = await ask(project, "read ledger/budget.py:2-4")
    assert quotes(text) == [
        ("ledger/budget.py", 2, 4, ["    limit = 100", "", "    def overdrawn(self, spent):"])
    ]


@pytest.mark.usefixtures("no_network")
async def test_a_bare_file_name_is_found_wherever_it_is(project: Path) -> None:
    text, calls, _ = await ask(project, "read budget.py")
    assert [call.tool_name for call in calls] == ["read_file", "glob", "read_file"]
    assert assert_quotes_are_real(project, text) == ["ledger/budget.py"]


@pytest.mark.usefixtures("no_network")
async def test_a_path_outside_is_refused_and_said(project: Path) -> None:
    text, _, _ = await ask(project, "read ../../etc/passwd")
    assert "outside the workspace" in text
    assert "root:" not in text


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [
        ("read nope.py", "There is no file 'nope.py'."),
        ("read notes/nope.py", "There is no file 'notes/nope.py'."),
        ("read ../../etc/passwd", "'../../etc/passwd' is outside the workspace."),
        ("read notes", "'notes' is a folder."),
        ("ls nowhere", "There is no folder 'nowhere'."),
        ("what is in nope.py?", "There is no file 'nope.py'."),
    ],
)
async def test_what_is_missing_is_said_in_a_sentence(project: Path, prompt: str, sentence: str) -> None:
    text, _, _ = await ask(project, prompt)
    assert text.removeprefix(INTRODUCTION).strip().startswith(sentence)
    assert "{" not in text
    assert "glob" not in text, "that is advice for a model"


@pytest.mark.usefixtures("no_network")
async def test_the_turn_under_way_is_no_find_in_the_conversation(project: Path) -> None:
    prompt = "what is in nope.py?"
    hits = (
        HistoryHit(3, "user", "Rename nope.py to yes.py."),
        HistoryHit(8, "user", prompt),
        HistoryHit(9, "read_file", '{"error":"There is no file nope.py"}'),
    )
    agent = agent_over(project, talk=Talk(hits))
    text = (await agent.run(prompt)).output
    assert "#3 user: Rename nope.py to yes.py." in text
    assert "#8" not in text
    assert "#9" not in text
    alone = (await agent_over(project, talk=Talk(hits[1:])).run(prompt)).output
    assert "I found nothing for `nope.py`" in alone
    assert "From this conversation" not in alone


@pytest.mark.usefixtures("no_network")
async def test_a_question_about_the_conversation_searches_it(project: Path) -> None:
    text, calls, _ = await ask(project, "What did I say earlier about the budget year?")
    assert "search_history" in {call.tool_name for call in calls}
    assert "#7 user: Our budget year starts in April." in text


@pytest.mark.usefixtures("no_network")
async def test_a_handle_is_brought_back_whole(project: Path) -> None:
    text, calls, _ = await ask(project, "What was in #12?")
    assert calls[0].args_as_dict() == {"query": "#12"}
    assert "#12 assistant:\nNoted." in text


@pytest.mark.usefixtures("no_network")
async def test_it_says_what_it_is_once(project: Path) -> None:
    first, _, messages = await ask(project, "list files")
    second, _, _ = await ask(project, "list files", messages)
    assert first.startswith(INTRODUCTION)
    assert INTRODUCTION not in second


@pytest.mark.usefixtures("no_network")
async def test_the_same_history_gives_the_same_bytes(project: Path) -> None:
    prompt = "How are sunday bookings handled?"
    texts = [(await ask(project, prompt))[0] for _ in range(3)]
    assert len(set(texts)) == 1


@pytest.mark.usefixtures("no_network")
async def test_equal_questions_get_different_call_ids(project: Path) -> None:
    _, first, messages = await ask(project, "list files")
    _, second, _ = await ask(project, "list files", messages)
    assert first[0].tool_call_id != second[0].tool_call_id


@pytest.mark.usefixtures("no_network")
async def test_streamed_and_whole_answers_are_equal_in_text_and_usage(project: Path) -> None:
    prompt = "How are sunday bookings handled?"
    streamed, _, messages = await ask(project, prompt)
    whole = await agent_over(project).run(prompt)
    assert whole.output == streamed
    last = messages[-1]
    assert isinstance(last, ModelResponse)
    assert last.usage == whole.response.usage
    assert (last.model_name, last.provider_name, last.finish_reason) == ("extractive", "offline", "stop")


@pytest.mark.usefixtures("no_network")
async def test_the_answer_comes_in_small_pieces(project: Path) -> None:
    pieces: list[str] = []
    async with agent_over(project).run_stream_events("what does this project do?") as events:
        async for event in events:
            if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                pieces.append(event.delta.content_delta)
    assert len(pieces) > 10
    assert max(map(len, pieces)) < 200


@pytest.mark.usefixtures("no_network")
async def test_a_turn_cancelled_in_mid_answer_keeps_what_was_said(project: Path) -> None:
    token = CancellationToken()

    async def cancelled_at_the_first_words() -> None:
        async with agent_over(project).run_stream_events("list files", cancellation_token=token) as events:
            async for event in events:
                if isinstance(event, PartDeltaEvent):
                    token.cancel()

    with pytest.raises(RunCancelled) as cancelled:
        await cancelled_at_the_first_words()
    last = cancelled.value.all_messages()[-1]
    assert isinstance(last, ModelResponse)
    assert last.state == "interrupted"
    text, _, _ = await ask(project, "read notes/todo.txt", cancelled.value.all_messages())
    assert assert_quotes_are_real(project, text) == ["notes/todo.txt"]


@pytest.mark.usefixtures("no_network")
async def test_usage_grows_with_what_is_sent(project: Path) -> None:
    _, _, messages = await ask(project, "How are sunday bookings handled?")
    sent = [message.usage.input_tokens for message in messages if isinstance(message, ModelResponse)]
    assert sent == sorted(sent)
    assert sent[0] > 300
    returned = [part for m in messages for part in m.parts if isinstance(part, ToolReturnPart)]
    assert sent[-1] - sent[0] >= sum(len(part.model_response_str()) for part in returned) // 4


@pytest.mark.usefixtures("no_network")
async def test_the_window_is_the_one_that_governance_sees(project: Path) -> None:
    assert OfflineModel().context_window == 32_000
    assert OfflineModel(context_window=2_048).context_window == 2_048


@pytest.mark.usefixtures("no_network")
async def test_a_summary_in_the_history_is_not_taken_for_the_question(project: Path) -> None:
    summary = ModelRequest(parts=[CompactionPart("The user asked: read ledger/budget.py")])
    _, calls, _ = await ask(project, "read notes/todo.txt", [summary])
    assert [call.args_as_dict()["path"] for call in calls] == ["notes/todo.txt"]
    merged = ModelRequest(
        parts=[CompactionPart("old"), UserPromptPart("older words"), UserPromptPart("list files")]
    )
    result = await agent_over(project).run(message_history=[merged])
    assert "ledger/" in result.output


@pytest.mark.usefixtures("no_network")
async def test_a_very_long_prompt_is_answered(project: Path) -> None:
    prompt = "sunday bookings " + "lorem ipsum dolor " * 60_000 + " where is the sunday rule?"
    text, _, _ = await ask(project, prompt)
    assert "sunday" in text.lower()
    assert len(text) < 20_000


@pytest.mark.usefixtures("no_network")
async def test_control_characters_of_a_file_do_not_reach_the_answer(project: Path) -> None:
    (project / "evil.txt").write_text("sundayish \x1b[2J\x07 text\n")
    text, _, _ = await ask(project, "grep sundayish")
    assert "evil.txt:1" in text
    assert "\x1b" not in text
    assert "\x07" not in text


@pytest.mark.usefixtures("no_network")
async def test_without_tools_it_refuses_instead_of_pretending() -> None:
    agent = Agent(OfflineModel(), instructions="Summarise the conversation.")
    with pytest.raises(CannotAnswerOffline, match="cannot write summaries"):
        await agent.run("Summarise: ...")


@pytest.mark.usefixtures("no_network")
async def test_with_other_tools_only_it_says_that_it_cannot_look() -> None:
    def weather(city: str) -> str:
        """Tell the weather."""
        return city

    result = await Agent(OfflineModel(), tools=[weather]).run("read README.md")
    assert "None of my tools" in result.output


@pytest.mark.usefixtures("no_network")
async def test_structured_output_is_refused(project: Path) -> None:
    agent = Agent(
        OfflineModel(),
        output_type=int,
        toolsets=[build_toolset(Workspace(project), Talk(), Approvals(print))],
    )
    with pytest.raises(CannotAnswerOffline):
        await agent.run("how many files?")


# Files mentioned with ``@``: the offline assistant reads and quotes them.


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


async def offline_mentions_ask(
    folder: Path, prompt: str, attached: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """Return the answer to a prompt with attached files, and the paths that were read or searched."""
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
        ("read @notes.txt.", "notes.txt"),
        ("read @notes.txt?", "notes.txt"),
        ("read (@notes.txt)!", "notes.txt"),
        ("read `@notes.txt`", "notes.txt"),
        ('read "@notes.txt"', "notes.txt"),
        ('read @"my file.py"', "my file.py"),
        ("read @Makefile", "Makefile"),
    ],
)
async def test_a_mention_is_the_path_without_its_sign(
    folder: Path, prompt: str, path: str, attached: bool
) -> None:
    text, calls = await offline_mentions_ask(folder, prompt, [path] if attached else [])
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
    text, calls = await offline_mentions_ask(folder, prompt, ["notes.txt", "my file.py"] if attached else [])
    assert ("read_file notes.txt" in calls) != attached, "what came along is there"
    assert assert_quotes_are_real(folder, text)[:2] == ["notes.txt", "my file.py"]


async def test_of_several_files_the_missing_one_is_named(folder: Path) -> None:
    text, _ = await offline_mentions_ask(folder, "read @notes.txt and @gone.txt", ["notes.txt"])
    assert "There is no file 'gone.txt'." in text
    assert assert_quotes_are_real(folder, text) == ["notes.txt"]
    text, _ = await offline_mentions_ask(folder, "read @lost.txt and @gone.txt")
    assert "There is no file 'lost.txt'." in text
    assert "There is no file 'gone.txt'." in text


async def test_an_empty_file_is_said_to_be_empty(folder: Path) -> None:
    (folder / "bare.txt").write_text("")
    for prompt in ("read @bare.txt", "read bare.txt", "read @bare.txt and @notes.txt", "explain @bare.txt"):
        text, _ = await offline_mentions_ask(folder, prompt)
        assert "bare.txt is empty." in text
        assert ("The tide" in text) == ("@notes" in prompt)


async def test_lines_of_a_range_are_those_of_the_mention(folder: Path) -> None:
    for prompt in ('read @"my file.py":2-2', 'read @"my file.py":2'):
        text, _ = await offline_mentions_ask(folder, prompt, ["my file.py"])
        assert quotes(text) == [("my file.py", 2, 2, ["    return 'oil'"])]


async def test_a_question_is_answered_from_the_mentioned_file_first(folder: Path) -> None:
    text, _ = await offline_mentions_ask(folder, "When does the tide turn, says @notes.txt?", ["notes.txt"])
    assert assert_quotes_are_real(folder, text)[0] == "notes.txt"
    assert quotes(text)[0][3][0] == "The tide turns at noon."
    text, _ = await offline_mentions_ask(folder, "what does @notes.txt say?", ["notes.txt"])
    assert assert_quotes_are_real(folder, text)[0] == "notes.txt"
    text, _ = await offline_mentions_ask(folder, "lamp in @notes.txt", ["notes.txt"])
    assert quotes(text)[0][:2] == ("notes.txt", 2)


async def test_signs_belong_to_a_file_that_is_called_so(folder: Path) -> None:
    (folder / "odd.txt!").write_text("an odd name\n")
    for prompt in ('read @"odd.txt!"', "read @odd.txt!"):
        text, _ = await offline_mentions_ask(folder, prompt)
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
    text, calls = await offline_mentions_ask(folder, prompt)
    assert understand(prompt).files == ()
    assert "There is no file" not in text
    read = [call.removeprefix("read_file ") for call in calls if call.startswith("read_file ")]
    assert all((folder / path).is_file() for path in read)


async def test_a_decorator_of_the_project_is_not_said_to_be_missing(folder: Path) -> None:
    (folder / "tools.py").write_text("import app\n\n@app.task\ndef sweep(): ...\n")
    text, _ = await offline_mentions_ask(folder, "what does @app.task mark?")
    assert "There is no file" not in text
    assert "tools.py" in assert_quotes_are_real(folder, text)
    text, _ = await offline_mentions_ask(folder, "what is in @gone.py?")
    assert "There is no file 'gone.py'." in text


def test_orders_take_a_mention_for_its_path() -> None:
    assert order("write @notes.txt: one")["path"] == "notes.txt"
    assert order('write @"my notes.txt": one')["path"] == "my notes.txt"
    assert order("ls @src/")["path"] == "src/"
    assert order("run: pip install a @ b")["command"] == "pip install a @ b"


def order(prompt: str) -> dict[str, object]:
    found = understand(prompt).order
    assert found is not None
    return found.args


# Classifying prompts, and ranking lines.


@pytest.mark.parametrize(
    ("prompt", "tool"),
    [
        ("list files", "ls"),
        ("list all the files", ""),
        ("read Makefile", "read_file"),
        ("read the Makefile", ""),
        ("find **/*.md", "glob"),
        ("find the port", ""),
        ("grep overdraft fee", "grep"),
        ("what was in #12?", "search_history"),
        ("", ""),
    ],
)
def test_commands_have_one_form(prompt: str, tool: str) -> None:
    found = understand(prompt).order
    assert (found.tool if found else "") == tool


def test_terms_are_the_telling_words_code_names_first() -> None:
    question = understand(
        "How does the importer handle `sunday rule` when parse_row() sees dates in import.py?"
    )
    assert question.terms[:3] == ("sunday rule", "import.py", "parse_row")
    assert "importer" in question.terms
    assert question.files == ("import.py",)


@pytest.mark.parametrize(
    ("term", "line"),
    [
        ("compaction", "def compact(view):"),
        ("bookings", "a booking"),
        ("cat", "the cat sat"),
        ("a.b", "x = a.b"),
    ],
)
def test_a_pattern_meets_other_forms_of_the_word(term: str, line: str) -> None:
    assert re.search(term_pattern(term), line)


def test_a_short_term_does_not_match_inside_words() -> None:
    assert not re.search(term_pattern("cat"), "concatenate")


@given(st.text(max_size=400))
def test_any_prompt_is_understood_and_gives_valid_patterns(prompt: str) -> None:
    question = understand(prompt)
    assert len(question.terms) <= MAX_TERMS
    for term in question.terms:
        re.compile(term_pattern(term))


def test_lines_are_collected_once_and_the_whole_line_wins() -> None:
    found = [
        Found("grep", {}, "a.py:2: start …[line cut]\nb.py:1: other\n[more hits exist]", True),
        Found("read_file", {"path": "./a.py"}, "1\tfirst\n2\tstart and end", True),
        Found("read_file", {"path": "gone.py"}, "1\tnot a file", False),
    ]
    assert passages(found) == [
        Passage("a.py", 1, "first"),
        Passage("a.py", 2, "start and end"),
        Passage("b.py", 1, "other"),
    ]


def asked(*terms: str) -> Question:
    return Question(terms=terms, words=terms)


def test_rare_words_and_definitions_rank_first() -> None:
    lines = [
        Passage("a.py", 1, "budget budget budget"),
        Passage("a.py", 2, "the budget of the year"),
        Passage("b.py", 1, "x = overdraft(1)"),
        Passage("b.py", 2, "def overdraft(fee)"),
        Passage("c.py", 1, "nothing of it"),
        *(Passage("d.py", number, f"budget {number}") for number in range(1, 6)),
    ]
    order = ranked(lines, asked("overdraft", "budget"))
    assert order[0] == lines[3]
    assert lines[4] not in order
    assert ranked([], asked("x")) == []
    assert ranked(lines, asked()) == []


@pytest.mark.parametrize(
    ("prompt", "args"),
    [
        ("run: pytest -q", {"command": "pytest -q"}),
        ("Run:ls | wc -l", {"command": "ls | wc -l"}),
        ("write notes.md: one\ntwo", {"path": "notes.md", "content": "one\ntwo\n"}),
        ("write a/b.txt:\nx", {"path": "a/b.txt", "content": "x\n"}),
    ],
)
def test_orders_have_just_one_form(prompt: str, args: dict[str, object]) -> None:
    assert order(prompt) == args


@pytest.mark.parametrize(
    "prompt",
    [
        "please run: ls",
        "run the tests",
        "run:",
        "run: ls\nrun: rm x",
        "write a test: for x",
        "write notes.md",
        "the run: ls",
    ],
)
def test_nothing_is_read_into_prose(prompt: str) -> None:
    assert understand(prompt).order is None


@pytest.mark.usefixtures("no_network")
async def test_a_search_that_is_cut_still_finds_what_ranks_first(project: Path) -> None:
    for number in range(40):
        (project / f"a{number:02}.txt").write_text("tide\nthe tide again\n")
    (project / "zz.md").write_text("# Spring tide\n\nThe spring tide is 7.3 metres high.\n")
    text, _, _ = await ask(project, "how high is the spring tide?")
    assert quotes(text)[0][0] == "zz.md"


def test_phrases_and_words_as_written_rank_first() -> None:
    lines = [
        Passage("a.py", 2, "spring = tide"),
        Passage("b.py", 1, "the spring tide"),
        Passage("c.md", 1, "an import"),
        Passage("d.py", 1, "an importer"),
    ]
    assert ranked(lines, asked("spring", "tide"))[0] == lines[1]
    assert ranked(lines, asked("importer"))[0] == lines[3]


# Attached content is searched as it is, before the folder.


async def ask_about(folder: Path, prompt: str, *came: UserContent) -> str:
    return (await agent_over(folder).run([prompt, *came])).output


@pytest.mark.parametrize(
    "prompt", ["what is the tide?", "wann ist tide?", "tide", "What does @notes.txt say about the tide?"]
)
async def test_piped_input_and_attachments_answer(tmp_path: Path, prompt: str) -> None:
    piped = "Harbour report\n\nThe tide is high at noon.\nFog later.\n"
    text = await ask_about(tmp_path, prompt, piped_content(piped))
    assert ("stdin", 3, 4, ["The tide is high at noon.", "Fog later."]) in quotes(text)
    text = await ask_about(tmp_path, prompt, file_content("notes.txt", piped))
    assert quotes(text)[0][:3] == ("notes.txt", 3, 4)


async def test_what_came_along_is_quoted_before_what_the_folder_holds(folder: Path) -> None:
    came = (piped_content("The tide turned at six.\n"), file_content("b.md", "x\n"))
    text = await ask_about(folder, "when did the tide turn?", *came)
    assert [path for path, *_ in quotes(text)] == ["stdin", "b.md"], "which say as much"
    text = await ask_about(folder, "see the harbour tide", *came)
    assert [path for path, *_ in quotes(text)] == ["stdin", "b.md", "shore.md"]
    text = await ask_about(folder, "summarise this", piped_content("one\ntwo\n"))
    assert quotes(text)[0] == ("stdin", 1, 2, ["one", "two"]), "at least how it begins"


async def test_of_a_picture_nothing_is_quoted(folder: Path) -> None:
    text = await ask_about(
        folder, "what does @chart.png show?", *picture_content("chart.png", b"x", "image/png")
    )
    assert "chart.png" not in [path for path, *_ in quotes(text)]
    assert "There is no file 'chart.png'." in text


async def test_piped_input_alone_is_a_prompt(folder: Path) -> None:
    text = await ask_about(folder, "", piped_content("The tide turned at six.\n"))
    assert quotes(text)[0][0] == "stdin"


async def test_it_is_not_introduced_again_after_a_compaction(project: Path) -> None:
    summary = ModelRequest(parts=[CompactionPart("The files were listed.")])
    text, _, _ = await ask(project, "list files", [summary])
    assert INTRODUCTION not in text
