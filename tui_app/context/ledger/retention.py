"""Retention: which facts of the log a text keeps."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache

from tui_app.context.ledger.facts import ANSWER, FAILED, LINE_BREAK, SEPARATOR
from tui_app.context.user_text import OMITTED, sentences
from tui_app.events import Fact, FactState

_MARKS = str.maketrans("", "", "`*\"'“”‘’")

_CLIPPED = re.compile(rf" ?…\[\d{{1,12}}{re.escape(OMITTED)} ?|…")

_MASKED = re.compile(r"\[[a-z ]*(?:hidden|masked)[^\]]*\]|…\[\d{1,12} characters omitted\]…")


def plain(text: str) -> str:
    """Return a text in lower case without quotes and code marks, on one line."""
    return " ".join(text.translate(_MARKS).casefold().split())


def judge(
    facts: Sequence[Fact],
    *,
    replacement_text: str,
    recoverable: bool = True,
    written: Collection[tuple[str, str]] | None = None,
) -> tuple[tuple[Fact, ...], float]:
    """Judge for every fact whether a text keeps it.

    Args:
        facts: Facts of the removed history.
        replacement_text: Everything that replaces it, as one text.
        recoverable: Whether every message with a handle can be retrieved, as from a session's own log.
        written: Kind and text of the facts that code has written with their states. If given, what was done
            to a file, and how a command ended, is kept only by being in it; otherwise its name must be in the
            text.

    Returns:
        The facts with their state, in the same order, and the kept share of the weight, 0 to 1.
    """
    text = plain(replacement_text)
    judged: list[Fact] = []
    for fact in facts:
        exact = written is not None and fact.kind in _EXACT
        kept = (fact.kind, fact.text) in (written or ()) or (not exact and _contains_fact(text, fact))
        state: FactState = "kept" if kept else "recoverable" if recoverable and fact.source else "lost"
        judged.append(fact if fact.state == state else replace(fact, state=state, put_back=False))
    return tuple(judged), retention(judged)


_EXACT = frozenset({"file", "command", "error", "todo", "live"})


def retention(judged: Sequence[Fact]) -> float:
    """Return the kept share of the weight; names only count if there is nothing else."""
    counted = weighted_facts(judged)
    total = sum(fact.weight for fact in counted)
    return round(sum(fact.weight for fact in counted if fact.state == "kept") / total, 4) if total else 1.0


def weighted_facts(facts: Sequence[Fact]) -> Sequence[Fact]:
    """Return the facts that count: which names will be needed is uncertain."""
    return [fact for fact in facts if fact.kind != "detail"] or facts


def _contains_fact(text: str, fact: Fact) -> bool:
    pieces = _pieces(_key_text(fact))
    if fact.kind in {"file", "detail"}:
        return any(_as_name(text, piece) for piece in pieces)
    if all(piece in text for piece in pieces):
        return True
    if fact.kind not in {"request", "said", "rule"}:
        return False
    quotes = [plain(sentence) for sentence in sentences(fact.text)]
    return bool(quotes) and all(sentence in text for sentence in quotes)


def _key_text(fact: Fact) -> str:
    text = fact.text
    match fact.kind:
        case "error" if FAILED in text:
            return text.split(FAILED, 1)[1].split(LINE_BREAK)[0]
        case "file":
            return text.rpartition(SEPARATOR)[0].rsplit("/", 1)[-1] or text
        case "todo" | "question" | "command" | "live":
            return text.rpartition(SEPARATOR)[0] or text
        case "decision" if ANSWER in text:
            return text.partition(ANSWER)[2]
        case "detail":
            return text.split(SEPARATOR)[0]
    return text


@lru_cache(maxsize=2_048)  # a compaction checks each fact twice
def _pieces(key: str) -> tuple[str, ...]:
    split = (piece for part in _MASKED.split(key) for piece in _CLIPPED.split(part))
    return tuple(filter(None, map(plain, split))) or (plain(key),)


def _as_name(text: str, name: str) -> bool:
    place = text.find(name)
    while place >= 0:
        before, after = text[place - 1 : place], text[place + len(name) : place + len(name) + 1]
        if not (before.isalnum() or before == "-" or after.isalnum() or after == "-"):
            return True
        place = text.find(name, place + 1)
    return False
