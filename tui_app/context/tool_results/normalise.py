"""Stage 0, normalise: limit the size of tool results and tool errors as they arrive."""

from collections.abc import Callable, Sequence
from functools import partial

from tui_app.context.message_marks import mark_of
from tui_app.context.policy import NormaliseLimits
from tui_app.context.tool_results.cuts import byte_count, count_lines, head_and_tail, sha256_of
from tui_app.context.tool_results.results import ResultForm, ResultPart, file_text, rewrite_results, source_of
from tui_app.context.tool_results.stage_scope import paired, recalled
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.context.views.rewrites import Rewrite, SpillFile
from tui_app.context.views.view import Item
from tui_app.tool_specs import GREP, READ_FILE

_SPILLED = "[Output kept out of the conversation"
_CUT = "[Output cut"
_SLACK = 80
"""Maximum characters of the numbers and line breaks around kept text beyond those around nothing."""
_ReadsOn = Callable[[int, int], str]
"""Describes how the model reads on after a line and so many characters of the next."""
_ONE_PAGE = NormaliseLimits()
"""Limits of a page that was retrieved, whatever limits a policy has."""


def normalise(items: Sequence[Item], limits: NormaliseLimits, ways: WaysBack) -> Rewrite | None:
    """Limit the tool results that no stage has processed so far.

    A result retrieved in the current turn is unchanged for that turn if it is at most one page, so that a
    model reading on in a shortened result does not get it shortened again.

    Args:
        items: The view, or just the new messages, with the response that contains their calls.
        limits: Maximum size of a result, including the notice.
        ways: How the model retrieves what is left out.

    Returns:
        The smaller forms, or None if every result is within the limits.
    """
    fetched = recalled(items, paired(items))

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        if mark_of(part) or (id(part) in fetched and _is_within(text, _ONE_PAGE)):
            return None
        if len(text) > limits.spill_chars:
            file = SpillFile(name=ways.new(*source_of(part)), text=file_text(part, text))
            notice = (
                f"{_SPILLED}: {len(text):,} characters, {count_lines(file.text):,} lines. "
                f"Whole in {file.name} (sha256 {sha256_of(file.text)}); "
                f"read it in parts with {READ_FILE.name} or {GREP.name}{ways.recall(item.key)}]"
            )
            return ResultForm(text=notice, note=file.name, file=file)
        cut = _cut(text, limits, partial(ways.reads_on, item.key))
        return ResultForm(text=cut, note=f"cut from {len(text):,} characters") if cut is not None else None

    return rewrite_results("normalise", items, decide)


def _is_within(text: str, limits: NormaliseLimits) -> bool:
    return (
        len(text) <= limits.chars
        and count_lines(text) <= limits.lines
        and (4 * len(text) <= limits.bytes or byte_count(text) <= limits.bytes)
    )


def _cut(text: str, limits: NormaliseLimits, on: _ReadsOn) -> str | None:
    """Return the text shortened to the limits; None if it already fits."""
    if _is_within(text, limits):
        return None
    both = limits.mode == "head_tail"
    frame = _framed(text, "", "", on, both=both)
    head, tail = head_and_tail(
        text,
        lines=max(1, limits.lines - (2 if both else 1)),
        chars=_room(limits.chars, len(frame)),
        size=_room(limits.bytes, byte_count(frame)),
        both=both,
    )
    return _framed(text, head, tail, on, both=both)


def _room(limit: int, frame: int) -> int:
    """Return what a limit leaves for the text itself; half of a limit smaller than the notice."""
    return max(limit - frame - _SLACK, limit // 2)


def _framed(text: str, head: str, tail: str, on: _ReadsOn, *, both: bool) -> str:
    """Return the kept text, with a mark in the gap and a notice at the end on how to read the rest."""
    lines, chars, size = count_lines(text), len(text), byte_count(text)
    # A line that is cut in the middle is in both pieces.
    kept_lines = min(lines, count_lines(head) + count_lines(tail))
    kept_chars = len(head) + len(tail)
    way_back = on(head.count("\n") + 1, len(head) - head.rfind("\n") - 1)
    notice = (
        f"{_CUT}: kept {kept_lines:,} of {lines:,} lines, {kept_chars:,} of {chars:,} characters, "
        f"{byte_count(head) + byte_count(tail):,} of {size:,} bytes{way_back}]"
    )
    if not both:
        return f"{_ended(head)}{notice}"
    mark = f"[… {max(0, lines - kept_lines):,} lines, {chars - kept_chars:,} characters left out here …]"
    return f"{_ended(head)}{mark}\n{_ended(tail)}{notice}"


def _ended(piece: str) -> str:
    return piece if not piece or piece.endswith("\n") else f"{piece}\n"
