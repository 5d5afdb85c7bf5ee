"""Which keys act on the row under the cursor, for the bottom row: what would be refused is not named."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Set
from functools import partial
from typing import TYPE_CHECKING

from tui_app.files import write_atomic
from tui_app.session.entries import Entry
from tui_app.ui.chat.pane import ChatHints
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.message import PINNABLE
from tui_app.ui.dialogs.rewind import part_of
from tui_app.ui.gauge import ContextGauge
from tui_app.ui.keys import RowState, in_force, key_labels, keys_of
from tui_app.ui.terminal_input import tmux_option
from tui_app.ui.transcript.transcript import why_not_undone

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Chat

RESTS_S = 0.15
"""Seconds on a row after which somebody looks at it, and does not only pass."""


def follow_rows(screen: "Chat") -> None:
    """Look again whenever another row, or the conversation, may make other keys act."""
    pane = screen.pane
    hints, gauge = pane.query_one(ChatHints), pane.query_one(ContextGauge)

    def look() -> None:
        if screen.focused is pane.transcript:
            # What makes a coroutine: the next key may cancel a worker before it has begun.
            screen.work(partial(_look, screen, hints), group="row keys")

    screen.watch(pane.transcript, "cursor", look, init=False)
    screen.watch(screen, "focused", look, init=False)
    screen.watch(hints, "locked", look, init=False)
    for changes in ("usage", "compacting"):
        screen.watch(gauge, changes, look, init=False)


async def _look(screen: "Chat", hints: ChatHints) -> None:
    session, transcript = screen.session, screen.pane.transcript
    entry = transcript.cursor_entry
    if entry is None:
        hints.acting = _named({"none" if transcript.cursor is None else "live"})
        return
    alone: set[RowState] = {"any"}
    if entry.kind in PINNABLE:
        alone.add("pinnable")
    if _can_undo(session, entry):
        alone.add("undoable")
    # Until the agent side has answered, the row keeps its words: it would flicker with every step.
    hints.acting = _named(alone) | (hints.acting & _named({"up_to", "from"}))
    # In a long conversation an answer takes the agent side a tenth of a second: not at every step on the way.
    await asyncio.sleep(RESTS_S)
    hints.acting = _named(alone | await _parts(session, entry))


def _named(states: Set[RowState]) -> frozenset[str]:
    """The keys that act where a row is in some of these states."""
    return frozenset(key.label for key in keys_of("transcript") if not states.isdisjoint(key.rows))


def _can_undo(session: ChatSession, entry: Entry) -> bool:
    view = session.presenter.agent_view
    if why_not_undone(entry):
        return False
    match entry.kind:
        case "files":
            return True
        case "compaction":
            return entry.seq in view.compactions[-1:]
        case _:
            return entry.seq in (*view.rewrites, *view.reversible) or bool(view.edited_by(entry.seq))


async def _parts(session: ChatSession, entry: Entry) -> Set[RowState]:
    """Which of the parts that begin or end with the row can be compacted."""
    if session.read_only or session.conversation is None or entry.seq <= 0:
        return frozenset()

    async def look(opened: "OpenSession") -> Set[RowState]:
        may = opened.conversation.may_compact
        ends = may(part_of(entry, up_to=True))
        begins = may(part_of(entry, up_to=False))
        return {*(("up_to",) if ends else ()), *(("from",) if begins else ())}

    return await session.ask(look)


# What is said, once, of a terminal that does not tell keys apart.

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
