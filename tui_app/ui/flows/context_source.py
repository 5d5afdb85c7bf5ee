"""What the context screen shows of a session, and what it asks of it."""

import asyncio
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.conversation.message_actions import Outlook, on_scale
from tui_app.conversation.work import Work
from tui_app.events import ViewRewrite
from tui_app.session.entries import Body, Entry
from tui_app.session.lock import SessionLocked
from tui_app.session.request_ledger import growths, ledger, scaled, turns_left
from tui_app.session.stats import SessionStats
from tui_app.session.stats_reader import StatsReader
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.chat_state import ChatState
from tui_app.ui.flows.extras import overview
from tui_app.ui.gauge_marks import marks
from tui_app.ui.screens.context_text import ContextView

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession


MOST_READS = 200
"""So many of the newest results are held against their files."""


class SessionContext:
    """Reads one session for the context screen.

    Args:
        session: Which one.
    """

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._stats = StatsReader(session.launch.database, session.id)
        self._notes: dict[int, tuple[str, ...]] = {}

    @property
    def version(self) -> object:
        """The newest event shown, the gauge, the policy, and what is asked or under way."""
        state = self._session.state
        under_way = state.turn, compacting_text(state), state.question is not None
        return self._session.presenter.last, state.usage, state.policy, state.locked, state.answer, *under_way

    async def read(self) -> ContextView:
        """All that is shown, as it is now; the figures of the log are read in a thread."""
        outlook, stats = await self.outlook(0), await self._figures()
        session = self._session
        state, view = session.state, session.presenter.agent_view
        titles = {entry.result_seq or entry.seq: entry.title for entry in session.presenter.view.entries}
        background, blocking = marks(session.launch.settings, state.usage, state.policy)
        rows, shares, left = ledger(view, titles), (await overview(session)).shares, None
        if state.usage is not None:
            factor = state.usage.scale
            rows, shares = scaled(rows, factor), on_scale(shares, state.usage.parts)
            grown = [round(turn * factor) for turn in growths(view, running=bool(state.turn))]
            left = turns_left(grown, state.usage.total, int(state.usage.window.stated * background))
        await self._learn_notes({row.form[0] for row in rows} - self._notes.keys() - {0})
        return ContextView(
            usage=state.usage,
            rows=tuple(rows),
            background=background,
            blocking=blocking,
            turns_left=left,
            saved=stats.stages,
            compacting=compacting_text(state),
            locked=bool(state.locked),
            asking=state.question is not None,
            answer=state.answer,
            outlook=outlook,
            shares=shares,
        )

    async def _figures(self) -> SessionStats:
        try:
            return await asyncio.to_thread(self._stats.read)
        except (sqlite3.Error, OSError):
            return self._stats.known  # the next look may succeed

    async def outlook(self, *seqs: int) -> Outlook:
        """What may be done with some items; nothing where the session can only be looked at."""

        async def look(opened: "OpenSession") -> Outlook:
            return opened.conversation.outlook(*seqs)

        if self._session.read_only:
            return Outlook()
        try:
            return await self._session.link.ask(look)
        except SessionLocked:
            return Outlook()

    async def stale(self) -> Mapping[int, str]:
        """Which results of reading a file are out of date; files are read again in a thread."""
        session = self._session
        shown = {head.seq for head in session.presenter.agent_view.visible()}
        held = [each for each in session.presenter.view.entries if each.result_seq in shown]
        reads = [each for each in held if each.title.startswith("read_file")][-MOST_READS:]
        bodies = await session.bodies.read(reads)
        return await asyncio.to_thread(_stale, session.launch.cwd, reads, bodies)

    def note(self, form: tuple[int, int]) -> str:
        """What was done to an item of the view that was read last."""
        rewrite, place = form
        notes = self._notes.get(rewrite, ())
        return notes[place] if place < len(notes) else ""

    async def _learn_notes(self, rewrites: Collection[int]) -> None:
        """Read what stages have noted, each event once."""
        for seq, record in (await self._session.bodies.records(sorted(rewrites))).items():
            changes = record.data.changes if isinstance(record.data, ViewRewrite) else ()
            self._notes[seq] = tuple(change.note for change in changes)

    def submit(self, work: Work) -> str:
        """Ask for something; why it cannot be done, empty when it was asked for."""
        return "" if self._session.submit(work) else self._session.read_only

    def cancel_compaction(self) -> None:
        """Stop the compaction that is under way; a turn goes on."""
        self._session.link.cancel_compaction()


def compacting_text(state: ChatState) -> str:
    """What is said of a compaction that is under way; empty where none is."""
    if state.reviewing:
        return "a summary waits for your decision"
    if state.compacting:
        return "compacting now: x cancels it"
    return "compacting in the background: x cancels it" if state.background is not None else ""


def _stale(folder: Path, entries: Sequence[Entry], bodies: Sequence[Body]) -> Mapping[int, str]:
    # The tools belong to the agent side, which is there by now or is not waited for.
    from tui_app.agent.tools.workspace import Workspace
    from tui_app.conversation.file_snapshots import Read, stale_reads

    reads = [Read(each.result_seq, body.args, body.text) for each, body in zip(entries, bodies, strict=True)]
    return stale_reads(reads, Workspace(folder))
