"""A program in a pseudo terminal: bytes in, bytes out, and what it did to the terminal."""

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Self

PATIENCE_S = 30.0
"""How long a wait may take on a busy machine; none takes that long when all is well."""
_IN_TERMINAL = 'tty=$1; shift; exec "$@" 0<>"$tty" 1>&0 2>&0'
"""A session leader that opens a terminal owns it, so that hanging up reaches the program."""
_MODES = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_KEYBOARD = re.compile(rb"\x1b\[([<>])[0-9]*u")
_ON_AT_START = frozenset({7, 25})
"""Wrapping at the margin, and the cursor."""


class Child:
    """One program in one terminal.

    Args:
        command: What to run.
        env: All of its environment.
        cwd: Where to run it.
        columns: Width in cells.
        rows: Height in cells.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        columns: int = 120,
        rows: int = 40,
    ) -> None:
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._flags = termios.tcgetattr(self._slave)
        os.set_blocking(self._master, False)
        self.output = bytearray()
        """Everything written so far."""
        inside = ["/bin/sh", "-c", _IN_TERMINAL, "sh", os.ttyname(self._slave), *map(str, command)]
        self.started = monotonic()
        self.process = subprocess.Popen(
            inside,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def on(self) -> set[int]:
        """DEC private modes that differ from those of a fresh terminal."""
        changed: set[int] = set()
        for numbers, switch in _MODES.findall(self.output):
            for mode in map(int, numbers.split(b";")):
                fresh = (switch == b"h") == (mode in _ON_AT_START)
                changed = changed - {mode} if fresh else changed | {mode}
        return changed

    @property
    def keyboard_depth(self) -> int:
        """How many changes of the keyboard protocol were not taken back."""
        depth = 0
        for direction in _KEYBOARD.findall(self.output):
            depth = depth + 1 if direction == b">" else max(0, depth - 1)
        return depth

    @property
    def title_depth(self) -> int:
        """How many titles the terminal keeps for later."""
        return self.output.count(b"\x1b[22;2t") - self.output.count(b"\x1b[23;2t")

    @property
    def cooked(self) -> bool:
        """Whether the line discipline is what it was before the program ran."""
        return bool(termios.tcgetattr(self._slave) == self._flags)

    def write(self, keys: str) -> None:
        """Type or paste in one write, reading meanwhile what is painted."""
        data = keys.encode()
        until = monotonic() + PATIENCE_S
        while data:
            assert monotonic() < until, "the program reads no keys"
            _, writable, _ = select.select([], [self._master], [], 0.05)
            if writable:
                data = data[os.write(self._master, data) :]
            self.read(0)

    def read(self, wait_s: float) -> bytes:
        """Take what has been written, waiting for the first byte at most so long."""
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
            since: Where in the output to look for them from.
            limit_s: Seconds after which it fails.
        """
        until = monotonic() + limit_s
        while marker not in self.output[since:]:
            assert monotonic() < until, f"not written within {limit_s:g} s: {marker!r}"
            self.read(0.25)
        return monotonic()

    def kill(self, number: signal.Signals) -> None:
        """Send the program a signal."""
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the terminal's own side, as a killed terminal window does."""
        for file in (self._master, self._slave):
            if file >= 0:
                os.close(file)
        self._master = self._slave = -1

    def close(self) -> None:
        """End whatever still runs; nothing may outlive a test."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
