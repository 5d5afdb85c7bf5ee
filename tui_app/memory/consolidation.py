"""Reading a finished session for its board: by a model where there is one, else by rules."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_app.context.view import Item
from tui_app.memory.board import ContextBoard
from tui_app.memory.consolidation_agent import BoardTool, ConsolidationAgent
from tui_app.memory.entries import Draft, NotRemembered
from tui_app.memory.evidence import drafts_of, evidence_of, parts_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to read."""

    items: Sequence[Item]
    """Every message of the session as it was said, oldest first."""
    session: str
    after: int = 0
    """Log number up to which it has been read before."""
    folders: tuple[str, ...] = ()
    """Where it was held, and the repository's."""

    @property
    def until(self) -> int:
        """Log number of its last message."""
        return max((item.key for item in self.items), default=self.after)


@dataclass(slots=True)
class Outcome:
    """What came of it so far."""

    added: int = 0
    pruned: int = 0
    refused: int = 0
    parts: int = 0

    def note(self, tool: BoardTool) -> None:
        """Take over what a model has done."""
        self.added, self.pruned, self.refused = tool.added, tool.pruned, tool.refused


async def extract(task: Task, board: ContextBoard, changed: Callable[[], object], before: int = 0) -> Outcome:
    """Put on the board what rules find; doing it again changes nothing.

    Args:
        task: What to read.
        board: Whose board.
        changed: Called after each change, once it is on disk.
        before: Leave out what comes from this log number on; 0 leaves nothing out.
    """
    # Finding them takes a second for a long session, and nothing is changed meanwhile.
    drafts = await asyncio.to_thread(drafts_of, task.items, task.session, task.after, task.folders)
    outcome = Outcome(parts=1)
    for draft in drafts:
        if not before or draft.seq < before:
            await asyncio.to_thread(_put, draft, board, outcome)
            changed()
    return outcome


def _put(draft: Draft, board: ContextBoard, outcome: Outcome) -> None:
    try:
        done = board.add(draft)
    except NotRemembered:
        outcome.refused += 1
        return
    outcome.added += done.new
    outcome.pruned += len(done.pruned)


async def ask(
    task: Task,
    board: ContextBoard,
    agent: ConsolidationAgent,
    name: str,
    changed: Callable[[], object],
    read: Callable[[int], None],
) -> Outcome:
    """Let a model keep the board; of a session too long for it rules read the beginning.

    Args:
        task: What to read.
        board: Whose board.
        agent: Asks the model.
        name: Name of the model, for the entries it makes.
        changed: Called after each change, once it is on disk.
        read: Told the log number up to which everything has been read.

    Raises:
        Exception: whatever a request raises; what was done before stands.
    """
    fresh = [item for item in task.items if item.key > task.after]
    parts = await asyncio.to_thread(parts_of, fresh, agent.part_budget, agent.count)
    evidence = await asyncio.to_thread(evidence_of, task.items)
    outcome = Outcome()
    if parts and fresh and parts[0].first > fresh[0].key:
        outcome = await extract(task, board, changed, before=parts[0].first)
    tool = BoardTool(board, evidence, task.session, name, outcome.added, outcome.pruned)
    for part in parts:
        try:
            await agent.read(part, tool)
        finally:
            outcome.note(tool)
            changed()
        outcome.parts += 1
        read(part.last)
    return outcome
