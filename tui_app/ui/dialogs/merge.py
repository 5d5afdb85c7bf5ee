"""Merging a branch: its brief is reviewed, then the diff of its files, and only then anything changes."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content

from tui_app.session.branches import BranchRefused
from tui_app.session.store import SessionNotFound, explained
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.brief import JOB, show_brief
from tui_app.ui.dialogs.questions import DetailedWays, Way
from tui_app.ui.dialogs.review import ReviewScreen, Words, draft_reviewed
from tui_app.ui.keys import choice_hints
from tui_app.ui.text import clean, count, one_line

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.branch_files import FilesOfBranch
    from tui_app.conversation.branches import MergePlan
    from tui_app.ui.host import Host

    _Write = Callable[[OpenSession], Awaitable[MergePlan | str]]

BUSY = "An answer is being written. Wait for its end, or stop it with esc, then merge."
UNCHANGED = "Not merged. Nothing changed."
_MOST_LINES = 2_000


class MergeScreen(ReviewScreen):
    """Shows the brief of a branch while it is written, then to edit."""

    WORDS: ClassVar[Words] = Words(
        "Reading the branch …",
        "Review what the branch brings",
        "merge it",
        ("Focus on", "What matters most? The brief is rewritten; nothing has changed yet.", "rewrite"),
        "Discard the brief you have edited?",
    )

    def show(self, plan: "MergePlan") -> None:
        show_brief(self, plan.brief)


class MergeFiles(DetailedWays):
    """Dismisses with whether files are taken over; None merges nothing."""

    HINTS = choice_hints("choose", "cancel: nothing changes")
    GUARDS = False

    def __init__(self, files: "FilesOfBranch") -> None:
        taken = [file for file in files.files if not file.left]
        left = len(files.files) - len(taken)
        ways = [Way("Brief and files", f"{count(len(taken), 'file')} as below", True)] if taken else []
        ways.append(Way("Brief only", "files stay as they are", False))
        told = f"{count(left, 'file')} left alone." if left else ""
        super().__init__("Take over the files of the branch?", ways, told, first=0)
        lines = [
            Content.assemble((f"{file.verb:<11}", "$text-warning" if file.left else "$text-muted"),
                             clean(file.path), (f"  {clean(file.left)}", "$text-muted"))
            for file in files.files
        ]  # fmt: skip
        tones = {"+": "$text-success", "-": "$text-error", "@": "$text-muted"}
        rows = files.diff.splitlines()
        lines += [
            Content.styled(clean(row, keep_tabs=True), tones.get(row[:1], "")) for row in rows[:_MOST_LINES]
        ]
        if len(rows) > _MOST_LINES:
            lines.append(Content(f"and {count(len(rows) - _MOST_LINES, 'more line')}"))
        self.detail = Content("\n").join(lines)


async def merge(app: "Host", session: ChatSession, argument: str) -> None:
    """Bring the outcome of a branch back: its brief is reviewed first, then the diff of its files."""
    if session.state.busy:
        session.say(BUSY)
        return
    loop, focus = asyncio.get_running_loop(), ""
    while True:
        screen = MergeScreen(None, job=JOB)
        write: _Write = partial(_planned, session, argument, focus, screen, loop)
        reviewed = await draft_reviewed(app, session, screen, write, screen.show)
        plan, wanted = reviewed
        if wanted is None:
            return  # why was said
        if not (focus := wanted.focus or ""):
            break
    if plan is None or wanted.summary is None or not await _merged(app, session, plan, wanted.summary):
        session.say(UNCHANGED)


async def _merged(app: "Host", session: ChatSession, plan: "MergePlan", text: str) -> bool:
    """Show what it does to files, and have it done; whether the user wants that."""
    with_files: bool | None = True
    if plan.files.files:
        with_files = await app.push_screen_wait(MergeFiles(plan.files))
    elif plan.files.note:
        session.report(one_line(plan.files.note, 300))
    if with_files is None:
        return False
    try:
        session.submit(plan.work(text, with_files=with_files))
    except BranchRefused as refused:
        session.report(str(refused))
    return True


async def _planned(
    session: ChatSession,
    wanted: str,
    focus: str,
    screen: MergeScreen,
    loop: asyncio.AbstractEventLoop,
    opened: "OpenSession",
) -> "MergePlan | str":
    from tui_app.agent.models import UnknownModel
    from tui_app.conversation.branches import plan_merge

    now = opened.conversation
    opening = replace(session.launch.opening(now.session), model=now.model, policy=now.policy)
    try:
        return await plan_merge(
            opening, wanted, lambda each: loop.call_soon_threadsafe(screen.hear, each), focus=focus
        )
    except (BranchRefused, UnknownModel) as refused:
        return str(refused)
    except (SessionNotFound, sqlite3.Error, OSError) as error:
        return f"The branch cannot be read. {explained(error, opening.paths.database)}"
