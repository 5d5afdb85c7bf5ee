"""A session as a document, from either of its two views.

The agent view's documents depend on the view alone: exporting before a compaction and after undoing it gives
the same bytes.
"""

from typing import Literal, get_args

from tui_app.context.events import AssistantMessage, Record, ToolCall
from tui_app.session.agent_view import fold_agent_view
from tui_app.session.export import export_markdown, export_pydantic_ai, user_view_messages
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
    heads = fold_agent_view(store.heads(session)).visible()
    texts = [store.message(session, head.seq) for head in heads]
    return [text for text in texts if text is not None]


def agent_records(store: Store, session: str) -> list[Record]:
    """The events behind the agent view in the order they are sent, tool calls behind their answer."""
    visible = [head.seq for head in fold_agent_view(store.heads(session)).visible()]
    groups: dict[int, list[Record]] = {seq: [] for seq in visible}
    owners: dict[str, int] = {}
    for record, _ in store.records(session):
        if record.seq in groups:
            groups[record.seq].append(record)
        if isinstance(record.data, AssistantMessage):
            owners.update(dict.fromkeys(record.data.call_ids, record.seq))
        elif isinstance(record.data, ToolCall) and (owner := owners.get(record.data.tool_call_id)) in groups:
            groups[owner].append(record)
    return [record for group in groups.values() for record in group]


def _user_messages(store: Store, session: str) -> list[str]:
    return user_view_messages(list(store.records(session)))


def _user_records(store: Store, session: str) -> list[Record]:
    return [record for record, _ in store.records(session)]
