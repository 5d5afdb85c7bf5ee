"""Rewind, retry and clear; and the picker of earlier prompts, with what leaves the model's view."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from textual.app import App
from textual.content import Content

from tui_app.conversation.work import Clear, Rewind
from tui_app.references import log_number
from tui_app.refusals import Refusal
from tui_app.session.rewind_points import RewindPoint, rewind_points, tokens_after_rewind
from tui_app.text import visible
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.actions import agreed, is_above
from tui_app.ui.dialogs.list import NARROW, ListDialog, ListSpec
from tui_app.ui.dialogs.questions import FilesDialog, Way, confirmed, file_line
from tui_app.ui.widgets.tables import Column
from tui_app.ui.words.text import clock, count, one_line, tokens

if TYPE_CHECKING:
    from tui_app.conversation.files.file_snapshots import FileFate, FileOutlook
    from tui_app.ui.host import Host


class PromptPicker(ListDialog[RewindPoint], style="rewind"):
    """Dismisses with a prompt, or ``None``. Nothing is lost, so it does not ask for confirmation."""

    def __init__(
        self,
        points: Sequence[RewindPoint],
        title: str,
        verb: str,
        note: Callable[[RewindPoint], str],
        *,
        unit: str = "msg",
    ) -> None:
        """List prompts.

        Args:
            points: Newest first.
            title: What the list is for.
            verb: What enter does.
            note: Words the effect of choosing a prompt; called for the marked one only.
            unit: What each row's number counts.
        """

        def size(point: RewindPoint) -> str:
            return f"{point.messages} {unit}"

        spec = ListSpec[RewindPoint](
            name="rewind",
            search="filter by words of the prompt",
            columns=(
                Column(lambda point: clock(point.time), 7),
                Column(lambda point: one_line(point.title, 400) or "(no text)", tone="bold"),
                Column(lambda point: f"#{point.seq}", 7, right=True, comes_below=NARROW),
                Column(lambda point: f"#{point.seq}", 9, right=True, leaves_at=NARROW),
                Column(size, 8 + len(unit), right=True, leaves_at=NARROW),
            ),
            title=lambda _: title,
            words=lambda point: point.title,
            note=note,
            empty="No matching prompt.",
            enter=verb,
        )
        super().__init__(points, spec)


def leaving_text(point: RewindPoint, sizes: tuple[int, int] | None) -> str:
    """Word what leaves the model's view.

    Args:
        point: The prompt to rewind to.
        sizes: Tokens of the next request before and after; ``None`` if unknown.
    """
    size = f": ~{tokens(sizes[0])} → ~{tokens(sizes[1])}" if sizes else ""
    parts = [f"{count(point.messages, 'message')} would leave the model's view{size}."]
    if point.compactions:
        taken_back = count(point.compactions, "compaction")
        parts.append(f"{taken_back} would be undone: the history before it comes back in full.")
    if point.restored:
        comes = "comes" if point.restored == 1 else "come"
        parts.append(f"{count(point.restored, 'result')} rewritten since {comes} back in full.")
    return " ".join([*parts, "The prompt goes into the editor; the log keeps everything."])


_STAYS = "left alone"
_FATES: "dict[FileFate, tuple[str, str]]" = {
    "restore": ("restored", ""),
    "remove": ("removed", "created by a tool"),
    "same": ("as it was", ""),
    "changed": (_STAYS, "changed since, but not by a tool"),
    "lost": (_STAYS, "its content was not kept"),
}
_MOST = 200


def rewind_files(files: "Sequence[FileOutlook]") -> FilesDialog:
    """Create the dialog that asks whether to restore files; ``None`` cancels the rewind."""
    shown = ((*_FATES[each.fate], each.file.path) for each in files[:_MOST])
    lines = [file_line(fate, visible(path), why, stays=fate == _STAYS) for fate, why, path in shown]
    if len(files) > _MOST:
        lines.append(Content(f"and {len(files) - _MOST} more"))
    note = "Changes made by commands are not restored."
    return FilesDialog("Restore files too?", rewind_choices(files), Content("\n").join(lines), note)


def rewind_choices(files: "Sequence[FileOutlook]") -> list[Way]:
    """Return the choices."""
    clean = sum(file.fate in ("restore", "remove") for file in files)
    changed = sum(file.fate == "changed" for file in files)
    back = f"{count(clean, 'file')} {'goes' if clean == 1 else 'go'} back"
    others = f"also {count(changed, 'file')} that others changed since"
    return [
        Way("Conversation only", "files stay as they are", "keep"),
        *([Way("Conversation and files", back, "restore")] if clean else []),
        *([Way("Conversation and all files", others, "overwrite")] if changed else []),
    ]


NOTHING = "Nothing to rewind: the context has no earlier prompt."


async def rewind(app: App[Any], session: ChatSession, argument: str) -> None:
    """Rewind to the prompt with a log number, or to one that the user chooses."""
    if argument:
        if (number := log_number(argument)) is None:
            raise Refusal("/rewind takes the number of a prompt, as in /rewind #12; alone it lists them.")
        await _submit(app, session, Rewind(number))
        return
    points = rewind_points(session.presenter.agent_view)
    if not points:
        raise Refusal(NOTHING)

    def explained(point: RewindPoint) -> str:
        if (usage := session.state.usage) is None:
            return leaving_text(point, None)
        after = tokens_after_rewind(session.presenter.agent_view, point.seq, usage)
        return leaving_text(point, (usage.total, after))

    chosen = await app.push_screen_wait(PromptPicker(points, "Rewind to before", "rewind", explained))
    if chosen is not None:
        await _submit(app, session, Rewind(chosen.seq))


async def retry(app: "Host", session: ChatSession) -> None:
    """Send the last prompt again; the draft in the editor is kept."""
    points = rewind_points(session.presenter.agent_view)
    above = is_above(session)
    if above and not await agreed(app, session, "the last prompt again"):
        return
    await _submit(app, session, Rewind(points[0].seq if points else 0, again=True, above_budget=above))


async def clear(app: "Host", session: ChatSession) -> None:
    """Empty the model's view, after a confirmation."""
    number = len(session.presenter.agent_view.visible())
    leave = f"{count(number, 'message')} {'leaves' if number == 1 else 'leave'}"
    text = f"Clear the context? {leave} the model's view; the log keeps them."
    if not number:
        session.reply("Nothing to clear: the context has no messages.")
    elif await confirmed(app, text, verb="Clear", keep="Keep"):
        session.submit(Clear())


async def _submit(app: App[Any], session: ChatSession, request: Rewind) -> None:
    """Ask whether to restore files that tools have changed since, and rewind."""
    way: Literal["keep", "restore", "overwrite"] | None = "keep"
    if request.to and session.conversation is not None and not session.read_only:
        files = await session.ask(lambda opened: opened.conversation.tooling.files.outlook(request.to))
        if any(file.fate != "same" for file in files):
            way = await app.push_screen_wait(rewind_files(files))
    if way is not None:
        session.submit(replace(request, files=way))
