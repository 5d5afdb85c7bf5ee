"""One run of the program: what is asked for is done, and whatever goes wrong ends in a sentence."""

import logging
import os
from collections.abc import Sequence

from tui_app.cli.exits import OK, USAGE
from tui_app.cli.output import abandon_stdout, flush, prepare_streams, tell
from tui_app.cli.parser import execute


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
