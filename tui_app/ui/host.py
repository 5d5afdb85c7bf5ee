"""Base classes of the application and the chat screen, for flows and dialogs that use them."""

from abc import abstractmethod
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.screen import Screen

from tui_app.ui.launch import Launch

if TYPE_CHECKING:
    from textual.worker import Worker

    from tui_app.ui.chat.pane import ChatPane
    from tui_app.ui.chat.session import ChatSession
    from tui_app.ui.keyboard.type_ahead import Flow, TypeAhead
    from tui_app.ui.slash import SlashCommand
    from tui_app.ui.terminal_title import TerminalTitle

FLOW = "flow"
"""Worker group of flows that a command or key started."""


class Host(App[int]):
    """The application: opens sessions, and quits."""

    launch: Launch
    """Launch options of sessions opened from now on."""
    chat: "Chat"
    """The chat screen, whatever dialogs are open above it."""
    terminal_title: "TerminalTitle"
    """The window title, progress and notifications."""
    type_ahead: "TypeAhead"
    """Buffers what is typed for something that is being opened."""
    detached: tuple[str, ...]
    """Arguments of the background run that continues the session; empty if there is none."""
    quit_asked: float
    """When ctrl+c was last pressed with nothing to stop, in monotonic seconds."""

    @property
    @abstractmethod
    def is_changing(self) -> bool:
        """Whether keys are buffered for a session that is not open yet."""

    @abstractmethod
    def open_session(self, session: str, *, at: int = 0, then: str = "") -> None:
        """Leave the current session and open another.

        Args:
            session: Id of the session; empty starts a new one.
            at: Log number of the message to show; 0 shows the newest.
            then: A command to run there first.
        """

    @abstractmethod
    async def leave(self, *, ask: bool) -> None:
        """Quit; with ``ask``, confirm first if an answer is being written or a prompt is queued."""


class Chat(Screen[None]):
    """The chat screen: one session, and the flows that its keys and commands start."""

    app: Host
    pane: "ChatPane"

    @property
    @abstractmethod
    def session(self) -> "ChatSession":
        """The session shown; available once the screen is ready."""

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """Whether the screen has its session."""

    @abstractmethod
    def work(
        self, flow: "Coroutine[Any, Any, Any] | Flow", *, group: str = FLOW, exclusive: bool = True
    ) -> "Worker[Any]":
        """Run a flow in a worker that ends with this screen; an exclusive group runs one worker at a time."""

    @abstractmethod
    def run(self, command: "SlashCommand", argument: str = "") -> None:
        """Run a command; does nothing if a click comes before the session is open."""

    @abstractmethod
    def action_slash(self, text: str) -> None:
        """Run a command as if it was typed."""
