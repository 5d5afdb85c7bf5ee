"""A summary that waits for a decision."""

from typing import TYPE_CHECKING

from textual import events

from tui_app.context.events import CompactionProposed
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.screens.review import ReviewScreen

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp


async def review_summary(app: "PlimsollApp", session: ChatSession, proposed: CompactionProposed) -> None:
    """Show a summary and pass the decision on."""
    wanted = await app.push_screen_wait(ReviewScreen(proposed, glyphs=session.glyphs))
    if wanted is None:
        return
    session.link.decide(proposed.job, wanted.summary)
    if wanted.typed:
        app.chat.pane.prompt.editor.post_message(events.Paste(wanted.typed))


def close_review(app: "PlimsollApp", job: str) -> None:
    """Take the question off the screen when its job has ended otherwise."""
    for screen in app.screen_stack:
        if isinstance(screen, ReviewScreen) and screen.job == job:
            screen.dismiss(None)
