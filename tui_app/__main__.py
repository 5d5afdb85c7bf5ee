"""The program's way in: ``plimsoll`` and ``python -m tui_app``."""

import gc
import sys
from collections.abc import Callable, Sequence

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
    try:
        # Loaded here, so that ctrl+c meanwhile ends the program as quietly as later.
        return _loaded()(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return INTERRUPTED


def _loaded() -> Callable[[Sequence[str]], int]:
    """Load what runs a command; looking for garbage meanwhile, where there is none, takes milliseconds."""
    gc.disable()
    try:
        from tui_app.cli.program import run
    finally:
        gc.enable()
    return run


if __name__ == "__main__":
    sys.exit(main())
