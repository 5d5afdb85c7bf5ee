"""Reading of one session for memory, by a model or by rules."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

from pydantic_ai.capabilities import AbstractCapability

from tui_app.agent.errors import describe_error
from tui_app.agent.model_shelf import ModelShelf
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.governor import request_guard
from tui_app.context.views.view import Item
from tui_app.conversation.history.view_messages import ViewMessages, original_heads
from tui_app.conversation.memory.board_log import BoardLog
from tui_app.conversation.requests.open_request import Opening
from tui_app.events import MemoryConsolidated
from tui_app.memory.board import ContextBoard
from tui_app.memory.consolidation import ConsolidationAgent, Outcome, Task, ask, extract
from tui_app.memory.scope import Scope
from tui_app.providers import OFFLINE
from tui_app.records import like, picked
from tui_app.session.exclusions import excluded_in
from tui_app.session.stores.database import Database, open_store
from tui_app.session.stores.store import SessionInfo
from tui_app.settings.spec import MemorySettings

_log = logging.getLogger(__name__)
_KEEP_DUE = -1.0
"""A request time that no session has."""


@dataclass(slots=True)
class SessionReader:
    """Reads sessions, each with its own model, unless one is set for all.

    Text sent to one provider is never sent to another automatically.
    """

    telling: BoardLog
    opening: Opening
    shelf: ModelShelf
    text: TextCounter
    observers: Sequence[AbstractCapability[Any]] = ()

    @property
    def settings(self) -> MemorySettings:
        return MemorySettings(**self.opening.settings.memory)

    async def consolidate(
        self, session: SessionInfo, scope: Scope, model: str = ""
    ) -> MemoryConsolidated | None:
        """Read what is new in a session since the last reading, and log the result there.

        Args:
            session: Which one.
            scope: Whose board is updated.
            model: Name of the model that reads it; empty for the one that is set, or the session's own.

        Returns:
            The result; None if there is nothing new. If a model fails, rules read the session.

        Raises:
            sqlite3.Error: if the file cannot be used.
        """
        started = monotonic()
        boards = self.telling.boards
        after = await asyncio.to_thread(boards.read_until, session.id)
        items = await asyncio.to_thread(messages_of, self.opening.database, session.id)
        folders = (session.cwd, scope.folder or scope.repository)
        task = Task(items=items, session=session.id, after=after, folders=folders)
        if task.until <= after:
            return None
        board = ContextBoard(boards, scope, self.settings.max_entries)
        done = await self._ask(task, model or self.settings.model or session.model, board)
        await asyncio.to_thread(boards.mark_read, session.id, task.until, asked=_KEEP_DUE)
        self.telling.write_pending()
        done = replace(done, read_until=task.until, duration_s=round(monotonic() - started, 3))
        self.telling.note_reading(session.id, done)
        return done

    async def _ask(self, task: Task, name: str, board: ContextBoard) -> MemoryConsolidated:
        """Read with a model, or with rules if there is none or it fails."""

        def note(until: int) -> None:
            # Record progress, so that no part is paid for twice if the rest is interrupted.
            self.telling.boards.mark_read(task.session, until, asked=_KEEP_DUE)

        timeout_s = self.opening.settings.summary_timeout_s
        agent, why = await self._agent(name)
        if agent is not None:
            try:
                async with asyncio.timeout(timeout_s):
                    outcome = await ask(task, board, agent, name, self.telling.write_pending, note)
                return _ended(outcome, agent, name)
            except TimeoutError:
                why = f"{name} took longer than {timeout_s:g} seconds"
            except Exception as error:  # a provider may raise anything; rules need none
                _log.info("%s could not read %s: %s", name, task.session, error)
                why = describe_error(error, model=name).message.rstrip(".")
        outcome = await extract(task, board, self.telling.write_pending)
        return _ended(outcome, agent, "", why)

    async def _agent(self, name: str) -> tuple[ConsolidationAgent | None, str]:
        """The agent that asks the model, or why there is none; empty for a session without a model."""
        if not name:
            return None, ""
        try:
            model = await self.shelf.get(name)
        except Exception as error:  # an SDK may raise anything
            return None, describe_error(error, model=name).message.rstrip(".")
        if model.system == OFFLINE:
            return None, ""
        limits = self.shelf.limits
        agent = ConsolidationAgent(
            model=model,
            count=lambda text: round(self.text.count(text) * limits.factor(model)),
            budget=lambda: limits.window(model).effective,
            capabilities=[request_guard(self.text, limits), *self.observers],
        )
        return agent, ""


def _ended(
    outcome: Outcome, agent: ConsolidationAgent | None, model: str, reason: str = ""
) -> MemoryConsolidated:
    spent = picked(agent.spent, "input_tokens output_tokens cost_usd") if agent is not None else {}
    by = {"performed_by": "model" if model else "extraction", "model": model}
    return like(MemoryConsolidated, outcome, outcome="success", reason=reason, **by, **spent)


def messages_of(database: Database, session: str) -> list[Item]:
    """All messages of a session that are neither undone nor excluded, oldest first.

    Opens the file itself: meant for a thread.

    Raises:
        sqlite3.Error: if the file cannot be used.
    """
    with closing(open_store(database, read_only=True)) as store:
        excluded = excluded_in(store, session).since
        heads = original_heads(store.heads(session), cleared=True)
        heads = [head for head in heads if head.seq not in excluded]
        messages = ViewMessages(partial(store.message, session))
        messages.load(heads)
        return [Item(head.seq, messages.of(head), 0, head.model) for head in heads]
