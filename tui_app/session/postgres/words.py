"""The index of words: what is looked for, and in what, as PostgreSQL takes it.

Words are cut here and not by a text search configuration, so that both stores find the same: letters and
digits without accents and case, in any language, also inside of paths and names.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from tui_app.events import AssistantMessage, CompactionComplete, Payload, ToolResult, UserMessage

_WORD = re.compile(r"[^\W_]+")
_LONGEST = 256
"""Characters of a word that count."""
_MOST_BYTES = 900_000
"""Of words and their places in one event; the server takes a million."""
_MOST_PLACES = 64
_LAST_PLACE = 16_383


def said(payload: Payload) -> str:
    """What an event says: the text of a message, or the summary of a compaction."""
    match payload:
        case UserMessage(text=text) | AssistantMessage(text=text) | ToolResult(text=text):
            return text
        case CompactionComplete(summary=summary):
            return summary
        case _:
            return ""


def vector(text: str) -> str | None:
    """The words of a text with their places, as a ``tsvector``; None where it has none."""
    places: dict[str, list[int]] = {}
    size = 0
    for place, word in enumerate(_words(text), start=1):
        known = places.get(word)
        if known is None:
            size += len(word.encode()) + 8
            if size > _MOST_BYTES:
                break
            known = places[word] = []
        if len(known) < _MOST_PLACES and place <= _LAST_PLACE:
            size += 2
            known.append(place)
    return " ".join(_entry(word, at) for word, at in places.items()) or None


def query(words: Iterable[str]) -> str:
    """Any of these words, or a longer one that begins with it, as a ``tsquery``; empty for no words."""
    wanted = []
    for word in words:
        *whole, last = list(_words(word)) or [""]
        if last:
            wanted.append(" & ".join([*(f"'{each}'" for each in whole), f"'{last}':*"]))
    return " | ".join(f"({each})" for each in wanted)


def phrases(terms: Iterable[tuple[Sequence[str], bool]]) -> str:
    """All of these, each its words side by side, as a ``tsquery``; empty for none.

    Args:
        terms: Words, and whether the last one may go on.
    """
    wanted = []
    for words, begins in terms:
        cut = [each for word in words for each in _words(word)]
        if cut:
            cut[-1:] = [f"'{cut[-1]}':*" if begins else f"'{cut[-1]}'"]
            wanted.append(" <-> ".join([*(f"'{each}'" for each in cut[:-1]), cut[-1]]))
    return " & ".join(f"({each})" for each in wanted)


def _words(text: str) -> Iterator[str]:
    plain = unicodedata.normalize("NFKD", text)
    if not plain.isascii():
        plain = "".join(char for char in plain if not unicodedata.combining(char))
        plain = plain.encode("utf-8", "replace").decode()
    for match in _WORD.finditer(plain.casefold()):
        yield match[0][:_LONGEST]


def _entry(word: str, places: list[int]) -> str:
    return f"'{word}':{','.join(map(str, places))}" if places else f"'{word}'"
