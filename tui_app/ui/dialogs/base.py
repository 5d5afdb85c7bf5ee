"""A question before something is lost: verb, object and consequence, and the safe answer first.

The user may still be writing when it comes up, or begin to. So a letter answers only after a moment without
keys, with nothing written, and when no other follows it at once; what is written goes on where it began.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.types import CSSPathType
from textual.widgets import Button, Input, OptionList, Static, TabbedContent, TabPane, Tabs, TextArea
from textual.widgets.option_list import Option
from textual.worker import WorkerCancelled, get_current_worker

from tui_app.ui.clipboard import copy
from tui_app.ui.keys import Hint, place_bindings, place_hints
from tui_app.ui.prompt.editor import normalise
from tui_app.ui.text import UNICODE, clean, cut_cells, one_line
from tui_app.ui.transcript.pieces import clip
from tui_app.ui.type_ahead import LoneLetter, StrayKeys, in_sight
from tui_app.ui.widgets import HintRow, ReadArea, SelectsWhatIsSeen, TellsFailures, WrittenLine

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.chat.session import ChatSession
    from tui_app.ui.host import Host

# What the modal screens share: look, key hints, and Esc that closes without a decision.

Result = TypeVar("Result")


class Dialog(SelectsWhatIsSeen, TellsFailures, ModalScreen[Result | None], Generic[Result]):
    """A modal screen whose result is ``None`` when it is closed with Esc."""

    CSS_PATH: ClassVar[CSSPathType | None] = "../styles/dialog.tcss"
    BINDINGS = place_bindings("dialog")
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-high")]  # noqa: RUF012 - Textual's own type
    HINTS: ClassVar[tuple[Hint, ...]] = place_hints("dialog")
    """Every key of the screen, as shown in its last row."""

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close with a result, once: of keys in a burst, each may close it.

        Textual takes the topmost screen away whoever asks, which would be the one below this one, or none.
        """
        return super().dismiss(result) if self in self.app.screen_stack else AwaitComplete()

    @property
    def is_open(self) -> bool:
        """Whether it can be painted anew: composed, and not closed meanwhile.

        A screen that is taken down stays attached while its widgets go one after the other.
        """
        return self.is_mounted and self in self.app.screen_stack

    def action_back(self) -> None:
        """Go one step back: here the only one."""
        self.action_close()

    def action_close(self) -> None:
        self.dismiss(None)

    def hints(self) -> HintRow:
        return HintRow(self.HINTS, id="dialog-hints")

    @property
    def key_row(self) -> HintRow:
        return self.query_one("#dialog-hints", HintRow)

    @staticmethod
    def heading(text: str | Content) -> Static:
        """The first row of the dialog; text of any origin, never read as markup."""
        return Static(
            text if isinstance(text, Content) else Content(text), classes="dialog-title", markup=False
        )


