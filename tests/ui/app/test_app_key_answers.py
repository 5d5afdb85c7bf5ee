"""What answers a key stands in the status row until another key has done something."""

import pytest

from tests.ui.app.story import Story
from tests.ui.kit import Desk, shown
from tui_app.session.lock import WriterLock
from tui_app.session.workspace import SessionFolder
from tui_app.ui.chat.log_reader import FREE
from tui_app.ui.prompt.editor import DRAFT_CLEARED

REFUSED = "This row cannot be undone"


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story("ferries").user("how late?").answer("At eleven."))


@pytest.mark.parametrize("key", ["up", "tab", "x", "f3"])
async def test_a_refusal_goes_with_the_next_key_that_does_something(
    served: Desk, session: str, key: str
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        deck.transcript.jump_to(3)
        deck.transcript.focus()
        await deck.press("u")
        await deck.says(REFUSED)
        await deck.press("f9")
        await deck.settle()
        assert deck.status.startswith(REFUSED), "a key that does nothing leaves it"
        await deck.press(key)
        await deck.until(lambda: deck.status == "", "an empty row")


async def test_a_refusal_gives_way_to_the_next_one(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/unpin #2")
        await deck.says("#2 is not pinned.")
        await deck.send("/undo")
        await deck.says("No compaction to undo.")
        assert "#2 is not pinned." not in deck.status
        await deck.press("a")
        await deck.until(lambda: deck.status == "", "an empty row")


@pytest.mark.parametrize("key", ["up", "a"])
async def test_that_a_draft_was_cleared_is_not_said_for_ever(served: Desk, session: str, key: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.type("half a thought")
        await deck.press("ctrl+c")
        await deck.says(DRAFT_CLEARED)
        await deck.press(key)
        await deck.until(lambda: deck.status == "", "an empty row")
        assert deck.editor.text == ("half a thought" if key == "up" else "a")


async def test_what_stood_there_before_stands_there_again(served: Desk, session: str) -> None:
    lock = WriterLock(SessionFolder(served.paths.sessions_dir / session).lock_file)
    async with shown(served.app(session)) as deck:
        await deck.says("shown read-only")
        await deck.type("half a thought")
        await deck.press("ctrl+c")
        await deck.says(DRAFT_CLEARED)
        await deck.press("a")
        await deck.until(lambda: "shown read-only" in deck.status, "who writes")
        await deck.press("ctrl+c", "ctrl+g")
        lock.release()
        await deck.says(FREE)
        await deck.press("a")
        await deck.settle()
        assert deck.status == FREE
