"""Sessions of this program, exported as JSON lines: an event a line, with the message it carries.

Events name each other by their numbers, so the numbers are kept: an event that is damaged or missing leaves
an error in its place.
"""

import json
from dataclasses import asdict
from typing import Any

from tui_app.events import (
    BY_TYPE,
    Error,
    Payload,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    UsageInfo,
    payload_from_json,
)
from tui_app.session.importers.event_builder import FIRST_SEQ, MessageRefusedError, canonical, count_messages
from tui_app.session.importers.reader import LineReader, count, one_line, record_text
from tui_app.session.importers.source import Imported, ImportedEvent, Json, Line, Source, shown
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

_MAX_MISSING, _MISSING_A_LINE = 1_000, 10
"""Numbers that may be missing in all, and more for each line; a larger gap is damage to the number itself."""
_GAUGE = ("total", "limit", "limit_source", "reserve")
"""Figures of a measured request that are read wherever a session is shown."""


def is_own(source: Source) -> bool:
    return any(
        (
            "seq" in line.data
            and "session" in line.data
            and isinstance(line.data.get("data"), dict)
            and "type" in line.data
        )
        for line in source.lines.records
    )


def read_own(source: Source) -> Imported:
    return _Reader(source).read()


class _Reader(LineReader):
    def read(self) -> Imported:
        """Put the events back in the places they had."""
        self._start = SessionStart(cwd="", model="", policy="", title="")
        self._may_miss = _MAX_MISSING + _MISSING_A_LINE * len(self.records)
        for line in self.records:
            self.at(line.data.get("time"))
            self._line(line)
        events = self.out.events
        while events and isinstance(events[-1].data, SessionEnd):
            # The import ends the session itself, now.
            events.pop()
        return Imported(
            title=one_line(self._start.title),
            cwd=self._start.cwd,
            model=self._start.model,
            events=tuple(events),
            skipped=tuple(sorted(self.out.skipped, key=lambda each: each.line)),
            messages=count_messages(events),
            tool_calls=sum(isinstance(each.data, ToolCall) for each in events),
            tool_results=sum(isinstance(each.data, ToolResult) for each in events),
            notes=(),
            places=frozenset(self.out.places),
            is_own=True,
        )

    def _line(self, line: Line) -> None:
        kind, data = record_text(line.data, "type"), line.data.get("data")
        if kind not in BY_TYPE or not BY_TYPE[kind].STORED or not isinstance(data, dict):
            self.out.skip(line.number, f"not an event of a log: {shown(line.data.get('type'))}")
            return
        try:
            payload = _checked(kind, data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.out.skip(line.number, f"event with wrong values: {shown(str(error))}")
            return
        seq, events = count(line.data.get("seq")), self.out.events
        if seq == 1 and isinstance(payload, SessionStart) and not events:
            self._start = payload
            self.out.places.add(line.number)
            return
        expected = FIRST_SEQ + len(events)
        if not expected <= seq <= expected + self._may_miss:
            told = shown(line.data.get("seq"))
            self.out.skip(line.number, f"event number {told} does not follow the one before")
            return
        try:
            message = line.data.get("message")
            text: str | None
            if isinstance(message, list):
                text = f"[{','.join(map(_one, message))}]"
            else:
                text = None if message is None else _one(message)
        except MessageRefusedError as error:
            self.out.skip(line.number, f"not a valid message: {error}")
            return
        self._may_miss -= seq - expected
        for missing in range(expected, seq):
            lost = Error(kind="input", message=f"Event #{missing} is missing in the imported file.")
            events.append(ImportedEvent(data=lost, message=None, time=self.time))
        events.append(ImportedEvent(data=payload, message=text, time=self.time))
        self.out.places.add(line.number)


def _one(message: Any) -> str:
    if not isinstance(message, dict):
        raise MessageRefusedError("it is not an object")
    return canonical(message)


def _checked(kind: str, data: Json) -> Payload:
    """The payload, if every value has the type that its field is declared with.

    Raises:
        TypeError, ValueError: if one has not.
    """
    from pydantic import TypeAdapter

    payload = payload_from_json(kind, data)
    values = data
    if isinstance(payload, UsageInfo):
        # Its figures stand beside its own fields in the file.
        # Refuse figures that the gauge could not be read from; other versions may have more or fewer of them
        nothing = ContextUsage(parts=Breakdown(), window=ContextWindow(limit=1, source="default"), messages=0)
        for name, example in nothing.to_json().items():
            if name not in payload.usage and name not in _GAUGE:
                continue
            value = payload.usage.get(name)
            allowed: tuple[type, ...] = (int, float) if isinstance(example, float) else (type(example),)
            if type(value) not in allowed:
                raise TypeError(f"{name} is {shown(value)}")
        values = asdict(payload)
    # Strict: the payload keeps what the file says, where "7" would be no number.
    TypeAdapter(type(payload)).validate_json(json.dumps(values), strict=True)
    return payload
