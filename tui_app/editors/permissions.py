"""Asking a person, through the editor, whether a tool may act.

This is the seam for tools that change something: whoever judges their calls hands a :class:`Question` to
:func:`ask` and carries the answer back. ``EditorSession`` sees every event, a question among them, and has
the client to ask.
"""

from dataclasses import dataclass
from typing import Literal

from acp.interfaces import Client
from acp.schema import AllowedOutcome, PermissionOption, ToolCallUpdate

Answer = Literal["once", "always", "no"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A call that waits to be allowed."""

    call: str
    """Id of the tool call."""
    title: str
    """What it would do, in one line."""
    pattern: str = ""
    """What "always" would allow; empty where only this one call can be."""


async def ask(client: Client, session: str, question: Question) -> Answer:
    """Show a question and wait for the answer; a question that is closed or cancelled is a no."""
    options = [
        PermissionOption(option_id="once", name="Allow", kind="allow_once"),
        PermissionOption(option_id="no", name="Do not allow", kind="reject_once"),
    ]
    if question.pattern:
        name = f"Always allow {question.pattern}"
        options.insert(1, PermissionOption(option_id="always", name=name, kind="allow_always"))
    response = await client.request_permission(
        session_id=session,
        tool_call=ToolCallUpdate(tool_call_id=question.call, title=question.title, status="pending"),
        options=options,
    )
    outcome = response.outcome
    if not isinstance(outcome, AllowedOutcome):
        return "no"
    match outcome.option_id:
        case "once":
            return "once"
        case "always" if question.pattern:
            return "always"
        case _:
            return "no"
