"""The application: themes, sessions, signals and shutdown."""

import asyncio
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from rich.console import Console
from textual import events, on
from textual.app import App
from textual.binding import BindingType
from textual.filter import LineFilter
from textual.geometry import Offset
from textual.screen import Screen
from textual.theme import Theme
from textual.types import CSSPathType
from textual.widgets import Input, TextArea

from tui_app.ui.colours.themes import (
    TERMINAL_COLOURS,
    THEMES,
    among_256,
    colour_system,
    muted_colours,
    own_themes,
    own_variables,
    theme_of_256,
)
from tui_app.ui.host import Host
from tui_app.ui.keyboard.keys import as_bindings, textual_keymap
from tui_app.ui.keyboard.type_ahead import TypeAhead, is_text, written
from tui_app.ui.launch import Launch, launch_of
from tui_app.ui.screen import ChatScreen, Handover
from tui_app.ui.terminal_output import discard_output
from tui_app.ui.terminal_title import TerminalTitle
from tui_app.ui.widgets.hint_row import SESSION, SelectsWhatIsSeen, TellsFailures
from tui_app.ui.widgets.widgets import DRAWING, SIGNS

if TYPE_CHECKING:
    from textual.worker import Worker

SIGNAL_LIMIT_S = 8.0
"""Seconds that a signalled program may take to close its session before it is killed."""

_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
]
"""Signals that would end the program without restoring the terminal."""


