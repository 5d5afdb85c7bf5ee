"""``plimsoll simulate``: what each policy would have done with a conversation, as table, JSON and drawing."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.cli.core.command import FAILED, OK, Program, WrongUsage, writable
from tui_app.cli.core.failures import each_source
from tui_app.cli.core.opened_session import DEMO, recorded
from tui_app.cli.core.output import print_json, print_skipped, print_table, say
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.cli.core.signals import run_until_signal
from tui_app.cli.sessions.plot import plot
from tui_app.conversation.requests.policies import choose_policy, policy_names
from tui_app.files import write_atomic
from tui_app.ui.words import text as numbers
from tui_app.ui.words.cost_words import window_text

if TYPE_CHECKING:
    from tui_app.context.policy import Policy
    from tui_app.conversation.audits.replay import Outcome, Request, Work
    from tui_app.conversation.audits.simulate import Simulation

ALL = "all"


def execute(program: Program, args: argparse.Namespace) -> int:
    """Replay several conversations; an unreadable one does not stop the others.

    Nothing but the drawing is written, and no model is used.

    Raises:
        KeyboardInterrupt: after ctrl+c outside of a replay, for example while a file is read.
    """
    settings = program.settings()

    def is_drawing(start: bytes) -> bool:
        return start.startswith(b"<svg") or (start.startswith(b"<?xml") and b"<svg" in start)

    target = writable(Path(args.plot), "--plot", "drawing", is_drawing) if args.plot else None
    known = policy_names(settings)
    if unknown := sorted(set(args.policy) - {ALL, *known}):
        raise WrongUsage(f"--policy is {unknown[0]!r}; allowed: {', '.join(known)}, or {ALL}.")
    names = known if not args.policy or ALL in args.policy else dict.fromkeys(args.policy)
    policies = [choose_policy(settings, name) for name in names]
    sources, done = tuple(dict.fromkeys(args.sources)), list["Simulation"]()

    def work(source: str) -> int:
        return _simulate(program, source, args, policies, settings.prompt_cache, done)

    notice = f"Stopped. Replayed: {{:,}} of {len(sources):,}.{' Nothing was drawn.' if target else ''}"
    if stopped := each_source(sources, work, lambda *_: notice.format(len(done)))[0]:
        return stopped
    if args.json and done:
        print_json({"simulations": [simulation.to_json() for simulation in done]})
    if target is not None and done:
        write_atomic(target, plot(done))
        if not args.json:
            say(f"Drawn: {target}")
    return OK if len(done) == len(sources) else FAILED


def _simulate(
    program: Program,
    source: str,
    args: argparse.Namespace,
    policies: Sequence["Policy"],
    retention: str,
    done: "list[Simulation]",
) -> int:
    """Replay a conversation, print the result, and append it to ``done``.

    Returns:
        The exit code of a signal that stopped it, else 0.
    """
    # Imported here: loading the agent side takes a second.
    from tui_app.conversation.audits.simulate import simulate

    with ProgressLine(f"Reading {source}") as line:
        # Read everything outside of the event loop, so that ctrl+c stops reading a large file at once.
        with recorded(program, source) as read:
            read.original_items()
        if source != DEMO and not Path(source).exists():
            read = replace(read, format="session")
        windows, model = tuple(dict.fromkeys(args.window)), args.model or ""

        def watch(policy: str, window: int, replayed: int, of: int) -> None:
            where = f"{policy} at {window_text(window)}, {Path(read.name).name}"
            line.update(f"Replaying {replayed * 100 // of}%, {where}")

        async def replay() -> int:
            found = await simulate(read, policies, windows, model, watch=watch, retention=retention)
            done.append(found)
            return OK

        stopped = run_until_signal(replay())
    if not stopped and not args.json:
        show(done[-1], verbose=args.verbose)
    return stopped


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
    """Print the result.

    Args:
        simulation: The conversation, replayed.
        verbose: Whether every request gets a line.
    """
    source = simulation.recorded
    priced = f"counted and priced as {simulation.model}" if simulation.model else "model unknown"
    say(
        f"{source.name} ({source.format}): {numbers.count(simulation.messages, 'message')}, "
        f"{numbers.count(simulation.answers, 'answer')}, "
        f"{numbers.tokens(simulation.tokens)} tokens, {priced}"
    )
    print_skipped(source.notes, source.skipped)
    for outcomes in simulation.windows:
        window = outcomes[0].window
        say()
        say(
            f"Window of {window_text(window.limit)} tokens, {window_text(window.reserve)} kept for the answer"
        )
        print_table([_HEADINGS, *map(_row, outcomes)], right=range(1, len(_HEADINGS) - 1))
        if verbose:
            for outcome in outcomes:
                say()
                say(f"Requests under {outcome.policy}")
                rows = [_request_row(request) for request in outcome.requests]
                print_table([_REQUEST_HEADINGS, *rows], right=range(len(_REQUEST_HEADINGS) - 1))
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
    return ", ".join(
        f"{stage} {done.actions:,}" + (f" (-{numbers.tokens(done.tokens_removed)})" if sizes else "")
        for stage, done in work.items()
    )


def _price(cost: float | None) -> str:
    return "unknown" if cost is None else numbers.cost(cost)
