"""A dialog with a search box over a list: typing narrows the list, the arrow keys mark a row."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Generic, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.color import Color
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.theme import Theme
from textual.types import CSSPathType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_app.ui.dialogs.base import ConfirmDialog, Dialog, MarkedList
from tui_app.ui.keys import Hint, choice_hints, place_bindings
from tui_app.ui.text import UNICODE, clean, one_line, wrap_spans
from tui_app.ui.themes import MIN_CONTRAST, contrast
from tui_app.ui.widgets import WrittenLine

Row = TypeVar("Row")
Result = TypeVar("Result")
_FRAME = 10
"""Cells beside the rows: padding of the box, the sign of the chosen row, air, and the scrollbar."""
_FRAME_OF_PAGE = 8
_WIDEST = 110
"""Cells of the box at most, as in ``dialog.tcss``, unless it fills the screen."""
_AROUND, _NOTE_ROWS, _FEW_LINES = 11, 2, 5
"""Rows of the box without those of the list, those of its note among them, and the lines of a list from which
on a longer note takes rows of it."""
CLEARS = Hint("esc", "clear filter", 0, "screen.back")
"""What esc does while a list is narrowed."""


def titled(text: str) -> Content:
    """A title: what it is, and less loudly what else the row says of it."""
    name, separator, more = text.partition(" · ")
    return Content.assemble(name, (f"  {more}" if separator else "", "$text-muted not bold"))


class FilterDialog(Dialog[Result], Generic[Row, Result]):
    """The search box keeps the focus; subclasses say how a row looks, and what it means."""

    BINDINGS = place_bindings("filter")
    NAME: ClassVar[str]
    """Beginning of the ids of its parts."""
    PLACEHOLDER: ClassVar[str]
    CLASSES_OF_BOX: ClassVar[str] = "dialog"
    LEAST: ClassVar[int] = 20
    """Cells of a row, however narrow the terminal is."""
    MOST_LINES: ClassVar[int] = 1_000
    """Lines of the list for which the box grows; more are scrolled."""
    LEAST_LINES: ClassVar[int] = 1
    """Lines that the box of a list has room for at least."""
    WITHOUT_ROW: ClassVar[frozenset[str]] = frozenset({"esc"})
    """Keys that act where no row is left."""
    NARROWS: ClassVar[bool] = True
    """Whether what is written only hides rows, which esc shows again before it closes the list."""

    TITLE: ClassVar[str] = ""
    """What is listed, where the first row says no more than that and how many."""
    EMPTY: ClassVar[str] = "No results."
    """Said where no row is left."""
    written: str = ""
    """What stands in the search box; a list that comes up once more begins with it."""
    shown: Sequence[Row] = ()
    """The rows that the filter leaves."""
    _listed = False
    """Whether the list has been filled, so that its rows can be counted."""
    _most_lines = 0
    """Lines of the longest list so far: the box is as large as that, and holds still while it is narrowed."""
    _most_note = _NOTE_ROWS
    """Rows of the longest note so far."""
    _rows: Sequence[Row] = ()
    _texts: Sequence[str] = ()
    """In what words are looked for, row by row."""

    @property
    def title_text(self) -> str:
        """First row of the dialog; with :attr:`how_many` or :attr:`narrowed` in it, it follows the filter."""
        return f"{self.TITLE} · {self.how_many}"

    @property
    def _first_row(self) -> Content:
        """The first row; that of a page begins with our sign."""
        page = "-full" in self.CLASSES_OF_BOX
        sign = (f"{UNICODE.load_line} ", "$text-accent") if page else ""
        return Content.assemble(sign, titled(self.title_text))

    @property
    def total(self) -> int:
        """Rows there are without a filter."""
        return len(self._rows)

    @property
    def found(self) -> int:
        """Rows that the filter leaves."""
        return len(self.shown)

    @property
    def how_many(self) -> str:
        """How many rows there are: ``41``, or ``3 of 41`` while a filter hides some."""
        if self._narrows:
            return f"{self.found:,} of {self.total:,}"
        return f"{self.total:,}"

    @property
    def _narrows(self) -> bool:
        return self._listed and self.NARROWS and bool(self.written.strip())

    @property
    def narrowed(self) -> str:
        """The end of a title without a number: `` · 3 of 41``; empty without a filter."""
        return f" · {self.how_many}" if self._narrows else ""

    @property
    def marked(self) -> Row | None:
        at = self.options.highlighted
        return self.shown[at] if at is not None and at < len(self.shown) else None

    @abstractmethod
    def text_of(self, row: Row) -> str:
        """The text of a row that the filter searches."""

    @abstractmethod
    def line(self, row: Row, width: int) -> Content:
        """How a row looks."""

    @property
    def nothing(self) -> str:
        """The sentence shown where no row is left."""
        return self.EMPTY

    @abstractmethod
    def use(self, row: Row) -> None:
        """Dismiss with a row, or say why not."""

    @abstractmethod
    def explain(self, row: Row) -> None:
        """Describe the marked row in the note below the list."""

    def section_of(self, row: Row) -> str:
        """Where a row belongs; a blank row stands between two sections."""
        return ""

    def head_of(self, section: str) -> str:
        """What stands in the row between a section and the one before it."""
        return ""

    def header(self, width: int) -> Content:
        """The names of the columns; empty for none."""
        return Content()

    @property
    def row_width(self) -> int:
        """Cells of a row."""
        if "-full" in self.CLASSES_OF_BOX:
            return max(self.LEAST, self.size.width - _FRAME_OF_PAGE)
        return max(self.LEAST, min(self.size.width, _WIDEST) - _FRAME)

    def first(self) -> int:
        """The place of the row to mark once the list is filled."""
        return 0

    def offer(self, rows: Iterable[Row]) -> None:
        """Take the rows there are; what is typed narrows them."""
        self._rows = tuple(rows)
        self._texts = [self.text_of(row).lower() for row in self._rows]

    def fill(self, wanted: str) -> None:
        """List the rows that hold all of the words."""
        words = wanted.lower().split()
        rows = zip(self._rows, self._texts, strict=True)
        self.list_rows([row for row, text in rows if all(word in text for word in words)])

    def list_rows(self, rows: Sequence[Row]) -> None:
        """Show rows and mark one, or say that there is none."""
        self.shown = rows
        self.options.clear_options()
        width = self.row_width
        lines = [self.line(row, width) for row in rows]
        heads: dict[int, str] = {}
        for at, (row, line) in enumerate(zip(rows, lines, strict=True)):
            if at and (section := self.section_of(row)) != self.section_of(rows[at - 1]):
                self.options.add_option(None)
                heads[at] = self.head_of(section)
            self.options.add_option(Option(line))
        self.options.heads = heads
        header = self.query_one(".dialog-header", Static)
        header.update(named := self.header(width))
        header.display = bool(named)
        high = len(heads) + sum(line.plain.count("\n") + 1 for line in lines)
        self._most_lines = max(self._most_lines, high)
        self._size_box()
        self._name_keys()
        if rows:
            self.options.highlighted = self.first()
        else:
            self.note(self.nothing)

    def _size_box(self) -> None:
        """Make the box as large as its list; a note takes rows of a list that has more than a few."""
        if "-full" not in self.CLASSES_OF_BOX:
            lines = max(self.LEAST_LINES, min(self._most_lines, self.MOST_LINES))
            more = max(0, min(self._most_note - _NOTE_ROWS, _FEW_LINES - lines))
            header = self.query_one(".dialog-header", Static).display
            self.query_one(".dialog").styles.height = lines + more + _AROUND + header

    @property
    def keys(self) -> Sequence[Hint]:
        """The keys that act on a row, and those that need none."""
        return self.HINTS

    def _name_keys(self) -> None:
        """Name the keys that act: without a row those that need none."""
        acting = (hint for hint in self.keys if self.shown or hint.label in self.WITHOUT_ROW)
        self.key_row.hints = tuple(acting)

    def compose(self) -> ComposeResult:
        with Vertical(classes=self.CLASSES_OF_BOX):
            yield self.heading(self._first_row).set_class("-full" in self.CLASSES_OF_BOX, "-signed")
            with Horizontal(classes="dialog-search"):
                yield Static("› ", markup=False)
                yield WrittenLine(
                    placeholder=self.PLACEHOLDER,
                    id=f"{self.NAME}-search",
                    compact=True,
                    # A list that comes up once more is searched further, not anew.
                    select_on_focus=False,
                )
            yield Static(classes="dialog-header", markup=False)
            yield MarkedList(id=f"{self.NAME}-list", compact=True, markup=False)
            yield Static(id=f"{self.NAME}-note", classes="dialog-note", markup=False)
            yield self.hints()

    @property
    def options(self) -> MarkedList:
        return self.query_one(MarkedList)

    def note(self, text: str) -> None:
        self.query_one(f"#{self.NAME}-note", Static).update(Content(text))
        rows = sum(1 for _ in wrap_spans(text, self.row_width))
        if rows > self._most_note:
            self._most_note = rows
            self._size_box()

    def on_mount(self) -> None:
        """Show everything; the search box has the focus."""
        self.options.can_focus = False
        # Its mark is moved from the search box, and looks as if the list had the focus.
        self.options.add_class("-led")
        box = self.query_one(Input)
        if self.written:
            box.value = self.written
            box.cursor_position = len(self.written)
        self._explain_esc()
        self.narrow(self.written)

    def narrow(self, wanted: str) -> None:
        """List what fits the search text, and say in the title how many rows that are."""
        self.fill(wanted)
        self._listed = True
        if self.NARROWS:
            self.query_one(".dialog-title", Static).update(self._first_row)

    def on_resize(self, _: events.Resize) -> None:
        """Line up the columns for the new width."""
        self.line_up()

    def line_up(self) -> None:
        """Paint the rows for the present width; the mark stays where keys have put it."""
        options = self.options
        at = options.highlighted
        self.narrow(self.query_one(Input).value)
        if at is not None and options.option_count:
            options.highlighted = min(at, options.option_count - 1)

    @on(Input.Changed)
    def _searched(self, event: Input.Changed) -> None:
        event.stop()
        self.written = event.value
        self._explain_esc()
        self.narrow(event.value)

    def _explain_esc(self) -> None:
        self.key_row.instead = (CLEARS,) if self.NARROWS and self.written else ()

    def action_back(self) -> None:
        """Show all rows again; close where all are shown."""
        if self.NARROWS and self.written:
            self.query_one(Input).clear()
        else:
            self.action_close()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        if (row := self.marked) is not None:
            self.use(row)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_index < len(self.shown):
            self.use(self.shown[event.option_index])

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        # The list may have been narrowed since the row was marked: only what is marked now counts.
        if event.option_index == self.options.highlighted:
            self.explain(self.shown[event.option_index])

    def ask(self, question: ConfirmDialog, do: Callable[[], object]) -> None:
        """Do something if a user says yes; what is written into the question is a part of the search.

        Args:
            question: What to ask.
            do: What it is about.
        """

        def decided(yes: bool | None) -> None:
            if question.typed:
                box = self.query_one(Input)
                box.insert_text_at_cursor(clean(question.typed, keep_newlines=False))
                self.written = box.value
            if yes:
                do()

        self.app.push_screen(question, decided)

    def action_move(self, step: int) -> None:
        """Mark another row while the search box keeps the focus."""
        options = self.options
        if options.option_count:
            at = (options.highlighted or 0) + step
            options.highlighted = min(options.option_count - 1, max(0, at))


# One of a few words; for themes each is shown on the whole screen while it is marked.


class ChoiceDialog(FilterDialog[str, str]):
    """Dismisses with a word, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/settings.tcss"]
    HINTS = choice_hints("use", "cancel")
    NAME = "choice"
    PLACEHOLDER = "filter"

    def __init__(
        self, title: str, words: Sequence[str], current: str, about: Mapping[str, str] | None = None
    ) -> None:
        """Offer words.

        Args:
            title: First row.
            words: All there are, in order.
            current: The one in force; it is marked at first.
            about: What each means, in a sentence or two.
        """
        super().__init__()
        self._title, self._current, self._about = title, current, about or {}
        self.offer(words)

    @property
    def title_text(self) -> str:
        return f"{one_line(self._title, 80)}{self.narrowed}"

    def text_of(self, row: str) -> str:
        return row

    def line(self, row: str, width: int) -> Content:
        current = " current" if row == self._current else ""
        return Content.assemble(one_line(row, 40), (current, "$text-muted"))

    def first(self) -> int:
        return self.shown.index(self._current) if self._current in self.shown else 0

    def explain(self, row: str) -> None:
        """Say what the word means, where that is known."""
        self.note(self._about.get(row, ""))

    def use(self, row: str) -> None:
        self.dismiss(row)


