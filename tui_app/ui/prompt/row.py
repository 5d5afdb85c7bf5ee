"""The prompt row: sign, editor and size of the draft; above it the offers and what is attached."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tui_app.chat_keys import NO_CHANGES, label_of
from tui_app.context.counting.encodings import estimate
from tui_app.ui.prompt.completion import FileFinder, OfferList
from tui_app.ui.prompt.editor import PromptEditor
from tui_app.ui.slash import is_command, named
from tui_app.ui.widgets.hint_row import TellsFailures
from tui_app.ui.widgets.scroll_bars import EdgedPanel
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import cut_cells, one_line, tokens

if TYPE_CHECKING:
    from tui_app.system.project_files import MayRead

_LABEL_CELLS = 40
_NARROW = 60
"""Cells below which the usual mode and the size go without saying."""
CHIP_KEYS = "{} expands, backspace removes"
"""The keys for the chip at the cursor."""
RUNS_AS_YOU, PRIVATE = "runs as you", "runs as you, not sent"
"""What is said of a command while it is typed."""
CHIP_AWAY = "{} at its mark expands"
"""The same from anywhere else in the draft."""


class Bundle(NamedTuple):
    """A file or a pasted text of the draft."""

    label: str
    tokens: int = 0
    """About how many it adds; 0 for what is not attached."""
    why_not: str = ""
    """Why a file is not attached; empty when it is."""


def weigh(
    folder: Path, paths: Sequence[str], gate: "Callable[[], MayRead] | None", pasted: Path | None
) -> tuple[Bundle, ...]:
    """Weigh the files that a draft names and the rules let go along; blocks on the disk."""
    # Not needed for the first frame.
    from tui_app.agent.tools.workspace import Workspace
    from tui_app.conversation.attachments import AttachedFile, read_attachments
    from tui_app.system.project_files import anything

    may_read = gate() if gate is not None else anything
    return tuple(
        Bundle(it.path, it.tokens) if isinstance(it, AttachedFile) else Bundle(it.path, why_not=it.why)
        for it in read_attachments(Workspace(folder), paths, may_read, pasted)
    )


def _kept_picture(env: Mapping[str, str], folder: Path | None, dragged: Path | None) -> tuple[str, str]:
    """The name of a picture, now kept, and why there is none, one of them empty; blocks.

    Args:
        env: Says how the clipboard is read.
        folder: Where it is kept.
        dragged: The file; None for the clipboard's picture.
    """
    from tui_app.system.pictures import UnusablePicture, fitted, keep_pasted
    from tui_app.ui.clipboard import NO_READER, read_picture

    what = "The clipboard's picture" if dragged is None else dragged.name
    try:
        found = read_picture(env) if dragged is None else dragged.read_bytes()
    except OSError as error:
        return "", f"{what} cannot be read: {error.strerror or error}."
    if isinstance(found, str) or folder is None:
        return "", found if isinstance(found, str) else NO_READER
    try:
        return keep_pasted(folder, fitted(found)), ""
    except UnusablePicture as unusable:
        return "", f"{what} cannot be attached: {unusable}."
    except OSError as error:
        return "", f"The picture cannot be kept: {error.strerror or error}."


def attached_line(bundles: Sequence[Bundle], width: int, *, keys: str = "") -> str:
    """List what is attached and what is not, at most ``width`` cells wide.

    Args:
        bundles: The files and pastes of the draft.
        width: Cells.
        keys: What can be done with them; left out where there is no room.
    """
    gap = " · "
    along = gap.join(f"{_label(each)} ~{tokens(each.tokens)} tok" for each in bundles if not each.why_not)
    rest = gap.join(f"@{_label(each)}: {each.why_not}" for each in bundles if each.why_not)
    # What the user may have to change comes first: the end of the row is cut.
    parts = (rest and f"not attached: {rest}", along and f"attached: {along}")
    line = gap.join(filter(None, parts))
    if along and rest and len(line) > width:
        going = [each.tokens for each in bundles if not each.why_not]
        line = f"{len(going)} attached ~{tokens(sum(going))} tok{gap}{parts[0]}"
    longer = f"{line}{gap}{keys}"
    return longer if keys and len(longer) <= width else cut_cells(line, max(1, width))


def _label(bundle: Bundle) -> str:
    return one_line(bundle.label, _LABEL_CELLS)


class AttachedRow(Widget):
    """The row of what is attached; takes no room while nothing is."""

    bundles: reactive[tuple[Bundle, ...]] = reactive((), toggle_class="-bringing")
    keys: reactive[str] = reactive("")

    def render(self) -> Content:
        width = max(1, self.size.width)
        return Content(attached_line(self.bundles, width, keys=self.keys))


class PromptLine(EdgedPanel, Horizontal):
    """The panel that is written in."""


class PromptRow(TellsFailures, Vertical):
    """The prompt with its sign and its size in tokens; above it the offers and what is attached."""

    shell: reactive[str] = reactive("")
    """What is said of a command that is typed, as whom it runs; empty for a prompt."""
    count: reactive[int] = reactive(0)
    """Tokens that the draft would add, attached files included; 0 shows nothing."""
    mode: reactive[str] = reactive("")
    """How far tools go without a question; empty until it is known."""
    keymap: Mapping[str, str] = NO_CHANGES
    """Keys that the settings have changed."""

    def __init__(self, folder: Path, *, id: str | None = None) -> None:
        """Create the row.

        Args:
            folder: The workspace, whose files can be named.
            id: Textual id.
        """
        super().__init__(id=id)
        self._folder, self._finder = folder, FileFinder(folder)
        self.gate: Callable[[], MayRead] | None = None
        """Gives what the rules say of files; None says nothing."""
        self.pasted: Path | None = None
        """Where pictures out of the clipboard are kept."""
        self.env: Mapping[str, str] = {}
        """Says where the clipboard is."""
        self._offers, self._attached = OfferList(), AttachedRow()
        self._named: tuple[str, ...] = ()
        self._files: tuple[Bundle, ...] = ()
        self.editor = PromptEditor(self._offers, self._finder, id="prompt")

    def compose(self) -> ComposeResult:
        yield self._offers
        yield self._attached
        with PromptLine(id="prompt-line"):
            yield Static(UNICODE.prompt, id="prompt-sign", markup=False)
            yield self.editor
            yield Static(id="prompt-count", markup=False)

    def watch_count(self) -> None:
        vim = self.editor.vim.mode if self.editor.vim_keys else ""
        if self.shell:
            said = Content(f"{self.shell} · {vim}" if vim else self.shell)
        else:
            size = f"~{tokens(self.count)} {'token' if self.count == 1 else 'tokens'}" if self.count else ""
            usual, commands = self.mode in ("", "ask"), vim not in ("", "insert")
            parts = [
                (vim, "$text-accent" if commands else ""),
                (size, ""),
                (self.mode, "" if usual else "$text-accent"),
            ]
            if self.size.width < _NARROW:
                # The draft needs the cells of its size; what is not usual is said all the same.
                parts = [parts[0]] if commands else [] if usual else [parts[2]]
            pieces = [Content.styled(text, style) for text, style in parts if text]
            said = Content(" · ").join(pieces)
        for label in self.query("#prompt-count").results(Static):
            label.update(said)
        # It takes room away from a text that may be painted already, whose unchanged lines are not anew.
        self.call_after_refresh(self.editor.refresh)

    watch_shell = watch_mode = on_resize = watch_count

    def on_mount(self) -> None:
        """Draw what was set before the children existed."""
        self.watch_count()
        self.watch(self.editor, "selection", self._name_keys, init=False)
        for each in ("vim", "vim_keys"):
            self.watch(self.editor, each, self.watch_count, init=False)

    def on_unmount(self) -> None:
        self._finder.end_walk()

    @on(PromptEditor.Typed)
    def _typed(self, event: PromptEditor.Typed) -> None:
        """Weigh the files that are named now, and show what is attached."""
        if event.files != self._named:
            self._named = event.files
            known = {each.label: each for each in self._files}
            self._files = tuple(known[path] for path in event.files if path in known)
            self._weigh(event.files)
        self._show()

    @work(group="attached", exclusive=True)
    async def _weigh(self, paths: tuple[str, ...]) -> None:
        if paths:
            self._files = await asyncio.to_thread(weigh, self._folder, paths, self.gate, self.pasted)
            self._show()

    @on(PromptEditor.PictureWanted)
    @work(group="picture", exclusive=True)
    async def _paste_picture(self, event: PromptEditor.PictureWanted) -> None:
        """Attach pictures; without one in the clipboard paste what was copied here, or say why not."""
        for dragged in event.paths or (None,):
            name, why = await asyncio.to_thread(_kept_picture, self.env, self.pasted, dragged)
            if name:
                self.editor.add_picture(name)
            elif dragged is None and self.app.clipboard:
                self.editor.action_paste()
            else:
                self._offers.show_message(why)

    def _name_keys(self) -> None:
        """Name the keys for a paste, by where the cursor is."""
        there = CHIP_KEYS if self.editor.chip_at_cursor() is not None else CHIP_AWAY
        expand = label_of("prompt.expand", self.keymap)
        self._attached.keys = there.format(expand) if self.editor.pastes else ""

    def _show(self) -> None:
        editor = self.editor
        chips = tuple(Bundle(chip, estimate(body)) for chip, body in editor.pastes)
        # A path that is still being written is no mistake.
        files = tuple(each for each in self._files if not (each.why_not and each.label == editor.writing))
        shown = (each._replace(label=editor.chips.label_of(each.label)) for each in files)
        self._attached.bundles = (*shown, *chips)
        self._name_keys()
        private = editor.text.startswith("!!")
        self.shell = (PRIVATE if private else RUNS_AS_YOU) if editor.is_shell else ""
        size = estimate(editor.draft) + sum(each.tokens for each in self._files)
        # Nothing of a command goes to the model, even if there is none; the user's own stand for prompts.
        runs = is_command(editor.draft) and named(editor.completer.custom, editor.draft) is None
        self.count = 0 if editor.is_shell or runs else size
