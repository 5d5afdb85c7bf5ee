"""``plimsoll sessions``."""

import io
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.events import FilesRestored, RestoredFile, SessionStart, ToolCall, ToolResult, UserMessage
from tui_app.paths import Paths
from tui_app.session.lock import WriterLock
from tui_app.session.sqlite_store import SqliteStore


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
    assert refused.err.startswith(f"#{at} is no prompt of session {session}.")
    assert f"plimsoll sessions show {session}" in refused.err
