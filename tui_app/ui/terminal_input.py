"""The terminal in front of Textual: no paste is taken for keys, and what tmux does not pass on is said."""

import asyncio
import logging
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import termios
import tty
from collections.abc import Callable, Mapping
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from tui_app.files import write_atomic
from tui_app.ui.keys import in_force, key_labels
from tui_app.ui.terminal_title import Announcing

if TYPE_CHECKING:
    from tui_app.ui.chat.session import ChatSession

# Takes control sequences out of bracketed pastes while they are read, so that a paste stays a paste.
#
# A parser of keys that meets an escape inside a paste may go on reading it as keys, and then a pasted line
# end is Enter. What is typed passes unchanged and at once.

START, END = b"\x1b[200~", b"\x1b[201~"
ONE_KEY_S = 0.05
"""Within these seconds, well below the limit of any parser, two reads are still one key."""
FORGET_S = 1.0
"""After these seconds the beginning of a marker was a key that the user pressed."""

# What a user could mean as text stays; whole sequences that are known to drive a terminal go. Their length
# is limited, so that no text waits in here for an end that never comes. Compiled with the first paste only.
_STRING = rb"[\]PX^_][^\x07\x1b\r\n]{0,1024}"
_SEQUENCE = rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,2}[@-~]|" + _STRING + rb"(?:\x07|\x1b\\)|[()*+][012AB])?"
_UNFINISHED = rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,2}|" + _STRING + rb"\x1b?|[()*+])?\Z"


class PasteFilter:
    """Cleans one stream of input; pieces may end anywhere, in the middle of a marker too."""

    def __init__(self) -> None:
        self._inside = False
        self._held = b""
        """Inside a paste: what may be part of a sequence or of the end."""
        self._begun = b""
        """Outside: the beginning of a start marker that was passed on already, as it may be a key."""
        self._gap_s = 0.0
        """Longest wait inside that marker."""

    def feed(self, data: bytes, gap_s: float = 0.0) -> bytes:
        """Take the next piece of input.

        Args:
            data: What was read.
            gap_s: Seconds since the piece before.

        Returns:
            What to pass on now: what was typed as it came, pastes without any escape but their markers.
        """
        passed = bytearray()
        if self._begun:
            data = self._go_on(data, gap_s, passed)
        while data:
            if self._inside:
                text, end, data = (self._held + data).partition(END)
                unfinished = None if end else re.search(_UNFINISHED, text)
                self._held = unfinished.group() if unfinished else b""
                passed += re.sub(_SEQUENCE, b"", text[: len(text) - len(self._held)]) + end
                self._inside = not end
                continue
            typed, start, data = data.partition(START)
            passed += typed + start
            self._inside = bool(start)
            # It may end in a part of a start marker.
            at = -1 if start else typed.rfind(START[:1])
            self._begun = typed[at:] if at >= 0 and START.startswith(typed[at:]) else b""
            self._gap_s = 0.0
        return bytes(passed)

    def _go_on(self, data: bytes, gap_s: float, passed: bytearray) -> bytes:
        """Finish a start marker that came in pieces; returns what follows it."""
        begun, self._begun = self._begun, b""
        marker = begun + data
        if gap_s > FORGET_S:
            return data
        self._gap_s = max(self._gap_s, gap_s)
        if marker.startswith(START):
            # A reader that waited too long has taken the first pieces for keys: begin once more.
            passed += START[len(begun) :] if self._gap_s < ONE_KEY_S else START
            self._inside = True
            return marker[len(START) :]
        if START.startswith(marker):
            self._begun = marker
            passed += data
            return b""
        return data


_READ = 1 << 16
"""Bytes read at once; more than terminals keep."""


