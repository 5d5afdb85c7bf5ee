"""The steps of a walk: keys pressed, and text seen. No step waits for a fixed time."""

import os
import re
import select
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Protocol, Self

from tests.pty.terminal import Terminal
from tui_app.ui.keyboard.stray_keys import QUIET_S

LIMIT_S = 40.0
"""Timeout of a step on a busy machine; steps are normally much faster."""
KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "shift+tab": "\x1b[Z",
    "f3": "\x1bOR",
    "f9": "\x1b[20~",
    "ctrl+o": "\x0f",
    "ctrl+c": "\x03",
    "ctrl+g": "\x07",
    "ctrl+l": "\x0c",
    "ctrl+q": "\x11",
}
"""Keys by the program's own names, as xterm sends them."""


class Window(Protocol):
    """A terminal that runs the program."""

    @property
    def text(self) -> str:
        """The screen's lines."""

    @property
    def words(self) -> str:
        """The screen as one line, so that line breaks do not matter."""

    def write(self, keys: str) -> None:
        """Type characters."""

    def key(self, name: str) -> None:
        """Press one key of :data:`KEYS`."""

    def paste(self, text: str) -> None:
        """Paste as a terminal does."""

    def wait_for(self, *texts: str, limit_s: float = LIMIT_S) -> float:
        """Wait until the screen shows all of the texts; returns the seconds it took."""

    def wait_match(self, pattern: str, limit_s: float = LIMIT_S) -> float:
        """Wait until the text on the screen matches a pattern; returns the seconds it took."""

    def wait_gone(self, text: str, limit_s: float = LIMIT_S) -> float:
        """Wait until the screen no longer shows a text; returns the seconds it took."""

    def wait_exit(self, limit_s: float = LIMIT_S) -> int:
        """Wait for the program to exit; returns its exit code."""

    def watch(self, seconds: float) -> None:
        """Wait for some seconds without pressing keys."""

    @property
    def after(self) -> str:
        """The terminal's text after the program has exited."""


class Walk:
    """A user at one window. Every step returns the walk, so that steps can be chained."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._steps: list[str] = []

    def type(self, text: str) -> Self:
        self._steps.append(f"type {text!r}")
        self.window.write(text)
        return self

    def press(self, *keys: str) -> Self:
        self._steps.append(f"press {' '.join(keys)}")
        for key in keys:
            self.window.key(key)
        return self

    def paste(self, text: str) -> Self:
        self._steps.append(f"paste {len(text)} characters")
        self.window.paste(text)
        return self

    def send(self, text: str) -> Self:
        """Type a prompt or a command, wait until the editor shows it, and send it."""
        return self.type(text).see(f"▐ {text}").press("enter")

    def see(self, *texts: str) -> Self:
        return self._look(f"see {texts}", lambda: self.window.wait_for(*texts, limit_s=LIMIT_S))

    def match(self, pattern: str) -> Self:
        """Wait until the text on the screen matches a pattern."""
        return self._look(f"match {pattern!r}", lambda: self.window.wait_match(pattern, limit_s=LIMIT_S))

    def answered(self, prompt: str) -> Self:
        """Wait until the timeline lists a prompt and nothing is running.

        Idle alone is not enough, because a prompt may wait for a moment before its turn starts.
        """
        pattern = rf"● {re.escape(prompt[:12])}"
        self._look(f"answered {prompt!r}", lambda: self.window.wait_match(pattern, limit_s=LIMIT_S))
        return self.not_see("esc stops")

    def not_see(self, text: str) -> Self:
        """Wait until the screen no longer shows a text."""
        return self._look(f"not see {text!r}", lambda: self.window.wait_gone(text, limit_s=LIMIT_S))

    def read(self, *texts: str) -> Self:
        """Wait for a dialog until it accepts keys: it first ignores keys of a user who is typing."""
        self.see(*texts)
        self.window.watch(2 * QUIET_S)
        return self

    def leave(self) -> str:
        """Quit, and return the terminal's text afterwards."""
        self.press("ctrl+q")
        self._look("leave", lambda: self.window.wait_exit(LIMIT_S))
        return self.window.after

    def _look(self, step: str, wait: Callable[[], object]) -> Self:
        self._steps.append(step)
        try:
            wait()
        except AssertionError as failed:
            done = "\n".join(f"{number:3} {each}" for number, each in enumerate(self._steps, 1))
            raise AssertionError(f"{failed}\nthe walk so far:\n{done}") from None
        return self


# Two kinds of terminals: one emulated by the tests, and tmux.


