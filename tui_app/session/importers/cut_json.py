"""A JSON document whose end is missing, closed where its last whole value ends."""

import re
from dataclasses import dataclass

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],"]', re.DOTALL)
_CLOSER = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Closed:
    """The beginning of a document as a document of its own."""

    text: str = ""
    """Empty when there is none."""
    length: int = 0
    """Characters of the original that it holds."""
    deep: bool = False
    """Whether it ends where the original is nested too deeply, and not where that breaks off."""


def closed(text: str, depth: int) -> Closed:
    """Close the brackets that are open where the text breaks off, or where it is nested too deeply.

    What stands behind the last comma or bracket is dropped: it may be half a value.

    Args:
        text: The document.
        depth: Brackets that may be open at once.

    Returns:
        Nothing when the text does not begin as a JSON list or object, or does not end inside of one.
    """
    if not text.lstrip().startswith(("{", "[")):
        return Closed()
    open_brackets: list[str] = []
    cut, deep = 0, False
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark == '"':
            # The text breaks off inside of this string.
            break
        if mark.startswith('"'):
            continue
        if mark in _CLOSER:
            if deep := len(open_brackets) == depth:
                break
            open_brackets.append(mark)
        elif mark != "," and (not open_brackets or _CLOSER[open_brackets.pop()] != mark or not open_brackets):
            return Closed()
        cut = token.start() if mark == "," else token.end()
    # Joined once: at every token it would take the square of the depth.
    closers = "".join(_CLOSER[mark] for mark in reversed(open_brackets))
    return Closed(text[:cut] + closers, cut, deep) if cut else Closed()
