"""A session as a document, from either of its two views.

The agent view's documents depend on the view alone: exporting before a compaction and after undoing it gives
the same bytes.
"""

import json
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from tui_app.context.events import (
    AssistantMessage,
    Record,
    SystemMessage,
    ToolArchived,
    ToolCall,
    ToolResult,
)
from tui_app.session.agent_view import fold_agent_view
from tui_app.session.export import export_markdown, export_pydantic_ai, user_view_messages
from tui_app.session.heads import Head
from tui_app.session.store import Store

Format = Literal["pydantic-ai", "markdown"]
View = Literal["agent", "user"]
FORMATS: tuple[Format, ...] = get_args(Format)
VIEWS: tuple[View, ...] = get_args(View)


def export_session(store: Store, session: str, *, format: Format, view: View) -> str:
    """Write a session as one document; secrets are masked.

    Args:
        store: Where the session is; only read.
        session: Its full id.
        format: ``pydantic-ai``, a JSON list of messages, or ``markdown``, for reading.
        view: ``agent``, what the next request is built from, or ``user``, everything that was ever said.
    """
    if format == "pydantic-ai":
        messages = agent_messages(store, session) if view == "agent" else _user_messages(store, session)
        return export_pydantic_ai(messages)
    records = agent_records(store, session) if view == "agent" else _user_records(store, session)
    return export_markdown(records, title=store.info(session).title)


def agent_messages(store: Store, session: str) -> list[str]:
    """The messages of the agent view as JSON texts, in the order they are sent."""
    forms = _Forms(store, session)
    texts = [forms.text(head) for head in fold_agent_view(store.heads(session)).visible()]
    return [text for text in texts if text is not None]


def agent_records(store: Store, session: str) -> list[Record]:
    """The events behind the agent view in the order they are sent, tool calls behind their answer."""
    forms, heads = _Forms(store, session), fold_agent_view(store.heads(session)).visible()
    shown = {head.seq: head for head in heads}
    groups: dict[int, list[Record]] = {seq: [] for seq in shown}
    owners: dict[str, int] = {}
    for record, _ in store.records(session):
        if record.seq in groups:
            groups[record.seq].append(forms.record(record, shown[record.seq]))
        if isinstance(record.data, AssistantMessage):
            owners.update(dict.fromkeys(record.data.call_ids, record.seq))
        elif isinstance(record.data, ToolCall) and (owner := owners.get(record.data.tool_call_id)) in groups:
            groups[owner].append(record)
    return [record for group in groups.values() for record in group]


@dataclass(slots=True)
class _Forms:
    """Reads messages in the form that the view shows."""

    store: Store
    session: str
    _rewrites: dict[int, list[Any]] = field(default_factory=dict)

    def text(self, head: Head) -> str | None:
        """A message as JSON text; None for an event that carries none."""
        rewrite, place = head.form
        return json.dumps(self._of(rewrite)[place]) if rewrite else self.store.message(self.session, head.seq)

    def record(self, record: Record, head: Head) -> Record:
        """A record that tells what the model is shown of a result or a digest."""
        rewrite, place = head.form
        if not rewrite:
            return record
        parts = self._of(rewrite)[place]["parts"]
        text = "\n".join(_words(part.get("content", "")) for part in parts)
        match record.data:
            case ToolResult():
                return replace(record, data=replace(record.data, text=text))
            case ToolArchived():
                return replace(record, data=SystemMessage(text=text))
            case _:
                return record

    def _of(self, rewrite: int) -> list[Any]:
        if rewrite not in self._rewrites:
            self._rewrites[rewrite] = json.loads(self.store.message(self.session, rewrite) or "[]")
        return self._rewrites[rewrite]


def _words(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content)


def _user_messages(store: Store, session: str) -> list[str]:
    return user_view_messages(list(store.records(session)))


def _user_records(store: Store, session: str) -> list[Record]:
    return [record for record, _ in store.records(session)]
