"""Judge which facts a replacement keeps and which are lost, and build the block that brings them back."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from operator import attrgetter

from tui_app.context.claim_words import command_does, families_of, says_deed, says_outcome, tool_does
from tui_app.context.facts.commands import FAILED, LINE_BREAK, NO_OUTPUT, SOLVED
from tui_app.context.facts.details import chosen_lines, is_name
from tui_app.context.facts.files import SHORT, folder_of, shortened, whole_paths
from tui_app.context.facts.rules import REPLACED, clip_middle
from tui_app.context.secrets import MASK
from tui_app.events import KIND_LABELS, Fact, FactState

# Searching a text for names and the words by them.

_MARKS = str.maketrans("", "", "`*\"'“”‘’")
_BLANKS = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
_BULLET = re.compile(r"[-*+•] |\d{1,3}[.)] ")
_ITEM = re.compile(r"[-*+•|]|\d{1,3}[.)] |\S+$")
"""A line of a list or table, or a bare name on a line of its own."""
_LABEL = re.compile(r"#{1,6} |\*\*[^*]{1,200}\*\*:?$|.{0,200}:\**$")
_STOPS = (". ", "; ", "! ", "? ", "。", "；")
_NEAR = 300
"""Characters on either side of a name that are read: no sentence about it is longer."""
_MOST_PLACES = 100
"""Places of one name that are looked at: bounds the work, and the first are in the summary."""
_CALL = "tool call "
_RUNS = re.compile(r"bash|shell|command|exec|run|terminal")
"""Tools that run commands, by their names."""


def plain(text: str) -> str:
    """A text in small letters without quotes and code marks, on one line."""
    return " ".join(text.translate(_MARKS).casefold().split())


class SearchedText:
    """A text prepared for questions about names: where each stands, and which words stand by it.

    Args:
        text: A summary, or whole messages as text; paths told short are spelt out.
    """

    def __init__(self, text: str) -> None:
        whole = whole_paths(text) if SHORT in text or "/\n" in text else "\n".join(text.splitlines())
        self._raw = whole.split("\n")
        self._text = _BLANKS.sub(" ", whole.translate(_MARKS).casefold())
        self.flat = " ".join(self._text.split())
        """All of it on one line."""

    def names(self, name: str) -> bool:
        """Whether a name stands in the text by itself and not as a part of a longer one."""
        return next(self._places(name), None) is not None

    def says_done(self, name: str, families: tuple[str, ...]) -> bool:
        """Whether the text says by a name what was done to its file.

        Args:
            name: The end of a path, in plain text.
            families: Of words, one of which must be said.
        """
        return any(self._done_at(place, name, families) for place in self._places(name))

    def says_ended(self, command: str, *, failed: bool) -> bool:
        """Whether the text says by a command how it ended."""
        return any(self._ended_at(place, command, failed=failed) for place in self._finds(command))

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self._lines)]

    @cached_property
    def _labels(self) -> list[str]:
        return [plain(label) for label in _labels(self._raw)]

    def _finds(self, needle: str) -> Iterator[int]:
        place = self._text.find(needle) if needle else -1
        for _ in range(_MOST_PLACES):
            if place < 0:
                return
            yield place
            place = self._text.find(needle, place + 1)

    def _places(self, name: str) -> Iterator[int]:
        for place in self._finds(name):
            before = self._text[place - 1 : place]
            after = self._text[place + len(name) : place + len(name) + 1]
            if not (before.isalnum() or before == "-" or after.isalnum() or after == "-"):
                yield place

    def _done_at(self, place: int, name: str, families: tuple[str, ...]) -> bool:
        number = bisect_right(self._starts, place) - 1
        line, column = self._lines[number], place - self._starts[number]
        if line.startswith(_CALL):
            tool, _, before = line[len(_CALL) : column].partition(": ")
            if _RUNS.search(tool):
                return command_does(before[-_NEAR:], families)
            return tool_does(tool, families) and _is_value(self._raw[number], name)
        before, after = _sentence(line, column, name)
        return says_deed(before, after, families) or says_deed(self._labels[number], "", families)

    def _ended_at(self, place: int, command: str, *, failed: bool) -> bool:
        number = bisect_right(self._starts, place) - 1
        line = self._lines[number]
        if line.startswith(_CALL):
            return False
        before, after = _sentence(line, place - self._starts[number], command)
        said = f"{before} {after}"
        return says_outcome(said, failed=failed) or says_outcome(self._labels[number], failed=failed)


def _sentence(line: str, column: int, name: str) -> tuple[str, str]:
    """What stands before and behind a name in its sentence, without the rest of its path."""
    start, end = column, column + len(name)
    while start and not line[start - 1].isspace():
        start -= 1
    before, after = line[max(0, start - _NEAR) : start], line[end : end + _NEAR]
    begins = max(before.rfind(stop) + len(stop) * (stop in before) for stop in _STOPS)
    ends = min(after.find(stop) if stop in after else len(after) for stop in _STOPS)
    return before[max(0, begins) :], after[:ends]


def _is_value(line: str, name: str) -> bool:
    """Whether a name is the end of a whole argument of a call, and not a word of a longer one."""
    folded = line.casefold()
    place = folded.find(f'{name}"')
    while place >= 0:
        value = folded[folded.rfind('"', 0, place) + 1 : place]
        if not value or (value.endswith("/") and " " not in value):
            return True
        place = folded.find(f'{name}"', place + 1)
    return False


def _labels(lines: list[str]) -> Iterator[str]:
    """For every line the heading or label above the list it stands in; empty where there is none."""
    outer = inner = ""
    depth = -1
    for line in lines:
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if bare and indent <= depth:
            inner, depth = "", -1
        if _LABEL.match(bare):
            if _BULLET.match(bare):
                inner, depth = bare, indent
            else:
                outer, inner, depth = bare, "", -1
        elif bare and not _ITEM.match(bare):
            outer = inner = ""
        yield inner or outer


_MASK = re.compile(rf"{re.escape(MASK)}|…\[\d{{1,12}} characters omitted\]…")
_SEPARATOR = " · "


def judge(
    facts: Sequence[Fact],
    *,
    replacement_text: str,
    recoverable: bool = True,
) -> tuple[tuple[Fact, ...], float]:
    """Judge for every fact whether the replacement still holds it.

    A fact is kept when its key string (the rule, the path, the command, the error's first line) stands in the
    replacement; white space, quotes and code marks make no difference. A file counts by the end of its path.
    What was done to a file must be said near its name as well, and of a command how it ended.

    Args:
        facts: What the dropped history held.
        replacement_text: Everything that stands in its place, as one text.
        recoverable: Whether every message with a handle can be got back, as from a session's own log.

    Returns:
        The facts with their state, in the same order, and the share of the weight of what was said and done
        that is kept (0 to 1; 1 when there are no facts).
    """
    text = SearchedText(replacement_text)
    names = _shared_names(facts)
    judged: list[Fact] = []
    for fact in facts:
        state: FactState = "lost"
        if _stands_in(fact, text, names):
            state = "kept"
        elif recoverable and fact.source:
            state = "recoverable"
        if fact.state == state:
            judged.append(fact)
            continue
        # Hundreds of rules are judged at once, and ``replace`` takes its time.
        judged.append(
            Fact(kind=fact.kind, text=fact.text, source=fact.source, state=state, weight=fact.weight)
        )
    total = sum(fact.weight for fact in weighed(judged))
    kept = sum(fact.weight for fact in weighed(judged) if fact.state == "kept")
    return tuple(judged), round(kept / total, 4) if total > 0 else 1.0


def weighed(facts: Sequence[Fact]) -> Sequence[Fact]:
    """The facts of which a share is told.

    Of names nobody knows which will be needed: they are told one by one, and weigh only where all else is
    missing.
    """
    return [fact for fact in facts if fact.kind != "detail"] or facts


def lacking_facts(facts: Sequence[Fact], replacement_text: str) -> list[Fact]:
    """The facts that a replacement does not hold, in their order."""
    told, names = SearchedText(replacement_text), _shared_names(facts)
    return [fact for fact in facts if not _stands_in(fact, told, names)]


def facts_block(
    missing: Sequence[Fact],
    budget_tokens: int,
    count: Callable[[str], int],
    root: str = "",
    *,
    names_budget: int | None = None,
) -> str:
    """Write the weightiest of some facts down: the block that brings back what a replacement lacks.

    Args:
        missing: The facts, weightiest first.
        budget_tokens: Tokens the block may take.
        count: Counts the tokens of a text.
        root: Folder below which paths are told short.
        names_budget: Tokens that names may take of it; None for all that the rest leaves.

    Returns:
        Markdown lines with handles, grouped by kind under bold labels; empty when nothing is missing or
        nothing fits. ``extractive_summary`` can read it back as part of an earlier summary.
    """
    chosen: dict[str, list[str]] = {}
    folders: set[str] = set()
    left = budget_tokens
    by_weight = sorted(missing, key=attrgetter("weight"), reverse=True)
    for fact in by_weight:
        if is_name(fact):
            continue
        kind: str = fact.kind
        line = shortened(fact_line(fact), root) if kind in {"file", "detail"} else fact_line(fact)
        folder = _folder(line) if kind == "file" else ""
        shown = line.replace(f"- {folder}", "  ", 1) if folder in folders else line
        cost = count(shown) + 1 + (0 if kind in chosen else count(_label(kind)) + 1)
        if cost <= left:
            chosen.setdefault(kind, []).append(line)
            folders |= {folder} - {""}
            left -= cost
    # Names come last, one by one: what was done and wanted goes before them.
    left = min(left, budget_tokens if names_budget is None else names_budget)
    left -= 0 if "detail" in chosen else count(_label("detail")) + 1
    for text, part in chosen_lines(filter(is_name, by_weight), left, count):
        chosen.setdefault("detail", []).append(f"- {shortened(text, root)} ({part[0].source})")
    # Token counts do not add up exactly, so lines are dropped until the whole fits.
    while chosen:
        block: list[str] = []
        for kind in KIND_LABELS:
            if kind in chosen:
                lines = _below_folders(chosen[kind]) if kind == "file" else chosen[kind]
                block += [_label(kind), *lines]
        text = "\n".join(block)
        if count(text) <= budget_tokens:
            return text
        last = next(kind for kind in reversed(KIND_LABELS) if kind in chosen)
        chosen[last] = chosen[last][: len(chosen[last]) * 3 // 4]
        if not chosen[last]:
            del chosen[last]
    return ""


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


def fact_line(fact: Fact) -> str:
    """A fact as one bullet with its handle; a long request is clipped with a mark, a rule never."""
    text = clip_middle(fact.text, 2_000) if fact.kind == "request" else fact.text
    body = "\n  ".join(line for line in text.splitlines() if line.strip())
    return f"- {body} ({fact.source})" if fact.source else f"- {body}"


def _label(kind: str) -> str:
    return f"**{KIND_LABELS[kind]}**"


def _stands_in(fact: Fact, told: SearchedText, shared_names: frozenset[str]) -> bool:
    match fact.kind:
        case "file":
            path, families = _file(fact.text)
            name = _shortest(path, shared_names)
            return told.says_done(name, families) if families else told.names(name)
        case "command" | "error" if fact.text.endswith(FAILED + NO_OUTPUT) or fact.kind == "command":
            key = _key(fact)
            failed = fact.kind == "error" or fact.text.rpartition(_SEPARATOR)[2].startswith("failed")
            return _has(key, told) and (
                key == fact.text or told.says_ended(max(_pieces(key), key=len), failed=failed)
            )
        case _:
            # An error by its line, which says by itself that something failed.
            return _has(_key(fact), told)


def _has(key: str, told: SearchedText) -> bool:
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
