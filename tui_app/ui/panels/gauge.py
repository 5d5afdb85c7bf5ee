"""The context gauge: one row with a bar, its two marks, and the usage in words."""

import re
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.load import Load, Zone
from tui_app.usage import ContextUsage

if TYPE_CHECKING:
    from tui_app.settings import Settings

MIN_BAR = 20
"""Cells below which only the text is shown, without a bar."""
FIELD = 29
"""Cells reserved for the words, so that the marks do not move while numbers change."""
EXPLAINED = 60
"""Columns from which the words also explain a missing limit."""
COLOURS: dict[Zone, str] = {"near": "bold $text-warning", "full": "bold $text-error"}
"""Colours of the word for a state that needs attention."""
STROKES: dict[Zone, str] = {"ok": "$accent", "near": "$warning", "full": "$error"}
"""Colours of the bar."""
_SHARE = re.compile(r".*?\d.*?(?= of | [·-] )")
"""The part of the words that matters most: the share, or the excess."""


class ContextGauge(Widget):
    """Context usage as a bar and in words."""

    HELP = "Context usage. The two marks: compaction starts, sending waits."

    load: reactive[Load] = reactive(Load())
    caption: reactive[str] = reactive("")
    """Shown instead of the figures, unless empty."""

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        await self.run_action("screen.slash('/context')")

    def watch_load(self, load: Load) -> None:
        waits = f", sending waits at {load.blocking:.0%}" if load.blocking and load.threshold else ""
        self.tooltip = Content(f"Context: {load.start}{waits}")

    def render(self) -> Content:
        """Draw bar and words; the words have a fixed width, so that the marks do not move."""
        text = self.caption or self.load.text
        unknown = self.load.usage is not None and not self.load.limit
        if unknown and not self.caption and self.size.width >= EXPLAINED:
            text = f"{text} · window not known yet"
        # The marks do not move whatever the words are; without a window there are none.
        wide = len(text) if unknown else FIELD
        field = max(wide, FIELD) if self.size.width >= FIELD + MIN_BAR + 1 else len(text)
        text = text if len(text) <= field else f"{text.partition(' ')[0]} {text.rpartition(' ')[2]}"
        bar_width = self.size.width - field - 1
        if bar_width < MIN_BAR:
            return Content(" " * max(0, self.size.width - len(text))) + self._styled(text)
        spaces = Content(" " * (1 + field - len(text)))
        return self._bar(bar_width) + spaces + self._styled(text)

    def _styled(self, text: str) -> Content:
        """Highlight the share and a state that needs attention."""
        share = found.group() if (found := _SHARE.match(text)) else ""
        rest, word, colour = text[len(share) :], "", COLOURS.get(self.load.zone, "")
        if colour:
            rest, space, word = rest.rpartition(" ")
            rest += space
        return Content.assemble((share, "$foreground"), (rest, "$text-muted"), (word, colour))

    def _bar(self, width: int) -> Content:
        zone, bar = self.load.zone, self.load.bar(width)
        colour = STROKES[zone]
        cells: list[tuple[str, str]] = []
        for cell in range(width):
            if cell in bar.marks:
                reached = cell < bar.used
                cells.append((UNICODE.load_mark, f"bold {colour}" if reached else "$text-muted"))
            elif bar.used - bar.leaving <= cell < bar.used:
                cells.append((UNICODE.leaves, "$accent-soft" if zone == "ok" else colour))
            elif cell < bar.used:
                cells.append((UNICODE.gauge_full, colour))
            elif cell < bar.used + bar.pending:
                cells.append((UNICODE.gauge_part, colour))
            elif cell == bar.used and bar.half:
                cells.append((UNICODE.gauge_half, colour))
            else:
                cells.append((UNICODE.gauge_empty, "$line-strong"))
        # Styles are written once per run of cells.
        runs = groupby(cells, key=itemgetter(1))
        return Content.assemble(*(("".join(sign for sign, _ in run), style) for style, run in runs))


def background_forms(done: float | None, way_out: str) -> tuple[str, ...]:
    """Word a background compaction, from the longest form to the shortest.

    Args:
        done: Share that is done; negative if unknown, None if none runs.
        way_out: The key that cancels it and what it does; empty while the key does something else.
    """
    if done is None:
        return ()
    sign, dot, share = UNICODE.load_line, " · ", f"{done:.0%}" if done >= 0 else ""
    long = f"{sign} compacting in the background{f'{dot}{share}' if share else ''}"
    short = f"{sign} compacting{f' {share}' if share else ''}"
    ways = (f"{long}{dot}{way_out}", f"{short}{dot}{way_out}") if way_out else (long,)
    return (*ways, short, sign)


def marks(settings: "Settings", usage: ContextUsage | None, policy: str = "") -> tuple[float, float]:
    """Return the gauge's two marks as shares of the window.

    Args:
        settings: The current settings.
        usage: The measured context usage, or ``None`` while it is unknown.
        policy: Name of the current policy; empty is the one in the settings.

    Returns:
        Zeros for marks that the policy does not have: it never compacts automatically, or counts messages.
        Zeros as well for an unknown window. While nothing is measured, marks that are shares of it.
    """
    if usage is not None and usage.window.limit <= 0:
        return 0.0, 0.0
    from tui_app.conversation.requests.policies import choose_policy, policy_names

    if policy not in policy_names(settings):
        policy = ""
    chosen = choose_policy(settings, policy)
    if not chosen.automatic or (usage is None and chosen.limit is not None):
        return 0.0, 0.0
    if usage is None:
        return chosen.background_threshold, chosen.blocking_threshold
    window = usage.window
    if chosen.limit is None:
        # Thresholds are shares of ``limit``, which a refusal may have lowered; the gauge shows ``stated``.
        part = window.limit / window.stated
        return chosen.background_threshold * part, chosen.blocking_threshold * part
    mark = chosen.limit.mark(window)
    return (mark / window.stated if mark else 0.0), window.effective / window.stated
