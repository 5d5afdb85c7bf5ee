"""The application: themes, screens, and an orderly end."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen
from textual.types import CSSPathType
from textual.worker import Worker, WorkerState

from tui_app.ui.commands import COMMANDS
from tui_app.ui.flows.sessions import choose_session
from tui_app.ui.keys import as_bindings
from tui_app.ui.launch import Launch
from tui_app.ui.screens.chat import ChatScreen
from tui_app.ui.screens.confirm import ConfirmDialog
from tui_app.ui.themes import DARK, LIGHT
from tui_app.ui.widgets.prompt import PromptEditor

_LOG = logging.getLogger(__name__)
SIGNAL_LIMIT_S = 8.0
"""Seconds a signalled program may take to close its session before it is ended."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)


class PlimsollApp(App[int]):
    """Shows one chat screen at a time."""

    TITLE = "⊖ Plimsoll"
    BINDINGS: ClassVar[list[BindingType]] = as_bindings("app")
    # Both at once: a sheet of the chat screen's own would make Textual apply all styles once more.
    CSS_PATH: ClassVar[CSSPathType | None] = ["styles/app.tcss", "styles/chat.tcss"]
    ENABLE_COMMAND_PALETTE = True

    def __init__(self, launch: Launch) -> None:
        super().__init__()
        self.launch = launch
        self.chat = ChatScreen(launch, launch.session)
        """The chat screen, whatever stands above it."""
        self.quit_asked = float("-inf")
        self.farewell = ""
        """Printed once the terminal is restored."""
        self._early: list[events.Key | events.Paste] | None = None if launch.pick_session else []
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self.theme = launch.settings.theme
        if launch.settings.plain or not launch.settings.animations:
            self.animation_level = "none"

    def on_mount(self) -> None:
        """Show the session, and make signals end the program like a person would."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, end_by_signal, self, number)
        self.set_keymap(dict(self.launch.settings.keymap))
        self.push_screen(self.chat)
        if self.launch.pick_session:
            self.run_worker(self._pick(), exit_on_error=False)

    async def on_event(self, event: events.Event) -> None:
        """Keep what is typed before the prompt exists; a person does not wait for the first frame."""
        typed = isinstance(event, events.Key) and (event.is_printable or event.key == "enter")
        if self._early is not None and (typed or isinstance(event, events.Paste)):
            self._early.append(event)  # type: ignore[arg-type] # one of both by the line above
        else:
            await super().on_event(event)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Hand over what was typed early as soon as the prompt has the focus."""
        if self._early is not None and isinstance(event.widget, PromptEditor):
            early, self._early = self._early, None
            for key in early:
                event.widget.post_message(key)

    async def _pick(self) -> None:
        if chosen := await choose_session(self, self.launch, ""):
            self.open_session(chosen)

    def open_session(self, session: str) -> None:
        """Leave the present session and open another; empty begins a new one.

        In a worker of the application: one of the chat screen would end with the screen it replaces.
        """
        self.run_worker(self._change_to(session), group="session", exclusive=True, exit_on_error=False)

    async def _change_to(self, session: str) -> None:
        leaving = self.chat
        self.chat = ChatScreen(self.launch, session)
        try:
            await self.switch_screen(self.chat)
        finally:
            await leaving.session.close()

    def jump_to(self, seq: int) -> None:
        """Show a message in the transcript."""
        if seq:
            self.chat.pane.transcript.jump_to(seq)

    async def leave(self, *, ask: bool) -> None:
        """Quit; asks first when an answer is being written."""
        if ask and self.chat.session.state.turn:
            text = "Quit while the model answers? The answer is stopped; what is written so far stays."
            if not await self.push_screen_wait(ConfirmDialog(text, verb="Quit", keep="Stay")):
                return
        self.exit()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Tell about a flow that failed; the traceback goes to the log file, never to the screen."""
        error = event.worker.error
        if event.state is WorkerState.ERROR and error is not None:
            _LOG.error("a flow failed", exc_info=error)
            self.chat.session.report(
                f"That did not work: {type(error).__name__}. f2 tells more, the log file all."
            )

    async def action_quit(self) -> None:
        """Quit at once or after asking."""
        self.run_worker(self.leave(ask=True), group="quit", exclusive=True, exit_on_error=False)

    async def on_unmount(self) -> None:
        """Close the session behind the last frame."""
        session = self.chat.session
        if session.state.usage is not None and session.presenter.view.entries:
            command = self.launch.env.get("PLIMSOLL_COMMAND", "plimsoll")
            self.farewell = f"Resume: {command} --resume {session.id}"
        await session.close()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer every slash command in the palette, besides Textual's own."""
        yield from super().get_system_commands(screen)
        if isinstance(screen, ChatScreen):
            for command in COMMANDS:
                yield SystemCommand(f"/{command.name}", command.summary, partial(screen.run, command.id))


def end_by_signal(app: PlimsollApp, number: int) -> None:
    """Leave in order; a loop too busy to get there in time is ended all the same."""
    deadline = threading.Timer(SIGNAL_LIMIT_S, os._exit, (128 + number,))
    deadline.daemon = True
    deadline.start()
    app.exit(128 + number, 128 + number)
