"""``plimsoll`` without a command: the screen."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tui_app.cli.command import CommandFailed, Program, add_agent, add_model, add_policy, add_read_only

if TYPE_CHECKING:
    from tui_app.session.port import SessionInfo

NO_SESSIONS = "There is no session to go on with yet. Start one with: plimsoll"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the screen."""
    parser.add_argument(
        "path", metavar="PATH", nargs="?", help="folder to work in (default: the current one)"
    )
    add_model(parser)
    add_policy(parser)
    add_agent(parser)
    add_read_only(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue",
        dest="latest",
        action="store_true",
        help="go on with the last session of this folder, else with the last one anywhere",
    )
    which.add_argument(
        "--resume",
        metavar="ID",
        nargs="?",
        const="",
        help="go on with a session; without an id, choose from the list",
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        default=None,
        help="ASCII only and nothing that moves, for screen readers",
    )


def execute(program: Program, args: argparse.Namespace) -> int:
    """Start the screen and wait until the person leaves it."""
    flags = {"policy": args.policy, "plain": args.plain, "read_only": args.read_only}
    settings = program.settings(**flags)
    cwd = program.folder(args.path)
    _need_terminal(program.env)
    session = _session(program, args, cwd)
    # Only now: what comes before must answer at once.
    from tui_app.ui.launch import Launch
    from tui_app.ui.run import run_app

    launch = Launch(
        settings=settings,
        paths=program.paths,
        env=program.env,
        cwd=cwd,
        session=session,
        model=args.model or "",
        policy=args.policy or "",
        agent=args.agent,
        flags={**flags, "model": args.model},
        pick_session=args.resume == "",
    )
    return run_app(launch)


def _session(program: Program, args: argparse.Namespace, cwd: Path) -> str:
    """Id of the session to go on with; empty for a new one."""
    if args.resume:
        with program.sessions() as store:
            return store.info(args.resume).id
    if not args.latest:
        return ""
    if not program.has_sessions:
        raise CommandFailed(NO_SESSIONS)
    with program.sessions() as store:
        return latest_session(store.sessions(), cwd)


def latest_session(sessions: "list[SessionInfo]", cwd: Path) -> str:
    """Id of the session used last in a folder, else of the one used last anywhere.

    Args:
        sessions: All of them, the one used last first.
        cwd: The folder.

    Raises:
        CommandFailed: if there is none with anything in it.
    """
    spoken = [info for info in sessions if info.messages]
    here = [info for info in spoken if info.cwd == str(cwd)]
    if not spoken:
        raise CommandFailed(NO_SESSIONS)
    return (here or spoken)[0].id


def _need_terminal(env: Mapping[str, str]) -> None:
    # A driver named by the environment brings its own screen, as a browser does.
    if env.get("TEXTUAL_DRIVER") or (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        return
    raise CommandFailed('The screen needs a terminal. In scripts, use: plimsoll run "…"')


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it was closed
        return False
