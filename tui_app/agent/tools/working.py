"""The tools that change something, as the model sees them. First each asks its gate with what it would do."""

import asyncio
import functools
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic_ai import ModelRetry, RunContext, ToolDenied

from tui_app.agent.approvals.action import Action, Gate
from tui_app.agent.approvals.commands import plain_words
from tui_app.agent.approvals.policy import Judge
from tui_app.agent.tools.file_changes import (
    FileChange,
    carry_out,
    check_unchanged,
    plan_edit,
    plan_write,
)
from tui_app.agent.tools.locks import FileLocks
from tui_app.agent.tools.looking import READ, Looking
from tui_app.agent.tools.process import CommandStopped, Ended, ProcessRunner
from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.process_group import NotStarted

T = TypeVar("T")
SHELL = "/bin/sh"
GUARDED_FOLDERS = frozenset({".git", ".hg", ".svn"})
"""What stands in them may be run by the next harmless command: no pattern allows writing there."""
LONGEST_COMMAND = 20_000
"""Characters."""
LONGEST_S = 3_600.0
"""Seconds a model may ask for."""
_RESULT_DIFF = 3_000
"""Characters of the diff that the model is shown of an edit."""


class Keeper(Protocol):
    """Keeps what a file held, so that it can be brought back."""

    async def keep(self, change: FileChange, call: str) -> None:
        """Store it and write down what is about to happen.

        Raises:
            OSError: if the disk refuses; the file must not be changed then.
        """
        ...


@dataclass(frozen=True, slots=True)
class FileTools:
    """Writing and editing files; the docstrings of the tools are what the model reads."""

    workspace: Workspace
    gate: Judge
    keeper: Keeper
    locks: FileLocks = field(default_factory=FileLocks)
    arriving: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def write_file(self, ctx: RunContext[Any], path: str, content: str) -> str | ToolDenied:
        """Write a whole file.

        Args:
            ctx: The run.
            path: Path relative to the workspace.
            content: All that it is to hold.
        """
        return await self._change(ctx, path, functools.partial(plan_write, self.workspace, path, content))

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
        plan = functools.partial(plan_edit, self.workspace, path, old_text, new_text, every=every)
        return await self._change(ctx, path, plan)

    async def _change(
        self, ctx: RunContext[Any], path: str, plan: Callable[[], FileChange]
    ) -> str | ToolDenied:
        with told():
            # In the order of the calls: whoever comes later is asked about later, and must not hold the file.
            async with self.arriving:
                real: Path = await on_thread(lambda: self.workspace.writable(path))
            # Held while a person thinks: the next change of this file is planned on what comes of this one.
            async with self.locks.hold(real):
                # What the model is told of a change shows what the file held before.
                looking = Looking(self.workspace, self.gate)
                there = await on_thread(real.exists)
                if there and (declined := await looking.declined(ctx, path, tool=READ)):
                    return ToolDenied(declined)
                change = await on_thread(plan)
                action = file_action(change, ctx.tool_name or "", ctx.tool_call_id or "")
                if declined := await self.gate(action):
                    return ToolDenied(declined)
                await on_thread(lambda: check_unchanged(self.workspace, change))
                await self.keeper.keep(change, ctx.tool_call_id or "")
                await on_thread(lambda: carry_out(self.workspace, change))
        shown = _clipped(change.diff) if change.before is not None else ""
        return f"{change.shown}: {change.note}\n{shown}".rstrip()


def file_action(change: FileChange, tool: str, call: str) -> Action:
    """What a change of a file is asked about as."""
    parts = {part.casefold() for part in Path(change.shown).parts}
    inner = next(iter(sorted(parts & GUARDED_FOLDERS)), "")
    guarded = f"files in {inner} can make programs run" if inner else ""
    return Action(
        tool=tool,
        kind="file",
        subject=change.shown,
        detail=change.diff,
        note=change.note,
        guarded=guarded,
        call=call,
    )


@dataclass(frozen=True, slots=True)
class CommandTool:
    """Running commands in the workspace."""

    runner: ProcessRunner
    gate: Gate
    shown: Callable[[str, str], None]
    """Is handed what a command prints, behind the id of its call."""
    timeout_s: float = 120.0
    """Seconds a command may take when the model names none."""
    cut_short: MutableMapping[str, str] = field(default_factory=dict)
    """Where is noted, by the id of its call, what a command had printed that was stopped."""

    async def run_command(
        self, ctx: RunContext[Any], command: str, timeout_s: float = 0.0
    ) -> str | ToolDenied:
        """Run a command line in the workspace. It has no input; what it leaves running is ended.

        Args:
            ctx: The run.
            command: The command line.
            timeout_s: Seconds it may take; 0 is the usual limit.
        """
        call = ctx.tool_call_id or ""
        with told():
            words, note = _program(command)
            limit = min(max(1.0, timeout_s or self.timeout_s), LONGEST_S)
            action = Action(
                tool=ctx.tool_name or "run_command",
                kind="command",
                subject=command,
                detail=f"in {self.runner.cwd}",
                note=f"{note}, at most {limit:g} s",
                call=call,
            )
            if declined := await self.gate(action):
                return ToolDenied(declined)
            try:
                ended = await self.runner.run(words, limit, lambda text: self.shown(call, text))
            except CommandStopped as stopped:
                self.cut_short[call] = stopped.printed
                raise
            return command_result(ended, limit)


def _program(command: str) -> tuple[tuple[str, ...], str]:
    """The words to start, and in words how.

    Raises:
        ToolProblem: if it is no command line.
    """
    if not command.strip() or "\0" in command or len(command) > LONGEST_COMMAND:
        raise ToolProblem(f"Give a command line of at most {LONGEST_COMMAND:,} characters.")
    if (words := plain_words(command)) is not None:
        return words, "without a shell"
    return (SHELL, "-c", command), "through a shell"


def command_result(ended: Ended, limit_s: float) -> str:
    """How a command ended, and what it printed."""
    if ended.timed_out:
        how = f"Timed out after {limit_s:g} s and was ended with all it had started."
    elif ended.code is not None and ended.code < 0:
        how = f"Ended by signal {-ended.code} after {ended.duration_s:.1f} s."
    else:
        how = f"Exit code {ended.code} after {ended.duration_s:.1f} s."
    return f"{how}\n{ended.text}".rstrip("\n")


@contextmanager
def told() -> Iterator[None]:
    """Turn what a tool cannot do into what the model reads about it.

    Raises:
        ModelRetry: for what was wrong with the call, and for what the disk or the system refuses.
    """
    try:
        yield
    except ToolProblem as problem:
        raise ModelRetry(str(problem)) from problem
    except NotStarted as problem:
        raise ModelRetry(f"The command cannot be started: {problem}.") from problem
    except OSError as error:
        raise ModelRetry(f"That could not be done: {error.strerror or error}.") from error


async def on_thread(work: Callable[[], T]) -> T:
    """Run short blocking work off the loop; when cancelled it is waited for: a file is never half ours."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise


def _clipped(diff: str) -> str:
    if len(diff) <= _RESULT_DIFF:
        return diff
    return f"{diff[:_RESULT_DIFF]}\n[the rest of the diff is left out]"
