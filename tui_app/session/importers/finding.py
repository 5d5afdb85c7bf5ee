"""Finding a list of messages inside of a JSON document."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tui_app.session.importers.source import Json

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_HOMES = ("messages", "traj", "request", "conversation", "chat", "body", "input", "data", "result")
"""Keys under which exports and request logs keep their messages, best first."""
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Found:
    """A list of messages inside a document."""

    messages: list[Any]
    owner: Json
    """The object that holds the list; empty when the document is the list itself."""
    others: int = 0
    """Further conversations in the same file."""


def is_pydantic_message(item: Any) -> bool:
    """Whether it looks like a pydantic-ai message."""
    return isinstance(item, dict) and item.get("kind") in ("request", "response") and "parts" in item


def is_role_message(item: Any) -> bool:
    """Whether it looks like a message of OpenAI's chat completions."""
    if not isinstance(item, dict) or item.get("role") not in ROLES:
        return False
    return "content" in item or "tool_calls" in item


def find_messages(
    value: Any, is_message: Callable[[Any], bool], owner: Json | None = None, depth: int = _MAX_DEPTH
) -> Found | None:
    """Look for a list that holds messages: the value itself, below the usual keys, in the items of a list."""
    if isinstance(value, list):
        if any(map(is_message, value)):
            return Found(value, owner or {})
        found = [find_messages(item, is_message, depth=depth - 1) for item in value] if depth else []
        hits = [hit for hit in found if hit]
        return Found(hits[0].messages, hits[0].owner, len(hits) - 1) if hits else None
    if not isinstance(value, dict) or not depth:
        return None
    for key in _HOMES:
        if key in value and (hit := find_messages(value[key], is_message, value, depth - 1)):
            return hit
    return None
