"""Conversations as lists of role messages: OpenAI's chat completions, and those who spell them otherwise.

Taken alone, as the ``messages`` of an export or a request log, or as the ``traj`` of a recorded benchmark.
A log that also holds the response gets it as its last message. The messages of LangChain, Inspect and
SWE-agent are put in OpenAI's spelling first.
"""

import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from tui_app.session.importers import event_builder as messages
from tui_app.session.importers.reader import (
    ContentReader,
    Reader,
    block_list,
    count,
    joined,
    list_at,
    object_at,
    objects_at,
    of_type,
    record_text,
    text_at,
    value_at,
)
from tui_app.session.importers.source import (
    ROLES,
    Found,
    Imported,
    Json,
    SkippedLine,
    Source,
    find_messages,
    is_role_message,
    parse_json,
    shown,
)

_FINISH = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "content_filter": "content_filter",
}


_MODELS = (
    "model", "extra.metadata.ls_model_name", "extra.invocation_params.model",
    "extra.invocation_params.model_name", "info.config.model.model_name",
)  # fmt: skip
"""Where the objects around messages name the model."""


def read_openai_chat(source: Source) -> Imported:
    found = find_messages(source.value, is_role_message) or Found([], {})
    return read_role_messages(source, found)


def is_openai_chat(source: Source) -> bool:
    return find_messages(source.value, is_role_message) is not None


def read_role_messages(
    source: Source, found: Found, spelled: Callable[[Any], Any] = lambda item: item
) -> Imported:
    """Read messages that have roles.

    Args:
        source: The file.
        found: The messages, and what the objects around them hold.
        spelled: Puts a message in OpenAI's spelling.
    """
    return _Reader(source).read(found, spelled)


class _Reader(Reader):
    def read(self, found: Found, spelled: Callable[[Any], Any]) -> Imported:
        owner = found.owner
        self.at(owner.get("timestamp", owner.get("created")))
        response: Json = owner if "choices" in owner else {}
        if isinstance(owner.get("response"), dict):
            response = owner["response"]
        self.model = text_at(response, "model") or text_at(owner, *_MODELS)
        self.title = text_at(owner, "title")
        for number, item in self.numbered(found):
            self._message(spelled(item), number)
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
        return ContentReader(lambda reason: self.skip_message(line, reason))

    def _message(self, item: Any, number: int) -> None:
        if not isinstance(item, dict):
            return self.skip_message(number, f"not an object: {shown(item)}")
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
                return self.skip_message(
                    number, f"{calls.why_not(target)}: {shown(target or item.get('name'))}"
                )
            failed = item.get("is_error") is True or item.get("status") == "error" or item.get("error")
            self.out.result(call, joined(content), "error" if failed else "success", self.time, number)
        else:
            self.skip_message(number, f"unknown role {shown(role)}")
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
            self.skip_message(number, "tool_calls is not a list")
            raw = []
        for entry in raw:
            function = object_at(entry, "function")
            name, args = record_text(function, "name"), function.get("arguments")
            if not name:
                self.skip_message(number, f"tool call without a function's name: {shown(entry)}")
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


def _usage(response: Json) -> Json:
    return {
        "input_tokens": count(value_at(response, "usage.prompt_tokens")),
        "output_tokens": count(value_at(response, "usage.completion_tokens")),
        "cache_read_tokens": count(value_at(response, "usage.prompt_tokens_details.cached_tokens")),
    }


# LangChain, as its serializers write messages: ``{lc, type, id, kwargs}``, ``{type, data}`` or all in one.

_LANGCHAIN_ROLES = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
}
_LANGCHAIN_TALK = ("human", "ai", "AIMessageChunk")
"""What nobody else calls messages: those of a graph's state lie open, without an object for their fields."""
_LANGCHAIN_CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}
_NO_CONTENT = ("tool_use", "tool_call", "function_call", "thinking", "reasoning", "input_json_delta")
"""Types of blocks that are told apart from what the model said."""


def is_langchain(source: Source) -> bool:
    return find_messages(source.value, _is_langchain_message) is not None


def read_langchain(source: Source) -> Imported:
    found = find_messages(source.value, _is_langchain_message) or Found([], {})
    return read_role_messages(source, found, _from_langchain)


def _is_langchain_message(item: Any) -> bool:
    kind, fields = _kind_and_fields(item)
    known = kind in _LANGCHAIN_TALK if fields is item else kind in _LANGCHAIN_ROLES or kind == "chat"
    return known and ("content" in fields or "tool_calls" in fields)


