"""Results of checking true and false sentences: ``python -m tests.quality.statement_scores``.

Each set is a session with sentences about it, written by an author who did not know the code. They are
checked as the notes of one compaction, in a fixed shuffled order: without sources, with the right message's
number, and with another message's number.
"""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic_ai.messages import ModelMessagesTypeAdapter

from tui_app.context.binding.bind import Binder
from tui_app.context.binding.states import State
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.passages import Passage, passages
from tui_app.context.views.view import Item
from tui_app.session.importers.formats import import_file

OWN_SETS = Path(__file__).parent / "statements"
DECIDABLE = frozenset({"outcome", "deed", "count", "task", "error", "wish", "quote"})
"""Kinds that can be decided by structure; cause, order and swaps within a message need a second reader."""
Given = Literal["no source", "right source", "wrong source"]
Found = Literal["not in the log", "unchecked", "state", "silent"]
LINES = 17
"""Statements per compaction's notes."""


@dataclass(frozen=True, slots=True)
class StatementSet:
    """A session and statements about it."""

    passages: Sequence[Passage]
    binder: Binder
    statements: Sequence[dict[str, Any]]


@dataclass(slots=True)
class Tally:
    """Counts by the given source, whether the statement is true, and the result."""

    every: Counter[tuple[Given, bool, Found]] = field(default_factory=Counter)
    decidable: Counter[tuple[Given, bool, Found]] = field(default_factory=Counter)
    by_language: Counter[tuple[str, bool, Found]] = field(default_factory=Counter)

    def share(self, given: Given, found: Found, *, true: bool, decidable: bool = False) -> float:
        """Share of all true or all false statements with this result."""
        counts = self.decidable if decidable else self.every
        whole = sum(count for (one, is_true, _), count in counts.items() if (one, is_true) == (given, true))
        return counts[given, true, found] / max(1, whole)


def read_sets(folder: Path) -> Iterator[StatementSet]:
    """Read the sets of a folder: a session next to a list of statements, or a list that names its session."""
    for path in sorted([*folder.glob("*/statements.json"), *folder.glob("*.json")]):
        data = json.loads(path.read_text(encoding="utf-8"))
        named = isinstance(data, dict)
        session = Path(data["file"]) if named else next(path.parent.glob("session.json*"))
        imported = import_file(session)
        items = [
            Item(key, message)
            for key, event in enumerate(imported.events, 1)
            if event.message is not None
            for message in ModelMessagesTypeAdapter.validate_json(f"[{event.message}]")
        ]
        texts = list(passages(items))
        circumstances = [each for each in (imported.cwd, imported.branch) if each]
        binder = Binder(Ledger.from_items(items), texts, circumstances)
        yield StatementSet(texts, binder, data["statements"] if named else data)


def tallied(sets: Sequence[StatementSet], lines: int = LINES, seed: int = 7) -> Tally:
    """Check all statements and count the results.

    Args:
        sets: The sets.
        lines: Statements per compaction's notes.
        seed: Seed of the shuffled order.
    """
    tally = Tally()
    for each in sets:
        order = list(each.statements)
        random.Random(seed).shuffle(order)
        for start in range(0, len(order), lines):
            for given in get_args(Given):
                _count(each, order[start : start + lines], given, tally)
    return tally


def _count(each: StatementSet, notes: Sequence[dict[str, Any]], given: Given, tally: Tally) -> None:
    lines = [line_of(statement, each.passages, given) for statement in notes]
    bound = each.binder.bind("\n".join(["## Findings", *lines])).lines
    for number, statement in enumerate(notes, 1):
        forms = {line.form for line in bound if line.statement.line == number}
        states: list[State] = [s for line in bound if line.statement.line == number for s in line.states]
        found: Found = "state" if states else "silent"
        if "not in the log" in forms:
            found = "not in the log"
        elif "unchecked" in forms:
            found = "unchecked"
        key = (given, statement["true"], found)
        tally.every[key] += 1
        tally.by_language[statement["language"], statement["true"], found] += 1
        if statement["kind"] in DECIDABLE:
            tally.decidable[key] += 1


def line_of(statement: dict[str, Any], texts: Sequence[Passage], given: Given) -> str:
    text = " ".join(statement["text"].split())
    wanted = [statement["source"]] if isinstance(statement["source"], str) else statement["source"]
    keys = [next((each.key for each in texts if one in each.text), 0) for one in wanted]
    if given == "wrong source":
        every = sorted({each.key for each in texts})
        keys = [every[(every.index(key) + len(every) // 2) % len(every)] for key in keys if key]
    numbers = ", ".join(f"#{key}" for key in keys if key)
    return f"- {text} ({numbers})" if numbers and given != "no source" else f"- {text}"


def table(tally: Tally) -> str:
    """The results as Markdown."""
    lines = [
        "| sources | statements | not in the log | unchecked | with a state | silent | silent, decidable |",
        "|---|---|---|---|---|---|---|",
    ]
    for given in get_args(Given):
        for true in (False, True):
            shares = [tally.share(given, found, true=true) for found in get_args(Found)]
            shares.append(tally.share(given, "silent", true=true, decidable=True))
            cells = " | ".join(f"{100 * share:.0f} %" for share in shares)
            lines.append(f"| {given} | {'true' if true else 'false'} | {cells} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.statement_scores", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[OWN_SETS], help="sets of statements")
    parser.add_argument("--lines", type=int, default=LINES, help="statements of one compaction's notes")
    options = parser.parse_args(arguments)
    sets = [each for folder in options.folders for each in read_sets(folder)]
    count = sum(len(each.statements) for each in sets)
    print(f"{count} statements about {len(sets)} sessions, in notes of {options.lines} lines.\n")
    print(table(tallied(sets, options.lines)))
    return 0 if sets else 1


if __name__ == "__main__":
    sys.exit(main())
