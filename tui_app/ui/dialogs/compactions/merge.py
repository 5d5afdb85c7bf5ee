"""Merging a branch: its brief and then the diff of its files are reviewed before anything changes."""

from typing import TYPE_CHECKING

from textual.content import Content

from tui_app.refusals import Refusal
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.drafts import BUSY, Hear, draft_reviewed, show_brief
from tui_app.ui.dialogs.questions import FilesDialog, Way, file_line
from tui_app.ui.dialogs.review import ReviewTexts
from tui_app.ui.widgets.tables import MUTED
from tui_app.ui.words.text import clean, count, one_line

if TYPE_CHECKING:
    from tui_app.conversation.branches.branch_files import FilesOfBranch
    from tui_app.conversation.branches.branches import MergePlan
    from tui_app.conversation.requests.open_request import Opening
    from tui_app.ui.host import Host

MERGE = ReviewTexts(
    "Reading the branch …",
    "Review what the branch brings",
    "merge it",
    ("Focus on", "What matters most? The brief is rewritten; nothing has changed yet."),
    unchanged="Not merged. Nothing changed.",
)
_MOST_LINES = 2_000


def merge_files(files: "FilesOfBranch") -> FilesDialog:
    """Create the dialog that asks whether to take over files: yes, no, or ``None`` for no merge."""
    taken = [file for file in files.files if not file.left]
    left = len(files.files) - len(taken)
    ways = [Way("Brief and files", f"{count(len(taken), 'file')} as below", True)] if taken else []
    ways.append(Way("Brief only", "files stay as they are", False))
    note = f"{count(left, 'file')} left alone." if left else ""
    shown = ((file.verb, clean(file.path), clean(file.left)) for file in files.files)
    lines = [file_line(verb, path, left, stays=bool(left)) for verb, path, left in shown]
    rows = [row for file, diff in zip(taken, files.diffs, strict=True) for row in _diff_rows(file.path, diff)]
    lines += [Content.styled(clean(row, keep_tabs=True), tone) for row, tone in rows[:_MOST_LINES]]
    if len(rows) > _MOST_LINES:
        lines.append(Content(f"and {count(len(rows) - _MOST_LINES, 'more line')}"))
    question = "Merge the branch's files too?" if taken else "Merge without files: none of them fits here."
    return FilesDialog(question, ways, Content("\n").join(lines), note)


_TONES = {"+": "$text-success", "-": "$text-error", "@": MUTED}


def _diff_rows(path: str, diff: str) -> list[tuple[str, str]]:
    """Return a diff with the colours of its rows, with the file's name instead of the two header lines."""
    rows, named = diff.splitlines(), diff.startswith("--- ")
    head = [("", ""), (path, "bold")] * named
    return head + [(row, _TONES.get(row[:1], "")) for row in rows[2 * named :]]


async def merge(app: "Host", session: ChatSession, argument: str) -> None:
    """Merge a branch after reviewing its brief and then the diff of its files."""
    if session.state.busy:
        raise Refusal(BUSY.format("merge"))

    async def planned(opening: "Opening", focus: str, hear: Hear) -> "MergePlan":
        from tui_app.conversation.branches.branches import plan_merge

        return await plan_merge(opening, argument, hear, focus=focus)

    async def merged(plan: "MergePlan", text: str) -> None:
        with_files: bool | None = True
        if plan.files.files:
            with_files = await app.push_screen_wait(merge_files(plan.files))
        elif plan.files.note:
            session.report(one_line(plan.files.note, 300))
        if with_files is None:
            session.reply(MERGE.unchanged)
        else:
            session.submit(plan.work(text, with_files=with_files))

    await draft_reviewed(app, session, MERGE, planned, show_brief, merged)
