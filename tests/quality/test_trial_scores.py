"""The trial of a compaction predicts look-ups, on a made-up history."""

from tests.context.facts_kit import call, says, shell, user
from tests.quality.cases import Case
from tests.quality.trial_scores import Tried, area, tried
from tui_app.context.counting.encodings import TextCounter


def test_the_area_counts_pairs_in_the_right_order() -> None:
    good, poor, other = Tried("a", 10, 0.9, 0.1), Tried("b", 10, 0.2, 0.6), Tried("c", 90, 0.2, 0.1)
    assert area([[good, poor]]) == (1.0, 1)
    assert area([[good, poor, other]]) == (0.75, 2)
    assert area([[good, poor, other]], same_size=True) == (1.0, 1)
    assert area([[good, good]]) == (0.5, 0)


def test_what_a_made_up_history_needs_later() -> None:
    work = [
        message
        for part in range(12)
        for group in (
            user(f"Write part_{part}_reader, and keep table_{part} as it is."),
            call("write_file", {"path": f"src/part_{part}.py", "content": f"def part_{part}_reader(): ..."}),
            shell(f"pytest tests/test_part_{part}.py", f"{part + 1} passed in 0.1s"),
            says(f"part_{part}_reader is in src/part_{part}.py. " + "It reads the table line by line. " * 40),
        )
        for message in group
    ]
    later = [
        message
        for part in range(12)
        for message in call(
            "read_file", {"path": f"src/part_{part}.py", "name": f"part_{part}_reader"}, "..."
        )
    ]
    text = TextCounter("o200k_base")
    text.load()
    case = Case("made up", "made up", False, tuple(work), tuple(later), 8_000)
    share, pairs = area([[each for each in tried(case, text) if each.name != "bare list of names"]])
    assert pairs > 20
    assert share > 0.7
