"""``plimsoll import`` and ``plimsoll export``."""

import json
import os
import signal
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from tests.cli.conftest import Plimsoll
from tui_app.cli.program import latest_session
from tui_app.conversation import imports as importing
from tui_app.conversation.imports import ImportReport, import_session
from tui_app.events import AssistantMessage, CompactionComplete, SessionStart, ToolResult, UserMessage
from tui_app.paths import Paths
from tui_app.session.sqlite_store import SqliteStore


@pytest.fixture
def database(plimsoll_home: Path) -> Path:
    return Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).database


def events_of(database: Path, session: str) -> list[object]:
    store = SqliteStore(database, read_only=True)
    events = [record.data for record, _ in store.records(session)]
    store.close()
    return list(events)


def test_report_of_an_import(plimsoll: Plimsoll, chat: Path) -> None:
    report = plimsoll("import", chat, "--json").json
    counts = {name: report[name] for name in ("format", "messages", "tool_calls", "tool_results", "skipped")}
    assert counts == {
        "format": "openai-chat",
        "messages": 49,
        "tool_calls": 12,
        "tool_results": 12,
        "skipped": [],
    }
    assert set(report) >= {"session", "file", "tokens", "notes"}
    text = plimsoll("import", chat, "--again").out
    assert "49 messages, 12 tool calls, 12 results" in text


def test_imported_session_is_counted_and_complete(plimsoll: Plimsoll, chat: Path, database: Path) -> None:
    report = plimsoll("import", chat, "--json").json
    start, *events = events_of(database, report["session"])
    assert isinstance(start, SessionStart)
    assert (start.imported_from, start.model) == ("openai-chat", "")
    assert start.title
    said = [event for event in events if isinstance(event, UserMessage | AssistantMessage | ToolResult)]
    assert len(said) == 48
    assert all(sum(event.tokens.values()) > 0 for event in said)
    counted = sum(sum(getattr(event, "tokens", {}).values()) for event in events)
    assert report["tokens"] == counted


def test_bad_file_does_not_keep_the_others_out(plimsoll: Plimsoll, chat: Path, tmp_path: Path) -> None:
    noise = tmp_path / "noise.json"
    noise.write_text("no conversation\x1b[31m")
    result = plimsoll("import", noise, tmp_path / "gone.json", tmp_path, chat, "--json")
    assert result.code == 1
    assert [report["messages"] for report in result.lines] == [49]
    complaints = result.err.splitlines()
    assert len(complaints) == 3
    assert "noise.json is in no known format" in complaints[0]
    assert complaints[1].endswith("gone.json: No such file or directory.")
    assert "\x1b" not in result.err
    assert len(plimsoll("sessions", "--json").json["sessions"]) == 1


def test_the_same_file_is_imported_once_unless_asked_again(plimsoll: Plimsoll, chat: Path) -> None:
    first = plimsoll("import", chat, "--json").json["session"]
    refused = plimsoll("import", chat)
    assert (refused.code, refused.out) == (1, "")
    assert f"is session {first} already" in refused.err
    assert plimsoll("import", chat, "--again").code == 0
    later = time.time() + 60
    os.utime(chat, (later, later))
    assert plimsoll("import", chat).code == 0, "it was written to since"
    assert len(plimsoll("sessions", "--json").json["sessions"]) == 3


