"""Reads of files that were read or written again, and old thinking."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)

from tui_app.context.ledger.tools import FileUse, operations, target_path
from tui_app.context.message_marks import mark_of
from tui_app.context.tool_results.file_calls import comparable, file_call
from tui_app.context.tool_results.results import (
    ResultForm,
    ResultPart,
    in_view_order,
    length_of,
    result_text,
    rewrite_results,
)
from tui_app.context.tool_results.stage_scope import newest_answers, paired, recalled, successes, turn_start
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.context.views.rewrites import Change, Rewrite
from tui_app.context.views.view import Item
from tui_app.records import frozen

_SUPERSEDED = "[Superseded: "

_NUMBERED = re.compile(r"[ ]{0,12}(\d{1,9})(?:\t|→|: )")
"""The number before a line of a file."""

_COMPARED = 64
"""The newest whole reads of a file with which an older one is compared."""

_EDGE_LINES = 3
"""Lines at either end of a result that are searched for the first and the last number."""


@frozen
class _Read:
    """A successful call that read a file."""

    index: int
    """Index of the message with the call."""
    result: ToolReturnPart
    args: Mapping[str, Any]
    """Without the path."""
    lines: tuple[int, int] | None
    """The first and the last line that it shows; None if they have no numbers."""

    def covers(self, earlier: "_Read") -> bool:
        """Whether this read shows all lines of an earlier read of the same file."""
        mine, other = self.lines, earlier.lines
        if self.args == earlier.args or mine is None or other is None:
            return not self.args or self.args == earlier.args
        return mine[0] <= other[0] and other[1] <= mine[1]


def superseded(items: Sequence[Item], ways: WaysBack) -> Rewrite | None:
    """Remove superseded reads and thinking of earlier turns.

    The newest read of a file always stays, as does what the model has not responded to yet and what it
    retrieved in the current turn. Thinking is removed without a note: in a response the model would imitate
    any placeholder.

    Args:
        items: The view.
        ways: How the model retrieves what is left out.

    Returns:
        The smaller forms, or None if everything is still of use.
    """
    found = paired(items)
    kept = recalled(items, found) | newest_answers(items, found)
    reads, writes = _reads_and_writes(items)
    left: dict[int, str] = {}
    for path, (*older, newest) in reads.items():
        # What a shortened read showed is no longer visible, so it supersedes no other.
        whole = [] if mark_of(newest.result) else [newest]
        written = writes.get(path, -1)
        for read in reversed(older):
            marked = mark_of(read.result)
            if id(read.result) not in kept and "superseded" not in marked.get("stages", ()):
                if any(newer.covers(read) for newer in whole[:_COMPARED]):
                    left[id(read.result)] = f"{path} was read again"
                elif written > read.index:
                    left[id(read.result)] = f"{path} was written anew"
            if not marked:
                whole.append(read)

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        if (why := left.get(id(part))) is None or text.startswith(_SUPERSEDED):
            return None
        notice = f"{_SUPERSEDED}{why} below; {length_of(part, text):,} characters"
        return ResultForm(text=f"{notice}{ways.recall(item.key)}]", note=why)

    rewrite = rewrite_results("superseded", items, decide)
    changes = in_view_order(items, (*_thoughts(items), *(rewrite.changes if rewrite else ())))
    return Rewrite(stage="superseded", changes=changes) if changes else None


def _reads_and_writes(items: Sequence[Item]) -> tuple[dict[str, list[_Read]], dict[str, int]]:
    """Return the reads of each file in order, and the index of the last call that wrote the whole file."""
    reads: dict[str, list[_Read]] = {}
    writes: dict[str, int] = {}
    for place, part, result in sorted(successes(items), key=itemgetter(0)):
        if (call := file_call(part)) is not None:
            whole = bool(call.bodies) and all(body.kind == "file" for body in call.bodies)
            writes |= dict.fromkeys(call.targets if whole else (), place)
            continue
        args = part.args_as_dict()
        text, path, used = result_text(result), target_path(args), operations(part.tool_name, args)
        if text is not None and path and any(isinstance(one, FileUse) and one.verb == "read" for one in used):
            rest = {name: value for name, value in args.items() if target_path({name: value}) == ""}
            read = _Read(place, result, rest, _numbered(text))
            reads.setdefault(comparable(path), []).append(read)
    return reads, writes


def _numbered(text: str) -> tuple[int, int] | None:
    """Return the first and the last line number in a result."""
    lines = text.split("\n", _EDGE_LINES)[:_EDGE_LINES], text.rsplit("\n", _EDGE_LINES)[:0:-1] or [text]
    first, last = (next(filter(None, map(_NUMBERED.match, edge)), None) for edge in lines)
    return None if first is None or last is None else (int(first[1]), int(last[1]))


def _thoughts(items: Sequence[Item]) -> Iterator[Change]:
    """Yield responses of earlier turns without their thinking."""
    for item in items[: turn_start(items)]:
        message = item.message
        if not isinstance(message, ModelResponse):
            continue
        thoughts = [part for part in message.parts if isinstance(part, ThinkingPart)]
        thinks = any(part.content or part.signature for part in thoughts)
        if thinks and len(thoughts) < len(message.parts):
            parts = [_without_thinking(part) for part in message.parts]
            yield Change(
                key=item.key, message=replace(message, parts=parts), note="thinking of an earlier turn"
            )


def _without_thinking(part: ModelResponsePart) -> ModelResponsePart:
    """Empty a thinking part, which is then not sent; remove ids that the server only knows after thinking."""
    if isinstance(part, ThinkingPart):
        return ThinkingPart("")
    return replace(part, id=None) if isinstance(part, TextPart | ToolCallPart) and part.id else part
