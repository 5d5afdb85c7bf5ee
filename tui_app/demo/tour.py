"""The demo's tour: from what has happened to the next hint. Decisions only; nothing is drawn."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

from tui_app.demo.stage import SMALL_MODEL, SummaryWriter, data_file
from tui_app.events import (
    CompactionComplete,
    CompactionRedone,
    CompactionStart,
    CompactionUndone,
    ModelChange,
    Payload,
    SessionClear,
    SessionRestored,
    SessionRewind,
    TurnEnd,
)
from tui_app.records import frozen

Step = Literal[
    "fill", "compact", "look", "undo", "context", "cancel", "stop", "invent", "caught", "undo again",
    "rewind", "switch", "end",
]  # fmt: skip
Signal = Literal[
    "played", "held", "filled", "compacting", "compacted", "cancelled", "refused", "undone", "looked",
    "measured", "rewound", "switched",
]  # fmt: skip
"""Events that advance the tour.

``held`` is a stopped turn; ``looked`` and ``measured`` are opened screens: a compaction's details, and the
context.
"""

_STEPS = cast("Mapping[Step, Mapping[str, Any]]", tomllib.loads(data_file("tour.toml").read_text("utf-8")))


class TourHint(NamedTuple):
    """One line above the prompt: what to press, and why."""

    number: int
    """Number of the step; 0 before the first and after the last."""
    key: str
    """A key, or the name of an action or command with a key."""
    text: str
    short: str
    """A shorter text, for little room."""


_WHEN_STOPPED = ("", "Stopped. Send any prompt to continue.", "Stopped. Send a prompt to continue.")
_SHORTENED = (
    *("/undo", "brings the full history back; then the tour continues."),
    "brings the history back first.",
)
_TOO_LATE = (
    *("/undo", "Too late: it finished. This takes it back, then try again."),
    "Too late: undo it, try again.",
)
STEPS = 8
WRITERS: Mapping[Step, SummaryWriter] = {
    step: row["writer"] for step, row in _STEPS.items() if "writer" in row
}
"""The writer of the summary in steps where it is not the honest one."""


@frozen
class Progress:
    """The progress of the tour."""

    step: Step = "fill"
    played: int = 0
    """Number of recorded prompts answered."""
    held: bool = False
    """Whether the user has stopped the playback."""
    shortened: bool = False
    """Whether a compaction or clear has replaced the history."""
    marked: int = 0
    """Claims marked in the newest summary."""


def signal_of(event: Payload) -> Signal | None:
    """Return the meaning of an event for the tour; None for most."""
    match event:
        case TurnEnd(outcome=outcome):
            return "played" if outcome == "done" else "held"
        case CompactionStart(trigger="manual"):
            return "compacting"
        case CompactionComplete(outcome="success") | CompactionRedone() | SessionClear():
            return "compacted"
        case CompactionComplete(outcome="cancelled"):
            return "cancelled"
        case CompactionComplete():
            return "refused"
        case CompactionUndone() | SessionRestored():
            return "undone"
        case SessionRewind(failed=False, again=False):
            return "rewound"
        case ModelChange():
            return "switched"
        case _:
            return None


def advance(progress: Progress, signal: Signal, *, marked: int = 0) -> Progress:
    """Advance to the next step if the signal is the expected one.

    Args:
        progress: The present progress.
        signal: What has happened.
        marked: Claims marked in an applied summary.
    """
    if progress.step == "fill" and signal in ("played", "held"):
        is_held = signal == "held"
        return replace(progress, held=is_held, played=progress.played + (not is_held))
    if signal == "compacted":
        progress = replace(progress, shortened=True, marked=marked)
    elif signal == "undone":
        progress = replace(progress, shortened=False)
    return replace(progress, step=_STEPS[progress.step].get("next", {}).get(signal, progress.step))


def next_hint(progress: Progress, *, percent: str, total: int, keys: Mapping[str, str]) -> TourHint:
    """Return the next hint.

    Args:
        progress: The present progress.
        percent: Context usage, for example ``81%``.
        total: Number of recorded prompts.
        keys: The keys of actions, by name: the user may have changed them.
    """
    row = _STEPS[progress.step]
    number, key, text, short = row.get("number", 0), row.get("key", ""), row["text"], row["short"]
    if progress.held:
        key, text, short = _WHEN_STOPPED
    elif progress.shortened and "whole" in row:
        key, text, short = _TOO_LATE if progress.step == "stop" else _SHORTENED
    figures = {"played": progress.played, "total": total, "percent": percent, "marked": progress.marked}
    figures["small"] = SMALL_MODEL
    return TourHint(number, keys.get(key, key), text.format(**figures), short.format(**figures))
