"""How soon a person can type, and how soon an old conversation is there."""

import pytest

from tests.benchmarks.measure import Comparison, in_turn
from tests.benchmarks.programs import HELLO, HELLO_PAINTED, PLIMSOLL, PROMPT_PAINTED, Lab
from tests.benchmarks.sessions import LAST_WORD, write_long_session, write_session
from tui_app.paths import Paths

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]
ROUNDS = 15


def test_prompt_ready(lab: Lab) -> None:
    ours, baseline = in_turn(
        lambda: lab.seconds_to_paint(PROMPT_PAINTED, *PLIMSOLL),
        lambda: lab.seconds_to_paint(HELLO_PAINTED, *HELLO),
        ROUNDS,
    )
    found = Comparison(
        name="prompt ready, against a bare Textual app", ours=ours, baseline=baseline, unit="s", most=1.6
    )
    print(f"\n{found}")
    assert found.good


def test_open_a_long_session(lab: Lab, paths: Paths) -> None:
    """One in which nothing was ever compacted, so that all of it is in the model's view."""
    long, short = write_session(paths, 10_000), write_session(paths, 200)
    ours, baseline = in_turn(
        lambda: lab.seconds_to_paint(LAST_WORD.encode(), *PLIMSOLL, "--resume", long),
        lambda: lab.seconds_to_paint(LAST_WORD.encode(), *PLIMSOLL, "--resume", short),
        ROUNDS,
    )
    found = Comparison(
        name="opening 10,000 messages, against 200", ours=ours, baseline=baseline, unit="s", most=1.5
    )
    print(f"\n{found}")
    assert found.good


def test_open_a_session_with_a_long_life(lab: Lab, paths: Paths) -> None:
    """One with tools, archives and compactions: what is read of it does not grow with its log."""
    (long, _), (short, _) = write_long_session(paths, 32_000), write_long_session(paths, 1_000)
    ours, baseline = in_turn(
        lambda: lab.seconds_to_paint(LAST_WORD.encode(), *PLIMSOLL, "--resume", long),
        lambda: lab.seconds_to_paint(LAST_WORD.encode(), *PLIMSOLL, "--resume", short),
        ROUNDS,
    )
    found = Comparison(
        name="opening 32,000 events, against 1,000", ours=ours, baseline=baseline, unit="s", most=1.2
    )
    print(f"\n{found}")
    assert found.good
