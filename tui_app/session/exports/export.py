"""Exports of a session from either view: messages as JSON, the log, or a readable document.

Every export masks secrets by default, and gives the same bytes for the same input.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from tui_app.events import AssistantMessage, CompactionComplete, Record, ToolCall, ToolResult
from tui_app.session.event_heads import Head
from tui_app.session.exclusions import excluded_in
from tui_app.session.exports.html import export_html
from tui_app.session.exports.markdown import export_markdown
from tui_app.session.exports.message_json import (
    UNANSWERED,
    answered,
    export_jsonl,
    export_pydantic_ai,
    masked_json,
    user_view_messages,
)
from tui_app.session.figures.passages import BY, passages
from tui_app.session.importers.books import closed_calls
from tui_app.session.stores.store import SessionStore

_ROLES = {"system-prompt": "system", "compaction": "user", "instruction": "system"}


def export_openai(messages: Sequence[str], *, mask: bool = True) -> str:
    """Write messages as a JSON list of role messages.

    Args:
        messages: JSON texts of pydantic-ai messages, as in the log.
        mask: Whether secrets are masked.

    Raises:
        ValueError: if one of them is not JSON.
    """
    spelled: list[dict[str, Any]] = []
    for text in messages:
        message = json.loads(text)
        message = masked_json(message) if mask else message
        if message["kind"] == "response":
            spelled.append(_openai_answer(message["parts"]))
        else:
            spelled += map(_openai_question, message["parts"])
    lines = [json.dumps(each, ensure_ascii=False) for each in spelled if each]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def _openai_answer(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    texts = [part["content"] for part in parts if part["part_kind"] == "text"]
    thoughts = [part["content"] for part in parts if part["part_kind"] == "thinking" and part["content"]]
    calls: list[dict[str, Any]] = []
    for part in parts:
        if part["part_kind"] == "tool-call":
            args = part.get("args")
            text = args if isinstance(args, str) else json.dumps(args or {}, ensure_ascii=False)
            function = {"name": part["tool_name"], "arguments": text or "{}"}
            calls.append({"id": part["tool_call_id"], "type": "function", "function": function})
    message: dict[str, Any] = {"role": "assistant", "content": "\n\n".join(texts) or None}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message if texts or thoughts or calls else {}


def _openai_question(part: dict[str, Any]) -> dict[str, Any]:
    kind = part["part_kind"]
    answers_call = kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name"))
    if answers_call:
        return {"role": "tool", "tool_call_id": part["tool_call_id"], "content": _text(part.get("content"))}
    content = part.get("content") or ""
    if kind == "user-prompt" and not isinstance(content, str):
        return {"role": "user", "content": [_block(item) for item in content]}
    return {"role": _ROLES.get(kind, "user"), "content": _text(content)}


def _block(item: Any) -> dict[str, Any]:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    media, data = item.get("media_type", ""), item.get("data")
    if item.get("kind") == "binary" and str(media).startswith("image/"):
        # The log has URL-safe base64; a data URL needs the standard alphabet.
        common = str(data).replace("-", "+").replace("_", "/")
        return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{common}"}}
    if item.get("kind") == "image-url":
        return {"type": "image_url", "image_url": {"url": item["url"]}}
    if isinstance(item.get("content"), str):
        return {"type": "text", "text": item["content"]}
    return {"type": "text", "text": f"[{media or item.get('kind')}]"}


def _text(content: Any) -> str:
    texts = isinstance(content, list) and all(isinstance(item, str) for item in content)
    return "\n".join(content) if texts else _words(content)


Format = Literal["pydantic-ai", "openai", "markdown", "html", "jsonl"]
View = Literal["agent", "user"]
FORMATS: tuple[Format, ...] = get_args(Format)
VIEWS: tuple[View, ...] = get_args(View)


class NoSuchView(ValueError):
    """Raised when the format cannot show this view; the text names the alternative."""


def export_session(
    store: SessionStore, session: str, *, format: Format, view: View, mask: bool = True
) -> str:
    """Export a session as one document.

    Args:
        store: The store of the session; only read.
        session: Its full id.
        format: ``pydantic-ai`` or ``openai``, a JSON list of messages; ``markdown`` or ``html``, for reading;
            ``jsonl``, the log itself.
        view: ``agent``, what the next request is built from, or ``user``, the whole history.
        mask: Whether secrets are masked.

    Raises:
        NoSuchView: for the agent's view of the log.
    """
    if format == "jsonl":
        if view == "agent":
            raise NoSuchView("jsonl is the whole log. Leave out --view, or choose another format.")
        return "".join(export_jsonl(store.records(session), mask=mask))
    if format in ("pydantic-ai", "openai"):
        write = export_pydantic_ai if format == "pydantic-ai" else export_openai
        if view == "agent":
            return write(answered(agent_messages(store, session)), mask=mask)
        return write(answered(user_view_messages(list(store.records(session)))), mask=mask)
    title = store.info(session).title
    page = export_html if format == "html" else export_markdown
    if view == "user":
        everything = [record for record, _ in store.records(session)]
        kept = excluded_in(store, session)
        excluded = {
            record.seq
            for record in everything
            if not isinstance(record.data, CompactionComplete) and kept.covers(record.seq, record.data)
        }
        return page(everything, title=title, mask=mask, excluded=excluded)
    records, shown = agent_records(store, session)
    return page(records, title=title, mask=mask, shown=shown)


def agent_messages(store: SessionStore, session: str) -> list[str]:
    """Return the messages of the agent view as JSON texts, in the order they are sent."""
    forms = _Forms(store, session)
    texts = [forms.text(head) for head in store.agent_view(session).visible()]
    return [text for text in texts if text is not None]


def agent_records(store: SessionStore, session: str) -> tuple[list[Record], dict[int, str]]:
    """Return the events of the agent view in the order they are sent, each answer followed by its tool calls.

    Returns:
        The events, and what the model gets instead of an event's own text, by log number.
    """
    forms, heads = _Forms(store, session), store.agent_view(session).visible()
    groups: dict[int, list[Record]] = {head.seq: [] for head in heads}
    owners: dict[str, int] = {}
    for record, _ in store.records(session):
        if record.seq in groups:
            groups[record.seq].append(record)
        if isinstance(record.data, AssistantMessage):
            owners.update(dict.fromkeys(record.data.call_ids, record.seq))
        elif isinstance(record.data, ToolCall) and (owner := owners.get(record.data.tool_call_id)) in groups:
            groups[owner].append(record)
    shown: dict[int, str] = {}
    for head in heads:
        shown.update(forms.shown(head, groups[head.seq]))
    records = (record for group in groups.values() for record in group)
    return list(closed_calls(records, _no_result)), shown


def _no_result(record: Record, call: ToolCall) -> Record:
    id, name = call.tool_call_id, call.name
    data = ToolResult(tool_call_id=id, name=name, text=UNANSWERED, outcome="interrupted")
    return replace(record, seq=0, data=data)


@dataclass(slots=True)
class _Forms:
    """Reads messages in the form that the view shows."""

    store: SessionStore
    session: str
    _rewrites: dict[int, list[Any]] = field(default_factory=dict)

    def text(self, head: Head) -> str | None:
        """Return a message as JSON text; None for an event that carries none."""
        rewrite, place = head.form
        if not rewrite:
            return self.store.message(self.session, head.seq)
        if rewrite not in self._rewrites:
            read = json.loads(self.store.message(self.session, rewrite) or "[]")
            self._rewrites[rewrite] = read if isinstance(read, list) else [read]
        return json.dumps(self._rewrites[rewrite][place])

    def shown(self, head: Head, records: Sequence[Record]) -> dict[int, str]:
        """Return what the model gets of a message and its calls, if it differs from the log."""
        if not head.form[0] and head.type != CompactionComplete.TYPE:
            return {}
        if pieces := passages(text := self.text(head)):
            return {head.seq: "\n\n".join(f"[{BY[origin]}]\n{passage}" for origin, passage in pieces)}
        parts = json.loads(text or '{"parts": []}')["parts"]
        calls = {part["tool_call_id"]: _words(part["args"]) for part in parts if part.get("args")}
        shown = {
            record.seq: calls[record.data.tool_call_id]
            for record in records
            if isinstance(record.data, ToolCall) and record.data.tool_call_id in calls
        }
        if head.type != AssistantMessage.TYPE:
            shown[head.seq] = "\n".join(_words(part.get("content") or "") for part in parts)
        return shown


def _words(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
