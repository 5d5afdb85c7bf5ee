"""The program with a fault put into it from outside: ctrl+t raises in the middle of the screen."""

import sys

from tui_app.__main__ import main
from tui_app.ui.chat.pane import ChatPane


def fault(_pane: ChatPane) -> None:
    """Stand in for any fault that nobody has foreseen."""
    raise RuntimeError("a fault nobody foresaw")


if __name__ == "__main__":
    ChatPane.action_timeline = fault  # type: ignore[method-assign,assignment]
    sys.exit(main())
