"""``plimsoll import`` and ``plimsoll export``."""

import json
import os
import signal
import stat
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from tests.cli.conftest import Plimsoll
from tests.session.importing import foreign
from tests.session.importing.foreign import Script, call, result, text
from tui_app.cli.program import latest_session
from tui_app.cli.sessions import imports as cli_imports
from tui_app.conversation.imports import imports as importing
from tui_app.conversation.imports.earlier_imports import earlier_imports, imported_as
from tui_app.conversation.imports.import_progress import (
    ImportedAlready,
    ImportProgress,
    ImportStopped,
    Stoppable,
)
from tui_app.conversation.imports.imports import ImportReport, import_session
from tui_app.events import AssistantMessage, CompactionComplete, SessionStart, ToolResult, UserMessage
from tui_app.paths import Paths
from tui_app.session.exports.export import FORMATS
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.agent_view import fold_agent_view


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


def test_an_imported_session_is_dated_by_its_conversation(plimsoll: Plimsoll, tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    said = [("user", "Hi", "2024-03-01T10:00:00Z"), ("assistant", "Ho", "2024-03-02T10:00:00Z")]
    chat.write_text(json.dumps([{"role": who, "content": text, "created_at": at} for who, text, at in said]))
    session = plimsoll("import", chat, "--json").json["session"]
    (line,) = [line for line in plimsoll("sessions").out.splitlines() if session in line]
    assert "2024-03-02" in line
    shown = plimsoll("sessions", "show", session).out
    assert "2024-03-01 10:00 to 2024-03-02 10:00" in shown
    assert plimsoll("import", chat).code == 1, "it is known as imported all the same"


def test_bad_file_does_not_keep_the_others_out(plimsoll: Plimsoll, chat: Path, tmp_path: Path) -> None:
    noise = tmp_path / "noise.json"
    noise.write_text("no conversation\x1b[31m")
    result = plimsoll("import", noise, tmp_path / "gone.json", tmp_path, chat, "--json")
    assert result.code == 1
    assert [report["messages"] for report in result.lines] == [49]
    complaints = result.err.splitlines()
    assert len(complaints) == 3
    assert "noise.json has no known format" in complaints[0]
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

    def stopping(path: Path, **more: Any) -> ImportReport:
        if path == others[0]:
            raise KeyboardInterrupt
        return import_session(path, **more)

    monkeypatch.setattr(cli_imports, "import_session", stopping)
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
    assert started <= listed[0]["created"] <= time.time()
    assert listed[0]["updated"] == 1580637600.0, "it is dated by what was said"
    store = SqliteStore(database, read_only=True)
    said = [record.time for record, text in store.records(second) if text]
    assert latest_session(store.sessions(), project).id == second, "plimsoll --continue goes on with it"
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
    assert "[added by Plimsoll]\n> ## Where it stands" in text, "who each passage is from"


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


# ``plimsoll export`` in every format, existing files, and importing the result.


KEY = "sk-" + "ant-api03-" + "Ab3" * 12


def plain(messages: list[dict[str, Any]]) -> list[Any]:
    """Return the content of messages, without times, models and figures."""
    said = []
    for message in messages:
        for part in message["parts"]:
            kept = ("part_kind", "content", "tool_name", "tool_call_id", "args")
            each = {key: part.get(key) for key in kept}
            if isinstance(each["args"], str):
                each["args"] = json.loads(each["args"])
            said.append(each)
    return said


def messages_of(plimsoll: Plimsoll, session: str) -> list[Any]:
    return plain(json.loads(plimsoll("export", session, "--no-mask").out))


def again(plimsoll: Plimsoll, session: str, format: str, folder: Path) -> str:
    file = folder / f"again.{format}"
    assert plimsoll("export", session, "--format", format, "-o", file, "--force", "--no-mask").code == 0
    result = plimsoll("import", file, "--json")
    assert result.code == 0, result.err
    assert result.json["skipped"] == []
    return str(result.json["session"])


@pytest.mark.parametrize("format", ["pydantic-ai", "openai", "jsonl"])
def test_what_is_exported_and_imported_says_the_same(
    plimsoll: Plimsoll, imported: str, tmp_path: Path, format: str
) -> None:
    assert messages_of(plimsoll, again(plimsoll, imported, format, tmp_path)) == messages_of(
        plimsoll, imported
    )


def test_events_are_the_session_again(
    plimsoll: Plimsoll, imported: str, tmp_path: Path, plimsoll_home: Path
) -> None:
    assert plimsoll("compact", imported).code == 0
    assert plimsoll("compact", imported, "--undo").code == 0
    assert plimsoll("compact", imported, "--redo").code == 0
    copy = again(plimsoll, imported, "jsonl", tmp_path)
    store = SqliteStore(Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).database, read_only=True)
    views = [[head.seq for head in fold_agent_view(store.heads(each)).visible()] for each in (imported, copy)]
    old, new = (
        [(record.data, message) for record, message in store.records(each)][1:] for each in (imported, copy)
    )
    store.close()
    assert views[0] == views[1]
    assert new[: len(old)] == old
    for format in ("markdown", "html", "openai"):
        agent = ("--format", format, "--view", "agent")
        assert plimsoll("export", copy, *agent).out == plimsoll("export", imported, *agent).out


