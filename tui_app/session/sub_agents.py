"""Subagents of a session, read from its log: state and usage."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tui_app.events import SessionStart, SubAgentEnd, SubAgentPromoted, SubAgentStart, SubAgentStep, data_of
from tui_app.records import frozen, picked
from tui_app.session.model_state import newest_records
from tui_app.session.stores.store import SessionNotFound, SessionStore

ENDED = "The program ended first."


@frozen(kw_only=True)
class SentAgent:
    """A subagent that a session started."""

    start: SubAgentStart
    sums: SubAgentEnd
    """Its outcome, and the sums over its steps."""
    since: int
    """Log number of its latest start."""
    is_background: bool
    """Whether its turn does not wait for it."""
    is_at_work: bool = True
    """Whether its end is not in the log."""
    is_promoted: bool = False

    @property
    def state(self) -> str:
        return "promoted" if self.is_promoted else "at work" if self.is_at_work else self.sums.outcome

    def to_json(self) -> dict[str, Any]:
        return {
            **picked(self, "state"),
            **picked(self.start, "name session task model fork background"),
            **picked(self.sums, "steps calls input_tokens output_tokens cost_usd reason"),
        }


def read_sent_agents(store: SessionStore, session: str) -> Sequence[SentAgent]:
    """Return the subagents of a session, oldest first, without those that a fork copied."""
    found: dict[str, SentAgent] = {}
    for record in reversed([*newest_records(store, session, SubAgentStart, SubAgentEnd)]):
        match record.data:
            case SubAgentStart(again=True, name=name) if name in found:
                found[name] = replace(found[name], since=record.seq, is_background=True, is_at_work=True)
            case SubAgentStart(tool_call_id=call, name=name, background=background) as start:
                if _is_sent_by(store, session, start.session):
                    sums, since = SubAgentEnd(tool_call_id=call, outcome="done"), record.seq
                    found[name] = SentAgent(start=start, sums=sums, since=since, is_background=background)
            case SubAgentEnd(tool_call_id=call) as end:
                # Some servers reuse a call id in different turns.
                of_call = [each for each in found.values() if each.start.tool_call_id == call]
                for row in sorted(of_call, key=lambda each: (each.is_at_work, each.since))[-1:]:
                    found[row.start.name] = replace(row, sums=end, is_at_work=False)
            case _:
                pass
    return [_as_of_now(store, session, row) for row in found.values()]


def _is_sent_by(store: SessionStore, session: str, child: str) -> bool:
    try:
        start = data_of(store.record(child, 1), SessionStart) if child else None
    except SessionNotFound:
        return False
    return start is not None and start.parent == session


def _as_of_now(store: SessionStore, session: str, row: SentAgent) -> SentAgent:
    """Add the steps that no end has summed up yet, and whether it was promoted."""
    sums = row.sums
    for record in newest_records(store, session, SubAgentStep) if row.is_at_work else ():
        if record.seq < row.since:
            break
        step = data_of(record, SubAgentStep)
        if step is not None and step.tool_call_id == row.start.tool_call_id:
            sums = with_step(sums, step)
    promoted = store.last_of(row.start.session, SubAgentPromoted.TYPE) is not None
    return replace(row, sums=sums, is_promoted=promoted)


def with_step(sums: SubAgentEnd, step: SubAgentStep) -> SubAgentEnd:
    """Add a step to the sums."""
    known = [cost for cost in (sums.cost_usd, step.cost_usd) if cost is not None]
    names = ("input_tokens", "output_tokens", "cache_read_tokens")
    tokens: dict[str, Any] = {name: getattr(sums, name) + getattr(step, name) for name in names}
    steps, calls = sums.steps + 1, sums.calls + len(step.calls)
    return replace(sums, steps=steps, calls=calls, cost_usd=sum(known) if known else None, **tokens)
