"""Running a command: bounded in time and output, in a process group of which nobody stays behind."""

import asyncio
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tui_app.agent.tools.output import Output
from tui_app.process_group import Listener, NotStarted, Pipes, ProcessGroup, start_group

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


class CommandStopped(asyncio.CancelledError):
    """Whoever waited for a command was cancelled; it has ended."""

    def __init__(self, printed: str) -> None:
        super().__init__()
        self.printed = printed
        """What it had printed until then."""


class _Listening(Listener):
    """Collects what a process says, and hands it on now and then."""

    def __init__(self, heard: Callable[[str], None]) -> None:
        super().__init__()
        self.output = Output()
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
            CommandStopped: if this was cancelled; the group is ended then.
        """
        started = monotonic()
        group, cancelled = await self._started(words, heard)
        timed_out = False
        try:
            if not cancelled:
                async with asyncio.timeout(timeout_s):
                    await group.listener.exited.wait()
        except TimeoutError:
            timed_out = True
        except asyncio.CancelledError:
            cancelled = True
        finally:
            cancelled = await group.end() or cancelled
            group.listener.hand_on()
        output = group.listener.output
        output.feed(b"", last=True)
        if cancelled:
            raise CommandStopped(output.text())
        code = None if timed_out else group.transport.get_returncode()
        return Ended(output.text(), code, monotonic() - started, timed_out)

    async def _started(
        self, words: Sequence[str], heard: Callable[[str], None]
    ) -> tuple[ProcessGroup[_Listening], bool]:
        try:
            return await start_group(
                lambda: _Listening(heard),
                words,
                cwd=self.cwd,
                env=self.env,
                # One pipe for both, so that they stay in the order in which they were written.
                pipes=Pipes(stderr=subprocess.STDOUT),
            )
        except NotStarted as error:
            if error.cancelled:
                raise asyncio.CancelledError from error
            raise
