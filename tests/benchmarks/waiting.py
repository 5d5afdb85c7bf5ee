"""The program as it is before the agent side has loaded: its engine never starts."""

import sys
from concurrent.futures import Future

from tui_app.__main__ import main
from tui_app.conversation.engine import Engine


def never(_engine: Engine) -> "Future[object]":
    """Promise a session and never open it."""
    return Future()


if __name__ == "__main__":
    Engine.start = never  # type: ignore[method-assign,assignment]
    sys.exit(main(sys.argv[1:]))
