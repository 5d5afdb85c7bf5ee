"""Which keys of the context screen act, for its last row."""

from tui_app.ui.keys import Hint
from tui_app.ui.screens.context_text import ContextView


def context_hints(
    view: ContextView, *, searched: bool = False, writes: bool = False, chosen: bool = False
) -> tuple[Hint, ...]:
    """What the last row names.

    Args:
        view: What is shown.
        searched: Whether the search box is there.
        writes: Whether letters are written into it.
        chosen: Whether items are marked, whose marks go first.
    """
    leaves = "end the search" if searched else "unmark" if chosen else "close"
    leave = Hint("esc", leaves, 0, "screen.close")
    if writes:
        return (Hint("enter", "to the items", 1), leave)
    stop = (Hint("x", "cancel compaction", 0, "screen.cancel_compaction"),) if view.compacting else ()
    changes = (
        Hint("p", "pin", 1, "screen.pin"),
        Hint("o", "offload", 2, "screen.offload"),
        Hint("a", "archive", 2, "screen.archive"),
        Hint("u", "take back", 3, "screen.restore"),
    )
    mark = Hint("space", "mark", 3)
    return (
        *stop,
        Hint("enter", "show in the chat", 4),
        *(() if view.locked else (mark, *changes)),
        Hint("s", "order", 5),
        Hint("/", "search", 6),
        leave,
    )
