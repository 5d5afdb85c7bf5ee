"""Reviewing a generated draft, such as a brief or commit message, until the user accepts or discards it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tui_app.events import CompactionProgress, CompactionProposed
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.review import Reviewed, ReviewScreen, ReviewTexts
from tui_app.ui.words.text import cost, one_line, tokens

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.branches.branches import MergePlan
    from tui_app.conversation.handoff import Draft
    from tui_app.conversation.requests.open_request import Opening
    from tui_app.ui.host import Host

D = TypeVar("D")
Hear = Callable[[CompactionProgress], object]
BUSY = "An answer is being written. Wait for its end, or stop it with esc, then {}."
JOB = "draft"
"""The job id of drafts, where a compaction has its own."""


async def draft_reviewed(
    app: "Host",
    session: ChatSession,
    words: ReviewTexts,
    write: "Callable[[Opening, str, Hear], Awaitable[D]]",
    show: Callable[[ReviewScreen, D], None],
    use: Callable[[D, str], Awaitable[D | None]],
    *,
    wish: str = "",
) -> None:
    """Generate a draft while its review is open, again for each new focus, and use the result.

    Args:
        app: Shows the screen.
        session: The session whose agent side writes.
        words: Texts of the review.
        write: Writes the draft for a wish, and reports progress.
        show: Shows the written draft.
        use: Uses the draft with the text edited by the user; a draft that it returns is reviewed again.
        wish: What the draft should be about.
    """
    loop = asyncio.get_running_loop()
    draft: D | None = None

    async def written(screen: ReviewScreen, opened: "OpenSession") -> D:
        def hear(progress: CompactionProgress) -> None:
            loop.call_soon_threadsafe(screen.hear, progress)

        now = opened.conversation
        opening = replace(session.launch.opening(now.session), model=now.model, policy=now.policy)
        return await write(opening, wish, hear)

    while True:
        screen = ReviewScreen(None, job=JOB, words=words)
        answer = app.push_screen(screen, wait_for_dismiss=True)
        if draft is None:
            writing = asyncio.create_task(session.ask(partial(written, screen)))
            try:
                await asyncio.wait((answer, writing), return_when=asyncio.FIRST_COMPLETED)
                draft = writing.result() if not answer.done() else None
            except Exception:
                screen.abandon()
                await answer
                raise
            finally:
                writing.cancel()
        if draft is not None:
            show(screen, draft)
        review = await answer or Reviewed(None)
        if review.focus is not None:
            draft, wish = None, review.focus
        elif draft is None or review.summary is None:
            session.reply(words.unchanged)
            return
        elif (draft := await use(draft, review.summary)) is None:
            return


def show_brief(screen: ReviewScreen, draft: "Draft | MergePlan") -> None:
    """Show the brief: enter applies it, unless a line of it is flagged."""
    brief = draft.brief
    by = f"written by {brief.model}" if brief.performed_by == "model" else "by extraction"
    parts = [f"about {tokens(brief.tokens)} tokens", by]
    parts += [f"{brief.left_out} had no room"] if brief.left_out else []
    parts += [cost(brief.cost_usd)] if brief.cost_usd is not None else []
    screen.figures = parts
    screen.trouble = f"No model wrote notes: {one_line(brief.reason, 200)}." if brief.reason else ""
    screen.propose(CompactionProposed(job=JOB, summary=brief.text, claims_marked=brief.marked))
