"""The session's changes in its folder, file by file with diffs; and committing them."""

import asyncio
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_app.events import CompactionProposed
from tui_app.refusals import Refusal
from tui_app.session.stores.database import open_store
from tui_app.ui.approvals import ApprovalDetail, diff_page
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.drafts import JOB, Hear, draft_reviewed
from tui_app.ui.dialogs.extensions.trust import may_use_git
from tui_app.ui.dialogs.list import NARROW, ListDialog, ListSpec
from tui_app.ui.dialogs.review import ReviewScreen, ReviewTexts
from tui_app.ui.widgets.long_text import Wrapped
from tui_app.ui.widgets.tables import Column
from tui_app.ui.words.text import count, one_line

if TYPE_CHECKING:
    from tui_app.conversation.files.commit_proposal import CommitProposal
    from tui_app.conversation.files.session_changes import ChangedFile, SessionChanges
    from tui_app.conversation.requests.open_request import Opening
    from tui_app.ui.host import Host

NOTHING = "No changes: neither this session nor git has any."


class DiffText(ApprovalDetail):
    """A diff, coloured as in the approval of an edit; only visible rows are painted."""

    _diff = ""

    def show_diff(self, diff: str, path: str) -> None:
        self._diff, self.path = diff, path
        self.show(diff)

    def _broken(self, width: int) -> Wrapped:
        return diff_page(self._diff, width)


def whose(row: "ChangedFile") -> str:
    """Return what git knows of a file, beyond the session's own changes."""
    return "staged" if row.is_staged else "" if row.by == "session" else "git"


class ChangesScreen(ListDialog["ChangedFile"], place="changes", style="changes", size="-full"):
    """Lists the files and shows the marked one's diff; dismisses with a file for the prompt."""

    def __init__(self, changes: "SessionChanges") -> None:
        more = f" {count(changes.more, 'more file')} not shown." if changes.more else ""
        problem = f" {one_line(changes.problem, 200)}" if changes.problem else ""

        def note(row: "ChangedFile") -> str:
            since = "since before this session" if row.by == "session" else "since the last commit"
            return f"{one_line(row.note, 200) or f'Compared {since}.'}{problem}{more}"

        spec = ListSpec["ChangedFile"](
            name="changes",
            search="filter by path",
            columns=(
                Column(lambda row: row.state, 9),
                # Lines that were added, or what a file is that has none; and those that were removed.
                Column(
                    lambda row: row.counts.partition(" ")[0], 6, "$text-success", right=True, leaves_at=NARROW
                ),
                Column(lambda row: f" {row.counts.partition(' ')[2]}", 8, "$text-error", leaves_at=NARROW),
                Column(whose, 8, leaves_at=NARROW),
                Column(lambda row: row.path, tone=""),
            ),
            title=lambda _: f"Changes · {len(changes.own)} by this session",
            words=lambda row: f"{row.path} {row.state} {row.by}",
            note=note,
            empty="No matching file.",
            section=lambda row: row.by,
        )
        super().__init__(changes.files, spec)

    def on_mount(self) -> None:
        box = self.query_one(".dialog")
        box.mount(DiffText(id="changes-diff"), before=self.query_one(f"#{self.spec.name}-note"))

    def explain(self, row: "ChangedFile") -> None:
        """Show the diff of the marked file from its beginning."""
        super().explain(row)
        self.query_one(DiffText).show_diff(row.diff, row.path)

    def action_scroll(self, pages: int) -> None:
        self.query_one(DiffText).action_scroll_pages(pages)

    def action_ends(self, end: int) -> None:
        self.query_one(DiffText).action_scroll_ends(end)


async def show_changes(app: "Host", session: ChatSession) -> None:
    """Read the changes in a thread and show them; a chosen file is added to the prompt."""
    opening = session.launch.opening(session.id)
    changes = await asyncio.to_thread(_read, opening)
    if not changes.files:
        raise Refusal(changes.problem if changes.problem and not session.id else NOTHING)
    if file := await app.push_screen_wait(ChangesScreen(changes)):
        from tui_app.references import written

        session.pane.prompt.editor.insert(f"{written(file.path)} ")


def _read(opening: "Opening") -> "SessionChanges":
    from tui_app.conversation.files.session_changes import session_changes

    if not opening.session:
        return session_changes(opening, None)
    with closing(open_store(opening.database, read_only=True)) as store:
        return session_changes(opening, store)


MESSAGE = ReviewTexts(
    "Writing the commit message …",
    "Commit with this message?",
    "commit (git runs its hooks)",
    ("Again", "What should the message say? Nothing has been committed."),
    rewrites="rewrite",
    unchanged="Not committed. Nothing changed.",
)


Proposed = tuple["CommitProposal", str]
"""A message with its context, and why git has rejected it; empty if it has not."""


def show_message(screen: ReviewScreen, proposed: Proposed) -> None:
    """Show a message: enter commits with it, unless git has rejected it before."""
    proposal, problem = proposed
    what = "what is staged" if not proposal.paths else "the files that this session changed"
    by = f"written by {one_line(proposal.model, 60)}" if proposal.model else "without a model"
    screen.figures = (count(proposal.files, "file"), what, by)
    reason = f"Written without a model: {one_line(proposal.reason, 200)}." if proposal.reason else ""
    screen.trouble = problem or reason
    screen.propose(CompactionProposed(job=JOB, summary=proposal.text, problem=problem))


async def commit(app: "Host", session: ChatSession, hint: str) -> None:
    """Propose a message and commit with the edited one; if git rejects it, the message is shown again.

    Args:
        app: Shows the screens.
        session: The session whose changes are committed, if nothing is staged.
        hint: What the message should mention.
    """
    if not await may_use_git(app, session):
        return

    async def committed(proposed: Proposed, message: str) -> Proposed | None:
        refusal = await _committed(session, proposed[0], message)
        return (replace(proposed[0], text=message), refusal) if refusal else None

    await draft_reviewed(app, session, MESSAGE, _proposed, show_message, committed, wish=hint)


async def _proposed(opening: "Opening", hint: str, _hear: Hear) -> Proposed:
    from tui_app.conversation.files.commit_proposal import propose_message

    return await propose_message(opening, hint), ""


async def _committed(session: ChatSession, proposal: "CommitProposal", message: str) -> str:
    """Commit in a thread and report it; returns why git refused, empty if it did not."""
    from tui_app.system.git import Git, GitFailed

    opening = session.launch.opening()
    if not message.strip():
        return "The message is empty."
    git = Git(opening.cwd, opening.outward_env())
    try:
        done = await asyncio.to_thread(git.commit, message.strip() + "\n", proposal.paths)
    except GitFailed as error:
        return f"git refused, nothing was committed: {one_line(str(error), 300)}"
    session.pane.name_place()
    session.reply(f"Committed {one_line(done, 100)}")
    return ""