class MarkedList(OptionList):
    """A list whose chosen row has a sign as well where keys act on it: no state is told by colour alone."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"option-list--sign", "option-list--head"}
    heads: Mapping[int, str] = MappingProxyType({})
    """What stands in the blank row in front of an option, by its place."""

    def render_line(self, y: int) -> Strip:
        """Put the sign in the cell that the rows keep free at the left, and heads between the rows."""
        strip = super().render_line(y)
        at = _option_of(strip)
        above = _option_of(super().render_line(y - 1)) if self.scroll_offset.y + y else None
        if at is None and above is not None and (head := self.heads.get(above + 1)):
            style = self.get_component_rich_style("option-list--head")
            text = cut_cells(f"  {head}", strip.cell_length)
            return Strip([Segment(text, style)]).extend_cell_length(strip.cell_length, style)
        acts = self.has_focus or self.has_class("-led")
        if at is None or at == above or not acts or at != self.highlighted:
            return strip
        cell, rest = strip.divide([1, strip.cell_length])
        style = next(iter(cell)).style or Style.null()
        accent = self.get_component_rich_style("option-list--sign", partial=True)
        return Strip.join([Strip([Segment(UNICODE.collapsed, style + accent)], 1), rest])


def _option_of(strip: Strip) -> int | None:
    """The place of the option that a row of a list shows; None for a row between options."""
    metas = (segment.style.meta for segment in strip if segment.style)
    return next((meta["option"] for meta in metas if "option" in meta), None)


_FIGURE = re.compile(r"(~?\$?\d[\d,.]*[kM%]?(?: (?:→|->|of) \d[\d,.]*[kM]?)*)")


def figures(text: str) -> Content:
    """A row of figures, which stand out from what they count."""
    parts = _FIGURE.split(text)
    return Content.assemble(
        *((part, "$foreground" if at % 2 else "$text-muted") for at, part in enumerate(parts))
    )


def packed(parts: Iterable[Content], width: int, gap: str = "   ", lead: int = 0) -> Content:
    """Parts in rows, none of them broken; rows below the first begin ``lead`` cells in."""
    rows: list[Content] = []
    for part in parts:
        if rows and rows[-1].cell_length + len(gap) + part.cell_length <= width:
            rows[-1] = Content.assemble(rows[-1], gap, part)
        else:
            rows.append(Content.assemble(" " * lead if rows else "", part))
    return Content("\n").join(rows)


def way_row(name: str, what: str, cells: int, gap: str = "") -> Content:
    """A way to go on: what it is called, and less loudly what it does."""
    return Content.assemble(f"{name:<{cells}}", gap, (what, "$text-muted"))


class SuddenDialog(Dialog[Result]):
    """A question that may come up while the user writes, and keeps what is written for the prompt."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin.

        Args:
            clock: Seconds that only go forward; keys are told apart by the time between them.
        """
        super().__init__()
        self._stray = StrayKeys(clock)

    @property
    def typed(self) -> str:
        """What the user went on writing while the question was there."""
        return self._stray.text.rstrip("\n")

    def on_paste(self, event: events.Paste) -> None:
        """Keep a paste for the prompt as well."""
        event.stop()
        self._stray.text += event.text


class ConfirmDialog(SuddenDialog[bool]):
    """Dismisses with ``True`` only for the verb; Esc and the default button keep everything."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/confirm.tcss"]
    BINDINGS = place_bindings("confirm")

    def __init__(
        self, text: str, *, verb: str = "Delete", keep: str = "Keep", clock: Callable[[], float] = monotonic
    ) -> None:
        """Ask.

        Args:
            text: ``Delete session "Tide notes"? 14 messages, cannot be undone.``
            verb: What the dangerous button says.
            keep: What the safe one says.
            clock: Seconds that only go forward; keys are told apart by the time between them.
        """
        super().__init__(clock)
        self._text, self._verb, self._keep = text, verb, keep
        self._lone = LoneLetter(self)
        self._writes = ""
        """What the key would write that is acted on now."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -small"):
            yield Static(Content(clean(self._text)), markup=False, id="confirm-text")
            with Horizontal(id="confirm-buttons"):
                yield Button(Content(self._verb), id="confirm-verb", compact=True)
                yield Button(Content(self._keep), id="confirm-keep", compact=True)
            yield self.hints()

    def on_mount(self) -> None:
        """Start on the safe answer."""
        self.key_row.hints = (
            Hint("y", self._verb.lower(), 0, "screen.answer(True)"),
            Hint("n/esc", self._keep.lower(), 0, "screen.answer(False)"),
        )
        self.query_one("#confirm-keep").focus()

    def on_key(self, event: events.Key) -> None:
        """Let only those keys through to the answers that are meant for them."""
        # Bindings act only after this; a focused button takes enter as one.
        if event.key == "enter" and self._lone.act():
            event.stop()
            return
        began = self._lone.take()
        self._writes = (event.character or "") if event.is_printable else ""
        if self._writes and began:
            self._stray.write(began)
        bound = self.active_bindings.items()
        answers = [key for key, each in bound if each.binding.id in ("confirm.yes", "confirm.no")]
        if self._stray.catch(event, answers):
            event.stop()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_answer(event.button.id == "confirm-verb")

    def action_letter(self, yes: bool) -> None:
        """Answer by letter, if it stands alone."""
        self._lone.press(self._writes, lambda: self.action_answer(yes))

    def action_answer(self, yes: bool) -> None:
        self._lone.take()
        if not yes or in_sight(self.query_one(".dialog")):
            self.dismiss(yes)

    def action_other(self) -> None:
        self.focus_next(Button)

    def action_close(self) -> None:
        """Keep everything."""
        self.action_answer(False)


class WaysDialog(SuddenDialog[str]):
    """Dismisses with the name of the way chosen, ``None`` for the last one and Esc; starts on that."""

    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("up/down", "mark", 1),
        Hint("enter", "choose", 0),
        Hint("esc", "cancel", 0, "screen.close"),
    )

    def __init__(self, question: str, ways: Sequence[tuple[str, str]], note: str) -> None:
        """Ask.

        Args:
            question: Said in one row.
            ways: What each is called, and what it does; the last one does nothing.
            note: Said below them.
        """
        super().__init__(monotonic)
        self._question, self._ways, self._note = question, ways, note

    def compose(self) -> ComposeResult:
        width = max(len(name) for name, _ in self._ways) + 2
        rows = (way_row(name, what, width) for name, what in self._ways)
        with Vertical(classes="dialog -small"):
            yield self.heading(clean(self._question))
            yield MarkedList(*map(Option, rows), compact=True, markup=False)
            yield Static(Content(self._note), classes="dialog-note", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.focus()
        options.highlighted = len(self._ways) - 1

    def on_key(self, event: events.Key) -> None:
        """Let only those keys through to the list that are meant for it."""
        if self._stray.catch(event):
            event.stop()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        last = event.option_index == len(self._ways) - 1
        self.dismiss(None if last else self._ways[event.option_index][0])


# Parts of a page: their names in a row where they fit, else only that of the one shown.

SLIM = 64
"""Columns below which only the part that is shown is named, with its place among the others."""
WORDY = 76
"""Columns from which the names are as long as they are meant to be."""
ROOMY = 110
"""Columns from which they stand further apart."""


def place_text(number: int, of: int, name: str) -> str:
    """``< 2 of 6 >  Facts   left/right tabs``."""
    return f"< {number} of {of} >  {name}   left/right tabs"


class PartTabs(Vertical):
    """A few parts, one of which is shown."""

    def __init__(self, *panes: TabPane, names: Mapping[str, tuple[str, str]]) -> None:
        """Show the first part.

        Args:
            panes: The parts, each with an id.
            names: By these ids, what each is called, and shorter.
        """
        super().__init__()
        self._names = names
        self._panes = panes
        self._ids = [name for pane in panes if (name := pane.id)]
        self._counts: dict[str, str] = {}
        self._at = self._ids[0]
        """The part that keys have led to: focus that comes late brings an earlier one back for a moment."""

    def compose(self) -> ComposeResult:
        yield Static(id="tab-place", markup=False)
        with TabbedContent(id="tabs"):
            yield from self._panes

    @property
    def active(self) -> TabPane:
        return self.query_one(f"#{self._at}", TabPane)

    def count(self, pane: str, number: int | str) -> None:
        """Say how much a part lists, behind its name."""
        self._counts[pane] = f"{number:,}" if isinstance(number, int) else number
        self._write_names()

    def turn(self, step: int) -> None:
        """Go on by some parts; behind the last one comes the first."""
        self._at = self._ids[(self._ids.index(self._at) + step) % len(self._ids)]
        self._tabs.active = self._at
        self._write_names()

    def on_resize(self) -> None:
        self._write_names()

    @on(TabbedContent.TabActivated)
    def _turned(self, event: TabbedContent.TabActivated) -> None:
        event.stop()
        if self.query_one(Tabs).has_focus:
            # By its name, not by a key of the screen.
            self._at = event.pane.id or self._at
        self._write_names()

    @property
    def _tabs(self) -> TabbedContent:
        return self.query_one(TabbedContent)

    def _write_names(self) -> None:
        width = self.screen.size.width
        self.set_class(width < SLIM, "-slim")
        self.set_class(width >= ROOMY, "-roomy")
        names = {}
        for pane in self._ids:
            name = self._names[pane][width < WORDY]
            listed = f" {self._counts[pane]}" if self._counts.get(pane) else ""
            names[pane] = name + listed
            self._tabs.get_tab(pane).label = Content.assemble(name, (listed, "$text-muted not bold"))
        active = self._tabs.active or self._ids[0]
        text = place_text(self._ids.index(active) + 1, len(self._ids), names[active])
        self.query_one("#tab-place", Static).update(Content(text))


class PartArea(TextArea):
    """The rows of one part: left and right go to the next part, home and end along a row."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        turns = action in ("cursor_left", "cursor_right") and not parameters
        return not turns and super().check_action(action, parameters)


