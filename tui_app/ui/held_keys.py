"""What is typed while there is no session to act on it."""

from collections.abc import Sequence

from textual import events


def is_text(event: events.Key | events.Paste, *, empty: bool) -> bool:
    """Whether an event only writes into the prompt, so that it need not wait for a session.

    Args:
        event: A key, or a paste.
        empty: Whether nothing is written there yet.
    """
    if isinstance(event, events.Paste):
        return True
    return event.is_printable and not (empty and event.character == "?")


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
