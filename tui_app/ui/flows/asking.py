"""Asking before something is lost, without losing what a person writes meanwhile."""

from typing import TYPE_CHECKING

from tui_app.ui.safe_text import clean
from tui_app.ui.screens.confirm import ConfirmDialog
from tui_app.ui.widgets.paste import normalise

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp


async def confirmed(app: "PlimsollApp", text: str, *, verb: str, keep: str) -> bool:
    """Whether the person wants it done; what was written into the question goes on in the prompt.

    Args:
        app: Shows the question.
        text: The question, with what it costs.
        verb: What doing it is called.
        keep: What leaving it is called.
    """
    dialog = ConfirmDialog(text, verb=verb, keep=keep)
    done = await app.push_screen_wait(dialog)
    write_on(app, dialog.typed)
    return bool(done)


def write_on(app: "PlimsollApp", text: str) -> None:
    """Put what was written into a question where the person had been writing."""
    if text:
        # At once: the draft may be about to go along to another session.
        app.chat.pane.prompt.editor.insert(clean(normalise(text)))
