"""The program's log file, for warnings of every library, which must not reach the user's terminal."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import O_APPEND, O_CREAT, O_TRUNC, O_WRONLY, fdopen
from os import open as open_file
from pathlib import Path
from typing import TextIO

_LIMIT = 1_000_000
"""Bytes after which the file is emptied."""


class ProgramLog(logging.Handler):
    """Appends to a file that only its owner may read. It is created with the first entry, and never fails.

    Args:
        path: The file.
        part: The part of the program that writes, for readers of the file.
    """

    def __init__(self, path: Path, part: str) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter(f"%(asctime)s {part} %(levelname)s %(name)s %(message)s"))
        self.masked: Callable[[str], str] = str
        """Masks the known keys in an entry."""
        self._path = path
        self._stream: TextIO | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write one entry, without keys and tokens."""
        from tui_app.system.secrets import mask_secrets

        with suppress(OSError, ValueError, TypeError):
            if self._stream is None:
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                full = self._path.exists() and self._path.stat().st_size > _LIMIT
                file = open_file(self._path, O_WRONLY | O_CREAT | O_APPEND | (O_TRUNC if full else 0), 0o600)
                self._stream = fdopen(file, "a", encoding="utf-8", errors="backslashreplace")
            self._stream.write(f"{mask_secrets(self.masked(self.format(record)))}\n")
            self._stream.flush()

    def close(self) -> None:
        if self._stream is not None:
            with suppress(OSError):
                self._stream.close()
            self._stream = None
        super().close()


def keep_out(masked: Callable[[str], str]) -> None:
    """Mask known keys in all further entries, whatever they look like."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, ProgramLog):
            handler.masked = masked


@contextmanager
def logging_to(path: Path, part: str) -> Iterator[None]:
    """Write warnings and errors to the log within a block; nested blocks change nothing.

    Without a handler, Python prints them on stderr, which is the user's terminal.

    Args:
        path: The file.
        part: The part of the program that writes.
    """
    root = logging.getLogger()
    if any(isinstance(handler, ProgramLog) for handler in root.handlers):
        yield
        return
    handler = ProgramLog(path, part)
    root.addHandler(handler)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
        handler.close()
