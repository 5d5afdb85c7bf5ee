"""The program's way in: ``plimsoll`` and ``python -m tui_app``."""

import gc
import os
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
    _leave_folder_out()
    try:
        # Loaded here, so that ctrl+c meanwhile ends the program as quietly as later.
        return _loaded()(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return INTERRUPTED


def _leave_folder_out() -> None:
    """Look for neither modules nor programs in the current folder: somebody else may have written it.

    ``python -m`` puts it first among the places of modules; this package itself is found by now. In ``PATH``
    it is what any entry stands for that is not absolute.
    """
    if __name__ == "__main__" and not sys.flags.safe_path and sys.path:
        del sys.path[0]
    path = os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep)))
    os.environ["PATH"] = path or os.defpath


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
