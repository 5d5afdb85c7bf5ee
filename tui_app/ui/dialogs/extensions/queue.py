"""The queue: what waits to be sent is edited, removed and moved."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_app.refusals import Refusal
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.options import MarkedList
from tui_app.ui.panels.queue_view import QueueView
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Host

EMPTY = "The queue is empty."
PAUSED = "Paused: enter on an empty prompt sends them one after the other. A new prompt goes first."
PAUSED_ALONE = "Paused: enter on an empty prompt sends it. A new prompt goes first."


class QueueScreen(Dialog[tuple[int, str]], place="queue", size="-list"):
    """Shows the current queue while it is open; dismisses with place and text of what to edit, or ``None``.

    The prompt is removed after the dismissal, since the screen may be closed before the engine has answered.
    """

    def __init__(self, view: QueueView, waiting: ChatSession) -> None:
        """Show the queue.

        Args:
            view: Has the current queue.
            waiting: Changes it.
        """
        super().__init__("Queue")
        self._view, self._waiting = view, waiting
        self._shown: tuple[str, ...] = ()

    def body(self) -> ComposeResult:
        yield MarkedList(id="queue-list", compact=True, markup=False)
        yield Static(id="queue-note", classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        self.watch(self._view, "waiting", self._list)

    def _list(self) -> None:
        options, at = self.query_one(OptionList), self._at or 0
        self._shown = self._view.waiting.prompts
        options.clear_options()
        width = max(20, self.size.width - 12)
        rows = (f"{at:>2}  {one_line(text, width)}" for at, text in enumerate(self._shown, start=1))
        options.add_options([Option(Content(row)) for row in rows])
        if self._shown:
            options.highlighted = min(at, len(self._shown) - 1)
        paused = PAUSED if len(self._shown) > 1 else PAUSED_ALONE
        note = (paused if self._view.waiting.paused else "") if self._shown else EMPTY
        self.query_one("#queue-note", Static).update(note)

    @property
    def _at(self) -> int | None:
        at = self.query_one(OptionList).highlighted
        return at if at is not None and at < len(self._shown) else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if (at := event.option_index) < len(self._shown):
            self.dismiss((at, self._shown[at]))

    async def action_remove(self) -> None:
        if (at := self._at) is not None:
            await self._waiting.take(at, self._shown[at])

    def action_shift(self, step: int) -> None:
        """Move the marked prompt earlier or later, and the mark with it."""
        at = self._at
        if at is not None and 0 <= at + step < len(self._shown):
            text = self._shown[at]
            self.query_one(OptionList).highlighted = at + step
            self._waiting.move(at, text, step)


GONE = "That prompt was already sent."


async def show_queue(app: "Host", session: ChatSession) -> None:
    """Let the user change the queue; a prompt to edit goes back into the editor."""
    if not session.state.queue:
        raise Refusal("Nothing is queued.")
    picked = await app.push_screen_wait(QueueScreen(app.chat.query_one(QueueView), session))
    if picked is not None:
        # Not exclusive: a command run meanwhile must not lose the removed prompt.
        app.chat.work(_edit(app, session, *picked), group="queue", exclusive=False)


async def _edit(app: "Host", session: ChatSession, place: int, label: str) -> None:
    editor = app.chat.pane.prompt.editor
    if not (text := await session.take(place, label)):
        session.reply(GONE)
        return
    kept = not editor.is_empty
    editor.replace_draft(text)
    editor.focus()
    if kept:
        session.reply("Your draft was set aside; the up arrow brings it back.")
