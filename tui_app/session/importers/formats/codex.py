"""Rollouts of Codex: JSON lines ``{timestamp, type, payload}``, in old versions bare response items.

The ``response_item`` records are what the model saw; ``event_msg`` records repeat them for the screen. Turns
may have been undone, the tokens of an answer follow it as a sum over the session, and the prompts that a
compaction kept have to be found among the earlier ones.
"""

import json
import re
from itertools import accumulate
from typing import Any

from tui_app.context.user_text import own_text
from tui_app.session.importers.books import Timeline
from tui_app.session.importers.content import picture
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import NOTE, SUMMARY, THOUGHT, TROUBLE, Records, Shape, side_record
from tui_app.session.importers.source import Json, shown
from tui_app.session.importers.values import (
    block_list,
    count,
    first_at,
    list_at,
    object_at,
    objects_at,
    of_type,
    text_at,
    value_at,
)

_ITEM = "response_item"
_CALLS = (
    "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call",
    "image_generation_call",
)  # fmt: skip
_TYPES = (_ITEM, "session_meta", "turn_context", "event_msg", "compacted", "world_state")
_BARE = ("reasoning", *_CALLS, "function_call_output", "custom_tool_call_output")
_NOTE_STARTS = (
    "<environment_context>", "<user_instructions>", "<turn_aborted>", "<user_shell_command>", "<skill>",
    "<subagent_notification>", "<permissions instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions",
)  # fmt: skip
"""Prefixes of prompts that the program writes as the user."""
_CODE = re.compile(r"(?:Exit code:|Process exited with code)\s+(?P<code>\d{1,9})", re.IGNORECASE)
_CUT_FROM = 40
"""Minimum length of a prefix that identifies a prompt."""
_KEPT_BYTES = 80_000
"""Bytes of prompts kept with a summary, which Codex estimates as 20,000 tokens."""
_USED = {
    "total": "input_tokens", "read": "cached_input_tokens", "output": "output_tokens",
    "thought": "reasoning_output_tokens",
}  # fmt: skip


def _conversation(records: Records, out: Timeline) -> Records:
    """Return the valid records: each answer with its tokens, each compaction with the prompts it kept."""
    undone = _undone(records)
    texts: dict[int, str] = {}
    sent: list[tuple[int, Json]] = []
    answered = -1
    before: Json = {}
    for number, record in records:
        kind, payload = _item_of(record)
        if number in undone:
            out.leave("records of turns that were undone (rewinds) were left out", number)
        elif kind == "compacted":
            fields = {"summary": _summary_of(payload, texts), "kept": _kept(payload, texts)}
            sent.append((number, {**record, **fields}))
        else:
            sent.append((number, record))
            if kind == _ITEM and _is_prompt(payload):
                texts[number] = _text_of(payload)
            elif kind == _ITEM and (payload.get("type") in _CALLS or payload.get("role") == "assistant"):
                answered = len(sent) - 1
        if kind == "event_msg" and payload.get("type") == "token_count":
            used, before = _used(payload, before)
            if answered >= 0 and number not in undone:
                line, answer = sent[answered]
                known = object_at(answer, "used")
                sum_up = {key: known.get(key, 0) + used[key] for key in used}
                sent[answered] = line, {**answer, "used": sum_up}
    return sent


def _is_record(record: Json) -> bool:
    """Return whether a record can only be from a rollout."""
    wrapped = record.get("type") in _TYPES and isinstance(record.get("payload"), dict)
    # Other formats have thoughts of the same form.
    return wrapped or (_is_bare(record) and record.get("type") != "reasoning")


def _item_of(record: Json) -> tuple[str, Json]:
    """Return the type and payload of a record of any version."""
    if isinstance(payload := record.get("payload"), dict):
        return text_at(record, "type"), payload
    if _is_bare(record):
        return _ITEM, record
    # The first line of an old rollout is the session's data, without a type.
    return ("session_meta", record) if "instructions" in record and "id" in record else ("", {})


def _is_note(content: Any) -> bool:
    """Return whether the program wrote a prompt: all of its texts are notes."""
    texts = [text_at(block, "text").lstrip() for block in block_list(content) if isinstance(block, dict)]
    noted = (text.startswith(_NOTE_STARTS) or (text and not own_text(text)) for text in texts)
    return bool(texts) and all(noted)


