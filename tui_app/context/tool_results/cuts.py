"""Cutting a text to a size, at its end or in its middle."""

import hashlib


def count_lines(text: str) -> int:
    """Return the number of lines; a line break at the end starts no further line."""
    return text.count("\n") + (0 if not text or text.endswith("\n") else 1)


def byte_count(text: str) -> int:
    return len(text) if text.isascii() else len(_encoded(text))


def head_and_tail(text: str, *, lines: int, chars: int, size: int, both: bool) -> tuple[str, str]:
    """Return what is kept at the start and the end of a text, within limits of lines, characters and bytes.

    With ``both`` each end gets half, and one end's unused part goes to the other; otherwise the start gets
    all.
    """
    if not both:
        return _head(text, lines, chars, size), ""
    last = lines // 2
    head = _head(text, lines - last, chars - chars // 2, size - size // 2)
    # Reversed; a line break at the end starts no further line.
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
    """Return the beginning of a text with at most so many bytes in UTF-8, without splitting a character."""
    text = text[: max(0, limit)]
    while text and (over := byte_count(text) - limit) > 0:
        # A character has at most four bytes.
        text = text[: -max(1, over // 4)]
    return text


def shorten(text: str, limit: int) -> str:
    """Keep head and tail of a text, two to one, with a mark between; at most ``limit`` characters in all."""
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


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, as hexadecimal digits."""
    return hashlib.sha256(_encoded(text)).hexdigest()
