"""Keys that act on the row under the cursor."""

import asyncio
from collections.abc import Set
from functools import partial
from typing import TYPE_CHECKING

from tui_app.chat_keys import RowState
from tui_app.ui.chat.pane import ChatHints
from tui_app.ui.dialogs.actions import part_of
from tui_app.ui.dialogs.message_actions import PINNABLE
from tui_app.ui.keyboard.keys import keys_of
from tui_app.ui.transcript.transcript import why_not_undone
from tui_app.ui.words.load import Load

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Chat

RESTS_S = 0.15
"""Seconds on a row after which the user is taken to look at it rather than to pass it."""


def follow_rows(screen: "Chat") -> None:
    """Update the keys whenever the row or the conversation changes which of them work."""
    pane = screen.pane
    hints = pane.hints

    def look() -> None:
        if screen.focused is pane.transcript:
            # A function that makes the coroutine: the next key may cancel the worker before it starts.
            screen.work(partial(_look, screen, hints), group="row keys")

    def measured(before: Load, now: Load) -> None:
        if now.usage != before.usage:
            look()

    screen.watch(pane.transcript, "cursor", look, init=False)
    screen.watch(screen, "focused", look, init=False)
    screen.watch(hints, "locked", look, init=False)
    screen.watch(pane.gauge, "load", measured, init=False)


async def _look(screen: "Chat", hints: ChatHints) -> None:
    session, transcript = screen.session, screen.pane.transcript
    entry = transcript.cursor_entry
    if entry is None:
        hints.acting = _named({"none" if transcript.cursor is None else "live"})
        return
    alone: set[RowState] = {"any"}
    if entry.kind in PINNABLE:
        alone.add("pinnable")
    view = session.presenter.agent_view
    if entry.guard:
        undoable = entry.guard in session.guards
    elif why_not_undone(entry):
        undoable = False
    elif entry.kind == "compaction":
        undoable = entry.seq in view.compactions[-1:]
    else:
        changes = (*view.rewrites, *view.exclusions, *view.reversible)
        undoable = entry.kind == "files" or entry.seq in changes or bool(view.edited_by(entry.seq))
    if undoable:
        alone.add("undoable")
    # Until the agent side answers, these keys stay as they are, so that they do not flicker with every step.
    hints.acting = _named(alone) | (hints.acting & _named({"up_to", "from"}))
    # In a long conversation the agent side takes a tenth of a second, too long for every row passed.
    await asyncio.sleep(RESTS_S)
    if session.conversation is not None and not session.read_only and entry.seq > 0:

        def parts(opened: "OpenSession") -> Set[RowState]:
            sides: dict[RowState, bool] = {"up_to": True, "from": False}
            may = opened.conversation.compactions.may
            return {side for side, up_to in sides.items() if may(part_of(entry, up_to=up_to))}

        alone |= await session.ask(parts)
    hints.acting = _named(alone)


def _named(states: Set[RowState]) -> frozenset[str]:
    return frozenset(key.label for key in keys_of("transcript") if not states.isdisjoint(key.rows))
