"""How events become lines on stdout and stderr, and what an exit code follows from."""

import io
import json
from collections.abc import Sequence

import pytest

from tui_app.cli import output
from tui_app.cli.run import AnswerView, JsonView, RecordView, Verdict
from tui_app.events import (
    AssistantDelta,
    AssistantMessage,
    CompactionComplete,
    Error,
    GaugeChanged,
    MemoryPressure,
    Notice,
    Payload,
    Record,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
)
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

TROUBLE = Error(kind="auth", message="The key is wrong.", hint="Set another one.")


def shown(
    view: RecordView, payloads: Sequence[Payload], capsys: pytest.CaptureFixture[str]
) -> tuple[str, str]:
    for number, payload in enumerate(payloads, 1):
        view.show(Record(seq=number if payload.STORED else 0, time=1.0, session="s", data=payload))
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_streamed_answers_end_in_a_line_break(capsys: pytest.CaptureFixture[str]) -> None:
    payloads = [
        AssistantDelta(thinking="hm"),
        AssistantDelta(text="Let me "),
        AssistantDelta(text="look."),
        AssistantMessage(text="Let me look."),
        AssistantMessage(text=""),
        AssistantMessage(text="Not streamed."),
    ]
    assert shown(AnswerView(), payloads, capsys) == ("Let me look.\nNot streamed.\n", "")


def test_everything_else_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    payloads = [
        ToolCall(tool_call_id="a", name="grep", args='{"pattern": "x"}'),
        ToolCall(tool_call_id="b", name="ls", args="{}"),
        ToolResult(tool_call_id="b", name="ls", text="one\ntwo"),
        ToolResult(tool_call_id="a", name="grep", text="", outcome="error"),
        CompactionComplete(
            job="1", outcome="failed", trigger="background", reason="the model answered nothing"
        ),
        Notice(text="Stayed."),
        TROUBLE,
    ]
    out, err = shown(AnswerView(), payloads, capsys)
    assert out == ""
    assert err.splitlines() == [
        "  ls ., 2 entries",
        '  grep "x", failed',
        "Compaction failed: the model answered nothing",
        "Stayed.",
        "The key is wrong. Set another one.",
    ]


def test_answers_drive_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = shown(
        AnswerView(), [AssistantDelta(text="a\x1b]0;owned\x07b\x1b"), AssistantDelta(text="[31mc")], capsys
    )
    assert "\x1b" not in out
    assert "owned" not in out
    assert out.startswith("ab")


def test_json_lines_hold_what_is_stored_notices_and_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    usage = ContextUsage(parts=Breakdown(), window=ContextWindow(limit=1, source="default"), messages=0)
    payloads = [
        TurnStart(text="x"),
        AssistantDelta(text="y"),
        AssistantMessage(text="y \u202e\x9b\ud800"),
        GaugeChanged(usage=usage),
        Notice(text="n"),
        TurnEnd(outcome="done"),
    ]
    out, err = shown(JsonView(), payloads, capsys)
    assert err == "n\n"
    assert out.isascii()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["type"] for line in lines] == ["assistant.message", "notice", "turn.end"]
    assert (lines[1]["seq"], lines[1]["data"]) == (0, {"text": "n", "passing": False})


def test_short_memory_is_said_beside_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    short = MemoryPressure(rss_mb=9, limit_mb=1, action="drop")
    assert shown(JsonView(), [short], capsys) == ("", "Memory is short (9 of 1 MB): caches were dropped.\n")


@pytest.mark.parametrize(
    ("payloads", "code"),
    [
        ([TurnEnd(outcome="done")], 0),
        ([TurnEnd(outcome="cancelled")], 1),
        ([TROUBLE, TurnEnd(outcome="failed")], 1),
        ([TROUBLE, TurnEnd(outcome="done")], 1),
        ([], 1),
    ],
)
def test_exit_code_of_a_turn(payloads: list[Payload], code: int) -> None:
    verdict = Verdict()
    for payload in payloads:
        verdict.note(Record(seq=0, time=1.0, session="s", data=payload))
    assert verdict.code == code


def test_columns_line_up_for_wide_characters(capsys: pytest.CaptureFixture[str]) -> None:
    output.say_table([("a", "回到", "1"), ("bb", "x", "22")], right=(2,))
    assert capsys.readouterr().out.splitlines() == ["a   回到   1", "bb  x     22"]


def test_bars_never_hide_something() -> None:
    assert [output.bar(share, 10) for share in (0, 0.001, 0.5, 1, 7)] == [
        "",
        "█",
        "█" * 5,
        "█" * 10,
        "█" * 10,
    ]
    assert output.bar(0.5, 4, ascii_only=True) == "##"


def test_documents_on_a_terminal_are_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    for stream, expected in (
        (Terminal(io.BytesIO(), "utf-8"), b"ab\n"),
        (io.TextIOWrapper(io.BytesIO(), "latin-1"), "a\x9bb\\udc80\n".encode()),
    ):
        monkeypatch.setattr("sys.stdout", stream)
        output.print_document("a\x85b\n" if stream.isatty() else "a\x9bb\udc80\n")
        assert stream.buffer.getvalue() == expected  # type: ignore[attr-defined]
