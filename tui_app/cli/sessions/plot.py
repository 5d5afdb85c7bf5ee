"""The requests of a replay as an SVG drawing."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from tui_app.records import frozen
from tui_app.text import cut
from tui_app.ui.words.cost_words import window_text

if TYPE_CHECKING:
    from tui_app.conversation.audits.replay import Outcome
    from tui_app.conversation.audits.simulate import Simulation

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

WIDTH, PANEL = 960, 380
"""Width of the drawing, and height of the panel for one conversation in one window, in pixels."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 190, 46, 48
"""Margins around the lines: numbers, marks, heading, requests."""

_LABEL = 14
"""Line height of a label."""

_TITLE_CHARS, _LABEL_CHARS, _NAME_CHARS = 100, 26, 24

_COLOURS = (
    ("#0b6489", "#6cc3e4"),
    ("#b3261e", "#ff938a"),
    ("#1f6b3d", "#7fd3a0"),
    ("#8a5200", "#efb957"),
    ("#6a3fa0", "#c4a3f0"),
    ("#4f6271", "#aebfcc"),
)
"""Colours of the lines, on light and dark backgrounds."""

_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 4")
"""Dash patterns of the lines, which distinguish them without colours."""


def plot(simulations: "Sequence[Simulation]") -> str:
    """Draw replays, one panel below the other.

    Args:
        simulations: At least one.

    Returns:
        A whole SVG document; everything in it that comes from a conversation is text.
    """
    panels = [
        _Panel(simulation, outcomes, index * PANEL)
        for index, (simulation, outcomes) in enumerate(
            (simulation, outcomes) for simulation in simulations for outcomes in simulation.windows
        )
    ]
    height = len(panels) * PANEL
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" font-size="12">',
        "<title>Tokens of each request, by policy</title>",
        f"<style>{_style()}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
    ]
    for panel in panels:
        lines += panel.drawn()
    return "\n".join([*lines, "</svg>", ""])


def _style() -> str:
    light = [".ground{fill:#fbfcfd}", "text{fill:#16242f}", ".line{fill:none;stroke-width:1.8}"]
    light += [".axis{stroke:#a9bfce;fill:none}", ".mark{stroke:#b3261e;fill:none;stroke-width:1.4}"]
    light += [".threshold{stroke:#526573;fill:none;stroke-dasharray:3 4}"]
    dark = [".ground{fill:#0d1720}", "text{fill:#d9e2ea}", ".axis{stroke:#35506a}"]
    dark += [".mark{stroke:#ff938a}", ".threshold{stroke:#8ea2b3}"]
    for number, ((day, night), dashes) in enumerate(zip(_COLOURS, _DASHES, strict=True)):
        light.append(f".p{number}{{stroke:{day}{f';stroke-dasharray:{dashes}' if dashes else ''}}}")
        light.append(f".d{number}{{fill:{day};stroke:none}}")
        dark.append(f".p{number}{{stroke:{night}}}.d{number}{{fill:{night}}}")
    return f"{''.join(light)}@media (prefers-color-scheme:dark){{{''.join(dark)}}}"


def _svg_text(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text))