def _is_failed(output: Any) -> bool:
    """Return whether an output reports an exit code other than 0."""
    text = output if isinstance(output, str) else ""
    if text.startswith("{"):
        try:
            code = value_at(json.loads(text), "metadata.exit_code")
        except (ValueError, RecursionError):
            return False
        return isinstance(code, int) and code != 0
    lines = (_CODE.match(line.strip()) for line in text.splitlines()[:6])
    return any(match and int(match["code"]) for match in lines)


def _text_of(item: Json) -> str:
    texts = (text_at(each, "text") for each in block_list(item.get("content")))
    return "\n".join(filter(None, texts)).strip()


def _is_bare(record: Json) -> bool:
    kind = record.get("type")
    if kind == "message":
        types = {text_at(block, "type") for block in block_list(record.get("content"))}
        return isinstance(record.get("role"), str) and bool({"input_text", "output_text"} & types)
    return kind in _BARE and ("call_id" in record or "summary" in record)


def _is_prompt(item: Json) -> bool:
    return item.get("type") == "message" and item.get("role") == "user" and not _is_note(item.get("content"))


def _undone(records: Records) -> set[int]:
    """Return the lines of undone turns."""
    undone: set[int] = set()
    turns: list[list[int]] = []
    for number, record in records:
        kind, payload = _item_of(record)
        if kind == _ITEM and _is_prompt(payload):
            turns.append([])
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            dropped = min(count(payload.get("num_turns")), len(turns))
            undone.update(line for turn in turns[len(turns) - dropped :] for line in turn)
            del turns[len(turns) - dropped :]
        if turns and kind in (_ITEM, "compacted"):
            turns[-1].append(number)
    return undone


def _used(payload: Json, before: Json) -> tuple[Json, Json]:
    """Return the tokens since the last count, and the sum so far. A repeated count adds nothing."""
    total, last = object_at(payload, "info.total_token_usage"), object_at(payload, "info.last_token_usage")
    now = {name: count(total.get(key)) for name, key in _USED.items()}
    used = {name: now[name] - before.get(name, 0) for name in now}
    if not total or any(value < 0 for value in used.values()):
        # There is no sum, or it was reset.
        used = {name: count((last or payload).get(key)) for name, key in _USED.items()}
    return used, now if total else before


def _summary_of(payload: Json, texts: dict[int, str]) -> str:
    """Return the summary of a compaction; empty if it cannot be read."""
    if message := text_at(payload, "message").strip():
        return message
    history = objects_at(payload, "replacement_history")
    prompts = [_text_of(item) for item in of_type(history, "message") if _is_prompt(item)]
    # Codex keeps prompts next to a summary, which may be encrypted.
    if not prompts or any("compaction" in text_at(item, "type") for item in history):
        return ""
    return "" if _is_in_texts(prompts[-1], list(texts.values())) else prompts[-1]


def _is_in_texts(text: str, texts: list[str]) -> bool:
    # A long prompt is cut in its middle.
    beginning, cut, _ = text.partition("…")
    return text in texts or bool(
        cut and len(beginning) >= _CUT_FROM and any(each.startswith(beginning) for each in texts)
    )


def _kept(payload: Json, texts: dict[int, str]) -> list[int]:
    """Return the lines of the prompts that a compaction kept in addition to its summary."""
    if "replacement_history" in payload:
        history = [_text_of(item) for item in of_type(objects_at(payload, "replacement_history"), "message")]
        return [line for line, text in texts.items() if any(_is_in_texts(each, [text]) for each in history)]
    # Older versions rebuild it from the newest prompts whenever they read the file.
    newest = list(texts.items())[::-1]
    sizes = accumulate(len(text.encode()) for _, text in newest)
    return [line for (line, _), size in zip(newest, sizes, strict=True) if size <= _KEPT_BYTES]