class PlimsollApp(TellsFailures, Host):
    """The application: shows one chat screen at a time."""

    chat: ChatScreen

    TITLE = "⊖ Plimsoll"
    BINDINGS: ClassVar[list[BindingType]] = as_bindings("app")
    # All in one: a stylesheet of the chat screen's own would make Textual apply all styles once more.
    CSS_PATH: ClassVar[CSSPathType | None] = ["styles/widgets.tcss", "styles/app.tcss", "styles/chat.tcss"]
    ENABLE_COMMAND_PALETTE = False
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-high")]  # noqa: RUF012 - Textual's own type
    DEFAULT_MODE = "session-1"

    def __init__(self, launch: Launch) -> None:
        self.launch, settings = launch, launch.settings
        self._colours = colour_system(launch.env)
        ours = (self._shown(theme) for theme in (*THEMES, *own_themes(settings.themes)))
        self._own_themes = {theme.name: theme for theme in ours}
        # Set before the styles are computed, so that they are not computed twice.
        self.set_reactive(App.theme, settings.theme)
        # Without colour, the terminal's own colours are used: shades of grey and a background would be
        # colours, too.
        super().__init__(ansi_color=None if settings.color else True)
        self.terminal_title = TerminalTitle(
            launch.env,
            title=settings.terminal_title and not settings.plain,
            bell_after_s=settings.bell_after_s,
            ring=self.bell,
            notify=settings.notify,
        )
        self.type_ahead = TypeAhead(self, lambda: self.chat.pane.prompt.editor)
        self.chat = ChatScreen(launch, launch.session)
        self.quit_asked = float("-inf")
        self.detached = ()
        self.farewell = self.ended_by = ""
        """Printed after the terminal is restored: how to resume, and the error that ended the program."""
        self._held: list[events.Key | events.Paste] | None = None if launch.pick_session else []
        """Keys and pastes buffered while no session can act on them; None while one can."""
        self._sessions_opened = 1
        for theme in self._own_themes.values():
            self.register_theme(theme)
        self.add_class(f"-theme-{settings.theme}")
        if settings.plain or not settings.animations:
            self.animation_level = "none"

    def _shown(self, theme: Theme) -> Theme:
        return theme_of_256(theme) if self._colours == "256" else theme

    def register_theme(self, theme: Theme) -> None:
        super().register_theme(self._shown(theme))

    def get_theme(self, theme_name: str) -> Theme | None:
        """Find a theme, including the program's own before they are registered."""
        theme = super().get_theme(theme_name) or self._own_themes.get(theme_name)
        if theme is None or theme.ansi or self._colours != "standard":
            return theme
        # With 16 colours each shade would become the nearest of the sixteen and the background look patchy.
        return super().get_theme("ansi-dark" if theme.dark else "ansi-light")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Add defaults for the program's own colour variables to themes that do not define them."""
        own = own_variables(self.current_theme)
        if self._colours == "256":
            own = {name: among_256(value) for name, value in own.items()}
        return {**super().get_theme_variable_defaults(), **own}

    def get_css_variables(self) -> dict[str, str]:
        """Restrict ANSI themes to the five terminal colours that the program gives a meaning."""
        variables = super().get_css_variables()
        variables |= TERMINAL_COLOURS if self.current_theme.ansi else muted_colours(variables)
        self.theme_variables = variables
        return variables

    def get_default_screen(self) -> Screen[None]:
        """Start with the chat screen: on top of an empty screen, everything would be styled twice."""
        return self.chat

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters applied to each line before painting; plain mode draws no frames."""
        plain = (SIGNS, DRAWING) if self.launch.settings.plain else ()
        return [*super().get_line_filters(), *plain]

    def on_mount(self) -> None:
        """Install signal handlers that quit like a user would, and the first session's mode."""
        first = self.chat
        # Each session is a mode. The first one is added as a removable mode, like the later ones.
        self.add_mode(self.DEFAULT_MODE, lambda: first)
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, end_by_signal, self, number)
        self.screen_change_signal.subscribe(self, self.type_ahead.follow, immediate=True)
        self.app_resume_signal.subscribe(self, lambda _app: self.action_repaint())
        self.set_keymap(textual_keymap(self.launch.settings.keymap))
        if self.launch.pick_session:
            self.run_worker(self._pick())

    @on(events.AppFocus)
    @on(events.AppBlur)
    def note_focus(self, event: events.AppFocus | events.AppBlur) -> None:
        """Record whether the terminal has the focus, if it reports that."""
        self.terminal_title.has_focus = isinstance(event, events.AppFocus)

    async def on_event(self, event: events.Event) -> None:
        """Buffer what is typed before a session or a dialog is ready, so that no key is lost."""
        if not event.is_forwarded and self.type_ahead.hold(event):
            return
        if isinstance(event, events.Key | events.Paste):
            if self._held is not None and (self._held or not self._is_written(event)):
                self._held.append(event)
                return
            if not event.is_forwarded:
                if isinstance(self.screen, SelectsWhatIsSeen) and self.screen.holds_back(event):
                    return
                self.chat.clear_reply(event)
        is_button = isinstance(event, events.MouseDown | events.MouseUp) and not event.is_forwarded
        screen = self.screen if is_button else None
        if isinstance(screen, SelectsWhatIsSeen):
            screen.begin_drag(None)
        await super().on_event(event)
        if isinstance(screen, SelectsWhatIsSeen) and isinstance(event, events.MouseDown):
            screen.begin_drag(event)

    def _is_written(self, event: events.Key | events.Paste, *, behind_text: bool = False) -> bool:
        """Return whether typed text can be shown in the first session's prompt before that session is open.

        Args:
            event: A key, or a paste.
            behind_text: Whether other text has already been forwarded to the prompt.
        """
        editor = self.chat.pane.prompt.editor
        waits = self._sessions_opened == 1 and not self.chat.is_ready and self.focused is editor
        return waits and is_text(event, empty=editor.is_empty and not behind_text)

    async def on_chat_screen_focused(self) -> None:
        """Type the text from before the prompt was there; keys that act, and all keys after them, wait."""
        behind_text = False
        while self._held and self._is_written(self._held[0], behind_text=behind_text):
            behind_text = True
            await super().on_event(self._held.pop(0))

    async def on_chat_screen_ready(self) -> None:
        """Process the buffered keys, in order and before anything typed since."""
        pending, self._held = self._held or [], None
        if self.launch.notice and self._sessions_opened == 1:
            self.chat.session.report(self.launch.notice)
        if self.chat.carried.then:
            self.chat.action_slash(self.chat.carried.then)
        for event in pending:
            await super().on_event(event)

    async def _pick(self) -> None:
        from tui_app.ui.dialogs.sessions.session_choice import choose_session

        if (chosen := await choose_session(self, self.launch, "")) is not None:
            self.open_session(chosen.session, at=chosen.seq)

    @property
    def is_changing(self) -> bool:
        """Whether keys are buffered for a session that is not open yet."""
        return self._held is not None

    def open_session(self, session: str, *, at: int = 0, then: str = "") -> None:
        """See :meth:`Host.open_session`. From now on, keys belong to the next session."""
        self._held = self._held or []
        # In a worker of the application: a worker of the chat screen would end with the screen it replaces.
        self.run_worker(self._change_to(session, at, then), group=SESSION, exclusive=True)

    async def _change_to(self, session: str, at: int, then: str) -> None:
        from tui_app.ui.chat.state import unread_of

        leaving, mode = self.chat, self.current_mode
        lost = (await asyncio.to_thread(leaving.session.unsent.keep)).lost if leaving.is_ready else ()
        # Text that could not be saved to disk is carried along in the prompt, where it is visible.
        draft = "\n".join(filter(None, (*lost, leaving.pane.draft)))
        unread = unread_of(leaving.session.state) if leaving.is_ready else leaving.carried.notices
        carried = Handover(draft, unread, then)
        launch = await asyncio.to_thread(launch_of, self.launch, session)
        self.chat = entering = ChatScreen(launch, session, carried=carried, at=at)
        self._sessions_opened += 1
        if again := leaving.is_ready and leaving.session.id == session:
            # Only one engine at a time can write a session.
            await leaving.session.close()
        self.add_mode(f"session-{self._sessions_opened}", lambda: entering)
        try:
            await self.switch_mode(f"session-{self._sessions_opened}")
            await self.remove_mode(mode)
        finally:
            if leaving.is_ready and not again:
                await leaving.session.close()

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text, through the terminal and through the system's clipboard programs."""
        from tui_app.ui.clipboard import keep

        super().copy_to_clipboard(text)
        self.copying = asyncio.ensure_future(asyncio.to_thread(keep, text, self.launch.env))

    def action_repaint(self) -> None:
        """Repaint every cell, because another program may have written to the terminal."""
        self.refresh()

    def action_suspend(self) -> None:
        """Suspend the program and give the terminal back to the shell."""
        if sys.platform == "win32" or self.is_headless or self.is_web or os.getsid(0) == os.getpgrp():
            # If it were stopped, there would be no way to continue it.
            if self.chat.is_ready:
                self.chat.session.reply("Not suspended: there is no shell to return to.")
            return
        self.app_suspend_signal.publish(self)
        # The whole process group, including the program that started this one, as the terminal itself would
        # do.
        os.killpg(os.getpgrp(), signal.SIGTSTP)

    @property
    def cursor_position(self) -> Offset:
        """Position of the terminal's cursor: in the focused field.

        Input methods show composed text there, and screen readers and magnifiers follow it.
        """
        field = self.focused
        if isinstance(field, Input):
            before = cell_len(field.value[: field.cursor_position])
            return field.content_region.offset + Offset(before - field.scroll_offset.x, 0)
        if isinstance(field, TextArea):
            return field.cursor_screen_offset
        return field.region.offset if field is not None else self._cursor

    @cursor_position.setter
    def cursor_position(self, position: Offset) -> None:
        self._cursor = position

    async def leave(self, *, ask: bool) -> None:
        from tui_app.ui.dialogs.actions import what_quitting_costs
        from tui_app.ui.dialogs.questions import confirmed

        text = what_quitting_costs(self.chat.session) if ask and self.chat.is_ready else ""
        if text and not await confirmed(self, text, verb="Quit", keep="Stay"):
            return
        self.exit()

    async def action_quit(self) -> None:
        self.run_worker(self.leave(ask=True), group="quit", exclusive=True)

    async def on_unmount(self) -> None:
        """Close the session after the last frame, and keep unsent prompts."""
        from tui_app.ui.chat.unsent import Unsent, kept_text

        first, *others = written((*self.type_ahead.held, *(self._held or ())))
        drafts = (f"{self.chat.pane.draft}{first}", *others)
        if not self.chat.is_ready:
            left = Unsent(self.launch.paths, self.launch.cwd)
            self.farewell = kept_text(left.keep(*drafts))
            return
        session = self.chat.session
        # A demo session cannot be resumed.
        if self.launch.stage is None:
            kept = kept_text(session.unsent.keep(*drafts))
            if session.state.usage is not None and session.presenter.view.entries:
                command = self.launch.env.get("PLIMSOLL_COMMAND", "plimsoll")
                self.farewell = f"Resume: {command} --resume {session.id}"
                if str(self.launch.paths.data) in self.launch.notice:
                    # The session is saved where a later start does not look for it.
                    self.farewell = self.launch.notice
            self.farewell = "\n".join(filter(None, (kept, self.farewell)))
        await session.close()

    def tell_failure(self, worker: "Worker[Any]", error: BaseException) -> None:
        """Report a failure. If it leaves no session to show, quit and keep unsent prompts."""
        from tui_app.session.stores.store import explained
        from tui_app.ui.words.text import clean

        chat, paths = self.chat, self.launch.paths
        defect = f"{type(error).__name__}. This is a bug in Plimsoll; see {paths.log_file}."
        why = clean(explained(error, paths.database) or defect)
        opens = worker.node is self and not chat.is_ready
        if opens or (worker.node is chat and worker.group == SESSION):
            ended = "Plimsoll could not start."
            if chat.is_ready:
                ended = "Plimsoll quit because it can no longer display this session."
                why = "The conversation is saved."
            elif self.current_mode != self.DEFAULT_MODE:
                ended = "Plimsoll quit because the other session could not be opened."
            self.ended_by = f"{ended} {why}"
            self.exit(1, 1)
        elif chat.is_ready:
            chat.session.report(f"That did not work: {why}")
        else:
            # There is no row for notices yet.
            chat.pane.complain(f"That did not work: {why}")

    def action_command_palette(self) -> None:
        """Open the palette with the actions of the chat or of the open dialog."""
        from tui_app.ui.dialogs.palette import open_palette

        open_palette(self)


def end_by_signal(app: PlimsollApp, number: int) -> None:
    """Quit in order, or kill the process after :data:`SIGNAL_LIMIT_S` if the event loop is blocked."""
    screen = sys.__stderr__.fileno() if sys.__stderr__ is not None else -1
    if screen >= 0 and not os.isatty(screen):
        discard_output(screen)  # the terminal is gone
    deadline = threading.Timer(SIGNAL_LIMIT_S, os._exit, (128 + number,))
    deadline.daemon = True
    deadline.start()
    app.exit(128 + number, 128 + number)


_LOG = logging.getLogger(__name__)
_CELLS = 110


class FaultConsole(Console):
    """Captures what Textual would print on the terminal after restoring it."""

    def __init__(self) -> None:
        self._written = io.StringIO()
        super().__init__(file=self._written, width=_CELLS, markup=False, highlight=False, color_system=None)

    def log_faults(self, log_file: Path) -> str:
        """Log what was captured and return the sentence for the user; empty if nothing was."""
        fault = self._written.getvalue()
        if not fault:
            return ""
        _LOG.error("the screen failed\n%s", fault)
        return f"Plimsoll crashed. The conversation is saved. Details: {log_file}."
