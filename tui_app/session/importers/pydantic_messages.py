"""Histories of pydantic-ai: a JSON list of messages, or an object that holds one.

A request is taken apart, because the log keeps one event for each prompt and each tool result.
"""

import json
from typing import Any

from tui_app.session.importers import event_builder as messages
from tui_app.session.importers.event_builder import ToolOutcome
from tui_app.session.importers.reader import Reader, list_at, value_at
from tui_app.session.importers.source import Found, Imported, Json, Source, find_messages, is_pydantic_message

_OUTCOMES: dict[str, ToolOutcome] = {
    "success": "success",
    "failed": "error",
    "retried": "error",
    "denied": "denied",
    "interrupted": "interrupted",
}


_TIMED = ("system-prompt", "user-prompt", "tool-return", "retry-prompt")


def read_pydantic_messages(source: Source) -> Imported:
    return _Reader(source).read(
        _runs(source) or find_messages(source.value, is_pydantic_message) or Found([], {})
    )


def is_pydantic_ai(source: Source) -> bool:
    return find_messages(source.value, is_pydantic_message) is not None


def _runs(source: Source) -> Found | None:
    """The conversation of a file that has the messages of a run on each line, new ones or all so far."""
    runs = [line.data for line in source.lines.lists if any(map(is_pydantic_message, line.data))]
    if source.document is not None or not runs:
        return None
    history, others = runs[0], 0
    for run in runs[1:]:
        if run[: len(history)] == history:
            history = run
        elif any(value_at(part, "part_kind") == "system-prompt" for part in list_at(run[0], "parts")):
            # Only the first run of a conversation has a system prompt.
            others += 1
        else:
            history = [*history, *run]
    return Found(history, {}, others)


class _Reader(Reader):
    def read(self, found: Found) -> Imported:
        for number, item in self.numbered(found):
            if not isinstance(item, dict):
                self.skip_message(number, "it is not an object")
                continue
            try:
                message: Json = json.loads(messages.canonical(_completed(item, self.time)))
            except messages.MessageRefusedError as error:
                self.skip_message(number, str(error))
                continue
            self.at(message.get("timestamp"))
            if message["kind"] == "request":
                self._request(message, number)
                continue
            for part in message["parts"]:
                if part["part_kind"] == "tool-call":
                    part["tool_call_id"] = self.out.calls.begin(part["tool_call_id"], part["tool_name"])
            if self.out.response(message, self.time, number):
                self.model = message.get("model_name") or self.model
        self.out.left_out["further conversations in the file were left out"] += found.others
        return self.finish(())

    def _request(self, message: Json, number: int) -> None:
        if not message["parts"]:
            self.out.left_out["requests without any content were left out"] += 1
        for part in message["parts"]:
            alone = {**message, "parts": [part]}
            match part["part_kind"]:
                case "system-prompt":
                    self.out.system(part["content"], self.time, number, alone)
                case "tool-return" if call := self.out.calls.finish(part["tool_call_id"]):
                    part["tool_call_id"] = call.call_id
                    self.out.result_message(call, alone, _OUTCOMES[part["outcome"]], self.time, number)
                case "tool-return":
                    self.skip_message(number, self.out.calls.why_not(part["tool_call_id"]))
                case "compaction":
                    self.out.compaction(part["content"], "manual", (0, 0), self.time, number)
                case _:
                    self.out.user(part.get("content") or "", self.time, number, alone)


def _completed(item: Json, time: float) -> Json:
    """Fill in the times and ids that pydantic-ai would make up anew at every reading."""
    parts = item.get("parts")
    if not isinstance(parts, list):
        return item
    moment = item.get("timestamp") or messages.iso(time)
    filled: list[Any] = []
    for part in parts:
        kind, missing = value_at(part, "part_kind"), {}
        if kind in _TIMED and not part.get("timestamp"):
            missing["timestamp"] = moment
        if kind in ("tool-call", "tool-return") and not part.get("tool_call_id"):
            missing["tool_call_id"] = ""
        filled.append({**part, **missing} if missing else part)
    return {**item, "timestamp": moment, "parts": filled}
