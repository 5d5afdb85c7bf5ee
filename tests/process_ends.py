"""Waiting for the end of processes that others have started; nobody here can bury them."""

import asyncio
import os
import select
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

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


async def until(condition: Callable[[], object]) -> None:
    """Wait for what other processes bring about."""
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110 - nobody tells us
            await asyncio.sleep(0.01)


async def written_pids(file: Path, number: int) -> list[int]:
    """Wait until so many processes have written their numbers into a file; which they are."""
    await until(lambda: file.exists() and len(file.read_text().split()) >= number)
    return numbers_in(file)


def numbers_in(file: Path) -> list[int]:
    """The numbers in a file."""
    return list(map(int, file.read_text().split()))
