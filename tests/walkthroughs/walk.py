"""The steps of a walk: what the hands do, and what the eyes see. Nothing waits for time."""

import re
from collections.abc import Callable
from typing import Protocol, Self

from tui_app.ui.type_ahead import QUIET_S

LIMIT_S = 40.0
"""How long a step may take on a busy machine; none takes that long when all is well."""
KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "ctrl+o": "\x0f",
    "ctrl+c": "\x03",
    "ctrl+g": "\x07",
    "ctrl+l": "\x0c",
    "ctrl+q": "\x11",
}
"""Keys by the names that the program itself uses, as an xterm sends them."""


class Window(Protocol):
    """A terminal with the program in it."""

    @property
    def text(self) -> str:
        """What the screen shows, line by line."""

    @property
    def words(self) -> str:
        """The same as one line, so that it does not matter where lines are broken."""

    def write(self, keys: str) -> None:
        """Send characters as they are typed."""

    def key(self, name: str) -> None:
        """Press one key of :data:`KEYS`."""

    def paste(self, text: str) -> None:
        """Paste the way a terminal does it."""

    def wait_for(self, *texts: str, limit_s: float = LIMIT_S) -> float:
        """Wait until the screen shows all of the texts; returns the seconds it took."""

    def wait_match(self, pattern: str, limit_s: float = LIMIT_S) -> float:
        """Wait until the words on the screen match an expression; returns the seconds it took."""

    def wait_gone(self, text: str, limit_s: float = LIMIT_S) -> float:
        """Wait until the screen does not show a text any more; returns the seconds it took."""

    def wait_exit(self, limit_s: float = LIMIT_S) -> int:
        """Wait for the end of the program; returns its exit code."""

    def watch(self, seconds: float) -> None:
        """Keep looking, with the hands off the keys."""

    @property
    def after(self) -> str:
        """What stands in the terminal once the program has gone."""


class Walk:
    """One person at one window. Every step returns the walk, so that steps read as a sentence."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._steps: list[str] = []

    def type(self, text: str) -> Self:
        """Type a text."""
        self._steps.append(f"type {text!r}")
        self.window.write(text)
        return self

    def press(self, *keys: str) -> Self:
        """Press keys one after the other."""
        self._steps.append(f"press {' '.join(keys)}")
        for key in keys:
            self.window.key(key)
        return self

    def paste(self, text: str) -> Self:
        """Paste a text."""
        self._steps.append(f"paste {len(text)} characters")
        self.window.paste(text)
        return self

    def send(self, text: str) -> Self:
        """Type a prompt or a command, see it in the editor, and send it."""
        return self.type(text).see(f"› {text}").press("enter").not_see(f"› {text}")

    def see(self, *texts: str) -> Self:
        """Wait until the screen shows all of the texts."""
        return self._look(f"see {texts}", lambda: self.window.wait_for(*texts, limit_s=LIMIT_S))

    def match(self, pattern: str) -> Self:
        """Wait until the words on the screen match an expression."""
        return self._look(f"match {pattern!r}", lambda: self.window.wait_match(pattern, limit_s=LIMIT_S))

    def answered(self, prompt: str) -> Self:
        """Wait until the timeline lists the answer to a prompt, and nothing is under way any more.

        That nothing is under way says too little alone: a prompt may wait for a moment before its turn.
        """
        pattern = rf"● {re.escape(prompt)}.*│ answer"
        self._look(f"answered {prompt!r}", lambda: self.window.wait_match(pattern, limit_s=LIMIT_S))
        return self.not_see("esc stops")

    def not_see(self, text: str) -> Self:
        """Wait until the screen does not show a text."""
        return self._look(f"not see {text!r}", lambda: self.window.wait_gone(text, limit_s=LIMIT_S))

    def read(self, *texts: str) -> Self:
        """See a dialog and read it: the keys of a person who is still writing are not meant for it."""
        self.see(*texts)
        self.window.watch(2 * QUIET_S)
        return self

    def leave(self) -> str:
        """Quit, and return what stands in the terminal afterwards."""
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
