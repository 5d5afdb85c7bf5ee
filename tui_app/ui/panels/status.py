"""The status row: what is running, for how long, and what esc does about it."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from tui_app.chat_keys import NO_CHANGES, label_of
from tui_app.records import frozen
from tui_app.text import count
from tui_app.ui.widgets.tables import spread
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import duration, one_line, tokens, wrap_spans

if TYPE_CHECKING:
    from tui_app.events import CompactionComplete

Kind = Literal["idle", "connecting", "answering", "tool", "pausing", "compacting", "message"]
SHORT = 56
"""Columns below which a compaction is named in one word, so that its time still fits."""
MOST_ROWS = 3
"""Maximum number of rows of a message."""
LEAST_REASON = 24
"""Cells of a retry's reason that take precedence over the number of attempts."""
_LONG_S = 3_599
"""Seconds whose wording is as wide as any."""
_FIGURES = 2
"""Up to this rank the figures of a compaction take precedence over its long name."""
SEPARATOR = " · "
"""Separator of the pieces of a row."""
GAP = 2
"""Columns kept free before the hint at the right."""


@frozen(kw_only=True)
class Status:
    """What is running, or a message."""

    kind: Kind = "idle"
    text: str = ""
    """The message, or the name of the running tool."""
    started: float = 0.0
    """When it started, in seconds of the row's own clock (monotonic)."""
    wait_s: float = 0.0
    """Seconds of a pause, from ``started`` on."""
    tokens: int = 0
    """Tokens written so far."""
    size: int = 0
    """Tokens of the history that is being compacted."""
    stays: int = 0
    """Tokens of it that the summary does not replace; 0 if unknown."""
    trigger: str = ""
    part: int = 0
    parts: int = 0
    """Number of separately summarised parts of the history; shown if there are two or more."""
    model: str = ""
    writes: str = ""
    """The end of the summary that is being written."""
    notes: tuple[str, ...] = ()
    """Shown after it if there is space: next steps, or something reported meanwhile."""
    failed: "CompactionComplete | None" = None
    """A failed manual compaction whose extract can be kept instead."""
    under: "Status | None" = None
    """The previous status, if this one only answers a key; None otherwise."""

    @property
    def busy(self) -> bool:
        """Whether something is running, so that the time is updated and esc has an effect."""
        return self.kind not in ("idle", "message")


def status_pieces(status: Status, elapsed: float, *, short: bool = False) -> list[tuple[int, str]]:
    """Return the pieces of a status with their ranks; higher ranks are dropped first.

    Args:
        status: The status.
        elapsed: Seconds since it started.
        short: Name a compaction in one word.
    """
    since = (0, duration(int(elapsed)) if elapsed >= 1 else "0 s")
    amount = str(status.tokens) if status.tokens < 1_000 else tokens(status.tokens)
    unit = "token" if status.tokens == 1 else "tokens"
    written = [(2, f"{amount} {unit}")] if status.tokens else []
    match status.kind:
        case "idle":
            return []
        case "message":
            pieces = [(0, status.text)]
        case "connecting":
            pieces = [(0, f"Connecting to {status.model}" if status.model else "Connecting"), since]
        case "answering":
            pieces = [(0, "Answering"), since, *written]
        case "tool":
            pieces = [(0, f"Running {status.text}"), since, *written]
        case "pausing":
            left = duration(max(1, math.ceil(status.wait_s - elapsed)))
            pieces = [(0, f"{'Again' if short else 'Trying again'} in {left}")]
        case "compacting":
            pieces = _compacting(status, since, short)
    return [*pieces, *enumerate(status.notes, start=1)]


def _compacting(status: Status, since: tuple[int, str], short: bool) -> list[tuple[int, str]]:
    pieces = [
        (0, "Compacting" if short else "Compacting conversation history"),
        (3, status.trigger.replace("_", " ")),
        (4, tokens(status.size) if status.size else ""),
        (6, f"then {tokens(status.stays)} + summary" if status.stays else ""),
        (1, f"part {status.part} of {status.parts}" if status.parts > 1 else ""),
        (2, count(status.tokens, "token") if status.tokens else ""),
        since,
        (5, status.model),
    ]
    return [piece for piece in pieces if piece[1]]


