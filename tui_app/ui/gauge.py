"""The context gauge: one row with a bar, its two load lines, and the same number in words."""

from typing import TYPE_CHECKING, NamedTuple

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.ui.text import (
    BACKGROUND,
    BLOCKING,
    UNICODE,
    Glyphs,
    Zone,
    gauge_text,
    threshold_text,
    unmarked_text,
    zone,
)
from tui_app.usage import ContextUsage, ContextWindow

if TYPE_CHECKING:
    from tui_app.settings import Settings

MIN_BAR = 20
"""Cells below which a bar has no text: only the text is shown then."""
ROOMY_BAR = 24
"""Cells the bar keeps before the note on a background compaction takes its longer forms."""
FIELD = 29
"""Cells of the words: the load lines stand still while numbers change."""
EXPLAINED = 60
"""Columns from which the words also say why there is no limit."""
COLOURS: dict[Zone, str] = {"ok": "$accent", "near": "$text-warning", "full": "$text-error"}


class Bar(NamedTuple):
    """The bar in cells: ``used`` drawn strong, ``pending`` lighter behind it, ``marks`` over both."""

    width: int
    used: int
    pending: int
    marks: tuple[int, ...]
    leaving: int = 0
    """Of the used ones, the last that a compaction under way would free."""


def measure_bar(
    width: int,
    usage: ContextUsage | None,
    pending: int,
    background: float,
    blocking: float,
    leaving: int = 0,
) -> Bar:
    """Share out the cells of a bar; what is not empty gets at least one cell.

    Args:
        width: Cells of the bar.
        usage: The context of the next request; None while that is not known.
        pending: Tokens that are not in it yet: the draft, an answer that streams.
        background: Share of the window from which compaction starts; 0 or 1 draws no mark.
        blocking: Share from which a request waits for it.
        leaving: Tokens that a compaction under way would free.
    """
    marks = tuple(min(width - 1, int(width * mark)) for mark in (background, blocking) if 0 < mark < 1)
    if usage is None or usage.window.stated <= 0:
        return Bar(width, 0, 0, marks)
    limit = usage.window.stated
    used = min(width, max(int(usage.total > 0), width * usage.total // limit))
    end = min(width, width * (usage.total + pending) // limit)
    frees = min(used - 1, width * leaving // limit) if leaving and used else 0
    return Bar(width, used, max(int(pending > 0 and used < width), end - used), marks, frees)


class ContextGauge(Widget):
    """Context usage as a bar and in words. Attributes down, :class:`Clicked` up."""

    DEFAULT_CSS = """
    ContextGauge { height: 1; width: 1fr; padding: 0 2; color: $foreground; pointer: pointer; }
    """
    HELP = (
        "How full the model's context is. The strokes mark where compaction starts and where sending waits."
    )

    usage: reactive[ContextUsage | None] = reactive(None)
    """The measured context; ``None`` while nothing is known."""
    window: reactive[ContextWindow | None] = reactive(None)
    """The limit to name while ``usage`` is ``None``."""
    window_known: reactive[bool] = reactive(True)
    """Whether the model's limit is known at all."""
    pending: reactive[int] = reactive(0)
    """Tokens that the typed prompt or the streamed answer would add."""
    background: reactive[float] = reactive(BACKGROUND)
    """Share of the window at the first mark; 0 for none."""
    blocking: reactive[float] = reactive(BLOCKING)
    """Share of the window at the second mark; 0 for none."""
    compacting: reactive[float | None] = reactive(None)
    """Share done of a background compaction; negative when not known; ``None`` when none runs."""
    leaving: reactive[int] = reactive(0)
    """Tokens that a compaction under way would free."""
    caption: reactive[str] = reactive("")
    """Said in place of the figures; empty for them."""
    way_out: reactive[str] = reactive("")
    """The key that cancels it and what it does, ``esc cancels``; empty while the key does something else."""
    glyphs: reactive[Glyphs] = reactive(UNICODE)

    class Clicked(Message):
        """The gauge was clicked: the user wants to see what fills the context."""

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Clicked())

    def _explain_marks(self) -> None:
        waits = f", sending waits at {self.blocking:.0%}" if self.blocking else ""
        start = threshold_text(self.background)
        words = f"{start}{waits}" if start else unmarked_text(self.background, self.blocking)
        self.tooltip = Content(f"Context: {words}")

    watch_background = watch_blocking = _explain_marks

    @property
    def text(self) -> str:
        return gauge_text(
            self.usage,
            window=self.window,
            window_known=self.window_known,
            pending=self.pending,
            background=self.background,
            blocking=self.blocking,
        )

    def render(self) -> Content:
        """Draw bar, words and, while one runs, the quiet mark of a background compaction."""
        colour = COLOURS[self._zone]
        text = self._words().replace("·", self.glyphs.separator)
        field = max(FIELD, len(text)) if self.size.width >= FIELD + MIN_BAR + 1 else len(text)
        note = self._note(self.size.width - field)
        bar_width = self.size.width - field - len(note) - 1
        parts: list[Content] = []
        if bar_width >= MIN_BAR:
            parts.append(self._bar(bar_width, colour))
            parts.append(Content(" " * (1 + field - len(text))))
        else:
            parts.append(Content(" " * max(0, self.size.width - len(text) - len(note))))
        parts.append(self._styled(text))
        if note:
            parts.append(Content.styled(note, "$text-muted"))
        return Content("").join(parts)

    def _styled(self, text: str) -> Content:
        """The share and a state that needs attention stand out; the rest is read when it is looked for."""
        share, space, rest = text.partition(" ")
        if self._zone == "ok":
            return Content.assemble((share, "$foreground"), (space + rest, "$text-muted"))
        before, dot, word = rest.rpartition(" ")
        colour = COLOURS[self._zone]
        return Content.assemble(
            (share, colour), (space + before + dot, "$text-muted"), (word, f"bold {colour}")
        )

    @property
    def _zone(self) -> Zone:
        return zone(self.usage, self.background, self.blocking, pending=self.pending)

    def _words(self) -> str:
        if self.caption:
            return self.caption
        if self.usage is not None and self.usage.window.stated <= 0 and self.size.width >= EXPLAINED:
            return f"{self.text} · limit not known yet"
        return self.text

    def _note(self, room: int) -> str:
        """Return the longest note on a background compaction that leaves a bar; empty when none runs."""
        if self.compacting is None:
            return ""
        done = f"{self.compacting:.0%}" if self.compacting >= 0 else ""
        sign = self.glyphs.load_line
        dot = f" {self.glyphs.separator} "
        long = f"  {sign} compacting in the background{f'{dot}{done}' if done else ''}"
        short = f"  {sign} compacting{f' {done}' if done else ''}"
        ways = (f"{long}{dot}{self.way_out}", f"{short}{dot}{self.way_out}") if self.way_out else (long,)
        forms = (*ways, short, f"  {sign}")
        fitting = (form for form in forms if room - len(form) > ROOMY_BAR)
        return next(fitting, forms[-1] if room > len(forms[-1]) else "")

    def _bar(self, width: int, colour: str) -> Content:
        bar = measure_bar(width, self.usage, self.pending, self.background, self.blocking, self.leaving)
        if not self.window_known:
            bar = Bar(width, 0, 0, ())  # a share of an unknown limit cannot be drawn
        cells: list[tuple[str, str]] = []
        for cell in range(width):
            if cell in bar.marks:
                reached = cell < bar.used
                cells.append((self.glyphs.load_mark, f"bold {colour}" if reached else "$text-muted"))
            elif bar.used - bar.leaving <= cell < bar.used:
                cells.append((self.glyphs.leaves, "$accent-soft"))
            elif cell < bar.used:
                cells.append((self.glyphs.gauge_full, colour))
            elif cell < bar.used + bar.pending:
                cells.append((self.glyphs.gauge_part, "$accent-soft"))
            else:
                cells.append((self.glyphs.gauge_empty, "$line-strong"))
        return Content.assemble(*cells)


def marks(settings: "Settings", usage: ContextUsage | None, policy: str = "") -> tuple[float, float]:
    """Return the gauge's two marks as shares of the window, never behind the room for the answer.

    Args:
        settings: The settings in force.
        usage: The measured context, or ``None`` while it is not known.
        policy: Name of the policy in force; empty is the one that is set.

    Returns:
        Zeros for marks that the policy does not have: it compacts nothing by itself, or counts messages.
        Zeros as well while nothing is measured, or the window is not known.
    """
    if usage is None or usage.window.limit <= 0:
        return 0.0, 0.0
    # Policies are not needed for the first frame, which has nothing measured.
    from tui_app.conversation.policies import choose_policy, policy_names

    if policy not in policy_names(settings):
        policy = ""
    chosen = choose_policy(settings, policy)
    if not chosen.automatic:
        return 0.0, 0.0
    window = usage.window
    most = window.effective / window.stated
    if chosen.limit is None:
        # Thresholds are shares of what is believed to fit, and the gauge shows what is known to.
        part = window.limit / window.stated
        return min(chosen.background_threshold * part, most), min(chosen.blocking_threshold * part, most)
    mark = chosen.limit.mark(window)
    return (mark / window.stated if mark else 0.0), most
