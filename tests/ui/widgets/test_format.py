"""Numbers as they are written on every screen."""

from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.ui.text import clock, cost, count_lines, duration, percent, tokens


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0"), (8, "8"), (99, "99"), (100, "0.1k"), (212, "0.2k"), (1_400, "1.4k"), (6_000, "6.0k"),
        (91_499, "91.5k"), (99_999, "100k"), (128_000, "128k"), (128_400, "128.4k"), (999_949, "999.9k"),
        (999_950, "1.0M"), (1_100_000, "1.1M"), (200_000_000, "200M"), (-3_100, "-3.1k"),
    ],
)  # fmt: skip
def test_tokens(count: int, expected: str) -> None:
    assert tokens(count) == expected


@given(st.integers(0, 10**9))
def test_tokens_are_short_and_never_a_false_zero(count: int) -> None:
    assert len(tokens(count)) <= 7
    assert (tokens(count) == "0") == (count == 0)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0.0 s"), (0.42, "0.4 s"), (0.96, "1 s"), (6.4, "6 s"), (59.6, "1 min"), (125, "2 min 5 s"),
        (3_600, "1 h"), (3_790, "1 h 3 min"), (-1, "0.0 s"),
    ],
)  # fmt: skip
def test_duration(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_clock_is_in_the_zone_asked_for() -> None:
    assert clock(0, UTC) == "00:00"
    assert clock(0, timezone(timedelta(hours=2))) == "02:00"
    assert clock(1e300, UTC) == ""


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0, "0 %"), (0.001, "<1 %"), (0.714, "71 %"), (0.999, "99 %"), (1, "100 %"), (1.2, "120 %")],
)
def test_percent(share: float, expected: str) -> None:
    assert percent(share) == expected


@pytest.mark.parametrize(
    ("usd", "expected"),
    [(0, "$0.00"), (0.0001, "<$0.001"), (0.004, "$0.004"), (0.42, "$0.42"), (1_234.5, "$1,234.50")],
)
def test_cost(usd: float, expected: str) -> None:
    assert cost(usd) == expected


def test_lines_are_counted_without_an_empty_last_one() -> None:
    assert [count_lines(text) for text in ("", "a", "a\n", "a\nb", "\n\n")] == [0, 1, 1, 2, 2]
