"""Takes control sequences out of bracketed pastes while they are read, so that a paste stays a paste.

A parser of keys that meets an escape inside a paste may go on reading it as keys, and then a pasted line end
is Enter. What is typed passes unchanged and at once.
"""

import re

START, END = b"\x1b[200~", b"\x1b[201~"
ONE_KEY_S = 0.05
"""Within these seconds, well below the limit of any parser, two reads are still one key."""
FORGET_S = 1.0
"""After these seconds the beginning of a marker was a key that somebody pressed."""

# What a person could mean as text stays; whole sequences that are known to drive a terminal go. Their length
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
            data = self._pasted(data, passed) if self._inside else self._typed(data, passed)
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

    def _typed(self, data: bytes, passed: bytearray) -> bytes:
        typed, start, rest = data.partition(START)
        passed += typed + start
        self._inside = bool(start)
        self._begun, self._gap_s = b"" if start else _beginning(typed), 0.0
        return rest

    def _pasted(self, data: bytes, passed: bytearray) -> bytes:
        text, end, rest = (self._held + data).partition(END)
        unfinished = None if end else re.search(_UNFINISHED, text)
        self._held = unfinished.group() if unfinished else b""
        passed += re.sub(_SEQUENCE, b"", text[: len(text) - len(self._held)]) + end
        self._inside = not end
        return rest


def _beginning(typed: bytes) -> bytes:
    """The part of a start marker that some input ends in, if any."""
    at = typed.rfind(START[:1])
    return typed[at:] if at >= 0 and START.startswith(typed[at:]) else b""
