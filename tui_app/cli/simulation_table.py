"""A replayed conversation for a person: a table for each window, and on request every request."""

from tui_app.cli.importing import say_left_out
from tui_app.cli.output import say, say_table
from tui_app.conversation.replay import Outcome, Request, Work
from tui_app.conversation.simulate import Simulation
from tui_app.ui import format as numbers
from tui_app.ui.widgets.gauge_text import window_text

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
