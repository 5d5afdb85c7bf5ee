"""Histories of pydantic-ai: a JSON list of messages, or an object that holds one.

A request is taken apart, because the log keeps one event for each prompt and each tool result.
"""

import json
from typing import Any

from tui_app.session.importers import event_builder as messages
from tui_app.session.importers.event_builder import Timeline, ToolOutcome
from tui_app.session.importers.reader import seconds, title_of
from tui_app.session.importers.source import Found, Imported, Json, Source, find_messages, is_pydantic_message

FORMAT = "pydantic-ai"

_OUTCOMES: dict[str, ToolOutcome] = {
    "success": "success",
    "failed": "error",
    "retried": "error",
    "denied": "denied",
    "interrupted": "interrupted",
}


def read_pydantic_messages(source: Source) -> Imported:
    """Read a history."""
    found = find_messages(source.document, is_pydantic_message) or Found([], {})
    return _Reader(source, found).read()


def is_pydantic_ai(source: Source) -> bool:
    """Whether the file holds a history."""
    return find_messages(source.document, is_pydantic_message) is not None


class _Reader:
    def __init__(self, source: Source, found: Found) -> None:
        self._found = found
        self._time = source.mtime
        self._model = ""
        self._out = Timeline()

    def read(self) -> Imported:
        """Turn the messages into events."""
        for number, item in enumerate(self._found.messages, 1):
            if (message := self._checked(item, number)) is None:
                continue
            self._time = seconds(message.get("timestamp"), self._time)
            if message["kind"] == "response":
                self._response(message, number)
            else:
                self._request(message, number)
        self._out.left_out["further conversations in the file were left out"] += self._found.others
        return self._out.finish(
            format=FORMAT, title=title_of(self._out.events), cwd="", model=self._model, notes=[]
        )

    def _checked(self, item: Any, number: int) -> Json | None:
        if not isinstance(item, dict):
            self._skip(number, "it is no object")
            return None
        try:
            checked: Json = json.loads(messages.canonical(_completed(item, self._time)))
        except messages.MessageRefusedError as error:
            self._skip(number, str(error))
            return None
        return checked

    def _response(self, message: Json, number: int) -> None:
        for part in message["parts"]:
            if part["part_kind"] == "tool-call":
                part["tool_call_id"] = self._out.calls.begin(part["tool_call_id"], part["tool_name"])
        if self._out.response(message, self._time, number):
            self._model = message.get("model_name") or self._model

    def _request(self, message: Json, number: int) -> None:
        if not message["parts"]:
            self._out.left_out["requests without any content were left out"] += 1
        for part in message["parts"]:
            alone = {**message, "parts": [part]}
            match part["part_kind"]:
                case "system-prompt":
                    self._out.system(part["content"], self._time, number, alone)
                case "tool-return":
                    self._result(part, alone, number)
                case "compaction":
                    self._out.compaction(part["content"], "manual", (0, 0), self._time, number)
                case _:
                    self._out.user(part.get("content") or "", self._time, number, alone)

    def _result(self, part: Json, alone: Json, number: int) -> None:
        target: str = part["tool_call_id"]
        call = self._out.calls.finish(target)
        if call is None:
            self._skip(number, self._out.calls.why_not(target))
            return
        part["tool_call_id"] = call.call_id
        self._out.result_message(call, alone, _OUTCOMES[part["outcome"]], self._time, number)

    def _skip(self, number: int, reason: str) -> None:
        self._out.skip(number, f"message {number} of the list: {reason}")


def _completed(item: Json, time: float) -> Json:
    """Fill in the times and ids that pydantic-ai would make up anew at every reading."""
    parts = item.get("parts")
    if not isinstance(parts, list):
        return item
    moment = item.get("timestamp") or messages.iso(time)
    filled = [_completed_part(part, moment) for part in parts]
    return {**item, "timestamp": moment, "parts": filled}


def _completed_part(part: Any, moment: Any) -> Any:
    if not isinstance(part, dict):
        return part
    kind = part.get("part_kind")
    if kind in ("system-prompt", "user-prompt", "tool-return", "retry-prompt") and not part.get("timestamp"):
        part = {**part, "timestamp": moment}
    if kind in ("tool-call", "tool-return") and not part.get("tool_call_id"):
        part = {**part, "tool_call_id": ""}
    return part
