"""What became of the facts: kept in the replacement, recoverable, or lost; and the block that repairs it."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from tui_app.context.compaction.deed_words import families_of
from tui_app.context.compaction.told import Told, plain
from tui_app.context.fact_extractors.commands import FAILED, LINE_BREAK, NO_OUTPUT, SOLVED
from tui_app.context.fact_extractors.details import grouped
from tui_app.context.fact_extractors.labels import KIND_LABELS
from tui_app.context.fact_extractors.paths import folder_of, root_in, shortened
from tui_app.context.fact_extractors.rules import REPLACED, clip_middle
from tui_app.context.secret_words import MASK
from tui_app.events import Fact, FactState

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
    What was done to a file must be said near its name as well, and of a command how it ended.

    Args:
        facts: What the dropped history held.
        replacement_text: Everything that stands in its place, as one text.
        recoverable_text: Text that can still be searched, such as the files the history was written to.
        recoverable: Whether every message with a handle can be got back, as from a session's own log.

    Returns:
        The facts with their state, in the same order, and the share of their weight that is kept (0 to 1; 1
        when there are no facts).
    """
    text = Told(replacement_text)
    beside = None if recoverable_text is None else Told(recoverable_text)
    names = _shared_names(facts)
    judged: list[Fact] = []
    for fact in facts:
        state: FactState = "lost"
        if _stands_in(fact, text, names):
            state = "kept"
        elif (recoverable and fact.source) or (beside is not None and _named_in(fact, beside, names)):
            state = "recoverable"
        judged.append(fact if fact.state == state else _in_state(fact, state))
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
    told, names = Told(replacement_text), _shared_names(facts)
    missing = [fact for fact in facts if not _stands_in(fact, told, names)]
    chosen: dict[str, list[str]] = {}
    folders: set[str] = set()
    left = budget_tokens
    root = root_in(replacement_text)
    for kind, full in _lines(missing):
        line = shortened(full, root) if kind in {"file", "detail"} else full
        folder = _folder(line) if kind == "file" else ""
        shown = line.replace(f"- {folder}", "  ", 1) if folder in folders else line
        cost = count(shown) + 1 + (0 if kind in chosen else count(_label(kind)) + 1)
        if cost <= left:
            chosen.setdefault(kind, []).append(line)
            folders |= {folder} - {""}
            left -= cost
    return _within(chosen, budget_tokens, count)


def _folder(line: str) -> str:
    """The folder of a file's line, below which others of it can stand."""
    return folder_of(line.removeprefix("- ").rpartition(_SEPARATOR)[0])


def _below_folders(lines: Sequence[str]) -> Iterator[str]:
    """Lines of files with those of one folder together below it, at the place of the first."""
    folders: dict[str, list[str]] = {}
    for line in lines:
        folders.setdefault(_folder(line), []).append(line)
    for folder, together in folders.items():
        if not folder or len(together) < 2:
            yield from together
        else:
            yield f"- {folder}"
            yield from (line.replace(f"- {folder}", "  ", 1) for line in together)


def _lines(missing: Sequence[Fact]) -> Iterator[tuple[str, str]]:
    """Lines by weight: one a fact; then details, those of one file together, for names alone say little."""
    plain = [(-fact.weight, fact.kind, fact_line(fact)) for fact in missing if fact.kind != "detail"]
    details: list[tuple[float, str, str]] = []
    for text, part in grouped(fact for fact in missing if fact.kind == "detail"):
        weight = sum(fact.weight for fact in part) / len(part)
        details.append((-weight, "detail", f"- {text} ({part[0].source})"))
    for _, kind, line in (*sorted(plain, key=_first), *sorted(details, key=_first)):
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
                lines = _below_folders(chosen[kind]) if kind == "file" else chosen[kind]
                block += [_label(kind), *lines]
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


def _in_state(fact: Fact, state: FactState) -> Fact:
    """The fact in another state; hundreds of rules are judged at once, and ``replace`` takes its time."""
    return Fact(kind=fact.kind, text=fact.text, source=fact.source, state=state, weight=fact.weight)


def _stands_in(fact: Fact, told: Told, shared_names: frozenset[str]) -> bool:
    match fact.kind:
        case "file":
            path, families = _file(fact.text)
            name = _shortest(path, shared_names)
            return told.says_done(name, families) if families else told.names(name)
        case "command" | "error":
            return _run_stands_in(fact, told)
        case _:
            return _has(_key(fact), told)


def _named_in(fact: Fact, told: Told, shared_names: frozenset[str]) -> bool:
    """Whether whoever searches a text for the fact comes upon it; what is said there can be read then."""
    if fact.kind == "file":
        return told.names(_shortest(_key(fact), shared_names))
    return _has(_key(fact), told)


def _run_stands_in(fact: Fact, told: Told) -> bool:
    """A command with how it ended; an error by its line, which says by itself that something failed."""
    key = _key(fact)
    if fact.kind == "error" and not fact.text.endswith(FAILED + NO_OUTPUT):
        return _has(key, told)
    failed = fact.kind == "error" or fact.text.rpartition(_SEPARATOR)[2].startswith("failed")
    return _has(key, told) and (
        key == fact.text or told.says_ended(max(_pieces(key), key=len), failed=failed)
    )


def _has(key: str, told: Told) -> bool:
    pieces = _pieces(key)
    return pieces[0] in told.flat and (len(pieces) == 1 or all(piece in told.flat for piece in pieces))


@lru_cache(maxsize=1_024)  # a compaction asks twice about each fact
def _pieces(key: str) -> tuple[str, ...]:
    return tuple(plain(piece) for piece in _MASK.split(key))


@lru_cache(maxsize=1_024)
def _file(text: str) -> tuple[str, tuple[str, ...]]:
    """The path of a file's fact, and the families of words that say what was done to it."""
    path, _, deeds = text.rpartition(_SEPARATOR)
    return (path, families_of(deeds)) if path else (text, ())


def _shortest(path: str, shared_names: frozenset[str]) -> str:
    """The name of a file, or the last two parts of its path where another file has that name."""
    parts = path.rsplit("/", 2)
    own = bool(parts[-1]) and parts[-1] not in shared_names
    return plain(parts[-1] if own else "/".join(parts[-2:]))


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
