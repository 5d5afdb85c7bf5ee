"""Reading a log that is busy: tried again for a few seconds, and said while it lasts."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
PAUSES_S = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait in front of each further attempt."""
AGAIN = "The log cannot be read just now ({}). Trying again."


async def persistently(read: Callable[[], Awaitable[T]], say: Callable[[str], None]) -> T:
    """Read, and try again a few times where the log refuses.

    Args:
        read: Reads; whatever it does may be done again.
        say: Tells the person what is waited for.

    Raises:
        sqlite3.Error: if the log refuses for longer.
    """
    for pause in PAUSES_S:
        try:
            return await read()
        except sqlite3.Error as error:
            say(AGAIN.format(error))
            await asyncio.sleep(pause)
    return await read()
