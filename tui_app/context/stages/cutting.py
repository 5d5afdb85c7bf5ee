"""Cutting text to a size: from the end, or from the middle so that head and tail stay."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kept:
    """How many characters of a text stay at its start and at its end; both may reach over the whole text."""

    head: int
    tail: int

    def is_whole(self, text: str) -> bool:
        """Whether nothing is cut."""
        return self.head + self.tail >= len(text)

    def pieces(self, text: str) -> tuple[str, str]:
        """What stays at the start and at the end."""
        if self.is_whole(text):
            return text, ""
        return text[: self.head], text[len(text) - self.tail :]


def everything(text: str, *, both: bool) -> Kept:
    """Nothing cut yet; with ``both`` it will be cut in the middle."""
    return Kept(len(text), len(text) if both else 0)


def count_lines(text: str) -> int:
    """Lines of a text; a line break at the end opens no further line."""
    return text.count("\n") + (0 if not text or text.endswith("\n") else 1)


def byte_count(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(_encoded(text))


def cut_lines(text: str, limit: int, *, both: bool) -> Kept:
    """Keep at most ``limit`` lines."""
    if count_lines(text) < limit:
        return everything(text, both=both)
    tail = limit // 2 if both else 0
    return Kept(_first_lines(text, limit - tail), _last_lines(text, tail))


def cut_chars(text: str, kept: Kept, limit: int) -> Kept:
    """Keep at most ``limit`` characters of what is kept so far."""
    if min(kept.head + kept.tail, len(text)) <= limit:
        return kept
    return Kept(*_shares(kept.head, kept.tail, limit))


def cut_bytes(text: str, kept: Kept, limit: int) -> Kept:
    """Keep at most ``limit`` bytes of UTF-8 of what is kept so far; no character is cut in two."""
    if text.isascii():
        return cut_chars(text, kept, limit)
    head = _encoded(text[: kept.head])
    tail = _encoded(text[len(text) - kept.tail :]) if kept.tail else b""
    size = byte_count(text) if kept.is_whole(text) else len(head) + len(tail)
    if size <= limit:
        return kept
    first, last = _shares(len(head), len(tail), limit)
    while first and first < len(head) and _continues(head[first]):
        first -= 1
    while last and _continues(tail[len(tail) - last]):
        last -= 1
    return Kept(_char_count(head[:first]), _char_count(tail[len(tail) - last :]))


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


def _shares(head: int, tail: int, limit: int) -> tuple[int, int]:
    """Divide ``limit`` evenly between head and tail; what one does not need the other gets."""
    first = min(head, max(limit - limit // 2, limit - tail)) if tail else min(head, limit)
    return first, min(tail, limit - first)


def _first_lines(text: str, count: int) -> int:
    end = 0
    for _ in range(count):
        found = text.find("\n", end)
        if found < 0:
            return len(text)
        end = found + 1
    return end


def _last_lines(text: str, count: int) -> int:
    start = len(text)
    for place in range(count):
        end = start - 1 if place or text.endswith("\n") else start
        start = text.rfind("\n", 0, max(0, end)) + 1
    return len(text) - start


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _continues(byte: int) -> bool:
    """Whether a byte is inside of a character."""
    return byte & 0xC0 == 0x80


def _char_count(piece: bytes) -> int:
    return len(piece.decode("utf-8", "surrogatepass"))
