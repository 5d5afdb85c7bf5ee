"""Tables: columns declared once, with alignment, titles and the widths at which they are shown."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from rich.cells import cell_len
from textual.content import Content

from tui_app.records import frozen
from tui_app.ui.words.text import clean, one_line, padded

R = TypeVar("R")
MUTED = "$text-muted"
_ANY_WIDTH = 1_000_000


@frozen
class Column(Generic[R]):
    """One column of a table."""

    text: Callable[[R], str | Content] = lambda _: ""
    cells: int = 0
    """Cells including the gap; 0 for the one column that takes the remaining space."""
    tone: str | Callable[[R], str] = MUTED
    title: str = ""
    gap: int = 1
    """Cells kept free before a left-aligned neighbour."""
    right: bool = False
    """Whether it is right-aligned; its gap is at the left then."""
    leaves_at: int = 0
    """Width of a row in cells below which the column is left out."""
    comes_below: int = _ANY_WIDTH
    """Width of a row in cells from which the column is left out."""
    share: int = 1
    """Maximum part of a row, as divisor: 2 for half of it."""
    snug: bool = False
    """Whether it takes only the cells of its text, and leaves the rest to the wide column."""
    fitted: Callable[[R, int], Content] | None = None
    """Makes the text for the available cells, instead of ``text``."""

    def shown(self, row: R, cells: int) -> str | Content:
        """Return the text for a row, clean and cut to a number of cells."""
        if self.fitted is not None:
            return self.fitted(row, cells)
        text = self.text(row)
        if isinstance(text, Content):
            return text if text.cell_length <= cells else text.truncate(cells, ellipsis=True)
        if self.right or self.snug:
            return text if text.isprintable() else clean(text, keep_newlines=False)
        indent = len(text) - len(text.lstrip(" "))
        return text[:indent] + one_line(text, cells - indent)

    def tone_of(self, row: R) -> str:
        return self.tone if isinstance(self.tone, str) else self.tone(row)


@frozen
class Table(Generic[R]):
    """Aligned columns, at most one of which takes the remaining space."""

    columns: Sequence[Column[R]]

    def header(self, width: int) -> Content:
        """Return the titles of the columns; empty if fewer than two have one."""
        shown, cells = self._laid(width, None)
        if sum(bool(column.title) for column in shown) < 2:
            return Content()
        named = []
        for column, room in zip(shown, cells, strict=True):
            title = column.title if cell_len(column.title) <= room else ""
            named.append(f"{title:>{room}}" if column.right else padded(title, room))
        return Content("".join(named)[:width])

    def words(self, row: R) -> str:
        """Return the text of all columns of a row, for a search."""
        return " ".join(str(column.text(row)) for column in self.columns)

    def line(self, row: R, width: int) -> Content:
        """Return a row; texts that are too long end in an ellipsis."""
        shown, cells = self._laid(width, row)
        parts: list[Content | tuple[str, str]] = []
        for at, (column, room) in enumerate(zip(shown, cells, strict=True)):
            last = at == len(shown) - 1
            apart = 0 if last or column.right or shown[at + 1].right else column.gap
            part, tone = column.shown(row, room - apart - 2 * column.snug), column.tone_of(row)
            space = " " * max(0, room - _cells(part))
            before, after = (space, "") if column.right or column.snug else ("", "" if last else space)
            if isinstance(part, str):
                parts.append((f"{before}{part}{after}", tone))
            else:
                parts += [(before, tone), part, (after, tone)]
        return Content.assemble(*parts)

    def _laid(self, width: int, row: R | None) -> tuple[list[Column[R]], list[int]]:
        """Return the columns that fit with their widths; the first is narrowed if space is short."""
        shown = [each for each in self.columns if each.leaves_at <= width < each.comes_below]
        cells = [min(each.cells, width // each.share) for each in shown]
        for at, column in enumerate(shown):
            if column.snug:
                needed = _cells(column.shown(row, cells[at] - 2)) if row is not None else 0
                cells[at] = needed + 2 if needed else 0
        rest = width - sum(cells)
        for at, column in enumerate(shown):
            if not column.cells:
                cells[at] = max(_LEAST, rest)
        if rest < 0 and cells:
            cells[0] = max(_LEAST, cells[0] + rest)
        return shown, cells


def _cells(text: str | Content) -> int:
    return cell_len(text) if isinstance(text, str) else text.cell_length


_LEAST = 8
"""Minimum width of the wide column in cells."""


def spread(left: Content, right: Content, width: int, least: int = 1) -> Content:
    """Return a row with a text at each end."""
    return Content.assemble(left, " " * max(least, width - left.cell_length - right.cell_length), right)


def packed(parts: Iterable[Content], width: int, gap: str = "   ", lead: int = 0) -> Content:
    """Arrange unbroken parts in rows; rows after the first are indented by ``lead`` cells."""
    rows: list[Content] = []
    for part in parts:
        if rows and rows[-1].cell_length + len(gap) + part.cell_length <= width:
            rows[-1] = Content.assemble(rows[-1], gap, part)
        else:
            rows.append(Content.assemble(" " * lead if rows else "", part))
    return Content("\n").join(rows)
