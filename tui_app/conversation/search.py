"""Finding what was said, also long after it left the model's context."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tui_app.agent.tools.history import HistoryHit
from tui_app.context.events import AssistantMessage, CompactionComplete, Payload, ToolResult, UserMessage
from tui_app.session.ports import SessionStore

_WORD = re.compile(r"\w{2,}")
_MAX_WORDS = 16


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
            if hit is None:
                continue
            text = hit.text.lower()
            score = sum(word in text for word in wanted)
            if score:
                scored.append((score, seq, hit))
        scored.sort(key=lambda row: (-row[0], -row[1]))
        return [_around(hit, wanted) for _, _, hit in scored[:limit]]

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


def _around(hit: HistoryHit, words: set[str]) -> HistoryHit:
    """The stretch of a long message in which the first of the words stands."""
    places = [place for word in words if (place := hit.text.lower().find(word)) >= 0]
    start = max(0, min(places, default=0) - 200)
    return hit if start == 0 else HistoryHit(hit.seq, hit.role, f"… {hit.text[start:]}")
