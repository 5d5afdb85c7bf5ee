"""Finding the list of messages in a JSON document, wherever exports and request logs put it."""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from tui_app.records import frozen
from tui_app.session.importers.source import Json

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_HOMES = (
    "messages", "traj", "request", "conversation", "chat", "body", "input", "data", "result", "values",
    "checkpoint", "channel_values",
)  # fmt: skip
"""Keys under which exports and request logs have their messages, best first."""
_MADE = (*_HOMES, "output", "generations", "choices", "message")
"""Keys under which a run has its outputs."""
_MAX_DEPTH = 4


@frozen
class Found:
    """A list of messages inside a document."""

    messages: list[Any]
    owner: Json = field(default_factory=dict)
    """Fields of the objects around the list, inner ones take precedence; empty if there are none."""
    others: int = 0
    """Number of further conversations in the file."""
    numbers: Sequence[int] = ()
    """Their line numbers; empty if there are only list places."""


def is_pydantic_message(item: Any) -> bool:
    return isinstance(item, dict) and item.get("kind") in ("request", "response") and "parts" in item


def is_role_message(item: Any) -> bool:
    """Return whether it looks like a message of OpenAI's chat completions."""
    if not isinstance(item, dict) or item.get("role") not in ROLES:
        return False
    return "content" in item or "tool_calls" in item


def find_messages(
    value: Any,
    is_message: Callable[[Any], bool],
    owner: Json | None = None,
    depth: int = _MAX_DEPTH,
    homes: Sequence[str] = _HOMES,
) -> Found | None:
    """Find a list of messages: the value itself, below the usual keys, or in the items of a list."""
    owner = owner or {}
    if isinstance(value, list):
        if any(map(is_message, value)):
            return Found(value, owner)
        found = [find_messages(item, is_message, owner, depth - 1, homes) for item in value] if depth else []
        hits = [hit for hit in found if hit]
        return replace(hits[0], others=len(hits) - 1) if hits else None
    if homes is _MADE and is_message(value):
        return Found([value], owner)
    if not isinstance(value, dict) or not depth:
        return None
    owner = {**owner, **value}
    inner = (find_messages(value[key], is_message, owner, depth - 1, homes) for key in homes if key in value)
    return next(filter(None, inner), None) or _of_run(value, is_message, owner)


def _of_run(run: Json, is_message: Callable[[Any], bool], owner: Json) -> Found | None:
    """Return the messages of a traced run: its inputs, and its outputs unless these repeat the inputs."""
    given = find_messages(run.get("inputs"), is_message, owner)
    made = find_messages(run.get("outputs"), is_message, owner, homes=_MADE)
    if given is None or made is None:
        return given or made
    repeated = made.messages[0] == given.messages[0]
    return made if repeated else replace(given, messages=[*given.messages, *made.messages])
