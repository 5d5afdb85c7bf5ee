"""Reading a log for the screen, before the agent side is loaded and while another window writes it."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.windows import resolve_window
from tui_app.session.measurement import UNKNOWN, Known
from tui_app.session.preview import Preview, load_preview
from tui_app.session.stores.store import SessionInfo
from tui_app.settings import OFFLINE_MODEL, OFFLINE_WINDOW
from tui_app.ui.launch import Launch
from tui_app.usage import ContextWindow


def known_window(launch: Launch, model: str) -> ContextWindow:
    """Return the context window known from settings and earlier errors; unknown until the model is built.

    Args:
        launch: Launch options, with settings and the file of learnt limits.
        model: Full name.
    """
    prefix, _, name = model.partition(":")
    endpoint = launch.settings.endpoints.get(prefix)
    learnt = LearntModels(launch.paths.learnt_file).limit_anywhere(name)
    window = endpoint.window if endpoint is not None else OFFLINE_WINDOW if model == OFFLINE_MODEL else None
    setting = launch.settings.window
    if not (setting or learnt or window):
        return UNKNOWN
    return resolve_window(setting=setting, learnt=learnt, model=window)


def preview_of(launch: Launch, session: str) -> Preview:
    """Read what the first paint of a session needs, with the window of a model without requests so far.

    Raises:
        SessionNotFound: If no session has this id.
        sqlite3.Error: If the log cannot be read.
    """
    preview = load_preview(launch.database, session)
    return replace(preview, known=with_window(launch, preview.info, preview.known, chosen=launch.model))


def with_window(launch: Launch, info: SessionInfo, known: Known, *, chosen: str = "") -> Known:
    """Add the window of a model that has had no request in this session.

    Args:
        launch: Launch options.
        info: The session's row in the list.
        known: Information from its log.
        chosen: Model chosen for continuing it; empty for a read-only view.
    """
    if known.window is not UNKNOWN:
        return known
    return replace(known, window=known_window(launch, chosen or info.model or launch.first_model))


T = TypeVar("T")
PAUSES_S = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait before each further attempt."""


async def persistently(read: Callable[[], Awaitable[T]], say: Callable[[str], None]) -> T:
    """Read, retrying a few times if the log is locked or unreadable.

    Args:
        read: Reads; may be called several times.
        say: Shows that the read is retried.

    Raises:
        sqlite3.Error: If the log stays unreadable.
    """
    for pause in PAUSES_S:
        try:
            return await read()
        except sqlite3.Error as error:
            say(f"The log cannot be read just now ({error}). Trying again.")
            await asyncio.sleep(pause)
    return await read()
