"""The tools that change files, and the collection of tool methods."""

import asyncio
import hashlib
from collections.abc import Callable, MutableMapping
from dataclasses import field
from functools import partial
from inspect import isfunction
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from weakref import WeakValueDictionary

from pydantic_ai import RunContext, ToolDenied

from tui_app.agent.approvals.rules import Action, Judge
from tui_app.agent.tools.calls import as_model_retry, on_thread
from tui_app.agent.tools.edits import FileChange, carry_out, check_unchanged, plan_edit, plan_write
from tui_app.agent.tools.lookup import Looking
from tui_app.agent.tools.seen_files import seen_files
from tui_app.agent.tools.workspace import Workspace
from tui_app.context.history import ignore
from tui_app.records import frozen
from tui_app.system.obeyed_places import obeyed
from tui_app.tool_specs import READ_FILE, TOOLS

_RESULT_DIFF = 3_000
"""Maximum characters of an edit's diff shown to the model."""


def tools_of(*owners: object) -> list[Callable[..., Any]]:
    """The tool methods of some objects, by their names."""
    return [
        getattr(owner, name)
        for owner in owners
        for name, value in vars(type(owner)).items()
        if name in TOOLS and isfunction(value)
    ]


class Keeper(Protocol):
    """Stores a file's content, so that it can be restored."""

    async def keep(self, change: FileChange, call: str) -> None:
        """Store the content, and log the coming change.

        Raises:
            OSError: if the disk refuses; the file must not be changed then.
        """


@frozen
class FileTools:
    """Writes and edits files. The model reads the docstrings of the tools."""

    workspace: Workspace
    gate: Judge
    keeper: Keeper
    written: MutableMapping[Path, str] = field(default_factory=dict)
    """SHA-256 of written files, to recognise changes by others."""
    locks: WeakValueDictionary[Path, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """A lock per file being changed, so that concurrent calls do not overwrite each other."""
    arriving: asyncio.Lock = field(default_factory=asyncio.Lock)
    changed: Callable[[FileChange], None] = ignore
    """Called with each change, once it is made."""

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
        with as_model_retry():
            # In the order of the calls: a later call is asked about later, and must not lock the file first.
            async with self.arriving:
                real: Path = await on_thread(lambda: self.workspace.writable(path))
            # Locked while the user decides: the next change of this file is planned on the result of this
            # one.
            async with self.locks.setdefault(real, asyncio.Lock()):
                # The result of a change shows the file's previous content, so reading it must be allowed too.
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
                await on_thread(lambda: check_unchanged(change))
                await self.keeper.keep(change, ctx.tool_call_id or "")
                await on_thread(lambda: carry_out(change))
                await on_thread(lambda: seen.remember_change(change))
                self.written[change.path] = hashlib.sha256(change.after).hexdigest()
                self.changed(change)
        shown = change.diff if change.before is not None else ""
        if len(shown) > _RESULT_DIFF:
            shown = f"{shown[:_RESULT_DIFF]}\n[the rest of the diff is left out]"
        return f"{change.shown}: {change.note}\n{shown}".rstrip()


def file_action(change: FileChange, tool: str, call: str, given: str) -> Action:
    """The action to ask about for a change, by the file's own name and by the given one."""
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
