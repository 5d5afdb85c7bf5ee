"""Execution of a command: bounded in time and output, in a process group that is killed as a whole."""

import asyncio
import codecs
import re
import shutil
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from pathlib import Path
from time import monotonic

from tui_app.records import frozen
from tui_app.system.environment import NO_SECRETS, MaskedStream, Secrets, masked
from tui_app.system.processes import Listener, Pipes, ProcessGroup, start_group

HEAD_CHARS = 400_000
"""Characters kept of the start of an output."""
TAIL_CHARS = 400_000
"""Characters kept of its end."""
_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[PX^_][^\x1b]{0,4096}(?:\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)


@dataclass(slots=True)
class Output:
    """Collects output as text. If there is too much, the middle is dropped and counted."""

    chars: int = 0
    """Characters received so far."""
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )
    _head: StringIO = field(default_factory=StringIO)
    _tail: deque[str] = field(default_factory=deque)
    _tail_size: int = 0

    def feed(self, data: bytes, *, last: bool = False) -> str:
        """Add bytes, and return them as text."""
        text = self._decoder.decode(data, last)
        self.chars += len(text)
        room = HEAD_CHARS - self._head.tell()
        self._head.write(text[:room])
        if rest := text[room:]:
            self._tail.append(rest[-TAIL_CHARS:])
            self._tail_size += len(self._tail[-1])
        while (over := self._tail_size - TAIL_CHARS) > 0:
            first = self._tail.popleft()
            if kept := first[over:]:
                self._tail.appendleft(kept)
            self._tail_size -= len(first) - len(kept)
        return text

    def text(self) -> str:
        """The kept output, as a terminal without colours would show it."""
        dropped = self.chars - self._head.tell() - self._tail_size
        mark = f"\n[… {dropped:,} characters left out here …]\n" if dropped else ""
        return readable("".join([self._head.getvalue(), mark, *self._tail]))


def readable(text: str) -> str:
    """Remove escape sequences, and parts of lines that were overwritten."""
    text = _ESCAPES.sub("", text) if "\x1b" in text else text
    text = text.replace("\r\n", "\n")
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))


_SHOW_S = 0.1
"""Seconds between two portions of live output."""
_PORTION_CHARS = 4_000
"""Maximum characters per portion: of more, only the end matters to a viewer."""


@frozen
class Ended:
    """How a command ended."""

    text: str
    code: int | None = None
    """Exit code; None if it was killed before it had one."""
    duration_s: float = 0.0
    timed_out: bool = False


class CommandStopped(asyncio.CancelledError):
    """The caller that waited for a command was cancelled; the command has ended."""

    def __init__(self, printed: str) -> None:
        super().__init__()
        self.printed = printed
        """Its output until then."""


