"""Programs in process groups of their own, which end with everything they started."""

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
"""Seconds to wait for the pipes of a killed group; a process that left the group may hold them."""


_LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that some Pythons need to find their libraries."""


class NotStarted(Exception):
    """Raised when the program or folder does not exist, or a word cannot be an argument.

    Args:
        words: The command.
        why: The system's reason.
    """

    def __init__(self, words: Sequence[str], why: str) -> None:
        super().__init__(f"{words[0]:.200}: {why}")
        self.why = why


class Listener(asyncio.SubprocessProtocol):
    """Notes when a program has ended; subclasses add its output."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def process_exited(self) -> None:
        """Note that the program itself has ended; its children may still run."""
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that it has ended and that no process has its pipes open."""
        self.closed.set()


L = TypeVar("L", bound=Listener)


@frozen
class ProcessGroup(Generic[L]):
    """A running program. Whoever started it has to end it, even if it has exited."""

    transport: asyncio.SubprocessTransport
    listener: L
    guard: "ProcessGroup[Listener] | None" = None
    """Kills the group if we are killed; None for the guard itself."""

    async def end(self) -> bool:
        """Kill the whole group and close its pipes; return whether this was cancelled meanwhile."""
        try:
            # The guard first: once the group has ended, its number may be reused.
            if self.guard is not None:
                self.guard.kill()
            self.kill()
            return await _cancelled_during(asyncio.create_task(self._closed()))
        finally:
            self.transport.close()
            if self.guard is not None:
                self.guard.transport.close()

    def kill(self) -> None:
        """Kill the whole group, without waiting for it."""
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
    """Input and output of a program, as for ``subprocess``, and its session."""

    stdin: int = subprocess.DEVNULL
    stdout: int = subprocess.PIPE
    stderr: int = subprocess.PIPE
    leads_session: bool = True
    """Whether its group has a session of its own, and so no terminal."""


async def start_group(
    listener: Callable[[], L], words: Sequence[str], *, cwd: Path, env: Mapping[str, str], pipes: Pipes
) -> ProcessGroup[L]:
    """Start a program, and end it again if that was cancelled.

    asyncio never releases a process that is cancelled during its start, so it has to start first.

    Args:
        listener: Makes the listener of the program's events.
        words: Program and arguments.
        cwd: Its folder.
        env: Its environment.
        pipes: Its input and output.

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
    """Start a program, and a guard that kills its group if we are killed."""
    started = await starting
    watch = (sys.executable, "-I", "-S", str(Path(process_guard.__file__)), str(started.transport.get_pid()))
    # It needs nothing of our environment, and others could read that there.
    env = {name: os.environ[name] for name in _LOADER if name in os.environ}
    silent = Pipes(stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        guard = await _started(Listener, watch, Path("/"), env, silent)
    except OSError:  # too many processes: the command must not fail for that
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
        # A group of its own, so that one signal reaches all of its children.
        start_new_session=pipes.leads_session,
        process_group=None if pipes.leads_session else 0,
    )
    return ProcessGroup(transport, listening)


async def _cancelled_during(task: "asyncio.Task[Any]") -> bool:
    """Wait until a task ends, however often that is cancelled; return whether it was."""
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    return cancelled
