"""An event loop with nothing to do: how late it is woken is the machine's own doing.

It notes its delays until its input is closed, then prints them in milliseconds as a JSON list.
"""

import asyncio
import json
import sys
from time import monotonic

STEP_S = 0.002


async def watch() -> list[float]:
    """Sleep in small steps until the input ends; returns how late each awakening was."""
    late: list[float] = []
    closed = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
    while not closed.done():
        due = monotonic() + STEP_S
        await asyncio.sleep(STEP_S)
        late.append(round(1_000 * (monotonic() - due), 2))
    return late


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(watch())))
