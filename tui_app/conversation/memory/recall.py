"""Search of earlier messages, including those that have left the model's context."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, islice

from tui_app.agent.tools.history import HistoryHit
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Handoff,
    Payload,
    ShellCommand,
    ShellResult,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.records import frozen
from tui_app.session.branches import merges_in
from tui_app.session.exclusions import Excluded, excluded_in
from tui_app.session.model_state import newest_event
from tui_app.session.stores.store import SessionStore
from tui_app.session.stores.word_index import WORD, is_joined
from tui_app.tool_specs import SEARCH_HISTORY

SPOKEN_WORD = re.compile(rf"(?:\w|{WORD.pattern})+")
_MAX_WORDS = 16
_MAX_PAIRS = 48
"""Pairs of letters, for questions in scripts without spaces."""
_BEFORE, _AFTER = 200, 400
"""Characters shown around one match in a long message."""
_MOST_ANCESTORS = 8
"""Maximum sessions in a chain of handoffs that are searched."""
_MAX_PLACES = 200
"""Maximum matches of one word that are examined."""


@frozen
class SessionSearch:
    """Searches the log of one session, and of those handed over to it, for a model.

    Messages excluded by the user are not found.
    """

    store: SessionStore
    session: str

    def search(self, words: str, limit: int = 8) -> Sequence[HistoryHit]:
        """Messages with most of the words, the newest first among equals.

        Only the first words of a long question count. The log's word index selects the candidates, so the
        length of the conversation hardly matters.
        """
        query = [word.lower() for word in SPOKEN_WORD.findall(words) if len(word) > 1 or is_joined(word)]
        terms = set(list(dict.fromkeys(query))[:_MAX_WORDS])
        # In these scripts a whole question is one run without spaces, so what it asks for is somewhere
        # within.
        pairs = (word[at : at + 2] for word in query if is_joined(word) for at in range(len(word) - 1))
        terms.update(islice(pairs, _MAX_PAIRS))
        scored: list[tuple[int, int, HistoryHit]] = []
        # Among equals, this session comes first, then the one it was handed over from.
        ancestors = self.ancestors()
        for age, session in enumerate((self.session, *ancestors)):
            excluded = excluded_in(self.store, session)
            for seq, payload in self.store.matching(session, terms):
                hit = hit_in(seq, payload, excluded)
                text = hit.text.lower() if hit is not None else ""
                if hit is not None and (score := sum(word in text for word in terms)):
                    scored.append((score, -age, replace(hit, session=session if age else "")))
        scored.sort(key=lambda row: (row[0], row[1], row[2].seq), reverse=True)
        phrase = words.strip().strip('"')
        return [around(hit, phrase, terms) for _, _, hit in scored[:limit]]

    def ancestors(self) -> Sequence[str]:
        """Ids of the sessions handed over to this one, the nearest first."""
        found: list[str] = []
        while len(found) < _MOST_ANCESTORS:
            brief = newest_event(self.store, found[-1] if found else self.session, Handoff)
            if brief is None or brief.from_session in found:
                break
            found.append(brief.from_session)
        return found

    def fetch(self, seq: int, session: str = "") -> HistoryHit | None:
        if session and session != self.session:
            merged = (each.branch for each in merges_in(self.store, self.session).values())
            known = [each for each in {*self.ancestors(), *merged} if each.startswith(session)]
            hit = SessionSearch(self.store, known[0]).fetch(seq) if len(known) == 1 else None
            return None if hit is None else replace(hit, session=known[0])
        record = self.store.record(self.session, seq)
        if record is not None and excluded_in(self.store, self.session).covers(seq, record.data):
            return None
        hit = hit_of(seq, record.data) if record is not None else None
        if record is None or not isinstance(record.data, AssistantMessage) or not record.data.call_ids:
            return hit
        # Its calls follow it, and are part of the same message in the view.
        calls, call_ids = [hit.text] if hit is not None else [], set(record.data.call_ids)
        for following in count(seq + 1):
            record = self.store.record(self.session, following)
            if record is None or not call_ids or isinstance(record.data, AssistantMessage | UserMessage):
                break
            if isinstance(record.data, ToolCall) and record.data.tool_call_id in call_ids:
                call_ids.discard(record.data.tool_call_id)
                calls.append(record.data.as_text)
        return HistoryHit(seq, "assistant", "\n\n".join(calls)) if calls else hit


def hit_in(seq: int, payload: Payload, excluded: Excluded) -> HistoryHit | None:
    """What a search may show. Earlier searches are left out, as they repeat text from the log."""
    was_searched = isinstance(payload, ToolCall | ToolResult) and payload.name == SEARCH_HISTORY.name
    return None if was_searched or excluded.covers(seq, payload) else hit_of(seq, payload)


def hit_of(seq: int, payload: Payload) -> HistoryHit | None:
    """The text of a message and who wrote it; None for events without text."""
    match payload:
        case UserMessage(text=text):
            return HistoryHit(seq, "user", text)
        case AssistantMessage(text=text) if text:
            return HistoryHit(seq, "assistant", text)
        case ToolCall(name=name):
            return HistoryHit(seq, name or "tool", payload.as_text)
        case ToolResult(text=text, name=name):
            return HistoryHit(seq, name or "tool", text)
        case ShellCommand(text=text) | ShellResult(text=text):
            return HistoryHit(seq, "shell", text)
        case CompactionComplete(summary=text) if text:
            return HistoryHit(seq, "summary", text)
        case _:
            return None


def around(hit: HistoryHit, phrase: str, words: set[str]) -> HistoryHit:
    """The best matching part of a long message, with its line number."""
    place = _best_place(_lower(hit.text), _lower(phrase), words)
    start = max(0, place - _BEFORE)
    if start == 0:
        return hit
    line = hit.text.count("\n", 0, place) + 1
    lines = hit.text.rstrip("\n").count("\n") + 1
    return replace(hit, text=f"… {hit.text[start:]}", line=line, lines=lines)


def _best_place(text: str, phrase: str, words: set[str]) -> int:
    """Position of the exact phrase, else of the rarest word with most of the others nearby."""
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
    """Lower case with every character in its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)