class PasteSafeDriver(LinuxDriver):
    """Textual's driver, with a relay between the terminal and its reader.

    Textual's parser takes an escape inside a bracketed paste for the beginning of a key and what follows
    for keys, so that a pasted line end would send the prompt.
    """

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._title = app.terminal_title if isinstance(app, Announcing) else None
        self._taken = False

    def start_application_mode(self) -> None:
        """Take the terminal, its title included; one that is gone is not taken once more.

        The kernel continues a program whose terminal it takes away: a second writer would fail at once, and
        whoever wrote to it would wait for ever.
        """
        if self._taken and not is_there():
            return
        self._taken = True
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._title is not None:
            self._title.attach(self.write)

    def stop_application_mode(self) -> None:
        if self._title is not None:
            self.write(self._title.farewell())
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        terminal = self.fileno
        translated = bool(self.attrs_before and self.attrs_before[tty.IFLAG] & termios.ICRNL)
        ours, theirs = socket.socketpair()
        relay = Thread(target=_relay, args=(terminal, ours, translated), name="terminal-input")
        relay.start()
        # The driver sets the modes of the terminal before this thread starts and after it has ended.
        self.fileno = theirs.fileno()
        try:
            super().run_input_thread()
        finally:
            self.fileno = terminal
            theirs.close()
            relay.join()
            ours.close()


def is_there() -> bool:
    """Whether there is still a terminal to paint to."""
    return sys.__stderr__ is not None and os.isatty(sys.__stderr__.fileno())


def _relay(terminal: int, reader: socket.socket, translated: bool) -> None:
    """Pass on what is typed and pasted until the reader closes its end.

    Args:
        terminal: File descriptor to read from.
        reader: Where to pass it on.
        translated: Whether the terminal made line feeds of Enter until a moment ago.
    """
    pastes = PasteFilter()
    early = translated and bool(select.select([terminal], [], [], 0)[0])
    before = monotonic()
    while data := _read(terminal, reader):
        now = monotonic()
        if early:
            early, data = False, data.replace(b"\n", b"\r")
        try:
            reader.sendall(pastes.feed(data, now - before))
        except OSError:
            return
        before = now


def _read(terminal: int, reader: socket.socket) -> bytes:
    """Wait for input; empty when the reader has gone, or the terminal, which ends the program."""
    while reader.fileno() not in select.select([terminal, reader.fileno()], [], [])[0]:
        try:
            data = os.read(terminal, _READ)
        except BlockingIOError:  # another reader was faster
            continue
        except OSError:
            data = b""
        if not data:
            # A terminal that is closed does not always tell the program.
            os.kill(os.getpid(), signal.SIGHUP)
        return data
    return b""


# What tmux says of itself.

_LIMIT_S = 2.0


def tmux_option(name: str) -> str:
    """The value of a server option; empty when tmux does not say. Blocks until it has answered."""
    tmux = shutil.which("tmux")
    if tmux is None:
        return ""
    try:
        done = subprocess.run(
            [tmux, "show-options", "-sv", name],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


# What is said, once, of a terminal that does not tell keys apart.

_LOG = logging.getLogger(__name__)
_NEVER_APART = frozenset({"shift+enter", "ctrl+enter"})
"""Keys that arrive as ``enter`` where keys are not extended."""


async def tell_of_keys(session: "ChatSession", *, ask: Callable[[str], str] = tmux_option) -> None:
    """Name the key for a new line inside a tmux that passes shift+enter on as enter, if nobody has yet.

    It stays among the notices until it is read, and is not said again at any later start.

    Args:
        session: Where it is said.
        ask: Gives the value of an option of tmux; called in a thread.
    """
    launch = session.launch
    told = launch.paths.told_of_tmux_file
    if not launch.env.get("TMUX") or await asyncio.to_thread(told.exists):
        return
    if await asyncio.to_thread(ask, "extended-keys") != "off":
        return
    session.report(keys_text(launch.settings.keymap))
    try:
        await asyncio.to_thread(write_atomic, told, "")
    except OSError as error:  # it is said once more: no harm
        _LOG.warning("that tmux was told of could not be noted: %s", error)


def keys_text(keymap: Mapping[str, str]) -> str:
    """What does not work, what does instead, and how to change it.

    Args:
        keymap: Keys of the actions that have others than the built-in ones.
    """
    keys = next(key.key for key in in_force(keymap) if key.id == "prompt.newline").split(",")
    works = [key_labels(key) for key in keys if key not in _NEVER_APART]
    way = f"{works[0]} starts a new line" if works else "give prompt.newline another key in /settings"
    return f"tmux passes shift+enter on as enter: {way}. In tmux.conf, set -s extended-keys on changes that."
