"""The words of a question about a tool. What would be done is shown as it is: nothing in it can hide."""

import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from tui_app.ui.glyphs import Glyphs
from tui_app.ui.safe_text import clean, cut_cells, one_line

if TYPE_CHECKING:
    from tui_app.context.events import ApprovalRequested

MOST_LINES = 2_000
"""Lines painted of one question; more are counted."""
_LINE_CHARS = 4_000


def visible(text: str) -> str:
    r"""A line in which every sign that a terminal would hide or act on is written out, as ``\x1b``.

    Removing it, as elsewhere, would let a command look like another one.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(sign if _is_shown(sign) else _written_out(sign) for sign in text)


def _is_shown(sign: str) -> bool:
    if sign == " ":
        return True
    # Some letters and marks have no shape of their own either, or change the width of others.
    visible = sign.isprintable() and not unicodedata.category(sign).startswith(("C", "Z"))
    return visible and clean(sign) == sign


def _written_out(sign: str) -> str:
    if sign == "\t":
        return "    "
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")


def question_title(asked: "ApprovalRequested", glyphs: Glyphs) -> Content:
    """What is asked, in one line: ``Allow edit_file src/app.py?  +3 -1``."""
    subject = f" {cut_cells(visible(asked.subject), 120)}" if asked.kind in ("file", "address") else ""
    note = f"  {one_line(asked.note, 60)}" if asked.note else ""
    more = f" {glyphs.separator} {asked.waiting} more after this" if asked.waiting else ""
    return Content.assemble(
        ("Allow ", "bold"),
        (f"{one_line(asked.tool, 60)}{subject}?", "bold"),
        (f"{note}{more}", "$text-muted"),
    )


def question_detail(asked: "ApprovalRequested") -> Content:
    """What would be done, whole: the diff, the command, the arguments."""
    lines = list(_lines(asked))
    left = len(lines) - MOST_LINES
    shown = lines[:MOST_LINES]
    if left > 0:
        shown.append(Content.styled(f"{left:,} more lines are not shown", "$text-warning"))
    return Content("\n").join(shown)


def _lines(asked: "ApprovalRequested") -> Iterator[Content]:
    if asked.kind == "file":
        yield from (_diff_line(line) for line in asked.detail.split("\n"))
        return
    sign = "$ " if asked.kind == "command" else ""
    for number, line in enumerate(asked.subject.split("\n")):
        yield Content.styled(f"{'  ' if number and sign else sign}{_bounded(line)}", "bold")
    if asked.detail:
        yield Content.styled(_bounded(asked.detail), "$text-muted")


def _diff_line(line: str) -> Content:
    text = _bounded(line)
    if line.startswith(("+++", "---", "@@", "[")):
        return Content.styled(text, "$text-muted")
    if line.startswith("+"):
        return Content.styled(text, "$text-success")
    if line.startswith("-"):
        return Content.styled(text, "$text-error")
    return Content(text)


def _bounded(line: str) -> str:
    cut = f" [{len(line) - _LINE_CHARS:,} more characters]" if len(line) > _LINE_CHARS else ""
    return visible(line[:_LINE_CHARS]) + cut
