"""The pieces that an entry is painted from. Equal pieces paint equally, so their lines can be shared."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from itertools import islice
from typing import Literal, Protocol

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from tui_app.records import frozen
from tui_app.ui.colours.code_colours import coloured, language_of
from tui_app.ui.colours.palette import Tone
from tui_app.ui.transcript.excerpts import FENCE_CHARS
from tui_app.ui.transcript.lines import EDGE, GUTTER, PROSE_CELLS, Line, Painter
from tui_app.ui.words.text import wrap_spans

LEAST_PROSE = 20
"""Minimum width of a prompt's text in cells while its time is shown at the right."""
PIECE_CHARS = 3_000
PIECE_LINES = 120


class Piece(Protocol):
    """A bounded part of an entry. Implementations are frozen and hashable."""

    def estimate(self, width: int) -> int:
        """Estimate the height in lines without painting."""
        ...

    def lines(self, painter: Painter) -> list[Line]:
        """Paint the piece; takes a few milliseconds at most."""
        ...


@frozen
class GapPiece:
    """Blank lines between entries.

    With ``half``, half of a line over or under a prompt has the prompt's background.
    """

    height: int = 1
    half: Literal["", "over", "under"] = ""

    def estimate(self, width: int) -> int:
        return self.height

    def lines(self, painter: Painter) -> list[Line]:
        return [painter.edge(top=self.half == "over") if self.half else painter.gap()] * self.height


class _OneRow:
    def estimate(self, width: int) -> int:
        return 1


@frozen
class RulePiece(_OneRow):
    """A horizontal rule with words in it, which marks a compaction of everything above."""

    title: str
    short: str
    """A shorter title, used if the first figures do not fit otherwise."""
    figures: tuple[str, ...] = ()
    """Figures after the title, each with its separator; those that do not fit are left out."""
    tone: Tone = Tone.ACCENT

    def lines(self, painter: Painter) -> list[Line]:
        title, detail = self._worded(painter)
        text = title + detail
        rest = painter.glyphs.gauge_full * max(0, painter.width - cell_len(text) - 1)
        segments = [
            painter.styled(title, Tone.STRONG),
            painter.styled(detail, Tone.TEXT),
            painter.styled(f" {rest}" if rest else "", self.tone),
        ]
        return [painter.crossed(segments, self.tone, end=len(text))]

    def _worded(self, painter: Painter) -> tuple[str, str]:
        for most in range(len(self.figures), 0, -1):
            detail = painter.spelled("".join(self.figures[:most]))
            for title in (self.title, self.short):
                if cell_len(title + detail) <= painter.width:
                    return title, detail
        return painter.fitted(self.title, painter.width), ""


@frozen
class RowPiece(_OneRow):
    """One line: a hanging sign, a title cut to fit, and right-aligned text."""

    sign: str
    title: str
    tone: Tone
    right: str = ""
    mark: str = ""
    """The outcome, if it matters, shown before the text at the right."""
    mark_tone: Tone = Tone.ERROR
    note: str = ""
    """The result, shown after the title."""
    fold: bool = False
    """Whether a click folds and unfolds the entry."""
    ornament: bool = False
    """Whether the whole row is decoration and never copied."""

    def lines(self, painter: Painter) -> list[Line]:
        """Paint the row; the right part is dropped if the line is too narrow for both."""
        mark, right = painter.spelled(self.mark), painter.spelled(self.right)
        between = "  " if mark and right else ""
        taken = cell_len(mark + between + right)
        room = painter.width - (taken + 2 if taken else 0)
        if taken and room < 12:
            mark, between, right, taken, room = "", "", "", 0, painter.width
        title = painter.fitted(self.title, room)
        note = painter.spelled(self.note)
        note = f"  {note}" if note and cell_len(title) + 2 + cell_len(note) <= room else ""
        segments = [painter.styled(title, self.tone), painter.styled(note, Tone.FAINT)]
        if taken:
            space = painter.width - cell_len(title + note) - taken
            segments += [
                Segment(" " * space),
                painter.styled(mark + between, self.mark_tone),
                painter.styled(right, Tone.FAINT),
            ]
        end = len(title + note)
        sign = painter.styled(painter.spelled(self.sign), self.tone)
        return [painter.line(segments, lead=end if self.ornament else 0, end=end, sign=sign)]


