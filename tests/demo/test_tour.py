"""The demo's guide without a screen: its text after each event."""

from collections.abc import Iterable

import pytest

from tui_app.demo.tour import (
    STEPS,
    WRITERS,
    Progress,
    Signal,
    Step,
    TourHint,
    advance,
    next_hint,
    signal_of,
)
from tui_app.events import (
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    Payload,
    SessionClear,
    SessionRewind,
    TurnEnd,
    UserMessage,
)
from tui_app.ui.demo import hint_pieces

KEYS = {"compact": "ctrl+g", "details": "ctrl+o", "context": "f3", "models": "ctrl+l", "cancel": "esc"}
WAY: tuple[tuple[Signal, str], ...] = (
    ("filled", "1 ctrl+g"),
    ("compacted", "2 ctrl+o"),
    ("looked", "3 /undo"),
    ("undone", "4 f3"),
    ("measured", "5 ctrl+g"),
    ("compacting", "5 esc"),
    ("cancelled", "6 ctrl+g"),
    ("compacted", "6 ctrl+o"),
    ("looked", "6 /undo"),
    ("undone", "7 /rewind"),
    ("rewound", "8 ctrl+l"),
    ("switched", "0 "),
)
"""The user's actions, and the step and key named next."""


def after(signals: Iterable[Signal], progress: Progress | None = None) -> Progress:
    progress = progress or Progress()
    for signal in signals:
        progress = advance(progress, signal, marked=5 if signal == "compacted" else 0)
    return progress


def hint(progress: Progress) -> TourHint:
    return next_hint(progress, percent="81%", total=29, keys=KEYS)


def at(step: Step) -> Progress:
    """The tour at the beginning of a step."""
    for count in range(len(WAY) + 1):
        progress = after(signal for signal, _ in WAY[:count])
        if progress.step == step:
            return progress
    raise AssertionError(step)


def test_each_step_leads_to_the_next_and_names_its_key() -> None:
    for count, (_, wanted) in enumerate(WAY, 1):
        found = hint(after(signal for signal, _ in WAY[:count]))
        assert f"{found.number} {found.key}" == wanted
        assert found.text
        assert len(found.short) <= len(found.text)
    assert max(hint(at(step)).number for step in ("compact", "switch", "end")) == STEPS


def test_what_belongs_to_no_step_changes_none() -> None:
    step = at("context")
    assert after(["looked", "rewound", "cancelled", "played"], step) == step


def test_the_playing_is_counted_and_can_be_held_and_gone_on_with() -> None:
    playing = after(["played", "played"])
    assert "2 of 29 prompts, 81% full" in hint(playing).text
    held = after(["held"], playing)
    assert "Send any prompt" in hint(held).text
    assert after(["played"], held).played == 3
    assert "3 of 29" in hint(after(["played"], held)).text


@pytest.mark.parametrize("step", ["cancel", "invent", "rewind"])
def test_a_compaction_out_of_turn_is_to_be_undone_first(step: Step) -> None:
    there = at(step)
    assert hint(after(["compacted"], there)).key == ("/undo" if step != "invent" else "ctrl+o")
    shortened = after(["compacted"], at("context"))
    assert hint(after(["measured"], shortened)).key == "/undo"
    assert hint(after(["measured", "undone"], shortened)).key == "ctrl+g"


def test_a_compaction_that_was_not_stopped_in_time_is_tried_again() -> None:
    late = after(["compacted"], at("stop"))
    assert hint(late).key == "/undo"
    assert after(["undone"], late).step == "cancel"


def test_a_compaction_that_began_by_itself_is_looked_at() -> None:
    assert after(["played", "compacted"]).step == "look"
    assert after(["undone"], at("look")).step == "context"


def test_an_invented_summary_may_also_be_refused() -> None:
    assert after(["refused"], at("invent")).step == "rewind"


def test_events_are_read_as_signals() -> None:
    def ended(outcome: str) -> Payload:
        return CompactionComplete(job="1", outcome=outcome, trigger="manual")  # type: ignore[arg-type]

    started = CompactionStart(job="1", trigger="manual", tokens_before=1, messages_before=1, model="")
    background = CompactionStart(job="1", trigger="background", tokens_before=1, messages_before=1, model="")
    events: list[tuple[Payload, Signal | None]] = [
        (TurnEnd(outcome="done"), "played"),
        (TurnEnd(outcome="cancelled"), "held"),
        (started, "compacting"),
        (background, None),
        (ended("success"), "compacted"),
        (ended("cancelled"), "cancelled"),
        (ended("failed"), "refused"),
        (CompactionUndone(compaction=1), "undone"),
        (SessionClear(), "compacted"),
        (SessionRewind(to=1), "rewound"),
        (SessionRewind(to=1, failed=True), None),
        (UserMessage(text="hello"), None),
    ]
    assert [signal_of(event) for event, _ in events] == [signal for _, signal in events]


def test_the_slow_writer_and_the_inventive_one_write_only_where_they_are_announced() -> None:
    assert {step for step in WRITERS if WRITERS[step] == "slow"} == {"cancel", "stop"}
    assert {step for step in WRITERS if WRITERS[step] == "inventive"} == {"invent"}


@pytest.mark.parametrize("width", [120, 80, 60, 40])
def test_the_line_fits_and_names_the_key(width: int) -> None:
    for count in range(len(WAY) + 1):
        found = hint(after(signal for signal, _ in WAY[:count]))
        where, key, why, way_out = hint_pieces(found, width, "esc esc leaves")
        assert key == found.key
        assert why
        assert 2 + len("  ".join(filter(None, (where, f"{key} {why}".strip(), way_out)))) <= width
        if width >= 80:
            assert (why in (found.text, found.short), way_out) == (True, "esc esc leaves")