def test_events_that_were_damaged_keep_their_numbers(
    plimsoll: Plimsoll, imported: str, tmp_path: Path
) -> None:
    lines = plimsoll("export", imported, "--format", "jsonl").out.splitlines()
    lines[4] = lines[4][:50]
    del lines[7]
    file = tmp_path / "damaged.jsonl"
    file.write_text("\n".join(lines))
    report = plimsoll("import", file, "--json").json
    assert [each["line"] for each in report["skipped"]] == [5]
    entries = plimsoll("sessions", "show", report["session"], "--json").json["entries"]
    lost = [entry["title"] for entry in entries if entry["kind"] == "error"]
    assert [title for title in lost if "is missing" in title] == [
        "Event #5 is missing in the imported file.",
        "Event #8 is missing in the imported file.",
    ]


def test_secrets(plimsoll: Plimsoll, tmp_path: Path) -> None:
    chat = foreign.openai()
    chat[1]["content"] = f"Fix the till with {KEY}"
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    session = plimsoll("import", tmp_path / "chat.json", "--json").json["session"]
    for format in FORMATS:
        masked = plimsoll("export", session, "--format", format)
        assert KEY not in masked.out
        open_ = plimsoll("export", session, "--format", format, "--no-mask")
        assert KEY in open_.out
        assert "not masked" in open_.err
    written = plimsoll("export", session, "-o", tmp_path / "out.json")
    assert "Secrets are masked." in written.err


def test_a_file_that_exists_is_kept(
    plimsoll: Plimsoll, imported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.html"
    file.write_text("mine")
    refused = plimsoll("export", imported, "--format", "html", "-o", file)
    assert (refused.code, file.read_text()) == (1, "mine")
    assert "--force" in refused.err
    for answer, code in (("n\n", 1), ("y\n", 0)):
        monkeypatch.setattr("sys.stdin", _Terminal(answer))
        assert plimsoll("export", imported, "--format", "html", "-o", file).code == code
        assert (file.read_text() == "mine") == (code == 1)
    file.write_text("mine")
    file.chmod(0o644)
    assert plimsoll("export", imported, "--format", "html", "-o", file, "--force").code == 0
    assert file.read_text().startswith("<!DOCTYPE html>")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob(".out*")] == []
    assert plimsoll("export", imported, "-o", "/dev/null").code == 0


class _Terminal:
    def __init__(self, answer: str) -> None:
        self._answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self._answer


def test_the_log_has_no_agent_view(plimsoll: Plimsoll, imported: str) -> None:
    result = plimsoll("export", imported, "--format", "jsonl", "--view", "agent")
    assert (result.code, result.out) == (2, "")
    assert "whole log" in result.err


