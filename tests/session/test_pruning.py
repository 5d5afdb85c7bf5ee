"""What is over a limit: by age, number and size; never because a clock is wrong."""

import pytest

from tui_app.session.management import DAY_S, Limits, due
from tui_app.session.store import SessionInfo


def info(id: str, days_ago: float, now: float = 1_000 * DAY_S) -> SessionInfo:
    updated = now - days_ago * DAY_S
    return SessionInfo(
        id=id, title="", cwd="/", model="", created=0.0, updated=updated, events=2, messages=1, tokens=1
    )


SESSIONS = [info("a", 0), info("b", 10), info("c", 40), info("d", 400)]
SIZES = {"a": 10, "b": 100, "c": 20, "d": 5}
NOW = 1_000 * DAY_S


@pytest.mark.parametrize(
    ("limits", "gone"),
    [
        (Limits(), ""),
        (Limits(days=30), "cd"),
        (Limits(days=500), ""),
        (Limits(max_sessions=3), "d"),
        (Limits(max_sessions=1), "bcd"),
        (Limits(max_bytes=1_000), ""),
        (Limits(max_bytes=115), "cd"),
        (Limits(max_bytes=35), "bcd"),
        (Limits(days=30, max_sessions=1), "bcd"),
    ],
)
def test_limits(limits: Limits, gone: str) -> None:
    found = due(list(reversed(SESSIONS)), limits, now=NOW, sizes=SIZES)
    assert "".join(sorted(each.info.id for each in found)) == gone
    assert all(each.reason for each in found)
    assert limits.any is (limits != Limits())


@pytest.mark.parametrize("wrong", [-5_000 * DAY_S, 5_000 * DAY_S], ids=["behind", "ahead"])
def test_a_wrong_clock_makes_nothing_old(wrong: float) -> None:
    fresh = SESSIONS[:2]
    assert due(fresh, Limits(days=30), now=NOW + wrong, sizes={}) == []
