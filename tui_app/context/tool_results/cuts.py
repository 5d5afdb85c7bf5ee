"""Cuts a text to a size, at its end or in its middle."""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime


def count_lines(text: str) -> int:
    """Lines of a text; a line break at the end opens no further line."""
    return text.count("\n") + (0 if not text or text.endswith("\n") else 1)


def byte_count(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(_encoded(text))


def head_and_tail(text: str, *, lines: int, chars: int, size: int, both: bool) -> tuple[str, str]:
    """What stays of a text at its start and at its end, within so many lines, characters and bytes.

    With ``both`` each has half, and what the one does not need of it the other gets; else the start has all.
    """
    if not both:
        return _head(text, lines, chars, size), ""
    last = lines // 2
    head = _head(text, lines - last, chars - chars // 2, size - size // 2)
    # From behind; a line break at the end opens no further line.
    turned = text[len(head) :][::-1]
    tail = _head(turned, last + text.endswith("\n"), chars - len(head), size - byte_count(head))
    tail = tail[::-1].removeprefix("\n")
    rest = text[: len(text) - len(tail)]
    return _head(rest, lines - last, chars - len(tail), size - byte_count(tail)), tail


def _head(text: str, lines: int, chars: int, size: int) -> str:
    text = text[:chars]
    parts = text.split("\n", lines)
    return first_bytes(text[: len(text) - len(parts[-1])] if len(parts) > lines else text, size)


def first_bytes(text: str, limit: int) -> str:
    """The beginning of a text that has at most so many bytes in UTF-8; no character is cut in two."""
    text = text[: max(0, limit)]
    while text and (over := byte_count(text) - limit) > 0:
        # A character has four at most.
        text = text[: -max(1, over // 4)]
    return text


def shorten(text: str, limit: int) -> str:
    """Head and tail of a text, two to one, with a mark between; at most ``limit`` characters in all."""
    if len(text) <= limit:
        return text
    mark = f"\n[… {len(text):,} characters in all …]\n"
    room = limit - len(mark)
    if room < len(mark):
        return text[: max(0, limit - 1)] + "…"[:limit]
    tail = room // 3
    return f"{text[: room - tail]}{mark}{text[len(text) - tail :]}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


FOLDER = "tool_outputs"

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]|\.(?=\.)|(?<=\.)\.|^[.-]")

_TOOL_CHARS = 60

_CALL_CHARS = 8


class SpillNames:
    """Names files ``tool_outputs/{tool}_{UTC time}_{call id}.txt``, each name only once."""

    def __init__(self, timestamp: datetime, existing: Iterable[str] = ()) -> None:
        """Start with the names that are taken.

        Args:
            timestamp: Time to put into the names; a naive one is taken for UTC.
            existing: Relative names of the files that are there, with the folder in front.
        """
        aware = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
        self._time = aware.astimezone(UTC).strftime("%Y%m%d_%H%M%S")
        self._existing = existing
        self._taken: set[str] | None = None

    def new(self, tool: str, call_id: str) -> str:
        """A new name, relative to the session's folder."""
        named, call = _safe(tool, _TOOL_CHARS, "tool"), _safe(call_id, _CALL_CHARS, "call")
        stem = f"{FOLDER}/{named}_{self._time}_{call}"
        if self._taken is None:
            # Only now: hardly any pass gives out a name. Some file systems do not tell upper from lower case.
            self._taken = {name.casefold() for name in self._existing}
        name, number = f"{stem}.txt", 1
        while name.casefold() in self._taken:
            number += 1
            name = f"{stem}-{number}.txt"
        self._taken.add(name.casefold())
        return name


def sha256_of(text: str) -> str:
    """SHA-256 of a text in UTF-8, as hexadecimal digits."""
    return hashlib.sha256(_encoded(text)).hexdigest()


def _safe(text: str, limit: int, instead: str) -> str:
    """A piece of a file name: safe characters only, and nothing that hides a file or looks like an option."""
    return _UNSAFE.sub("_", text[:limit]) or instead
