"""True and false sentences by an author who did not know the code, within the documented bounds."""

from functools import cache

import pytest

from tests.quality.statement_scores import OWN_SETS, Tally, main, read_sets, tallied


@cache
def tally() -> Tally:
    return tallied(list(read_sets(OWN_SETS)))


def test_there_are_enough_of_each_kind() -> None:
    sets = list(read_sets(OWN_SETS))
    every = [statement for each in sets for statement in each.statements]
    assert len(sets) == 8
    assert len({statement["language"] for statement in every}) >= 8
    for true in (True, False):
        assert sum(statement["true"] == true for statement in every) >= 150


@pytest.mark.parametrize(
    ("share", "most"),
    [
        (("no source", "silent", False, False), 0.15),
        (("right source", "silent", False, True), 0.25),
        (("right source", "silent", False, False), 0.45),
        (("no source", "unchecked", True, False), 0.40),
        (("right source", "unchecked", True, False), 0.05),
        (("no source", "not in the log", True, False), 0.01),
        (("right source", "not in the log", True, False), 0.01),
    ],
)
def test_shares_are_within_their_bounds(share: tuple, most: float) -> None:
    given, found, true, decidable = share
    assert tally().share(given, found, true=true, decidable=decidable) <= most


def test_no_language_is_accused_more_than_another() -> None:
    counts = tally().by_language
    for language in {language for language, _, _ in counts}:
        accused = counts[language, True, "not in the log"]
        whole = sum(count for (one, true, _), count in counts.items() if one == language and true)
        assert accused <= 0.05 * whole, language


def test_the_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--lines", "9"]) == 0
    told = capsys.readouterr().out
    assert "518 statements about 8 sessions, in notes of 9 lines." in told
    assert told.count("| true |") == 3
