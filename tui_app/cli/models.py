"""``plimsoll models``: what there is to choose from."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from tui_app.cli.command import OK, Command, Program, add_json
from tui_app.cli.output import ProgressLine, print_json, say_table
from tui_app.ui.gauge_text import window_text

if TYPE_CHECKING:
    from tui_app.agent.catalog import ModelChoice


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--all", action="store_true", help="every name that is known, not only a few per vendor"
    )
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Print the models, those that can be used first."""
    settings = program.settings()
    # The list of names comes with pydantic-ai, which takes a second to load.
    from tui_app.agent.catalog import list_models
    from tui_app.cli.command import run_until_signal

    keys = program.keys.readable()

    async def show() -> int:
        with ProgressLine("Asking model servers what they serve"):
            choices = await list_models(env=keys, endpoints=settings.endpoints, everything=args.all)
        if args.json:
            print_json({"models": [asdict(choice) for choice in choices]})
        else:
            say_table([("MODEL", "WINDOW", "PRICE PER MILLION", ""), *map(_row, choices)], right=(1,))
        return OK

    return run_until_signal(show())


def _row(choice: "ModelChoice") -> tuple[str, ...]:
    window = window_text(choice.window) if choice.window else "?"
    return (choice.name, window, choice.price, choice.why_not)


COMMAND = Command(
    name="models",
    usage="",
    summary="List the models that can be used here.",
    configure=configure,
    execute=execute,
)
