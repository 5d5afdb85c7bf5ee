"""From a key to the screen, with a short and a very long conversation above the prompt."""

from time import monotonic

import pytest

from tests.benchmarks.measure import Comparison, in_turn
from tests.benchmarks.programs import PLIMSOLL, Lab, settle
from tests.benchmarks.sessions import LAST_WORD, write_session
from tests.pty.child import Child
from tui_app.paths import Paths

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]
KEYS = 60
REST_S = 6.0
BETWEEN_PAGES_S = 0.3
"""By then whatever the page before caused has been painted."""
PAGE_UP = "\x1b[5~"


class Typist:
    """Types into a program, one letter at a time, and waits for each to be painted."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._draft = ""

    def type(self) -> float:
        """Seconds from the next letter's key to its appearance."""
        self._draft += chr(ord("a") + len(self._draft) % 26)
        before = len(self._child.output)
        started = monotonic()
        self._child.write(self._draft[-1])
        # The row is painted anew up to the cursor, so the whole draft stands in the output in one piece.
        return self._child.read_until(self._draft.encode(), since=before) - started


class Reader:
    """Turns pages upwards and waits until each is painted whole."""

    def __init__(self, child: Child) -> None:
        self._child = child

    def turn(self) -> float:
        """Seconds from the key to the end of the frame that shows another page."""
        settle(self._child, BETWEEN_PAGES_S)
        before = len(self._child.output)
        started = monotonic()
        self._child.write(PAGE_UP)
        return self._child.read_until(b"Answer", since=before) - started


def test_key_to_screen(lab: Lab, paths: Paths) -> None:
    long, short = write_session(paths, 10_000), write_session(paths, 200)
    with (
        lab.start(*PLIMSOLL, "--resume", long) as long_child,
        lab.start(*PLIMSOLL, "--resume", short) as short_child,
    ):
        for child in (long_child, short_child):
            child.read_until(LAST_WORD.encode())
            settle(child, REST_S)
        ours, baseline = in_turn(Typist(long_child).type, Typist(short_child).type, KEYS)
        paged_ours, paged_baseline = in_turn(Reader(long_child).turn, Reader(short_child).turn, 15)
    typed = compare("a key on the screen at 10,000 messages, against 200", ours, baseline)
    paged = compare("a page up at 10,000 messages, against 200", paged_ours, paged_baseline)
    print(f"\n{typed}\n{paged}")
    assert typed.good
    assert paged.good


def compare(name: str, ours: list[float], baseline: list[float]) -> Comparison:
    """The same, in milliseconds."""
    in_ms = [[1_000 * each for each in samples] for samples in (ours, baseline)]
    return Comparison(name=name, ours=in_ms[0], baseline=in_ms[1], unit="ms", most=1.3)
