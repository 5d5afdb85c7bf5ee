"""Branches of one session that two machines create at the same time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tui_app.conversation.branches import new_branch
from tui_app.conversation.branches.new_branch import make_branch
from tui_app.conversation.requests.open_request import Opening
from tui_app.events import SessionStart, UserMessage
from tui_app.paths import Paths
from tui_app.refusals import Refusal
from tui_app.session.branches import branches_of
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.settings import Settings
from tui_app.settings.spec import SessionServer

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize(
    ("place", "name"), [(new_branch, "fork_session"), (PostgresStore, "append_many")], ids=["looked", "begun"]
)
def test_whoever_loses_is_told_and_one_branch_is_there(
    server: SessionServer,
    store: PostgresStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: Any,
    name: str,
) -> None:
    session = store.create(SessionStart(cwd=str(tmp_path), model="a:b"), time=1.0)
    store.append(session, UserMessage(text="hello"), None, time=1.0)

    def make(machine: str) -> str:
        paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path / machine)})
        settings = Settings(store=server.url)
        opening = Opening(settings=settings, paths=paths, env={}, cwd=tmp_path, session=session)
        return make_branch(opening, "Ferries", at=None, now=2.0).fork.session

    real: Callable[..., Any] = getattr(place, name)
    made: list[str] = []

    def other_first(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(place, name, real)
        made.append(make("theirs"))
        return real(*args, **options)

    monkeypatch.setattr(place, name, other_first)
    with pytest.raises(Refusal, match="has a branch Ferries already"):
        make("ours")
    assert [each.info.id for each in branches_of(store, session)] == made
