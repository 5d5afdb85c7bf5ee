"""The words of a question about a tool. What would be done is shown as it is: nothing in it can hide."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from tui_app.context.visible_text import visible
from tui_app.ui.format import count
from tui_app.ui.glyphs import Glyphs
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import cut_cells, one_line

if TYPE_CHECKING:
    from tui_app.events import ApprovalRequested

MOST_LINES = 2_000
"""Lines painted of one question; more are counted."""
_LINE_CHARS = 4_000


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


def question_detail(asked: "ApprovalRequested", *, bare: bool = False) -> Content:
    """What would be done, whole: the diff, the command, the arguments.

    Args:
        asked: The question.
        bare: Whether to leave out the two lines of a diff that only name the file.
    """
    lines = list(_lines(asked))
    if bare and asked.kind == "file" and _is_named(asked.detail):
        lines = lines[2:]
    left = len(lines) - MOST_LINES
    shown = lines[:MOST_LINES]
    if left > 0:
        shown.append(
            Content.styled(
                f"{count(left, 'more line')} {'is' if left == 1 else 'are'} not shown", "$text-warning"
            )
        )
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


def _is_named(diff: str) -> bool:
    """Whether a diff begins with the names of its file, before and after."""
    first, _, rest = diff.partition("\n")
    return first.startswith("--- ") and rest.startswith("+++ ") and "\n" in rest


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


def question_hints(
    asked: "ApprovalRequested", *, typing: bool, editing: bool, focused: bool, short: bool = False
) -> tuple[Hint, ...]:
    """The keys that answer, as things are.

    Args:
        asked: The question.
        typing: Whether a reason or a rule is being written.
        editing: Whether it is a rule.
        focused: Whether letters answer.
        short: Whether little is seen of what would be done: how to see the rest comes first then.
    """
    if typing:
        return (Hint("enter", "allow" if editing else "say no", 0), Hint("esc", "back", 1, "back"))
    if not focused:
        return (Hint("f12", "answer", 0, "answer"),)
    always = (
        Hint("a", "session" if short else "from now on", 1, "always"),
        Hint("e", "edit the rule", 3, "edit"),
    )
    return (
        Hint("y", "once", 0, "once"),
        *(always if asked.pattern else ()),
        Hint("n", "no", 0, "refuse"),
        Hint("pgdn", "more", 0) if short else Hint("up/down", "scroll", 4),
        Hint("esc", "no, and stop", 2, "back"),
    )