# The full text of one row, as it is: no markup, no Markdown, no control characters.


class DetailsScreen(Dialog[None]):
    """Scrollable text that can be selected and copied."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/details.tcss"]
    BINDINGS = place_bindings("details")
    HINTS = place_hints("details")

    def __init__(self, title: str, text: str | Callable[[], str]) -> None:
        """Show a text, which may come from anywhere.

        Args:
            title: Its heading.
            text: It, or what reads it in a thread.
        """
        super().__init__()
        self._title, self._read = title, text if callable(text) else None
        self._text = "Reading the log …" if callable(text) else text

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -full"):
            yield self.heading(one_line(self._title, 200))
            yield reading_area(self._text)
            yield self.hints()

    def on_mount(self) -> None:
        if self._read is not None:
            self.run_worker(self._fill(self._read), exit_on_error=False)

    async def _fill(self, read: Callable[[], str]) -> None:
        self._text = await asyncio.to_thread(read)
        self.query_one(TextArea).text = readable(self._text)

    async def action_copy_all(self) -> None:
        self.key_row.said = await copy(self.app, self._text)


MOST_CHARS = 200_000
"""Of a longer text beginning and end are shown."""
_LINE = re.compile(r"[^\n]{2000}(?=[^\n])")
"""What a text area wraps within a frame; longer lines are broken here."""


def readable(text: str) -> str:
    """Text of any origin and size for a text area, which would stall on a megabyte in one line."""
    head, note, tail = clip(text, MOST_CHARS, None, wash=clean)
    shown = f"{head}\n… {note} …\n{tail}" if note else head
    return _LINE.sub(lambda line: f"{line.group()}\n", shown)


def reading_area(text: str, *, id: str | None = None, rows: bool = False) -> TextArea:
    """A text to read and select in; escape sequences and control characters are gone from it.

    Args:
        text: Of any origin and size.
        id: Name of the widget.
        rows: Whether it is a part of ours in rows, whose signs plain mode spells in ASCII.
    """
    kind = PartArea if rows else ReadArea
    area = kind(readable(text), read_only=True, show_cursor=True, compact=True, id=id)
    area.highlight_cursor_line = False
    return area


# One value to type: what it is for, what is allowed, and why the last try was refused.


class EditDialog(Dialog[str]):
    """Dismisses with what was typed, or ``None``; nothing is checked here."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/settings.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (Hint("enter", "save", 0), Hint("esc", "cancel", 0, "screen.close"))

    def __init__(self, title: str, about: str, text: str, refused: str = "", *, verb: str = "save") -> None:
        """Ask for a value.

        Args:
            title: What it is.
            about: What it is for and what is allowed.
            text: What stands there at first.
            refused: Why the last try was not taken; empty at the first.
            verb: What enter does with it.
        """
        super().__init__()
        self._title, self._about, self._text, self._refused = title, about, text, refused
        self._verb = verb

    def hints(self) -> HintRow:
        """The last row, with what enter does."""
        row = super().hints()
        row.hints = (Hint("enter", self._verb, 0), *self.HINTS[1:])
        return row

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -small"):
            yield self.heading(one_line(self._title, 60))
            yield Static(Content(clean(self._about)), classes="dialog-note", markup=False)
            yield self.new_line()
            yield Static(Content(clean(self._refused)), id="edit-refused", markup=False)
            yield self.hints()

    def new_line(self) -> WrittenLine:
        """The line that is written in."""
        return WrittenLine(clean(self._text, keep_newlines=False), id="edit-value", compact=True)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())