# ``plimsoll import`` without files: sessions of other programs on this machine.


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "PI_CODING_AGENT_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for place, content in (
        (".codex/sessions/rollout-1.jsonl", foreign.jsonl(foreign.codex())),
        (".pi/agent/sessions/x/1.jsonl", foreign.jsonl(foreign.pi())),
    ):
        path = tmp_path / "home" / place
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return tmp_path / "home"


def test_list(plimsoll: Plimsoll, home: Path) -> None:
    assert home.exists()
    text = plimsoll("import", "--list").out
    assert len(text.splitlines()) == 2
    assert "Fix the till" in text
    assert "codex" in text


def test_json_marks_what_was_imported(plimsoll: Plimsoll, home: Path) -> None:
    file = home / ".codex/sessions/rollout-1.jsonl"
    session = plimsoll("import", file, "--json").json["session"]
    rows = {row["program"]: row for row in plimsoll("import", "--json").json["transcripts"]}
    assert rows["codex"] | {"time": 0} == {
        "path": str(file),
        "program": "codex",
        "title": "Fix the till",
        "cwd": "/home/ann/shop",
        "time": 0,
        "bytes": file.stat().st_size,
        "session": session,
        "changed": False,
    }
    assert rows["pi"]["session"] is None
    assert f"imported as {session}" in plimsoll("import", "--list").out


