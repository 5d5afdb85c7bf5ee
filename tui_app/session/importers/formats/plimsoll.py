"""Sessions of this program, exported as JSON lines: one event per line, with the message it carries.

Events refer to each other by number, so the numbers are kept: a damaged or missing event is replaced by an
error.
"""

from typing import Any

import msgspec

from tui_app.events import BY_TYPE, Error, Payload, SessionEnd, SessionStart, UsageInfo, payload_from_json
from tui_app.session.importers.books import (
    FIRST_SEQ,
    Imported,
    ImportedEvent,
    MessageRefusedError,
    Timeline,
    canonical,
)
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json, Source, shown
from tui_app.session.importers.titles import one_line
from tui_app.session.importers.values import count, seconds, text_at
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

_MAX_MISSING, _MISSING_A_LINE = 1_000, 10
"""Maximum missing numbers in total, and additional ones per line. A larger gap means a damaged number."""
_GAUGE = ("total", "limit", "limit_source", "reserve")
"""Figures of a measured request that every display of a session needs."""


def _whole(source: Source, out: Timeline) -> Imported:
    """Restore the events to their original places."""
    start, time = SessionStart(cwd="", model="", policy="", title=""), source.mtime
    records = [each for each in source.lines.records if isinstance(each[1], dict)]
    may_miss = _MAX_MISSING + _MISSING_A_LINE * len(records)
    events = out.events
    for number, record in records:
        time = seconds(record.get("time"), time)
        expected, seq = FIRST_SEQ + len(events), count(record.get("seq"))
        try:
            payload = _payload(record)
            if seq == 1 and isinstance(payload, SessionStart) and not events:
                start = payload
                out.places.add(number)
                continue
            if not expected <= seq <= expected + may_miss:
                raise _Unusable(f"event number {shown(record.get('seq'))} does not follow the one before")
            text = _message(record.get("message"))
        except (_Unusable, MessageRefusedError) as error:
            refused = isinstance(error, MessageRefusedError)
            out.skip(f"not a valid message: {error}" if refused else str(error), number)
            continue
        may_miss -= seq - expected
        for missing in range(expected, seq):
            lost = Error(kind="input", message=f"Event #{missing} is missing in the imported file.")
            events.append(ImportedEvent(data=lost, message=None, time=time))
        events.append(ImportedEvent(data=payload, message=text, time=time))
        out.places.add(number)
    while events and isinstance(events[-1].data, SessionEnd):
        # The import ends the session itself, now.
        events.pop()
    return out.finish(one_line(start.title), start.cwd, start.model, is_own=True)


class _Unusable(ValueError):
    """Raised with the reason why an event is not imported."""


def _payload(record: Json) -> Payload:
    kind, data = text_at(record, "type"), record.get("data")
    if kind not in BY_TYPE or not BY_TYPE[kind].STORED or not isinstance(data, dict):
        raise _Unusable(f"not an event of a log: {shown(record.get('type'))}")
    try:
        payload = payload_from_json(kind, data)
        figures = payload.usage if isinstance(payload, UsageInfo) else {}
        # Other versions may have more or fewer of the figures that the gauge needs.
        nothing = ContextUsage(parts=Breakdown(), window=ContextWindow(limit=1, source="default"), messages=0)
        for name, example in nothing.to_json().items() if isinstance(payload, UsageInfo) else ():
            if name in figures or name in _GAUGE:
                msgspec.convert(figures.get(name), type(example))
        return payload
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _Unusable(f"event with wrong values: {shown(str(error))}") from error


def _message(message: Any) -> str | None:
    if isinstance(message, list):
        return f"[{','.join(map(_one, message))}]"
    return None if message is None else _one(message)


def _one(message: Any) -> str:
    if not isinstance(message, dict):
        raise MessageRefusedError("it is not an object")
    return canonical(message)


PLIMSOLL = Shape(
    name="plimsoll", program="Plimsoll events",
    signs=("seq session type data",), read_file=_whole, tells_trigger=True,
)  # fmt: skip
