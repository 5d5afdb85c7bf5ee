"""List dialogs: a search box above rows in columns, declared by a spec; typing filters the rows."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from textual import getters
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_app.records import frozen
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.options import MarkedList
from tui_app.ui.keyboard.keys import PLACES, Hint, choice_hints, place_hints
from tui_app.ui.widgets.scroll_bars import WrittenLine
from tui_app.ui.widgets.tables import Column, Table
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import clean, one_line, wrap_spans

R = TypeVar("R")
NARROW, ROOMY = 50, 100
"""Cells of a row below which only its main column is shown, and from which complete dates fit."""


@frozen(kw_only=True)
class ListSpec(Generic[R]):
    """A list as data: its columns, texts and keys."""

    name: str
    """Prefix of the ids of its widgets, and the place whose keys act in it."""
    search: str
    """Placeholder of the search box."""
    columns: Sequence[Column[R]]
    title: "Callable[[ListDialog[R]], str]"
    """The first row; the number of rows is added at its end."""
    words: Callable[[R], str] | None = None
    """The text of a row that the filter searches, if it is not the text of the columns."""
    note: Callable[[R], str] = lambda _: ""
    """Describes the marked row."""
    empty: str = "No results."
    """Shown if no row matches the filter."""
    none: str = ""
    """Shown if there are no rows at all, if different."""
    enter: str = "choose"
    """What enter does with a row, and esc without a filter, if the list has no place with keys of its own."""
    esc: str = "close"
    acts_without_row: Sequence[str] = ("esc",)
    """Keys that work without a row."""
    key: Callable[[R], object] | None = None
    """Identifies the marked row when the list is filled again; without it the first row is marked."""
    section: Callable[[R], str] = lambda _: ""
    """The section of a row; sections are separated by a blank row."""
    head: Callable[[str], str] = lambda _: ""
    """The heading of a section that follows another one."""
    least_lines: int = 1
    most_lines: int = 1_000
    """Minimum and maximum lines of the list that the box is sized for."""
    narrows: bool = True
    """Whether typed text only filters rows, and esc clears it before it closes the list."""

    @property
    def hints(self) -> tuple[Hint, ...]:
        """Every key of the list, as the bottom row shows it."""
        return place_hints(self.name) if self.name in PLACES else choice_hints(self.enter, self.esc)


@frozen
class Asked(Generic[R]):
    """A key's request: its name, and the marked row."""

    what: str
    row: R | None = None


