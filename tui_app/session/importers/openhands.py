"""Histories of OpenHands: actions and the observations they caused, a document or ``output.jsonl``."""

from dataclasses import dataclass
from typing import Any

from tui_app.session.importers.event_builder import NOTES
from tui_app.session.importers.reader import (
    Reader,
    arguments,
    count,
    list_at,
    object_at,
    objects_at,
    record_text,
    text_at,
    usage,
    value_at,
)
from tui_app.session.importers.source import Imported, Json, Source, shown

_RESPONSE = "tool_call_metadata.model_response"

# What an action of OpenHands says about the model's response that it came from.


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    call_id: str
    name: str
    args: Any
    model: str
    usage: Json


def call_of(item: Json) -> Call:
    """The call as the model made it; what the program made of it when the response is not there."""
    response = object_at(item, _RESPONSE)
    call_id = text_at(item, "tool_call_metadata.tool_call_id")
    name = text_at(item, "tool_call_metadata.function_name", "action")
    args: Any = {key: value for key, value in object_at(item, "args").items() if key != "thought"}
    for call in objects_at(_message(response), "tool_calls"):
        function = object_at(call, "function")
        if record_text(call, "id") == call_id and "arguments" in function:
            args = function["arguments"]
    tokens = usage(value_at(response, "usage.prompt_tokens"), value_at(response, "usage.completion_tokens"))
    return Call(call_id, name, args, record_text(response, "model"), tokens)


def said(item: Json) -> str:
    """The text of a message or system action."""
    return text_at(item, "args.content", "message")


def _message(response: Json) -> Json:
    choices = list_at(response, "choices")
    return object_at(choices[0], "message") if choices else {}


_QUIET = ("change_agent_state", "agent_state_changed", "null", "recall", "pause", "resume", "loadmemory", "")
_LISTS = ("history", "events", "trajectory")


def is_openhands(source: Source) -> bool:
    return bool(_histories(source))


def read_openhands(source: Source) -> Imported:
    """Read the first history; others in the file are counted."""
    histories = _histories(source)
    return _Reader(source).read(histories)


def _histories(source: Source) -> list[list[Any]]:
    document = source.document
    candidates = [line.data for line in source.lines.records] if document is None else [document]
    lists = [[value_at(each, name) for name in _LISTS] for each in candidates]
    found = [next(filter(_is_history, each)) for each in lists if any(map(_is_history, each))]
    return found or ([document] if _is_history(document) else [])


def _is_history(value: Any) -> bool:
    return isinstance(value, list) and any(
        isinstance(item, dict)
        and "source" in item
        and (isinstance(item.get("action"), str) or isinstance(item.get("observation"), str))
        for item in value
    )


class _Reader(Reader):
    def read(self, histories: list[list[Any]]) -> Imported:
        events = histories[0] if histories else []
        self._calls: dict[int, str] = {}
        """Id of the call that an action made, by the number of the action."""
        self._numbers: dict[int, int] = {}
        """Place in the list, by the number of the event."""
        self._response = ""
        for number, item in enumerate(events, 1):
            if not isinstance(item, dict):
                self._skip(number, f"no object: {shown(item)}")
                continue
            self.at(item.get("timestamp"))
            self._numbers[count(item.get("id"))] = number
            action, observation = item.get("action"), item.get("observation")
            if isinstance(action, str):
                self._action(number, item, action)
            elif isinstance(observation, str):
                target = self._calls.get(count(item.get("cause")), "") if "cause" in item else ""
                if target:
                    failed = observation == "error" or item.get("success") is False
                    self.result(target, item.get("content"), "error" if failed else "success", number)
                elif observation in _QUIET:
                    self.out.leave(number, "events that are no messages were left out")
                elif observation == "error" and "cause" not in item:
                    # The program answered what the model wrote before it became an action.
                    self.out.leave(number, NOTES)
                else:
                    self._skip(number, f"result without its action: {shown(observation)}")
            else:
                self._skip(number, "neither an action nor an observation")
        self.out.left_out["further conversations in the file were left out"] += max(0, len(histories) - 1)
        if self.source.document is None:
            self.out.skipped.extend(self.source.lines.skipped)
        return self.finish(range(1, len(events) + 1))

    def _action(self, number: int, item: Json, action: str) -> None:
        if action in _QUIET:
            self.out.leave(number, "events that are no messages were left out")
        elif action == "system":
            self.end_answer()
            self.out.system(said(item), self.time, number)
        elif action == "condensation":
            self.end_answer()
            forgotten = map(count, list_at(item, "args.forgotten_event_ids"))
            last = max(*forgotten, count(value_at(item, "args.forgotten_events_end_id")), 0)
            kept = [place for each, place in self._numbers.items() if each > last > 0]
            places = [place for place in kept if place in self.out.first_at]
            first_kept = self.out.first_at[min(places)] if places else None
            if summary := text_at(item, "args.summary").strip():
                self.out.compaction(summary, "blocking", (0, 0), self.time, number, first_kept)
            else:
                self._skip(number, "compaction without a summary, not applied")
        elif action == "message" and item.get("source") == "user":
            self.say(said(item), number)
        elif action == "message":
            self._begin(number, item).text(said(item))
        elif action == "condensation_request":
            self.out.leave(number, "events that are no messages were left out")
        else:
            response = text_at(item, f"{_RESPONSE}.id")
            fresh = not response or response != self._response
            answer = self._begin(number, item)
            call = call_of(item)
            answer.model = call.model or self.model
            if fresh:
                answer.text(
                    text_at(_message(object_at(item, _RESPONSE)), "content") or text_at(item, "args.thought")
                )
                answer.usage = call.usage
            file_id = call.call_id or f"action {item.get('id')}"
            self._calls[count(item.get("id"))] = file_id
            answer.call(self.out.calls, file_id, call.name, arguments(call.args))

    def _begin(self, number: int, item: Json) -> Any:
        """The answer that an action belongs to: actions of one response share its id."""
        response = text_at(item, f"{_RESPONSE}.id")
        if not response or response != self._response:
            self.end_answer()
        self._response = response
        return self.answer(number)

    def _skip(self, number: int, reason: str) -> None:
        self.out.skip(number, f"event {number} of the history: {reason}")