@frozen
class _Panel:
    simulation: "Simulation"
    outcomes: "Sequence[Outcome]"
    top: int
    """Pixels from the top of the drawing."""

    @property
    def _limit(self) -> int:
        return self.outcomes[0].window.limit

    def _x(self, number: int) -> float:
        last = max(1, max(len(outcome.requests) for outcome in self.outcomes) - 1)
        return round(_LEFT + (number - 1) / last * (WIDTH - _LEFT - _RIGHT), 1)

    def _y(self, tokens: int) -> float:
        room = PANEL - _TOP - _BOTTOM
        highest = max(self._limit, *(outcome.peak_tokens for outcome in self.outcomes))
        return round(self.top + _TOP + room * (1 - tokens / (highest * 1.05)), 1)

    def drawn(self) -> Iterator[str]:
        title = cut(self.simulation.recorded.title, _TITLE_CHARS)
        heading = _svg_text(f"{title} in a window of {window_text(self._limit)}")
        yield f'<text x="{_LEFT}" y="{self.top + 22}" font-size="15">{heading}</text>'
        yield from self._axes()
        yield from self._marks()
        for number, outcome in enumerate(self.outcomes):
            yield from self._line(number % len(_COLOURS), outcome)
        x, y = _LEFT, self.top + PANEL - 10
        for number, outcome in enumerate(self.outcomes):
            colour = number % len(_COLOURS)
            yield f'<path class="line p{colour}" d="M{x} {y - 4}h26"/>'
            yield f'<text x="{x + 32}" y="{y}">{_svg_text(cut(outcome.policy, _NAME_CHARS))}</text>'
            x += 44 + 7 * min(_NAME_CHARS, len(outcome.policy))

    def _axes(self) -> Iterator[str]:
        bottom, right = self._y(0), WIDTH - _RIGHT
        yield f'<path class="axis" d="M{_LEFT} {self.top + _TOP}V{bottom}H{right}"/>'
        for quarter in range(5):
            tokens = self._limit * quarter // 4
            yield (
                f'<text x="{_LEFT - 8}" y="{self._y(tokens) + 4}" text-anchor="end">'
                f"{window_text(tokens)}</text>"
            )
        last = max(len(outcome.requests) for outcome in self.outcomes)
        yield f'<text x="{_LEFT}" y="{bottom + 18}">1</text>'
        yield f'<text x="{right}" y="{bottom + 18}" text-anchor="end">request {last:,}</text>'

    def _marks(self) -> Iterator[str]:
        """Draw the window, and below it the sizes at which policies compact or make a request wait."""
        right = WIDTH - _RIGHT
        yield f'<path class="mark" d="M{_LEFT} {self._y(self._limit)}H{right}"/>'
        marks = sorted({mark for outcome in self.outcomes for mark in _thresholds(outcome)}, reverse=True)
        for mark in marks:
            yield f'<path class="threshold" d="M{_LEFT} {self._y(mark)}H{right}"/>'

        def users(mark: int) -> str:
            return ", ".join(each.policy for each in self.outcomes if mark in _thresholds(each))

        labels = {self._limit: "the window", **{mark: users(mark) for mark in marks}}
        lowest = 0.0
        for tokens, words in labels.items():
            place = self._y(tokens)
            yield f'<circle class="mark" cx="{right + 12}" cy="{place}" r="6"/>'
            yield f'<path class="mark" d="M{right + 2} {place}h20"/>'
            lowest = max(place + 4, lowest + _LABEL)
            text = _svg_text(cut(f"{window_text(tokens)} {words}", _LABEL_CHARS))
            yield f'<text x="{right + 28}" y="{lowest}" font-size="11">{text}</text>'

    def _line(self, colour: int, outcome: "Outcome") -> Iterator[str]:
        # Consecutive requests that were sent.
        for sent, group in groupby(outcome.requests, lambda each: bool(each.tokens)):
            if not sent:
                continue
            run = list(group)
            points = " ".join(f"{self._x(each.number)},{self._y(each.tokens)}" for each in run)
            if len(run) == 1:
                points = f"{points} {points}"
            yield f'<polyline class="line p{colour}" stroke-linecap="round" points="{points}"/>'
        for each in outcome.requests:
            if "compact" in each.stages and each.tokens:
                place = f'cx="{self._x(each.number)}" cy="{self._y(each.tokens)}"'
                yield f'<circle class="d{colour}" {place} r="3.2"><title>compacted</title></circle>'
            if not each.tokens:
                x, y = self._x(each.number), self._y(self._limit)
                yield f'<path class="mark" d="M{x - 4} {y - 4}l8 8m0 -8l-8 8"><title>failed</title></path>'


def _thresholds(outcome: "Outcome") -> set[int]:
    return {mark for mark in (outcome.background_mark, outcome.blocking_mark) if mark}
