"""The memory of this process: how much it holds, and what is done step by step when that is too much."""

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
    """Megabytes of the resident set; None where the system does not say.

    Linux tells it in a file that is no file, in microseconds. Other Unixes, macOS among them, are asked
    through ``ps``: their own call tells only the highest value ever. On Windows nothing is read.
    """
    with suppress(OSError, ValueError, IndexError):
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") // _MB
    with suppress(OSError, ValueError, subprocess.TimeoutExpired):
        if os.name == "posix":
            ps = [*_PS, str(os.getpid())]
            done = subprocess.run(ps, check=False, capture_output=True, text=True, timeout=5)
            # It says kilobytes of 1,024 bytes.
            return int(done.stdout) * 1024 // _MB
    return None


def collect() -> None:
    """Collect garbage and give free pages back to the system, where the C library can do that."""
    gc.collect()
    release_pages()


def release_pages() -> None:
    """Give pages that are free back to the system, where the C library can do that."""
    # glibc keeps what was freed for later, which looks as if nothing had been.
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


LARGE = 20_000
"""Tokens of a view below which a compaction would free next to nothing: some hundred kilobytes."""
_REGROWN = 1.1
"""A step is taken again when the process has grown by this factor since: it did not help at this size."""
Step = Literal["nothing", "drop", "compact"]


@frozen(kw_only=True)
class Reading:
    """What is known at one look."""

    rss_mb: int
    limit_mb: int
    """0 for no limit."""
    tokens: int
    """Size of the view."""
    automatic: bool = True
    """Whether the policy lets a compaction start by itself."""
    idle: bool = True
    """Whether no turn and no compaction is working with the loaded messages."""


@frozen(kw_only=True)
class Past:
    """What was done since the process last was below its limit."""

    dropped_at: int | None = None
    """Megabytes at which caches were dropped; None if they were not."""
    messages_dropped: bool = False
    """Whether the loaded messages were among them; those in use are not."""
    compacted_at: int | None = None
    """Megabytes at which a compaction was asked for; None if none was."""


def next_step(now: Reading, past: Past) -> tuple[Step, Past]:
    """The next step, and what is past once it is taken: caches first, each step once until something changes.

    Well below the limit everything begins anew.

    Args:
        now: The present look.
        past: What was done already.
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
