"""Stage 0, normalise: no tool result or tool error enters the conversation in any size it likes."""

from collections.abc import Sequence

from tui_app.context.items import Item
from tui_app.context.stages.cutting import Kept, byte_count, count_lines, cut_bytes, cut_chars, cut_lines
from tui_app.context.stages.marks import mark_of
from tui_app.context.stages.results import (
    Form,
    ResultPart,
    file_text,
    has_foreign_metadata,
    recall,
    rewrite_results,
)
from tui_app.context.stages.rewrite import Rewrite, SpillFile
from tui_app.context.stages.settings import NormaliseLimits
from tui_app.context.stages.spill import SpillNames, sha256_of

_SPILLED = "[Output kept out of the conversation"
_CUT = "[Output cut"
_NOTICE_CHARS = 500
_SLACK = 48
"""Characters that the numbers and line breaks around what is kept may take beyond those around nothing."""


def normalise(
    items: Sequence[Item], limits: NormaliseLimits, names: SpillNames, *, handles: bool = True
) -> Rewrite | None:
    """Limit the tool results that no stage has looked at so far.

    Args:
        items: The view, or just the messages that are new.
        limits: How large a result may be; what is kept fits them together with the notice.
        names: Gives names to the files that hold what is too long to stay at all.
        handles: Whether the model has a tool that brings a message back by its handle.

    Returns:
        The smaller forms, or None when every result is within the limits.
    """

    def decide(item: Item, part: ResultPart, text: str) -> Form | None:
        if _is_done(part, text):
            return None
        if len(text) > limits.spill_chars:
            return _spilled(item, part, text, names, handles=handles)
        cut = _cut(text, limits, recall(item.key, handles=handles))
        return Form(text=cut, note=f"cut from {len(text):,} characters") if cut is not None else None

    return rewrite_results("normalise", items, decide)


def _is_done(part: ResultPart, text: str) -> bool:
    if not has_foreign_metadata(part):
        return bool(mark_of(part))
    return text.startswith(_SPILLED) or f"\n{_CUT}" in text[-_NOTICE_CHARS:]


def _spilled(item: Item, part: ResultPart, text: str, names: SpillNames, *, handles: bool) -> Form:
    file = SpillFile(name=names.new(part.tool_name or "", part.tool_call_id), text=file_text(part, text))
    notice = (
        f"{_SPILLED}: {len(text):,} characters, {count_lines(file.text):,} lines. Whole in {file.name} "
        f"(sha256 {sha256_of(file.text)}); read it in parts with read_file or grep"
        f"{recall(item.key, handles=handles)}]"
    )
    return Form(text=notice, note=file.name, file=file)


def _cut(text: str, limits: NormaliseLimits, way_back: str) -> str | None:
    """The text within the limits; None when it already is."""
    if (
        len(text) <= limits.chars
        and count_lines(text) <= limits.lines
        and (4 * len(text) <= limits.bytes or byte_count(text) <= limits.bytes)
    ):
        return None
    both = limits.mode == "head_tail"
    frame = _framed(text, Kept(0, 0), way_back, both=both)
    kept = cut_lines(text, max(1, limits.lines - (2 if both else 1)), both=both)
    kept = cut_chars(text, kept, _room(limits.chars, len(frame)))
    kept = cut_bytes(text, kept, _room(limits.bytes, byte_count(frame)))
    return _framed(text, kept, way_back, both=both)


def _room(limit: int, frame: int) -> int:
    """What a limit leaves for the text itself; of a limit smaller than the notice, half."""
    return max(limit - frame - _SLACK, limit // 2)


def _framed(text: str, kept: Kept, way_back: str, *, both: bool) -> str:
    """What is kept, with a mark where the rest was and a notice at the end."""
    head, tail = kept.pieces(text)
    lines, chars, size = count_lines(text), len(text), byte_count(text)
    # A line that is cut in the middle is in both pieces.
    kept_lines = min(lines, count_lines(head) + count_lines(tail))
    kept_chars = len(head) + len(tail)
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
