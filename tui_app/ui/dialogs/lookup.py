"""Waiting for the agent side, cancellable by the user."""

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
"""Group of the workers that wait for the agent side."""


def cancel_lookup(screen: Screen[Any]) -> bool:
    """Cancel the lookup of a chat screen; returns whether there was one."""
    return bool(screen.app.workers.cancel_group(screen, _LOOKUP))


async def look_up(
    screen: Screen[Any],
    session: "ChatSession",
    what: str,
    request: "Callable[[OpenSession], Awaitable[W]]",
    way_out: str = "esc cancels",
) -> W | None:
    """Wait for the agent side while the status row shows for what; None if the user cancels.

    Args:
        screen: The chat screen.
        session: The session whose agent side is asked.
        what: Text shown meanwhile.
        request: The request.
        way_out: What the key that cancels does.

    Raises:
        asyncio.CancelledError: If the waiting flow was cancelled itself.
        Exception: The error of the request.
    """
    escape = f" · {way_out}"
    text = one_line(what, screen.app.size.width - len(escape)) + escape
    session.show_status(text)
    asked = asyncio.ensure_future(session.ask(request))
    try:
        # In a separate worker, so that the user can cancel the wait without ending the flow.
        await screen.run_worker(asyncio.wait([asked]), group=_LOOKUP).wait()
        return asked.result()
    except WorkerCancelled:
        asked.cancel()
        if get_current_worker().is_cancelled:
            raise asyncio.CancelledError from None
        return None
    finally:
        if session.state.status.text == text or text in session.state.status.notes:
            session.show_status("")
