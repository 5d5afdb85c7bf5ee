"""An idle event loop, whose wake-up delays are the machine's own.

Records its delays until stdin is closed, then prints them in milliseconds as a JSON list.
"""

import asyncio
import json
import sys
from time import monotonic

STEP_S = 0.002


async def watch() -> list[float]:
    """Sleep in short steps until stdin is closed; returns the delay of each wake-up."""
    late: list[float] = []
    closed = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
    while not closed.done():
        due = monotonic() + STEP_S
        await asyncio.sleep(STEP_S)
        late.append(round(1_000 * (monotonic() - due), 2))
    return late


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(watch())))
