"""``plimsoll sessions search``, ``rename``, ``backup`` and ``prune``."""

import time
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.cli.test_cli_sessions import begin, paths
from tui_app.paths import Paths
from tui_app.session.lock import WriterLock
from tui_app.session.sqlite_store import SqliteStore
from tui_app.session.workspace import SessionFolder

__all__ = ["paths"]
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
