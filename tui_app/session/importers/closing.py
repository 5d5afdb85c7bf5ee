"""The last pass over an import: open calls are answered, and compactions name what they hid."""

from collections.abc import Sequence
from dataclasses import replace

from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.importers import messages
from tui_app.session.importers.result import ImportedEvent

FIRST_SEQ = 2
"""Log number of the first imported event: number 1 is the session's start."""
NO_RESULT = "No result: the transcript holds none for this call."
"""What a call is answered with whose result is not in the file."""


def answer_open_calls(events: Sequence[ImportedEvent]) -> list[ImportedEvent]:
    """Give every call without a result one that says so, behind the results that follow its response.

    A session that is opened closes its open calls. One that has none stays byte for byte as imported.
    """
    results = {event.data.tool_call_id for event in events if isinstance(event.data, ToolResult)}
    closed: list[ImportedEvent] = []
    waiting: list[ImportedEvent] = []
    for event in events:
        if waiting and not isinstance(event.data, ToolCall | ToolResult):
            closed += waiting
            waiting = []
        closed.append(event)
        if isinstance(event.data, ToolCall) and event.data.tool_call_id not in results:
            waiting.append(_without_result(event.data, event.time))
    return closed + waiting


def _without_result(call: ToolCall, time: float) -> ImportedEvent:
    message = messages.return_request(call.tool_call_id, call.name, NO_RESULT, "interrupted", time)
    data = ToolResult(tool_call_id=call.tool_call_id, name=call.name, text=NO_RESULT, outcome="interrupted")
    return ImportedEvent(data=data, message=messages.canonical(message), time=time)


def number_compactions(events: Sequence[ImportedEvent]) -> list[ImportedEvent]:
    """Fill in what each compaction hid, by the log numbers that the events will get."""
    numbered: list[ImportedEvent] = []
    view_start, had_summary = 0, False
    for place, event in enumerate(events):
        if not isinstance(event.data, CompactionComplete):
            numbered.append(event)
            continue
        kept = _kept_from(events, event.first_kept, place)
        # The summary of the compaction before is one of the messages that this one hid.
        before = count_messages(events[view_start:place]) + had_summary
        after = count_messages(events[kept:place]) + 1
        data = replace(
            event.data,
            job=f"imported-{place + FIRST_SEQ}",
            removed=_removable(events[:kept]),
            messages_before=before,
            messages_after=after,
            messages_removed=max(0, before - after + 1),
        )
        numbered.append(replace(event, data=data, first_kept=None))
        view_start, had_summary = kept, True
    return numbered


def _kept_from(events: Sequence[ImportedEvent], first_kept: ImportedEvent | None, end: int) -> int:
    """Index of the first event that a compaction at ``end`` left in view; ``end`` when it left none."""
    if first_kept is None:
        return end
    return next((place for place, event in enumerate(events[:end]) if event is first_kept), end)


def _removable(events: Sequence[ImportedEvent]) -> tuple[tuple[int, int], ...]:
    """Ranges of log numbers of all but the system prompts, which a compaction leaves in view."""
    ranges: list[tuple[int, int]] = []
    for seq, event in enumerate(events, FIRST_SEQ):
        if isinstance(event.data, SystemMessage):
            continue
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1] = (ranges[-1][0], seq)
        else:
            ranges.append((seq, seq))
    return tuple(ranges)


def count_messages(events: Sequence[ImportedEvent]) -> int:
    """Count requests and responses when tool returns that follow each other are one request."""
    count, after_return = 0, False
    for event in events:
        match event.data:
            case ToolResult():
                count += not after_return
                after_return = True
            case SystemMessage() | UserMessage() | AssistantMessage():
                count += 1
                after_return = False
            case _:
                pass
    return count
