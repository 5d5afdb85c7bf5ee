"""``plimsoll run``: one turn without a screen."""

import argparse
import sys
from pathlib import Path

from tui_app.cli.command import (
    Command,
    Program,
    WrongUsage,
    add_agent,
    add_json,
    add_model,
    add_policy,
    add_read_only,
    add_window,
)
from tui_app.cli.output import tell
from tui_app.references import mentions
from tui_app.settings.approvals import parse_rule
from tui_app.settings.rules import Refused
from tui_app.tool_specs import RUN_COMMAND, WRITE_FILE
from tui_app.ui.prompt.paste import is_large
from tui_app.ui.text import one_line

_PATH_CELLS = 200
"""Cells of a recorded path that are shown; it may come from a foreign file."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "prompt", metavar="PROMPT", help="what to ask; @path sends a file along, - reads it from stdin"
    )
    add_model(parser)
    parser.add_argument(
        "--session", metavar="ID", default="", help="go on with this session (default: a new one)"
    )
    parser.add_argument("--cwd", metavar="DIR", help="folder to work in (default: the current one)")
    add_window(parser)
    add_policy(parser)
    add_agent(parser)
    add_read_only(parser)
    _add_approvals(parser)
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Send a prompt, print what happens, and end when the turn does."""
    prompt = read_prompt(args.prompt)
    settings = program.settings(window=args.window, policy=args.policy, read_only=args.read_only)
    cwd = program.folder(args.cwd)
    session = _known(program, args.session, cwd, chosen=args.cwd is not None) if args.session else ""
    # The agent side takes a second to load: only for those who need it.
    from tui_app.cli.command import run_until_signal
    from tui_app.cli.headless import AnswerView, JsonView, run_turn
    from tui_app.conversation.open_request import Opening

    opening = Opening(
        settings=settings,
        paths=program.paths,
        env=program.env,
        keys=program.keys,
        cwd=cwd,
        session=session,
        model=args.model or "",
        policy=args.policy or "",
        agent=args.agent,
        allow=tuple(args.allow),
        yes=args.yes,
    )
    view = JsonView() if args.json else AnswerView()
    return run_until_signal(run_turn(opening, prompt, view, files=named_files(args.prompt, prompt)))


def _add_approvals(parser: argparse.ArgumentParser) -> None:
    """Let a person say beforehand what nobody can be asked about."""
    parser.add_argument(
        "--allow",
        metavar="RULE",
        action="append",
        default=[],
        type=_rule,
        help=f'what tools may do, such as "{RUN_COMMAND.name} pytest -q" or "{WRITE_FILE.name} docs/**"; '
        "may be repeated",
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="let tools do everything that no rule denies or may deny (default: what asks is denied)",
    )


def _rule(text: str) -> str:
    try:
        return parse_rule("allow", text, "command line").text
    except Refused as refused:
        raise argparse.ArgumentTypeError(f"{refused.shown}; allowed: {refused.allowed}") from None


def _known(program: Program, wanted: str, cwd: Path, *, chosen: bool) -> str:
    """Full id of a session; says so when its folder is gone and nobody has chosen another."""
    with program.sessions() as store:
        info = store.info(wanted)
    if not chosen and not _is_folder(info.cwd):
        gone = one_line(info.cwd, _PATH_CELLS)
        tell(f"The folder of this session, {gone}, does not exist. Working in {cwd}.")
    return info.id


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:  # a name no disk can hold, or nobody may look
        return False


def read_prompt(argument: str) -> str:
    """The prompt as text that can be stored: bytes that are no text become U+FFFD.

    Raises:
        WrongUsage: if there is nothing in it, or nothing to read it from.
    """
    if argument == "-":
        text = _read_stdin()
    else:
        text = argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not text.strip():
        raise WrongUsage("The prompt is empty.")
    return text.strip("\n")


def named_files(argument: str, prompt: str) -> tuple[str, ...]:
    """The paths that go along with a prompt, as on the screen: none of those within a large paste.

    Args:
        argument: Where the prompt comes from; what is piped in counts as pasted.
        prompt: Its text.
    """
    return () if argument == "-" and is_large(prompt) else mentions(prompt)


def _read_stdin() -> str:
    # Python has no stdin at all where the shell has closed it.
    try:
        raw = sys.stdin.buffer.read() if sys.stdin is not None else None
    except (OSError, ValueError):
        raw = None
    if raw is None:
        raise WrongUsage("The prompt cannot be read: stdin is closed. Give it as an argument, or pipe it in.")
    return raw.decode("utf-8", "replace")


COMMAND = Command(
    name="run",
    usage="PROMPT",
    summary="Run one turn and print the answer.",
    configure=configure,
    execute=execute,
)
