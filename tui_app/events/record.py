"""An event with its place in the log, and both as JSON."""

from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from tui_app.events.base import BY_TYPE, Payload
from tui_app.events.context import UsageInfo
from tui_app.events.live import GaugeChanged
from tui_app.records import frozen
from tui_app.usage import ContextUsage

_USAGE_OWN = tuple(each.name for each in fields(UsageInfo) if each.name != "usage")
"""Fields of ``UsageInfo`` that stand beside the figures of the usage."""


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
        """The public envelope of an event."""
        return {
            "type": self.data.TYPE,
            "session": self.session,
            "seq": self.seq,
            "time": self.time,
            "version": self.data.VERSION,
            "data": payload_to_json(self.data),
        }


def payload_to_json(payload: Payload) -> dict[str, Any]:
    """Flatten a payload to JSON values; usage events carry their figures at the top."""
    if isinstance(payload, UsageInfo):
        return payload.usage | {name: getattr(payload, name) for name in _USAGE_OWN}
    if isinstance(payload, GaugeChanged):
        window = payload.usage.window
        believed = {"believed_limit": window.limit} if window.announced else {}
        return payload.usage.to_json() | {"scale": payload.usage.scale} | believed
    return asdict(payload)


def payload_from_json(kind: str, data: dict[str, Any]) -> Payload:
    """Rebuild a payload from the log; unknown keys of newer versions are ignored.

    Raises:
        KeyError: if ``kind`` is not a known event type.
    """
    cls = BY_TYPE[kind]
    if cls is UsageInfo:
        usage = {name: value for name, value in data.items() if name not in _USAGE_OWN}
        return UsageInfo(usage=usage, **{name: data.get(name) for name in _USAGE_OWN})
    if cls is GaugeChanged:
        return GaugeChanged(usage=ContextUsage.from_json(data))
    known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
    for name, read in _readers(kind).items():
        if name in known:
            known[name] = read(known[name])
    return cls(**known)


@cache
def _readers(kind: str) -> dict[str, Callable[[Any], Any]]:
    """The fields of an event whose JSON value is not yet their own value: what makes it one."""
    hints = get_type_hints(BY_TYPE[kind])
    return {each.name: read for each in fields(BY_TYPE[kind]) if (read := _reader(hints[each.name]))}


def _reader(hint: Any) -> Callable[[Any], Any] | None:
    """Make values of a type from their JSON values; None where these are the same."""
    inner = get_args(hint)
    if is_dataclass(hint):
        return lambda value: hint(**value)  # type: ignore[operator]
    if get_origin(hint) is not tuple:
        return None
    if inner[-1] is not Ellipsis:
        readers = [_reader(each) or (each if isinstance(each, type) else _as_it_is) for each in inner]
        return lambda values: tuple(read(value) for read, value in zip(readers, values, strict=True))
    item = _reader(inner[0])
    return (lambda values: tuple(map(item, values))) if item else tuple


def _as_it_is(value: Any) -> Any:
    return value