def _kind_and_fields(item: Any) -> tuple[str, Json]:
    """What a message is and what it holds; empty for what is no message."""
    if not isinstance(item, dict):
        return "", {}
    fields = item.get("kwargs")
    if item.get("type") == "constructor" and isinstance(fields, dict):
        names = item.get("id")
        name = names[-1] if isinstance(names, list) and names else ""
        return _LANGCHAIN_CLASSES.get(name if isinstance(name, str) else "", ""), fields
    kind, fields = record_text(item, "type"), item.get("data")
    return (kind, fields) if isinstance(fields, dict) else (kind, item)


def _from_langchain(item: Any) -> Any:
    kind, fields = _kind_and_fields(item)
    role = record_text(fields, "role") if kind == "chat" else _LANGCHAIN_ROLES.get(kind)
    if role is None:
        return item
    message = {**fields, "role": role}
    known = objects_at(fields, "tool_calls")
    if role == "assistant":
        blocks = block_list(fields.get("content"))
        known = known or of_type(blocks, "tool_use")
        thoughts = [block for block in blocks if value_at(block, "type") in ("thinking", "reasoning")]
        texts = (text_at(block, "thinking", "reasoning") for block in thoughts)
        message["reasoning"] = "\n\n".join(filter(None, texts))
        message["content"] = [block for block in blocks if value_at(block, "type") not in _NO_CONTENT]
        message["model"] = text_at(fields, "response_metadata.model_name", "response_metadata.model")
        cached = value_at(fields, "usage_metadata.input_token_details.cache_read")
        message["usage"] = {
            "prompt_tokens": value_at(fields, "usage_metadata.input_tokens"),
            "completion_tokens": value_at(fields, "usage_metadata.output_tokens"),
            "prompt_tokens_details": {"cached_tokens": cached},
        }
    message["tool_calls"] = [
        {
            "id": call.get("id"),
            "function": {"name": call.get("name"), "arguments": call.get("args", call.get("input"))},
        }
        for call in known
    ]
    return message


# Logs of Inspect: a JSON document with samples, or the ``.eval`` archive of the same.

_ZIP = b"PK\x03\x04"
_ATTACHED = "attachment://"
_INSPECT_ROLES = ("system", "user", "assistant", "tool")
_MAX_UNPACKED = 200_000_000
"""Bytes of unpacked samples that are still read: an archive may claim any size."""
_MAX_RATIO = 250
"""How many times smaller than its samples an archive may be; real ones are at most 40 times."""
_MAX_USES = 50
"""Messages in which one attachment is put back: a short name may stand for a long text."""


def is_inspect_ai(source: Source) -> bool:
    return bool(_samples(source))


def read_inspect_ai(source: Source) -> Imported:
    """Read the first sample; the others are counted."""
    samples = _samples(source)
    sample = samples[0] if samples else {}
    known, uses = object_at(sample, "attachments"), Counter[str]()
    items = [_from_inspect(item, known, uses) for item in _sample_messages(sample)]
    owner = {"model": text_at(sample, "output.model") or text_at(source.document, "eval.model")}
    imported = read_role_messages(source, Found(items, owner, max(0, len(samples) - 1)))
    damaged = _archived(source.raw)[1] if source.raw.startswith(_ZIP) else ()
    return replace(imported, skipped=(*imported.skipped, *damaged))


def _samples(source: Source) -> list[Json]:
    if source.raw.startswith(_ZIP):
        return list(_archived(source.raw)[0])
    document = source.document
    if not isinstance(document, dict) or not ("eval" in document or "epoch" in document):
        return []
    samples = document.get("samples", [document] if "epoch" in document else None)
    return [sample for sample in samples if _sample_messages(sample)] if isinstance(samples, list) else []


@lru_cache(maxsize=1)
def _archived(raw: bytes) -> tuple[tuple[Json, ...], tuple[SkippedLine, ...]]:
    """The samples of an archive in the order of their names, and those that are damaged."""
    samples: list[Json] = []
    damaged: list[SkippedLine] = []
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
            left = min(_MAX_UNPACKED, _MAX_RATIO * len(raw))
            for number, name in enumerate(names, 1):
                size = archive.getinfo(name).file_size
                sample: Any = _sample(archive, name) if size <= left else None
                left -= size if size <= left else 0
                if _sample_messages(sample):
                    samples.append(sample)
                else:
                    damaged.append(SkippedLine(line=number, reason=f"{shown(name)} could not be read"))
    except (zipfile.BadZipFile, ValueError, OSError):
        damaged.append(SkippedLine(line=1, reason="the archive is damaged"))
    return tuple(samples), tuple(damaged)


