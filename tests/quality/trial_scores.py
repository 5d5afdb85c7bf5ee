"""How well the trial of a compaction predicts look-ups: ``python -m tests.quality.trial_scores FOLDER``.

A history is cut where the report cuts it, and kept in several forms and sizes. A look-up is something that
the recorded agent used in its next 40 answers and that the form does not contain; this is determined by code
that shares nothing with the trial. Of two forms of one history, the one whose questions are answered worse
should need more look-ups. The area under the curve is the share of pairs in the right order; a tie counts
half. With ``--held-back`` the number of names that a trial asks for is chosen on every second session and
scored on the others, once each way.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

from tests.quality.cases import Case, cases_of
from tests.quality.contexts import Context, head_and_tail, ledger, product, raw_tail
from tests.quality.governed import bare_summary
from tests.quality.text import files_in, identifiers_in
from tests.quality.transcripts import find_files, read_transcript
from tests.quality.truth import Truth, truth_of
from tui_app.context.compaction import trial
from tui_app.context.compaction.trial import TrialQuestion, questions_about, unanswered
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.views.view import Item

SIZES = (250, 500, 1_000, 2_000, 4_000, 8_000)
"""Sizes of the forms in tokens."""
LIST, OURS = "bare list of names", "our summary alone"
_APART = 0.05
"""Minimum difference between the look-up shares of two forms that are compared."""
NUMBERS = (0, 5, 10, 20, 40)
"""Numbers of names that a trial may ask for."""
_FEWEST = 4
"""Minimum number of questions, and of things used later, for a history to count."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One form of a history."""

    name: str
    tokens: int
    answered: float
    """Share of the questions answered."""
    missing: float
    """Share of what was used later that is missing."""


def forms_of(case: Case, text: TextCounter) -> Iterator[Context]:
    """Possible replacements of a history."""
    for size in SIZES:
        yield bare_summary(case.before, size, text)
        yield raw_tail(case.before, size, text.count)
        yield head_and_tail(case.before, size, text.count)
        yield ledger(case.before, size, text.count)
    if case.product:
        yield product(case.product, case.product_tail, text.count)


def tried(case: Case, text: TextCounter) -> list[Tried]:
    """All forms of a history with their questions and look-ups; none if it has too few of either."""
    truth = truth_of(case)
    items = [Item(key, message) for key, message in enumerate(case.before, 1)]
    questions = questions_about(items)
    if min(len(questions), len(truth.needed_files | truth.needed_identifiers)) < _FEWEST:
        return []
    return [_tried(each, questions, truth) for each in forms_of(case, text)]


def _tried(context: Context, questions: Sequence[TrialQuestion], truth: Truth) -> Tried:
    needed = truth.needed_files | truth.needed_identifiers
    there = files_in(context.text) | identifiers_in(context.text)
    lacking = unanswered(questions, context.text)
    answered, missing = 1 - len(lacking) / len(questions), len(needed - there) / len(needed)
    return Tried(context.name, context.tokens, answered, missing)


def area(groups: Sequence[Sequence[Tried]], *, same_size: bool = False) -> tuple[float, int]:
    """The share of pairs in the right order, and the number of pairs."""
    wins, pairs = 0.0, 0
    for group in groups:
        for one, other in combinations(group, 2):
            alike = abs(one.tokens - other.tokens) <= 0.3 * max(one.tokens, other.tokens)
            if abs(one.missing - other.missing) < _APART or (same_size and not alike):
                continue
            worse, better = (one, other) if one.missing > other.missing else (other, one)
            wins += (worse.answered < better.answered) + 0.5 * (worse.answered == better.answered)
            pairs += 1
    return (wins / pairs if pairs else 0.5), pairs


def numbered(case: Case, text: TextCounter) -> dict[int, list[Tried]]:
    """All forms of a history, by number of names asked for."""
    truth, forms = truth_of(case), list(forms_of(case, text))
    items, found = [Item(key, message) for key, message in enumerate(case.before, 1)], {}
    for number in NUMBERS:
        with patch.object(trial, "_MOST_NAMES", number):
            questions = questions_about(items)
        # The same histories are used for all numbers: those with enough questions without names.
        if not number and min(len(questions), len(truth.needed_files | truth.needed_identifiers)) < _FEWEST:
            return {}
        found[number] = [_tried(each, questions, truth) for each in forms]
    return found


def print_held_back(sessions: Sequence[Sequence[Case]], text: TextCounter) -> None:
    """Choose the number of names on half of the sessions, and score it on the other half."""
    halves = [[numbered(case, text) for cases in sessions[start::2] for case in cases] for start in (0, 1)]
    areas = [{number: area([each[number] for each in half if each]) for number in NUMBERS} for half in halves]
    for seen, kept in (areas, areas[::-1]):
        best = max(NUMBERS, key=lambda number: seen[number][0])
        share, pairs = kept[best]
        print(f"{best} names chosen at {seen[best][0]:.3f}: {pairs} pairs held back, area {share:.3f}")


def main() -> None:
    """Print the area over all histories in some folders."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.trial_scores", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="transcripts, or folders of them")
    parser.add_argument("--least", type=int, default=8_000, help="tokens of a history")
    parser.add_argument("--held-back", action="store_true", help="choose on half of the sessions")
    options = parser.parse_args()
    text = TextCounter("o200k_base")
    text.load()
    counter = TokenCounter(text)
    read = filter(None, map(read_transcript, find_files(options.paths)))
    sessions = [
        list(cases_of(each, lambda message: counter.message(message).total, options.least)) for each in read
    ]
    if options.held_back:
        print_held_back(list(filter(None, sessions)), text)
        return
    groups = list(filter(None, (tried(case, text) for cases in sessions for case in cases)))
    told = [[each for each in group if each.name != LIST] for group in groups]
    ours = [[each for each in group if each.name == OURS] for group in groups]
    for name, chosen, same_size in (
        ("all pairs", groups, False),
        ("pairs of about the same size", groups, True),
        ("pairs without the bare list of names", told, False),
        ("pairs of about the same size without that list", told, True),
        ("pairs of our summary", ours, False),
    ):
        share, pairs = area(chosen, same_size=same_size)
        print(f"{name}: {len(groups)} histories, {pairs} pairs, area {share:.3f}")
    by_name: dict[str, list[Tried]] = {}
    for each in (one for group in groups for one in group):
        by_name.setdefault(each.name, []).append(each)
    for name, rows in by_name.items():
        answered, missing = sum(row.answered for row in rows), sum(row.missing for row in rows)
        print(f"{name}: answered {answered / len(rows):.2f}, missing {missing / len(rows):.2f}")


if __name__ == "__main__":
    main()