class ListDialog(Dialog[Any], Generic[R], place="list", size="-list"):
    """Dismisses with the chosen row, or with an :class:`Asked` for one of its keys.

    The search box keeps the focus.
    """

    options = getters.query_one(MarkedList)
    SPEC: ClassVar[ListSpec[Any]]
    """The spec, if it is the same for the whole class."""
    WIDEST: ClassVar[int] = 112
    """Maximum width of the box in cells, as in its style sheet, unless it fills the screen."""

    def __init__(
        self, rows: Iterable[R] = (), spec: ListSpec[R] | None = None, *, mark: object = None
    ) -> None:
        """Show rows.

        Args:
            rows: All rows.
            spec: The list's spec.
            mark: Key of the row to mark first.
        """
        super().__init__()
        self.spec: ListSpec[R] = spec or self.SPEC
        self.table = Table(self.spec.columns)
        self.is_page = self.SIZE == "-full"
        """Whether it fills the screen."""
        self.said, self.marked_key = "", mark
        """The result of the last request, until another row is marked; and the key of the marked row."""
        self.written = ""
        """The text in the search box; a list that is shown again starts with it."""
        self.shown: Sequence[R] = ()
        """The rows that match the filter."""
        self._listed = False
        """Whether the list has been filled, so that its rows can be counted."""
        self._most_lines = 0
        """Lines of the longest list so far: the box keeps this size while rows are filtered."""
        self._most_note = _NOTE_ROWS
        """Rows of the longest note so far."""
        self.offer(rows)

    def offer(self, rows: Iterable[R]) -> None:
        """Set the rows to filter."""
        self.rows = tuple(rows)
        self._texts = [(self.spec.words or self.table.words)(row).lower() for row in self.rows]

    def show(self, rows: Iterable[R], message: str = "") -> None:
        """Show other rows with the same one marked, and a message."""
        self.said = message
        self.offer(rows)
        if self.spec.key is None or self.marked_key not in map(self.spec.key, self.rows):
            self.marked_key = None
        if self.is_open:
            self.line_up()

    @property
    def head(self) -> Content:
        """The first row, ending in ``41``, or in ``3 of 41`` while a filter hides rows.

        That of a full page starts with the product's sign.
        """
        sign = f"{UNICODE.load_line} " if self.is_page else ""
        name, _, more = self.spec.title(self).partition(" · ")
        more = f"  {more}" if more else ""
        head = Content.assemble((sign, "$text-accent"), name, (more, "$text-muted not bold"))
        narrowed = f"{self.found:,} of " if self._listed and self.written.strip() else ""
        counts = f"{narrowed}{len(self.rows):,}" if self.spec.narrows else ""
        gap = self.row_width + (4 if self.is_page else 2) - head.cell_length - len(counts)
        return Content.assemble(head, " " * max(2, gap), (counts, "$text-muted not bold")) if counts else head

    @property
    def found(self) -> int:
        """Number of rows that match the filter."""
        return len(self.shown)

    @property
    def at(self) -> int | None:
        """The place of the marked row among those that are shown."""
        option = self.options.highlighted_option
        return int(option.id) if option is not None and option.id else None

    @property
    def marked(self) -> R | None:
        return self.shown[self.at] if self.at is not None else None

    def mark(self, at: int) -> None:
        self.options.highlighted = self.options.get_option_index(str(at))

    @property
    def row_width(self) -> int:
        """Width of a row in cells."""
        width = self.size.width
        cells = width - _FRAME_OF_PAGE if self.is_page else min(width, self.WIDEST) - _FRAME
        return max(_LEAST, cells)

    def line(self, row: R, width: int) -> Content:
        """Return a row as it is shown."""
        return self.table.line(row, width)

    def first(self) -> int:
        """Return the index of the row to mark after filling the list."""
        keys = [self.spec.key(row) for row in self.shown] if self.spec.key is not None else []
        return keys.index(self.marked_key) if self.marked_key in keys else 0

    def use(self, row: R) -> None:
        """Dismiss with a row, or show why that is not possible."""
        self.dismiss(row)

    def explain(self, row: R) -> None:
        """Describe the marked row in the note below the list."""
        self._follow_mark(row)
        self.note(self.said or self.spec.note(row))

    def _follow_mark(self, row: R) -> None:
        key = self.spec.key(row) if self.spec.key is not None else row
        if self.marked_key not in (None, key):
            self.said = ""
        self.marked_key = key

    def answer(self, asked: Asked[R]) -> None:
        """Handle a key's request."""
        self.dismiss(asked)

    def action_ask(self, what: str) -> None:
        """Request an action on the marked row, or without one if it needs none."""
        needs_none = (hint.action for hint in self._without_row)
        if self.marked is not None or f"screen.ask('{what}')" in needs_none:
            self.answer(Asked(what, self.marked))

    @property
    def _without_row(self) -> Sequence[Hint]:
        return [hint for hint in self.spec.hints if hint.label in self.spec.acts_without_row]

    def fill(self, query: str) -> None:
        """List the rows that contain all words."""
        words = query.lower().split()
        rows = zip(self.rows, self._texts, strict=True)
        self.list_rows([row for row, text in rows if all(word in text for word in words)])

    def list_rows(self, rows: Sequence[R]) -> None:
        """Show rows and mark one, or show that there are none."""
        self.shown = rows
        width, spec = self.row_width, self.spec
        lines: list[Option] = []
        for at, row in enumerate(rows):
            if at and (section := spec.section(row)) != spec.section(rows[at - 1]):
                lines.append(Option("", disabled=True))
                if head := spec.head(section):
                    lines.append(Option(head, disabled=True))
            lines.append(Option(self.line(row, width), id=str(at)))
        self.options.clear_options().add_options(lines)
        header = self.query_one(".dialog-header", Static)
        header.update(named := self.table.header(width))
        header.display = bool(named)
        high = sum(str(line.prompt).count("\n") + 1 for line in lines)
        self._most_lines = max(self._most_lines, high)
        self._size_box()
        self.name_keys()
        if rows:
            self.mark(self.first())
        elif self.rows:
            self.note("\n".join(filter(None, (spec.empty, self.said))))
        else:
            self.note(self.said or spec.none or spec.empty)

    def repaint(self, row: R) -> None:
        """Repaint a row after more became known about it."""
        if row in self.shown:
            line = self.line(row, self.row_width)
            self.options.replace_option_prompt(str(self.shown.index(row)), line)

    def _size_box(self) -> None:
        """Fit the box to its list; a long note takes lines from a list that has more than a few."""
        if not self.is_page:
            lines = max(self.spec.least_lines, min(self._most_lines, self.spec.most_lines))
            more = max(0, min(self._most_note - _NOTE_ROWS, _FEW_LINES - lines))
            header = self.query_one(".dialog-header", Static).display
            self.query_one(".dialog").styles.height = lines + more + _AROUND + header

    def name_keys(self) -> None:
        """Show the keys that work; without rows, only those that need none."""
        self.key_row.hints = tuple(self.spec.hints if self.shown else self._without_row)

    def body(self) -> ComposeResult:
        spec = self.spec
        with Horizontal(classes="dialog-search"):
            yield Static("› ", markup=False)
            # A list that is shown again keeps its search text.
            yield WrittenLine(
                self.written, spec.search, id=f"{spec.name}-search", compact=True, select_on_focus=False
            )
        yield Static(classes="dialog-header", markup=False)
        yield MarkedList(id=f"{spec.name}-list", compact=True, markup=False)
        yield Static(id=f"{spec.name}-note", classes="dialog-note", markup=False)

    def note(self, text: str) -> None:
        self.query_one(f"#{self.spec.name}-note", Static).update(Content(text := clean(text)))
        rows = sum(1 for _ in wrap_spans(text, self.row_width))
        if rows > self._most_note:
            self._most_note = rows
            self._size_box()

    def on_mount(self) -> None:
        """Show all rows; the search box has the focus."""
        self.options.can_focus = False
        # The mark is moved from the search box, and looks as if the list had the focus.
        self.options.add_class("-led")
        self.narrow(self.written)

    def narrow(self, query: str) -> None:
        """List the rows that match the search text, and show their number in the title."""
        self.written = query
        self.fill(query)
        self._listed = True
        if self.spec.narrows:
            self.write_head(self.head)
            self.key_row.instead = (Hint("esc", "clear filter", 0, "screen.back"),) if query else ()

    def on_resize(self) -> None:
        """Lay out the columns for the new width."""
        self.line_up()
        self.call_after_refresh(self._show_mark)

    def _show_mark(self) -> None:
        """Scroll to the mark from the top: before the resize, the head may have taken one more row."""
        if self.options.highlighted is not None:
            self.options.scroll_home(animate=False, immediate=True)
            self.options.scroll_to_highlight()

    def line_up(self) -> None:
        """Repaint the rows for the current width; the mark stays where the user moved it."""
        at = self.at
        self.narrow(self.query_one(Input).value)
        found_again = self.spec.key is not None and self.marked_key is not None
        if at is not None and self.shown and not found_again:
            self.mark(min(at, len(self.shown) - 1))

    def on_input_changed(self, event: Input.Changed) -> None:
        self.narrow(event.value)

    def action_back(self) -> None:
        """Clear the filter; without one, close the list."""
        if self.spec.narrows and self.written:
            self.query_one(Input).clear()
        else:
            self.action_close()

    def on_input_submitted(self) -> None:
        if (row := self.marked) is not None:
            self.use(row)

    on_option_list_option_selected = on_input_submitted

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        # The list may have been filtered since the event: only the row marked now counts.
        if event.option is self.options.highlighted_option and (row := self.marked) is not None:
            self.explain(row)

    def take_text(self, text: str) -> None:
        """Append text to the search."""
        box = self.query_one(Input)
        box.insert_text_at_cursor(clean(text, keep_newlines=False))
        self.written = box.value

    def action_move(self, step: int) -> None:
        """Mark another row while the search box keeps the focus."""
        if self.shown:
            at = min(len(self.shown) - 1, max(0, (self.at or 0) + step))
            self.mark(at)
            # The highlight event comes later, and rows shown again before it would move the mark.
            self._follow_mark(self.shown[at])