def test_numbers_are_asked_for_in_a_terminal(
    plimsoll: Plimsoll, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home.exists()
    monkeypatch.setattr("sys.stdin", _Terminal("1-2\n"))
    result = plimsoll("import")
    assert result.out.count("4 messages") == 1
    monkeypatch.setattr("sys.stdin", _Terminal("\n"))
    assert plimsoll("import").code == 0
    monkeypatch.setattr("sys.stdin", _Terminal("3\n"))
    wrong = plimsoll("import")
    assert wrong.code == 2
    assert "1 to 2" in wrong.err
    assert len(plimsoll("sessions", "--json").json["sessions"]) == 2


def test_nothing_is_asked_without_a_terminal(plimsoll: Plimsoll, home: Path) -> None:
    assert home.exists()
    assert plimsoll("import").out == plimsoll("import", "--list").out


def test_nothing_found(plimsoll: Plimsoll, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    assert "No transcripts of other tools were found." in plimsoll("import").out
    assert json.loads(plimsoll("import", "--json").out) == {"transcripts": []}


def test_list_takes_no_files(plimsoll: Plimsoll, chat: Path) -> None:
    assert plimsoll("import", chat, "--list").code == 2


def test_going_on_with_an_imported_conversation(plimsoll: Plimsoll, home: Path) -> None:
    session = plimsoll("import", home / ".codex/sessions/rollout-1.jsonl", "--json").json["session"]
    done = plimsoll("run", "what was fixed?", "--session", session, "--model", "offline:extractive")
    assert done.code == 0
    assert done.out.strip()
    calls = [part["tool_name"] for part in _parts(plimsoll, session) if part["part_kind"] == "tool-call"]
    assert calls[:2] == ["shell", "apply_patch"]


def _parts(plimsoll: Plimsoll, session: str) -> list[dict[str, str]]:
    messages = json.loads(plimsoll("export", session).out)
    return [part for message in messages for part in message["parts"]]


# An import is written completely or not at all, however it ends.


@pytest.fixture
def rollout(tmp_path: Path) -> Path:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(foreign.jsonl(foreign.codex() * 12))
    return path


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "sessions.db")


def test_progress_is_told_from_reading_to_writing(rollout: Path, store: SqliteStore, tmp_path: Path) -> None:
    told: list[ImportProgress] = []
    import_session(rollout, store=store, cwd=tmp_path, now=1.0, watch=told.append)
    assert [each.doing for each in told[:2]] == ["reading", "counting"]
    assert told[-1].doing == "writing"
    counted = [each.done for each in told if each.doing == "counting"]
    assert counted == sorted(counted)
    assert len(counted) > 2
    store.close()


@pytest.mark.parametrize("step", ["reading", "counting"])
def test_what_is_stopped_leaves_nothing(rollout: Path, store: SqliteStore, tmp_path: Path, step: str) -> None:
    def told(progress: ImportProgress) -> None:
        if progress.doing == step:
            assert job.stop()

    job = Stoppable(told)
    with pytest.raises(ImportStopped):
        import_session(rollout, store=store, cwd=tmp_path, now=1.0, watch=job.watch)
    assert store.sessions() == []
    store.close()


def test_what_is_being_written_is_written_to_its_end(
    rollout: Path, store: SqliteStore, tmp_path: Path
) -> None:
    def told(progress: ImportProgress) -> None:
        if progress.doing == "writing":
            assert not job.stop()

    job = Stoppable(told)
    report = import_session(rollout, store=store, cwd=tmp_path, now=1.0, watch=job.watch)
    assert [info.id for info in store.sessions()] == [report.session]
    store.close()


@pytest.mark.parametrize("again", [False, True])
def test_of_two_imports_at_one_moment_the_first_one_stands(
    rollout: Path, store: SqliteStore, tmp_path: Path, again: bool
) -> None:
    others: list[str] = []
    now = time.time()

    def overtake(progress: ImportProgress) -> None:
        if progress.doing == "writing":
            with closing(SqliteStore(store.path)) as other:
                others.append(import_session(rollout, store=other, cwd=tmp_path, now=now).session)

    with pytest.raises(ImportedAlready) as found:
        import_session(rollout, store=store, cwd=tmp_path, now=now, again=again, watch=overtake)
    assert [info.id for info in store.sessions()] == others == [found.value.session]
    more = import_session(rollout, store=store, cwd=tmp_path, now=now, again=True)
    assert {info.id for info in store.sessions()} == {*others, more.session}
    store.close()


def test_the_newest_import_of_a_file_is_known(rollout: Path, store: SqliteStore, tmp_path: Path) -> None:
    import_session(rollout, store=store, cwd=tmp_path, now=1.0)
    newest = import_session(rollout, store=store, cwd=tmp_path, now=2.0)
    known = imported_as(rollout, earlier_imports(store))
    assert known is not None
    assert (known.session, known.time) == (newest.session, 2.0)
    assert imported_as(tmp_path / "other", earlier_imports(store)) is None
    store.close()


# Import, export, compact, undo, export: the view is the same byte for byte, however a transcript ends.


Message = dict[str, Any]
TURNS = 8


def prompt(number: int) -> str:
    return f"Look at route {number}. Never touch the legacy importer."


def output(number: int) -> str:
    return " ".join(f"stop{number}x{index}" for index in range(120))


def asks(*ids: str) -> Message:
    calls = [{"id": name, "function": {"name": "read_file", "arguments": '{"path": "a"}'}} for name in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def returns(call_id: str, content: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def turns() -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "You help with ferries."}]
    for number in range(TURNS):
        messages += [
            {"role": "user", "content": prompt(number)},
            asks(f"call_{number}"),
            returns(f"call_{number}", output(number)),
            {"role": "assistant", "content": f"Route {number} calls at all its stops."},
        ]
    return messages


def chat_whole() -> Any:
    return turns()


def chat_ends_in_a_call() -> Any:
    return [*turns(), {"role": "user", "content": "And now?"}, asks("last")]


def chat_ends_in_half_of_the_results() -> Any:
    return [*turns(), {"role": "user", "content": "And?"}, asks("x", "y", "z"), returns("y", "done")]


def chat_goes_on_after_an_open_call() -> Any:
    return [*turns()[:9], asks("lost"), *turns()[9:], asks("gone"), {"role": "user", "content": "Stop."}]


def log_whose_response_is_a_call() -> Any:
    return {"messages": turns(), "response": {"choices": [{"message": asks("last")}], "model": "m"}}


def history_that_ends_in_a_call() -> Any:
    history: list[Message] = []
    for number in range(TURNS):
        part = {"tool_name": "read_file", "tool_call_id": f"c{number}"}
        asked = {**part, "part_kind": "tool-call", "args": "{}"}
        answered = {**part, "part_kind": "tool-return", "content": output(number)}
        history += [
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": prompt(number)}]},
            {"kind": "response", "parts": [asked]},
            {"kind": "request", "parts": [answered]},
            {"kind": "response", "parts": [{"part_kind": "text", "content": f"Route {number} is fine."}]},
        ]
    return history[:-2]


def code(*, compacted: bool = False, ending: str = "call") -> Script:
    script = Script()
    for number in range(TURNS):
        script.user(prompt(number))
        script.says(f"a{number}", text("I will look."), call(f"t{number}", path="a"))
        script.returns(f"t{number}", output(number))
        script.says(f"b{number}", text(f"Route {number} calls at all its stops."))
        if compacted and number == 5:
            script.says("cut", call("t-cut"))
            script.compacts("They looked at six routes.")
    script.user("And now?")
    script.says("m-last", call("u1"), call("u2"))
    if ending == "half":
        script.user([result("u2", "done"), text("Never mind.")])
    return script


SHAPES: dict[str, Callable[[], Any]] = {
    "chat": chat_whole,
    "chat that ends in a call": chat_ends_in_a_call,
    "chat that ends in half of the results": chat_ends_in_half_of_the_results,
    "chat that goes on after an open call": chat_goes_on_after_an_open_call,
    "log whose response is a call": log_whose_response_is_a_call,
    "history that ends in a call": history_that_ends_in_a_call,
    "claude code that ends in two calls": code,
    "claude code that ends in half of the results": lambda: code(ending="half"),
    "claude code compacted with a call open": lambda: code(compacted=True),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_undo_gives_the_same_bytes(plimsoll: Plimsoll, tmp_path: Path, shape: Callable[[], Any]) -> None:
    made = shape()
    path = tmp_path / "transcript"
    path.write_text(
        "\n".join(json.dumps(record) for record in made.records)
        if isinstance(made, Script)
        else json.dumps(made)
    )
    report = plimsoll("import", path, "--json").json
    session = report["session"]

    def views() -> list[bytes]:
        for format in ("pydantic-ai", "markdown"):
            done = plimsoll(
                *f"export {session} --view agent --force --format {format} -o".split(), tmp_path / format
            )
            assert done.code == 0, done.err
        return [(tmp_path / format).read_bytes() for format in ("pydantic-ai", "markdown")]

    before = views()
    assert plimsoll("compact", session, "--json").json["outcome"] == "success"
    compacted = views()
    assert all(len(less) < len(more) for less, more in zip(compacted, before, strict=True))
    assert plimsoll("compact", session, "--undo").code == 0
    assert views() == before
    assert plimsoll("compact", session, "--redo").code == 0
    assert views() == compacted
    assert plimsoll("compact", session, "--undo").code == 0
    assert views() == before


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_report_counts_the_messages_that_are_exported(
    plimsoll: Plimsoll, tmp_path: Path, shape: Callable[[], Any]
) -> None:
    made = shape()
    path = made.write(tmp_path) if isinstance(made, Script) else tmp_path / "transcript"
    if not isinstance(made, Script):
        path.write_text(json.dumps(made))
    report = plimsoll("import", path, "--json").json
    exported = plimsoll("export", report["session"], "--view", "user").out
    assert sum(map(_messages, json.loads(exported))) == report["messages"]


def _messages(exported: dict[str, Any]) -> int:
    """Count results separately, even if those of one response are sent together."""
    kinds = [part["part_kind"] for part in exported["parts"]]
    return max(1, sum(kind in ("tool-return", "retry-prompt") for kind in kinds))
