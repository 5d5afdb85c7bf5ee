"""A session as a document, from either of its two views.

The agent view's documents depend on the view alone: exporting before a compaction and after undoing it gives
the same bytes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tui_app.events import AssistantMessage, CompactionComplete, Record, ToolCall
from tui_app.session.event_heads import Head
from tui_app.session.exclusions import excluded_in
from tui_app.session.exports.export import (
    export_jsonl,
    export_markdown,
    export_openai,
    export_pydantic_ai,
    user_view_messages,
)
from tui_app.session.exports.html import export_html
from tui_app.session.request_ledger import BY, passages
from tui_app.session.store import SessionStore

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
            return write(agent_messages(store, session), mask=mask)
        return write(user_view_messages(list(store.records(session))), mask=mask)
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
    return [record for group in groups.values() for record in group], shown


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
