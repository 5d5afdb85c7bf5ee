"""What a hook reads on stdin: the event as ``plimsoll schema`` has it, with which hook it is and why."""

import json
from collections.abc import Iterable
from dataclasses import replace

from tui_app.context.summaries.transcript import clip
from tui_app.conversation.hooks.environment import masked
from tui_app.events import HookName, Payload, Record, ToolResult

RESULT_CHARS = 50_000
"""Characters of a tool's result that a hook is given; of a longer one head and tail."""


def stdin_of(hook: HookName, trigger: str, record: Record, keys: Iterable[str]) -> bytes:
    """One line of JSON.

    Args:
        hook: Which hook runs.
        trigger: What ``match`` is compared with.
        record: The event.
        keys: Secrets that must not be in it.
    """
    event = {"hook": hook, "trigger": trigger, **replace(record, data=_bounded(record.data)).to_json()}
    # Escaped as ASCII: whatever the text holds, half surrogates too, is JSON that every program can read.
    return masked(json.dumps(event), (json.dumps(key)[1:-1] for key in keys)).encode("ascii") + b"\n"


def _bounded(payload: Payload) -> Payload:
    if not isinstance(payload, ToolResult):
        return payload
    return replace(payload, text=clip(payload.text, RESULT_CHARS))