class OpenList(ListDialog[R]):
    """A list that stays open while requests are handled, one at a time, and is then filled again."""

    def __init__(self, rows: Iterable[R], spec: ListSpec[R] | None = None) -> None:
        super().__init__(rows, spec)
        self._queue: asyncio.Queue[Asked[R] | None] = asyncio.Queue()
        self._is_free = True

    async def next_request(self) -> Asked[R] | None:
        """Wait for the user's next request; None if the list was closed."""
        self._is_free = self._queue.empty()
        return await self._queue.get()

    def answer(self, asked: Asked[R]) -> None:
        """Pass on a request unless another one is being handled, which may change what is shown."""
        if self._is_free:
            self._is_free = False
            self._queue.put_nowait(asked)

    def use(self, row: R) -> None:
        self.answer(Asked("enter", row))

    def action_close(self) -> None:
        self._is_free = False
        self._queue.put_nowait(None)
        super().action_close()


class ChoiceDialog(ListDialog[str], style="settings"):
    """Dismisses with a word, or ``None``."""

    WIDEST = 60

    def __init__(
        self, title: str, words: Sequence[str], current: str, about: Mapping[str, str] | None = None
    ) -> None:
        """Show words to choose from.

        Args:
            title: First row.
            words: All words, in order.
            current: The current one, which is marked first.
            about: What each means, in a sentence or two.
        """

        def named(word: str) -> Content:
            return Content.assemble(
                one_line(word, 40), (" current" if word == current else "", "$text-muted")
            )

        spec = ListSpec[str](
            name="choice",
            search="filter",
            columns=(Column(named),),
            title=lambda _: one_line(title, 80),
            note=lambda word: (about or {}).get(word, ""),
            enter="use",
            esc="cancel",
            key=lambda word: word,
        )
        super().__init__(words, spec, mark=current)


_LEAST = 20
"""Minimum width of a row in cells."""
_FRAME = 8
"""Cells left and right of the rows: padding of the box and the sign of the chosen row."""
_FRAME_OF_PAGE = 8
_AROUND, _NOTE_ROWS, _FEW_LINES = 11, 2, 5
"""Rows of the box without its list but with its note, rows of the note, and lines of the list above which a
longer note takes rows from it.
"""
