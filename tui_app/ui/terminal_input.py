"""Terminal input: a filter that passes nothing but text, keys and pastes to Textual, and Textual's driver."""

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
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Thread, get_ident
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.constants import DISABLE_KITTY_KEY
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key, MouseEvent, MouseMove, MouseUp
from textual.message import Message

from tui_app.chat_keys import in_force, key_labels
from tui_app.files import write_atomic
from tui_app.system.project_files import repository_root
from tui_app.system.trust import search_path
from tui_app.ui.host import Host
from tui_app.ui.keyboard.type_ahead import typed_key
from tui_app.ui.terminal_output import TerminalWriter, discard_output

if TYPE_CHECKING:
    from tui_app.ui.chat.session import ChatSession

_LOG = logging.getLogger(__name__)

START, END = b"\x1b[200~", b"\x1b[201~"
SPLIT_S = 0.4
"""Seconds that the rest of a sequence may take on a slow connection; after that, its escape was a key."""
BY_HAND_S = 0.05
"""Seconds between two reads above which the second one may have been typed by hand."""
UNENDED_S = 1.0
"""Seconds of silence after which the end of a paste is considered lost."""
BURST_S = 0.03
"""Seconds that are too short to type a letter, enter and another letter by hand."""
MANY_LINES = 3
"""Lines in one burst that make it a paste although the terminal did not mark it as one."""

_ESCAPE = b"\x1b"
_CONTROLS = b"\x03\x11"
"""ctrl+c and ctrl+q, which are typed if they come after a paste."""
_CONTROLS_ALONE = re.compile(rb"(?:[\x03\x11]|\x1b\[(?:27;5;(?:99|113)~|(?:99|113)(?::\d*)*;5(?::1)?u))+")
"""ctrl+c or ctrl+q alone in a read: typed, because no pasted text ends there."""

# Inside a paste, whatever a user could mean as text is kept; complete sequences known to control a terminal
# are removed. Lengths are limited, so that text never waits for an end that does not come.
_STRING = rb"[\]PX^_][^\x07\x1b\r\n]{0,1024}"
_SEQUENCE = rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,2}[@-~]|" + _STRING + rb"(?:\x07|\x1b\\)|[()*+][012AB])?"
_UNFINISHED = rb"(?:\x1b(?:\[[0-?]{0,64}[ -/]{0,2}|" + _STRING + rb"\x1b?|[()*+])?|[\x03\x11]+)\Z"

