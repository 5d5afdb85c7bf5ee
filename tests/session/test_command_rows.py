"""The row of a command says when the command failed, although running it did not."""

import pytest

from tui_app.events import ToolCall, ToolResult
from tui_app.session.entries import Entry
from tui_app.session.event_heads import head_of
from tui_app.session.user_view import UserView


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
            "Timed out after 5 s and was ended with all it had started.",
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
