"""The demo's guide: from what has happened to the next thing to try. Decisions only; it draws nothing."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, NamedTuple

from tui_app.demo.stage import SMALL_MODEL, SummaryWriter
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
"""What the tour goes by: ``held`` is a turn that was stopped, ``looked`` and ``measured`` are screens that
were opened: the details of a compaction, and the context."""

_NEXT: Mapping[tuple[Step, Signal], Step] = MappingProxyType({
    ("fill", "filled"): "compact",
    # The user may have typed meanwhile, and so begun one in the background.
    ("fill", "compacted"): "look", ("compact", "compacted"): "look",
    ("look", "looked"): "undo", ("look", "undone"): "context",
    ("undo", "undone"): "context",
    ("context", "measured"): "cancel",
    ("cancel", "compacting"): "stop",
    ("stop", "cancelled"): "invent", ("stop", "refused"): "cancel", ("stop", "undone"): "cancel",
    ("invent", "compacted"): "caught", ("invent", "refused"): "rewind",
    ("caught", "looked"): "undo again", ("caught", "undone"): "rewind",
    ("undo again", "undone"): "rewind",
    ("rewind", "rewound"): "switch",
    ("switch", "switched"): "end",
})  # fmt: skip


class TourHint(NamedTuple):
    """One line above the prompt: what to press, and why."""

    number: int
    """Of the step; 0 before the first and behind the last."""
    key: str
    """A key, or the name of an action or command that has one."""
    text: str
    short: str
    """The same where there is little room."""


_HINTS: Mapping[Step, TourHint] = MappingProxyType({
    "fill": TourHint(0, "", "A recorded session is played: {played} of {total} prompts, {percent} full.",
        "Playing: {played} of {total} prompts, {percent} full."),
    "compact": TourHint(1, "compact",
        "compacts: the window is {percent} full, so replace old messages with a summary.",
        "compacts: the window is {percent} full."),
    "look": TourHint(2, "details", "shows the summary, the facts it kept, and what was removed.",
        "shows the summary."),
    "undo": TourHint(3, "/undo", "undoes it: nothing was lost, the full history returns.",
        "undoes it: nothing was lost."),
    "context": TourHint(4, "context", "shows what fills the window, message by message.",
        "shows what fills the window."),
    "cancel": TourHint(5, "compact", "compacts again. The writer is slow this time, so that you can stop it.",
        "compacts slowly: you can stop it."),
    "stop": TourHint(5, "cancel", "stops it while it is being written: nothing changes.",
        "stops it: nothing changes."),
    "invent": TourHint(6, "compact",
        "compacts again. This time the summary invents things. Watch Plimsoll catch them.",
        "compacts: the summary invents things."),
    "caught": TourHint(6, "details",
        'shows {marked} invented claims, marked "not in the log". n jumps to the next.',
        "shows {marked} invented claims: n jumps to each."),
    "undo again": TourHint(6, "/undo", "undoes that summary as well.", "undoes that as well."),
    "rewind": TourHint(7, "/rewind", "goes back to an earlier prompt. /undo reverses it.",
        "goes back to an earlier prompt."),
    "switch": TourHint(8, "models",
        f"picks a model. Choose {SMALL_MODEL}: if it is too small, you are asked first.",
        f"picks a model: choose {SMALL_MODEL}."),
    "end": TourHint(0, "", "That was the tour. Ask anything about this project, or leave.",
        "That was the tour. Ask anything, or leave."),
})  # fmt: skip
_HELD = ("", "Stopped. Send any prompt to continue.", "Stopped. Send a prompt to continue.")
_SHORTENED = (
    *("/undo", "brings the full history back; then the tour continues."),
    "brings the history back first.",
)
_TOO_LATE = (
    *("/undo", "Too late: it finished. This takes it back, then try again."),
    "Too late: undo it, try again.",
)
STEPS = 8
_NEEDS_ALL: frozenset[Step] = frozenset({"compact", "cancel", "stop", "invent", "rewind"})
"""Steps for which the whole history must be in the context."""
WRITERS: Mapping[Step, SummaryWriter] = MappingProxyType(
    {"cancel": "slow", "stop": "slow", "invent": "inventive"}
)
"""Who writes the summary, where that is not the honest one."""


@frozen
class Progress:
    """How far the tour is."""

    step: Step = "fill"
    played: int = 0
    """Recorded prompts that were answered."""
    held: bool = False
    """Whether the user has stopped the playing."""
    shortened: bool = False
    """Whether a compaction or a clearing stands in place of the history."""
    marked: int = 0
    """Claims marked in the newest summary."""


def signal_of(event: Payload) -> Signal | None:
    """What an event means to the tour; None for most."""
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
    """Take the next step where the signal is what the present one waits for.

    Args:
        progress: How far it is.
        signal: What has happened.
        marked: Claims marked in a summary that was applied.
    """
    if progress.step == "fill" and signal in ("played", "held"):
        held = signal == "held"
        return replace(progress, held=held, played=progress.played + (not held))
    if signal == "compacted":
        progress = replace(progress, shortened=True, marked=marked)
    elif signal == "undone":
        progress = replace(progress, shortened=False)
    return replace(progress, step=_NEXT.get((progress.step, signal), progress.step))


def next_hint(progress: Progress, *, percent: str, total: int, keys: Mapping[str, str]) -> TourHint:
    """Say what to do next.

    Args:
        progress: How far the tour is.
        percent: How full the window is, such as ``81%``.
        total: Recorded prompts.
        keys: The keys of actions, by name: the user may have others than the built-in ones.
    """
    number, key, text, short = _HINTS[progress.step]
    if progress.held:
        key, text, short = _HELD
    elif progress.shortened and progress.step in _NEEDS_ALL:
        key, text, short = _TOO_LATE if progress.step == "stop" else _SHORTENED
    figures = {"played": progress.played, "total": total, "percent": percent, "marked": progress.marked}
    return TourHint(number, keys.get(key, key), text.format(**figures), short.format(**figures))
