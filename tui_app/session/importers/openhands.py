"""Histories of OpenHands: actions and the observations they caused, a document or ``output.jsonl``."""

from dataclasses import dataclass
from typing import Any

from tui_app.session.importers.reader import Reader, arguments, count, record_text, usage
from tui_app.session.importers.source import Imported, Json, Source, shown

# What an action of OpenHands says about the model's response that it came from.


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    call_id: str
    name: str
    args: Any
    model: str
    usage: Json


@dataclass(frozen=True, slots=True)
class Condensation:
    """A compaction."""

    summary: str
    last_forgotten: int
    """Number of the last event it took out of the context; 0 when it does not say."""

    @classmethod
    def of(cls, item: Json) -> "Condensation":
        """Read it from its action."""
        args = _object(item.get("args"))
        forgotten = args.get("forgotten_event_ids")
        numbers = [count(each) for each in forgotten] if isinstance(forgotten, list) else []
        last = max([*numbers, count(args.get("forgotten_events_end_id"))])
        return cls(record_text(args, "summary").strip(), last)


def call_of(item: Json) -> Call:
    """The call as the model made it; what the program made of it when the response is not there."""
    metadata = _object(item.get("tool_call_metadata"))
    response = _object(metadata.get("model_response"))
    call_id = record_text(metadata, "tool_call_id")
    name = record_text(metadata, "function_name") or record_text(item, "action")
    args: Any = {key: value for key, value in _object(item.get("args")).items() if key != "thought"}
    for call in _calls(response):
        function = _object(call.get("function"))
        if record_text(call, "id") == call_id and "arguments" in function:
            args = function["arguments"]
    return Call(call_id, name, args, record_text(response, "model"), _usage(response))


def response_id(item: Json) -> str:
    """Id of the response that an action came from; empty when it is not there."""
    response = _object(_object(item.get("tool_call_metadata")).get("model_response"))
    return record_text(response, "id")


def text_of(item: Json) -> str:
    """What the model said beside an action."""
    message = _message(_object(_object(item.get("tool_call_metadata")).get("model_response")))
    return record_text(message, "content") or record_text(_object(item.get("args")), "thought")


def said(item: Json) -> str:
    """The text of a message or system action."""
    return record_text(_object(item.get("args")), "content") or record_text(item, "message")


def _message(response: Json) -> Json:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return _object(_object(first).get("message"))


def _calls(response: Json) -> list[Json]:
    calls = _message(response).get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _usage(response: Json) -> Json:
    reported = _object(response.get("usage"))
    return usage(reported.get("prompt_tokens"), reported.get("completion_tokens"))


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


FORMAT = "openhands"

_QUIET = ("change_agent_state", "agent_state_changed", "null", "recall", "pause", "resume", "loadmemory", "")
_LISTS = ("history", "events", "trajectory")


def is_openhands(source: Source) -> bool:
    """Whether the file holds such events."""
    return bool(_histories(source))


def read_openhands(source: Source) -> Imported:
    """Read the first history; others in the file are counted."""
    histories = _histories(source)
    return _Reader(source).read(histories)


def _histories(source: Source) -> list[list[Any]]:
    document = source.document
    candidates = [line.data for line in source.lines.records] if document is None else [document]
    found = [events for each in candidates if (events := _events(each))]
    return found or ([document] if _is_history(document) else [])


def _events(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        return []
    lists = [value.get(name) for name in _LISTS]
    return next((each for each in lists if isinstance(each, list) and _is_history(each)), [])


def _is_history(value: Any) -> bool:
    return isinstance(value, list) and any(map(_is_event, value))


def _is_event(item: Any) -> bool:
    if not isinstance(item, dict) or "source" not in item:
        return False
    return isinstance(item.get("action"), str) or isinstance(item.get("observation"), str)


class _Reader(Reader):
    format = FORMAT

    def read(self, histories: list[list[Any]]) -> Imported:
        """Turn the events of a history into ours."""
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
                    self.say(f"Error: {self.text(item.get('content'), number)}", number)
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
            self._condensed(number, item)
        elif action == "message" and item.get("source") == "user":
            self.say(said(item), number)
        elif action == "message":
            self._begin(number, item).text(said(item))
        elif action == "condensation_request":
            self.out.leave(number, "events that are no messages were left out")
        else:
            fresh = not response_id(item) or response_id(item) != self._response
            answer = self._begin(number, item)
            call = call_of(item)
            answer.model = call.model or self.model
            if fresh:
                answer.text(text_of(item))
                answer.usage = call.usage
            file_id = call.call_id or f"action {item.get('id')}"
            self._calls[count(item.get("id"))] = file_id
            answer.call(self.out.calls, file_id, call.name, arguments(call.args))

    def _begin(self, number: int, item: Json) -> Any:
        """The answer that an action belongs to: actions of one response share its id."""
        response = response_id(item)
        if not response or response != self._response:
            self.end_answer()
        self._response = response
        return self.answer(number)

    def _condensed(self, number: int, item: Json) -> None:
        self.end_answer()
        made = Condensation.of(item)
        if not made.summary:
            self._skip(number, "compaction without a summary, not applied")
            return
        kept = [place for each, place in self._numbers.items() if each > made.last_forgotten > 0]
        places = sorted(place for place in kept if place in self.out.first_at)
        first_kept = self.out.first_at[places[0]] if places else None
        self.out.compaction(made.summary, "blocking", (0, 0), self.time, number, first_kept)

    def _skip(self, number: int, reason: str) -> None:
        self.out.skip(number, f"event {number} of the history: {reason}")
