"""The program before the agent side has loaded: its session never opens."""

import asyncio
import sys

from tui_app.__main__ import main
from tui_app.ui.screen import ChatScreen


async def never(_screen: ChatScreen) -> None:
    """Block after the first frame."""
    await asyncio.Event().wait()


if __name__ == "__main__":
    ChatScreen._open = never  # type: ignore[method-assign]
    sys.exit(main(sys.argv[1:]))
