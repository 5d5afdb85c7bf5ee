"""The rows of an approval: what a tool would do, with nothing hidden."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from rich.cells import cell_len
from textual.content import Content

from tui_app.text import MOST_REMARKS, lookalikes, visible
from tui_app.tool_specs import FILE_LOOKERS
from tui_app.ui.words.text import count, cut_cells, one_line

if TYPE_CHECKING:
    from tui_app.events import ApprovalRequested

RowKind = Literal["plain", "strong", "added", "removed", "faint", "remark"]

KINDS: tuple[RowKind, ...] = get_args(RowKind)

MOST_BLANK = 3
"""Maximum number of consecutive blank rows shown; more are replaced by their count."""

SPACES = re.compile(r" {41,}")

_FEWEST = 15
"""Cells of the title reserved for the number of rows below."""

MOST_RULE = 48
"""Maximum width in cells of a rule among the keys."""

_HEADER = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")

_DIFF_KINDS: Mapping[str, RowKind] = {
    "+": "added",
    "-": "removed",
    "[": "remark",
    "\\": "faint",
    "@": "faint",
}

_THINGS = {"file": "edit", "command": "command", "address": "request", "other": "call"}


class QuestionRow(NamedTuple):
    """One line of what needs approval."""

    text: str
    """The original text."""
    kind: RowKind = "plain"
    number: int = 0
    """Line number in the file; 0 if there is none."""
    sign: str = ""
    label: int = 0
    """Number of characters at its beginning that are a label, in a row of additional information."""


def _labelled(label: str, text: str) -> QuestionRow:
    return QuestionRow(f"{label}   {text}", "faint", label=len(label))


def question_title(asked: "ApprovalRequested", width: int, below: int = 0) -> tuple[Content, bool]:
    """Return the title line, ``Allow this edit?   src/app.py   +3 -1``, and whether its subject is complete.

    Args:
        asked: The question.
        width: Available cells.
        below: Number of rows that are not visible yet.
    """
    thing = "look" if asked.kind == "file" and asked.tool in FILE_LOOKERS else _THINGS[asked.kind]
    title = f"Allow this {thing}?"
    subject = visible(asked.subject if asked.kind in ("file", "address") else "")
    subject = subject or ("" if asked.kind == "command" else visible(asked.tool))
    rows = f"{count(below, 'more row')} below" if below else ""
    waits = f"{asked.waiting:,} more wait{'s' if asked.waiting == 1 else ''}" if asked.waiting else ""
    right, room = " · ".join(filter(None, (rows, waits))), width - len(title) - 3
    if len(right) > min(room, max(_FEWEST, room - cell_len(subject) - 3)):
        right = f"{below:,} below" if below else ""
    # Independent of the rows below: a subject that appears and disappears would move what is being read.
    whole = cell_len(subject) <= room - _FEWEST
    room -= len(right) + 3 if right else 0
    shown = cut_cells(subject, room)
    room -= cell_len(shown) + 3 if shown else 0
    # In a few cells an incomplete note would be meaningless.
    note = one_line(asked.note, room) if room > 8 or cell_len(asked.note) <= room else ""
    left = Content.assemble(
        (title, "bold $text-warning"), f"   {shown}" if shown else "", "   " if note else ""
    )
    for part in re.split(r"(?<!\S)([+-]\d[\d,]*)", note):
        # The numbers of added and removed lines are coloured.
        sign = part[:1] if part[1:2].isdigit() else ""
        left += Content.styled(part, {"+": "$text-success", "-": "$text-error"}.get(sign, "$text-muted"))
    gap = " " * max(0, width - left.cell_length - len(right))
    return Content.assemble(left, gap, (right, "bold $text-warning" if below else "$text-muted")), whole


def question_rows(asked: "ApprovalRequested", *, named: bool = True) -> Iterator[QuestionRow]:
    """Yield everything a tool would do: remarks, the diff, command or arguments, and where it comes from.

    Args:
        asked: The question.
        named: Whether the title has the complete name of a file, an address or a tool.
    """
    yield from _subject_rows(asked, named=named)
    if asked.repeats:
        yield QuestionRow("")
        yield _labelled("done before", asked.repeats)
    if asked.origin:
        yield QuestionRow("")
        yield _labelled("not from you", asked.origin)
        yield _labelled(asked.reaches, "no rule covers it")


def _subject_rows(asked: "ApprovalRequested", *, named: bool) -> Iterator[QuestionRow]:
    if asked.kind != "other":
        remarks = tuple(islice(dict.fromkeys(lookalikes(asked.subject)), MOST_REMARKS + 1))
        yield from (QuestionRow(f"Look closely: {each}.", "remark") for each in remarks[:MOST_REMARKS])
        if len(remarks) > MOST_REMARKS:
            yield QuestionRow("Look closely: there are more like these.", "remark")
    if asked.kind != "command" and not named:
        yield QuestionRow(asked.tool if asked.kind == "other" else asked.subject, "strong")
    if asked.kind == "file":
        yield from without_blanks(diff_rows(asked.detail.split("\n")))
        return
    if asked.kind == "command" or (asked.kind == "other" and asked.subject):
        sign = "$" if asked.kind == "command" else ""
        lines = enumerate(asked.subject.split("\n"))
        yield from without_blanks(
            QuestionRow(line, "strong", sign=sign and (" " if number else sign)) for number, line in lines
        )
    if asked.detail:
        yield from without_blanks(QuestionRow(line, "faint") for line in asked.detail.split("\n"))


def diff_rows(lines: Sequence[str]) -> Iterator[QuestionRow]:
    if len(lines) > 1 and lines[0].startswith("--- ") and lines[1].startswith("+++ "):
        lines = lines[2:]
    cut = _shared_indent(lines)
    old = new = 0
    for line in lines:
        kind = _DIFF_KINDS.get(line[:1], "plain")
        if header := _HEADER.match(line):
            if old or new:
                yield QuestionRow("…", "faint")
            old, new = (int(each) for each in header.groups())
        elif not (old or new) or kind in ("remark", "faint"):
            yield QuestionRow(line.strip("[]") if kind == "remark" else line, kind)
        else:
            yield QuestionRow(line[1:].removeprefix(cut), kind, old if kind == "removed" else new, line[:1])
            old += kind != "added"
            new += kind != "removed"


def _shared_indent(lines: Sequence[str]) -> str:
    """Return the indentation shared by all lines of a diff, except two columns that show there is some."""
    first = next((at for at, line in enumerate(lines) if _HEADER.match(line)), len(lines))
    bodies = [line[1:] for line in lines[first:] if line[:1] in ("+", "-", " ") and line[1:].strip()]
    least = min((body[: len(body) - len(body.lstrip(" \t"))] for body in bodies), key=len, default="")
    return least[2:] if all(body.startswith(least) for body in bodies) else ""


def without_blanks(rows: Iterable[QuestionRow]) -> Iterator[QuestionRow]:
    """Replace many consecutive blank rows of a kind by one."""
    # Spaces and tabs are the only blank characters shown as such; others are escaped.
    for (blank, kind), group in groupby(rows, lambda row: (not row.text.strip(" \t"), row.kind)):
        if not blank:
            yield from group
            continue
        alike = tuple(group)
        if len(alike) > MOST_BLANK:
            tint: RowKind = kind if kind in ("added", "removed") else "faint"
            yield alike[0]._replace(text=f"[{len(alike):,} blank lines]", kind=tint)
        else:
            yield from alike