COLUMNS, ROWS = 120, 40
TMUX_KEYS = {
    "enter": "Enter",
    "escape": "Escape",
    "tab": "Tab",
    "up": "Up",
    "down": "Down",
}
"""tmux's names of keys other than ``ctrl`` and a letter."""


class Emulated(Terminal):
    """A pseudo terminal with an emulated screen."""

    def key(self, name: str) -> None:
        self.write(KEYS[name])

    def wait_match(self, pattern: str, limit_s: float = LIMIT_S) -> float:
        return self.wait_until(lambda: re.search(pattern, self.words), f"on screen: {pattern}", limit_s)

    @property
    def after(self) -> str:
        return self.output.decode(errors="replace")


class Tmux:
    """A window of a private tmux server that runs for the duration of the block.

    Args:
        command: The command.
        env: Its complete environment.
        cwd: Its working directory.
    """

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        program = shutil.which("tmux")
        assert program, "these walks need tmux: bash .ci/packages.sh installs it"
        self._program = program
        # A socket's path may have at most 108 characters, and tmp_path is often longer.
        self._folder = Path(tempfile.mkdtemp(prefix="walk-"))
        self._painted = -1
        given = [f"{name}={value}" for name, value in env.items()]
        inside = shlex.join(["env", "-i", *given, "TERM=screen-256color", *command])
        # The shell keeps the terminal open, so that the test sees what the program leaves in it.
        line = f'{inside}; echo "ended with $?"; exec cat'
        self._tmux(
            "-f", os.devnull, "new-session", "-d", "-s", "walk", "-x", str(COLUMNS), "-y", str(ROWS),
            "-c", str(cwd), line,
        )  # fmt: skip
        self._listen()

    def _tmux(self, *arguments: str) -> str:
        command = [self._program, "-S", str(self._folder / "socket"), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def _listen(self) -> None:
        """Have tmux copy its output to a pipe: there is no other way to wait for painting."""
        pipe = self._folder / "painted"
        os.mkfifo(pipe, 0o600)
        # Opened for reading and writing, so that neither side blocks on opening.
        self._painted = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self._tmux("pipe-pane", "-O", "-t", "walk", f"exec cat >{shlex.quote(str(pipe))}")

    @property
    def text(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "walk")

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    @property
    def after(self) -> str:
        return self.text

    def write(self, keys: str) -> None:
        self._tmux("send-keys", "-t", "walk", "-l", "--", keys)

    def key(self, name: str) -> None:
        self._tmux("send-keys", "-t", "walk", TMUX_KEYS.get(name) or name.replace("ctrl+", "C-"))

    def paste(self, text: str) -> None:
        """Paste through tmux's own buffer."""
        self._tmux("set-buffer", "--", text)
        self._tmux("paste-buffer", "-p", "-t", "walk")

    def wait_for(self, *texts: str, limit_s: float = LIMIT_S) -> float:
        return self._wait(lambda words: all(text in words for text in texts), f"on screen: {texts}", limit_s)

    def wait_match(self, pattern: str, limit_s: float = LIMIT_S) -> float:
        return self._wait(lambda words: re.search(pattern, words), f"on screen: {pattern}", limit_s)

    def wait_gone(self, text: str, limit_s: float = LIMIT_S) -> float:
        return self._wait(lambda words: text not in words, f"gone: {text}", limit_s)

    def wait_exit(self, limit_s: float = LIMIT_S) -> int:
        self.wait_for("ended with ", limit_s=limit_s)
        return int(self.words.rpartition("ended with ")[2].split()[0])

    def watch(self, seconds: float) -> None:
        until = monotonic() + seconds
        while (left := until - monotonic()) > 0:
            self._look(left)

    def _look(self, wait_s: float) -> None:
        """Wait until something is painted, up to a limit."""
        if select.select([self._painted], [], [], wait_s)[0]:
            os.read(self._painted, 1 << 16)

    def _wait(self, holds: Callable[[str], object], what: str, limit_s: float) -> float:
        started = monotonic()
        while not holds(self.words):
            left = started + limit_s - monotonic()
            assert left > 0, f"not within {limit_s:g} s: {what}\n{self.text}"
            self._look(left)
        return monotonic() - started

    def close(self) -> None:
        """Kill the server, and with it whatever runs in the window."""
        subprocess.run(
            [self._program, "-S", str(self._folder / "socket"), "kill-server"],
            check=False,
            capture_output=True,
        )
        if self._painted >= 0:
            os.close(self._painted)
            self._painted = -1
        shutil.rmtree(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