@frozen
class KeysPiece(_OneRow):
    """Keys and, dimmed, their effects; whole hints are dropped from the end if they do not fit."""

    hints: tuple[tuple[str, str], ...]

    def lines(self, painter: Painter) -> list[Line]:
        segments: list[Segment] = []
        room = painter.width
        for key, does in self.hints:
            before = painter.spelled(f" {painter.glyphs.separator} ") if segments else ""
            after = f" {does}" if does else ""
            room -= cell_len(before + key + after)
            if room < 0 and segments:
                break
            segments += [
                painter.styled(before, Tone.DIM),
                painter.styled(key, Tone.TEXT),
                painter.styled(after, Tone.DIM),
            ]
        return [painter.line(segments)]


@frozen
class TextPiece:
    """Plain wrapped text; ``sign`` hangs left of its first line."""

    text: str
    tone: Tone
    sign: str = ""
    indent: int = 0
    join: str = "\n"
    part: str = field(default="", compare=False)
    """Which text of an entry the piece belongs to; empty for text of the program's own."""
    start: int = field(default=0, compare=False)
    """Character offset of the piece in that text."""
    sign_tone: Tone | None = None
    """The tone of the sign, if it differs from that of the text."""
    apart: str = ""
    """The separator of its parts, if it is a list."""
    warns: str = ""
    """The words shown as a warning."""

    def estimate(self, width: int) -> int:
        return self.text.count("\n") + 1 + len(self.text) // max(1, 2 * (width - self.indent))

    def lines(self, painter: Painter) -> list[Line]:
        text = self.text if self.part else painter.spelled(self.text)
        loud = text.find(self.warns) if self.warns else len(text)
        sign = painter.styled(self.sign, self.sign_tone or self.tone) if self.sign else None

        def words(start: int, stop: int) -> list[Segment]:
            first, last = (min(max(at, start), stop) for at in (loud, loud + len(self.warns)))
            parts = (start, first, self.tone), (first, last, Tone.WARNING), (last, stop, self.tone)
            return [painter.styled(text[low:high], tone) for low, high, tone in parts if low < high]

        spans = wrap_spans(text, max(1, painter.prose - self.indent), painter.spelled(self.apart))
        return self._painted(painter, spans, words, sign, once=True)

    def _painted(
        self,
        painter: Painter,
        spans: Iterable[tuple[int, int, str]],
        words: Callable[[int, int], list[Segment]],
        sign: Segment | None,
        *,
        ground: Tone = Tone.TEXT,
        once: bool = False,
    ) -> list[Line]:
        """Paint the lines of a wrapped text, with a sign at the left of each, or ``once``."""
        lead = " " * self.indent
        return [
            painter.line(
                [Segment(lead), *words(start, stop)],
                lead=len(lead),
                join=join if at else self.join,
                sign=None if once and at else sign,
                ground=ground,
            )
            for at, (start, stop, join) in enumerate(spans)
        ]


@frozen
class ChangePiece(TextPiece):
    """Lines that an edit removes or adds, on a coloured background with highlighted code."""

    path: str = ""
    """The file, whose name determines the language."""

    def lines(self, painter: Painter) -> list[Line]:
        added, palette = self.tone is Tone.ADDED, painter.palette
        ground = Tone.ADDED_ROW if added else Tone.REMOVED_ROW
        text = coloured(self.text, language_of(self.path), palette)

        def words(start: int, stop: int) -> list[Segment]:
            return list(text[start:stop].render(painter.console))

        sign = Segment("+" if added else "-", palette.style(ground) + palette.accent_of(self.tone))
        wrapped = wrap_spans(self.text, max(1, painter.width - self.indent))
        return self._painted(painter, wrapped, words, sign, ground=ground)