# What a user wants of a list that stays open while it is done.

W = TypeVar("W")


class Wishes(Generic[W]):
    """Hands wishes over one at a time: what is pressed while one is being done is for what that shows."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[W | None] = asyncio.Queue()
        self._free = True

    def ask(self, wish: W) -> None:
        """Want something, unless something else is being done."""
        if self._free:
            self._free = False
            self._queue.put_nowait(wish)

    def close(self) -> None:
        self._free = False
        self._queue.put_nowait(None)

    async def next(self) -> W | None:
        """Wait for what is wanted next; None when the list was closed."""
        self._free = self._queue.empty()
        return await self._queue.get()


# Waiting for something from the agent side that a user may give up waiting for.

_LOOKUP = "lookup"
"""Group of the workers that wait for what servers say."""


class LookupCancelled(Exception):
    """The user gave up waiting for what a server says."""


def cancel_lookup(screen: Screen[Any]) -> bool:
    """Give up what is being looked up from a chat screen; whether anything was."""
    return bool(screen.app.workers.cancel_group(screen, _LOOKUP))


async def look_up(
    screen: Screen[Any],
    session: "ChatSession",
    what: str,
    request: "Callable[[OpenSession], Awaitable[W]]",
    way_out: str = "esc cancels",
) -> W:
    """Wait for something from the agent side while the status row says for what.

    Args:
        screen: The chat screen.
        session: Whose agent side is asked.
        what: What is said meanwhile.
        request: What is asked.
        way_out: What the key that gives it up does.

    Raises:
        LookupCancelled: if the user gave it up.
        asyncio.CancelledError: if the flow that waits was cancelled itself.
        Exception: what the request failed with.
    """
    escape = f" {session.glyphs.separator} {way_out}"
    said = one_line(what, screen.app.size.width - len(escape)) + escape
    session.tell(said)
    asked = asyncio.ensure_future(session.ask(request))
    # In a worker of its own: the user may give up waiting without ending the flow.
    waiting = screen.run_worker(asyncio.wait([asked]), group=_LOOKUP, exit_on_error=False)
    try:
        await waiting.wait()
    except WorkerCancelled:
        asked.cancel()
        if not get_current_worker().is_cancelled:
            raise LookupCancelled from None
        raise asyncio.CancelledError from None
    finally:
        if session.state.status.text == said or said in session.state.status.notes:
            session.tell("")
    return asked.result()


# Asking before something is lost, without losing what a user writes meanwhile.


async def confirmed(app: "Host", text: str, *, verb: str, keep: str) -> bool:
    """Whether the user wants it done; what was written into the question goes on in the prompt.

    Args:
        app: Shows the question.
        text: The question, with what it costs.
        verb: What doing it is called.
        keep: What leaving it is called.
    """
    dialog = ConfirmDialog(text, verb=verb, keep=keep)
    done = await app.push_screen_wait(dialog)
    write_on(app, dialog.typed)
    return bool(done)


def write_on(app: "Host", text: str) -> None:
    """Put what was written into a question where the user had been writing."""
    if text:
        # At once: the draft may be about to go along to another session.
        app.chat.pane.prompt.editor.insert(clean(normalise(text)))
