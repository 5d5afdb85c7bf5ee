"""Conversations as lists of role messages, the shape of OpenAI's chat completions.

Taken alone, as the ``messages`` of an export or a request log, or as the ``traj`` of a recorded benchmark.
A log that also holds the response gets it as its last message.
"""

from typing import Any

from tui_app.session.importers import event_builder as messages
from tui_app.session.importers.event_builder import Timeline, ToolOutcome
from tui_app.session.importers.reader import (
    ContentReader,
    count,
    joined,
    list_at,
    one_line,
    record_text,
    seconds,
    text_at,
    title_of,
    value_at,
)
from tui_app.session.importers.source import (
    ROLES,
    Found,
    Imported,
    Json,
    Source,
    find_messages,
    is_role_message,
    shown,
)

FORMAT = "openai-chat"

_FINISH = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "content_filter": "content_filter",
}


def read_openai_chat(source: Source) -> Imported:
    """Read a conversation out of a JSON document."""
    found = find_messages(source.document, is_role_message) or Found([], {})
    return read_role_messages(source, found, format=FORMAT)


def is_openai_chat(source: Source) -> bool:
    """Whether the file holds a list of role messages."""
    return find_messages(source.document, is_role_message) is not None


def read_role_messages(source: Source, found: Found, *, format: str, title: str = "") -> Imported:
    """Read messages that have roles, from any program that spells them as OpenAI does.

    Args:
        source: The file.
        found: The messages, and the object that holds them.
        format: Name of the format they came in.
        title: What the file calls the conversation; empty to take the first prompt.
    """
    return _Reader(source, found, format, title).read()


class _Reader:
    def __init__(self, source: Source, found: Found, format: str, title: str) -> None:
        self._found = found
        self._format, self._title = format, title
        self._time = seconds(found.owner.get("timestamp", found.owner.get("created")), source.mtime)
        self._response = _response_of(found.owner)
        self._model = text_at(self._response, "model") or text_at(found.owner, "model")
        self._out = Timeline()

    def read(self) -> Imported:
        """Turn the messages into events."""
        for number, item in enumerate(self._found.messages, 1):
            self._item(item, number)
        self._answer_of_log(len(self._found.messages) + 1)
        self._out.left_out["further conversations in the file were left out"] += self._found.others
        return self._out.finish(
            format=self._format,
            title=one_line(self._title) or title_of(self._out.events),
            cwd="",
            model=self._model,
            notes=[],
        )

    def _item(self, item: Any, number: int) -> None:
        if not isinstance(item, dict):
            return self._skip(number, f"no object: {shown(item)}")
        self._time = seconds(item.get("timestamp"), self._time)
        role = item.get("role")
        content = self._reader(number).read(item.get("content"))
        if role in ("system", "developer"):
            self._out.system(messages.plain_text(content), self._time, number)
        elif role == "user":
            self._out.user(content, self._time, number)
        elif role == "assistant":
            answer = self._assistant(item, content, number)
            if self._out.response(answer, self._time, number):
                self._model = answer["model_name"] or self._model
        elif role in ROLES:
            self._result(item, joined(content), number)
        else:
            self._skip(number, f"unknown role {shown(role)}")
        return None

    def _assistant(self, item: Json, content: Any, number: int) -> Json:
        parts: list[Json] = []
        if thinking := text_at(item, "reasoning_content", "reasoning"):
            parts.append({"part_kind": "thinking", "content": thinking})
        if text := messages.plain_text(content) or record_text(item, "refusal"):
            parts.append({"part_kind": "text", "content": text})
        parts += self._call_parts(item, number)
        return {
            "kind": "response",
            "parts": parts,
            "timestamp": messages.iso(self._time),
            "model_name": record_text(item, "model") or self._model or None,
            "usage": _usage(item),
        }

    def _call_parts(self, item: Json, number: int) -> list[Json]:
        raw = item.get("tool_calls") or []
        if isinstance(item.get("function_call"), dict):
            raw = [{"function": item["function_call"]}]
        if not isinstance(raw, list):
            self._skip(number, "tool_calls is no list")
            return []
        parts: list[Json] = []
        for entry in raw:
            function = entry.get("function") if isinstance(entry, dict) else None
            if not isinstance(function, dict) or not record_text(function, "name"):
                self._skip(number, f"tool call without a function's name: {shown(entry)}")
                continue
            name, args = record_text(function, "name"), function.get("arguments")
            call_id = self._out.calls.begin(record_text(entry, "id"), name)
            parts.append(messages.call_part(call_id, name, args if isinstance(args, str | dict) else {}))
        return parts

    def _result(self, item: Json, content: messages.Content, number: int) -> None:
        target = record_text(item, "tool_call_id")
        calls = self._out.calls
        call = calls.finish(target) if target else calls.finish_oldest(record_text(item, "name"))
        if call is None:
            self._skip(number, f"{calls.why_not(target)}: {shown(target or item.get('name'))}")
        else:
            self._out.result(call, content, _outcome(item), self._time, number)

    def _answer_of_log(self, number: int) -> None:
        choices = list_at(self._response, "choices")
        message = value_at(choices[0], "message") if choices else None
        if not isinstance(message, dict):
            return
        content = self._reader(number).read(message.get("content"))
        answer = self._assistant(message, content, number)
        usage = _usage(self._response)
        finish = text_at(choices[0], "finish_reason")
        answer |= {"usage": usage, "finish_reason": _FINISH.get(finish)}
        cost = self._found.owner.get("cost")
        self._out.response(answer, self._time, number, cost=cost if isinstance(cost, float) else None)

    def _skip(self, number: int, reason: str) -> None:
        self._out.skip(number, f"message {number} of the list: {reason}")

    def _reader(self, number: int) -> ContentReader:
        return ContentReader(lambda reason: self._skip(number, reason))


def _outcome(item: Json) -> ToolOutcome:
    failed = item.get("is_error") is True or item.get("status") == "error" or bool(item.get("error"))
    return "error" if failed else "success"


def _response_of(owner: Json) -> Json:
    response = owner.get("response")
    if isinstance(response, dict):
        return response
    return owner if "choices" in owner else {}


def _usage(response: Json) -> Json:
    return {
        "input_tokens": count(value_at(response, "usage.prompt_tokens")),
        "output_tokens": count(value_at(response, "usage.completion_tokens")),
        "cache_read_tokens": count(value_at(response, "usage.prompt_tokens_details.cached_tokens")),
    }
