"""What in an error is no word of the provider's: pieces of the request that it sends back."""

import re
from collections.abc import Iterator

ECHOED = frozenset(
    {"input", "inputs", "messages", "prompt", "contents", "request", "revised_prompt", "failed_generation"}
)
"""Keys under which servers send the request back; what a person wrote must not be read as an error."""
_KEY = re.compile(rf"""(\\*["'])(?:{"|".join(sorted(ECHOED))})\1\s*:\s*(?=\\*["']|[\[{{(])""", re.IGNORECASE)
_MARK = re.compile(r"""\\*["']|[\[\](){}]""")
_CLOSERS = {"[": "]", "(": ")", "{": "}"}
_QUOTE = re.compile(r"""(?<!\w)(?<!\\)(["'])(?=\S)""")
_INTRODUCED = re.compile(
    r"(?:\b(?:invalid|unexpected|unsupported|value|got|received|given|provided|text|content|argument|param"
    r"|parameter|string)\b|\binput_value=)[^\"'\n]{0,30}$",
    re.IGNORECASE,
)
"""Words behind which a sentence quotes what it was given."""
_LOOK_BACK = 60
_GONE = "…"


def without_echoes(text: str, *, sentences: bool) -> str:
    """Leave out of an error's text what it quotes of the request.

    Args:
        text: One text of a provider, or an exception's own words.
        sentences: Whether it is prose, in which such a quotation may stand; a printed structure is none.
    """
    pieces: list[str] = []
    end = 0
    for start, stop in _values(text):
        pieces += (text[end:start], _GONE)
        end = stop
    text = "".join([*pieces, text[end:]])
    return _unquoted(text) if sentences else text


def _values(text: str) -> Iterator[tuple[int, int]]:
    """Where the values of echoed keys stand in printed JSON or Python."""
    place = 0
    while (key := _KEY.search(text, place)) is not None:
        place = _end_of_value(text, key.end())
        yield key.end(), place


def _end_of_value(text: str, start: int) -> int:
    """Where the string or bracket that opens at ``start`` ends; if it was cut off, the end of the text."""
    open_brackets: list[str] = []
    place = start
    while (mark := _MARK.search(text, place)) is not None:
        sign, place = mark.group(), mark.end()
        if sign in _CLOSERS:
            open_brackets.append(_CLOSERS[sign])
        elif sign[-1] in "\"'":
            place = _end_of_string(text, place, sign)
        elif open_brackets and sign == open_brackets[-1]:
            open_brackets.pop()
        if not open_brackets:
            return place
    return len(text)


def _end_of_string(text: str, start: int, quote: str) -> int:
    closing = re.compile(rf"(?<!\\){re.escape(quote)}").search(text, start)
    return closing.end() if closing else len(text)


def _unquoted(text: str) -> str:
    """Prose without what it quotes of a request: several words in quotation marks, introduced as a value."""
    pieces: list[str] = []
    end = place = 0
    while (opening := _QUOTE.search(text, place)) is not None:
        quote = opening.group(1)
        closing = re.compile(rf"(?<![\s\\]){quote}(?!\w)").search(text, opening.end())
        stop = closing.end() if closing else len(text)
        introduced = _INTRODUCED.search(text[max(0, opening.start() - _LOOK_BACK) : opening.start()])
        if introduced and " " in text[opening.end() : stop]:
            pieces += (text[end : opening.start()], _GONE)
            end = stop
        place = stop
    return "".join([*pieces, text[end:]])
