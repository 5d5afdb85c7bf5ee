"""Trajectories of SWE-agent: ``history`` is what the model saw, ``trajectory`` what it did.

Old ones have actions as plain text without ids: the message after an action is its result.
"""

from typing import Any

from tui_app.session.importers.books import Timeline
from tui_app.session.importers.message_lists import Found
from tui_app.session.importers.shape import Records, Shape
from tui_app.session.importers.source import Json, Source, parse_json
from tui_app.session.importers.values import list_at, text_at, value_at

_ACTION = "action"
"""Tool name for a plain-text action."""
_LAST = "last observation"


def _find(source: Source) -> Found | None:
    steps, history = list_at(source.document, "trajectory"), list_at(source.document, "history")
    # The model never saw the last action's result, so it is missing in the history.
    last = value_at(steps[-1], "observation") if steps else None
    settings = value_at(source.document, "replay_config")
    try:
        settings = parse_json(settings) if isinstance(settings, str) else settings
    except ValueError:
        settings = None
    following = [] if last is None else [{"role": _LAST, "content": last}]
    return Found([*history, *following], {"model": text_at(settings, "agent.model.name")})


def _with_actions(records: Records, _out: Timeline) -> Records:
    """Convert plain-text actions to calls, and the message after each to its result."""
    stands: Records = []
    waiting: dict[str, bool] = {}
    """Whether a message of a role is the result of the preceding action."""
    for number, item in records:
        role, ids = text_at(item, "role"), list_at(item, "tool_call_ids")
        action = text_at(item, "action").strip() if role == "assistant" else ""
        fields: Json = {}
        if action and not item.get("tool_calls"):
            fields = _acting(item, action)
        elif ids and isinstance(ids[0], str):
            fields = {"role": "tool", "tool_call_id": ids[0]}
        elif waiting.get(role) and item.get("content") is not None:
            fields = {"role": "tool"}
        waiting = {"user": "tool_calls" in fields, _LAST: bool(action)}
        if role != _LAST or fields:
            stands.append((number, {**item, **fields}))
    return stands


def _acting(item: Json, action: str) -> Json:
    content: Any = item.get("content")
    around = content.replace(f"```\n{action}\n```", "").strip() if isinstance(content, str) else ""
    thought = text_at(item, "thought").strip() or around
    return {"content": thought, "tool_calls": [{"name": _ACTION, "arguments": {"command": action}}]}


SWE_AGENT = Shape(
    name="swe-agent", program="SWE-agent", find=_find, models=("model",), order=_with_actions,
    signs=("trajectory history.role",),
)  # fmt: skip
