"""The model, policy, mode, goal and tools of a session, read from its log."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from tui_app.context.windows.windows import resolve_window
from tui_app.events import (
    EffortChange,
    GoalChecked,
    GoalEnded,
    GoalSet,
    ModeChange,
    ModelChange,
    Payload,
    PolicyChange,
    Record,
    SessionStart,
    ToolSwitch,
    UsageInfo,
    data_of,
)
from tui_app.modes import Mode
from tui_app.session.measurement import UNKNOWN, Goal, Known, window_of
from tui_app.session.stores.store import SessionStore
from tui_app.usage import Growth


def known_of(store: SessionStore, session: str) -> Known:
    """Read the state of a session from its log.

    Args:
        store: The store of the log.
        session: Full id of the session.

    Raises:
        sqlite3.Error: if it cannot be read.
    """
    last, change = (store.last_of(session, kind) for kind in (UsageInfo.TYPE, ModelChange.TYPE))
    measured, changed = data_of(last, UsageInfo), data_of(change, ModelChange)
    window, factor = window_of(measured), (measured.factor if measured else None) or 1.0
    growth = Growth(**measured.growth) if measured is not None and measured.growth else None
    if change is not None and changed is not None and change.seq > (last.seq if last else 0):
        # The measurement is of another model.
        factor, growth, limit = 1.0, None, changed.limit
        window = resolve_window(model=limit) if limit > 0 else UNKNOWN
    policy, effort = chosen_policy(store, session), chosen_effort(store, session)
    mode, goal = chosen_mode(store, session), active_goal(store, session)
    return Known(measured, window, factor, growth, policy, effort, mode, goal)


def active_goal(store: SessionStore, session: str) -> Goal | None:
    """Return the newest goal, unless it has ended. Raises ``sqlite3.Error``."""
    kinds = (GoalSet.TYPE, GoalChecked.TYPE, GoalEnded.TYPE)
    newest = next(store.newest(session, kinds), None)
    if newest is None or newest.type == GoalEnded.TYPE:
        return None
    found = store.last_of(session, GoalSet.TYPE)
    checked = newest_event(store, session, GoalChecked) if newest.type == GoalChecked.TYPE else None
    if found is None or (goal := data_of(found, GoalSet)) is None:
        return None
    return Goal(found.seq, goal, checked.turn if checked is not None else 0)


P = TypeVar("P", bound=Payload)


def newest_event(store: SessionStore, session: str, kind: type[P]) -> P | None:
    """Return the newest event of a type; None if the log has none. Raises ``sqlite3.Error``."""
    return data_of(store.last_of(session, kind.TYPE), kind)


def newest_records(store: SessionStore, session: str, *kinds: type[Payload]) -> Iterator[Record]:
    """Iterate over the events of some types, newest first; reads no more than the caller takes."""
    for head in store.newest(session, [kind.TYPE for kind in kinds]):
        if (record := store.record(session, head.seq)) is not None:
            yield record


def chosen_policy(store: SessionStore, session: str) -> str:
    """Return the name of a session's policy: the latest chosen, or the one it started with."""
    if (change := newest_event(store, session, PolicyChange)) is not None:
        return change.new
    start = newest_event(store, session, SessionStart)
    return start.policy if start is not None else ""


def chosen_effort(store: SessionStore, session: str) -> str:
    """Return the reasoning effort of a session; empty if it was never changed there."""
    change = newest_event(store, session, EffortChange)
    return change.new if change is not None else ""


def switched_off(store: SessionStore, session: str, off: Iterable[str] = ()) -> set[str]:
    """Return the names of the tools that are off in a session.

    Args:
        store: The store of the log.
        session: Full id of the session.
        off: Tools that are off unless the session switched them on.
    """
    names = set(off)
    for head in reversed(list(store.newest(session, (ToolSwitch.TYPE,)))):
        if (switch := data_of(store.record(session, head.seq), ToolSwitch)) is not None:
            (names.add if switch.state == "off" else names.discard)(switch.name)
    return names


def chosen_mode(store: SessionStore, session: str) -> Mode:
    """Return the mode of a session: the latest chosen, not affected by a rewind."""
    change = newest_event(store, session, ModeChange)
    return change.new if change is not None else "ask"
