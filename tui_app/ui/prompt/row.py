"""The prompt row: sign, editor and size of the draft; above it the completion list and attachments."""

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
"""Cells below which the default mode and the size are not shown."""
CHIP_KEYS = "{} expands, backspace removes"
"""The keys for the chip at the cursor."""
RUNS_AS_YOU, PRIVATE = "runs as you", "runs as you, not sent"
"""Shown while a shell command is typed."""
CHIP_AWAY = "{} at its mark expands"
"""The key for chips while the cursor is elsewhere."""


class Bundle(NamedTuple):
    """A file or a pasted text of the draft."""

    label: str
    tokens: int = 0
    """Estimated tokens; 0 if it is not attached."""
    why_not: str = ""
    """Why a file is not attached; empty if it is."""


def weigh(
    folder: Path, paths: Sequence[str], gate: "Callable[[], MayRead] | None", pasted: Path | None
) -> tuple[Bundle, ...]:
    """Estimate the files of a draft that the rules allow to attach; blocks on the disk."""
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
    """Save a picture; returns its name, or an empty name and the error; blocks.

    Args:
        env: Environment variables that identify the clipboard.
        folder: Where to save it.
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
        keys: Keys for them; left out if they do not fit.
    """
    gap = " · "
    along = gap.join(f"{_label(each)} ~{tokens(each.tokens)} tok" for each in bundles if not each.why_not)
    rest = gap.join(f"@{_label(each)}: {each.why_not}" for each in bundles if each.why_not)
    # What the user may have to change comes first, because the end of the row may be cut.
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
    """The row of attachments; takes no space if there are none."""

    bundles: reactive[tuple[Bundle, ...]] = reactive((), toggle_class="-bringing")
    keys: reactive[str] = reactive("")

    def render(self) -> Content:
        width = max(1, self.size.width)
        return Content(attached_line(self.bundles, width, keys=self.keys))


class PromptLine(EdgedPanel, Horizontal):
    """The panel with the editor."""


class PromptRow(TellsFailures, Vertical):
    """The prompt with its sign and size in tokens; above it the completion list and attachments."""

    shell: reactive[str] = reactive("")
    """Note while a shell command is typed; empty for a prompt."""
    count: reactive[int] = reactive(0)
    """Tokens that the draft would add, attached files included; 0 shows nothing."""
    mode: reactive[str] = reactive("")
    """The mode; empty until it is known."""
    keymap: Mapping[str, str] = NO_CHANGES
    """The user's key mappings."""

    def __init__(self, folder: Path, *, id: str | None = None) -> None:
        """Create the row.

        Args:
            folder: The workspace, whose files can be mentioned.
            id: Textual id.
        """
        super().__init__(id=id)
        self._folder, self._finder = folder, FileFinder(folder)
        self.gate: Callable[[], MayRead] | None = None
        """Returns what the rules allow to be read; None allows everything."""
        self.pasted: Path | None = None
        """Where pictures from the clipboard are saved."""
        self.env: Mapping[str, str] = {}
        """Environment variables that identify the clipboard."""
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
            content = Content(f"{self.shell} · {vim}" if vim else self.shell)
        else:
            size = f"~{tokens(self.count)} {'token' if self.count == 1 else 'tokens'}" if self.count else ""
            usual, commands = self.mode in ("", "ask"), vim not in ("", "insert")
            parts = [
                (vim, "$text-accent" if commands else ""),
                (size, ""),
                (self.mode, "" if usual else "$text-accent"),
            ]
            if self.size.width < _NARROW:
                # The draft needs the space of its size; an unusual state is shown nevertheless.
                parts = [parts[0]] if commands else [] if usual else [parts[2]]
            pieces = [Content.styled(text, style) for text, style in parts if text]
            content = Content(" · ").join(pieces)
        for label in self.query("#prompt-count").results(Static):
            label.update(content)
        # It narrows the text, which may be painted already, and unchanged lines are not repainted otherwise.
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
        """Attach pictures; without one in the clipboard paste copied text, or show why there is none."""
        for dragged in event.paths or (None,):
            name, why = await asyncio.to_thread(_kept_picture, self.env, self.pasted, dragged)
            if name:
                self.editor.add_picture(name)
            elif dragged is None and self.app.clipboard:
                self.editor.action_paste()
            else:
                self._offers.show_message(why)

    def _name_keys(self) -> None:
        there = CHIP_KEYS if self.editor.chip_at_cursor() is not None else CHIP_AWAY
        expand = label_of("prompt.expand", self.keymap)
        self._attached.keys = there.format(expand) if self.editor.pastes else ""

    def _show(self) -> None:
        editor = self.editor
        chips = tuple(Bundle(chip, estimate(body)) for chip, body in editor.pastes)
        # A path that is still being typed is not an error.
        files = tuple(each for each in self._files if not (each.why_not and each.label == editor.writing))
        shown = (each._replace(label=editor.chips.label_of(each.label)) for each in files)
        self._attached.bundles = (*shown, *chips)
        self._name_keys()
        private = editor.text.startswith("!!")
        self.shell = (PRIVATE if private else RUNS_AS_YOU) if editor.is_shell else ""
        size = estimate(editor.draft) + sum(each.tokens for each in self._files)
        # Nothing of a built-in command is sent to the model; custom commands stand for prompts.
        runs = is_command(editor.draft) and named(editor.completer.custom, editor.draft) is None
        self.count = 0 if editor.is_shell or runs else size
