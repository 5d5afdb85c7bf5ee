"""``plimsoll sessions`` and ``plimsoll stats``."""

import io
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    FilesRestored,
    RestoredFile,
    SessionStart,
    ToolCall,
    ToolResult,
    ToolTrimmed,
    UserMessage,
)
from tui_app.paths import Paths
from tui_app.session.lock import WriterLock
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.workspace import SessionFolder

# ``plimsoll sessions``.


@pytest.fixture
def paths(plimsoll_home: Path) -> Paths:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})
    paths.ensure()
    return paths


def begin(paths: Paths, *, title: str = "", said: str = "Hello there", time: float = 1_000.0) -> str:
    store = SqliteStore(paths.database)
    session = store.create(SessionStart(cwd="/tmp", model="", title=title), time=time)
    call = ToolCall(tool_call_id="c1", name="ls", args="{}")
    result = ToolResult(tool_call_id="c1", name="ls", text="a\nb", tokens={"tool_results": 9})
    events = [UserMessage(text=said, tokens={"user": 3}), call, result]
    store.append_many(session, [(event, None, time) for event in events])
    store.close()
    return session


def test_none_yet(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    assert plimsoll("sessions", "--json").json == {"sessions": []}
    assert plimsoll("sessions").err.startswith("There are no sessions yet.")
    assert not (plimsoll_home / "data").exists(), "listing must not create anything"


def test_list_names_each_by_title_or_first_prompt(plimsoll: Plimsoll, paths: Paths) -> None:
    named = begin(paths, title="Tide notes", time=1_000.0)
    plain = begin(paths, said="when is low water?\nplease", time=2_000.0)
    listed = plimsoll("sessions", "list", "--json").json["sessions"]
    assert [(row["id"], row["title"]) for row in listed] == [
        (plain, "when is low water?"),
        (named, "Tide notes"),
    ]
    table = plimsoll("sessions").out.splitlines()
    assert table[0].split() == ["ID", "LAST", "USED", "MESSAGES", "TITLE", "FOLDER"]
    assert table[1].split()[:3] == [plain, "1970-01-01", "00:33"]


def test_what_was_said_drives_no_terminal(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths, said="\x1b]0;owned\x07\x9b31mred\u202ekcab")
    for output in (plimsoll("sessions").out, plimsoll("sessions", "show", session).out):
        assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(output)
    assert plimsoll("sessions", "--json").out.isascii()


def test_show_says_how_many_messages_there_are(plimsoll: Plimsoll, paths: Paths) -> None:
    with closing(SqliteStore(paths.database)) as store:
        session = store.create(SessionStart(cwd="/tmp", model=""), time=1_000.0)
        store.append(session, UserMessage(text="Hello there"), None, time=1_000.0)
    assert ", 1 message, in /tmp" in plimsoll("sessions", "show", session).out


def test_show_folds_results_into_their_calls(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths)
    shown = plimsoll("sessions", "show", session[:6], "--json").json
    assert shown["id"] == session
    rows = [(entry["seq"], entry["kind"], entry["state"], entry["tokens"]) for entry in shown["entries"]]
    assert rows == [(2, "user", "ok", 3), (3, "tool", "ok", 9)]
    text = plimsoll("sessions", "show", session).out
    assert "#2" in text
    assert "ls" in text


def test_unknown_and_ambiguous_ids(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths)
    while begin(paths)[0] != session[0]:
        pass
    unknown = plimsoll("sessions", "show", "zzzz")
    assert unknown.code == 1
    assert unknown.err == "There is no session with the id 'zzzz'. See: plimsoll sessions\n"
    ambiguous = plimsoll("sessions", "show", session[0])
    assert ambiguous.code == 1
    assert "more than one session" in ambiguous.err


def test_show_says_what_became_of_files(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths)
    store = SqliteStore(paths.database)
    gone = FilesRestored(to=2, files=(RestoredFile(path="new.txt", before="a" * 64),))
    store.append_many(session, [(gone, None, 1_000.0)])
    store.close()
    shown = plimsoll("sessions", "show", session).out
    assert "1 file removed" in shown
    assert "restored" not in shown


@pytest.mark.parametrize("args", [("show",), ("delete",), ("list", "x"), ("rename", "x")])
def test_wrong_use(plimsoll: Plimsoll, args: tuple[str, ...]) -> None:
    result = plimsoll("sessions", *args)
    assert (result.code, result.out) == (2, "")
    assert result.err


def test_delete_takes_the_folder_along(plimsoll: Plimsoll, paths: Paths) -> None:
    session, other = begin(paths), begin(paths)
    folder = paths.sessions_dir / session
    (folder / "checkpoints").mkdir(parents=True)
    assert plimsoll("sessions", "delete", session, "--yes", "--json").json == {
        "session": session,
        "deleted": True,
    }
    assert not folder.exists()
    assert [row["id"] for row in plimsoll("sessions", "--json").json["sessions"]] == [other]


def test_delete_asks_and_keeps_unless_told(
    plimsoll: Plimsoll, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = begin(paths, title="Tide notes")
    for answer, left in (("\n", 1), ("no\n", 1), ("", 1), ("y\n", 0)):
        terminal = io.StringIO(answer)
        monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stdin", terminal)
        result = plimsoll("sessions", "delete", session)
        assert result.code == 0
        assert 'Delete session "Tide notes"? 2 messages, cannot be undone.' in result.err
        assert len(plimsoll("sessions", "--json").json["sessions"]) == left


def test_delete_without_anybody_to_ask(
    plimsoll: Plimsoll, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = begin(paths)
    for stdin in (io.StringIO("y\n"), None):
        monkeypatch.setattr(sys, "stdin", stdin)
        result = plimsoll("sessions", "delete", session)
        assert result.code == 2
        assert "--yes" in result.err
    assert len(plimsoll("sessions", "--json").json["sessions"]) == 1


def test_delete_leaves_a_session_that_is_open(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths)
    with WriterLock(paths.sessions_dir / session / "writer.lock"):
        result = plimsoll("sessions", "delete", session, "--yes")
    assert result.code == 1
    assert result.err.startswith("The session is open in another window ")
    assert len(plimsoll("sessions", "--json").json["sessions"]) == 1


def test_fork_takes_over_what_was_before_a_prompt(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths, title="Tide notes")
    forked = plimsoll("sessions", "fork", session, "--at", "2", "--json").json
    assert forked["prompt"] == "Hello there"
    assert plimsoll("sessions", "show", forked["session"], "--json").json["entries"] == []
    said = plimsoll("sessions", "fork", session).out
    assert said.startswith("Forked into ")
    assert "plimsoll --resume " in said
    whole = plimsoll("sessions", "show", said.split()[2].rstrip("."), "--json").json
    assert (whole["title"], len(whole["entries"])) == ("Fork of Tide notes", 2)


@pytest.mark.parametrize("at", ["0", "3", "99"])
def test_a_fork_at_something_else_is_a_wrong_usage(plimsoll: Plimsoll, paths: Paths, at: str) -> None:
    session = begin(paths)
    refused = plimsoll("sessions", "fork", session, "--at", at)
    assert refused.code == 2
    assert refused.err.startswith(f"#{at} is not a prompt of session {session}.")
    assert f"plimsoll sessions show {session}" in refused.err


# ``plimsoll sessions search``, ``rename``, ``backup`` and ``prune``.


DAY_S = 86_400.0


def ids(paths: Paths) -> set[str]:
    store = SqliteStore(paths.database, read_only=True)
    try:
        return {info.id for info in store.sessions()}
    finally:
        store.close()


def test_search_says_where(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths, title="Tide notes", said="When is low water at the harbour \x1b[31mtoday?")
    begin(paths, said="Nothing of the kind")
    result = plimsoll("sessions", "search", "low", "harb*")
    assert result.code == 0
    first, second = result.out.splitlines()
    assert first.split()[:2] == [session, "#2"]
    assert first.endswith("user  Tide notes")
    assert "low water at the harbour" in second
    assert "\x1b" not in result.out
    (row,) = plimsoll("sessions", "search", '"low water"', "--json").json["results"]
    assert (row["session"], row["seq"], row["title"]) == (session, 2, "Tide notes")


@pytest.mark.parametrize("words", ['"', "AND OR NOT", "tide NEAR(", "a:b*c^", "x" * 2_000])
def test_search_takes_any_words(plimsoll: Plimsoll, paths: Paths, words: str) -> None:
    begin(paths)
    result = plimsoll("sessions", "search", words)
    assert result.code in (1, 2)
    assert "syntax" not in result.err


def test_search_that_finds_nothing(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    assert plimsoll("sessions", "search", "tide").code == 1
    assert plimsoll("sessions", "search", "tide", "--json").json["results"] == []
    assert plimsoll("sessions", "search").code == 2
    assert not (plimsoll_home / "data").exists()


def test_rename(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths, said="When is low water?")
    assert plimsoll("sessions", "rename", session[:6], "The", "tides \n here").code == 0
    assert plimsoll("sessions", "--json").json["sessions"][0]["title"] == "The tides here"
    again = plimsoll("sessions", "rename", session, "", "--json")
    assert again.json == {"session": session, "title": "When is low water?"}
    assert plimsoll("sessions", "rename", session).code == 2
    assert plimsoll("sessions", "rename", "zzzz", "x").code == 1


def test_backup(plimsoll: Plimsoll, paths: Paths, project: Path) -> None:
    assert plimsoll("sessions", "backup", "early.db").code == 1
    session = begin(paths)
    made = plimsoll("sessions", "backup", "copy.db", "--json").json
    assert (made["path"], made["sessions"]) == (str(project / "copy.db"), 1)
    store = SqliteStore(project / "copy.db")
    assert store.info(session).messages == 2
    store.close()
    again = plimsoll("sessions", "backup", "copy.db")
    assert again.code == 1
    assert "exists already" in again.err
    assert plimsoll("sessions", "backup", "no/such/folder.db").code == 1
    assert plimsoll("sessions", "backup").code == 2


def test_prune_is_off_until_a_limit_is_set(plimsoll: Plimsoll, paths: Paths) -> None:
    begin(paths)
    result = plimsoll("sessions", "prune", "--yes")
    assert result.code == 1
    assert "no limit is set" in result.err
    assert len(ids(paths)) == 1


def test_a_dry_run_without_a_limit_has_nothing_to_do(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths)
    result = plimsoll("sessions", "prune", "--dry-run")
    assert (result.code, result.err) == (0, "")
    assert "no limit is set" in result.out
    assert "plimsoll config set retention.days 90" in result.out
    assert plimsoll("sessions", "prune", "--dry-run", "--json").json == {
        "deleted": False, "sessions": [], "open": []
    }  # fmt: skip
    assert ids(paths) == {session}


def test_one_session_is_one(plimsoll: Plimsoll, paths: Paths) -> None:
    now = time.time()
    begin(paths, time=now - 40 * DAY_S)
    begin(paths, time=now)
    plimsoll("config", "set", "retention.days", "30")
    assert "1 session is over the limits." in plimsoll("sessions", "prune", "--dry-run").out
    assert "1 session deleted." in plimsoll("sessions", "prune", "--yes").out


def test_prune_says_what_would_go_then_deletes_it(plimsoll: Plimsoll, paths: Paths) -> None:
    now = time.time()
    old, older, fresh = (
        begin(paths, time=now - days * DAY_S, title=title)
        for days, title in ((40, "Forty"), (90, "Ninety"), (1, "Fresh"))
    )
    folder = SessionFolder(paths.sessions_dir / old)
    folder.write_tool_output("tool_outputs/a.txt", "x")
    assert plimsoll("config", "set", "retention.days", "30").code == 0
    said = plimsoll("sessions", "prune", "--dry-run")
    assert "Forty" in said.out
    assert "not used for 39 days" in said.out
    assert "2 sessions are over the limits." in said.out
    assert len(ids(paths)) == 3
    unasked = plimsoll("sessions", "prune")
    assert unasked.code == 2
    assert "--yes" in unasked.err
    with WriterLock(SessionFolder(paths.sessions_dir / older).lock_file):
        done = plimsoll("sessions", "prune", "--yes", "--json").json
    assert [row["session"] for row in done["sessions"]] == [old]
    assert done["open"] == [older]
    assert ids(paths) == {fresh, older}
    assert not folder.path.exists()
    assert plimsoll("sessions", "prune", "--yes").code == 0
    assert ids(paths) == {fresh}


def test_prune_by_number_and_size(plimsoll: Plimsoll, paths: Paths) -> None:
    kept = [begin(paths, time=1_000.0 + number, said="x" * 1_000) for number in range(4)]
    plimsoll("config", "set", "retention.max_sessions", "3")
    assert [
        row["session"] for row in plimsoll("sessions", "prune", "--dry-run", "--json").json["sessions"]
    ] == [kept[0]]
    plimsoll("config", "set", "retention.max_bytes", "4000")
    due = plimsoll("sessions", "prune", "--dry-run", "--json").json["sessions"]
    assert "bytes together" in due[0]["reason"]
    assert {row["session"] for row in due} < set(kept)


# ``plimsoll stats``.


def stats_begin(paths: Paths, time: float = 1_000.0, model: str = "harbour:scripted") -> str:
    store = SqliteStore(paths.database)
    session = store.create(SessionStart(cwd="/tmp", model=""), time=time)
    done = CompactionComplete(
        job="1",
        outcome="success",
        trigger="model_switch",
        tokens_removed=85_300,
        retention=0.98,
        cost_usd=0.004,
    )
    events = [
        UserMessage(text="hello"),
        AssistantMessage(text="Hi.", model=model, input_tokens=91_500, output_tokens=20, cost_usd=0.42),
        ToolTrimmed(tokens_removed=1_200),
        done,
    ]
    store.append_many(session, [(event, None, time) for event in events])
    store.close()
    return session


def test_tables_for_a_person(plimsoll: Plimsoll, paths: Paths) -> None:
    session = stats_begin(paths)
    lines = plimsoll("stats", session[:4]).out.splitlines()
    assert lines[0] == session
    assert "  1 turn, 1 request, 0 tool calls" in lines
    assert "  $0.42 with summaries" in lines
    assert "  harbour:scripted        1    91.5k        0       20    $0.42" in lines
    assert "  model switch  success        1    85.3k    0.0 s   $0.004" in lines
    assert "  facts kept (weighted): 98% average, 98% minimum" in lines
    assert "  compact        1             85.3k" in lines
    assert max(map(len, lines)) < 80


def test_json_of_the_last_session(plimsoll: Plimsoll, paths: Paths) -> None:
    stats_begin(paths, time=1_000.0)
    session = stats_begin(paths, time=2_000.0)
    stats = plimsoll("stats", "--json").json
    assert stats["session"] == session
    assert stats["models"][0]["input_tokens"] == 91_500
    assert [row["tokens_removed"] for row in stats["stages"]] == [1_200, 85_300]
    assert stats["cost_usd"] == pytest.approx(0.424)
    assert stats["retention"] == 0.98
    assert stats["cache_share"] == 0.0


def test_no_session(plimsoll: Plimsoll, paths: Paths) -> None:
    for arguments in (("stats",), ("stats", "abc")):
        gone = plimsoll(*arguments)
        assert gone.code == 1
        assert gone.err.startswith("There ")
        assert gone.out == ""
    SqliteStore(paths.database).close()
    assert plimsoll("stats").err.startswith("There are no sessions yet.")


def test_names_out_of_the_log_drive_no_terminal(plimsoll: Plimsoll, paths: Paths) -> None:
    session = stats_begin(paths, model="\x1b]0;owned\x07\x9b31m" + "long" * 30)
    out = plimsoll("stats", session).out
    assert not {"\x1b", "\x9b", "\x07"} & set(out)
    assert max(map(len, out.splitlines())) < 80
