"""Waiting for something from the agent side that a user may give up waiting for."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from textual.screen import Screen
from textual.worker import WorkerCancelled, get_current_worker

from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.chat.session import ChatSession

W = TypeVar("W")
_LOOKUP = "lookup"
"""Group of the workers that wait for what servers say."""


def cancel_lookup(screen: Screen[Any]) -> bool:
    """Give up what is being looked up from a chat screen; whether anything was."""
    return bool(screen.app.workers.cancel_group(screen, _LOOKUP))


async def look_up(
    screen: Screen[Any],
    session: "ChatSession",
    what: str,
    request: "Callable[[OpenSession], Awaitable[W]]",
    way_out: str = "esc cancels",
) -> W | None:
    """Wait for something from the agent side while the status row says for what; None if the user gave it up.

    Args:
        screen: The chat screen.
        session: Whose agent side is asked.
        what: What is said meanwhile.
        request: What is asked.
        way_out: What the key that gives it up does.

    Raises:
        asyncio.CancelledError: if the flow that waits was cancelled itself.
        Exception: what the request failed with.
    """
    escape = f" · {way_out}"
    said = one_line(what, screen.app.size.width - len(escape)) + escape
    session.show_status(said)
    asked = asyncio.ensure_future(session.ask(request))
    try:
        # In a worker of its own: the user may give up waiting without ending the flow.
        await screen.run_worker(asyncio.wait([asked]), group=_LOOKUP).wait()
        return asked.result()
    except WorkerCancelled:
        asked.cancel()
        if get_current_worker().is_cancelled:
            raise asyncio.CancelledError from None
        return None
    finally:
        if session.state.status.text == said or said in session.state.status.notes:
            session.show_status("")
