"""The requests of replays as an SVG drawing: a line for each policy, and the marks she may be loaded to."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from tui_app.cli.imports import say_left_out
from tui_app.cli.output import say, say_table
from tui_app.conversation.replay import Outcome, Request, Work
from tui_app.conversation.simulate import Simulation
from tui_app.ui import text as numbers
from tui_app.ui.gauge_text import window_text

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
WIDTH, PANEL = 960, 380
"""Size of the drawing, and height of what belongs to one conversation in one window, in pixels."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 190, 46, 48
"""Room around the lines: numbers, marks, heading, requests."""
_LABEL = 14
"""Height of a label's line."""
_TITLE_CHARS, _LABEL_CHARS, _NAME_CHARS = 100, 26, 24
_COLOURS = (
    ("#0b6489", "#6cc3e4"),
    ("#b3261e", "#ff938a"),
    ("#1f6b3d", "#7fd3a0"),
    ("#8a5200", "#efb957"),
    ("#6a3fa0", "#c4a3f0"),
    ("#4f6271", "#aebfcc"),
)
"""Of the lines, on a light and on a dark ground."""
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 4")
"""Of the lines, so that nobody needs to see colours."""


def plot(simulations: Sequence[Simulation]) -> str:
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


def _said(text: str) -> str:
    """Text of anybody's as text of the document."""
    return escape(_NO_XML.sub("\ufffd", text))


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


@dataclass(frozen=True, slots=True)
class _Panel:
    """One conversation in one window."""

    simulation: Simulation
    outcomes: Sequence[Outcome]
    top: int
    """Pixels from the top of the drawing."""

    @property
    def _limit(self) -> int:
        return self.outcomes[0].window.limit

    @property
    def _highest(self) -> int:
        return max(self._limit, *(outcome.peak_tokens for outcome in self.outcomes))

    def _x(self, number: int) -> float:
        last = max(1, max(len(outcome.requests) for outcome in self.outcomes) - 1)
        return round(_LEFT + (number - 1) / last * (WIDTH - _LEFT - _RIGHT), 1)

    def _y(self, tokens: int) -> float:
        room = PANEL - _TOP - _BOTTOM
        return round(self.top + _TOP + room * (1 - tokens / (self._highest * 1.05)), 1)

    def drawn(self) -> Iterator[str]:
        """The elements of the panel."""
        yield from self._heading()
        yield from self._axes()
        yield from self._marks()
        for number, outcome in enumerate(self.outcomes):
            yield from self._line(number % len(_COLOURS), outcome)
        yield from self._legend()

    def _heading(self) -> Iterator[str]:
        source = self.simulation.transcript
        window = window_text(self._limit)
        title = f"{_clipped(source.title, _TITLE_CHARS)} in a window of {window}"
        yield f'<text x="{_LEFT}" y="{self.top + 22}" font-size="15">{_said(title)}</text>'

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
        """The window, and below it the sizes at which policies begin to compact or make a request wait."""
        right = WIDTH - _RIGHT
        yield f'<path class="mark" d="M{_LEFT} {self._y(self._limit)}H{right}"/>'
        marks = sorted({mark for outcome in self.outcomes for mark in _thresholds(outcome)}, reverse=True)
        for mark in marks:
            yield f'<path class="threshold" d="M{_LEFT} {self._y(mark)}H{right}"/>'
        labels = {self._limit: "the window", **{mark: self._users(mark) for mark in marks}}
        lowest = 0.0
        for tokens, words in labels.items():
            place = self._y(tokens)
            yield f'<circle class="mark" cx="{right + 12}" cy="{place}" r="6"/>'
            yield f'<path class="mark" d="M{right + 2} {place}h20"/>'
            lowest = max(place + 4, lowest + _LABEL)
            text = _said(_clipped(f"{window_text(tokens)} {words}", _LABEL_CHARS))
            yield f'<text x="{right + 28}" y="{lowest}" font-size="11">{text}</text>'

    def _users(self, mark: int) -> str:
        """Names of the policies that have a mark."""
        return ", ".join(outcome.policy for outcome in self.outcomes if mark in _thresholds(outcome))

    def _line(self, colour: int, outcome: Outcome) -> Iterator[str]:
        for run in _unbroken(outcome.requests):
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

    def _legend(self) -> Iterator[str]:
        x, y = _LEFT, self.top + PANEL - 10
        for number, outcome in enumerate(self.outcomes):
            colour = number % len(_COLOURS)
            yield f'<path class="line p{colour}" d="M{x} {y - 4}h26"/>'
            yield f'<text x="{x + 32}" y="{y}">{_said(_clipped(outcome.policy, _NAME_CHARS))}</text>'
            x += 44 + 7 * min(_NAME_CHARS, len(outcome.policy))


