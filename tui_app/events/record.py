"""Events with their place in the log, and both as JSON."""

from dataclasses import fields
from typing import Any, TypeVar

import msgspec

from tui_app.events.base import BY_TYPE, Payload
from tui_app.events.context import UsageInfo
from tui_app.events.live import GaugeChanged
from tui_app.records import frozen

_Kind = TypeVar("_Kind", bound=Payload)
_USAGE_OWN = tuple(each.name for each in fields(UsageInfo) if each.name != "usage")
"""Fields of ``UsageInfo`` next to the usage figures."""


@frozen(kw_only=True)
class Record:
    """One event with its place in the log."""

    seq: int
    """Number in the session's log, from 1; 0 for live-only events."""
    time: float
    """Seconds since the epoch."""
    session: str
    data: Payload

    def to_json(self) -> dict[str, Any]:
        """Return the public envelope of an event."""
        return {
            "type": self.data.TYPE,
            "session": self.session,
            "seq": self.seq,
            "time": self.time,
            "version": self.data.VERSION,
            "data": payload_to_json(self.data),
        }


def data_of(record: Record | None, kind: type[_Kind]) -> _Kind | None:
    """Return a record's payload; None without a record, or if it is of another kind."""
    return record.data if record is not None and isinstance(record.data, kind) else None


def payload_to_json(payload: Payload) -> dict[str, Any]:
    """Flatten a payload to JSON values; usage events have their figures at the top level."""
    if isinstance(payload, UsageInfo):
        return payload.usage | {name: msgspec.to_builtins(getattr(payload, name)) for name in _USAGE_OWN}
    if isinstance(payload, GaugeChanged):
        window = payload.usage.window
        believed = {"believed_limit": window.limit} if window.announced else {}
        return payload.usage.to_json() | {"scale": payload.usage.scale} | believed
    values: dict[str, Any] = msgspec.to_builtins(payload)
    return values


def payload_from_json(kind: str, data: dict[str, Any]) -> Payload:
    """Rebuild a payload from the log; unknown keys of newer versions are ignored.

    Raises:
        KeyError: if ``kind`` is not a known event type.
        ValueError: if a value is missing, or does not have the declared type of its field.
    """
    cls = BY_TYPE[kind]
    if cls is UsageInfo:
        usage = {name: value for name, value in data.items() if name not in _USAGE_OWN}
        data = {"usage": usage, **{name: data.get(name) for name in _USAGE_OWN}}
    return msgspec.convert(data, cls)
