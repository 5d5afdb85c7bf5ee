"""Going back to a prompt behind which tools changed files: do the files go back as well?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_app.context.visible_text import visible
from tui_app.ui.format import count
from tui_app.ui.keys import Hint
from tui_app.ui.screens.dialog import Dialog

if TYPE_CHECKING:
    from tui_app.conversation.file_snapshots import FileFate, FileOutlook

Way = Literal["keep", "restore", "overwrite"]
_FATES: "dict[FileFate, tuple[str, str]]" = {
    "restore": ("restored", ""),
    "remove": ("removed", "a tool had made it"),
    "same": ("as it was", ""),
    "changed": ("left alone", "changed since, but not by a tool"),
    "lost": ("left alone", "what it held was not kept"),
}
_MOST = 200


class RewindFiles(Dialog[Way]):
    """Dismisses with what to do about the files; ``None`` goes back to nothing at all."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/rewind.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "choose", 0),
        Hint("up/down", "mark", 1),
        Hint("esc", "cancel: nothing changes", 0, "screen.close"),
    )

    def __init__(self, files: "Sequence[FileOutlook]") -> None:
        """Ask.

        Args:
            files: What would become of each file.
        """
        super().__init__()
        self._files = files
        self._ways = ways(files)

    def compose(self) -> ComposeResult:
        """Question, files, ways, keys."""
        with Vertical(classes="dialog -small"):
            yield self.heading("Do files go back as well?")
            with VerticalScroll(id="rewind-files", can_focus=False):
                yield Static(Content("\n").join(file_lines(self._files)), markup=False)
            note = "Only what tools wrote is known; what commands changed stays as it is."
            yield Static(note, classes="dialog-note", markup=False)
            options = [
                Option(Content.assemble((f"{words:<28}", "bold"), what)) for _, words, what in self._ways
            ]
            yield OptionList(*options, compact=True, markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """Start where no file changes."""
        options = self.query_one(OptionList)
        options.focus()
        options.highlighted = 0

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._ways[event.option_index][0])


def ways(files: "Sequence[FileOutlook]") -> list[tuple[Way, str, str]]:
    """What can be chosen: the way, its name, what it does."""
    clean = sum(file.fate in ("restore", "remove") for file in files)
    changed = sum(file.fate == "changed" for file in files)
    found: list[tuple[Way, str, str]] = [("keep", "Conversation only", "files stay as they are")]
    if clean:
        found.append(
            (
                "restore",
                "Conversation and files",
                f"{count(clean, 'file')} {'goes' if clean == 1 else 'go'} back",
            )
        )
    if changed:
        what = f"also {count(changed, 'file')} that others changed since"
        found.append(("overwrite", "Conversation and all files", what))
    return found


def file_lines(files: "Sequence[FileOutlook]") -> list[Content]:
    """One line for each file: what becomes of it, its path, and why."""
    lines: list[Content] = []
    for file in files[:_MOST]:
        word, why = _FATES[file.fate]
        style = "$text-warning" if word == "left alone" else "$text-muted"
        lines.append(
            Content.assemble(
                (f"{word:<11}", style), visible(file.path), (f"  {why}" if why else "", "$text-muted")
            )
        )
    if len(files) > _MOST:
        lines.append(Content(f"and {len(files) - _MOST} more"))
    return lines