def fit_pieces(pieces: list[tuple[int, str]], width: int) -> str:
    """Join the pieces, leaving out whole ones of the highest rank until they fit.

    Pieces of rank 0 stay; if they alone are too long the text ends in an ellipsis.
    """
    left = list(pieces)
    while True:
        text = SEPARATOR.join(piece for _, piece in left)
        worst = max((rank for rank, _ in left), default=0)
        if cell_len(text) <= width or worst == 0:
            return one_line(text, max(1, width))
        left = [(rank, piece) for rank, piece in left if rank != worst]


def message_rows(pieces: Sequence[str], width: int, *, keeps: int = 1) -> list[str]:
    """Break a message and its notes into rows; notes that do not fit are left out.

    Args:
        pieces: The message, then notes, of which the last ones are left out first.
        width: Columns of a row.
        keeps: Number of pieces that justify another row.

    Returns:
        At most three rows; the last one ends in an ellipsis if even the message is longer.
    """

    def broken(most: int) -> list[str]:
        text = one_line(SEPARATOR.join(pieces[:most]), (MOST_ROWS + 1) * width)
        return [text[start:stop] for start, stop, _ in wrap_spans(text, width)]

    alone = broken(1)
    if len(alone) > MOST_ROWS:
        return [*alone[: MOST_ROWS - 1], one_line(" ".join(alone[MOST_ROWS - 1 :]), width)]
    every = (broken(most) for most in range(len(pieces), 0, -1))
    room = max(len(alone), min(MOST_ROWS, len(broken(keeps))))
    return next(rows for rows in every if len(rows) <= room)


SIGNED = 2
"""Cells of the sign before the words."""
READ_ALONG = "{} reads along"
_LIVE_CELLS = 60
"""Cells from which the summary being written has a row."""


