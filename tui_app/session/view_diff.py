"""What a compaction did to the agent view, message by message: a fold of the log up to it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal

from tui_app.events import CompactionAcknowledged, ToolCall, ToolResult
from tui_app.session.agent_view import AgentView
from tui_app.session.event_heads import Head


@dataclass(frozen=True, slots=True)
class Difference:
    """One message of the view before or after."""

    sign: Literal["-", "+", " "]
    """Whether it left, came, or stayed."""
    head: Head
    title: str = ""
    """What it says, and which tool it calls or answers on what; empty where it says nothing."""
    full: int = 0
    """Tokens it had when it was written; a stage may have made it smaller since."""


@dataclass(slots=True)
class _Log:
    """What the messages of a view do not say of themselves."""

    calls: dict[str, str] = field(default_factory=dict)
    """Each tool call with what it is called on, by its id."""
    sizes: dict[int, int] = field(default_factory=dict)
    """Tokens of each event as it was written, by its number."""

    def note(self, head: Head) -> None:
        if head.type == ToolCall.TYPE:
            self.calls.update(dict.fromkeys(head.ids, head.title))
        self.sizes[head.seq] = sum(head.tokens.values())

    def line(self, sign: Literal["-", "+", " "], head: Head) -> Difference:
        full = self.sizes.get(head.seq, 0)
        return Difference(sign, head, title_of(head, self.calls), full)


def title_of(head: Head, calls: Mapping[str, str]) -> str:
    """What a message says, in one line.

    Args:
        head: The message.
        calls: What each tool call is called on, by its id.
    """
    called = ", ".join(calls[each] for each in head.ids if each in calls)
    if head.type == ToolResult.TYPE or not called:
        return " · ".join(filter(None, (called, head.title)))
    return f"{head.title} (calls {called})" if head.title else f"calls {called}"


def compaction_diff(heads: Iterable[Head], compaction: int) -> list[Difference]:
    """Compare the view in front of a compaction with the one behind it.

    Args:
        heads: The log, in order; what comes after the compaction is not read.
        compaction: Its log number.

    Returns:
        Every message of both views, in their order; what left stands before what came in its place.
    """
    view, before, log = AgentView(), list[Head](), _Log()
    for head in heads:
        if head.seq == compaction:
            before = view.visible()
        elif head.seq > compaction and head.type != CompactionAcknowledged.TYPE:
            break
        log.note(head)
        view.apply(head)
    after = view.visible()
    matcher = SequenceMatcher(None, _keys(before), _keys(after), autojunk=False)
    lines: list[Difference] = []
    for tag, start, stop, first, last in matcher.get_opcodes():
        if tag == "equal":
            lines.extend(log.line(" ", head) for head in before[start:stop])
            continue
        lines.extend(log.line("-", head) for head in before[start:stop])
        lines.extend(log.line("+", head) for head in after[first:last])
    return lines


def _keys(heads: Iterable[Head]) -> list[tuple[int, tuple[int, int]]]:
    """What tells one form of a message from every other."""
    return [(head.seq, head.form) for head in heads]
