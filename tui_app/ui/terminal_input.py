"""Reads the terminal in front of Textual, so that no paste and no early line end is taken for another key."""

import os
import select
import signal
import socket
import sys
import termios
import tty
from threading import Thread
from time import monotonic
from typing import Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from tui_app.ui.outside import Announcing
from tui_app.ui.paste_filter import PasteFilter

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
        self._outside = app.outside if isinstance(app, Announcing) else None
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
        if self._outside is not None:
            self._outside.attach(self.write)

    def stop_application_mode(self) -> None:
        """Give it back as it was."""
        if self._outside is not None:
            self.write(self._outside.farewell())
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Read keys until the driver stops."""
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
        except BlockingIOError:  # somebody else was faster
            continue
        except OSError:
            data = b""
        if not data:
            # Whoever closed the terminal does not always tell the program.
            os.kill(os.getpid(), signal.SIGHUP)
        return data
    return b""
