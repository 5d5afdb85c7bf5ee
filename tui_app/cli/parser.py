"""From arguments to a command: the table of commands and the help."""

import os
from argparse import RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from tui_app.cli import (
    compact,
    config,
    context,
    doctor,
    exporting,
    importing,
    models,
    run,
    screen,
    sessions,
)
from tui_app.cli.command import Command, Parser, Program
from tui_app.cli.failures import WrongUsage
from tui_app.paths import Paths
from tui_app.version import __version__

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        command.name: command
        for command in (
            run.COMMAND,
            sessions.COMMAND,
            importing.COMMAND,
            exporting.COMMAND,
            context.COMMAND,
            compact.COMMAND,
            models.COMMAND,
            doctor.COMMAND,
            config.COMMAND,
        )
    }
)
"""Every command by name. A folder of the same name is opened as ``./name``."""


def execute(argv: Sequence[str]) -> int:
    """Run what the arguments ask for.

    Args:
        argv: Arguments without the program's name.

    Returns:
        The exit code.

    Raises:
        SystemExit: after help, the version, or an argument that is wrong by itself.
        Exception: whatever the command fails with.
    """
    command = COMMANDS.get(argv[0]) if argv else None
    if command is not None:
        parser = Parser(prog=f"plimsoll {command.name}", description=command.summary, allow_abbrev=False)
        command.configure(parser)
        return command.execute(_program(), parser.parse_args(argv[1:]))
    parser = screen_parser()
    args = parser.parse_args(argv)
    _refuse_typo(args.path)
    return screen.execute(_program(), args)


def screen_parser() -> Parser:
    """The parser of ``plimsoll`` itself; its help lists the commands."""
    width = max(len(f"{command.name} {command.usage}") for command in COMMANDS.values())
    listed = [
        f"  {f'{command.name} {command.usage}':<{width}}  {command.summary}" for command in COMMANDS.values()
    ]
    parser = Parser(
        prog="plimsoll",
        usage="plimsoll [PATH] [options]\n       plimsoll COMMAND [options]",
        description="A terminal agent whose conversation never outgrows its model.",
        epilog="\n".join(["commands:", *listed, "", "plimsoll COMMAND --help says more about a command."]),
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"plimsoll {__version__}")
    screen.configure(parser)
    return parser


def _refuse_typo(path: str | None) -> None:
    """A misspelt command looks like a folder that does not exist."""
    close = get_close_matches(path, COMMANDS, n=1) if path and not Path(path).exists() else []
    if close:
        raise WrongUsage(f"There is no command or folder {path}. Did you mean: plimsoll {close[0]}?")


def _program() -> Program:
    return Program(env=os.environ, paths=Paths.from_env(os.environ), cwd=Path.cwd())
