"""A summary that waits for a decision, and is looked at while it is written."""

from typing import TYPE_CHECKING

from tui_app.events import CompactionProgress, CompactionProposed, CompactionStart
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.asking import write_on
from tui_app.ui.screens.review import ReviewScreen

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp

Reviewable = CompactionStart | CompactionProgress | CompactionProposed


def review(app: "PlimsollApp", session: ChatSession, event: Reviewable) -> None:
    """Follow a summary under review: a question that stands is kept up to date, else one is asked."""
    shown = _screen(app, event.job)
    match event:
        case CompactionProgress():
            if shown is not None:
                shown.hear(event)
        case CompactionProposed() if shown is not None:
            shown.propose(event)
        case CompactionProposed():
            _begin(app, session, ReviewScreen(event, glyphs=session.glyphs))
        case CompactionStart():
            _begin(app, session, ReviewScreen(None, job=event.job, glyphs=session.glyphs))


def _begin(app: "PlimsollApp", session: ChatSession, screen: ReviewScreen) -> None:
    app.chat.work(_ask(app, session, screen), group="review")


async def _ask(app: "PlimsollApp", session: ChatSession, screen: ReviewScreen | None) -> None:
    """Show a summary and pass the decision on; with another focus it is shown again while it is written."""
    while screen is not None:
        job = screen.job
        wanted = await app.push_screen_wait(screen)
        screen = None
        if wanted is None:
            return
        write_on(app, wanted.typed)
        if wanted.focus is not None:
            session.link.refocus(job, wanted.focus)
            screen = ReviewScreen(None, job=job, glyphs=session.glyphs)
        elif not wanted.later:
            session.link.decide(job, wanted.summary)


def close_review(app: "PlimsollApp", job: str) -> None:
    """Take the question off the screen when its job has ended otherwise."""
    screen = _screen(app, job)
    if screen is not None:
        screen.give_up()


def _screen(app: "PlimsollApp", job: str) -> ReviewScreen | None:
    found = (screen for screen in app.screen_stack if isinstance(screen, ReviewScreen) and screen.job == job)
    return next(found, None)