# Outside of a paste. The longest answers are those to a program that requested the clipboard.
_ANSWER = rb"(?:\](?=[0-9lLI])|P(?=[0-9>!?=$|+{])|[X^_](?=[^ -/\x00-\x1f]))"
_ANSWERED = rb"[^\x00-\x1f\x7f]{0,1048576}?"
_COORDINATE = rb"(?:[ -\x7f]|[\xc2-\xdf][\x80-\xbf])"
"""A mouse coordinate in a terminal that encodes them as UTF-8 characters."""
_TYPED = re.compile(
    rb"\x1b(?P<alt>\x1b)?(?:"
    rb"\[(?:M(?:" + _COORDINATE + rb"{3}|[ -\xff]{3})|(?P<old>\[[A-E]|[0-9]+\$(?!y))"
    rb"|(?P<given>[0-?\-]{0,256})(?P<more>[ -/]{0,4})(?P<final>[@-LN-~]|(?<!\[)M))"
    rb"|O(?P<mods>[0-9]?)(?P<pad>[ -/:-~])"
    rb"|(?P<answer>/Z|" + _ANSWER + _ANSWERED + rb"(?:\x07|\x1b\\|\xc2\x9c))"
    rb")|\x1b(?P<letter>[\r\n\t\x7f\x08 -NQ-WYZ\\`-~]|[\xc2-\xdf][\x80-\xbf]"
    rb"|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"
)
_WHOLE = re.compile(rb"(?:" + _TYPED.pattern + rb")+")
_UNENDED = re.compile(
    rb"\x1b{1,2}(?:\[(?:M[ -\xff]{0,2}|\[|[0-?\-]{0,256}[ -/]{0,4})|O[0-9]?"
    rb"|" + _ANSWER + _ANSWERED + rb"\x1b?|[\]PX^_]|[\xc2-\xf4][\x80-\xbf]{0,2})?"
)
"""A sequence that may be incomplete."""
_EIGHT_BITS = re.compile(rb"\xc2(?:[\x90\x98\x9b\x9d-\x9f]|\Z)")
"""A sequence with an 8-bit C1 control, encoded in UTF-8, instead of escape and letter; perhaps incomplete."""
_BEGINS = re.compile(rb"\x1b|" + _EIGHT_BITS.pattern)
_WITH_ALT = re.compile(rb"\x1b\x1b(?:\[(?:[0-9;:]*[ABCDFH]|[1-8](?:;[0-9:]*)?~)|O[ABCDFH])")
"""Keys for which terminals send alt as an additional escape before their sequence."""
_MOUSE = re.compile(r"<\d{1,5};-?\d{1,5};-?\d{1,5}")
_SIZE = re.compile(r"48(?:;[1-9]\d{0,4}){4}")
_MODE = re.compile(r"\?\d{1,5};\d")
_EDITING = frozenset({*range(1, 9), *range(11, 16), *range(17, 22), 23, 24})
"""Numbers of keys whose sequence ends in a tilde, up to F12."""
_SHIFT, _ALT, _CTRL = 1, 2, 4
_ESCAPE_KEY = "\x1b" if DISABLE_KITTY_KEY else "\x1b[27u"
"""In the form that cannot begin another key's sequence, unless the user has turned that form off."""
_ENTER, _TAB, _ESC, _DELETE = 13, 9, 27, 127
_KITTY_KEYS, _WITH_BASE_KEYS = "\x1b[>25u", "\x1b[>29u"
"""Textual's request for extended keys, and the same with keys of the base (Latin) layout included."""
_LATIN = {
    ord(letter): ord(key)
    for letters, keys in (
        ("йцукенгшщзхъфывапролджэячсмитьбюіїє", "qwertyuiop[]asdfghjkl;'zxcvbnm,.s]'"),
        ("ςερτυθιοπασδφγηξκλζχψωβνμ", "wertyuiopasdfghjklzxcvbnm"),
        ("קראטוןםפשדגכעיחלךףזסבהנמצתץ", "ertyuiopasdfghjkl;zxcvbnm,."),
    )
    for letter, key in zip(letters, keys, strict=True)
}
"""Keys of a Latin layout for letters of other scripts, for terminals that do not report them."""


def _csi(key: int | str, modifiers: int, final: str) -> str:
    """Return a key with modifiers, as all terminals with extended keys send it."""
    return f"\x1b[{key};{modifiers + 1}{final}" if modifiers else f"\x1b[{key}{final}"


def _is_sign(code: int) -> bool:
    """Return whether a code point is text."""
    return 32 <= code < _DELETE or 0x9F < code < 0xD800 or 0xF8FF < code <= 0x10FFFF


def _numbers(field: str) -> list[int]:
    return [int(number) if number.isdecimal() and len(number) < 9 else -1 for number in field.split(":")]


def _coded(code: int, modifiers: int, text: Sequence[int] = (), shifted: int = -1, base: int = -1) -> str:
    """Return a key given by its code point: text, a key that Textual knows, or nothing."""
    if not modifiers & ~(_SHIFT | _ALT) and (signs := "".join(map(chr, filter(_is_sign, text)))):
        return signs
    if code == _ENTER:
        # Many terminals are configured to send alt+enter for shift+enter.
        return _csi(code, _SHIFT if modifiers & (_SHIFT | _ALT) else modifiers, "u")
    if code in (_TAB, _ESC, _DELETE) or 57358 <= code <= 57454:
        return _csi(code, modifiers, "u")
    if not _is_sign(code):
        return ""
    if modifiers & ~_SHIFT:
        named = code < _DELETE
        return _csi(code if named else base if _is_sign(base) else _LATIN.get(code, code), modifiers, "u")
    upper = shifted if _is_sign(shifted) else ord(chr(code).upper()[0])
    return chr(upper if modifiers else code)


def _moved(final: str, modifiers: int) -> str:
    """Return an arrow or another key named by a letter; alt with an arrow moves by words, like ctrl."""
    if final in "CD" and modifiers in (_ALT, 8):
        modifiers = _CTRL
    if final == "R":  # could be a cursor position report
        return _csi(13, modifiers, "~")
    return _csi("" if not modifiers else 1, modifiers, final)


