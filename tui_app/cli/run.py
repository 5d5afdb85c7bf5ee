"""``plimsoll run``: one turn without a screen."""

import argparse
import sys

from tui_app.cli.command import Command, Program, add_json, add_model, add_policy, add_window
from tui_app.cli.failures import WrongUsage


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("prompt", metavar="PROMPT", help="what to ask; - reads it from stdin")
    add_model(parser)
    parser.add_argument(
        "--session", metavar="ID", default="", help="go on with this session (default: a new one)"
    )
    parser.add_argument("--cwd", metavar="DIR", help="folder to work in (default: the current one)")
    add_window(parser)
    add_policy(parser)
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Send a prompt, print what happens, and end when the turn does."""
    prompt = read_prompt(args.prompt)
    settings = program.settings(window=args.window, policy=args.policy)
    cwd = program.folder(args.cwd)
    if args.session:
        with program.sessions() as store:
            args.session = store.info(args.session).id
    # The agent side takes a second to load: only for those who need it.
    from tui_app.cli.headless import AnswerView, JsonView, run_turn
    from tui_app.cli.signals import run_until_signal
    from tui_app.conversation.request import Opening

    opening = Opening(
        settings=settings,
        paths=program.paths,
        env=program.env,
        cwd=cwd,
        session=args.session,
        model=args.model or "",
    )
    return run_until_signal(run_turn(opening, prompt, JsonView() if args.json else AnswerView()))


def read_prompt(argument: str) -> str:
    """The prompt as text that can be stored: bytes that are no text become U+FFFD.

    Raises:
        WrongUsage: if there is nothing in it.
    """
    if argument == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    else:
        text = argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not text.strip():
        raise WrongUsage("The prompt is empty.")
    return text.strip("\n")


COMMAND = Command(
    name="run",
    usage="PROMPT",
    summary="Run one turn and print the answer.",
    configure=configure,
    execute=execute,
)
