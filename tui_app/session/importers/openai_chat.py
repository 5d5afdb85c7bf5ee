"""Conversations as lists of role messages, the shape of OpenAI's chat completions.

Taken alone, as the ``messages`` of an export or a request log, or as the ``traj`` of a recorded benchmark.
A log that also holds the response gets it as its last message.
"""

from typing import Any

from tui_app.session.importers import event_builder as messages
from tui_app.session.importers.reader import (
    ContentReader,
    Reader,
    count,
    joined,
    list_at,
    object_at,
    record_text,
    text_at,
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


def read_role_messages(source: Source, found: Found, *, format: str) -> Imported:
    """Read messages that have roles, from any program that spells them as OpenAI does.

    Args:
        source: The file.
        found: The messages, and the object that holds them.
        format: Name of the format they came in.
    """
    reader = _Reader(source)
    reader.format = format
    return reader.read(found)


class _Reader(Reader):
    def read(self, found: Found) -> Imported:
        """Turn the messages into events."""
        owner = found.owner
        self.at(owner.get("timestamp", owner.get("created")))
        response: Json = owner if "choices" in owner else {}
        if isinstance(owner.get("response"), dict):
            response = owner["response"]
        self.model = text_at(response, "model") or text_at(owner, "model")
        for number, item in enumerate(found.messages, 1):
            self._message(item, number)
        choices = list_at(response, "choices")
        message = value_at(choices[0], "message") if choices else None
        if isinstance(message, dict):
            number = len(found.messages) + 1
            answer = self._assistant(message, self.content(number).read(message.get("content")), number)
            finish = _FINISH.get(text_at(choices[0], "finish_reason"))
            answer |= {"usage": _usage(response), "finish_reason": finish}
            cost = owner.get("cost")
            self.out.response(answer, self.time, number, cost=cost if isinstance(cost, float) else None)
        self.out.left_out["further conversations in the file were left out"] += found.others
        return self.finish(())

    def content(self, line: int) -> ContentReader:
        return ContentReader(lambda reason: self._skip(line, reason))

    def _message(self, item: Any, number: int) -> None:
        if not isinstance(item, dict):
            return self._skip(number, f"no object: {shown(item)}")
        self.at(item.get("timestamp"))
        role = item.get("role")
        content = self.content(number).read(item.get("content"))
        if role in ("system", "developer"):
            self.out.system(messages.plain_text(content), self.time, number)
        elif role == "user":
            self.out.user(content, self.time, number)
        elif role == "assistant":
            answer = self._assistant(item, content, number)
            if self.out.response(answer, self.time, number):
                self.model = answer["model_name"] or self.model
        elif role in ROLES:
            target, calls = record_text(item, "tool_call_id"), self.out.calls
            call = calls.finish(target) if target else calls.finish_oldest(record_text(item, "name"))
            if call is None:
                return self._skip(number, f"{calls.why_not(target)}: {shown(target or item.get('name'))}")
            failed = item.get("is_error") is True or item.get("status") == "error" or item.get("error")
            self.out.result(call, joined(content), "error" if failed else "success", self.time, number)
        else:
            self._skip(number, f"unknown role {shown(role)}")
        return None

    def _assistant(self, item: Json, content: Any, number: int) -> Json:
        parts: list[Json] = []
        if thinking := text_at(item, "reasoning_content", "reasoning"):
            parts.append({"part_kind": "thinking", "content": thinking})
        if text := messages.plain_text(content) or record_text(item, "refusal"):
            parts.append({"part_kind": "text", "content": text})
        raw = item.get("tool_calls") or []
        if isinstance(item.get("function_call"), dict):
            raw = [{"function": item["function_call"]}]
        if not isinstance(raw, list):
            self._skip(number, "tool_calls is no list")
            raw = []
        for entry in raw:
            function = object_at(entry, "function")
            name, args = record_text(function, "name"), function.get("arguments")
            if not name:
                self._skip(number, f"tool call without a function's name: {shown(entry)}")
                continue
            call_id = self.out.calls.begin(record_text(entry, "id"), name)
            parts.append(messages.call_part(call_id, name, args if isinstance(args, str | dict) else {}))
        return {
            "kind": "response",
            "parts": parts,
            "timestamp": messages.iso(self.time),
            "model_name": record_text(item, "model") or self.model or None,
            "usage": _usage(item),
        }

    def _skip(self, number: int, reason: str) -> None:
        self.out.skip(number, f"message {number} of the list: {reason}")


def _usage(response: Json) -> Json:
    return {
        "input_tokens": count(value_at(response, "usage.prompt_tokens")),
        "output_tokens": count(value_at(response, "usage.completion_tokens")),
        "cache_read_tokens": count(value_at(response, "usage.prompt_tokens_details.cached_tokens")),
    }
