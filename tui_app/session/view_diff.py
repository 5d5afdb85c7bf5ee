"""What a compaction did to the agent view, message by message: a fold of the log up to it."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from tui_app.context.events import CompactionAcknowledged
from tui_app.session.agent_view import AgentView
from tui_app.session.heads import Head


@dataclass(frozen=True, slots=True)
class Difference:
    """One message of the view before or after."""

    sign: Literal["-", "+", " "]
    """Whether it left, came, or stayed."""
    head: Head


def compaction_diff(heads: Iterable[Head], compaction: int) -> list[Difference]:
    """Compare the view in front of a compaction with the one behind it.

    Args:
        heads: The log, in order; what comes after the compaction is not read.
        compaction: Its log number.

    Returns:
        Every message of both views, in their order; what left stands before what came in its place.
    """
    view, before = AgentView(), list[Head]()
    for head in heads:
        if head.seq == compaction:
            before = view.visible()
        elif head.seq > compaction and head.type != CompactionAcknowledged.TYPE:
            break
        view.apply(head)
    after = view.visible()
    matcher = SequenceMatcher(None, _keys(before), _keys(after), autojunk=False)
    lines: list[Difference] = []
    for tag, start, stop, first, last in matcher.get_opcodes():
        if tag == "equal":
            lines.extend(Difference(" ", head) for head in before[start:stop])
            continue
        lines.extend(Difference("-", head) for head in before[start:stop])
        lines.extend(Difference("+", head) for head in after[first:last])
    return lines


def _keys(heads: Iterable[Head]) -> list[tuple[int, tuple[int, int]]]:
    """What tells one form of a message from every other."""
    return [(head.seq, head.form) for head in heads]
