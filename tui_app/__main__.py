"""The program's way in: ``plimsoll`` and ``python -m tui_app``."""

import os
import sys
from collections.abc import Sequence

from tui_app.cli.exits import OK, USAGE
from tui_app.cli.output import abandon_stdout, flush, prepare_streams, tell
from tui_app.cli.parser import execute

INTERRUPTED = 130
"""Exit code after ctrl+c, as shells have it: 128 and the number of the signal."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, or the screen.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        The exit code: 0 done, 1 failed, 2 used wrongly, 130 interrupted, 128 plus its number after any
        other signal.
    """
    prepare_streams()
    try:
        code = execute(sys.argv[1:] if argv is None else argv)
        flush()
    except SystemExit as stop:
        return _after_parser(stop)
    except KeyboardInterrupt:
        return INTERRUPTED
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


def _after_parser(stop: SystemExit) -> int:
    """The parser ends the program itself, for help and for wrong arguments."""
    try:
        flush()
    except BrokenPipeError:
        abandon_stdout()
    return stop.code if isinstance(stop.code, int) else USAGE


if __name__ == "__main__":
    sys.exit(main())
