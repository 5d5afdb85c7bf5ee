"""``plimsoll simulate``: what each policy would have done with a conversation, as table, JSON and drawing."""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.cli.command import FAILED, OK, Program, WrongUsage, run_until_signal, writable
from tui_app.cli.failures import each_source
from tui_app.cli.output import ProgressLine, print_json, say, say_left_out, say_table
from tui_app.context.policy import Policy
from tui_app.conversation.policies import choose_policy, policy_names
from tui_app.demo.stage import data_file
from tui_app.files import write_atomic
from tui_app.records import frozen
from tui_app.text import cut
from tui_app.ui import text as numbers
from tui_app.ui.text import window_text

if TYPE_CHECKING:
    from tui_app.conversation.replay import Outcome, Request, Work
    from tui_app.conversation.simulate import Simulation, SimulationProgress, Transcript

ALL = "all"
DEMO = "demo"
"""Stands for the recording that ``plimsoll demo`` plays."""


def execute(program: Program, args: argparse.Namespace) -> int:
    """Replay the conversations; nothing but the drawing is written, and no model is asked."""
    settings = program.settings()

    def is_drawing(start: bytes) -> bool:
        return start.startswith(b"<svg") or (start.startswith(b"<?xml") and b"<svg" in start)

    target = writable(Path(args.plot), "--plot", "drawing", is_drawing) if args.plot else None
    known = policy_names(settings)
    if unknown := sorted(set(args.policy) - {ALL, *known}):
        raise WrongUsage(f"--policy is {unknown[0]!r}; allowed: {', '.join(known)}, or {ALL}.")
    names = known if not args.policy or ALL in args.policy else dict.fromkeys(args.policy)
    asked = Asked(
        sources=tuple(dict.fromkeys(args.sources)),
        windows=tuple(dict.fromkeys(args.window)),
        policies=tuple(choose_policy(settings, name) for name in names),
        model=args.model or "",
        retention=settings.prompt_cache,
        as_json=args.json,
        verbose=args.verbose,
        plot=target,
    )
    return replay_all(program, asked)


@frozen(kw_only=True)
class Asked:
    """What is to be replayed, and how it is shown."""

    sources: tuple[str, ...]
    """Files and ids of sessions."""
    windows: tuple[int, ...]
    """In tokens."""
    policies: tuple[Policy, ...]
    model: str
    """Empty takes the model that answered."""
    retention: str
    """How long prompt caches that want to be asked keep what was sent."""
    as_json: bool
    verbose: bool
    plot: Path | None


def replay_all(program: Program, asked: Asked) -> int:
    """Replay one conversation after the other; one that cannot be read does not keep the others out.

    Returns:
        The exit code.

    Raises:
        KeyboardInterrupt: after ctrl+c outside of a replay, such as while a file is read.
    """
    # The agent side takes a second to load: only for those who need it.
    from tui_app.conversation.simulate import CannotSimulate, transcript_of
    from tui_app.conversation.transcript import recorded_file, recorded_session

    done: list[Simulation] = []

    def work(source: str) -> int:
        with ProgressLine(f"Reading {source}") as line:
            # Outside of any loop, where ctrl+c ends the reading of a large file at once.
            if (path := Path(source)).exists():
                transcript = transcript_of(recorded_file(path))
            elif source == DEMO:
                transcript = transcript_of(recorded_file(data_file("session.jsonl"), DEMO))
            else:
                with program.sessions() as store:
                    transcript = replace(transcript_of(recorded_session(store, source)), format="session")
            stopped = run_until_signal(_replay(transcript, asked, line, done))
        if not stopped and not asked.as_json:
            show(done[-1], verbose=asked.verbose)
        return stopped

    drawing = " Nothing was drawn." if asked.plot is not None else ""
    told = f"Stopped. Replayed: {{:,}} of {len(asked.sources):,}.{drawing}"
    if stopped := each_source(asked.sources, work, lambda: told.format(len(done)), CannotSimulate):
        return stopped
    if asked.as_json and done:
        print_json({"simulations": [simulation.to_json() for simulation in done]})
    if asked.plot is not None and done:
        write_atomic(asked.plot, plot(done))
        if not asked.as_json:
            say(f"Drawn: {asked.plot}")
    return OK if len(done) == len(asked.sources) else FAILED


async def _replay(
    transcript: "Transcript", asked: Asked, line: ProgressLine, done: "list[Simulation]"
) -> int:
    """Replay a conversation and add what came out to what is done."""
    from tui_app.conversation.simulate import simulate

    def watch(progress: "SimulationProgress") -> None:
        share = f"{progress.done * 100 // progress.total}%"
        where = f"{progress.policy} at {window_text(progress.window)}"
        line.update(f"Replaying {share}, {where}, {Path(transcript.name).name}")

    done.append(
        await simulate(
            transcript, asked.policies, asked.windows, asked.model, watch=watch, retention=asked.retention
        )
    )
    return OK


# The requests as an SVG drawing: a line for each policy, and the marks it may be loaded to.

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
"""Of the lines, so that colours are not needed."""


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


def _said(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text))


@frozen
class _Panel:
    """One conversation in one window."""

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
        title = cut(self.simulation.transcript.title, _TITLE_CHARS)
        heading = _said(f"{title} in a window of {window_text(self._limit)}")
        yield f'<text x="{_LEFT}" y="{self.top + 22}" font-size="15">{heading}</text>'
        yield from self._axes()
        yield from self._marks()
        for number, outcome in enumerate(self.outcomes):
            yield from self._line(number % len(_COLOURS), outcome)
        x, y = _LEFT, self.top + PANEL - 10
        for number, outcome in enumerate(self.outcomes):
            colour = number % len(_COLOURS)
            yield f'<path class="line p{colour}" d="M{x} {y - 4}h26"/>'
            yield f'<text x="{x + 32}" y="{y}">{_said(cut(outcome.policy, _NAME_CHARS))}</text>'
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
        """The window, and below it the sizes at which policies begin to compact or make a request wait."""
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
            text = _said(cut(f"{window_text(tokens)} {words}", _LABEL_CHARS))
            yield f'<text x="{right + 28}" y="{lowest}" font-size="11">{text}</text>'

    def _line(self, colour: int, outcome: "Outcome") -> Iterator[str]:
        # Runs of requests that were sent.
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


# A replayed conversation as text: a table for each window, and on request every request.

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


def show(simulation: "Simulation", *, verbose: bool) -> None:
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
                say()
                say(f"Requests under {outcome.policy}")
                rows = [_request_row(request) for request in outcome.requests]
                say_table([_REQUEST_HEADINGS, *rows], right=range(len(_REQUEST_HEADINGS) - 1))
    say()


def _row(outcome: "Outcome") -> tuple[str, ...]:
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


def _request_row(request: "Request") -> tuple[str, ...]:
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


def _stages(work: "dict[str, Work]", *, sizes: bool = False) -> str:
    """What the stages did, in words."""
    return ", ".join(
        f"{stage} {done.actions:,}" + (f" (-{numbers.tokens(done.tokens_removed)})" if sizes else "")
        for stage, done in work.items()
    )


def _price(cost: float | None) -> str:
    return "unknown" if cost is None else numbers.cost(cost)