def _sequence_key(given: str, final: str, alt: int) -> str:
    """Return what to pass on for a complete control sequence; empty if it is not a key.

    Args:
        given: Its parameters.
        final: Its final letter, after any intermediate characters.
        alt: :data:`_ALT` if a second escape preceded it, 0 if not.
    """
    if given[:1] in tuple("<=>?") or final == "t" or len(final) > 1:
        shapes = {"M": _MOUSE, "m": _MOUSE, "t": _SIZE, "$y": _MODE}
        known = final in shapes and shapes[final].fullmatch(given)
        return f"\x1b[{given}{final}" if known else ""
    if final in "IOZ":
        return f"\x1b[{final}" if final == "Z" or not given else ""
    fields = [*given.split(";"), "", ""]
    (code, *alternates), (mask, *event) = (_numbers(field) for field in fields[:2])
    modifiers = (mask - 1 if 0 < mask <= 256 else 0) & 63 | alt
    if event[:1] == [3]:  # key released
        return ""
    if final == "u":
        return _coded(code, modifiers, _numbers(fields[2]), *alternates[:2])
    if final in "~^@":
        if (code, final) == (27, "~"):
            return _coded(_numbers(fields[2])[0], modifiers)
        modifiers |= {"~": 0, "^": _CTRL, "@": _CTRL | _SHIFT}[final]
        return _csi(code, modifiers, "~") if code in _EDITING else ""
    if code not in (1, -1):
        return ""
    if final in "abcd":
        return _moved(final.upper(), _SHIFT | alt)
    return _moved(final, modifiers) if final in "ABCDEFHPQRS" else ""


def _keypad_key(sign: str, modifiers: int) -> str:
    """Return what to pass on for a key sent as a single shift (SS3) sequence."""
    if sign in "ABCDEFHPQRS":
        return _moved(sign, modifiers)
    if sign in "abcd":
        return _moved(sign.upper(), _CTRL)
    if sign in "MI":
        return _coded(ord(sign) - 64, modifiers)
    return chr(ord(sign) - 64) if "j" <= sign <= "y" else "=" if sign == "X" else ""


def _alt_key(letter: str) -> str:
    """Return what to pass on for a letter after an escape: the key with alt."""
    if letter in "bf":
        return _moved("D" if letter == "b" else "C", _CTRL)
    if letter in "\x7f\x08":
        return "\x17"
    if letter in "!/":
        # Typed right after esc they begin a command, which without this character would be sent as a prompt.
        return letter
    if letter == "?":
        # alt+? is bound to nothing: it was typed right after esc.
        return _ESCAPE_KEY + letter
    code = _ENTER if letter in "\r\n" else ord(letter.lower()[0])
    return _coded(code, _ALT | (_SHIFT if letter.isupper() else 0))


def _key(whole: re.Match[bytes], alt: int) -> str:
    """Return what to pass on for a complete sequence.

    It is empty for answers, and for the mouse reports of basic terminals.
    """
    if whole["pad"]:
        return _keypad_key(whole["pad"].decode(), int(whole["mods"] or b"1") - 1 & 15 | alt)
    if old := whole["old"]:
        # The Linux console's function keys, and rxvt's with shift.
        number = old[1] - 54 if old[:1] == b"[" else int(old[:-1][:3])
        return _csi(number, 0 if old[:1] == b"[" else _SHIFT, "~") if number in _EDITING else ""
    if not whole["final"]:
        return ""
    return _sequence_key(whole["given"].decode(), (whole["more"] + whole["final"]).decode(), alt)


