"""Rows in columns: one declaration aligns them, names them, and says what leaves in a narrow place."""

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
    """Cells with the gap to its neighbour; 0 for the one column that takes what the others leave."""
    tone: str | Callable[[R], str] = MUTED
    title: str = ""
    gap: int = 1
    """Cells that stay free in front of a neighbour that is aligned to the left."""
    right: bool = False
    """Whether it is aligned to the right; its gap is at its left then."""
    leaves_at: int = 0
    """Cells of a row below which it is left out."""
    comes_below: int = _ANY_WIDTH
    """Cells of a row from which it is left out."""
    share: int = 1
    """It takes no more than this part of a row: 2 for half of it."""
    snug: bool = False
    """Whether it takes no more cells than its text, and leaves the others to the wide column."""
    fitted: Callable[[R, int], Content] | None = None
    """Makes its text for the cells there are, in place of ``text``."""

    def shown(self, row: R, cells: int) -> str | Content:
        """Its text for a row, clean and cut to a number of cells."""
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
    """Columns that line up, with at most one of them as wide as there is room."""

    columns: Sequence[Column[R]]

    def header(self, width: int) -> Content:
        """The names of the columns; empty where they have none."""
        shown, cells = self._laid(width, None)
        if sum(bool(column.title) for column in shown) < 2:
            return Content()
        named = []
        for column, room in zip(shown, cells, strict=True):
            title = column.title if cell_len(column.title) <= room else ""
            named.append(f"{title:>{room}}" if column.right else padded(title, room))
        return Content("".join(named)[:width])

    def words(self, row: R) -> str:
        """What a row says in all of its columns, for a search."""
        return " ".join(str(column.text(row)) for column in self.columns)

    def line(self, row: R, width: int) -> Content:
        """One row; what is too long is cut, and ends in a mark that says so."""
        shown, cells = self._laid(width, row)
        parts: list[Content | tuple[str, str]] = []
        for at, (column, room) in enumerate(zip(shown, cells, strict=True)):
            last = at == len(shown) - 1
            apart = 0 if last or column.right or shown[at + 1].right else column.gap
            part, tone = column.shown(row, room - apart - 2 * column.snug), column.tone_of(row)
            space = " " * max(0, room - _cells(part))
            before, behind = (space, "") if column.right or column.snug else ("", "" if last else space)
            if isinstance(part, str):
                parts.append((f"{before}{part}{behind}", tone))
            else:
                parts += [(before, tone), part, (behind, tone)]
        return Content.assemble(*parts)

    def _laid(self, width: int, row: R | None) -> tuple[list[Column[R]], list[int]]:
        """The columns that have room, and the cells of each; the first gives way where that is too little."""
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
"""Cells that the wide column keeps, however narrow the row is."""


def spread(left: Content, right: Content, width: int, least: int = 1) -> Content:
    """A row with a text at each of its ends."""
    return Content.assemble(left, " " * max(least, width - left.cell_length - right.cell_length), right)


def packed(parts: Iterable[Content], width: int, gap: str = "   ", lead: int = 0) -> Content:
    """Parts in rows, none of them broken; rows below the first begin ``lead`` cells in."""
    rows: list[Content] = []
    for part in parts:
        if rows and rows[-1].cell_length + len(gap) + part.cell_length <= width:
            rows[-1] = Content.assemble(rows[-1], gap, part)
        else:
            rows.append(Content.assemble(" " * lead if rows else "", part))
    return Content("\n").join(rows)
