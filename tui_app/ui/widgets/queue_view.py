"""What waits to be sent, one row each."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.ui.commands import ParsedCommand, is_command, parse
from tui_app.ui.safe_text import one_line

MAX_ROWS = 3
"""Prompts shown in full rows; the rest is counted."""
PAUSED = "queued · Enter sends next · a new prompt goes first"
"""How a paused queue goes on, behind how many wait."""
LET_IN = "Enter on an empty prompt lets it in after the present step"
_LET_IN_SHORT = "Enter on an empty prompt lets it in"


def queue_lines(
    prompts: tuple[str, ...], paused: bool, width: int, *, steerable: bool = False, sending: str = ""
) -> list[str]:
    """Rows for the waiting prompts, oldest first, never wider than ``width`` cells.

    Args:
        prompts: What waits.
        paused: Whether it waits for the person.
        width: Cells.
        steerable: Whether a turn is under way that the next one may cut short.
        sending: What has left the queue and is not in the conversation yet.
    """
    total = len(prompts)
    rows = [one_line(f"Sending: {sending}", width)] if sending else []
    rows += [
        one_line(f"Queued {at} of {total}: {prompt}{_when(prompt)}", width)
        for at, prompt in enumerate(prompts[:MAX_ROWS], start=1)
    ]
    if total > MAX_ROWS:
        rows.append(f"and {total - MAX_ROWS} more")
    if paused and total:
        whole = f"{total} {PAUSED}"
        rows.append(whole if len(whole) <= width else one_line(whole.rpartition(" · ")[0], width))
    elif steerable and total:
        rows.append(LET_IN if len(LET_IN) <= width else one_line(_LET_IN_SHORT, width))
    return rows


def _when(prompt: str) -> str:
    """What to say of a command, which changes the history and therefore waits."""
    if is_command(prompt) and isinstance(parse(prompt), ParsedCommand):
        return " · runs when what is under way is done"
    return ""


class QueueView(Widget, can_focus=True):
    """Waiting prompts; takes no room while there are none. Attributes down, :class:`Opened` up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "open",
            "Change the queue",
            show=False,
            id="queue.open",
            tooltip="Edit, remove or move what waits.",
        ),
    ]
    HELP = "What waits to be sent. Enter opens it: edit, remove, move."
    DEFAULT_CSS = """
    QueueView { height: auto; width: 1fr; color: $text-muted; display: none; }
    QueueView.-waiting { display: block; }
    QueueView:focus { color: $foreground; text-style: bold; }
    """

    prompts: reactive[tuple[str, ...]] = reactive((), layout=True)
    paused: reactive[bool] = reactive(False, layout=True)
    """Whether the queue waits for the person (after a cancelled turn)."""

    steerable: reactive[bool] = reactive(False, layout=True)
    """Whether a turn is under way."""

    sending: reactive[str] = reactive("", layout=True)
    """What has left the queue and is not in the conversation yet."""

    class Opened(Message):
        """The person wants to change the queue."""

    def fill(self, prompts: tuple[str, ...], sending: str, *, paused: bool, steerable: bool) -> None:
        """Show what waits, and how it may go on."""
        self.prompts, self.sending, self.paused, self.steerable = prompts, sending, paused, steerable

    def action_open(self) -> None:
        """Ask for it to be changed."""
        self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        """The same with the mouse."""
        event.stop()
        self.action_open()

    def watch_prompts(self) -> None:
        """Appear and disappear with the queue."""
        self.set_class(bool(self.prompts or self.sending), "-waiting")

    def watch_sending(self) -> None:
        """Appear and disappear with what is on its way."""
        self.watch_prompts()

    def render(self) -> Content:
        """The rows."""
        return Content("\n".join(self._lines(max(1, self.size.width))))

    def get_content_height(self, *_: object) -> int:
        """As many rows as there are lines."""
        return len(self._lines(80))

    def _lines(self, width: int) -> list[str]:
        steerable, sending = self.steerable, self.sending
        return queue_lines(self.prompts, self.paused, width, steerable=steerable, sending=sending)
