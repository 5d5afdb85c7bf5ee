"""One line for an event, in plain words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.events import (
    AgentOutput,
    AssistantMessage,
    CompactionComplete,
    FilesRestored,
    Payload,
    RestoredFile,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.event_heads import TITLE_LIMIT, Head, head_of, prompt_line
from tui_app.session.importers.books import ImportedEvent
from tui_app.session.importers.titles import title_of
from tui_app.session.views.agent_view import message_weight
from tui_app.session.views.entries import Entry
from tui_app.session.views.user_view import UserView
from tui_app.text import thousands

BACK = RestoredFile(path="a", before="1" * 64, after="2" * 64)
GONE = RestoredFile(path="b", before="1" * 64)


@pytest.mark.parametrize(
    ("event", "title"),
    [
        (FilesRestored(to=1, files=(BACK,)), "1 file restored"),
        (FilesRestored(to=1, files=(BACK, BACK)), "2 files restored"),
        (FilesRestored(to=1, files=(GONE,)), "1 file removed"),
        (FilesRestored(to=1, files=(GONE, GONE)), "2 files removed"),
        (FilesRestored(to=1, files=(BACK, GONE, GONE)), "1 file restored, 2 removed"),
        (FilesRestored(to=1, files=(BACK,), skipped=("c",)), "1 file restored, 1 left alone"),
        (FilesRestored(to=1, skipped=("c",)), "1 file left alone"),
        (FilesRestored(to=1, files=(BACK, GONE), undo=True), "undone: 1 file restored, 1 removed"),
    ],
)
def test_files_that_went_back(event: FilesRestored, title: str) -> None:
    assert event.headline() == title


@pytest.mark.parametrize(
    ("tokens", "written"),
    [(91_500, "91.5k"), (6_200, "6.2k"), (999_949, "999.9k"), (999_950, "1.0M"), (6_216_800, "6.2M")],
)
def test_sizes_are_thousands_or_millions(tokens: int, written: str) -> None:
    assert thousands(tokens) == written


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        (212, 9, "203 messages became a summary · 91.5k → 6.2k · 98% of the facts"),
        (2, 1, "1 message became a summary · 91.5k → 6.2k · 98% of the facts"),
    ],
)
def test_a_compaction_counts_messages_in_a_row_that_fits_80_columns(
    before: int, after: int, title: str
) -> None:
    done = CompactionComplete(
        job="j",
        outcome="success",
        trigger="manual",
        tokens_before=91_500,
        tokens_after=6_200,
        messages_before=before,
        messages_after=after,
        messages_removed=before - after,
        retention=0.98,
    )
    assert done.headline() == title
    assert len(f"⊖━━ {title}") <= 76


# A command's row reports a failed command, even though running it succeeded.


def row(name: str, text: str, outcome: str = "success") -> Entry:
    view = UserView()
    view.apply(head_of(1, 1.0, ToolCall(tool_call_id="a", name=name, args='{"command": "make"}')))
    view.apply(head_of(2, 1.0, ToolResult(tool_call_id="a", name=name, text=text, outcome=outcome)))
    return view.entries[0]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Exit code 3 after 0.1 s.\nno rule", "run_command make · exit 3"),
        (
            "Timed out after 5 s and was stopped, with everything it had started.",
            "run_command make · Timed out after 5 s",
        ),
        ("Ended by signal 9 after 0.1 s.", "run_command make · Ended by signal 9 after 0.1 s"),
    ],
)
def test_a_command_that_failed_is_marked_and_says_how_it_ended(text: str, title: str) -> None:
    assert (row("run_command", text).state, row("run_command", text).title) == ("failed", title)


@pytest.mark.parametrize("text", ["Exit code 0 after 0.1 s.\nExit code 3", "whatever another agent says", ""])
def test_what_did_not_fail_is_not_marked(text: str) -> None:
    assert row("run_command", text).state == "ok"


def test_only_commands_have_such_an_end() -> None:
    assert row("read_file", "Exit code 3 after 0.1 s.").state == "ok"
    assert row("run_command", "Exit code 3", "denied").state == "denied"


# Titles of rows are plain text: Markdown is removed, and text that only resembles it stays.


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("**Done.** See `ferry.py`", "Done. See ferry.py"),
        ("# Ferry times", "Ferry times"),
        ("### Ferry times ###\nmore", "Ferry times"),
        ("**`ferry.py`** is mended", "ferry.py is mended"),
        ("use ``a ` b`` here", "use a ` b here"),
        ("(**no**), **yes**!", "(no), yes!"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("```", "```"),
        ("\n\n  two lines\nsecond", "two lines"),
        ("`a ** b ** c`", "a ** b ** c"),
    ],
)
def test_signs_of_markdown_are_left_out(text: str, title: str) -> None:
    assert prompt_line(text) == title


@pytest.mark.parametrize(
    "text",
    [
        "a*b*c", "mend __init__ and __main__", "#12 is wrong", "#", "# ", "2**3 and 4**5", "a lone ` tick",
        "src/**/*.py and tests/**/*.py", "**/*.py and **/*.md", "** not bold **", "**kwargs and *args",
        "- item", "#hashtag", "####### seven", "f(**a, **b)",
    ],
)  # fmt: skip
def test_what_only_looks_like_markup_stays(text: str) -> None:
    assert prompt_line(text) == text.strip()


@given(st.text(alphabet="ab *`#_\n/", max_size=60))
def test_no_word_is_lost(text: str) -> None:
    first = next((line for line in text.splitlines() if line.strip()), "")
    assert [sign for sign in prompt_line(text) if sign in "ab_/"] == [
        sign for sign in first if sign in "ab_/"
    ]


def test_a_long_line_is_cut_behind_the_signs() -> None:
    title = prompt_line(f"**{'word ' * 30}end** and more " + "x" * 9_999)
    assert title.startswith("word word")
    assert title.endswith("…")
    assert len(title) == TITLE_LIMIT


def test_an_imported_session_has_such_a_title() -> None:
    event = ImportedEvent(data=UserMessage(text="Mend `ferry.py` **today**"), message=None, time=0.0)
    assert title_of([event]) == "Mend ferry.py today"


@pytest.mark.parametrize("kind", [UserMessage, AssistantMessage, SystemMessage, AgentOutput])
def test_rows_of_what_was_said_have_such_titles(kind: type[Payload]) -> None:
    assert head_of(1, 0.0, kind(text="## Mend `ferry.py`")).title == "Mend ferry.py"  # type: ignore[call-arg]


COUNTED = {"user": 5, "attachments": 1_200}


@pytest.mark.parametrize(
    ("event", "pictured"),
    [
        (UserMessage(text="See.", tokens=COUNTED, attachments=("a/Walk.PNG", "clipboard:0.jpg")), 1_200),
        (UserMessage(text="See.", tokens=COUNTED, attachments=("walk.png", "notes.md")), 0),
        (UserMessage(text="See.", tokens=COUNTED), 0),
        (UserMessage(text="See.", tokens={"user": 5}, attachments=("walk.png",)), 0),
        (ToolResult(tool_call_id="1", name="read_file", text="", tokens=COUNTED), 1_200),
        (AssistantMessage(text="Drawn.", tokens={"assistant": 5}), 0),
    ],
)
def test_what_is_attached_is_a_picture_or_text(event: Payload, pictured: int) -> None:
    head = head_of(1, 0.0, event)
    assert Head.from_text(1, event.TYPE, 0.0, head.to_text()) == head
    counted = message_weight(head).tokens
    assert (counted.pictured, counted.total) == (pictured, sum(head.tokens.values()))
