"""``plimsoll simulate``: what each policy would have done with a conversation, as table, JSON and drawing."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.cli.core.command import FAILED, OK, Program, WrongUsage, writable
from tui_app.cli.core.failures import each_source
from tui_app.cli.core.output import print_json, say, say_left_out, say_table
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.cli.core.signals import run_until_signal
from tui_app.cli.sessions.plot import plot
from tui_app.context.policy import Policy
from tui_app.conversation.requests.policies import choose_policy, policy_names
from tui_app.demo.stage import data_file
from tui_app.files import write_atomic
from tui_app.records import frozen
from tui_app.ui.words import text as numbers
from tui_app.ui.words.cost_words import window_text

if TYPE_CHECKING:
    from tui_app.conversation.audits.replay import Outcome, Request, Work
    from tui_app.conversation.audits.simulate import Simulation, SimulationProgress, Transcript

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
    from tui_app.conversation.audits.simulate import CannotSimulate, transcript_of
    from tui_app.conversation.audits.transcript import recorded_file, recorded_session

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
    from tui_app.conversation.audits.simulate import simulate

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
