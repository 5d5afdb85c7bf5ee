"""What waits to be sent: take it back to edit it, remove it, or let it come earlier or later."""

from typing import TYPE_CHECKING, NamedTuple, Protocol

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.base import Dialog
from tui_app.ui.keys import place_bindings, place_hints
from tui_app.ui.status import QueueView
from tui_app.ui.text import one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Host

EMPTY = "Nothing waits any more."
PAUSED = "Paused: enter on an empty prompt sends the next one. A new prompt goes first."


class Waiting(Protocol):
    """Who keeps the queue. A prompt is named by its place and text, as it may have moved on meanwhile."""

    async def take(self, place: int, label: str) -> str:
        """Take one out; its text, empty when it has left since."""

    def move(self, place: int, label: str, step: int) -> None:
        """Let one come earlier (a negative step) or later."""


class Picked(NamedTuple):
    """The prompt that is to be edited, as it was shown."""

    place: int
    label: str


class QueueScreen(Dialog[Picked]):
    """Follows the queue while it is open; dismisses with what to edit, or ``None``.

    It is taken out behind the dismissal: the screen may be closed again before the engine has answered.
    """

    BINDINGS = place_bindings("queue")
    HINTS = place_hints("queue")

    def __init__(self, view: QueueView, waiting: Waiting) -> None:
        """Show what waits.

        Args:
            view: Knows the queue as it is at any moment.
            waiting: Changes it.
        """
        super().__init__()
        self._view, self._waiting = view, waiting
        self._shown: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield self.heading("Queue")
            yield OptionList(id="queue-list", compact=True, markup=False)
            yield Static(id="queue-note", classes="dialog-note", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        self.watch(self._view, "prompts", self._list)
        self.watch(self._view, "paused", self._list)

    def _list(self) -> None:
        options, at = self.query_one(OptionList), self._at or 0
        self._shown = self._view.prompts
        options.clear_options()
        width = max(20, self.size.width - 12)
        rows = (f"{at:>2}  {one_line(text, width)}" for at, text in enumerate(self._shown, start=1))
        options.add_options([Option(Content(row)) for row in rows])
        if self._shown:
            options.highlighted = min(at, len(self._shown) - 1)
        note = (PAUSED if self._view.paused else "") if self._shown else EMPTY
        self.query_one("#queue-note", Static).update(note)

    @property
    def _at(self) -> int | None:
        at = self.query_one(OptionList).highlighted
        return at if at is not None and at < len(self._shown) else None

    @on(OptionList.OptionSelected)
    def _edit(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if (at := event.option_index) < len(self._shown):
            self.dismiss(Picked(at, self._shown[at]))

    async def action_remove(self) -> None:
        if (at := self._at) is not None:
            await self._waiting.take(at, self._shown[at])

    def action_shift(self, step: int) -> None:
        """Let the marked one come earlier or later; the mark goes along."""
        at = self._at
        if at is not None and 0 <= at + step < len(self._shown):
            text = self._shown[at]
            self.query_one(OptionList).highlighted = at + step
            self._waiting.move(at, text, step)


# Changing what waits to be sent.

GONE = "That prompt has been sent meanwhile."


async def show_queue(app: "Host", session: ChatSession) -> None:
    """Let the user change the queue; what they want to edit goes back into the prompt."""
    if not session.state.queue:
        session.say("Nothing is queued.")
        return
    picked = await app.push_screen_wait(QueueScreen(app.chat.query_one(QueueView), session))
    if picked is not None:
        # Not exclusive: a command that is run meanwhile must not lose what was taken out.
        app.chat.work(_edit(app, session, picked), group="queue", exclusive=False)


async def _edit(app: "Host", session: ChatSession, picked: Picked) -> None:
    """Take a prompt out of the queue and give it to the editor."""
    editor = app.chat.pane.prompt.editor
    if not (text := await session.take(*picked)):
        session.say(GONE)
        return
    kept = not editor.is_empty
    editor.replace_draft(text)
    editor.focus()
    if kept:
        session.say("The draft made room; the up arrow brings it back.")


# Sending to the model: at once, or, above the session's budget, when the user says so.
