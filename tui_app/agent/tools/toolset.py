"""The tools that change files, keep notes and ask, as the model sees them."""

import asyncio
import hashlib
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import field
from functools import partial
from inspect import isfunction
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol
from weakref import WeakValueDictionary

from pydantic import BaseModel
from pydantic_ai import RunContext, ToolDenied

from tui_app.agent.approvals.rules import Action, Judge
from tui_app.agent.tools.calls import on_thread, told
from tui_app.agent.tools.edits import FileChange, carry_out, check_unchanged, plan_edit, plan_write
from tui_app.agent.tools.lookup import Looking
from tui_app.agent.tools.seen_files import seen_files
from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.files import write_atomic
from tui_app.obeyed_places import obeyed
from tui_app.records import frozen
from tui_app.tool_specs import READ_FILE, TOOLS

_RESULT_DIFF = 3_000
"""Characters of the diff that the model is shown of an edit."""


def tools_of(*owners: object) -> list[Callable[..., Any]]:
    """The methods of some objects that are tools, by their names."""
    return [
        getattr(owner, name)
        for owner in owners
        for name, value in vars(type(owner)).items()
        if name in TOOLS and isfunction(value)
    ]


class Keeper(Protocol):
    """Keeps what a file held, so that it can be brought back."""

    async def keep(self, change: FileChange, call: str) -> None:
        """Store it and write down what is about to happen.

        Raises:
            OSError: if the disk refuses; the file must not be changed then.
        """


