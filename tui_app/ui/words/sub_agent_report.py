"""A subagent's work in words: its task, the calls of each step, and its usage."""

from collections.abc import Iterable, Sequence
from contextlib import closing

from tui_app.context.tool_titles import call_title, result_note
from tui_app.events import Payload, RowKind, SubAgentEnd, SubAgentStart, SubAgentStep, ToolCall
from tui_app.session.stores.database import Database, open_store
from tui_app.session.views.entries import Entry
from tui_app.ui.words.text import clock, count

_TYPES = frozenset({SubAgentStart.TYPE, SubAgentStep.TYPE, SubAgentEnd.TYPE})


def sub_agent_text(events: Sequence[Payload]) -> str:
    """Return everything except its answer, which is the call's result; empty without events."""
    lines, ended, number = list[str](), False, 0
    for event in events:
        match event:
            case SubAgentStart(again=True):
                ended = False
                lines.append(f"\nTold: {event.task}")
            case SubAgentStart():
                who = f"Agent {event.agent}" if event.agent else event.name or "Sub-agent"
                lines.append(f"{who} · {event.model} · at most {count(event.max_steps, 'step')}")
                lines.append(f"Task: {event.task}")
            case SubAgentStep():
                number += 1
                used = count(event.input_tokens + event.output_tokens, "token")
                # Its last text is the result itself.
                end = "its answer" if event.text else "its context was compacted"
                lines.append(f"\nStep {number} · {used}{'' if event.calls else f' · {end}'}")
                if event.calls and event.text.strip():
                    lines.append(event.text.strip())
                for call in event.calls:
                    size, is_cut = f"{call.chars:,} characters", call.chars > len(call.text)
                    note = size if is_cut else result_note(call.name, call.text, call.outcome)
                    lines.append(f"  {call_title(call.name, call.args)} · {note}")
            case SubAgentEnd():
                ended = True
                lines.append(f"\n{event.headline()}")
    if events and not ended:
        lines.append("\n(still running, or cut off when the program ended)")
    return "\n".join(lines)


def read_sub_agent(database: Database, session: str, call: int) -> list[Payload]:
    """Return the events of the subagent that a call started; blocks while the log is read.

    Args:
        database: Where sessions are stored.
        session: Id of the session.
        call: Log number of the call.
    """
    with closing(open_store(database, read_only=True)) as store:
        sent = store.record(session, call)
        if sent is None or not isinstance(sent.data, ToolCall):
            return []
        id, found = sent.data.tool_call_id, []
        for head in store.heads(session, after=call):
            if head.type in _TYPES and head.ids[0] == id:
                found.append(store.record(session, head.seq))
    return [record.data for record in found if record is not None]


SAID_BY: dict[RowKind, str] = {
    "user": "user", "assistant": "answer", "tool": "tool", "shell": "command",
}  # fmt: skip
"""Authors of messages, as all lists call them."""


def said_at(entries: Iterable[Entry]) -> dict[str, str]:
    """Return author and time of messages, such as ``user, 12:14``, by ``#N``."""
    return {
        f"#{each.message}": f"{SAID_BY[each.kind]}, {clock(each.time)}"
        for each in entries
        if each.kind in SAID_BY
    }
