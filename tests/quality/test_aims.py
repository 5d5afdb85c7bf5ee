"""The aims of docs/quality.md, on a made-up history; the command on that page measures real ones."""

import asyncio

from pydantic_ai.messages import ModelMessage

from tests.context.facts_kit import call, says, shell, user
from tests.quality.cases import Case
from tests.quality.chains import chained
from tests.quality.governed import Governed, context_of
from tests.quality.scores import score
from tests.quality.truth import truth_of
from tui_app.context.counting.encodings import TextCounter

WINDOW = 32_000
PAGES = 60
RULES = "Never touch the migrations folder. Always use tabs in the templates."
FIRST = "Build the harbour's site, page by page."
OPEN = "ValueError: no berth in timetable.py"
TEXT = TextCounter("o200k_base")
"""Four characters a token: a tokenizer that never needs loading."""


def page(turn: int) -> list[ModelMessage]:
    path = f"/w/site/pages/page{turn}.py"
    seen = " ".join(
        f"old line {turn * 1_000 + line} legacyCell{turn * 1_000 + line}();" for line in range(70)
    )
    return [
        *call("Read", {"file_path": f"/w/old/page{turn}.html"}, seen),
        *call("Write", {"file_path": path, "content": f"def renderPage{turn}(): ..."}, "File created"),
        *shell(f"pytest pages/test_page{turn}.py", "passed " * 200),
        *says(f"Page {turn} is done: renderPage{turn} draws it."),
    ]


def before() -> list[ModelMessage]:
    messages = [*user(f"{FIRST} {RULES}"), *says("I begin.")]
    clock = {
        "file_path": "/w/site/tides.py",
        "old_string": "now()",
        "new_string": "return harbourClock(berth)",
    }
    messages += call("Edit", clock)
    for turn in range(PAGES):
        messages += page(turn)
        if turn % 20 == 5:
            messages += user(f"Actually, put the menu of page{turn}.py on the left instead of the right.")
    messages += shell("make lint", "error: unused import\nexit code 1", "failed")
    messages += call("Edit", {"file_path": "/w/site/menu.py", "old_string": "a", "new_string": "tideTable"})
    messages += shell("make lint", "clean")
    messages += shell("rm /w/site/pages/page7.py")
    messages += shell("make timetable", f"{OPEN}\nexit code 1", "failed")
    return [*messages, *says("The timetable fails, page 7 is gone."), *user("Now the start page.")]


def case() -> Case:
    after = [
        *says(
            "I mend timetable.py first: harbourClock in tides.py is what it lacks, then tideTable in menu.py."
        ),
        *call("Read", {"file_path": "/w/site/tides.py"}),
        *call("Read", {"file_path": "/w/site/menu.py"}),
        *says("Then the menus of page5.py, page25.py and page45.py, and page59.py as the pattern."),
    ]
    told = before()
    return Case("made-up", "none", False, tuple(told), tuple(after), Governed(TEXT, WINDOW).size(told))


def test_a_compaction_that_is_asked_for_reaches_every_aim() -> None:
    made = case()
    assert made.tokens >= 1.4 * WINDOW
    governed = Governed(TEXT, WINDOW)
    kept = context_of(asyncio.run(governed.compacted(made.before)), governed)
    scores = score(kept, truth_of(made), made.tokens, TEXT.count)
    assert scores.size <= 0.15
    assert scores.written is not None
    assert scores.written <= 0.05
    assert (scores.touched, scores.false_claims, scores.invented) == (1.0, 0.0, 0.0)
    assert (scores.rules, scores.first, scores.latest, scores.corrections) == (1.0, 1.0, 1.0, 1.0)
    assert (scores.open_errors, scores.solved_listed) == (1.0, 0.0)
    least = {"verbs": 0.97, "files": 0.95, "hard": 0.5, "density": 1.3}
    reached = {name: getattr(scores, name) for name in least}
    assert all(reached[name] >= least[name] for name in least), reached


def test_five_compactions_in_a_row_lose_next_to_nothing() -> None:
    made = case()
    kept = (asyncio.run(chained(made.before, times, WINDOW, TEXT)) for times in (1, 5))
    once, often = (score(each, truth_of(made), made.tokens, TEXT.count) for each in kept)
    for name in ("touched", "verbs", "rules", "first", "latest", "open_errors"):
        assert getattr(often, name) > getattr(once, name) - 0.03, name
    assert (often.false_claims, often.invented) == (0.0, 0.0)
