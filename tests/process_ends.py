"""Waiting for the end of processes that others have started; nobody here can bury them."""

import os
import select
from contextlib import suppress

import psutil

LIMIT_S = 20.0
"""Seconds after which an end that never comes fails the test."""


def alive(pid: int) -> bool:
    """Whether a process still runs; one that only waits to be buried does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def gone(pid: int) -> bool:
    """Wait until a process has ended, which the system tells: a signal is on its way for a moment."""
    if hasattr(os, "pidfd_open"):
        with suppress(ProcessLookupError):
            ending = os.pidfd_open(pid)
            try:
                select.select([ending], [], [], LIMIT_S)
            finally:
                os.close(ending)
    else:
        with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            psutil.Process(pid).wait(LIMIT_S)
    return not alive(pid)