class _Listening(Listener):
    """Collects a process's output, and forwards it in portions."""

    def __init__(self, show: Callable[[str], None], secrets: Secrets) -> None:
        super().__init__()
        self.output, self._masked = Output(), MaskedStream(secrets)
        self._show = show
        self._waiting = ""
        self._due = 0.0
        self._later: asyncio.TimerHandle | None = None

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Store the data, and forward it if the last portion was long enough ago."""
        self._waiting = (self._waiting + self.output.feed(data))[-_PORTION_CHARS:]
        left = self._due - monotonic()
        if left <= 0:
            self.report()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(left, self.report)

    def report(self, *, last: bool = False) -> None:
        if self._later is not None:
            self._later.cancel()
        text, self._waiting, self._later = self._masked.add(self._waiting), "", None
        self._due = monotonic() + _SHOW_S
        text += self._masked.flush() if last else ""
        self._masked.shown.clear()
        if text:
            self._show(text)

    def all_text(self) -> str:
        """The whole output. Call this after the process has ended."""
        self.report(last=True)
        self.output.feed(b"", last=True)
        return masked(self.output.text(), self._masked.secrets)


@frozen
class ProcessRunner:
    """Runs commands in one folder with one environment."""

    cwd: Path
    env: Mapping[str, str]
    """Must not contain keys: its creator removes them."""
    secrets: Secrets = NO_SECRETS
    """Masked in the output before anything sees it."""

    async def run(self, words: Sequence[str], timeout_s: float | None, show: Callable[[str], None]) -> Ended:
        """Run a program to its end, then kill what it left running in its process group.

        Cancelling this kills the whole group at once.

        Args:
            words: Program and arguments.
            timeout_s: Seconds after which the group is killed; None for no limit.
            show: Receives the output in portions.

        Raises:
            NotStarted: if it cannot be started.
            CommandStopped: if this was cancelled; the group has been killed.
        """
        started = monotonic()
        listening = _Listening(show, self.secrets)
        # One pipe for both streams, so that their order is kept.
        pipes = Pipes(stderr=subprocess.STDOUT)
        group: ProcessGroup[_Listening] | None = None
        cancelled = timed_out = False
        try:
            group = await start_group(lambda: listening, words, cwd=self.cwd, env=self.env, pipes=pipes)
            async with asyncio.timeout(timeout_s):
                await listening.exited.wait()
        except TimeoutError:
            timed_out = True
        except asyncio.CancelledError:
            # It may have printed something while it was still being started.
            cancelled = True
        finally:
            if group is not None:
                cancelled = await group.end() or cancelled
            text = listening.all_text()
        if cancelled or group is None:
            raise CommandStopped(text)
        code = None if timed_out else group.transport.get_returncode()
        return Ended(text, code, monotonic() - started, timed_out)


_SYSTEM_PATH = "/bin:/usr/bin:/usr/local/bin:/run/current-system/sw/bin"
"""Not the user's PATH, which a project may change."""
_EDITORS = (
    "EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR HGEDITOR JJ_EDITOR SUDO_EDITOR SVN_EDITOR SYSTEMD_EDITOR"
)
_PAGERS = "PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER"
_ANSWERS = {"GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never", "DEBIAN_FRONTEND": "noninteractive"}
_SHELL_START = frozenset({"CDPATH", "BASH_ENV", "ENV", "BASHOPTS", "SHELLOPTS", "GLOBIGNORE"})


@cache
def shell() -> str:
    """Bash, for which models write commands, or the system's shell."""
    return shutil.which("bash", path=_SYSTEM_PATH) or "/bin/sh"


def shell_command(command: str) -> tuple[str, ...]:
    """The words that run a command line in a shell."""
    return (shell(), "-c", command)


def unattended(env: Mapping[str, str]) -> dict[str, str]:
    """An environment in which programs do not wait for input.

    Without a terminal, no editor or pager can be left. An editor exits at once and keeps its file, so that
    `git rebase -i` takes its list unchanged and `git commit` without a message ends.
    """
    editors = {*_EDITORS.split(), *(name for name in env if name.endswith("EDITOR"))}
    pagers = {*_PAGERS.split(), *(name for name in env if name.endswith("PAGER"))}
    return {**env, **dict.fromkeys(editors, "true"), **dict.fromkeys(pagers, "cat"), **_ANSWERS}


def plain_shell(env: Mapping[str, str]) -> dict[str, str]:
    """An environment in which the shell does only what the line says, as rules assume."""
    return {
        name: value
        for name, value in env.items()
        if name not in _SHELL_START and not name.startswith("BASH_FUNC_")
    }


BUDGET_S = 10.0
"""Seconds after which a search through the workspace returns what it has."""


class Cancelled(Exception):
    """The turn that wanted this work has ended, so the result is not needed."""


@frozen
class Stop:
    """Polled by long work on a worker thread, which Python cannot interrupt."""

    cancelled: threading.Event = field(default_factory=threading.Event)
    deadline: float = field(default_factory=lambda: time.monotonic() + BUDGET_S)
    """On the clock of ``time.monotonic``, in seconds."""

    @property
    def remaining_s(self) -> float:
        """Seconds left before the deadline; never negative."""
        return max(0.0, self.deadline - time.monotonic())

    def late(self) -> bool:
        """Whether the deadline has passed.

        Raises:
            Cancelled: if the turn was cancelled.
        """
        if self.cancelled.is_set():
            raise Cancelled
        return self.remaining_s <= 0.0
