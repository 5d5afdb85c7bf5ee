"""The sub-agents of a session as its log has them: how each stands, and what it has used."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from tui_app.events import SessionStart, SubAgentEnd, SubAgentPromoted, SubAgentStart, SubAgentStep, data_of
from tui_app.records import frozen
from tui_app.session.store import SessionNotFound, SessionStore

_KINDS = (SubAgentStart.TYPE, SubAgentStep.TYPE, SubAgentEnd.TYPE)


@frozen(kw_only=True)
class SentAgent:
    """One that a session has sent."""

    name: str
    state: str
    """``at work``, how it has ended, or ``promoted``."""
    session: str
    """Id of the session that it works in; empty for one of a log that names none."""
    task: str
    model: str
    fork: bool
    background: bool
    steps: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    unpriced: int = 0
    """Steps whose price is not known."""
    reason: str = ""
    """Why it failed or was stopped."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def read_sent_agents(store: SessionStore, session: str, *, is_open: bool) -> Sequence[SentAgent]:
    """Those of one session, the newest first.

    Args:
        store: Holds the logs.
        session: Id of the session.
        is_open: Whether a process has it open: without one nothing works any more.
    """
    found: dict[str, SentAgent] = {}
    names: dict[str, str] = {}
    for head in reversed(list(store.newest(session, _KINDS))):
        record = store.record(session, head.seq)
        event = record.data if record is not None else None
        match event:
            case SubAgentStart(again=True, name=name) if name in found:
                found[name] = replace(found[name], state="at work", reason="")
            case SubAgentStart(tool_call_id=call):
                name = names[call] = event.name or event.agent or "explore"
                found[name] = SentAgent(
                    name=name,
                    state="at work",
                    session=event.session,
                    task=event.task,
                    model=event.model,
                    fork=event.fork,
                    background=event.background,
                )
            case SubAgentStep(tool_call_id=call) if call in names:
                row = found[names[call]]
                known = [cost for cost in (row.cost_usd, event.cost_usd) if cost is not None]
                found[row.name] = replace(
                    row,
                    steps=row.steps + 1,
                    calls=row.calls + len(event.calls),
                    input_tokens=row.input_tokens + event.input_tokens,
                    output_tokens=row.output_tokens + event.output_tokens,
                    cost_usd=sum(known) if known else None,
                    unpriced=row.unpriced + (event.cost_usd is None),
                )
            case SubAgentEnd(tool_call_id=call) if call in names:
                row = found[names[call]]
                found[row.name] = replace(row, state=event.outcome, reason=event.reason)
            case _:
                pass
    rows = (_as_now(store, session, each, is_open=is_open) for each in reversed(found.values()))
    return [row for row in rows if row is not None]


def _as_now(store: SessionStore, session: str, row: SentAgent, *, is_open: bool) -> SentAgent | None:
    """None for one of another session, whose events a fork has taken over."""
    if row.session:
        try:
            start = data_of(store.record(row.session, 1), SessionStart)
        except SessionNotFound:
            start = None
        if start is None or start.parent != session:
            return None
        if store.last_of(row.session, SubAgentPromoted.TYPE) is not None:
            return replace(row, state="promoted")
    is_lost = row.state == "at work" and not is_open
    return replace(row, state="stopped", reason="The program ended first.") if is_lost else row
