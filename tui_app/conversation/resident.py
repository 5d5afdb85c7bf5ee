"""How much memory this process holds, read so cheaply that it can be asked between two requests."""

import ctypes
import gc
import os
import subprocess
from contextlib import suppress
from pathlib import Path

_STATM = Path("/proc/self/statm")
_PS = ("ps", "-o", "rss=", "-p")
_MB = 1_000_000


def resident_mb() -> int | None:
    """Megabytes of the resident set; None where the system does not say.

    Linux tells it in a file that is no file, in microseconds. Other Unixes, macOS among them, are asked
    through ``ps``: their own call tells only the highest value ever. On Windows nothing is read.
    """
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return _asked() if os.name == "posix" else None
    return pages * os.sysconf("SC_PAGE_SIZE") // _MB


def _asked() -> int | None:
    """What ``ps`` says, in kilobytes of 1,024 bytes."""
    try:
        done = subprocess.run(
            [*_PS, str(os.getpid())], check=False, capture_output=True, text=True, timeout=5
        )
        return int(done.stdout) * 1024 // _MB
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def collect() -> None:
    """Collect garbage and give free pages back to the system, where the C library can do that."""
    gc.collect()
    # glibc keeps what was freed for later, which looks as if nothing had been.
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
