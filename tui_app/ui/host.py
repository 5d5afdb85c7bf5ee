"""The application and the chat screen, as flows and dialogs know them: what ``app`` and ``screen`` hold."""

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
"""Group of what a command or key has begun."""


class Host(App[int]):
    """The application: it opens sessions, and ends."""

    launch: Launch
    """What sessions begin with from now on."""
    chat: "Chat"
    """The chat screen, whatever stands above it."""
    terminal_title: "TerminalTitle"
    """What is said outside the screen."""
    type_ahead: "TypeAhead"
    """What is typed for something that is being opened."""
    detached: tuple[str, ...]
    """Arguments of the run in the background that goes on with the session; empty for none."""
    quit_asked: float
    """When ctrl+c was pressed with nothing to stop, in monotonic seconds."""

    @property
    @abstractmethod
    def is_changing(self) -> bool:
        """Whether keys are held back for a session that is not there yet."""

    @abstractmethod
    def open_session(self, session: str, *, at: int = 0, then: str = "") -> None:
        """Leave the present session and open another; empty begins a new one.

        Args:
            session: Id of the session.
            at: Log number of the message to show; 0 shows the newest.
            then: A command that is run there first.
        """

    @abstractmethod
    async def leave(self, *, ask: bool) -> None:
        """Quit; asks first when an answer is being written or a prompt waits."""


class Chat(Screen[None]):
    """The chat screen: one session, and the flows that its keys and commands have begun."""

    app: Host
    pane: "ChatPane"

    @property
    @abstractmethod
    def session(self) -> "ChatSession":
        """What the screen shows; there once it is ready."""

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """Whether the screen has its session."""

    @abstractmethod
    def work(
        self, flow: "Coroutine[Any, Any, Any] | Flow", *, group: str = FLOW, exclusive: bool = True
    ) -> "Worker[Any]":
        """Run a flow in a worker that ends with this screen; one of each exclusive group at a time."""

    @abstractmethod
    def run(self, command: "SlashCommand", argument: str = "") -> None:
        """Run a command; a click may come before there is anything to run it on."""

    @abstractmethod
    def action_slash(self, text: str) -> None:
        """Run a command as it would be typed."""