def test_a_stopped_import_says_what_was_imported(
    plimsoll: Plimsoll, chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [tmp_path / "second.json", tmp_path / "third.json"]
    real = importing.import_session

    def stopping(path: Path, **more: Any) -> ImportReport:
        if path == others[0]:
            raise KeyboardInterrupt
        return real(path, **more)

    monkeypatch.setattr(importing, "import_session", stopping)
    done = plimsoll("import", chat, *others)
    assert done.code == 130
    assert f"Stopped. Imported: 1 of 3. Not imported: {others[0]}, {others[1]}" in done.err


def test_an_interrupt_that_a_library_has_swallowed_stops_an_import_all_the_same(
    plimsoll: Plimsoll, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importing.import_file

    def deaf(*args: Any) -> Any:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return real(*args)

    monkeypatch.setattr(importing, "import_file", deaf)
    before = signal.getsignal(signal.SIGINT)
    done = plimsoll("import", chat)
    assert done.code == 130
    assert f"Stopped. Imported: 0 of 1. Not imported: {chat}" in done.err
    assert signal.getsignal(signal.SIGINT) is before
    assert plimsoll("sessions", "--json").json["sessions"] == []


def test_import_counts_as_the_last_use_of_a_session(
    plimsoll: Plimsoll, chat: Path, tmp_path: Path, database: Path, project: Path
) -> None:
    dated = [{**message, "timestamp": "2020-02-02T10:00:00Z"} for message in json.loads(chat.read_text())]
    old = tmp_path / "old.json"
    old.write_text(json.dumps(dated))
    first = plimsoll("import", chat, "--json").json["session"]
    started = time.time()
    second = plimsoll("import", old, "--json").json["session"]
    listed = plimsoll("sessions", "--json").json["sessions"]
    assert [info["id"] for info in listed] == [second, first]
    assert started <= listed[0]["created"] <= listed[0]["updated"] <= time.time()
    store = SqliteStore(database, read_only=True)
    said = [record.time for record, text in store.records(second) if text]
    assert latest_session(store.sessions(), project) == second, "plimsoll --continue goes on with it"
    store.close()
    assert set(said) == {1580637600.0}, "what was said keeps the time at which it was"


def test_unusable_lines_are_named(plimsoll: Plimsoll, chat: Path, tmp_path: Path) -> None:
    messages = json.loads(chat.read_text())
    messages.insert(2, {"role": "user", "content": ""})
    damaged = tmp_path / "damaged.json"
    damaged.write_text(json.dumps(messages))
    report = plimsoll("import", damaged, "--json").json
    assert [skipped["line"] for skipped in report["skipped"]] == [3]
    assert report["messages"] == 49
    assert "line 3: " in plimsoll("import", damaged, "--again").out


def test_wrong_format_is_wrong_use(plimsoll: Plimsoll, chat: Path) -> None:
    assert plimsoll("import", chat, "--format", "nonsense").code == 2
    wrong = plimsoll("import", chat, "--format", "claude-code")
    assert (wrong.code, wrong.out) == (1, "")


def test_failed_write_leaves_no_half_session(
    chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    real = SqliteStore._change

    def full_disk(self: SqliteStore, work: Callable[[Any], Any], session: str = "") -> Any:
        def written(db: Any) -> Any:
            work(db)
            raise OSError(28, "No space left on device")

        return real(self, written, session)

    monkeypatch.setattr(SqliteStore, "_change", full_disk)
    with pytest.raises(OSError, match="No space"):
        import_session(chat, store=store, cwd=tmp_path, now=1.0)
    assert store.sessions() == []
    store.close()


def test_imported_compaction_gets_its_sizes(plimsoll: Plimsoll, database: Path, tmp_path: Path) -> None:
    def record(number: int, kind: str, content: object, **more: object) -> str:
        base = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number > 1 else None}
        message = {"role": kind, "content": content, "id": f"m{number}"}
        fields = {
            "type": kind,
            "sessionId": "s",
            "timestamp": f"2025-01-01T00:00:{number:02}Z",
            "message": message,
        }
        return json.dumps({**base, **fields, **more})

    long = " ".join(f"word{index}" for index in range(400))
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "u3", "parentUuid": None}
    boundary |= {"logicalParentUuid": "u2", "timestamp": "2025-01-01T00:00:03Z", "sessionId": "s"}
    boundary |= {"content": "Conversation compacted", "compactMetadata": {"trigger": "manual"}}
    lines = [
        record(1, "user", long),
        record(2, "assistant", [{"type": "text", "text": long}]),
        json.dumps(boundary),
        record(4, "user", "The summary of it all.", isCompactSummary=True),
        record(5, "user", "Go on."),
    ]
    path = tmp_path / "compacted.jsonl"
    path.write_text("\n".join(lines))
    report = plimsoll("import", path, "--json").json
    (complete,) = [e for e in events_of(database, report["session"]) if isinstance(e, CompactionComplete)]
    summary = sum(complete.tokens.values())
    assert summary > 0
    assert complete.tokens_before > 1_000
    assert complete.tokens_after == summary
    assert complete.tokens_removed == complete.tokens_before - complete.tokens_after


def exported(plimsoll: Plimsoll, session: str, *args: str) -> str:
    result = plimsoll("export", session, *args)
    assert result.code == 0, result.err
    return result.out


def test_export_is_what_pydantic_ai_reads(plimsoll: Plimsoll, imported: str) -> None:
    for view in ("agent", "user"):
        messages = ModelMessagesTypeAdapter.validate_json(exported(plimsoll, imported, "--view", view))
        assert len(messages) == 49


@pytest.mark.parametrize("format", ["pydantic-ai", "markdown"])
def test_compaction_and_undo_give_the_same_bytes(plimsoll: Plimsoll, imported: str, format: str) -> None:
    agent, user = ("--view", "agent", "--format", format), ("--view", "user", "--format", "pydantic-ai")
    before, everything = exported(plimsoll, imported, *agent), exported(plimsoll, imported, *user)
    assert plimsoll("compact", imported).code == 0
    compacted = exported(plimsoll, imported, *agent)
    assert len(compacted) < len(before) / 2
    assert exported(plimsoll, imported, *user) == everything
    assert plimsoll("compact", imported, "--undo").code == 0
    assert exported(plimsoll, imported, *agent) == before
    assert plimsoll("compact", imported, "--redo").code == 0
    assert exported(plimsoll, imported, *agent) == compacted
    assert exported(plimsoll, imported, *user) == everything


def test_agent_view_in_markdown_keeps_calls_with_their_answer(plimsoll: Plimsoll, imported: str) -> None:
    assert plimsoll("compact", imported).code == 0
    text = exported(plimsoll, imported, "--view", "agent", "--format", "markdown")
    everything = exported(plimsoll, imported, "--format", "markdown")
    assert everything.count("Tool call: ") == 12
    assert 0 < text.count("Tool call: ") == text.count("Result of ") < 12
    assert "Conversation compacted" in text


def test_export_to_a_file(plimsoll: Plimsoll, imported: str, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    result = plimsoll("export", imported, "-o", file)
    assert (result.code, result.out) == (0, "")
    assert "Wrote " in result.err
    assert file.read_text() == exported(plimsoll, imported)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    missing = plimsoll("export", imported, "-o", tmp_path / "gone" / "out.json")
    assert missing.code == 1
    assert missing.err.strip().endswith("No such file or directory.")


def test_export_of_an_unknown_session(plimsoll: Plimsoll, imported: str) -> None:
    assert imported
    result = plimsoll("export", "zzzz")
    assert (result.code, result.out) == (1, "")
    assert "See: plimsoll sessions" in result.err
