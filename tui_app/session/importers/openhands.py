"""Histories of OpenHands: actions and the observations they caused, a document or ``output.jsonl``.

Since version 1 they are events of other kinds: an object a line, a list, or a file each in a folder.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from tui_app.events import Error
from tui_app.records import frozen
from tui_app.session.importers.event_builder import NOTES, ToolOutcome
from tui_app.session.importers.reader import (
    Answer,
    Reader,
    arguments,
    block_list,
    count,
    list_at,
    object_at,
    objects_at,
    record_text,
    text_at,
    usage,
    value_at,
)
from tui_app.session.importers.source import (
    Found,
    Imported,
    ImportFormatError,
    Json,
    Source,
    find_messages,
    shown,
)

_RESPONSE = "tool_call_metadata.model_response"

# What an action of OpenHands says about the model's response that it came from.


@frozen
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
    return bool(_histories(source)) or _is_event(source.document) or _events(source) is not None


def read_openhands(source: Source) -> Imported:
    """Read the first history; others in the file are counted."""
    if _is_event(source.document):
        folder = source.path.absolute().parent
        raise ImportFormatError(f"{source.path} is one event of OpenHands. Import their folder: {folder}")
    found = _events(source)
    return _EventReader(source).read(found) if found else _Reader(source).read(_histories(source))


def _histories(source: Source) -> list[list[Any]]:
    lists = [[value_at(each, name) for name in _LISTS] for each in _records(source)]
    found = [next(filter(_is_history, each)) for each in lists if any(map(_is_history, each))]
    return found or ([source.document] if _is_history(source.document) else [])


def _records(source: Source) -> list[Any]:
    """The document, or the instances of an ``output.jsonl``."""
    return [line.data for line in source.lines.records] if source.document is None else [source.document]


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
        known = (
            text_at(each, "metadata.llm_config.model", "llm_config.model") for each in _records(self.source)
        )
        self.model = next(filter(None, known), "")
        self._calls: dict[int, str] = {}
        """Id of the call that an action made, by the number of the action."""
        self._numbers: dict[int, int] = {}
        """Place in the list, by the number of the event."""
        self._response = ""
        for number, item in enumerate(events, 1):
            if not isinstance(item, dict):
                self._skip(number, f"not an object: {shown(item)}")
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
                    self.out.leave(number, "events that are not messages were left out")
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
            self.out.leave(number, "events that are not messages were left out")
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
            self.out.leave(number, "events that are not messages were left out")
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

    def _begin(self, number: int, item: Json) -> Answer:
        """The answer that an action belongs to: actions of one response share its id."""
        response = text_at(item, f"{_RESPONSE}.id")
        if not response or response != self._response:
            self.end_answer()
        self._response = response
        return self.answer(number)

    def _skip(self, number: int, reason: str) -> None:
        self.out.skip(number, f"event {number} of the history: {reason}")


# Events since version 1: each says its kind, and calls and results name each other.

_SOURCES = ("agent", "user", "environment", "hook")


def _events(source: Source) -> Found | None:
    return find_messages(source.value, _is_event, homes=("events", "items", "history", "trajectory"))


def _is_event(item: Any) -> bool:
    kind = value_at(item, "kind")
    return isinstance(kind, str) and kind in _EventReader.KINDS and item.get("source") in _SOURCES


class _EventReader(Reader):
    def read(self, found: Found) -> Imported:
        self._response = ""
        self._numbers: dict[str, int] = {}
        """Place of each event by its id."""
        events = list(self.numbered(found))
        for number, item in events:
            if not isinstance(item, dict):
                self.out.skip(number, f"not an object: {shown(item)}")
                continue
            self.at(item.get("timestamp"))
            self._numbers[record_text(item, "id")] = number
            self.model = (
                text_at(item, "agent.llm.model", "value.agent.llm.model", "value.llm.model") or self.model
            )
            read = self.KINDS.get(record_text(item, "kind"))
            if read is not None:
                read(self, number, item)
            else:
                self.out.leave(number, "events that are not messages were left out")
        self.out.left_out["further conversations in the file were left out"] += found.others
        return self.finish(number for number, _ in events)

    def _prompt(self, number: int, item: Json) -> None:
        self.end_answer()
        self.out.system(text_at(item, "system_prompt.text", "system_prompt"), self.time, number)

    def _message(self, number: int, item: Json) -> None:
        message = object_at(item, "llm_message")
        if message.get("role") == "assistant":
            self._begin(number, item).thinking(message.get("reasoning_content"))
            self.answer(number).text(self.text(message.get("content"), number))
        elif item.get("source") == "user":
            self.say(message.get("content"), number)
        else:
            self.out.leave(number, NOTES)

    def _action(self, number: int, item: Json) -> None:
        answer = self._begin(number, item)
        thoughts = [text_at(block, "thinking") for block in list_at(item, "thinking_blocks")]
        answer.thinking(record_text(item, "reasoning_content") or "\n\n".join(filter(None, thoughts)))
        answer.text(self.text(block_list(item.get("thought")), number))
        name = text_at(item, "tool_call.name", "tool_name")
        if not name:
            return self.out.skip(number, "tool call without a tool's name")
        args = value_at(item, "tool_call.arguments")
        answer.call(self.out.calls, record_text(item, "tool_call_id"), name, arguments(args))
        return None

    def _answered(self, number: int, item: Json) -> None:
        outcome: ToolOutcome = "error"
        match item["kind"]:
            case "AgentErrorEvent":
                content = item.get("error")
            case "UserRejectObservation":
                content, outcome = item.get("rejection_reason"), "denied"
            case _:
                observed = object_at(item, "observation")
                content = observed.get("content", text_at(observed, "output", "text", "error"))
                outcome = "error" if observed.get("is_error") is True else "success"
        self.result(record_text(item, "tool_call_id"), content, outcome, number)

    def _condensation(self, number: int, item: Json) -> None:
        self.end_answer()
        forgotten = [
            self._numbers.get(each, 0)
            for each in list_at(item, "forgotten_event_ids")
            if isinstance(each, str)
        ]
        kept = [place for place in self.out.first_at if place > max(forgotten, default=number)]
        if summary := record_text(item, "summary").strip():
            first_kept = self.out.first_at[min(kept)] if kept else None
            self.out.compaction(summary, "blocking", (0, 0), self.time, number, first_kept)
        else:
            self.out.skip(number, "compaction without a summary, not applied")

    def _error(self, number: int, item: Json) -> None:
        self.end_answer()
        text = text_at(item, "detail", "code") or "The program reported an error."
        self.out.add(Error(kind="provider", message=text), None, self.time, number)

    def _begin(self, number: int, item: Json) -> Answer:
        response = record_text(item, "llm_response_id")
        if not response or response != self._response:
            self.end_answer()
        self._response = response
        return self.answer(number)

    KINDS: ClassVar[dict[str, Callable[["_EventReader", int, Json], None]]] = {
        "SystemPromptEvent": _prompt,
        "MessageEvent": _message,
        "ActionEvent": _action,
        "ObservationEvent": _answered,
        "AgentErrorEvent": _answered,
        "UserRejectObservation": _answered,
        "Condensation": _condensation,
        "ConversationErrorEvent": _error,
    }
    """How each kind is read; the others are no messages."""
