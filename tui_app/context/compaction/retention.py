"""What became of the facts: kept in the replacement, recoverable, or lost; and the block that repairs it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from tui_app.context.events import Fact, FactState
from tui_app.context.fact_extractors.commands import FAILED, LINE_BREAK, NO_OUTPUT, SOLVED
from tui_app.context.fact_extractors.details import grouped
from tui_app.context.fact_extractors.labels import KIND_LABELS
from tui_app.context.fact_extractors.paths import root_in, shortened, whole_paths
from tui_app.context.fact_extractors.rules import REPLACED, clip_middle
from tui_app.context.masking import MASK

_SPACE = re.compile(r"\s+")
_MARKS = str.maketrans("", "", "`*\"'“”‘’")
_MASK = re.compile(rf"{re.escape(MASK)}|…\[\d{{1,12}} characters omitted\]…")
_SEPARATOR = " · "


def judge(
    facts: Sequence[Fact],
    *,
    replacement_text: str,
    recoverable_text: str | None = None,
    recoverable: bool = True,
) -> tuple[tuple[Fact, ...], float]:
    """Say of every fact whether the replacement still holds it.

    A fact is kept when its key string (the rule, the path, the command, the error's first line) stands in the
    replacement; white space, quotes and code marks make no difference. A file counts by the end of its path.

    Args:
        facts: What the dropped history held.
        replacement_text: Everything that stands in its place, as one text.
        recoverable_text: Text that can still be searched, such as the files the history was written to.
        recoverable: Whether every message with a handle can be got back, as from a session's own log.

    Returns:
        The facts with their state, in the same order, and the share of their weight that is kept (0 to 1; 1
        when there are no facts).
    """
    text = _normal(whole_paths(replacement_text))
    beside = None if recoverable_text is None else _normal(recoverable_text)
    names = _shared_names(facts)
    judged: list[Fact] = []
    for fact in facts:
        state: FactState = "lost"
        if _stands_in(fact, text, names):
            state = "kept"
        elif (recoverable and fact.source) or (beside is not None and _stands_in(fact, beside, names)):
            state = "recoverable"
        judged.append(fact if fact.state == state else replace(fact, state=state))
    total = sum(fact.weight for fact in judged)
    kept = sum(fact.weight for fact in judged if fact.state == "kept")
    return tuple(judged), round(kept / total, 4) if total > 0 else 1.0


def missing_facts(
    facts: Sequence[Fact], replacement_text: str, budget_tokens: int, count: Callable[[str], int]
) -> str:
    """Build the block that brings back the weightiest facts a replacement lacks.

    Args:
        facts: What the dropped history held, weightiest first.
        replacement_text: Everything that stands in its place.
        budget_tokens: Tokens the block may take.
        count: Counts the tokens of a text.

    Returns:
        Markdown lines with handles, grouped by kind under bold labels; empty when nothing is missing or
        nothing fits. ``extractive_summary`` can read it back as part of an earlier summary.
    """
    judged, _ = judge(facts, replacement_text=replacement_text)
    missing = [fact for fact in judged if fact.state != "kept"]
    chosen: dict[str, list[str]] = {}
    left = budget_tokens
    root = root_in(replacement_text)
    for kind, full in _lines(missing):
        line = shortened(full, root) if kind in {"file", "detail"} else full
        cost = count(line) + 1 + (0 if kind in chosen else count(_label(kind)) + 1)
        if cost <= left:
            chosen.setdefault(kind, []).append(line)
            left -= cost
    return _within(chosen, budget_tokens, count)


def _lines(missing: Sequence[Fact]) -> Iterator[tuple[str, str]]:
    """Lines by weight: one a fact, but details of one file together."""
    plain: list[tuple[float, str, str]] = [
        (-fact.weight, fact.kind, fact_line(fact)) for fact in missing if fact.kind != "detail"
    ]
    for text, part in grouped(fact for fact in missing if fact.kind == "detail"):
        plain.append(
            (-sum(fact.weight for fact in part) / len(part), "detail", f"- {text} ({part[0].source})")
        )
    for _, kind, line in sorted(plain, key=_first):
        yield kind, line


def _first(entry: tuple[float, str, str]) -> float:
    return entry[0]


def fact_line(fact: Fact) -> str:
    """A fact as one bullet with its handle; a long request is clipped with a mark, a rule never."""
    text = clip_middle(fact.text, 2_000) if fact.kind == "request" else fact.text
    body = "\n  ".join(line for line in text.splitlines() if line.strip())
    return f"- {body} ({fact.source})" if fact.source else f"- {body}"


def _within(chosen: dict[str, list[str]], budget: int, count: Callable[[str], int]) -> str:
    """Join the groups; token counts do not add up exactly, so lines are dropped until the whole fits."""
    while chosen:
        block: list[str] = []
        for kind in KIND_LABELS:
            if kind in chosen:
                block += [_label(kind), *chosen[kind]]
        text = "\n".join(block)
        if count(text) <= budget:
            return text
        last = next(kind for kind in reversed(KIND_LABELS) if kind in chosen)
        chosen[last] = chosen[last][: len(chosen[last]) * 3 // 4]
        if not chosen[last]:
            del chosen[last]
    return ""


def _label(kind: str) -> str:
    return f"**{KIND_LABELS[kind]}**"


def _stands_in(fact: Fact, text: str, shared_names: frozenset[str]) -> bool:
    if fact.kind == "file":
        return _file_stands_in(_key(fact), text, shared_names)
    return all(piece in text for piece in _pieces(_key(fact)))


@lru_cache(maxsize=1_024)  # a compaction asks twice about each fact
def _pieces(key: str) -> tuple[str, ...]:
    return tuple(_normal(piece) for piece in _MASK.split(key))


def _file_stands_in(path: str, text: str, shared_names: frozenset[str]) -> bool:
    """The path, its last two parts, or its bare name when no other file has that name."""
    parts = path.rsplit("/", 2)
    endings = [path, "/".join(parts[-2:])] if len(parts) > 1 else [path]
    if parts[-1] not in shared_names:
        endings.append(parts[-1])
    return any(_as_word(_normal(ending), text) for ending in endings)


def _as_word(needle: str, text: str) -> bool:
    """Whether a name stands in a text by itself and not as a part of a longer name."""
    place = text.find(needle)
    while place >= 0:
        before = text[place - 1 : place]
        after = text[place + len(needle) : place + len(needle) + 1]
        if not (before.isalnum() or before == "-" or after.isalnum() or after == "-"):
            return True
        place = text.find(needle, place + 1)
    return False


def _key(fact: Fact) -> str:
    """The string by which a fact is recognised."""
    text = fact.text
    match fact.kind:
        case "error" if FAILED in text:
            what, lines = text.split(FAILED, 1)
            return what if lines == NO_OUTPUT else lines.split(LINE_BREAK)[0]
        case "file" | "todo" | "question" | "command":
            return text.rpartition(_SEPARATOR)[0] or text
        case "detail":
            bare = text.removeprefix(REPLACED).removeprefix(SOLVED)
            return bare.split(_SEPARATOR)[0]
    return text


def _shared_names(facts: Sequence[Fact]) -> frozenset[str]:
    """File names that more than one path of the facts ends in."""
    seen: set[str] = set()
    shared: set[str] = set()
    for path in {_key(fact) for fact in facts if fact.kind == "file"}:
        name = path.rsplit("/", 1)[-1]
        (shared if name in seen else seen).add(name)
    return frozenset(shared)


def _normal(text: str) -> str:
    return _SPACE.sub(" ", text.translate(_MARKS)).strip().casefold()
