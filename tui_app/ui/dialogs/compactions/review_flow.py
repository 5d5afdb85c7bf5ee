"""Reading a summary while it is written, and reviewing a proposed one."""

from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.widgets import Static

from tui_app.events import CompactionComplete, CompactionProgress, CompactionProposed, CompactionStart, Record
from tui_app.ui.chat.compaction_outcome import outcome_text
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.sent import reader_of
from tui_app.ui.words.text import clean

if TYPE_CHECKING:
    from tui_app.ui.host import Chat, Host
from tui_app.ui.dialogs.review import SUMMARY, ReviewScreen, fill_of, progress_line
from tui_app.ui.dialogs.summary_area import SummaryArea


class ReadAlongScreen(Dialog[None], place="details", style="review", size="-full"):
    """Shows a summary while it is written, and finally the outcome."""

    def __init__(self, part: int, text: str) -> None:
        """Start with the text so far.

        Args:
            part: The part that is being written, from 1.
            text: The text of that part so far.
        """
        super().__init__(SUMMARY.writing)
        self.area = SummaryArea(id="review-text")
        self.area.hear(CompactionProgress(job="", part=part, parts=part, tokens_written=1, text=text))

    def body(self) -> ComposeResult:
        yield Static(classes="dialog-note", id="review-numbers", markup=False)
        yield self.area

    def keep_up(self, record: Record) -> None:
        """Show what an event adds."""
        match record.data:
            case CompactionProgress() as progress:
                # Also before it is built: what was written by then is part of it.
                self.area.hear(progress)
                if self.is_open:
                    self.query_one("#review-numbers", Static).update(progress_line(progress))
            case CompactionComplete() as done if self.is_open:
                self.write_head(clean(outcome_text(done)[0]))

    async def action_copy_all(self) -> None:
        self.whole = self.area.text
        await super().action_copy_all()


def read_along(app: "Host", session: ChatSession) -> None:
    """Show the summary that is being written."""
    screen = ReadAlongScreen(*session.state.writing)
    session.followers.append(screen.keep_up)
    app.push_screen(screen, lambda _: session.followers.remove(screen.keep_up))


def follow_review(chat: "Chat", record: Record) -> None:
    """Update the open review, open one if there is none, and close it when its compaction ends."""
    match record.data:
        case CompactionProgress(job=job, text=text) as progress if text:
            # A review that the user did not request is shown once there is something to decide.
            if (shown := _screen(chat.app, job)) is not None:
                shown.hear(progress)
        case CompactionStart(trigger="manual", reviewed=True, job=job):
            chat.work(_ask(chat.app, chat.session, None, job), group="review")
        case CompactionProposed(job=job) as proposed:
            if (shown := _screen(chat.app, job)) is not None:
                shown.propose(proposed)
            else:
                chat.work(_ask(chat.app, chat.session, proposed, job), group="review")
        case CompactionComplete(job=job):
            if (shown := _screen(chat.app, job)) is not None:
                shown.abandon()


async def _ask(app: "Host", session: ChatSession, proposed: CompactionProposed | None, job: str) -> None:
    """Show a review and pass on the decision; a rewrite is reviewed again."""
    again = True
    while again:
        screen = ReviewScreen(proposed, job=job, fill=fill_of(app, session), read=reader_of(session))
        review = await app.push_screen_wait(screen)
        if review is None or review.later or session.conversation is None:
            return
        decision: Any = review.summary
        if again := review.focus is not None or review.attempt:
            from tui_app.context.compaction.reviews import Attempt, Refocus

            decision = Attempt() if review.focus is None else Refocus(review.focus)
        session.engine.call(session.conversation.reviews.decide, job, decision)
        proposed = None


def _screen(app: "Host", job: str) -> ReviewScreen | None:
    found = (screen for screen in app.screen_stack if isinstance(screen, ReviewScreen) and screen.job == job)
    return next(found, None)
