"""What is said to the person on the chat screen: in the status row, and among the notices."""

from collections.abc import Sequence

from tui_app.ui.chat_state import (
    ChatState,
    answering,
    bringing,
    moved_on,
    noticed,
    noting,
    saying,
    unread_of,
)
from tui_app.ui.presenter import Presenter


class Telling:
    """Says things where the person looks.

    Args:
        presenter: Shows them.
    """

    def __init__(self, presenter: Presenter) -> None:
        self.presenter = presenter

    @property
    def state(self) -> ChatState:
        """What the screen shows."""
        return self.presenter.state

    def say(self, text: str) -> None:
        """Answer a key in the status row, until another one does something; what is under way stays named."""
        self.presenter.update(answering(self.state, text))

    def tell(self, text: str) -> None:
        """Put a sentence in the status row that stays; what is under way stays named there."""
        self.presenter.update(saying(self.state, text))

    def move_on(self) -> None:
        """Take what answered a key off the row: it was read by whoever does something else."""
        if self.state.status.under is not None:
            self.presenter.update(moved_on(self.state))

    def report(self, text: str) -> None:
        """Say something that must not be missed: it stays among the notices."""
        self.presenter.update(noting(saying(self.state, text), text))

    @property
    def unread(self) -> tuple[str, ...]:
        """What was reported and nobody has looked at."""
        return unread_of(self.state)

    def bring(self, notices: Sequence[str]) -> None:
        """Begin with what was reported in the session before and not read there."""
        if notices:
            self.presenter.update(bringing(self.state, notices))

    def read_notices(self) -> tuple[str, ...]:
        """What was reported, for somebody who looks at it now."""
        self.presenter.update(noticed(self.state))
        return self.state.notices
