"""A program in a pseudo terminal: its input and output, and the modes it set."""

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Self

import pyte

from tests.forked import Forked

PATIENCE_S = 30.0
"""Timeout for a busy machine; waits are normally much shorter."""
_IN_TERMINAL = 'tty=$1; shift; exec "$@" 0<>"$tty" 1>&0 2>&0'
"""A session leader that opens a terminal owns it, so closing the terminal sends SIGHUP to the program."""
_MODES = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_KEYBOARD = re.compile(rb"\x1b\[([<>])[0-9]*u")
_ON_AT_START = frozenset({7, 25})
"""Autowrap, and the visible cursor."""
_MOST_COUNTED = 4_000
"""Number of unread bytes up to which a terminal reports their count, approximately."""


def _unread(file: int) -> int:
    return int.from_bytes(fcntl.ioctl(file, termios.FIONREAD, bytes(4)), sys.byteorder)


class Child:
    """One program in one terminal.

    Args:
        command: The command.
        env: Its complete environment.
        cwd: Its working directory.
        columns: Width in cells.
        rows: Height in cells.
        forked: Whether the command is the program's arguments, run in a fork instead of a new process.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        columns: int = 120,
        rows: int = 40,
        forked: bool = False,
    ) -> None:
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._flags = termios.tcgetattr(self._slave)
        os.set_blocking(self._master, False)
        self.output = bytearray()
        """All output so far."""
        terminal, words = os.ttyname(self._slave), [*map(str, command)]
        self.started = monotonic()
        self.process = (
            Forked(words, terminal=terminal, env=env, cwd=cwd)
            if forked
            else subprocess.Popen(
                ["/bin/sh", "-c", _IN_TERMINAL, "sh", terminal, *words],
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    @property
    def on(self) -> set[int]:
        """DEC private modes that differ from a fresh terminal's."""
        changed: set[int] = set()
        for numbers, switch in _MODES.findall(self.output):
            for mode in map(int, numbers.split(b";")):
                fresh = (switch == b"h") == (mode in _ON_AT_START)
                changed = changed - {mode} if fresh else changed | {mode}
        return changed

    @property
    def keyboard_depth(self) -> int:
        """Number of keyboard protocol changes that were not undone."""
        depth = 0
        for direction in _KEYBOARD.findall(self.output):
            depth = depth + 1 if direction == b">" else max(0, depth - 1)
        return depth

    @property
    def title_depth(self) -> int:
        """Number of titles that the program pushed and did not pop."""
        return self.output.count(b"\x1b[22;2t") - self.output.count(b"\x1b[23;2t")

    @property
    def cooked(self) -> bool:
        """Whether the line discipline is the one from before the program ran."""
        return bool(termios.tcgetattr(self._slave) == self._flags)

    def write(self, keys: str | bytes) -> None:
        """Write keys or a paste at once, reading the program's output meanwhile."""
        data = keys if isinstance(keys, bytes) else keys.encode()
        until = monotonic() + PATIENCE_S
        while data:
            assert monotonic() < until, "the program reads no keys"
            _, writable, _ = select.select([], [self._master], [], 0.05)
            if writable:
                data = data[os.write(self._master, data) :]
            self.read(0)

    def read(self, wait_s: float) -> bytes:
        """Read output, waiting for the first byte up to a limit."""
        readable, _, _ = select.select([self._master], [], [], max(0.0, min(wait_s, 0.25)))
        if not readable:
            return b""
        try:
            data = os.read(self._master, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return b""
        self.output += data
        return data

    def read_until(self, marker: bytes, since: int = 0, limit_s: float = PATIENCE_S) -> float:
        """Read until these bytes were written; returns ``monotonic()`` of that moment.

        Args:
            marker: Bytes to wait for.
            since: Offset in the output where the search starts.
            limit_s: Timeout in seconds.
        """
        until = monotonic() + limit_s
        while marker not in self.output[since:]:
            assert monotonic() < until, f"not written within {limit_s:g} s: {marker!r}"
            self.read(0.25)
        return monotonic()

    @property
    def is_full(self) -> bool:
        """Whether the program's next write would block because nobody reads."""
        return not select.select([], [self._slave], [], 0)[1]

    def fill(self, *keys: str) -> None:
        """Press keys repeatedly without reading until the terminal's buffer is full."""
        until = monotonic() + PATIENCE_S
        while not self.is_full:
            before = _unread(self._master)
            os.write(self._master, "".join(keys).encode())
            # The count of unread bytes stops growing at ``_MOST_COUNTED``; then only ``is_full`` is reliable.
            while _unread(self._slave) or (
                _unread(self._master) == before < _MOST_COUNTED and not self.is_full
            ):
                assert monotonic() < until, "the program paints nothing"
                select.select([], [], [], 0.01)

    def kill(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the terminal's side, as a killed terminal window does."""
        for file in (self._master, self._slave):
            if file >= 0:
                os.close(file)
        self._master = self._slave = -1

    def close(self) -> None:
        """Kill what still runs, so that nothing outlives the test."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


# A terminal whose emulated screen interprets the output.


_FOREIGN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*(?:\$p|u|n)|\x1b[P_^][^\x1b]*\x1b\\")
"""Sequences that real terminals answer or ignore but the emulator would print."""
_FRAME_ASKED = b"\x1b[?2026$p"
_FRAME = b"\x1b[?2026"
"""Synchronised output (mode 2026) is reported as supported, and each frame is shown once it is complete."""
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;<>=?$]*|[P_^\]][^\x1b\x07]*\x1b?)?$")


class Terminal(Child):
    """A program in a terminal, and the emulated screen. Arguments are those of :class:`Child`."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        columns: int = 120,
        rows: int = 40,
        forked: bool = False,
    ) -> None:
        super().__init__(command, env=env, cwd=cwd, columns=columns, rows=rows, forked=forked)
        self._held = b""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._shown = ""

    @property
    def text(self) -> str:
        """The screen's lines without trailing blanks."""
        if self._screen.dirty:
            self._shown = "\n".join(line.rstrip() for line in self._screen.display)
            self._screen.dirty.clear()
        return self._shown

    @property
    def words(self) -> str:
        """The screen as one line, so that line breaks do not matter."""
        return " ".join(self.text.split())

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row of the terminal's cursor, from 0."""
        return self._screen.cursor.x, self._screen.cursor.y

    def read(self, wait_s: float) -> bytes:
        """Read output and show it."""
        data = super().read(wait_s)
        if data:
            self._show(data)
        return data

    def paste(self, text: str) -> None:
        """Paste as terminals do when the program enabled bracketed paste."""
        assert 2004 in self.on, "bracketed paste is off"
        self.write(f"\x1b[200~{text}\x1b[201~")

    def watch(self, seconds: float) -> None:
        """Read output for a while without pressing keys."""
        until = monotonic() + seconds
        while (left := until - monotonic()) > 0:
            self.read(left)

    def wait_for(self, *texts: str, limit_s: float = PATIENCE_S) -> float:
        """Wait until the screen shows all of the texts, wrapped or not; returns the seconds it took."""

        def stand() -> bool:
            words = self.words
            return all(text in words for text in texts)

        return self.wait_until(stand, f"on screen: {texts}", limit_s)

    def wait_gone(self, text: str, limit_s: float = PATIENCE_S) -> float:
        """Wait until the screen no longer shows a text; returns the seconds it took."""
        return self.wait_until(lambda: text not in self.words, f"gone: {text}", limit_s)

    def wait_until(self, holds: Callable[[], object], what: str, limit_s: float = PATIENCE_S) -> float:
        """Read until a condition is true; returns the seconds it took."""
        started = monotonic()
        while not holds():
            left = started + limit_s - monotonic()
            assert left > 0, f"not within {limit_s:g} s: {what}\n{self.text}"
            assert self.read(left) or self.process.poll() is None or holds(), (
                f"ended with {self.process.returncode} before this: {what}\n{self.text}"
            )
        return monotonic() - started

    def wait_exit(self, limit_s: float = PATIENCE_S) -> int:
        """Wait for the program to exit; returns its exit code."""
        until = monotonic() + limit_s
        while self.process.poll() is None:
            assert monotonic() < until, f"still running after {limit_s:g} s:\n{self.text}"
            self.read(0.02)
        while self.read(0):
            pass
        return int(self.process.returncode)

    def _show(self, data: bytes) -> None:
        data = self._held + data
        cut = _shown_length(data)
        data, self._held = data[:cut], data[cut:]
        if _FRAME_ASKED in data:
            self.write("\x1b[?2026;2$y")
        self._stream.feed(_FOREIGN.sub(b"", data))


def _shown_length(data: bytes) -> int:
    """Number of bytes that can be shown: those before an incomplete frame or sequence."""
    unfinished = _UNFINISHED.search(data)
    cut = unfinished.start() if unfinished else len(data)
    begun, ended = data.rfind(_FRAME + b"h", 0, cut), data.rfind(_FRAME + b"l", 0, cut)
    return begun if begun > ended else cut
