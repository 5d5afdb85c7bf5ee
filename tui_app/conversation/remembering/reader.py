"""Reading one session for its board: who reads it, how far, and what its log says of it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models import Model

from tui_app.agent.errors import describe_error
from tui_app.agent.shelf import ModelShelf
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.governor import ContextGovernor
from tui_app.context.history import ListHistory
from tui_app.context.policy import OFF
from tui_app.context.view import Item
from tui_app.events import MemoryConsolidated, SessionRestored, SessionRewind
from tui_app.memory.board import ContextBoard
from tui_app.memory.consolidate import Outcome, Task, ask, extract
from tui_app.memory.consolidation_agent import ConsolidationAgent
from tui_app.memory.scope import Scope
from tui_app.memory.store import BoardStore
from tui_app.session.event_heads import MESSAGES
from tui_app.session.location import Database
from tui_app.session.port import SessionInfo
from tui_app.session.stores import open_store
from tui_app.settings.memory import MemorySettings

_log = logging.getLogger(__name__)
_KEEP_DUE = -1.0
"""No session was ever asked for at this time."""


@dataclass(slots=True)
class SessionReader:
    """Reads sessions, each by its own model unless one is set for all of them.

    What was said to one provider is never sent to another by itself.
    """

    boards: BoardStore
    database: Database
    shelf: ModelShelf
    text: TextCounter
    settings: MemorySettings
    timeout_s: float
    """Seconds a model may take for one session."""
    observers: Sequence[AbstractCapability[Any]] = ()
    told: Callable[[], object] = field(default=lambda: None)
    """Called after changes, to have them told."""

    async def read(self, session: SessionInfo, scope: Scope, model: str = "") -> MemoryConsolidated | None:
        """Read what has been said in a session since it was read last.

        Args:
            session: Which one.
            scope: Whose board is kept.
            model: Name of the model that reads it; empty is its own, or the one that is set.

        Returns:
            What came of it; None where there is nothing new. Whatever a model fails at, rules do.

        Raises:
            sqlite3.Error: if the file cannot be used.
        """
        started = monotonic()
        after = await asyncio.to_thread(self.boards.read_until, session.id)
        items = await asyncio.to_thread(said_in, self.database, session.id)
        folders = (session.cwd, scope.folder or scope.repository)
        task = Task(items=items, session=session.id, after=after, folders=folders)
        if task.until <= after:
            return None
        board = ContextBoard(self.boards, scope, self.settings.max_entries)
        done = await self._read(task, model or self.settings.model or session.model, board)
        await asyncio.to_thread(self.boards.done, session.id, task.until, asked=_KEEP_DUE)
        self.told()
        return replace(done, read_until=task.until, duration_s=round(monotonic() - started, 3))

    async def _read(self, task: Task, name: str, board: ContextBoard) -> MemoryConsolidated:
        agent, why = await self._agent(name)
        if agent is not None:
            try:
                async with asyncio.timeout(self.timeout_s):
                    outcome = await ask(task, board, agent, name, self.told, lambda to: self._note(task, to))
                return _ended(outcome, agent, name)
            except TimeoutError:
                why = f"{name} took longer than {self.timeout_s:g} seconds"
            except Exception as error:  # a provider may raise anything; rules need none
                _log.info("%s could not read %s: %s", name, task.session, error)
                why = describe_error(error, model=name).message.rstrip(".")
        outcome = await extract(task, board, self.told)
        return _ended(outcome, agent, "", why)

    def _note(self, task: Task, until: int) -> None:
        """Parts that have been read need not be paid for twice, should the rest be cut off."""
        self.boards.done(task.session, until, asked=_KEEP_DUE)

    async def _agent(self, name: str) -> tuple[ConsolidationAgent | None, str]:
        """Who asks a model, or why there is none; for what was held without a model no reason."""
        if not name:
            return None, ""
        try:
            model = await self.shelf.get(name)
        except Exception as error:  # an SDK may raise anything
            return None, describe_error(error, model=name).message.rstrip(".")
        if model.system == "offline":
            return None, ""
        return self._of(model), ""

    def _of(self, model: Model) -> ConsolidationAgent:
        limits, counter = self.shelf.limits, TokenCounter(self.text)
        # A request like any other: it is repaired, measured and guarded, only never compacted.
        guard = ContextGovernor(
            OFF, history=ListHistory(counter), compactor=None, counter=counter, limits=limits
        )
        return ConsolidationAgent(
            model=model,
            count=lambda text: round(self.text.count(text) * limits.factor(model)),
            budget=lambda: limits.window(model).effective,
            capabilities=[guard, *self.observers],
        )


def _ended(
    outcome: Outcome, agent: ConsolidationAgent | None, model: str, reason: str = ""
) -> MemoryConsolidated:
    spent = agent.spent if agent is not None else None
    return MemoryConsolidated(
        outcome="success",
        performed_by="model" if model else "extraction",
        model=model,
        parts=outcome.parts,
        added=outcome.added,
        pruned=outcome.pruned,
        refused=outcome.refused,
        reason=reason,
        input_tokens=spent.input_tokens if spent else 0,
        output_tokens=spent.output_tokens if spent else 0,
        cost_usd=spent.cost_usd if spent else None,
    )


def said_in(database: Database, session: str) -> list[Item]:
    """Everything that was said in a session and not taken back, as it was said, oldest first.

    Opens the file by itself: meant for a thread.

    Raises:
        sqlite3.Error: if the file cannot be used.
    """
    store = open_store(database, read_only=True)
    texts: dict[int, str] = {}
    models: dict[int, str] = {}
    before: dict[int, dict[int, str]] = {}
    try:
        for record, message in store.records(session):
            if isinstance(record.data, SessionRewind):
                before[record.seq] = texts
                texts = {seq: text for seq, text in texts.items() if seq < record.data.to}
            elif isinstance(record.data, SessionRestored):
                texts = before.get(record.data.cut, texts)
            elif message is not None and record.data.TYPE in MESSAGES:
                texts[record.seq] = message
                models[record.seq] = str(getattr(record.data, "model", ""))
    finally:
        store.close()
    messages = ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts.values())}]")
    return [Item(seq, message, 0, models[seq]) for seq, message in zip(texts, messages, strict=True)]
