"""Which keys act on the row under the cursor, for the bottom row: what would be refused is not named."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from tui_app.session.entries import Entry
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.restating import part_of
from tui_app.ui.flows.selection import PINNABLE
from tui_app.ui.widgets.chat_hints import ChatHints
from tui_app.ui.widgets.gauge import ContextGauge
from tui_app.ui.widgets.refusals import why_not_undone

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.screens.chat import ChatScreen

RESTS_S = 0.15
"""Seconds on a row after which somebody looks at it, and does not only pass."""
_PARTS = {"<": True, ">": False}
"""Keys that compact a part, and whether it ends with the row."""


def follow_rows(screen: "ChatScreen") -> None:
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


async def _look(screen: "ChatScreen", hints: ChatHints) -> None:
    session, transcript = screen.session, screen.pane.transcript
    entry = transcript.cursor_entry
    if entry is None:
        hints.acting = frozenset({"ctrl+o", "up"} if transcript.cursor is None else {"enter"})
        return
    alone = _alone(session, entry)
    # Until the agent side has answered, the row keeps its words: it would flicker with every step.
    hints.acting = alone | (hints.acting & _PARTS.keys())
    # In a long conversation an answer takes the agent side a tenth of a second: not at every step on the way.
    await asyncio.sleep(RESTS_S)
    hints.acting = alone | await _parts(session, entry)


def _alone(session: ChatSession, entry: Entry) -> frozenset[str]:
    """What can be done with the row by itself."""
    pins = {"p"} if entry.kind in PINNABLE else set()
    return frozenset({"enter", "v", "ctrl+o"} | pins | ({"u"} if _can_undo(session, entry) else set()))


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


async def _parts(session: ChatSession, entry: Entry) -> frozenset[str]:
    """Which of the parts that begin or end with the row can be compacted."""
    if session.read_only or not session.link.ready or entry.seq <= 0:
        return frozenset()

    async def look(opened: "OpenSession") -> frozenset[str]:
        may = opened.conversation.may_compact
        return frozenset(key for key, up_to in _PARTS.items() if may(part_of(entry, up_to=up_to)))

    return await session.link.ask(look)
