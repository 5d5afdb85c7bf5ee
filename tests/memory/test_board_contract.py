"""What every store of boards must do, checked on the file and on the server alike."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.memory.boards import MAIN, found
from tui_app.conversation.boards import boards_in
from tui_app.memory.board import ContextBoard
from tui_app.memory.entries import PERSON, Change, Draft, Due, NotRemembered
from tui_app.memory.scope import DETACHED, Scope
from tui_app.memory.store import BoardStore
from tui_app.settings.spec import SessionServer

if TYPE_CHECKING:
    from tests.servers.postgres import Cluster

RULE = "Never touch the legacy importer."


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.postgres)])
def boards(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BoardStore:
    monkeypatch.setattr("tui_app.conversation.boards.PATIENCE_S", 30.0)
    if request.param == "file":
        return boards_in(tmp_path / "data" / "sessions.db")
    cluster: Cluster = request.getfixturevalue("postgres")
    return boards_in(SessionServer(cluster.database()))


def texts(boards: BoardStore, scope: Scope | None) -> list[str]:
    return [entry.text for entry in boards.entries(scope) if entry.stands]


def test_an_entry_comes_back_as_it_was_put_there(boards: BoardStore) -> None:
    draft = Draft(text="Größe 🌊 عربي", kind="decision", made_by="a:b", session="s1", seq=7, weight=2.5)
    made = boards.add(draft, "/r", "feat/x", [], 1_234.5)
    assert boards.entries(None) == [made]
    assert (made.text, made.kind, made.made_by, made.source) == (draft.text, "decision", "a:b", "s1#7")
    assert (made.repository, made.branch, made.time, made.weight) == ("/r", "feat/x", 1_234.5, 2.5)
    assert made.stands


def test_a_scope_sees_its_branch_under_all_its_names_and_what_holds_everywhere(boards: BoardStore) -> None:
    for branch in ("main", "trunk", "tides", ""):
        boards.add(Draft(text=f"on {branch}"), MAIN.repository, branch, [], 1.0)
    boards.add(Draft(text="of another"), "/other", "main", [], 1.0)
    assert texts(boards, MAIN) == ["on main", "on "]
    renamed = Scope(repository=MAIN.repository, branch="trunk", former=("main",))
    assert texts(boards, renamed) == ["on main", "on trunk", "on "]
    assert texts(boards, Scope(repository=MAIN.repository, branch=DETACHED)) == ["on "]
    assert len(texts(boards, None)) == 5


def test_what_is_replaced_or_pruned_stays_marked(boards: BoardStore) -> None:
    old = boards.add(Draft(text="old"), "/r", "", [], 1.0)
    new = boards.add(Draft(text="new", made_by="a:b"), "/r", "", [old.id, 999], 2.0)
    kept = boards.entries(None)[0]
    assert (kept.pruned, kept.pruned_by, kept.reason, kept.replaced_by) == (2.0, "a:b", "replaced", new.id)
    gone = boards.prune(new.id, PERSON, "forgotten", 3.0)
    assert gone is not None
    assert (gone.pruned, gone.pruned_by, gone.reason, gone.stands) == (3.0, PERSON, "forgotten", False)
    assert boards.prune(new.id, PERSON, "forgotten", 4.0) is None
    assert boards.prune(999, PERSON, "forgotten", 4.0) is None
    assert len(boards.entries(None)) == 2


def test_each_change_is_untold_until_it_is_told(boards: BoardStore) -> None:
    first = boards.add(Draft(text="first"), "/r", "", [], 1.0)
    second = boards.add(Draft(text="second"), "/r", "", [first.id], 2.0)
    first = boards.entries(None)[0]
    changes = [Change(kind="added", entry=first), Change(kind="pruned", entry=first)]
    assert boards.untold() == [*changes, Change(kind="added", entry=second)]
    for change in boards.untold():
        boards.told(change)
    assert boards.untold() == []
    boards.prune(second.id, PERSON, "x", 3.0)
    assert [(each.kind, each.entry.id) for each in boards.untold()] == [("pruned", second.id)]


def test_what_waits_waits_until_it_is_done(boards: BoardStore) -> None:
    due = Due(session="s1", repository="/r", branch="main", asked=5.5)
    boards.want(Due(session="s2", repository="/r", branch="main", asked=6.5))
    boards.want(due)
    boards.begun("s1")
    boards.begun("s1")
    assert [(each.session, each.attempts) for each in boards.due()] == [("s1", 2), ("s2", 0)]
    boards.done("s1", 40, asked=1.0)
    assert (boards.read_until("s1"), len(boards.due())) == (40, 2), "it was asked for again since then"
    boards.done("s1", 0, asked=5.5)
    assert (boards.read_until("s1"), [each.session for each in boards.due()]) == (40, ["s2"])
    boards.want(due)
    assert boards.due()[0] == due
    boards.done("s1", 30)
    assert (boards.read_until("s1"), boards.read_until("never")) == (40, 0)
    boards.done("s3", 12, asked=-1.0)
    assert (boards.read_until("s3"), len(boards.due())) == (12, 1)


def test_a_board_keeps_its_rules(boards: BoardStore) -> None:
    board = ContextBoard(boards, MAIN, most=2, now=lambda: 9.0)
    first = board.add(found("Use port 8080 for the local test server", "decision"))
    second = board.add(found("Use port 9090 for the local test server", "decision", seq=5))
    assert second.pruned == (first.entry.id,)
    mine = board.add(Draft(text=RULE, kind="rule"))
    assert not board.add(found("never touch the legacy importer", "rule")).new
    with pytest.raises(NotRemembered, match="only a person"):
        board.prune(mine.entry.id, "a:b")
    assert board.entries()[0].text == RULE
    board.edit(mine.entry.id, "Never touch the old importer.")
    with pytest.raises(NotRemembered, match="taken it off"):
        board.add(found(RULE, "rule"))


def test_any_thread_may_ask(boards: BoardStore) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(
            threads.map(lambda number: boards.add(Draft(text=f"n{number}"), "/r", "", [], 1.0).id, range(32))
        )
    assert sorted(made) == sorted(entry.id for entry in boards.entries(None))


def test_a_folder_or_branch_of_any_name_has_a_board(boards: BoardStore) -> None:
    scope = Scope(repository="/home/ada/\ud83d and \x1b", branch="a\tb")
    if type(boards).__name__ == "SqliteBoardStore":
        scope = Scope(repository="/home/ada/\x1b", branch="a\tb")
    boards.add(Draft(text="found again"), scope.repository, scope.branch, [], 1.0)
    assert texts(boards, scope) == ["found again"]
