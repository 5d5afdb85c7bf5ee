"""The program with an injected bug: ctrl+t raises an exception in the UI."""

import sys

from tui_app.__main__ import main
from tui_app.ui.chat.pane import ChatPane


def fault(_pane: ChatPane) -> None:
    """Stands for any unexpected exception."""
    raise RuntimeError("a fault nobody foresaw")


if __name__ == "__main__":
    ChatPane.action_timeline = fault  # type: ignore[method-assign,assignment]
    sys.exit(main())