class InputFilter:
    """Filters one input stream, which may be split anywhere."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        """When :meth:`expire` is due; None if nothing is pending."""
        self._inside = False
        self._held = b""
        """Possible beginning of a sequence, or of the end of a paste."""
        self._by_hand = self._is_apart = False
        """Whether a held escape may have been typed by hand, and whether one character typed after it is
        held, too.
        """
        self._burst = b""
        """Input that arrived at once with an enter in it: a paste, if more follows."""
        self._many = MANY_LINES
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._read_at = self._pasted_at = float("-inf")

    @property
    def is_escape_held(self) -> bool:
        """Whether an escape is held that may be a key, or the beginning of one."""
        return not self._inside and self._held in (_ESCAPE, _ESCAPE * 2)

    def feed(self, data: bytes, now: float, *, ahead: bool = False) -> bytes:
        """Process the next chunk of input.

        Args:
            data: The bytes read.
            now: Monotonic seconds.
            ahead: Whether it was typed or pasted before the program read keys.

        Returns:
            What to pass on now.
        """
        gap, self._read_at = now - self._read_at, now
        passed = ""
        if self._inside and _CONTROLS_ALONE.fullmatch(data):
            passed = self._end_paste()
        if not self._inside and (
            self._burst or (b"\r" in data and not self._held and (gap < BURST_S / 3 or data.strip(b"\r\n")))
        ):
            if self._burst and _WHOLE.fullmatch(data):
                # Reports of the terminal may arrive at any time.
                return self._read(data).encode()
            if not self._burst:
                self._many = MANY_LINES + ahead
            self._burst += data
            if START not in self._burst:
                self.deadline = now + BURST_S
                return passed.encode()
            data, self._burst = self._burst, b""
        self._is_apart = self._held == _ESCAPE + b"O"
        if self._held == _ESCAPE:
            self._by_hand = gap > BY_HAND_S
        passed += self._read(data)
        self._await(now)
        return passed.encode()

    def expire(self, now: float) -> bytes:
        """Stop waiting for pending input that did not come; returns what to pass on."""
        burst, self._burst, pending = self._burst, b"", self._held
        if burst:
            lines = burst.count(b"\r") + (not burst.endswith(b"\r"))
            if lines >= self._many or END in burst or now - self._pasted_at < UNENDED_S:
                self._pasted_at, pasted = now, burst.rstrip(_CONTROLS)
                burst = START + re.sub(_SEQUENCE, b"", pasted) + END + burst[len(pasted) :]
            passed = self._read(burst)
        elif self._inside:
            self._pasted_at = now
            passed = self._end_paste()
        else:
            self._held = b""
            passed = self._broken(pending)
        self._await(now)
        return passed.encode()

    def _await(self, now: float) -> None:
        self.deadline = now + (UNENDED_S if self._inside else SPLIT_S) if self._inside or self._held else None

    def _read(self, data: bytes) -> str:
        data, self._held = self._held + data, b""
        passed = ""
        while data:
            if not self._inside:
                text, data = self._typed(data)
                passed += text
                continue
            text_bytes, end, data = data.partition(END)
            unfinished = None if end else re.search(_UNFINISHED, text_bytes)
            self._held = unfinished.group() if unfinished else b""
            pasted = text_bytes[: len(text_bytes) - len(self._held)]
            passed += self._decode(re.sub(_SEQUENCE, b"", pasted)) + (self._end_paste() if end else "")
        return passed

    def _end_paste(self) -> str:
        typed = self._held.decode() if not self._held.strip(_CONTROLS) else ""
        self._inside, self._held = False, b""
        return self._decode(b"", final=True) + END.decode() + typed

    def _typed(self, data: bytes) -> tuple[str, bytes]:
        """Read text, or one sequence; returns what to pass on, and the remaining input."""
        begins = _BEGINS.search(data)
        if at := begins.start() if begins else len(data):
            return self._decode(data[:at], final=at < len(data)), data[at:]
        if odd := self._decode(b"", final=True):
            return odd, data
        if _EIGHT_BITS.match(data):
            if len(data) == 1:
                self._held = data
                return "", b""
            data = _ESCAPE + bytes([data[1] - 0x40]) + data[2:]
        if (whole := _TYPED.match(data)) is None:
            if _UNENDED.fullmatch(data):
                self._held = data
                return "", b""
            begun = _UNENDED.match(data)
            end = begun.end() if begun else 1
            return self._broken(data[:end]), data[end:]
        by_hand, self._by_hand = self._by_hand, False
        is_text = whole["letter"] or (whole["pad"] and self._is_apart)
        if (by_hand and is_text) or (whole["alt"] and (by_hand or not _WITH_ALT.fullmatch(whole.group()))):
            return _ESCAPE_KEY, data[1:]
        rest = data[whole.end() :]
        if whole["letter"]:
            return _alt_key(whole["letter"].decode()), rest
        if whole.group() == START:
            self._inside = True
            return START.decode(), rest
        return _key(whole, _ALT if whole["alt"] else 0), rest

    def _broken(self, begun: bytes) -> str:
        """Return what to pass on for a sequence that stays incomplete: its escape as a key, if it was one."""
        by_hand, self._by_hand = self._by_hand, False
        text = begun.lstrip(_ESCAPE)
        escapes = _ESCAPE_KEY * (len(begun) - len(text))
        if not text or by_hand or not escapes:
            return escapes + text.decode("utf-8", "replace")
        # alt and a bracket or similar: text typed after it is not an answer of a terminal.
        return ""


_READ = 1 << 16
"""Bytes per read; more than terminals buffer."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, with a relay between the terminal and its reader.

    The relay passes on nothing but text, keys, pastes and reports of a known form.
    """

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._title = app.terminal_title if isinstance(app, Host) else None
        self._taken = self._has_terminal = False
        self._extends_keys = "TMUX" in os.environ
        self._writer: TerminalWriter | None = None
        self._painter = 0
        """Id of the thread that paints."""
        self._held: AbstractContextManager[None] | None = None
        """Delays frames while the terminal has not accepted earlier output."""

    def write(self, data: str) -> None:
        """Queue output; while the terminal is slow, changes are combined into one frame."""
        if self._writer is None:
            screen = sys.__stderr__.fileno() if sys.__stderr__ is not None else 2
            self._writer = TerminalWriter(screen, lambda: self._app.call_later(self._paint_again))
        # Ask for the base layout's keys, too, because keys are not bound to letters of other scripts.
        is_behind = self._writer.put(_WITH_BASE_KEYS if data == _KITTY_KEYS else data)
        if is_behind and self._held is None and get_ident() == self._painter:
            self._held = self._app.batch_update()
            self._held.__enter__()

    def _paint_again(self) -> None:
        batch, self._held = self._held, None
        if batch is not None:
            batch.__exit__(None, None, None)
            # Changes made meanwhile are no longer marked as such.
            self._app.refresh()

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None and not writer.stop():
            discard_output(*filter(os.isatty, (1, 2)))
        super().close()

    def process_message(self, message: Message) -> None:
        """Forward a message, dropping mouse presses outside of the screen, which would unfocus the prompt.

        A release is moved to the edge; otherwise a drag would continue.
        """
        if isinstance(message, Key):
            message = typed_key(message.key, message.character)
        if isinstance(message, MouseEvent) and not isinstance(message, MouseMove):
            x, y = (max(0, min(at, end - 1)) for at, end in zip(message.offset, self._app.size, strict=True))
            if message.offset != (x, y) and not isinstance(message, MouseUp):
                return
            if message.offset != (x, y):
                message = MouseUp(None, x, y, 0, 0, message.button, False, False, False, x, y)
        super().process_message(message)

    def start_application_mode(self) -> None:
        """Take over the terminal and its title, but not again if the terminal is gone.

        When the kernel takes a program's terminal away, it continues the program: a second writer would fail
        at once, and writing to it would block forever. It also continues a program that was stopped from
        outside, while the shell has used the terminal.
        """
        if self._taken and not (sys.__stderr__ and os.isatty(sys.__stderr__.fileno())):
            return
        self._painter = get_ident()
        if self._has_terminal:
            self.suspend_application_mode()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if not self._is_raw():  # stopped again, in the background
            return
        again, self._taken, self._has_terminal = self._taken, True, True
        if self._extends_keys:
            # tmux knows only this request, and other terminals know Textual's.
            self.write("\x1b[>4;1m")
        if self._title is not None:
            self._title.attach(self.write)
        if again:
            self.send_message(self.SignalResume())

    def stop_application_mode(self) -> None:
        self._has_terminal = False
        if self._extends_keys:
            self.write("\x1b[>4;0m")
        if self._title is not None:
            self.write(self._title.farewell())
        super().stop_application_mode()

    def _is_raw(self) -> bool:
        """Return whether keys arrive one by one; True if there is no terminal that buffers lines."""
        try:
            return not termios.tcgetattr(self.fileno)[tty.LFLAG] & termios.ICANON
        except termios.error:
            return True

    def run_input_thread(self) -> None:
        terminal = self.fileno
        translated = bool(self.attrs_before and self.attrs_before[tty.IFLAG] & termios.ICRNL)
        ours, theirs = socket.socketpair()
        relay = Thread(target=_relay, args=(terminal, ours, translated, self.write), name="terminal-input")
        relay.start()
        # The driver sets the terminal's modes before this thread starts and after it has ended.
        self.fileno = theirs.fileno()
        try:
            while True:
                try:
                    return super().run_input_thread()
                except (ArithmeticError, LookupError, ValueError):
                    # Input that the parser cannot handle must not end the thread.
                    _LOG.exception("a part of the input was not understood")
        finally:
            self.fileno = terminal
            theirs.close()
            relay.join()
            ours.close()


def _relay(terminal: int, reader: socket.socket, translated: bool, write: Callable[[str], None]) -> None:
    """Pass on what is typed and pasted until the reader closes its end.

    Args:
        terminal: File descriptor to read from.
        reader: Where to pass it on.
        translated: Whether the terminal translated enter to line feeds until a moment ago.
        write: Writes to the terminal.
    """
    typed = InputFilter()
    early = translated and bool(select.select([terminal], [], [], 0)[0])
    while True:
        wait_s = None if typed.deadline is None else max(0.0, typed.deadline - monotonic())
        ready, _, _ = select.select([terminal, reader.fileno()], [], [], wait_s)
        if reader.fileno() in ready:
            return
        if not ready:
            passed = typed.expire(monotonic())
        elif data := _read(terminal):
            passed = typed.feed(data.replace(b"\n", b"\r") if early else data, monotonic(), ahead=early)
            early = False
            if typed.is_escape_held:
                write("\x1b[5n")  # request the status: the answer arrives after all input already on its way
        elif data is None:
            continue
        else:
            # A closed terminal does not always send a signal.
            os.kill(os.getpid(), signal.SIGHUP)
            return
        try:
            reader.sendall(passed)
        except OSError:
            return


def _read(terminal: int) -> bytes | None:
    """Read available input; empty if the terminal is gone, None if another reader was faster."""
    try:
        return os.read(terminal, _READ)
    except BlockingIOError:
        return None
    except OSError:
        return b""


_LIMIT_S = 2.0


def tmux_option(name: str) -> str:
    """Return a tmux server option; empty if tmux does not answer. Blocks until it has."""
    # Not started on the user's request, so an executable that the folder contains is not used.
    path = search_path(os.environ.get("PATH", ""), repository_root(Path()))
    tmux = shutil.which("tmux", path=path)
    if tmux is None:
        return ""
    try:
        done = subprocess.run(
            [tmux, "show-options", "-sv", name], capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


_NEVER_APART = frozenset({"shift+enter", "ctrl+enter"})
"""Keys that arrive as ``enter`` without extended keys."""


async def suggest_newline_key(session: "ChatSession", *, ask: Callable[[str], str] = tmux_option) -> None:
    """Report once the key for a new line, inside a tmux that sends shift+enter as enter.

    The notice stays until it is read, and later starts do not repeat it.

    Args:
        session: Where it is reported.
        ask: Returns a tmux option; called in a thread.
    """
    launch = session.launch
    marker = launch.paths.told_of_tmux_file
    if not launch.env.get("TMUX") or await asyncio.to_thread(marker.exists):
        return
    if await asyncio.to_thread(ask, "extended-keys") != "off":
        return
    session.report(keys_text(launch.settings.keymap), aloud=False)
    try:
        await asyncio.to_thread(write_atomic, marker, "")
    except OSError as error:  # the notice is repeated once, which does no harm
        _LOG.warning("that tmux was told of could not be noted: %s", error)


def keys_text(keymap: Mapping[str, str]) -> str:
    """Word the problem, the keys that work instead, and how to fix it.

    Args:
        keymap: The user's key mappings.
    """
    keys = next(key.key for key in in_force(keymap) if key.id == "prompt.newline").split(",")
    works = [key_labels(key) for key in keys if key not in _NEVER_APART]
    way = works[0] if works else "another key (prompt.newline in /settings)"
    return (
        f"tmux sends shift+enter as enter: use {way}. To fix it, put `set -s extended-keys on` in tmux.conf."
    )
