"""The chat screen: passes keys and messages on, and shows the session's state."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.message import Message
from textual.screen import Screen

from tui_app.ui.chat_session import FIRST_RUN, ChatSession
from tui_app.ui.commands import CommandId, ParsedCommand, is_command, parse
from tui_app.ui.flows.commands import run_command
from tui_app.ui.flows.details import open_entry
from tui_app.ui.flows.leaving import step_back, stop_or_quit
from tui_app.ui.keys import as_bindings
from tui_app.ui.launch import Launch
from tui_app.ui.presenter import LateBodies, Presenter
from tui_app.ui.screens.details import DetailsScreen
from tui_app.ui.widgets.chat_pane import WIDE, ChatPane
from tui_app.ui.widgets.gauge import ContextGauge
from tui_app.ui.widgets.prompt import PromptEditor
from tui_app.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp


class ChatScreen(Screen[None]):
    """One session. It decides nothing: flows and the session do."""

    BINDINGS = as_bindings("chat")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 - Textual's own type
    app: "PlimsollApp"

    def __init__(self, launch: Launch, session: str) -> None:
        super().__init__()
        bodies = LateBodies()
        self.pane = ChatPane(launch.settings, bodies, id="chat")
        self.session = ChatSession(launch, session, Presenter(self.pane), bodies)

    def compose(self) -> ComposeResult:
        """Everything is in the pane."""
        yield self.pane

    def on_mount(self) -> None:
        """Open the session behind the first frame."""
        self.pane.introduce(FIRST_RUN if self.session.is_first_run() else "")
        self.work(self.session.run(), group="session")

    def work(self, flow: Coroutine[Any, Any, Any], *, group: str = "flow", exclusive: bool = True) -> None:
        """Run a flow in a worker that ends with this screen; one of each exclusive group at a time."""
        self.run_worker(flow, group=group, exclusive=exclusive, exit_on_error=False)

    @on(PromptEditor.Submitted)
    def submit(self, event: PromptEditor.Submitted) -> None:
        """Send a prompt, or run a command."""
        if is_command(event.text) and isinstance(parsed := parse(event.text), ParsedCommand):
            self.run(parsed.id, parsed.argument)
        else:
            self.session.send(event.text, self.pane)

    def run(self, command: CommandId, argument: str = "") -> None:
        """Run a command."""
        self.work(run_command(self.app, self.session, command, argument))

    @on(PromptEditor.NextWanted)
    @on(PromptEditor.QuitWanted)
    @on(Transcript.UndoRequested)
    def obey(self, event: Message) -> None:
        """Do what a key in a widget asks for."""
        match event:
            case PromptEditor.NextWanted():
                self.session.link.resume_queue()
            case PromptEditor.QuitWanted():
                self.run(CommandId.QUIT)
            case Transcript.UndoRequested(entry=entry):
                self.session.restate(undo=True, compaction=entry.seq)

    @on(Transcript.Opened)
    def open(self, event: Transcript.Opened) -> None:
        """Show the details of a row."""
        self.work(open_entry(self.app, self.session, event.entry))

    def action_compact(self) -> None:
        """Compact the conversation."""
        self.session.compact()

    def action_models(self) -> None:
        """Choose a model."""
        self.run(CommandId.MODEL)

    @on(ContextGauge.Clicked)
    def action_context(self) -> None:
        """Show what fills the context."""
        self.run(CommandId.CONTEXT)

    @on(PromptEditor.HelpWanted)
    def action_help(self) -> None:
        """Show keys and commands."""
        self.run(CommandId.HELP)

    def action_notices(self) -> None:
        """Show what was reported."""
        notices = "\n".join(self.session.state.notices) or "Nothing was reported."
        self.app.push_screen(DetailsScreen("Notices", notices))

    def action_cancel(self) -> None:
        """Go one step back: a waiting prompt, then the turn or compaction."""
        # Not exclusive: a second press must not lose the prompt the first is about to give back.
        self.work(step_back(self.session, self.pane.prompt.editor), group="cancel", exclusive=False)

    def action_interrupt(self) -> None:
        """Copy, clear, stop, or quit when pressed twice."""
        stop_or_quit(self.app, self)
