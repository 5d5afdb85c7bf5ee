"""Entry point of the program: ``plimsoll`` and ``python -m tui_app``."""

import gc
import os
import sys
from collections.abc import Callable, Sequence

INTERRUPTED = 130
"""Exit code after ctrl+c, as in shells: 128 plus the number of the signal."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, or the screen.

    Args:
        argv: Arguments without the program's name; None for those of the process.

    Returns:
        The exit code: 0 success, 1 failure, 2 wrong usage, 130 interrupted, 128 plus its number after any
        other signal.
    """
    _leave_folder_out()
    try:
        # Loaded here, so that ctrl+c ends the program quietly even while it loads.
        return _loaded()(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return INTERRUPTED


def _leave_folder_out() -> None:
    """Do not search the current folder for modules and programs: another user may have written to it.

    ``python -m`` puts it first in the module search path; this package is already found. In ``PATH``, every
    relative entry refers to it.
    """
    if __name__ == "__main__" and not sys.flags.safe_path and sys.path:
        del sys.path[0]
    path = os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep)))
    os.environ["PATH"] = path or os.defpath


def _loaded() -> Callable[[Sequence[str]], int]:
    """Load what runs a command. Garbage collection, useless meanwhile, would take milliseconds."""
    gc.disable()
    try:
        from tui_app.cli.program import run
    finally:
        gc.enable()
    return run


if __name__ == "__main__":
    sys.exit(main())