_NAMES = {kind: kind.removesuffix("_call") for kind in _CALLS}
_OUTPUTS = (
    "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output",
)  # fmt: skip
_ASIDE = ("ghost_snapshot", "compaction", "compaction_summary", "context_compaction", "other")
_ABOUT = ("session_meta", "turn_context", "world_state", "state", "inter_agent_communication")
"""Prefixes of the types of records that are no part of the conversation."""
_OVERFLOW = "context_window_exceeded"
_SESSION = side_record("records about session and turns were left out")
_REPEATED = side_record("events that repeat the conversation for the screen were left out")


def _convert(record: Json) -> Json:
    if {"role", "content"} <= record.keys() and "type" not in record:
        return _item({**record, "type": "message"})
    is_typed = isinstance(record.get("payload"), dict) and text_at(record, "type").startswith(_ABOUT)
    # The first line of an old rollout is the session's data, without a type.
    about = is_typed or "record_type" in record or {"instructions", "id"} <= record.keys()
    return (
        {**record, **_SESSION} if about else {"unknown": f"unknown record type {shown(record.get('type'))}"}
    )


def _event(record: Json) -> Json:
    payload = object_at(record, "payload")
    if payload.get("type") not in ("error", "stream_error"):
        return {**_REPEATED, "title": payload.get("thread_name")}
    trouble = "context_overflow" if _OVERFLOW in str(payload) else "provider"
    return {"role": TROUBLE, "message": payload.get("message"), "kind": trouble}


def _item(record: Json) -> Json:
    item = object_at(record, "payload") or record
    return {"used": record.get("used"), "more": True, **_fields_of(item)}


def _fields_of(item: Json) -> Json:
    kind, role = text_at(item, "type"), text_at(item, "role")
    if kind == "agent_message":
        return {"role": NOTE}
    if kind == "message":
        noted = role in ("system", "developer") or (role == "user" and _is_note(item.get("content")))
        return {"role": NOTE if noted else role, "content": item.get("content")}
    if kind == "reasoning":
        texts = [text_at(block, "text") for block in [*list_at(item, "summary"), *list_at(item, "content")]]
        thought = "\n\n".join(filter(None, texts))
        # Only OpenAI can read an encrypted thought, and only with the key of that conversation.
        return {"role": THOUGHT, "content": [{"type": "thinking", "thinking": thought}] if thought else []}
    if kind in _CALLS:
        name = text_at(item, "name") or _NAMES[kind]
        name = f"{item['namespace']}.{name}" if text_at(item, "namespace") else name
        given = next(
            (item[key] for key in ("arguments", "action") if key in item),
            {"input": first_at(item, "input", "revised_prompt")},
        )
        made = [picture("image/png", item["result"])] if text_at(item, "result") else None
        call = {"id": text_at(item, "call_id", "id"), "name": name, "arguments": given, "output": made}
        return {"role": "assistant", "tool_calls": [call]}
    if kind in _OUTPUTS:
        output = item.get("output", item.get("tools"))
        content = output.get("content", output) if isinstance(output, dict) else output
        failed = object_at(item, "output").get("success") is False or _is_failed(content)
        # Without an exit code, the text decides.
        state = {"is_error": True} if failed else {}
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": content, **state}
    return _SESSION if kind in _ASIDE else {"unknown": f"unknown item type {shown(item.get('type'))}"}


CODEX = Shape(
    name="codex", program="Codex",
    fits=lambda source: any(
        isinstance(each, dict) and _is_record(each) for _, each in source.lines.records
    ),
    places=(
        files_in(
            # Old rollouts are compressed.
            "CODEX_HOME", ".codex", "sessions/**/rollout-*.jsonl*", "archived_sessions/**/rollout-*.jsonl*"
        ),
    ),
    model=(), models=("model", "collaboration_mode.settings.model"),
    tokens={name: f"used.{name}" for name in ("total", "output", "read", "thought")},
    frame=re.compile(r"(?m)^Another language model started to solve this problem and produced a summary.*$"),
    continued="Another language model started to solve this problem",
    denied=("exec command rejected by user", "patch rejected by user", "rejected by user"),
    stopped=("aborted by user", "command aborted"), order=_conversation, message="payload",
    kinds={
        **dict.fromkeys((_ITEM, "message", "reasoning", *_CALLS, *_OUTPUTS), _item), "event_msg": _event,
        "compacted": {"role": SUMMARY, "content": ".summary"},
    },
    convert=_convert,
)  # fmt: skip
