"""A session as a document, from either of its two views: messages as JSON, the log, or a page to read.

Every export masks secrets unless told otherwise, and gives the same bytes for the same input.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from tui_app.context.secrets import MASK, mask_secrets, names_secret
from tui_app.events import AssistantMessage, CompactionComplete, Record, ToolCall, ToolResult
from tui_app.session.event_heads import MESSAGES, Head
from tui_app.session.exports.html import export_html
from tui_app.session.exports.markdown import export_markdown
from tui_app.session.importers.books import closed_calls
from tui_app.session.model_state import excluded_in
from tui_app.session.request_ledger import BY, passages
from tui_app.session.store import SessionStore

# What an export does to texts before it writes them: secrets are masked, controls are taken out.

_IDS = frozenset({"signature", "tool_call_id", "id", "call_ids", "session"})
_FILE = frozenset({"data", "identifier"})


def masked_json(value: Any, name: str = "") -> Any:
    """A JSON value with the secrets in its texts masked.

    Args:
        value: The value.
        name: The key it stands under: one that names a secret masks the whole text.
    """
    if isinstance(value, str):
        return MASK if names_secret(name) and value else mask_secrets(value)
    if isinstance(value, list):
        return [masked_json(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    # Signatures and file contents are no text: a change there would break the message.
    kept = _FILE if value.get("kind") == "binary" else _IDS
    return {key: item if key in kept else masked_json(item, key) for key, item in value.items()}


def user_view_messages(rows: Sequence[tuple[Record, str | None]]) -> list[str]:
    """The messages of everything that was ever said: all of the log but what only stands for messages."""
    return [text for record, text in rows if text and record.data.TYPE in MESSAGES]


UNANSWERED = "No result: the call had not ended when this was exported."


def answered(texts: Sequence[str]) -> list[str]:
    """Messages with an answer to every call, as a request has them, also behind a kill or in a turn.

    Args:
        texts: JSON texts of pydantic-ai messages, as the log keeps them.

    Raises:
        ValueError: if one of them is not JSON.
    """
    messages = [json.loads(text) for text in texts]
    done = {part["tool_call_id"] for each in messages for part in _parts(each, "tool-return", "retry-prompt")}
    complete: list[str] = []
    late: list[str] = []
    for text, message in zip(texts, messages, strict=True):
        if not _parts(message, "tool-return", "retry-prompt"):
            complete += late
            late.clear()
        complete.append(text)
        for call in _parts(message, "tool-call"):
            if (id := call["tool_call_id"]) not in done:
                moment = message.get("timestamp")
                part = {"tool_name": call["tool_name"], "content": UNANSWERED, "tool_call_id": id}
                part |= {"timestamp": moment, "part_kind": "tool-return", "outcome": "interrupted"}
                late.append(json.dumps({"parts": [part], "kind": "request", "timestamp": moment}))
    return complete + late


def _parts(message: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    """Parts of some kinds that are about a call."""
    return [part for part in message["parts"] if part.get("part_kind") in kinds and part.get("tool_call_id")]


def export_pydantic_ai(messages: Sequence[str], *, mask: bool = True) -> str:
    """Write messages as a JSON list that pydantic-ai's ``ModelMessagesTypeAdapter`` reads.

    Args:
        messages: JSON texts of pydantic-ai messages, as the log keeps them.
        mask: Whether secrets are masked.

    Raises:
        ValueError: if one of them is not JSON.
    """
    grouped = group_tool_returns([json.loads(text) for text in messages])
    masked = [masked_json(message) for message in grouped] if mask else grouped
    lines = [json.dumps(message, ensure_ascii=False, separators=(",", ":")) for message in masked]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def group_tool_returns(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join requests that follow each other and hold only tool returns: one response, one request.

    The log keeps each result apart; pydantic-ai itself answers all calls of a response in one request.
    The first request gives the other fields, the last one that has any gives the instructions.
    """
    grouped: list[dict[str, Any]] = []
    for message in messages:
        if grouped and _only_returns(message) and _only_returns(grouped[-1]):
            first = grouped[-1]
            joined = {**first, "parts": [*first["parts"], *message["parts"]]}
            if message.get("instructions"):
                joined["instructions"] = message["instructions"]
            grouped[-1] = joined
        else:
            grouped.append(message)
    return grouped


