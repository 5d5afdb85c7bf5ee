"""Histories of OpenHands: actions and the observations they caused, a document or ``output.jsonl``.

Since version 1 they are events of other kinds: an object a line, a list, or a file each in a folder.
"""

from collections.abc import Callable
from typing import Any

from tui_app.session.importers.actions import ACTIONS, LEFT, event, with_calls
from tui_app.session.importers.message_lists import Found, find_messages
from tui_app.session.importers.shape import SUMMARY, TROUBLE, Shape, aside
from tui_app.session.importers.source import ImportFormatError, Json, Source
from tui_app.session.importers.values import (
    block_list,
    list_at,
    text_at,
    value_at,
)  # fmt: skip

_LISTS = ("history", "events", "trajectory")
_SOURCES = ("agent", "user", "environment", "hook")
_MODEL = ("agent.llm.model", "value.agent.llm.model", "value.llm.model")


def _is_event(item: Any) -> bool:
    """Whether it is an event; those before version 1 name an action or an observation."""
    by = value_at(item, "source")
    is_new = text_at(item, "kind") in _EVENTS and by in _SOURCES
    return is_new or (by is not None and bool(text_at(item, "action", "observation")))


def _find(source: Source) -> Found | None:
    """The first history."""
    if _is_event(source.document) and "kind" in source.document:
        folder = source.path.absolute().parent
        raise ImportFormatError(f"{source.path} is one event of OpenHands. Import their folder: {folder}")
    return find_messages(source.value, _is_event, homes=("items", *_LISTS))


def _convert(item: Json) -> Json:
    is_about = "kind" in item or "agent" in item
    return aside(LEFT, model=text_at(item, *_MODEL)) if is_about else event(item)


def _acted(item: Json) -> Json:
    """An action since version 1."""
    name, args = text_at(item, "tool_call.name", "tool_name"), value_at(item, "tool_call.arguments")
    thoughts = [] if item.get("reasoning_content") else list_at(item, "thinking_blocks")
    return {
        **item, "role": "assistant", "content": [*thoughts, *block_list(item.get("thought"))],
        "tool_calls": [{"id": item.get("tool_call_id"), "name": name, "arguments": args}],
        "response": text_at(item, "llm_response_id"),
    }  # fmt: skip


_EVENTS: dict[str, Json | Callable[[Json], Json]] = {
    "SystemPromptEvent": {"role": "system", "content": ".system_prompt.text .system_prompt"},
    "MessageEvent": {"response": ".llm_response_id"}, "ActionEvent": _acted,
    "ObservationEvent": {
        "role": "tool", "is_error": ".observation.is_error",
        "content": ".observation.content .observation.output .observation.text .observation.error",
    },
    "AgentErrorEvent": {"role": "tool", "content": ".error", "is_error": True},
    "UserRejectObservation": {"role": "tool", "content": ".rejection_reason", "status": "denied"},
    "Condensation": {"role": SUMMARY, "content": ".summary", "gone": ".forgotten_event_ids"},
    "ConversationErrorEvent": {"role": TROUBLE, "message": ".detail .code"},
}  # fmt: skip
_SIGNS = (
    "{0}source {0}action", "{0}source {0}observation",
    f"{{0}}source={'|'.join(_SOURCES)} {{0}}kind={'|'.join(_EVENTS)}",
)  # fmt: skip
OPENHANDS = Shape(
    name="openhands", program="OpenHands", find=_find, order=with_calls, convert=_convert,
    kind=("kind", "action"), kinds=_EVENTS | ACTIONS, message="llm_message",
    noted=("kind=MessageEvent source!=user",),
    signs=tuple(
        sign.format(path) for path in ("", "items.", *(f"{name}." for name in _LISTS)) for sign in _SIGNS
    ),
    models=("model", "metadata.llm_config.model", "llm_config.model"),
    tokens={"total": "usage.prompt_tokens", "output": "usage.completion_tokens"},
)  # fmt: skip
