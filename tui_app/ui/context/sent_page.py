"""Layout of what the model gets instead of removed messages: author of each part, source of each line."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from tui_app.context.binding.forms import MARK, SOURCES, message_numbers
from tui_app.events import DOUBTFUL, MARKS, NOT_IN_LOG, UNCHECKED, Origin
from tui_app.records import frozen
from tui_app.session.figures.passages import BY
from tui_app.ui.colours.palette import Tone
from tui_app.ui.transcript.excerpts import clip, split_markdown
from tui_app.ui.transcript.lines import GUTTER, Line, Painter
from tui_app.ui.transcript.markdown import markdown_lines
from tui_app.ui.widgets.long_text import Wrapped
from tui_app.ui.words.glyphs import PLAIN, UNICODE
from tui_app.ui.words.text import MOST_CHARS, clean, one_line, padded


@frozen
class Replacement:
    """What the model gets instead of removed messages."""

    passages: Sequence[tuple[Origin, str]] = ()
    """Author and text of each passage; empty if unknown."""
    author: str = ""
    """The model that wrote the notes."""
    otherwise: str = ""
    """Shown if there are no passages."""

    @property
    def text(self) -> str:
        return "\n".join(passage for _, passage in self.passages) or self.otherwise


@frozen
class SentLine:
    """A line with a source."""

    text: str
    form: str
    """The text in brackets at its end."""
    written: str = ""
    """Line and brackets as written in the notes."""
    first: int = 0
    """The first of the rows it is painted in."""
    last: int = 0

    def dropped_from(self, notes: str) -> str:
        """Return the notes without this line; unchanged if it is not part of them, or the only line."""
        alone = rf"(?m)^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*{re.escape(self.written)}[ \t]*$\n?"
        without = re.sub(alone, "", notes, count=1) if self.written else notes
        without = without if without != notes else notes.replace(self.written, "", 1)
        return without if without.strip() else notes

    @property
    def numbers(self) -> tuple[int, ...]:
        """Log numbers of its source messages."""
        return tuple(dict.fromkeys(message_numbers(self.form)))

    @property
    def mark(self) -> str:
        """Why it is flagged; empty if it is not."""
        last = f"({self.form.rpartition(_AND)[2]})"
        return last if last in MARKS else ""

    @property
    def state(self) -> str:
        """What the log has of the names and figures in it; empty if unknown."""
        return _MARK_TEXTS.get(self.mark) or self.form.partition(": ")[2]

    @property
    def note(self) -> str:
        """The bracketed text as shown next to the line."""
        return self.form.replace(": ", _AND, 1)


_AND = " · "
_MARK_TEXTS = {
    UNCHECKED: "no source for it: none was given and none was found",
    DOUBTFUL: "a source for it, in which a second reader did not find what it says",
    NOT_IN_LOG: "not every name, number, quote or message that it gives",
}
_MARGINS: dict[Origin, tuple[str, Tone]] = {
    "model": ("m", Tone.DIM), "user": ("y", Tone.USER), "code": ("p", Tone.ADDED),
}  # fmt: skip
"""Signs in the margin by author."""
MARGIN = 2
"""Cells of the margin left of the text."""
COLUMN = "source · what the log knows"
"""Title of the column at the right."""


@frozen
class SentPage(Wrapped):
    """The replacement at one width: painted lines, each with its margin."""

    strips: tuple[Strip, ...] = ()
    margins: tuple[Segment, ...] = ()
    lines: tuple[SentLine, ...] = ()
    sign: str = ""
    """The sign before the marked line."""


def sent_page(sent: Replacement, painter: Painter) -> SentPage:
    """Lay out the replacement as the model gets it, with the author of each part in the margin."""
    rows: list[tuple[Line, str, Segment]] = []
    found: list[SentLine] = []
    gap = (painter.gap(), "", painter.styled(" " * MARGIN, Tone.TEXT))
    if sent.passages:
        marks = [
            [painter.styled(mark, tone), painter.styled(f" {BY[origin]}   ", Tone.DIM)]
            for origin, (mark, tone) in _MARGINS.items()
            if any(origin == each for each, _ in sent.passages)
        ]
        fits = sum(segment.cell_length for pair in marks for segment in pair) <= painter.width
        legend = [[segment for pair in marks for segment in pair]] if fits else marks
        rows += [*((painter.line(each), "", gap[2]) for each in legend), gap]
    for number, (origin, passage) in enumerate(sent.passages or ((None, sent.otherwise),)):
        rows += [gap] if number else []
        source, lines = _with_places(
            clip(passage, MOST_CHARS, None, wash=clean)[0], origin, painter.width // 2
        )
        body = []
        if origin == "model":
            title = f"Notes of {one_line(sent.author, 40) or 'the model'}"
            head = painter.line([painter.styled(title, Tone.HEADING)])
            body = [_noted(head, COLUMN, painter) if lines else head]
        for piece, apart in split_markdown(source):
            body += [painter.gap()] if apart and body else []
            body += markdown_lines(piece, painter)
        # Without the blank lines after a heading and before a list.
        body = [
            line
            for at, line in enumerate(body)
            if line.text
            or not (_is_heading(body[at - 1]) or _ITEM.match(body[min(at + 1, len(body) - 1)].text))
        ]
        painted, placed = _with_forms(_counted(body, origin, painter), lines, painter)
        found += (replace(each, first=each.first + len(rows), last=each.last + len(rows)) for each in placed)
        mark, tone = _MARGINS[origin] if origin else ("", Tone.TEXT)
        below = painter.glyphs.pipe if origin else ""
        rows += [
            (line, suffix, painter.styled(f"{below if at else mark:<{MARGIN}}", tone))
            for at, (line, suffix) in enumerate(painted)
        ]
    starts, stops, at = array("L"), array("L"), 0
    for line, suffix, _ in rows:
        starts.append(at)
        stops.append(at + len(line.text))
        # The bracketed text is copied with its line.
        at += len(line.text) + len(suffix) + 1
    return SentPage(
        "\n".join(line.text + suffix for line, suffix, _ in rows),
        starts,
        stops,
        tuple(line.strip.crop(GUTTER) for line, _, _ in rows),
        tuple(margin for _, _, margin in rows),
        tuple(found),
        painter.glyphs.collapsed,
    )


_ITEM = re.compile(rf" (?:[{re.escape(UNICODE.item + PLAIN.item)}]|\d{{1,3}}[.)]) ")
"""The beginning of a list item as it is laid out."""


def _is_heading(line: Line) -> bool:
    styles = [segment.style for segment in line.strip if segment.text.strip()]
    return bool(styles) and all(style is not None and style.bold for style in styles)


def _counted(body: Sequence[Line], origin: Origin | None, painter: Painter) -> list[Line]:
    """Return the lines of a passage, with the number of items next to headings not written by the model."""
    lines = list(body)
    for at, line in enumerate(body):
        if origin in ("user", "code") and _is_heading(line):
            below = takewhile(lambda each: not _is_heading(each), body[at + 1 :])
            items = sum(_ITEM.match(each.text) is not None for each in below)
            lines[at] = _noted(line, str(items or ""), painter)
    return lines


# Bracketed source texts are painted at the right if the line leaves space. While Markdown lays out the text,
# private-use characters reserve as many cells as a source needs; the first of them encodes which source it
# is.
_FIRST, _HELD = 0xF0000, "\uf8fe"
_SIGNS = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + 0xFFFD)}{_HELD}]")
_PLACE = re.compile(f"{_SIGNS.pattern}{_HELD}*")
_FORM = re.compile(rf"(?: *(?:{SOURCES.pattern}|{MARK.pattern}))+")
_PROMPT = re.compile(r"^- (#-?\d+)(?: \((\w+)\))?: (.*)")
"""Code writes a prompt of the user with its number first, and whether it is the latest."""
_YOURS = re.compile(r"^## The user's ", re.MULTILINE)
_ENDS = " .。*_"


def _with_places(passage: str, origin: Origin | None, most: int) -> tuple[str, list[SentLine]]:
    """Reserve places in a passage for its sources, each up to a width.

    Returns:
        The passage, and its lines that have a source.
    """
    lines, rows, fenced = list[SentLine](), list[str](), False
    # Notes edited by the user are still notes.
    own = _YOURS.search(passage) is not None or any(map(_PROMPT.match, passage.split("\n")))
    prompts = origin == "user" and own
    for written in _YOURS.sub("## Your ", _SIGNS.sub("", passage)).split("\n"):
        row = _PROMPT.sub(_numbered, written) if prompts else written
        fenced ^= row.lstrip().startswith(("```", "~~~"))
        forms = [] if fenced else list((SOURCES if prompts else _FORM).finditer(row))
        if prompts:
            # Brackets in the user's own text are not a source.
            forms = [form for form in forms[-1:] if row[:2] == "- " and form.end() == len(row.rstrip())]
        text, start = "", 0
        for form in forms:
            begin, claim, start = start, row[start : form.start()].rstrip(), form.end()
            if not row[start:].strip(_ENDS):
                claim, start = claim + row[start:].rstrip(), len(row)
            whole = row[begin:start].strip().removeprefix("- ").removeprefix("* ").strip()
            inside = form[0].strip()[1:-1].replace(") (", _AND)
            text += f"{claim} {chr(_FIRST + len(lines))}{_HELD * min(cell_len(inside) + 1, most)}"
            lines.append(SentLine(claim.strip(" -*+|>").lstrip(". "), inside, "" if prompts else whole))
        # Two trailing spaces are a line break, which separates it from the next line.
        rows.append(f"{text}  " if forms and start == len(row) else text + row[start:])
    return "\n".join(rows), lines


def _numbered(prompt: re.Match[str]) -> str:
    """Move the number of a prompt to its end."""
    number, latest, text = prompt.groups()
    return f"- {text} ({number}{': latest' if latest else ''})"


def _with_forms(
    body: Sequence[Line], lines: Sequence[SentLine], painter: Painter
) -> tuple[list[tuple[Line, str]], list[SentLine]]:
    """Put the sources at their places; returns rows with the text copied after each, and the lines."""
    rows, found, began = list[tuple[Line, str]](), list[SentLine](), 0
    for written in body:
        line = written
        began = len(rows) if line.join == "\n" else began
        suffix, taken = "", False
        while place := _PLACE.search(line.text):
            # The rest of a place broken by a narrow column stays blank.
            sent_line = lines[ord(place[0][0]) - _FIRST] if place[0][0] != _HELD else SentLine("", "")
            tone = Tone.WARNING if sent_line.mark == NOT_IN_LOG else Tone.DIM
            if line.text[place.end() :] or not sent_line.form:
                line = _filled(line, place, f"({sent_line.form})" if sent_line.form else "", tone, painter)
            else:
                note, suffix = painter.fitted(sent_line.note, len(place[0])), f" ({sent_line.form})"
                line = _cropped(line, line.text[: place.start()].rstrip(), painter)
                if rows and not line.text and line.join != "\n":
                    # Only the source did not fit in the previous row, as text is narrower than the page.
                    before = _noted(rows[-1][0], note, painter, tone)
                    taken = before is not rows[-1][0]
                    rows[-1] = before, rows[-1][1] + suffix * taken
                line = _noted(line, note, painter, tone, gap=0)
            if sent_line.form:
                found.append(replace(sent_line, first=began, last=max(began, len(rows) - taken)))
        if not taken:
            rows.append((line, suffix))
    return rows, found


def _filled(line: Line, place: re.Match[str], form: str, tone: Tone, painter: Painter) -> Line:
    """Return a line with the source at its place and more text after it."""
    shown = padded(painter.fitted(form, len(place[0])), len(place[0]))
    start = GUTTER + cell_len(line.text[: place.start()])
    after = line.strip.crop(start + len(place[0]))
    parts = [line.strip.crop(0, start), Strip([painter.styled(shown, tone)]), after]
    text = line.text[: place.start()] + shown + line.text[place.end() :]
    return replace(line, strip=Strip.join(parts), text=text)


def _cropped(line: Line, text: str, painter: Painter) -> Line:
    strip = line.strip.crop(0, GUTTER + cell_len(text))
    width = line.strip.cell_length
    return replace(line, strip=strip.extend_cell_length(width, painter.palette.style(Tone.TEXT)), text=text)


def _noted(line: Line, note: str, painter: Painter, tone: Tone = Tone.FAINT, gap: int = 2) -> Line:
    """Return a line with a note at its right, if there is space for it."""
    note = painter.spelled(note).replace("×", painter.glyphs.excluded)
    start = GUTTER + painter.width - cell_len(note)
    written = cell_len(line.strip.text.rstrip())
    if not note or start < max(GUTTER, written) + gap * (written > GUTTER):
        return line
    parts = [
        line.strip.crop(0, start),
        Strip([painter.styled(note, tone)]),
        line.strip.crop(GUTTER + painter.width),
    ]
    return replace(line, strip=Strip.join(parts))
