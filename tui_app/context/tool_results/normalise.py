"""Stage 0, normalise: limit the size of tool results and tool errors as they arrive. Stage 4, trim."""

import re
from collections.abc import Sequence
from dataclasses import replace
from string import Formatter

from tui_app.context.message_marks import mark_of
from tui_app.context.policy import NormaliseLimits, Trim
from tui_app.context.tool_results.results import (
    ResultForm,
    ResultPart,
    SpillNames,
    byte_count,
    count_lines,
    file_text,
    head_and_tail,
    length_of,
    paired,
    reads_on,
    recall,
    recalled,
    rewrite_results,
    sha256_of,
    source_of,
    turn_start,
    unsettled,
)
from tui_app.context.view import Item, Rewrite, SpillFile, last_messages
from tui_app.tool_specs import GREP, READ_FILE

_SPILLED = "[Output kept out of the conversation"
_CUT = "[Output cut"
_SLACK = 80
"""Characters that the numbers and line breaks around what is kept may take beyond those around nothing."""
_ONE_PAGE = NormaliseLimits()
"""What is brought back in one piece keeps to these limits, whatever limits a policy has."""


def normalise(
    items: Sequence[Item], limits: NormaliseLimits, names: SpillNames, *, handles: bool = True
) -> Rewrite | None:
    """Limit the tool results that no stage has looked at so far.

    What was brought back in the present turn stays for that turn, as far as it is one page: whoever reads on
    in a result that was cut must not have it cut again.

    Args:
        items: The view, or just the messages that are new, with the answer that their calls stand in.
        limits: How large a result may be; what is kept fits them together with the notice.
        names: Gives names to the files that hold what is too long to stay at all.
        handles: Whether the model has a tool that brings a message back by its handle.

    Returns:
        The smaller forms, or None when every result is within the limits.
    """
    stays = recalled(items, paired(items))

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        if mark_of(part) or (id(part) in stays and _is_within(text, _ONE_PAGE)):
            return None
        if len(text) > limits.spill_chars:
            file = SpillFile(name=names.new(*source_of(part)), text=file_text(part, text))
            notice = (
                f"{_SPILLED}: {len(text):,} characters, {count_lines(file.text):,} lines. "
                f"Whole in {file.name} (sha256 {sha256_of(file.text)}); "
                f"read it in parts with {READ_FILE.name} or {GREP.name}{recall(item.key, handles=handles)}]"
            )
            return ResultForm(text=notice, note=file.name, file=file)
        cut = _cut(text, limits, item.key if handles else None)
        return ResultForm(text=cut, note=f"cut from {len(text):,} characters") if cut is not None else None

    return rewrite_results("normalise", items, decide)


def _is_within(text: str, limits: NormaliseLimits) -> bool:
    return (
        len(text) <= limits.chars
        and count_lines(text) <= limits.lines
        and (4 * len(text) <= limits.bytes or byte_count(text) <= limits.bytes)
    )


def _cut(text: str, limits: NormaliseLimits, key: int | None) -> str | None:
    """The text within the limits; None when it already is."""
    if _is_within(text, limits):
        return None
    both = limits.mode == "head_tail"
    frame = _framed(text, "", "", key, both=both)
    head, tail = head_and_tail(
        text,
        lines=max(1, limits.lines - (2 if both else 1)),
        chars=_room(limits.chars, len(frame)),
        size=_room(limits.bytes, byte_count(frame)),
        both=both,
    )
    return _framed(text, head, tail, key, both=both)


def _room(limit: int, frame: int) -> int:
    """What a limit leaves for the text itself; of a limit smaller than the notice, half."""
    return max(limit - frame - _SLACK, limit // 2)


def _framed(text: str, head: str, tail: str, key: int | None, *, both: bool) -> str:
    """What is kept, with a mark where the rest was and a notice at the end, which tells how to read that."""
    lines, chars, size = count_lines(text), len(text), byte_count(text)
    # A line that is cut in the middle is in both pieces.
    kept_lines = min(lines, count_lines(head) + count_lines(tail))
    kept_chars = len(head) + len(tail)
    on = "" if key is None else reads_on(key, head.count("\n") + 1, len(head) - head.rfind("\n") - 1)
    way_back = f"; {on} reads what was left out" if on else ""
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


# Stage 4, trim: of a long tool result in an earlier turn the head stays, and how long it was.


def trim(items: Sequence[Item], settings: Trim) -> Rewrite | None:
    """Cut long tool results of the earlier conversation; structured ones are measured and cut as JSON.

    Where the present turn is left alone, so are failures that nothing has solved yet: what went wrong stands
    at the end of most of them, and the end is what trimming takes away.

    Args:
        items: The view.
        settings: Sizes.

    Returns:
        The smaller forms, or None when there is nothing to cut.
    """
    if not settings.chars:
        return None
    keep = settings.keep_messages
    end = turn_start(items) if keep is None else last_messages(items, keep)
    pieces = [
        re.escape(literal) + (r"[\d,._ ]{1,30}" if name is not None else "")
        for literal, name, _, _ in Formatter().parse(settings.marker)
    ]
    trimmed = re.compile("".join(pieces))  # what stands behind the head of a result that was trimmed before

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        if len(text) <= settings.chars or trimmed.fullmatch(text, settings.chars):
            return None
        length = length_of(part, text)
        marker = settings.marker.format(length=length, key=item.key)
        return ResultForm(text=text[: settings.chars] + marker, note=f"trimmed from {length:,} characters")

    rewrite = rewrite_results("trim", items[:end], decide)
    if rewrite is None or keep is not None:
        return rewrite
    spared = unsettled(items)
    changes = tuple(change for change in rewrite.changes if change.key not in spared)
    return replace(rewrite, changes=changes) if changes else None
