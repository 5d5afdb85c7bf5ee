"""Going back to before an earlier prompt."""

from typing import Any

from textual.app import App

from tui_app.conversation.work import Rewind
from tui_app.session.rewinding import RewindPoint, rewind_points, tokens_after_rewind
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.screens.rewind import PromptPicker, leaving_words

NOTHING = "Nothing to rewind: the context holds no earlier prompt."


async def rewind(app: App[Any], session: ChatSession, argument: str) -> None:
    """Go back to a prompt: the one with a log number, or one that the person chooses."""
    if argument:
        rewind_to(session, argument)
        return
    points = rewind_points(session.presenter.agent_view)
    if not points:
        session.say(NOTHING)
        return

    def explained(point: RewindPoint) -> str:
        usage = session.state.usage
        if usage is None:
            return leaving_words(point, None)
        after = tokens_after_rewind(session.presenter.agent_view, point.seq, usage)
        return leaving_words(point, (usage.total, after))

    chosen = await app.push_screen_wait(PromptPicker(points, "Rewind to before", "rewind", explained))
    if chosen is not None:
        session.submit(Rewind(chosen))


def rewind_to(session: ChatSession, argument: str) -> None:
    """Go back to the prompt with a log number, written ``#12`` or ``12``."""
    number = argument.strip().removeprefix("#")
    if number.isascii() and number.isdigit():
        session.submit(Rewind(int(number)))
    else:
        session.say("/rewind takes the number of a prompt, as in /rewind #12; alone it lists them.")
