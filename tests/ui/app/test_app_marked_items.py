"""Several items of the context screen at once: what could not be done is said with its reason."""

from tests.ui.app.story import Story
from tests.ui.kit import Desk, shown
from tui_app.ui.dialogs.context import ContextScreen

LONG = "A line of the timetable that is long enough to be worth a digest.\n" * 60


async def test_what_stays_of_marked_items_is_said_there(desk: Desk) -> None:
    read = Story().user("how late?").tool("read_file", '{"path": "a.py"}', LONG, tokens=1_200)
    story = read.answer("At eleven.").turns(2)
    async with shown(desk.app(desk.store(story)), (120, 40)) as deck:
        await deck.ready()
        await deck.press("f3")
        await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the items")
        await deck.press("home", "space", "space")
        assert "esc unmark" in deck.words
        await deck.press("a")
        await deck.says("1 of 2 archived.")
        assert "Only results of tools" in deck.words
        assert "esc close" in deck.words
