"""One run of the program: what is asked for is done, and whatever goes wrong ends in a sentence."""

import logging
import os
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tui_app.cli import screen
from tui_app.cli.command import OK, USAGE, Command, CommandFailed, Parser, Program, WrongUsage
from tui_app.cli.output import abandon_stdout, flush, prepare_streams, tell
from tui_app.paths import Paths
from tui_app.program_log import logging_to
from tui_app.ui.text import one_line
from tui_app.version import __version__

# From arguments to a command.

_PATH_CELLS = 200
"""Cells of a folder's name that are shown."""


class ScreenParser(Parser):
    """The parser of ``plimsoll`` itself; its help lists the commands."""

    def format_help(self) -> str:
        """Loads the commands now: whoever only starts the screen does not wait for them."""
        from tui_app.cli.command_table import listing

        self.epilog = listing()
        return super().format_help()


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
    if argv and not argv[0].startswith("-"):
        from tui_app.cli.command_table import COMMANDS

        if command := COMMANDS.get(argv[0]):
            return _logged(command.execute, command.name, parse(command, argv[1:]))
    args = screen_parser().parse_args(argv)
    _refuse_typo(args.path)
    return _logged(screen.execute, "screen", args)


def _logged(work: Callable[[Program, Namespace], int], part: str, args: Namespace) -> int:
    """Do the work; what libraries have to say meanwhile goes to the log and not to the terminal."""
    program = _program()
    with logging_to(program.paths.log_file, part):
        return work(program, args)


def parse(command: Command, argv: Sequence[str]) -> Namespace:
    """Read the arguments of a command.

    Args:
        command: What is asked for.
        argv: What follows its name.

    Raises:
        SystemExit: after help, or an argument that is wrong by itself.
    """
    parser = Parser(prog=f"plimsoll {command.name}", description=command.summary, allow_abbrev=False)
    command.configure(parser)
    # Intermixed: else an action takes all words that stand beside it, and none behind the next option.
    return parser.parse_intermixed_args(argv)


def screen_parser() -> Parser:
    """The parser of the arguments that start the screen."""
    parser = ScreenParser(
        prog="plimsoll",
        usage="plimsoll [PATH] [options]\n       plimsoll COMMAND [options]",
        description="A terminal agent whose conversation never outgrows its model.",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"plimsoll {__version__}")
    screen.configure(parser)
    return parser


def _refuse_typo(path: str | None) -> None:
    """A misspelt command looks like a folder that does not exist."""
    if not path or Path(path).exists():
        return
    from difflib import get_close_matches

    from tui_app.cli.command_table import COMMANDS

    if close := get_close_matches(path, COMMANDS, n=1):
        raise WrongUsage(f"There is no command or folder {path}. Did you mean: plimsoll {close[0]}?")


def _program() -> Program:
    # The folder first: a home that is given relative to it has no place without it.
    cwd = _current_folder(os.environ)
    return Program(env=os.environ, paths=Paths.from_env(os.environ), cwd=cwd)


def _current_folder(env: Mapping[str, str]) -> Path:
    """The folder the program was started in.

    Raises:
        CommandFailed: if it is there no more, or may not be looked at.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        # The shell remembers what it was called; one that is there is another.
        name = env.get("PWD", "")
        called = f", {one_line(name, _PATH_CELLS)}," if name and not os.path.lexists(name) else ""
        what = f"The current folder{called} is gone: it was deleted, moved or unmounted."
    except OSError as error:
        what = f"The current folder cannot be used: {error.strerror or error}."
    raise CommandFailed(f"{what} Change to another folder (cd ~), then try again.")


def run(argv: Sequence[str]) -> int:
    """Run one command, or the screen.

    Args:
        argv: Arguments without the program's name.

    Returns:
        The exit code: 0 done, 1 failed, 2 used wrongly, 128 plus its number after a signal.

    Raises:
        KeyboardInterrupt: after ctrl+c.
    """
    prepare_streams()
    _keep_logs_off_stderr()
    try:
        code = execute(argv)
        flush()
    except SystemExit as stop:
        return _after_parser(stop)
    except BrokenPipeError:
        # Whoever read our output has seen enough, as ``head`` does after a few lines.
        abandon_stdout()
        return OK
    except Exception as error:  # whatever is left must end in a sentence, never in a traceback
        # Imported now: a start that goes well has no use for what explains a failure.
        from tui_app.cli.failures import explain

        text, code = explain(error, os.environ)
        tell(text)
    return code


def _keep_logs_off_stderr() -> None:
    """A log that nobody takes, or that cannot be written, is silent: stderr is for sentences."""
    logging.lastResort = None
    # Else a handler that fails prints a traceback, and a logger without one says that it has none.
    logging.raiseExceptions = False


def _after_parser(stop: SystemExit) -> int:
    """The parser ends the program itself, for help and for wrong arguments."""
    try:
        flush()
    except BrokenPipeError:
        abandon_stdout()
    return stop.code if isinstance(stop.code, int) else USAGE
