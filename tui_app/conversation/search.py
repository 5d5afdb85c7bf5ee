"""Finding what was said, also long after it left the model's context."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from tui_app.agent.tools.history import HistoryHit
from tui_app.events import AssistantMessage, CompactionComplete, Payload, ToolResult, UserMessage
from tui_app.session.port import SessionStore
from tui_app.tool_specs import SEARCH_HISTORY

_WORD = re.compile(r"\w{2,}")
_MAX_WORDS = 16
_BEFORE, _AFTER = 200, 400
"""Characters that belong to one place in a long message."""
_MAX_PLACES = 200
"""Places of one word that are looked at."""


@dataclass(frozen=True, slots=True)
class SessionSearch:
    """Searches the log of one session."""

    store: SessionStore
    session: str

    def search(self, words: str, limit: int = 8) -> Sequence[HistoryHit]:
        """Messages that hold most of the words, the newest first among equals.

        Only the first words of a long question count, and the log's index of words picks the candidates, so
        the length of the conversation hardly matters.
        """
        wanted = set(list(dict.fromkeys(word.lower() for word in _WORD.findall(words)))[:_MAX_WORDS])
        scored: list[tuple[int, int, HistoryHit]] = []
        for seq, payload in self.store.matching(self.session, wanted):
            hit = hit_of(seq, payload)
            # What was searched for before repeats what stands elsewhere in the log.
            if hit is None or (isinstance(payload, ToolResult) and payload.name == SEARCH_HISTORY.name):
                continue
            text = hit.text.lower()
            score = sum(word in text for word in wanted)
            if score:
                scored.append((score, seq, hit))
        scored.sort(key=lambda row: (-row[0], -row[1]))
        phrase = words.strip().strip('"')
        return [_around(hit, phrase, wanted) for _, _, hit in scored[:limit]]

    def fetch(self, seq: int) -> HistoryHit | None:
        """One message whole."""
        record = self.store.record(self.session, seq)
        return hit_of(seq, record.data) if record is not None else None


def hit_of(seq: int, payload: Payload) -> HistoryHit | None:
    """What a message says and who said it; None for events that say nothing."""
    match payload:
        case UserMessage(text=text):
            return HistoryHit(seq, "user", text)
        case AssistantMessage(text=text) if text:
            return HistoryHit(seq, "assistant", text)
        case ToolResult(text=text, name=name):
            return HistoryHit(seq, name or "tool", text)
        case CompactionComplete(summary=text) if text:
            return HistoryHit(seq, "summary", text)
        case _:
            return None


def _around(hit: HistoryHit, phrase: str, words: set[str]) -> HistoryHit:
    """The stretch of a long message that fits the words best, with the line it stands in."""
    place = _best_place(_lower(hit.text), _lower(phrase), words)
    start = max(0, place - _BEFORE)
    if start == 0:
        return hit
    line = hit.text.count("\n", 0, place) + 1
    lines = hit.text.rstrip("\n").count("\n") + 1
    return HistoryHit(hit.seq, hit.role, f"… {hit.text[start:]}", line, lines)


def _best_place(text: str, phrase: str, words: set[str]) -> int:
    """Where the phrase stands as it was typed, else where the rarest word has most of the others near it."""
    exact = text.find(phrase)
    if exact >= 0:
        return exact
    counted = [(count, word) for word in words if (count := text.count(word))]
    if not counted:
        return 0
    rarest = re.finditer(re.escape(min(counted)[1]), text)
    places = [match.start() for match in islice(rarest, _MAX_PLACES)]

    def near(place: int) -> int:
        stretch = text[max(0, place - _BEFORE) : place + _AFTER]
        return sum(word in stretch for word in words)

    return max(places, key=near)


def _lower(text: str) -> str:
    """Lower case in which every character keeps its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)
