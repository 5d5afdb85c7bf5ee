"""Running a hook's command: bounded in time and output, in a process group that leaves nobody behind."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tui_app.conversation.hooks.outcomes import Ended
from tui_app.settings_hooks import Hook

OUTPUT_BYTES = 64 * 1024
"""Bytes kept of each of stdout and stderr; what comes after is read and dropped, so that nobody blocks."""
_GRACE_S = 0.5
"""Seconds to wait for the pipes of a group that was killed; whoever has left the group may hold them."""


class _Output(asyncio.SubprocessProtocol):
    """Collects what a process says, and notes when it has ended."""

    def __init__(self) -> None:
        self.said = {1: bytearray(), 2: bytearray()}
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what there is room for."""
        self.said[fd] += data[: OUTPUT_BYTES - len(self.said[fd])]

    def process_exited(self) -> None:
        """The program itself has ended; its children may go on."""
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended and nobody holds its pipes."""
        self.closed.set()

    def text(self, fd: int) -> str:
        """What was said, whatever the bytes are."""
        return self.said[fd].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs commands in one folder with one environment."""

    cwd: Path
    env: Mapping[str, str]

    async def run(self, hook: Hook, stdin: bytes, timeout_s: float) -> Ended:
        """Run a command to its end; when cancelled, end it with all its children and return at once.

        Args:
            hook: What to run.
            stdin: What it is given to read.
            timeout_s: Seconds after which it is ended.
        """
        started = monotonic()
        timed_out = False
        try:
            transport, output, cancelled = await self._started(hook)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            return Ended(missing=why or type(error).__name__)
        try:
            _feed(transport, stdin)
            async with asyncio.timeout(0 if cancelled else timeout_s):
                await output.exited.wait()
        except TimeoutError:
            timed_out = not cancelled
        except asyncio.CancelledError:
            # Whoever cancelled hears of it from the outcome: the event must still be written.
            cancelled = True
        finally:
            await _end(transport, output)
        return Ended(
            exit=None if timed_out or cancelled else transport.get_returncode(),
            stdout=output.text(1),
            stderr=output.text(2),
            duration_s=monotonic() - started,
            limit_s=timeout_s,
            timed_out=timed_out,
            cancelled=cancelled,
        )

    async def _started(self, hook: Hook) -> tuple[asyncio.SubprocessTransport, _Output, bool]:
        """Start the process, and say whether that was cancelled meanwhile.

        asyncio never lets go of a process that is cancelled while it starts: it has to be there first.
        """
        starting = asyncio.create_task(self._start(hook))
        cancelled = False
        try:
            await asyncio.wait([starting])
        except asyncio.CancelledError:
            cancelled = True
            await asyncio.wait([starting])
        return *starting.result(), cancelled

    async def _start(self, hook: Hook) -> tuple[asyncio.SubprocessTransport, _Output]:
        """Start the process.

        Raises:
            OSError: if there is no such program or folder.
            ValueError: if a word of the command can be no argument.
        """
        words = ("/bin/sh", "-c", hook.command) if isinstance(hook.command, str) else hook.command
        return await asyncio.get_running_loop().subprocess_exec(
            _Output,
            *words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env=dict(self.env),
            # A session of its own: one signal reaches all of its children, and no terminal is theirs.
            start_new_session=True,
        )


def _feed(transport: asyncio.SubprocessTransport, stdin: bytes) -> None:
    """Give a process its input as far as it reads it."""
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        pipe.close()


async def _end(transport: asyncio.SubprocessTransport, output: _Output) -> None:
    """End a process group and let go of its pipes."""
    try:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await output.closed.wait()
    finally:
        transport.close()
