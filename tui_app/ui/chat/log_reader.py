"""What the screen reads of a log: before the agent side is there, and while another window writes it."""

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
    """What settings and earlier errors say of a model; without them it is unknown until the model is built.

    Args:
        launch: Settings, and the file of what was learnt.
        model: Full name.
    """
    prefix, _, name = model.partition(":")
    endpoint = launch.settings.endpoints.get(prefix)
    learnt = LearntModels(launch.paths.learnt_file).limit_anywhere(name)
    told = endpoint.window if endpoint is not None else OFFLINE_WINDOW if model == OFFLINE_MODEL else None
    setting = launch.settings.window
    if not (setting or learnt or told):
        return UNKNOWN
    return resolve_window(setting=setting, learnt=learnt, model=told)


def preview_of(launch: Launch, session: str) -> Preview:
    """Read what is shown of a session at once, with the window of a model that was never asked anything.

    Raises:
        SessionNotFound: if the id fits no session.
        sqlite3.Error: if the log cannot be read.
    """
    preview = load_preview(launch.database, session)
    return replace(preview, known=with_window(launch, preview.info, preview.known, chosen=launch.model))


def with_window(launch: Launch, info: SessionInfo, known: Known, *, chosen: str = "") -> Known:
    """What the log knows, with the window of a model that was never asked anything in this session.

    Args:
        launch: What the program was started with.
        info: The session's line in the list.
        known: What its log knows.
        chosen: Model that whoever is to write it has chosen; empty for whoever only looks on.
    """
    if known.window is not UNKNOWN:
        return known
    return replace(known, window=known_window(launch, chosen or info.model or launch.first_model))


T = TypeVar("T")
PAUSES_S = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait in front of each further attempt."""
AGAIN = "The log cannot be read just now ({}). Trying again."


async def persistently(read: Callable[[], Awaitable[T]], say: Callable[[str], None]) -> T:
    """Read, and try again a few times where the log refuses.

    Args:
        read: Reads; whatever it does may be done again.
        say: Tells the user what is waited for.

    Raises:
        sqlite3.Error: if the log refuses for longer.
    """
    for pause in PAUSES_S:
        try:
            return await read()
        except sqlite3.Error as error:
            say(AGAIN.format(error))
            await asyncio.sleep(pause)
    return await read()
