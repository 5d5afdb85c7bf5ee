"""What is said, once, of a terminal that does not tell keys apart."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from tui_app.atomic import write_atomic
from tui_app.tmux import tmux_option
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.keys import in_force, key_labels

_LOG = logging.getLogger(__name__)
_NEVER_APART = frozenset({"shift+enter", "ctrl+enter"})
"""Keys that arrive as ``enter`` where keys are not extended."""


async def tell_of_keys(session: ChatSession, *, ask: Callable[[str], str] = tmux_option) -> None:
    """Name the key for a new line inside a tmux that passes shift+enter on as enter, if nobody has yet.

    It stays among the notices until it is read, and is not said again at any later start.

    Args:
        session: Where it is said.
        ask: Gives the value of an option of tmux; called in a thread.
    """
    launch = session.launch
    told = launch.paths.told_of_tmux_file
    if not launch.env.get("TMUX") or await asyncio.to_thread(told.exists):
        return
    if await asyncio.to_thread(ask, "extended-keys") != "off":
        return
    session.report(keys_text(launch.settings.keymap))
    try:
        await asyncio.to_thread(write_atomic, told, "")
    except OSError as error:  # it is said once more: no harm
        _LOG.warning("that tmux was told of could not be noted: %s", error)


def keys_text(keymap: Mapping[str, str]) -> str:
    """What does not work, what does instead, and how to change it.

    Args:
        keymap: Keys of the actions that have others than the built-in ones.
    """
    keys = next(key.key for key in in_force(keymap) if key.id == "prompt.newline").split(",")
    works = [key_labels(key) for key in keys if key not in _NEVER_APART]
    way = f"{works[0]} starts a new line" if works else "give prompt.newline another key in /settings"
    return f"tmux passes shift+enter on as enter: {way}. In tmux.conf, set -s extended-keys on changes that."
