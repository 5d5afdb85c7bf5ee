"""What a sub-agent did, in words: its task, each step with its calls, what it used and how it ended."""

from collections.abc import Iterator, Sequence
from contextlib import closing

from tui_app.context.tool_titles import call_title, result_note
from tui_app.events import Payload, SubAgentCall, SubAgentEnd, SubAgentStart, SubAgentStep, ToolCall
from tui_app.plurals import count
from tui_app.session.event_heads import sub_agent_title
from tui_app.session.location import Database
from tui_app.session.stores import open_store

_TYPES = frozenset({SubAgentStart.TYPE, SubAgentStep.TYPE, SubAgentEnd.TYPE})


def sub_agent_text(events: Sequence[Payload]) -> str:
    """Everything but its answer, which is the result of the call that has sent it; empty without events."""
    return "\n".join(_lines(events))


def _lines(events: Sequence[Payload]) -> Iterator[str]:
    ended, number = False, 0
    for event in events:
        match event:
            case SubAgentStart():
                yield f"Sub-agent · {event.model} · at most {count(event.max_steps, 'step')}"
                yield f"Task: {event.task}"
            case SubAgentStep():
                number += 1
                yield from _step(number, event)
            case SubAgentEnd():
                ended = True
                yield f"\n{sub_agent_title(event)}"
    if events and not ended:
        yield "\n(still under way, or cut off with the program)"


def _step(number: int, step: SubAgentStep) -> Iterator[str]:
    used = count(step.input_tokens + step.output_tokens, "token")
    if not step.calls:
        # Its last words are the result itself.
        yield f"\nStep {number} · {used} · {'its answer' if step.text else 'its context was compacted'}"
        return
    yield f"\nStep {number} · {used}"
    if step.text.strip():
        yield step.text.strip()
    for call in step.calls:
        yield f"  {call_title(call.name, call.args)} · {_note(call)}"


def _note(call: SubAgentCall) -> str:
    cut = call.chars > len(call.text)
    return f"{call.chars:,} characters" if cut else result_note(call.name, call.text, call.outcome)


def read_sub_agent(database: Database, session: str, call: int, result: int) -> list[Payload]:
    """The events of the sub-agent that a call has sent; blocks while the log is read.

    Args:
        database: The sessions file.
        session: Id of the session.
        call: Log number of the call.
        result: That of its result; 0 while there is none.
    """
    with closing(open_store(database, read_only=True)) as store:
        sent = store.record(session, call)
        if sent is None or not isinstance(sent.data, ToolCall):
            return []
        id, found = sent.data.tool_call_id, []
        for head in store.heads(session, after=call):
            if result and head.seq > result:
                break
            if head.type in _TYPES and head.ids[0] == id:
                found.append(store.record(session, head.seq))
    return [record.data for record in found if record is not None]
