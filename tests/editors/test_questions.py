"""Questions about tools in the protocol's words, and what an editor's answers mean; no process is needed."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError
from acp.schema import DeniedOutcome, RequestPermissionResponse

from tests.editors.kit import Editor
from tui_app.agent.tools.edits import diff_of
from tui_app.conversation.approvals import Decision
from tui_app.editors.agent import read_message
from tui_app.editors.session import ask
from tui_app.editors.updates import Hunk, Question, Updates, hunks, remarks
from tui_app.events import ApprovalDecided, ApprovalRequested, ToolCall

CWD = Path("/home/ada/ferry")
BECAUSE = "asks unless a rule allows it"


def asked(**more: Any) -> ApprovalRequested:
    given = {"id": "c1.1", "tool_call_id": "c1", "tool": "run_command", "kind": "command", "subject": "ls -l"}
    return ApprovalRequested(**{**given, "because": BECAUSE, **more})


def worded(**more: Any) -> Question:
    return Updates(CWD).question(asked(**more))


def texts(question: Question) -> list[str]:
    assert question.call.content is not None
    return [each.content.text for each in question.call.content if each.type == "content"]


def test_a_change_is_a_diff_for_each_place() -> None:
    before = "".join(f"line {number}\n" for number in range(40))
    after = before.replace("line 3\n", "-- three\n").replace("line 30\n", "")
    question = worded(
        tool="edit_file", kind="file", subject="src/a.py", note="+1 -2",
        detail=diff_of(before, after, "src/a.py"), pattern="edit_file src/a.py",
    )  # fmt: skip
    call = question.call
    assert call.title == "edit_file src/a.py, +1 -2"
    assert (call.tool_call_id, call.kind, call.status) == ("c1", "edit", "pending")
    assert [each.path for each in call.locations or ()] == ["/home/ada/ferry/src/a.py"]
    first, second = [each for each in call.content or () if each.type == "diff"]
    assert first.path == second.path == "/home/ada/ferry/src/a.py"
    assert (first.old_text, first.new_text) == (
        "".join(f"line {number}\n" for number in range(7)),
        "line 0\nline 1\nline 2\n-- three\nline 4\nline 5\nline 6\n",
    )
    assert "line 30" in (second.old_text or "")
    assert "line 30" not in second.new_text
    assert texts(question) == [f"```\n+1 -2\n{BECAUSE}\n```"]


def test_a_new_file_has_no_old_text() -> None:
    assert hunks(diff_of(None, "--- a\n\n+b\n", "x")) == (Hunk(None, "--- a\n\n+b\n"),)
    assert hunks(diff_of("a\n", "", "x")) == (Hunk("a\n", ""),)
    assert hunks(diff_of(None, "", "x")) == ()


def test_what_a_diff_leaves_out_is_said() -> None:
    long = diff_of(None, "line\n" * 1_000, "x")
    question = worded(kind="file", tool="write_file", subject="x", detail=long, note="new file")
    assert remarks(long) == ("[403 more lines of this change are not shown]",)
    assert remarks(long)[0] in texts(question)[-1]
    huge = diff_of("a\n" * 5_000, "b\n" * 5_000, "x")
    (text,) = texts(worded(kind="file", tool="write_file", subject="x", detail=huge))
    assert "[5,000 lines from line 1 on are replaced by 5,000]" in text
    (binary,) = texts(worded(kind="file", tool="write_file", subject="x", detail="+7 bytes", note="binary"))
    assert binary == f"```\n+7 bytes\nbinary\n{BECAUSE}\n```"


def test_a_command_is_shown_whole_and_nothing_in_it_can_hide() -> None:
    command = "echo '```'\nrm -r x \u202e\x1b[2K\ty # " + "long " * 100
    question = worded(subject=command, detail="in /home/ada/ferry", note="through a shell, at most 120 s")
    shown, facts = texts(question)
    assert shown.startswith("````\n$ echo '```'\nrm -r x \\u202e\\x1b[2K\ty # long long")
    assert shown.endswith("long \n````")
    assert facts == f"```\nin /home/ada/ferry\nthrough a shell, at most 120 s\n{BECAUSE}\n```"
    assert question.call.title is not None
    assert len(question.call.title) == 100
    assert question.call.title.isprintable()
    long = texts(worded(kind="other", tool="x", subject="y" * 50_000))[0]
    assert "[10,000 more characters are not shown]" in long


def test_arguments_go_along_and_an_allowed_call_is_under_way() -> None:
    updates = Updates(CWD)
    updates.of(ToolCall(tool_call_id="c1", name="run_command", args='{"command": "ls -l", "timeout_s": 5}'))
    question = updates.question(asked(pattern="run_command ls -l"))
    assert question.call.raw_input == {"command": "ls -l", "timeout_s": 5}
    assert [(each.kind, each.name) for each in question.options] == [
        ("allow_once", "Allow"),
        ("allow_always", "Allow in this session: run_command ls -l"),
        ("reject_once", "Do not allow"),
    ]
    decided = ApprovalDecided(
        id="c1.1", tool_call_id="c1", tool="run_command", subject="ls -l", decision="allowed", by="person"
    )
    (update,) = updates.of(decided)
    assert (update.tool_call_id, update.status) == ("c1", "in_progress")
    assert not Updates(CWD, replaying=True).of(decided)


@pytest.mark.parametrize(
    ("chosen", "decision"),
    [
        ("once", Decision("once")),
        ("always", Decision("always", pattern="run_command ls -l")),
        ("no", Decision("no")),
        ("?", Decision("nobody", reason="the editor chose something that was not offered")),
    ],
)
async def test_answers(chosen: str, decision: Decision) -> None:
    editor = Editor(permission=chosen)
    assert await ask(editor, "s1", worded(pattern="run_command ls -l")) == decision  # type: ignore[arg-type]
    ((session, call, _),) = editor.asked
    assert (session, call.tool_call_id) == ("s1", "c1")


async def test_a_rule_that_was_not_offered_is_not_added() -> None:
    question = worded()
    assert [each.kind for each in question.options] == ["allow_once", "reject_once"]
    assert (await ask(Editor(permission="always"), "s1", question)).answer == "nobody"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (ConnectionError("Connection closed"), "the editor has gone"),
        (RequestError(-32601, "No such\n\x1b[2Kmethod"), r"the editor answered with an error: No such\n"),
        (ValueError("?"), "the editor's answer cannot be read"),
        (None, "the question was closed without an answer"),
    ],
)
async def test_without_an_answer_it_is_refused(
    trouble: Exception | None, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Troubled(Editor):
        async def request_permission(self, *_: Any, **__: Any) -> RequestPermissionResponse:
            if trouble is not None:
                raise trouble
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    with caplog.at_level(logging.ERROR):
        decision = await ask(Troubled(), "s1", worded())  # type: ignore[arg-type]
    assert decision.answer == "nobody"
    assert decision.reason.startswith(reason)
    assert decision.reason.isprintable()


@pytest.mark.parametrize("error", ["No.", 7, [], {"code": "x", "message": "No."}, {"code": 1}])
def test_an_error_of_no_known_form_is_an_error_all_the_same(error: Any) -> None:
    message, problem = read_message(json.dumps({"jsonrpc": "2.0", "id": 4, "error": error}).encode())
    assert problem is None
    assert message is not None
    assert message["id"] == 4
    assert isinstance(message["error"]["code"], int)
    assert isinstance(message["error"]["message"], str)