class StatusRow(Widget):
    """A row of text, without a spinner, which would disturb screen readers and slow connections.

    A message that is too long for a row takes up to three, because its end has the next step. Notes made
    while something runs take rows below if they do not fit after it.
    """

    status: reactive[Status] = reactive(Status())
    tasks: reactive[int] = reactive(0)
    """Number of running background commands."""
    agents: reactive[tuple[int, int]] = reactive((0, 0))
    """Numbers of running forks and other subagents."""
    keymap: reactive[Mapping[str, str]] = reactive(NO_CHANGES)

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, id: str | None = None) -> None:
        """Create the row.

        Args:
            clock: Monotonic seconds; ``Status.started`` is on the same clock.
            id: Textual id.
        """
        super().__init__(id=id)
        self._clock = clock
        self._ticker: Timer | None = None

    def on_mount(self) -> None:
        """Create the timer; it runs only while something does."""
        self._ticker = self.set_interval(1.0, self.refresh, pause=not self.status.busy)

    def watch_status(self, status: Status) -> None:
        """Update the time only while something runs: an idle screen does nothing."""
        self.set_class(status.busy or bool(status.text), "-said")
        if len(self._lines(self.size.width)) != self.size.height:
            self.refresh(layout=True)
        if self._ticker is None:
            return
        if status.busy:
            self._ticker.resume()
        else:
            self._ticker.pause()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> Content:
        """Draw the status at the left and what esc does at the right."""
        status = self.status
        sign = UNICODE.cross if status.failed else " "
        if status.busy:
            sign = UNICODE.load_line if status.kind == "compacting" else UNICODE.at_work
        lead = Content.styled(f"{sign} ", "$text-error" if status.failed else "$text-accent")
        return Content("\n").join(
            Content("  ") + line if at else lead + line
            for at, line in enumerate(self._lines(self.size.width))
        )

    def _live(self, width: int) -> str:
        """Return the last complete line of the summary being written as a row; empty if there is none."""
        if self.status.kind != "compacting" or width < _LIVE_CELLS:
            return ""
        *whole, begun = (line.strip(" -*#>") for line in self.status.writes.split("\n"))
        line = next((line for line in reversed(whole) if line), begun)
        if not line:
            return ""
        along = READ_ALONG.format(label_of("chat.details", self.keymap))
        room = max(1, width - SIGNED - cell_len(along) - GAP)
        line = one_line(f"{UNICODE.dots} {line}", room)
        return f"{line}{' ' * (room + GAP - cell_len(line))}{along}"

    def _lines(self, width: int) -> list[Content]:
        live, width, status = self._live(width), max(1, width - SIGNED), self.status
        lines = [self._row(status, width)]
        if status.busy and status.kind != "pausing" and status.notes:
            # Notes that do not fit after the running work have rows of their own.
            pieces = status_pieces(status, _LONG_S, short=width < SHORT)
            line = " · ".join([*(piece for _, piece in pieces), self._hint(width)])
            if cell_len(line) + GAP > width:
                below = map(Content, message_rows(status.notes, width))
                lines = [self._row(replace(status, notes=()), width), *below]
        elif status.kind == "message":
            # The next steps are shown however much space they take.
            parts = [status.text, *status.notes]
            keeps = len(parts) if status.failed else 1
            if cell_len(one_line(" · ".join(parts[:keeps]), 2 * width)) > width:
                lines = [*map(Content, message_rows(parts, width, keeps=keeps))]
        return [*lines, *([Content.styled(live, "$text-muted")] if live else [])]

    def _row(self, status: Status, width: int) -> Content:
        elapsed = max(0.0, self._clock() - status.started)
        pieces = status_pieces(status, elapsed, short=width < SHORT)
        least = SEPARATOR.join(piece for rank, piece in pieces if rank == 0)
        hint = self._hint(width - cell_len(least) - GAP)
        room = width - (cell_len(hint) + GAP if hint else 0)
        figures = SEPARATOR.join(piece for rank, piece in pieces if rank <= _FIGURES)
        if status.kind == "compacting" and cell_len(figures) > room:
            # The figures of the summary being written are more useful than its long name.
            pieces = status_pieces(status, elapsed, short=True)
        text = fit_pieces(pieces, room)
        if status.kind == "pausing" and status.text:
            # As much of the reason as fits, which is more useful than the number of attempts.
            every = SEPARATOR.join(piece for _, piece in pieces)
            rest = room - cell_len(every) - cell_len(SEPARATOR)
            text = every if rest >= min(LEAST_REASON, cell_len(status.text)) else least
            text = one_line(f"{text}{SEPARATOR}{status.text}", max(1, room))
        name, _, more = text.partition(SEPARATOR) if status.busy else (text, "", "")
        key, space, does = hint.partition(" ")
        tail = [(f"{SEPARATOR}{more}", "$text-muted")] if more else []
        ends = (key, "$foreground" if key == "esc" else "$text-muted"), (f"{space}{does}", "$text-muted")
        return spread(Content.assemble(name, *tail), Content.assemble(*ends), width, 0)

    def _hint(self, room: int) -> str:
        """Return what esc does, and how many commands and subagents run in the background."""
        at_work = zip(self.agents, ("fork", "agent"), strict=True)
        agents = ", ".join(count(number, what) for number, what in at_work if number)
        tasks = f"{count(self.tasks, 'task')} in the background" if self.tasks else ""
        tasks = " · ".join(filter(None, (f"{agents} at work" if agents else "", tasks)))
        if not self.status.busy:
            return tasks if cell_len(tasks) <= room else ""
        escape = "esc cancels" if self.status.kind == "compacting" else "esc stops"
        both = f"{tasks} · {escape}"
        return both if tasks and cell_len(both) <= room else escape
