"""Running a command: bounded in time and output, in a process group of which nobody stays behind."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tui_app.agent.tools.output import Output

_GRACE_S = 0.3
"""Seconds to wait for the pipe of a group that was killed; whoever has left the group may hold it."""
_SHOW_S = 0.1
"""Seconds between two portions of output that are handed on."""
_PORTION_CHARS = 4_000
"""Characters handed on at once; of more only the end is of use to somebody who watches."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    text: str
    code: int | None = None
    """Exit code; None where it was ended from outside before it had one."""
    duration_s: float = 0.0
    timed_out: bool = False


class NotStarted(Exception):
    """There is no such program or folder, or a word of the command can be no argument."""


class _Listening(asyncio.SubprocessProtocol):
    """Collects what a process says, hands it on now and then, and notes when it has ended."""

    def __init__(self, heard: Callable[[str], None]) -> None:
        self.output = Output()
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()
        self._heard = heard
        self._waiting = ""
        self._due = 0.0
        self._later: asyncio.TimerHandle | None = None

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep it, and hand it on if the last portion was a while ago."""
        self._waiting = (self._waiting + self.output.feed(data))[-_PORTION_CHARS:]
        left = self._due - monotonic()
        if left <= 0:
            self.hand_on()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(left, self.hand_on)

    def hand_on(self) -> None:
        """Hand on what has come since the last time."""
        if self._later is not None:
            self._later.cancel()
        text, self._waiting, self._later = self._waiting, "", None
        self._due = monotonic() + _SHOW_S
        if text:
            self._heard(text)

    def process_exited(self) -> None:
        """The program itself has ended; its children may go on."""
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended and nobody holds its pipe."""
        self.closed.set()


@dataclass(frozen=True, slots=True)
class ProcessRunner:
    """Runs commands in one folder with one environment."""

    cwd: Path
    env: Mapping[str, str]
    """Without keys: see whoever makes it."""

    async def run(self, words: Sequence[str], timeout_s: float, heard: Callable[[str], None]) -> Ended:
        """Run a program to its end; what it left running in its group is ended then as well.

        Cancelling this ends the whole group at once.

        Args:
            words: Program and arguments.
            timeout_s: Seconds after which the group is ended.
            heard: Called with what is printed, in portions.

        Raises:
            NotStarted: if it cannot be started.
        """
        started = monotonic()
        timed_out = False
        transport, listening, cancelled = await self._started(words, heard)
        try:
            if cancelled:
                raise asyncio.CancelledError
            async with asyncio.timeout(timeout_s):
                await listening.exited.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await _end(transport, listening)
        listening.output.feed(b"", last=True)
        code = None if timed_out else transport.get_returncode()
        return Ended(listening.output.text(), code, monotonic() - started, timed_out)

    async def _started(
        self, words: Sequence[str], heard: Callable[[str], None]
    ) -> tuple[asyncio.SubprocessTransport, _Listening, bool]:
        """Start the process, and say whether that was cancelled meanwhile.

        asyncio never lets go of a process that is cancelled while it starts: it has to be there first.
        """
        starting = asyncio.create_task(self._start(words, heard))
        cancelled = False
        while not starting.done():
            try:
                await asyncio.wait([starting])
            except asyncio.CancelledError:
                cancelled = True
        try:
            return *starting.result(), cancelled
        except (OSError, ValueError) as error:
            if cancelled:
                raise asyncio.CancelledError from error
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise NotStarted(f"{words[0]:.200}: {why or type(error).__name__}") from error

    async def _start(
        self, words: Sequence[str], heard: Callable[[str], None]
    ) -> tuple[asyncio.SubprocessTransport, _Listening]:
        return await asyncio.get_running_loop().subprocess_exec(
            lambda: _Listening(heard),
            *words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # One pipe for both, so that they stay in the order in which they were written.
            stderr=subprocess.STDOUT,
            cwd=self.cwd,
            env=dict(self.env),
            # A session of its own: one signal reaches all of its children, and no terminal is theirs.
            start_new_session=True,
        )


async def _end(transport: asyncio.SubprocessTransport, listening: _Listening) -> None:
    """End a process group and let go of its pipe."""
    try:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await listening.closed.wait()
    finally:
        listening.hand_on()
        transport.close()
