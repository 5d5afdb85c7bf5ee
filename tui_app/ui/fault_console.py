"""A fault of the screen that nobody foresaw: a sentence for the person, the rest for the log file.

Textual ends the program and prints a traceback with the values of all variables, a key among them perhaps.
"""

import io
import logging
from pathlib import Path

from rich.console import Console

_LOG = logging.getLogger(__name__)
_CELLS = 110


class FaultConsole(Console):
    """Takes what Textual would print on a terminal once that is restored."""

    def __init__(self) -> None:
        self._written = io.StringIO()
        super().__init__(file=self._written, width=_CELLS, markup=False, highlight=False, color_system=None)

    def told(self, log_file: Path) -> str:
        """Write what was printed to the log file, and say so; empty when nothing was."""
        fault = self._written.getvalue()
        if not fault:
            return ""
        _LOG.error("the screen failed\n%s", fault)
        return (
            "Plimsoll has ended: it met a fault of its own, and that is a defect. What was said is kept;"
            f" {log_file} tells more."
        )