@frozen
class PromptPiece(TextPiece):
    """A part of a prompt, on a background with a bar at the left and the time after its first line.

    With the tone of plain text, the model no longer sees the prompt, and it has no background.
    """

    right: str = ""
    """Text after the first line; every line leaves room for it."""
    first: bool = True
    """Whether ``right`` is shown."""

    def lines(self, painter: Painter) -> list[Line]:
        right = painter.spelled(self.right)
        inner = painter.width - EDGE
        room = inner - cell_len(right) - EDGE if right else inner
        if room < LEAST_PROSE:
            right, room = "", inner
        sunk = self.tone is Tone.TEXT
        ground, bar = (Tone.TEXT, Tone.FAINT) if sunk else (Tone.GROUND, Tone.USER)

        def words(start: int, stop: int) -> list[Segment]:
            return [painter.styled(self.text[start:stop], self.tone)]

        wrapped = wrap_spans(self.text, max(1, min(room, PROSE_CELLS)))
        sign = painter.styled(painter.glyphs.bar, bar)
        lines = self._painted(painter, wrapped, words, sign, ground=ground)
        if right and self.first:
            start, width = GUTTER + inner - cell_len(right), lines[0].strip.cell_length
            small = Strip([Segment(right, painter.small(ground))])
            parts = [lines[0].strip.crop(0, start), small, lines[0].strip.crop(GUTTER + inner, width)]
            lines[0] = replace(lines[0], strip=Strip.join(parts))
        return lines


@frozen
class MarkdownPiece:
    """A part of an answer."""

    source: str
    gap: bool = False
    """Whether a blank line precedes it."""
    part: str = field(default="text", compare=False)
    """Which text of an entry the piece belongs to."""

    def estimate(self, width: int) -> int:
        text = self.source.strip()
        return self.gap + text.count("\n") + 1 - text.count("```") + len(text) // max(1, 3 * width)

    def lines(self, painter: Painter) -> list[Line]:
        # Parser and lexers are slow to import, so not before the first frame.
        from tui_app.ui.transcript.markdown import markdown_lines

        body = markdown_lines(self.source, painter)
        return [painter.line(()), *body] if self.gap and body else body


@frozen
class FadedPiece:
    """A piece of an entry that the model no longer sees, one level dimmer and without hue."""

    piece: Piece

    @property
    def fold(self) -> bool:
        """Whether a click folds and unfolds the entry."""
        return folds(self.piece)

    def estimate(self, width: int) -> int:
        return self.piece.estimate(width)

    def lines(self, painter: Painter) -> list[Line]:
        return [painter.faded(line) for line in self.piece.lines(painter)]


def folds(piece: Piece | None) -> bool:
    """Return whether a click on a piece folds and unfolds the entry."""
    return isinstance(piece, RowPiece | FadedPiece) and piece.fold


def text_pieces(text: str, tone: Tone, indent: int = 0, *, part: str = "text") -> Iterator[TextPiece]:
    """Cut plain text of any length into pieces, at line ends where possible."""
    for start, stop, join in _cuts(text):
        yield TextPiece(text[start:stop], tone, indent=indent, join=join, part=part, start=start)


def prompt_pieces(text: str, right: str, *, sunk: bool, part: str = "text") -> Iterator[PromptPiece]:
    tone = Tone.TEXT if sunk else Tone.PROMPT
    for start, stop, join in _cuts(text):
        yield PromptPiece(
            text[start:stop], tone, join=join, part=part, start=start, right=right, first=not start
        )


def change_pieces(text: str, path: str, *, added: bool, at: int) -> Iterator[ChangePiece]:
    """Cut the lines of an edit into pieces that are quick to highlight.

    Args:
        text: The lines.
        path: The file.
        added: Whether the lines are added rather than removed.
        at: Offset of the lines in the arguments of the call.
    """
    start = 0
    while start <= len(text):
        stop = text.rfind("\n", start, start + FENCE_CHARS) if len(text) - start > FENCE_CHARS else len(text)
        stop = stop if stop > start else min(len(text), start + PIECE_CHARS)
        stop = len(text) if (end := text.find("\n", stop)) < 0 else end
        tone = Tone.ADDED if added else Tone.REMOVED
        yield ChangePiece(text[start:stop], tone, indent=2, part="args", start=at + start, path=path)
        start = stop + 1


def _cuts(text: str) -> Iterator[tuple[int, int, str]]:
    start, join = 0, "\n"
    while True:
        stop = _piece_end(text, start)
        at_newline = stop < len(text) and text[stop] == "\n"
        yield start, stop, join
        start, join = (stop + 1, "\n") if at_newline else (stop, "")
        if stop >= len(text):
            return


def _piece_end(text: str, start: int) -> int:
    limit = start + PIECE_CHARS
    ends = islice(re.compile("\n").finditer(text, start + 1, limit + 1), PIECE_LINES)
    breaks = [found.start() for found in ends]
    if len(breaks) < PIECE_LINES and len(text) <= limit:
        return len(text)
    return breaks[-1] if breaks else limit
