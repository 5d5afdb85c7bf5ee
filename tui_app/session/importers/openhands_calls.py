"""What an action of OpenHands says about the model's response that it came from."""

from dataclasses import dataclass
from typing import Any

from tui_app.session.importers.answer import usage
from tui_app.session.importers.fields import count, record_text
from tui_app.session.importers.source import Json


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
