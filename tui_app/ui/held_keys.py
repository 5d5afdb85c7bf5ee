"""What is typed while there is no session to act on it, and what it does to the row above the prompt."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from tui_app.ui.screens.chat import ChatScreen


def is_text(event: events.Key | events.Paste, *, empty: bool) -> bool:
    """Whether an event only writes into the prompt, so that it need not wait for a session.

    Args:
        event: A key, or a paste.
        empty: Whether nothing is written there yet.
    """
    if isinstance(event, events.Paste):
        return True
    return event.is_printable and not (empty and event.character == "?")


def heed(chat: "ChatScreen", event: events.Key | events.Paste) -> None:
    """Take what answered the key before off the status row, where what is typed now writes or acts there.

    Args:
        chat: Where the row is; under a dialog it stays as it is.
        event: What is typed; a key that means nothing leaves everything.
    """
    if not (chat.is_ready and chat.is_current) or chat.session.state.status.under is None:
        return
    if isinstance(event, events.Paste) or event.is_printable or event.key in chat.active_bindings:
        chat.session.move_on()


def written(held: Sequence[events.Key | events.Paste]) -> list[str]:
    """What keys that nobody has acted on were meant to write: the end of a prompt, and more of them."""
    text = ""
    for event in held:
        if isinstance(event, events.Paste):
            text += event.text
        elif event.key == "enter":
            text += "\0"
        elif event.is_printable:
            text += event.character or ""
    return text.split("\0")
