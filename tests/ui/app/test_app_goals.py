"""Goals on the screen: set by a command, counted in the header, ended by the user, kept after a resume."""

from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import Desk, shown
from tui_app.ui.panels.header import ChatHeader


async def test_the_header_counts_the_turns_of_a_goal_that_survives_a_resume(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("One."), Text("Two."), HangBeforeHeaders())
    async with shown(served.app(), size=(120, 30)) as deck:
        await deck.ready()
        await deck.send("/goal Keep the quay dry")
        await deck.says("A goal needs a check that code can run")
        await deck.send("/goal Keep the quay dry --count 4")
        await deck.until(lambda: "goal 2 of 4" in deck.widget(ChatHeader), "two turns")
        assert len(fake_openai.journal) >= 2
        session = deck.app.chat.session.id
        await deck.press("escape")
    async with shown(served.app(session), size=(120, 30)) as deck:
        await deck.ready()
        await deck.until(lambda: "goal 2 of 4" in deck.widget(ChatHeader), "the goal of the log")
        await deck.send("/goal")
        await deck.says("goal 2 of 4: Keep the quay dry · reached after 4 turns")
        await deck.send("/goal off")
        await deck.until(lambda: "goal" not in deck.widget(ChatHeader), "no goal")
        await deck.send("/goal off")
        await deck.says("There is no goal.")


async def test_that_it_is_reached_stands_on_the_screen_once(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("One."), Text("Two."))
    async with shown(served.app(), size=(120, 30)) as deck:
        await deck.ready()
        await deck.send("/goal Keep the quay dry --count 2")
        await deck.says("goal reached after 2 turns")
        await deck.idle()
        await deck.until(lambda: deck.text.count("goal reached") == 1, "one line")
        assert not deck.status
