"""Memory that runs short while a long session is on the screen."""

from tests.ui.app.story import WORDS, Story
from tests.ui.kit import Desk, shown
from tui_app.conversation.assembly import OpenSession
from tui_app.ui.transcript.transcript import Transcript


def many_turns(count: int) -> Story:
    story = Story("Ferries")
    for number in range(count):
        story.user(f"question {number}").answer(f"answer {number} {WORDS}")
    return story


async def _short(opened: OpenSession) -> str:
    """Let one megabyte be the limit, and look."""
    opened.memory.limit_mb = 1
    return await opened.memory.look()


async def test_lines_far_from_the_window_are_dropped_and_nothing_moves(served: Desk) -> None:
    session = served.change(memory_limit_mb=0).store(many_turns(60))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        pages, height = deck.transcript._pages, deck.transcript.size.height
        for _ in range(25):
            deck.transcript.action_page(-1)
        await deck.settle()
        painted, rows = pages._lines.size, deck.widget(Transcript)
        assert painted > 8 * height
        assert await deck.app.chat.session.ask(_short) == "drop"
        await deck.says("Memory is short")
        assert 0 < pages._lines.size <= 6 * height
        assert deck.widget(Transcript) == rows
        deck.transcript.scroll_lines(-5)
        deck.transcript.scroll_lines(5)
        await deck.settle()
        assert deck.widget(Transcript) == rows
        assert deck.app.chat.session.state.notices[-1].endswith("1 MB): caches were dropped.")


async def test_what_is_on_screen_stays_when_nothing_above_was_ever_painted(served: Desk) -> None:
    session = served.change(memory_limit_mb=0).store(Story("Ferries").turns(6))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        rows = deck.widget(Transcript)
        assert "word399" in rows
        assert await deck.app.chat.session.ask(_short) == "drop"
        await deck.says("Memory is short")
        deck.transcript.refresh()
        await deck.settle()
        assert deck.widget(Transcript) == rows