def _thresholds(outcome: Outcome) -> set[int]:
    return {mark for mark in (outcome.background_mark, outcome.blocking_mark) if mark}


def _unbroken(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """Runs of requests that were sent."""
    run: list[Request] = []
    for request in requests:
        if request.tokens:
            run.append(request)
        elif run:
            yield run
            run = []
    if run:
        yield run


# A replayed conversation for a person: a table for each window, and on request every request.

_HEADINGS = (
    "policy",
    "requests",
    "failed",
    "peak",
    "mean",
    "input",
    "cached",
    "price",
    "compactions",
    "facts kept",
    "recoverable",
    "stages",
)
_REQUEST_HEADINGS = ("request", "tokens", "messages", "prefix kept", "price", "stages")


def show(simulation: Simulation, *, verbose: bool) -> None:
    """Print what came out.

    Args:
        simulation: The conversation, replayed.
        verbose: Whether every request gets a line.
    """
    source = simulation.transcript
    priced = f"counted and priced as {simulation.model}" if simulation.model else "model unknown"
    say(
        f"{source.name} ({source.format}): {numbers.count(len(source.messages), 'message')}, "
        f"{numbers.count(source.answers, 'answer')}, "
        f"{numbers.tokens(simulation.tokens)} tokens, {priced}"
    )
    say_left_out(source.notes, source.skipped)
    for outcomes in simulation.windows:
        window = outcomes[0].window
        say()
        say(
            f"Window of {window_text(window.limit)} tokens, {window_text(window.reserve)} kept for the answer"
        )
        say_table([_HEADINGS, *map(_row, outcomes)], right=range(1, len(_HEADINGS) - 1))
        if verbose:
            for outcome in outcomes:
                _show_requests(outcome)
    say()


def _row(outcome: Outcome) -> tuple[str, ...]:
    return (
        outcome.policy,
        f"{len(outcome.requests):,}",
        f"{outcome.failed:,}",
        numbers.tokens(outcome.peak_tokens),
        numbers.tokens(outcome.mean_tokens),
        numbers.tokens(outcome.input_tokens),
        numbers.percent(outcome.cached_share),
        _price(outcome.cost_usd),
        f"{outcome.compactions:,}",
        numbers.percent(outcome.facts.retention),
        numbers.percent(outcome.facts.recoverable),
        _stages({stage: work for stage, work in outcome.work.items() if stage != "compact"}),
    )


def _show_requests(outcome: Outcome) -> None:
    say()
    say(f"Requests under {outcome.policy}")
    rows = [_request_row(request) for request in outcome.requests]
    say_table([_REQUEST_HEADINGS, *rows], right=range(len(_REQUEST_HEADINGS) - 1))


def _request_row(request: Request) -> tuple[str, ...]:
    kept = request.prefix_kept
    stages = _stages(request.stages, sizes=True)
    if request.failed:
        stages = f"failed: needs {numbers.tokens(request.needed)}; {stages}".removesuffix("; ")
    return (
        f"{request.number:,}",
        numbers.tokens(request.tokens) if request.tokens else "-",
        f"{request.messages:,}",
        "-" if kept is None else numbers.percent(kept),
        _price(request.cost_usd) if request.tokens else "-",
        stages,
    )


def _stages(work: dict[str, Work], *, sizes: bool = False) -> str:
    """What the stages did, in words."""
    return ", ".join(
        f"{stage} {done.actions:,}" + (f" (-{numbers.tokens(done.tokens_removed)})" if sizes else "")
        for stage, done in work.items()
    )


def _price(cost: float | None) -> str:
    return "unknown" if cost is None else numbers.cost(cost)
