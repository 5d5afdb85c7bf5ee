"""A JSON document whose end is missing, closed where its last whole value ends."""

import re

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],"]', re.DOTALL)
_CLOSER = {"{": "}", "[": "]"}


def closed(text: str) -> tuple[str, int]:
    """Close the brackets that are open where the text breaks off.

    What stands behind the last comma or bracket is dropped: it may be half a value.

    Returns:
        The closed text and how many characters of the original it holds; empty and 0 when the text does not
        begin as a JSON list or object, or does not end inside of one.
    """
    if not text.lstrip().startswith(("{", "[")):
        return "", 0
    open_brackets: list[str] = []
    cut, closers = 0, ""
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark == '"':
            # The text breaks off inside of this string.
            break
        if mark in _CLOSER:
            open_brackets.append(mark)
        elif mark in ("}", "]"):
            if not open_brackets or _CLOSER[open_brackets.pop()] != mark:
                return "", 0
            if not open_brackets:
                return "", 0
        if mark == ",":
            cut = token.start()
        elif not mark.startswith('"'):
            cut = token.end()
        else:
            continue
        closers = "".join(_CLOSER[mark] for mark in reversed(open_brackets))
    return (text[:cut] + closers, cut) if cut else ("", 0)
