"""Trajectories of SWE-agent: ``history`` is what the model saw, ``trajectory`` what it did.

Old ones hold actions as plain text, without ids: the message behind an action is its result.
"""

from typing import Any

from tui_app.session.importers.event_builder import plain_text
from tui_app.session.importers.openai_chat import read_role_messages
from tui_app.session.importers.reader import list_at, record_text, value_at
from tui_app.session.importers.source import Found, Imported, Source, is_role_message

FORMAT = "swe-agent"

_TOOL = "action"
"""What a plain-text action is called as a tool."""


def is_swe_agent(source: Source) -> bool:
    """Whether the file is a trajectory."""
    return bool(_history(source.document))


def read_swe_agent(source: Source) -> Imported:
    """Read a trajectory."""
    spelled: list[Any] = []
    waiting = False
    for item in _history(source.document):
        message, waiting = _role_message(item, waiting)
        spelled.append(message)
    # The model never saw what the last action answered, so the history does not have it.
    steps = list_at(source.document, "trajectory")
    last = value_at(steps[-1], "observation") if steps else None
    if waiting and isinstance(last, str):
        spelled.append({"role": "tool", "content": last})
    return read_role_messages(source, Found(spelled, {}), format=FORMAT)


def _history(document: Any) -> list[Any]:
    if not isinstance(document, dict) or not isinstance(document.get("trajectory"), list):
        return []
    history = list_at(document, "history")
    return history if any(map(is_role_message, history)) else []


def _role_message(item: Any, waiting: bool) -> tuple[Any, bool]:
    """A message in OpenAI's spelling, and whether a plain-text action waits for its result."""
    if not isinstance(item, dict):
        return item, waiting
    if item.get("role") == "assistant":
        action = record_text(item, "action")
        if item.get("tool_calls") or not action.strip():
            return item, False
        around = plain_text(item.get("content")).replace(f"```\n{action.strip()}\n```", "").strip()
        thought = record_text(item, "thought").strip() or around
        call = {"function": {"name": _TOOL, "arguments": {"command": action.strip()}}}
        return {**item, "content": thought, "tool_calls": [call]}, True
    ids = item.get("tool_call_ids")
    if isinstance(ids, list) and ids and isinstance(ids[0], str):
        return {**item, "role": "tool", "tool_call_id": ids[0]}, False
    if waiting and item.get("role") == "user":
        return {**item, "role": "tool"}, False
    return item, waiting
