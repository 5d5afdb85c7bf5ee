"""The context board in a conversation: given to new sessions, kept up to date when one is over."""

from tui_app.conversation.remembering.assembling import remembering_of
from tui_app.conversation.remembering.remembering import Remembering

__all__ = ["Remembering", "remembering_of"]