def _sample(archive: zipfile.ZipFile, name: str) -> Any:
    try:
        return parse_json(archive.read(name).decode("utf-8", "replace"))
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, NotImplementedError, RuntimeError):
        return None


def _sample_messages(sample: Any) -> list[Any]:
    listed = list_at(sample, "messages")
    return listed if any(value_at(item, "role") in _INSPECT_ROLES for item in listed) else []


def _from_inspect(item: Any, attachments: Json, uses: Counter[str]) -> Any:
    if not isinstance(item, dict):
        return item
    message: Json = _resolved(item, attachments, uses)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [
            {"id": call.get("id"), "function": {"name": call["function"], "arguments": call.get("arguments")}}
            if isinstance(value_at(call, "function"), str)
            else call
            for call in calls
        ]
    content = message.get("content")
    if isinstance(content, list):
        message["content"] = [block for block in content if value_at(block, "type") != "reasoning"]
        thoughts = [record_text(block, "reasoning") for block in of_type(content, "reasoning")]
        message["reasoning"] = "\n\n".join(filter(None, thoughts))
    if item.get("role") == "tool" and isinstance(item.get("error"), dict) and not message.get("content"):
        message["content"] = record_text(item["error"], "message")
    return message


def _resolved(value: Any, attachments: Json, uses: Counter[str]) -> Any:
    """The value with long texts put back that the log keeps apart."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        uses[value] += 1
        known = uses[value] <= _MAX_USES
        return attachments.get(value.removeprefix(_ATTACHED), value) if known else value
    if isinstance(value, list):
        return [_resolved(item, attachments, uses) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, attachments, uses) for key, item in value.items()}
    return value


# Trajectories of SWE-agent: ``history`` is what the model saw, ``trajectory`` what it did.
#
# Old ones hold actions as plain text, without ids: the message behind an action is its result.

_ACTION = "action"
"""What a plain-text action is called as a tool."""


def is_swe_agent(source: Source) -> bool:
    return bool(_history(source.document))


def read_swe_agent(source: Source) -> Imported:
    spelled: list[Any] = []
    waiting = False
    for item in _history(source.document):
        message, waiting = _from_swe_agent(item, waiting)
        spelled.append(message)
    # The model never saw what the last action answered, so the history does not have it.
    steps = list_at(source.document, "trajectory")
    last = value_at(steps[-1], "observation") if steps else None
    if waiting and isinstance(last, str):
        spelled.append({"role": "tool", "content": last})
    return read_role_messages(source, Found(spelled, {"model": _swe_agent_model(source.document)}))


def _swe_agent_model(document: Any) -> str:
    """The model that the settings name with which a run can be made again."""
    settings = value_at(document, "replay_config")
    try:
        settings = parse_json(settings) if isinstance(settings, str) else settings
    except ValueError:
        return ""
    return text_at(settings, "agent.model.name")


def _history(document: Any) -> list[Any]:
    if not isinstance(document, dict) or not isinstance(document.get("trajectory"), list):
        return []
    history = list_at(document, "history")
    return history if any(map(is_role_message, history)) else []


def _from_swe_agent(item: Any, waiting: bool) -> tuple[Any, bool]:
    """A message in OpenAI's spelling, and whether a plain-text action waits for its result."""
    if not isinstance(item, dict):
        return item, waiting
    if item.get("role") == "assistant":
        action = record_text(item, "action")
        if item.get("tool_calls") or not action.strip():
            return item, False
        around = messages.plain_text(item.get("content")).replace(f"```\n{action.strip()}\n```", "").strip()
        thought = record_text(item, "thought").strip() or around
        call = {"function": {"name": _ACTION, "arguments": {"command": action.strip()}}}
        return {**item, "content": thought, "tool_calls": [call]}, True
    ids = item.get("tool_call_ids")
    if isinstance(ids, list) and ids and isinstance(ids[0], str):
        return {**item, "role": "tool", "tool_call_id": ids[0]}, False
    if waiting and item.get("role") == "user":
        return {**item, "role": "tool"}, False
    return item, waiting