def export_jsonl(rows: Iterable[tuple[Record, str | None]], *, mask: bool = True) -> Iterator[str]:
    """Write the log as JSON lines: the public envelope of each event, with the message it carries.

    Args:
        rows: The log, in order: each event and its message as JSON text.
        mask: Whether secrets are masked.
    """
    for record, message in rows:
        line = record.to_json()
        if message is not None:
            line["message"] = json.loads(message)
        shown = masked_json(line) if mask else line
        yield json.dumps(shown, ensure_ascii=False, separators=(",", ":")) + "\n"


def _only_returns(message: dict[str, Any]) -> bool:
    parts = message.get("parts")
    return (
        message.get("kind") == "request"
        and bool(parts)
        and all(part.get("part_kind") == "tool-return" for part in parts or ())
    )


# Conversations as the messages of OpenAI's chat completions.

_ROLES = {"system-prompt": "system", "compaction": "user", "instruction": "system"}


def export_openai(messages: Sequence[str], *, mask: bool = True) -> str:
    """Write messages as a JSON list of role messages.

    Args:
        messages: JSON texts of pydantic-ai messages, as the log keeps them.
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
        # The log spells base64 for addresses; a data URL takes the common alphabet.
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


# A session as a document, from either of its two views.
#
# The agent view's documents depend on the view alone: exporting before a compaction and after undoing it
# gives the same bytes.

Format = Literal["pydantic-ai", "openai", "markdown", "html", "jsonl"]
View = Literal["agent", "user"]
FORMATS: tuple[Format, ...] = get_args(Format)
VIEWS: tuple[View, ...] = get_args(View)


class NoSuchView(ValueError):
    """The format cannot show this view; the text says what can."""


def export_session(
    store: SessionStore, session: str, *, format: Format, view: View, mask: bool = True
) -> str:
    """Write a session as one document.

    Args:
        store: Where the session is; only read.
        session: Its full id.
        format: ``pydantic-ai`` or ``openai``, a JSON list of messages; ``markdown`` or ``html``, for reading;
            ``jsonl``, the log as it is.
        view: ``agent``, what the next request is built from, or ``user``, everything that was ever said.
        mask: Whether secrets are masked.

    Raises:
        NoSuchView: if the log is asked for as the agent sees it.
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
            if not isinstance(record.data, CompactionComplete) and kept.holds(record.seq, record.data)
        }
        return page(everything, title=title, mask=mask, excluded=excluded)
    records, shown = agent_records(store, session)
    return page(records, title=title, mask=mask, shown=shown)


def agent_messages(store: SessionStore, session: str) -> list[str]:
    """The messages of the agent view as JSON texts, in the order they are sent."""
    forms = _Forms(store, session)
    texts = [forms.text(head) for head in store.agent_view(session).visible()]
    return [text for text in texts if text is not None]


def agent_records(store: SessionStore, session: str) -> tuple[list[Record], dict[int, str]]:
    """The events behind the agent view in the order they are sent, tool calls behind their answer.

    Returns:
        The events, and by log number what the model is shown where that is not the event's own text.
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
        """A message as JSON text; None for an event that carries none."""
        rewrite, place = head.form
        if not rewrite:
            return self.store.message(self.session, head.seq)
        if rewrite not in self._rewrites:
            read = json.loads(self.store.message(self.session, rewrite) or "[]")
            self._rewrites[rewrite] = read if isinstance(read, list) else [read]
        return json.dumps(self._rewrites[rewrite][place])

    def shown(self, head: Head, records: Sequence[Record]) -> dict[int, str]:
        """What the model is shown of a message and its calls, where that is not what the log says of them."""
        if not head.form[0] and head.type != CompactionComplete.TYPE:
            return {}
        if told := passages(text := self.text(head)):
            return {head.seq: "\n\n".join(f"[{BY[origin]}]\n{passage}" for origin, passage in told)}
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
