"""A program in a process group of its own: it is there or it is not, and ends with all it has started."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from tui_app.records import frozen
from tui_app.system import process_guard

_GRACE_S = 0.5
"""Seconds to wait for the pipes of a group that was killed; a process that left the group may hold them."""


_LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables without which some Pythons find no library."""


class NotStarted(Exception):
    """There is no such program or folder, or a word of the command can be no argument.

    Args:
        words: The command.
        why: The system's reason.
    """

    def __init__(self, words: Sequence[str], why: str) -> None:
        super().__init__(f"{words[0]:.200}: {why}")
        self.why = why


class Listener(asyncio.SubprocessProtocol):
    """Notes when a program has ended; a subclass that wants its output adds that."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def process_exited(self) -> None:
        """The program itself has ended; its children may go on."""
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended and no process holds its pipes."""
        self.closed.set()


L = TypeVar("L", bound=Listener)


@frozen
class ProcessGroup(Generic[L]):
    """A program that runs. Whoever started it ends it, also when it has ended by itself."""

    transport: asyncio.SubprocessTransport
    listener: L
    guard: "ProcessGroup[Listener] | None" = None
    """Ends the group where we are killed; None for the guard's own."""

    async def end(self) -> bool:
        """End the whole group and let go of its pipes; whether this was cancelled meanwhile."""
        try:
            # The guard first: behind the group's end its number may be that of another.
            if self.guard is not None:
                self.guard.kill()
            self.kill()
            return await _cancelled_during(asyncio.create_task(self._closed()))
        finally:
            self.transport.close()
            if self.guard is not None:
                self.guard.transport.close()

    def kill(self) -> None:
        """End the whole group, without waiting for it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.transport.get_pid(), signal.SIGKILL)

    async def _closed(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await self.listener.closed.wait()
                if self.guard is not None:
                    await self.guard.listener.closed.wait()


@frozen(kw_only=True)
class Pipes:
    """Where a program reads and writes, as for ``subprocess``, and its session."""

    stdin: int = subprocess.DEVNULL
    stdout: int = subprocess.PIPE
    stderr: int = subprocess.PIPE
    leads_session: bool = True
    """Whether its group has a session of its own: no terminal is theirs then."""


async def start_group(
    listener: Callable[[], L], words: Sequence[str], *, cwd: Path, env: Mapping[str, str], pipes: Pipes
) -> ProcessGroup[L]:
    """Start a program, and end it again where that was cancelled.

    asyncio never lets go of a process that is cancelled while it starts: it has to be there first.

    Args:
        listener: Makes what listens to it.
        words: Program and arguments.
        cwd: Its folder.
        env: Its environment.
        pipes: Where it reads and writes.

    Raises:
        NotStarted: if it cannot be started.
    """
    starting = asyncio.create_task(_guarded(_started(listener, words, cwd, env, pipes)))
    cancelled = await _cancelled_during(starting)
    try:
        group = starting.result()
    except (OSError, ValueError) as error:
        if cancelled:
            raise asyncio.CancelledError from error
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise NotStarted(words, why or type(error).__name__) from error
    if cancelled:
        await group.end()
        raise asyncio.CancelledError
    return group


async def _guarded(starting: Awaitable[ProcessGroup[L]]) -> ProcessGroup[L]:
    """Start a program, and beside it what ends its group where we are killed."""
    started = await starting
    watch = (sys.executable, "-I", "-S", str(Path(process_guard.__file__)), str(started.transport.get_pid()))
    # It needs nothing of our environment, and others could read there what is in it.
    env = {name: os.environ[name] for name in _LOADER if name in os.environ}
    silent = Pipes(stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        guard = await _started(Listener, watch, Path("/"), env, silent)
    except OSError:  # too many processes: the command is not to fail for it
        return started
    return replace(started, guard=guard)


async def _started(
    listener: Callable[[], L], words: Sequence[str], cwd: Path, env: Mapping[str, str], pipes: Pipes
) -> ProcessGroup[L]:
    transport, listening = await asyncio.get_running_loop().subprocess_exec(
        listener,
        *words,
        stdin=pipes.stdin,
        stdout=pipes.stdout,
        stderr=pipes.stderr,
        cwd=cwd,
        env=dict(env),
        # A group of its own: one signal reaches all of its children.
        start_new_session=pipes.leads_session,
        process_group=None if pipes.leads_session else 0,
    )
    return ProcessGroup(transport, listening)


async def _cancelled_during(task: "asyncio.Task[Any]") -> bool:
    """Wait for a task to its end, however often that is cancelled; whether it was."""
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    return cancelled
