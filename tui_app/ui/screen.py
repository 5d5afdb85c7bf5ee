"""The chat screen: dispatches keys and messages, and shows the session's state.

The first frame is the pane alone. Session, flows and dialogs are imported afterwards, in a thread.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Input

from tui_app.modes import next_mode
from tui_app.ui.chat.pane import HIGH, LEAST, WIDE, ChatPane
from tui_app.ui.host import FLOW, Chat
from tui_app.ui.keyboard.keys import as_bindings
from tui_app.ui.keyboard.type_ahead import Flow, Typed
from tui_app.ui.launch import Launch
from tui_app.ui.prompt.editor import PromptEditor, normalise
from tui_app.ui.slash import (
    CustomCommand,
    ParsedCommand,
    SlashCommand,
    find_commands,
    is_command,
    named,
    parse,
)
from tui_app.ui.slash_commands import reserved_names, run_command
from tui_app.ui.widgets.hint_row import SESSION, SelectsWhatIsSeen, TellsFailures
from tui_app.ui.words.text import clean

if TYPE_CHECKING:
    from textual.worker import Worker

    from tui_app.ui.approvals import ApprovalBox, AskBox
    from tui_app.ui.chat.session import ChatSession


class Handover(NamedTuple):
    """State carried over from the previous session."""

    draft: str = ""
    notices: tuple[str, ...] = ()
    """Unread notices."""
    then: str = ""
    """A command that is run first."""


NOTHING = Handover()


class ChatScreen(SelectsWhatIsSeen, TellsFailures, Chat):
    """The screen of one session. Decisions are made by flows and the session."""

    BINDINGS = as_bindings("chat")
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (LEAST[0], "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 - Textual's type
    VERTICAL_BREAKPOINTS = [(0, "-low"), (LEAST[1], "-short"), (HIGH, "-high")]  # noqa: RUF012 - same

    def __init__(self, launch: Launch, session: str, *, carried: Handover = NOTHING, at: int = 0) -> None:
        super().__init__()
        self._launch, self._wanted = launch, session
        self.carried, self._at = carried, at
        self._session: ChatSession | None = None
        self.pane = ChatPane(launch.settings, launch.cwd, id="chat")
        self.pane.prompt.gate = launch.may_read
        self.pane.prompt.pasted, self.pane.prompt.env = launch.paths.pictures_dir, launch.env
        if not session:
            # Before anything is mounted: a later change would style everything again.
            self.pane.begin(launch)

    class Focused(Message):
        """Posted when the prompt has the focus: typed text is visible, although nothing acts on it yet."""

    class Ready(Message):
        """Posted when the session is open and keys can be acted on."""

    @property
    def is_ready(self) -> bool:
        return self._session is not None

    @property
    def session(self) -> "ChatSession":
        assert self._session is not None
        return self._session

    def compose(self) -> ComposeResult:
        self.fit()
        self.pane.type_ahead = self.pane.prompt.editor.type_ahead = self.app.type_ahead
        yield self.pane

    def on_mount(self) -> None:
        """Focus the prompt, and open the session after the first frame."""
        # Immediately: ``focus`` would wait until all widgets are mounted.
        self.set_focus(self.pane.prompt.editor)
        self.post_message(self.Focused())
        self.work(self._open(), group=SESSION)

    async def _open(self) -> None:
        await self.pane.painted()
        await asyncio.to_thread(_load)
        from tui_app.ui.chat.session import ChatSession
        from tui_app.ui.dialogs.compactions.review_flow import follow_review
        from tui_app.ui.dialogs.extensions.server_questions import follow_servers
        from tui_app.ui.dialogs.row_keys import follow_rows
        from tui_app.ui.terminal_input import suggest_newline_key

        if self.is_attached:
            await self.pane.complete()
        if not self.is_attached:
            return  # the user left while it loaded, and nothing would close the session
        self._session = ChatSession(self._launch, self._wanted, self.pane, self._admit)
        changed, title = self._session.presenter.changed, self.app.terminal_title
        changed.subscribe(self, lambda state: title.show(state, monotonic()), immediate=True)
        if self.carried.draft:
            self.pane.prompt.editor.restore_prompt(self.carried.draft)
        self._session.bring(self.carried.notices)
        self._session.at = self._at
        self._session.followers += [partial(follow_review, self), partial(follow_servers, self)]
        self.work(self._session.unsent.write_down(lambda: self.pane.draft), group="unsent")
        follow_rows(self)
        self.work(self._session.show_older(), group="older")
        if self._launch.stage is None:
            self.work(suggest_newline_key(self._session), group="keys")
        else:
            from tui_app.ui.demo import Guide

            Guide(self, self._launch.stage)
        self.post_message(self.Ready())
        await self._session.run()

    def work(
        self, flow: Coroutine[Any, Any, Any] | Flow, *, group: str = FLOW, exclusive: bool = True
    ) -> "Worker[Any]":
        return self.run_worker(flow, group=group, exclusive=exclusive)

    @on(PromptEditor.Submitted)
    def submit(self, event: PromptEditor.Submitted) -> None:
        """Send a prompt, or run a command."""
        # Imported after the first frame, which needs neither the engine's work nor the code that sends it.
        from tui_app.conversation.work import Prompt, asked_command
        from tui_app.ui.dialogs.actions import asks_first, run_shell, send, send_custom

        self.app.quit_asked = float("-inf")
        custom = self.pane.prompt.editor.completer.custom
        if self.session.is_leaving or self.app.is_changing:
            # Typed after a command that switches to another session: carried along as a draft.
            self.pane.prompt.editor.restore_prompt(event.text)
            self.app.type_ahead.end()
        elif is_command(event.text) and isinstance(parsed := parse(event.text), ParsedCommand):
            self.run(parsed.command, parsed.argument)
        elif is_command(event.text) and (found := named(custom, event.text)):
            self.work(send_custom(self, *found), group="custom", exclusive=False)
        elif (asked := asked_command(event.text)) is not None:
            run_shell(self, asked)
        else:
            prompt = Prompt(event.text, event.files)
            if not asks_first(self, prompt):
                send(self, prompt)

    async def _admit(self) -> None:
        """Ask once per repository whether to trust what it contains, then offer the commands found."""
        from tui_app.ui.dialogs.extensions.trust import settle_trust

        config = self._launch.paths.config
        # In a thread, because it loads the agent side.
        may_read = await asyncio.to_thread(self._launch.may_read)
        find = partial(find_commands, config=config, taken=reserved_names(), may_read=may_read)
        trusted = await settle_trust(self.app, self._launch, find)
        folder = self._launch.cwd if trusted else None
        self.work(self.pane.look_around(self._launch), group="place")
        self.work(self._offer_custom(partial(find, folder)), group="custom")

    async def _offer_custom(self, find: Callable[[], tuple[CustomCommand, ...]]) -> None:
        """Offer commands defined by users at the prompt; their files are read in a thread."""
        editor = self.pane.prompt.editor
        editor.completer.custom = written = await asyncio.to_thread(find)
        if self.is_ready and not self.session.read_only and self._launch.settings.mcp:
            from tui_app.ui.dialogs.extensions.mcp import offer_served

            await offer_served(self, written)

    def run(self, command: SlashCommand, argument: str = "") -> None:
        self.app.quit_asked = float("-inf")
        if self.is_ready:
            flow: Flow = partial(run_command, self, command, argument)
            if command.opens_with(argument):
                flow = self.app.type_ahead.during(flow)
            else:
                # What the command was to open ends with its flow, which may not even have started.
                self.app.type_ahead.end()
            asked = self.work(flow)
            self.session.away = asked if command.leaves else None
        else:
            self.app.type_ahead.end()

    def action_go_on(self) -> None:
        from tui_app.ui.dialogs.actions import go_on

        go_on(self.session)

    def action_edit_queued(self) -> None:
        from tui_app.ui.dialogs.actions import edit_queued

        # Not exclusive: a second key press must not lose the prompt that the first is about to return.
        self.work(edit_queued(self.session), group="cancel", exclusive=False)

    # Handlers by name, because these widgets are imported after the first frame.

    def on_approval_box_answered(self, event: "ApprovalBox.Answered") -> None:
        self.session.instruct(lambda now: now.tooling.approvals.decide(event.id, event.decision))

    def on_approval_box_origin_wanted(self, event: "ApprovalBox.OriginWanted") -> None:
        self.session.presenter.jump_to(event.seq)

    def on_ask_box_replied(self, event: "AskBox.Replied") -> None:
        self.session.instruct(lambda now: now.tooling.questions.reply(event.id, event.text))

    def on_transcript_asked(self, event: Message) -> None:
        from tui_app.ui.dialogs.rows import act_on_rows

        act_on_rows(self, event)

    def holds_back(self, event: Typed) -> bool:
        if not self.pane.holds_back(event):
            return False
        self.clear_reply(event)
        return True

    def clear_reply(self, event: Typed) -> None:
        """Clear the answer to the previous key from the status row when a key or paste is used here.

        Args:
            event: What is typed; a key without effect changes nothing.
        """
        if not (self.is_ready and self.is_current):
            return
        self.session.command = ""
        is_used = isinstance(event, events.Paste) or event.is_printable or event.key in self.active_bindings
        if is_used and self.session.state.status.under is not None:
            self.session.move_on()

    @on(Input.Changed)
    def keep_draft(self) -> None:
        """Save the text of an input line like a draft."""
        if self.is_ready:
            self.session.unsent.changed()

    def take_text(self, text: str) -> None:
        # Immediately: the draft may be about to be carried to another session.
        self.pane.prompt.editor.insert(clean(normalise(text)))

    def action_slash(self, text: str) -> None:
        if isinstance(parsed := parse(text), ParsedCommand):
            self.run(parsed.command, parsed.argument)

    def action_mode(self) -> None:
        """Switch to the next mode."""
        if self.is_ready:
            self.session.change_mode(next_mode(self.session.state.mode))

    def action_notices(self) -> None:
        from tui_app.ui.dialogs.details import DetailsScreen

        notices = "\n".join(self.session.read_notices()) or "Nothing was reported."
        self.app.push_screen(DetailsScreen("Notices", notices))

    def action_read_along(self) -> None:
        """Show the summary while it is being written."""
        from tui_app.ui.dialogs.compactions.review_flow import read_along

        read_along(self.app, self.session)

    def action_cancel(self) -> None:
        """Stop what runs, or go one step back."""
        from tui_app.ui.dialogs.actions import step_back

        step_back(self)

    def action_interrupt(self) -> None:
        """Copy, clear or stop; pressed twice, quit."""
        from tui_app.ui.dialogs.actions import stop_or_quit

        stop_or_quit(self.app, self)


def _load() -> None:
    for module in deferred_modules():
        import_module(module)


def deferred_modules() -> tuple[str, ...]:
    """Return the modules that the screen needs after its first frame: the session, and every dialog."""
    from pkgutil import walk_packages

    found = walk_packages([str(Path(__file__).with_name("dialogs"))], "tui_app.ui.dialogs.")
    widgets = ("questions", "timeline", "transcript.find", "outside_editor")
    return (
        *(f"tui_app.ui.{widget}" for widget in widgets),
        "tui_app.ui.chat.session",
        *(each.name for each in found),
        "tui_app.ui.transcript.markdown",
    )