@frozen
class FileTools:
    """Writing and editing files; the docstrings of the tools are what the model reads."""

    workspace: Workspace
    gate: Judge
    keeper: Keeper
    written: MutableMapping[Path, str] = field(default_factory=dict)
    """SHA-256 of what was written, for whoever asks about what others write."""
    locks: WeakValueDictionary[Path, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """One for each file that is being changed: calls at once must not write over each other."""
    arriving: asyncio.Lock = field(default_factory=asyncio.Lock)
    changed: Callable[[FileChange], None] = lambda _: None
    """Is told of each change, once it is made."""

    async def write_file(self, ctx: RunContext[Any], path: str, content: str) -> str | ToolDenied:
        """Write a whole file.

        Args:
            ctx: The run.
            path: Path relative to the workspace.
            content: All that it is to hold.
        """
        return await self._change(ctx, path, partial(plan_write, self.workspace, path, content))

    async def edit_file(
        self, ctx: RunContext[Any], path: str, old_text: str, new_text: str, every: bool = False
    ) -> str | ToolDenied:
        """Replace one piece of a file.

        Args:
            ctx: The run.
            path: Path relative to the workspace.
            old_text: The piece exactly as it stands there, and stands only once.
            new_text: What takes its place.
            every: Replace it wherever it stands.
        """
        plan = partial(plan_edit, self.workspace, path, old_text, new_text, every=every)
        return await self._change(ctx, path, plan)

    async def _change(
        self, ctx: RunContext[Any], path: str, plan: Callable[[], FileChange]
    ) -> str | ToolDenied:
        with told():
            # In the order of the calls: whoever comes later is asked about later, and must not hold the file.
            async with self.arriving:
                real: Path = await on_thread(lambda: self.workspace.writable(path))
            # Held while the user thinks: the next change of this file is planned on what comes of this one.
            async with self.locks.setdefault(real, asyncio.Lock()):
                # What the model is told of a change shows what the file held before.
                looking = Looking(self.workspace, self.gate)
                there = await on_thread(real.exists)
                if there and (declined := await looking.declined(ctx, path, tool=READ_FILE.name)):
                    return ToolDenied(declined)
                change = await on_thread(plan)
                seen = seen_files(ctx, self.workspace)
                await on_thread(lambda: seen.check(change))
                action = file_action(change, ctx.tool_name or "", ctx.tool_call_id or "", path)
                if declined := await self.gate(action):
                    return ToolDenied(declined)
                await on_thread(lambda: check_unchanged(self.workspace, change))
                await self.keeper.keep(change, ctx.tool_call_id or "")
                await on_thread(lambda: carry_out(self.workspace, change))
                await on_thread(lambda: seen.remember_change(change))
                self.written[change.path] = hashlib.sha256(change.after).hexdigest()
                self.changed(change)
        shown = change.diff if change.before is not None else ""
        if len(shown) > _RESULT_DIFF:
            shown = f"{shown[:_RESULT_DIFF]}\n[the rest of the diff is left out]"
        return f"{change.shown}: {change.note}\n{shown}".rstrip()


def file_action(change: FileChange, tool: str, call: str, given: str) -> Action:
    """What a change of a file is asked about as: by its own name, and by the one that was given."""
    place = obeyed(change.shown)
    return Action(
        tool=tool,
        kind="file",
        subject=change.shown,
        detail=change.diff,
        note=change.note,
        guarded=f"always asked: programs obey {place}" if place else "",
        call=call,
        spelled=(given,) if given != change.shown and not PurePosixPath(given).is_absolute() else (),
    )


# The plan and the todo list of a session, which the model keeps for itself and every compaction carries.

MAX_NOTE_CHARS = 20_000
MAX_TODOS = 100
_SIGNS = {"pending": " ", "doing": "~", "done": "x"}


class Todo(BaseModel):
    """One thing to do."""

    text: str
    state: Literal["pending", "doing", "done"] = "pending"


@frozen
class NoteTools:
    """Nobody is asked before they change: they are files of the session and say nothing to the outside."""

    plan_file: Path
    todo_file: Path

    async def todo(self, items: list[Todo]) -> str:
        """Keep the todo list of this session, all of it each time.

        Args:
            items: In order.
        """
        with told():
            if len(items) > MAX_TODOS:
                raise ToolProblem(f"A todo list has at most {MAX_TODOS} items; merge some.")
            if not all(item.text.strip() for item in items):
                raise ToolProblem("Each item of a todo list needs a text.")
            text = "\n".join(f"- [{_SIGNS[item.state]}] {' '.join(item.text.split())}" for item in items)
            await _keep(self.todo_file, text, "A todo list")
        return text or "The todo list is empty now."

    async def plan(self, text: str) -> str:
        """Keep the plan of this session, all of it each time.

        Args:
            text: Short Markdown.
        """
        kept = text.strip()
        with told():
            await _keep(self.plan_file, kept, "A plan")
        return "The plan is kept." if kept else "The plan is empty now."


async def _keep(file: Path, text: str, what: str) -> None:
    if len(text) > MAX_NOTE_CHARS:
        raise ToolProblem(f"{what} has at most {MAX_NOTE_CHARS:,} characters; shorten it.")
    await on_thread(lambda: write_atomic(file, f"{text}\n" if text else ""))


# Asking the user, who answers in words or by choosing.

_QUESTION_CHARS, _CHOICE_CHARS = 1_000, 200
_CHOICES = range(2, 7)


class Asker(Protocol):
    """Puts a question to the user."""

    async def ask(self, question: str, choices: Sequence[str], call: str) -> str:
        """Wait for the answer.

        Returns:
            What the model reads of it, whatever came of the question.
        """


@frozen
class AskTool:
    """Nobody is asked before it runs: it is the question."""

    asker: Asker

    async def ask_user(self, ctx: RunContext[Any], question: str, choices: Sequence[str] = ()) -> str:
        """Ask the user what only they can decide; look things up yourself.

        Args:
            ctx: The run.
            question: One short question.
            choices: 2 to 6 answers to choose from; leave it out to ask for words.
        """
        with told():
            asked = question.strip()
            offered = [" ".join(choice.split()) for choice in choices]
            if not asked or len(asked) > _QUESTION_CHARS:
                raise ToolProblem(f"A question has 1 to {_QUESTION_CHARS:,} characters.")
            if offered and (len(offered) not in _CHOICES or len(set(offered)) < len(offered)):
                raise ToolProblem("Give 2 to 6 different choices, or none for a free answer.")
            if not all(0 < len(choice) <= _CHOICE_CHARS for choice in offered):
                raise ToolProblem(f"A choice has 1 to {_CHOICE_CHARS} characters.")
        return await self.asker.ask(asked, offered, ctx.tool_call_id or "")
