"""Running a hook's command: bounded in time and output, in a process group that leaves nobody behind."""

import asyncio
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tui_app.conversation.hooks.outcomes import Ended
from tui_app.process_group import Listener, NotStarted, Pipes, ProcessGroup, start_group
from tui_app.settings.hooks import Hook

OUTPUT_BYTES = 64 * 1024
"""Bytes kept of each of stdout and stderr; what comes after is read and dropped, so that nobody blocks."""


class _Output(Listener):
    """Collects what a process says."""

    def __init__(self) -> None:
        super().__init__()
        self.said = {1: bytearray(), 2: bytearray()}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what there is room for."""
        self.said[fd] += data[: OUTPUT_BYTES - len(self.said[fd])]

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
            group, cancelled = await self._started(hook)
        except NotStarted as error:
            return Ended(missing=error.why, cancelled=error.cancelled)
        try:
            _feed(group.transport, stdin)
            async with asyncio.timeout(0 if cancelled else timeout_s):
                await group.listener.exited.wait()
        except TimeoutError:
            timed_out = not cancelled
        except asyncio.CancelledError:
            # Whoever cancelled hears of it from the outcome: the event must still be written.
            cancelled = True
        finally:
            cancelled = await group.end() or cancelled
        return Ended(
            exit=None if timed_out or cancelled else group.transport.get_returncode(),
            stdout=group.listener.text(1),
            stderr=group.listener.text(2),
            duration_s=monotonic() - started,
            limit_s=timeout_s,
            timed_out=timed_out,
            cancelled=cancelled,
        )

    async def _started(self, hook: Hook) -> tuple[ProcessGroup[_Output], bool]:
        words = ("/bin/sh", "-c", hook.command) if isinstance(hook.command, str) else hook.command
        pipes = Pipes(stdin=subprocess.PIPE)
        return await start_group(_Output, words, cwd=self.cwd, env=self.env, pipes=pipes)


def _feed(transport: asyncio.SubprocessTransport, stdin: bytes) -> None:
    """Give a process its input as far as it reads it."""
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        pipe.close()
