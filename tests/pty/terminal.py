"""A terminal with a screen that understands what is painted on it.

Every wait ends as soon as the screen shows what is waited for, or fails with a picture of it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic

import pyte

from tests.pty.child import PATIENCE_S, Child

_FOREIGN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*(?:\$p|u|n)|\x1b[P_^][^\x1b]*\x1b\\")
"""Sequences that terminals answer or ignore and the emulated screen would print."""
_FRAME_ASKED = b"\x1b[?2026$p"
_FRAME = b"\x1b[?2026"
"""A program that asks whether frames can be marked is told so, and each is shown when it is whole."""
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;<>=?$]*|[P_^\]][^\x1b\x07]*\x1b?)?$")


class Terminal(Child):
    """One program in one terminal, and what it shows. Arguments are those of :class:`Child`."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        columns: int = 120,
        rows: int = 40,
    ) -> None:
        super().__init__(command, env=env, cwd=cwd, columns=columns, rows=rows)
        self._held = b""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        """What the screen shows, line by line, without blanks at the ends."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def words(self) -> str:
        """What the screen shows as one line, so that it does not matter where lines are broken."""
        return " ".join(self.text.split())

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row of the terminal's cursor, from 0."""
        return self._screen.cursor.x, self._screen.cursor.y

    def read(self, wait_s: float) -> bytes:
        """Take what has been written and show it."""
        data = super().read(wait_s)
        if data:
            self._show(data)
        return data

    def paste(self, text: str) -> None:
        """Paste as terminals do it when the program asked for bracketed pastes."""
        assert 2004 in self.on, "bracketed paste is off"
        self.write(f"\x1b[200~{text}\x1b[201~")

    def watch(self, seconds: float) -> None:
        """Keep looking, with the hands off the keys."""
        until = monotonic() + seconds
        while (left := until - monotonic()) > 0:
            self.read(left)

    def wait_for(self, *texts: str, limit_s: float = PATIENCE_S) -> float:
        """Wait until the screen shows all of the texts, wrapped or not; returns the seconds it took."""
        return self.wait_until(
            lambda: all(text in self.words for text in texts), f"on screen: {texts}", limit_s
        )

    def wait_gone(self, text: str, limit_s: float = PATIENCE_S) -> float:
        """Wait until the screen does not show a text any more; returns the seconds it took."""
        return self.wait_until(lambda: text not in self.words, f"gone: {text}", limit_s)

    def wait_until(self, holds: Callable[[], object], what: str, limit_s: float = PATIENCE_S) -> float:
        """Read until something holds; returns the seconds it took."""
        started = monotonic()
        while not holds():
            left = started + limit_s - monotonic()
            assert left > 0, f"not within {limit_s:g} s: {what}\n{self.text}"
            assert self.read(left) or self.process.poll() is None or holds(), (
                f"ended with {self.process.returncode} before this: {what}\n{self.text}"
            )
        return monotonic() - started

    def wait_exit(self, limit_s: float = PATIENCE_S) -> int:
        """Wait for the end of the program; returns its exit code."""
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
    """How many bytes can be shown: those before a frame or a sequence that is not whole yet."""
    unfinished = _UNFINISHED.search(data)
    cut = unfinished.start() if unfinished else len(data)
    begun, ended = data.rfind(_FRAME + b"h", 0, cut), data.rfind(_FRAME + b"l", 0, cut)
    return begun if begun > ended else cut
