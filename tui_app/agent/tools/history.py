"""Looking things up in the whole conversation, including what has left the model's context."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

MESSAGE_CHARS = 40_000
"""Characters of one message that is brought back whole."""
HIT_CHARS = 600
"""Characters of one hit in a list."""
_HANDLE = re.compile(r"#?(\d{1,12})")


@dataclass(frozen=True, slots=True)
class HistoryHit:
    """One message of the conversation."""

    seq: int
    """Its number in the log; the handle is this number with a ``#`` before it."""
    role: str
    """Who wrote it, for example ``user``, ``assistant`` or ``tool``."""
    text: str


class HistorySearch(Protocol):
    """The conversation as the search tool sees it.

    Both methods are called on the event loop and must answer within a few milliseconds.
    """

    def search(self, words: str, limit: int = 8) -> Sequence[HistoryHit]:
        """Return the messages that fit the words best, best first."""
        ...

    def fetch(self, seq: int) -> HistoryHit | None:
        """Return one message whole, or None when there is none with that number."""
        ...


def search_history(history: HistorySearch, query: str, limit: int = 8) -> str:
    """Search the conversation by words, or bring one message back whole by its handle such as ``#142``."""
    handle = _HANDLE.fullmatch(query.strip())
    if handle:
        return _whole(history.fetch(int(handle.group(1))), query)
    hits = history.search(query, min(max(1, limit), 50))
    if not hits:
        return f"[nothing in the conversation fits {query!r:.200}]"
    return "\n\n".join(_listed(hit) for hit in hits)


def _whole(hit: HistoryHit | None, query: str) -> str:
    if hit is None:
        return f"[the conversation has no message {query.strip():.20}]"
    text = hit.text
    if len(text) > MESSAGE_CHARS:
        left = len(text) - MESSAGE_CHARS
        text = f"{text[:MESSAGE_CHARS]}\n[{left:,} characters left out]"
    return f"#{hit.seq} {hit.role}:\n{text}"


def _listed(hit: HistoryHit) -> str:
    text = " ".join(hit.text[: HIT_CHARS * 2].split())
    more = len(text) > HIT_CHARS or len(hit.text) > HIT_CHARS * 2
    return f"#{hit.seq} {hit.role}: {text[:HIT_CHARS]}{' …' if more else ''}"
