"""Waiting for processes that are not our children, so ``wait`` cannot be used."""

import asyncio
import os
import select
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

LIMIT_S = 20.0
"""Seconds after which waiting fails the test."""


def alive(pid: int) -> bool:
    """Whether a process still runs; a zombie does not count."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def gone(pid: int) -> bool:
    """Wait until a process has ended; a signal takes a moment to arrive. Return whether it has."""
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
    """Poll until the condition is true."""
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.01)


async def written_pids(file: Path, number: int) -> list[int]:
    """Wait until ``number`` processes have written their ids to a file, and return the ids."""
    await until(lambda: file.exists() and len(file.read_text().split()) >= number)
    return numbers_in(file)


def numbers_in(file: Path) -> list[int]:
    return list(map(int, file.read_text().split()))
