"""Open a session, print ``open`` and keep it open until killed: ``holding.py HOME CWD SESSION``."""

import asyncio
import sys
from pathlib import Path

from tests.conversation.driving import Desk


async def hold(home: str, cwd: str, session: str) -> None:
    async with Desk(Path(home), Path(cwd)).session(session=session, model="offline:extractive"):
        print("open", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(hold(*sys.argv[1:]))
