"""Differences that a compaction made in the agent view, message by message."""

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import Literal

from tui_app.events import CompactionAcknowledged, ToolCall, ToolResult
from tui_app.records import frozen
from tui_app.session.event_heads import Head
from tui_app.session.views.agent_view import AgentView


@frozen
class Difference:
    """One message of the view before or after."""

    sign: Literal["-", "+", " "]
    """Removed, added or unchanged."""
    head: Head
    title: str = ""
    """Its first line, with the tools it calls or answers and their main arguments; may be empty."""
    full: int = 0
    """Tokens it had when it was written; a stage may have shortened it since."""


def title_of(head: Head, calls: Mapping[str, str]) -> str:
    """Return the title of a message.

    Args:
        head: The message.
        calls: Title of each tool call, by its id.
    """
    called = ", ".join(calls[each] for each in head.ids if each in calls)
    if head.type == ToolResult.TYPE or not called:
        return " · ".join(filter(None, (called, head.title)))
    return f"{head.title} (calls {called})" if head.title else f"calls {called}"


def compaction_diff(heads: Iterable[Head], compaction: int) -> list[Difference]:
    """Compare the views before and after a compaction.

    Args:
        heads: The log, in order; not read further than the compaction.
        compaction: Its log number.

    Returns:
        Every message of both views, in order; removed messages come before their replacement.
    """
    view, before = AgentView(), list[Head]()
    calls: dict[str, str] = {}
    sizes: dict[int, int] = {}
    for head in heads:
        if head.seq == compaction:
            before = view.visible()
        elif head.seq > compaction and head.type != CompactionAcknowledged.TYPE:
            break
        if head.type == ToolCall.TYPE:
            calls.update(dict.fromkeys(head.ids, head.title))
        sizes[head.seq] = sum(head.tokens.values())
        view.apply(head)
    after = view.visible()

    def line(sign: Literal["-", "+", " "], head: Head) -> Difference:
        return Difference(sign, head, title_of(head, calls), sizes.get(head.seq, 0))

    # These identify one form of a message.
    old, new = ([(head.seq, head.form) for head in heads] for heads in (before, after))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    lines: list[Difference] = []
    for tag, start, stop, first, last in matcher.get_opcodes():
        lines += [line(" " if tag == "equal" else "-", head) for head in before[start:stop]]
        lines += [line("+", head) for head in after[first:last] if tag != "equal"]
    return lines