class ThemePicker(ChoiceDialog):
    """Paints everything in the marked theme; Esc brings the one from before back."""

    def __init__(self, words: Sequence[str], current: str, painted: str) -> None:
        """Offer themes.

        Args:
            words: Their names.
            current: The one in the settings.
            painted: The one on the screen, which Esc brings back.
        """
        super().__init__("Theme", words, current)
        self._painted = painted
        self._decided = False

    def explain(self, row: str) -> None:
        """Paint in the theme, and say how well it can be read."""
        # The message that a row is marked may come after the decision.
        if not self._decided:
            self.app.theme = row
            painted = self.app.current_theme
            # Only here it is another one: the terminal has no colours of which one would be its own.
            alike = "" if painted.name == row else _ALIKE.format("dark" if painted.dark else "light")
            self.note(f"{theme_note(painted)}{alike}")

    def use(self, row: str) -> None:
        self._decided = True
        self.app.theme = row
        super().use(row)

    def action_close(self) -> None:
        """Bring the theme from before back."""
        self._decided = True
        self.app.theme = self._painted
        super().action_close()


_ALIKE = ". This terminal has 16 colours: all {} themes look the same in it."


def theme_note(theme: Theme) -> str:
    """Light or dark, and the contrast of its text in words and numbers."""
    kind = "dark" if theme.dark else "light"
    colours = theme.to_color_system().generate()
    text, ground = Color.parse(colours["foreground"]), Color.parse(colours["background"])
    if text.ansi is not None or ground.ansi is not None:
        return f"{kind}; the terminal's own colours"
    ratio = contrast(text.blend(ground, 1 - text.a), ground)
    judged = "" if ratio >= MIN_CONTRAST else f", hard to read below {MIN_CONTRAST}:1"
    return f"{kind}; text on its background {ratio:.1f}:1{judged}"
