"""Rollouts of Codex: JSON lines ``{timestamp, type, payload}``, or bare response items in old ones.

What the model saw are the ``response_item`` records; ``event_msg`` records repeat them for the screen.
"""

import re

from tui_app.session.importers.content import picture
from tui_app.session.importers.places import files_in
from tui_app.session.importers.rollout import CALLS, ITEM, conversation, is_codex_record, is_failed, is_note
from tui_app.session.importers.shape import NOTE, SUMMARY, THOUGHT, TROUBLE, Shape, aside
from tui_app.session.importers.source import Json, shown
from tui_app.session.importers.values import first_at, list_at, object_at, text_at

_NAMES = {kind: kind.removesuffix("_call") for kind in CALLS}
_OUTPUTS = (
    "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output",
)  # fmt: skip
_ASIDE = ("ghost_snapshot", "compaction", "compaction_summary", "context_compaction", "other")
_ABOUT = ("session_meta", "turn_context", "world_state", "state", "inter_agent_communication")
"""How the types of records begin that are no part of the conversation."""
_OVERFLOW = "context_window_exceeded"
_SESSION = aside("records about session and turns were left out")
_REPEATED = aside("events that repeat the conversation for the screen were left out")


def _convert(record: Json) -> Json:
    told = isinstance(record.get("payload"), dict) and text_at(record, "type").startswith(_ABOUT)
    # The first line of an old rollout is the session's data, without a type.
    about = told or "record_type" in record or {"instructions", "id"} <= record.keys()
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
    return {"used": record.get("used"), "more": True, **_told(item)}


def _told(item: Json) -> Json:
    kind, role = text_at(item, "type"), text_at(item, "role")
    if kind == "agent_message":
        return {"role": NOTE}
    if kind == "message":
        noted = role in ("system", "developer") or (role == "user" and is_note(item.get("content")))
        return {"role": NOTE if noted else role, "content": item.get("content")}
    if kind == "reasoning":
        texts = [text_at(block, "text") for block in [*list_at(item, "summary"), *list_at(item, "content")]]
        thought = "\n\n".join(filter(None, texts))
        # Only OpenAI can read an encrypted thought, and only with the key of that conversation.
        return {"role": THOUGHT, "content": [{"type": "thinking", "thinking": thought}] if thought else []}
    if kind in CALLS:
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
        told = output.get("content", output) if isinstance(output, dict) else output
        failed = object_at(item, "output").get("success") is False or is_failed(told)
        # Where no code tells, the words do.
        state = {"is_error": True} if failed else {}
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": told, **state}
    return _SESSION if kind in _ASIDE else {"unknown": f"unknown item type {shown(item.get('type'))}"}


CODEX = Shape(
    name="codex", program="Codex",
    fits=lambda source: any(
        isinstance(each, dict) and is_codex_record(each) for _, each in source.lines.records
    ),
    places=(
        files_in(
            # Old ones are compressed.
            "CODEX_HOME", ".codex", "sessions/**/rollout-*.jsonl*", "archived_sessions/**/rollout-*.jsonl*"
        ),
    ),
    model=(), models=("model", "collaboration_mode.settings.model"),
    tokens={name: f"used.{name}" for name in ("total", "output", "read", "thought")},
    frame=re.compile(r"(?m)^Another language model started to solve this problem and produced a summary.*$"),
    continued="Another language model started to solve this problem",
    denied=("exec command rejected by user", "patch rejected by user", "rejected by user"),
    stopped=("aborted by user", "command aborted"), order=conversation, message="payload",
    kinds={
        **dict.fromkeys((ITEM, "message", "reasoning", *CALLS, *_OUTPUTS), _item), "event_msg": _event,
        "compacted": {"role": SUMMARY, "content": ".summary"},
    },
    convert=_convert,
)  # fmt: skip
