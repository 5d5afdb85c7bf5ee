"""``plimsoll models``: what there is to choose from."""

import argparse
from dataclasses import asdict

from tui_app.cli.command import OK, Command, Program, add_json, run_until_signal
from tui_app.cli.output import ProgressLine, print_json, say_table
from tui_app.ui.gauge_text import window_text


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

    keys = program.keys.readable()

    async def show() -> int:
        with ProgressLine("Asking model servers what they serve"):
            choices = await list_models(env=keys, endpoints=settings.endpoints, everything=args.all)
        if args.json:
            print_json({"models": [asdict(choice) for choice in choices]})
        else:
            rows = [
                (each.name, window_text(each.window) if each.window else "?", each.price, each.why_not)
                for each in choices
            ]
            say_table([("MODEL", "WINDOW", "PRICE PER MILLION", ""), *rows], right=(1,))
        return OK

    return run_until_signal(show())


COMMAND = Command(
    name="models",
    usage="",
    summary="List the models that can be used here.",
    configure=configure,
    execute=execute,
)
