"""Resident memory of this process: its size, and stepwise actions when it is too large."""

import ctypes
import gc
import os
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from tui_app.records import frozen

_STATM = Path("/proc/self/statm")
_PS = ("ps", "-o", "rss=", "-p")
_MB = 1_000_000


def resident_mb() -> int | None:
    """Return the megabytes of the resident set; None if the system does not report it.

    Linux reports it in a pseudo file, in microseconds. Other Unixes, including macOS, are asked through
    ``ps``: their own call only reports the highest value ever. On Windows nothing is read.
    """
    with suppress(OSError, ValueError, IndexError):
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") // _MB
    with suppress(OSError, ValueError, subprocess.TimeoutExpired):
        if os.name == "posix":
            ps = [*_PS, str(os.getpid())]
            done = subprocess.run(ps, check=False, capture_output=True, text=True, timeout=5)
            # In kilobytes of 1,024 bytes.
            return int(done.stdout) * 1024 // _MB
    return None


def collect() -> None:
    """Collect garbage and return free pages to the system, if the C library supports that."""
    gc.collect()
    release_pages()


def release_pages() -> None:
    """Return free pages to the system, if the C library supports that."""
    # glibc keeps freed memory for later, which looks as if nothing had been freed.
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


LARGE = 20_000
"""Tokens of a view below which a compaction would free almost nothing: some hundred kilobytes."""
_REGROWN = 1.1
"""Growth factor of the process after which a step is repeated: before, it did not help at this size."""
Step = Literal["nothing", "drop", "compact"]


@frozen(kw_only=True)
class Reading:
    """One measurement."""

    rss_mb: int
    limit_mb: int
    """0 for no limit."""
    tokens: int
    """Size of the view."""
    automatic: bool = True
    """Whether the policy allows automatic compaction."""
    idle: bool = True
    """Whether no turn and no compaction is using the loaded messages."""


@frozen(kw_only=True)
class Past:
    """Steps taken since the process was last below its limit."""

    dropped_at: int | None = None
    """Megabytes at which caches were dropped; None if they were not."""
    messages_dropped: bool = False
    """Whether the loaded messages were among them; those in use are not."""
    compacted_at: int | None = None
    """Megabytes at which a compaction was requested; None if none was."""


def next_step(now: Reading, past: Past) -> tuple[Step, Past]:
    """Return the next step and the new past: caches first, each step once until something changes.

    Well below the limit the past is cleared.

    Args:
        now: The current measurement.
        past: Steps already taken.
    """
    if not (0 < now.limit_mb < now.rss_mb):
        return "nothing", past if now.rss_mb * _REGROWN > now.limit_mb else Past()
    helps_again = past.dropped_at is None or now.rss_mb >= past.dropped_at * _REGROWN
    if helps_again or (now.idle and not past.messages_dropped):
        return "drop", replace(past, dropped_at=now.rss_mb, messages_dropped=now.idle)
    asked = past.compacted_at is not None and now.rss_mb < past.compacted_at * _REGROWN
    if asked or not now.automatic or now.tokens < LARGE:
        return "nothing", past
    return "compact", replace(past, compacted_at=now.rss_mb)
