"""``plimsoll context ID --pin …``: single messages steered without the screen."""

from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.ui.app.story import NOON, Story
from tui_app.paths import Paths
from tui_app.session.agent_view import AgentView, fold_agent_view
from tui_app.session.sqlite_store import SqliteStore

TEXT = "".join(f"{number}: the tide comes in twice a day\n" for number in range(800))
CALL, RESULT = 4, 5
"""Log numbers of the call of a tool and of what it returned."""


@pytest.fixture
def paths(plimsoll_home: Path) -> Paths:
    return Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})


@pytest.fixture
def session(paths: Paths) -> str:
    story = Story("tide", model="offline:extractive").user("When?")
    story.tool("read_file", '{"path": "tide.txt"}', TEXT, tokens=9_000).answer("Twice.").user("Thanks.")
    paths.ensure()
    store = SqliteStore(paths.database)
    try:
        session = store.create(story.start, time=NOON)
        store.append_many(session, story.events)
        return session
    finally:
        store.close()


def view(paths: Paths, session: str) -> AgentView:
    store = SqliteStore(paths.database, read_only=True)
    try:
        return fold_agent_view(store.heads(session))
    finally:
        store.close()


def test_each_step_is_an_event_and_the_new_size_is_printed(
    plimsoll: Plimsoll, paths: Paths, session: str
) -> None:
    before = plimsoll("context", session, "--json").json["total"]
    small = plimsoll("context", session, "--offload", f"#{RESULT}", "--json").json["total"]
    assert small < before - 5_000
    assert view(paths, session).rewrites
    assert plimsoll("context", session, "--restore", RESULT, "--json").json["total"] == before
    assert plimsoll("context", session, "--archive", CALL, "--json").json["total"] < before - 5_000
    assert plimsoll("context", session, "--restore", RESULT).code == 0
    assert plimsoll("context", session, "--window", 128_000, "--pin", RESULT, "--pin", 2).code == 0
    assert view(paths, session).pins == {RESULT, 2}
    assert plimsoll("context", session, "--unpin", CALL).code == 0, "the call's number means its result"
    assert view(paths, session).pins == {2}


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--pin", 999), "#999 is not part of the next request."),
        (("--unpin", RESULT), f"#{RESULT} is not pinned."),
        (("--restore", RESULT), "Nothing to take back"),
        (("--archive", 2), "Only results of tools"),
    ],
)
def test_what_cannot_be_done_is_said(
    plimsoll: Plimsoll, session: str, args: tuple[object, ...], why: str
) -> None:
    refused = plimsoll("context", session, *args)
    assert refused.code == 1
    assert why in refused.err


def test_a_number_is_asked_for(plimsoll: Plimsoll, session: str) -> None:
    refused = plimsoll("context", session, "--pin", "newest")
    assert refused.code == 2
    assert "no number of a message" in refused.err
