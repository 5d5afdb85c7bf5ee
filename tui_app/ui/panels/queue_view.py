"""The queue: queued prompts, one per row."""

from typing import Literal, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.ui.keyboard.keys import place_bindings
from tui_app.ui.panels.status import GAP, SHORT, SIGNED, fit_pieces
from tui_app.ui.slash import ParsedCommand, is_command, parse
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import one_line, padded

MAX_ROWS = 3
"""Number of prompts with a row of their own; the others are counted."""

Draft = Literal["", "blank", "prompt", "command"]
"""The editor's content: nothing, blanks only, a prompt that would be queued, or a command that runs at once.
"""


class Waiting(NamedTuple):
    """Queued prompts, and the state that determines what keys do with them."""

    prompts: tuple[str, ...] = ()
    sending: str = ""
    """The prompt that has left the queue and is not in the conversation yet."""
    paused: bool = False
    """Whether the queue is paused after a cancelled turn."""
    steerable: bool = False
    """Whether a turn is running that the first queued prompt can steer."""
    draft: Draft = ""
    """What enter acts on instead of the queue."""

    def rows(self, width: int) -> list[str]:
        """Return rows for the oldest prompts, the number of others and the keys.

        Rows are at most ``width`` cells wide.
        """
        total = len(self.prompts)
        rows = [one_line(f"Sending: {self.sending}", width)] if self.sending else []
        for at, prompt in enumerate(self.prompts[:MAX_ROWS], start=1):
            # A command in the queue changes the history, and therefore waits.
            is_known = is_command(prompt) and isinstance(parse(prompt), ParsedCommand)
            when = "runs when the current work ends · " if is_known and width >= SHORT else ""
            place = f"{when}{at} of {total} queued"
            room = width - cell_len(place) - GAP  # its inset is that of the prompt below
            rows.append(f"{padded(one_line(prompt, room - GAP), room)}{place}")
        if total > MAX_ROWS:
            rows.append(f"and {total - MAX_ROWS} more")
        return [*rows, self.keys(width)] if total and (self.paused or self.steerable) else rows

    def keys(self, width: int) -> str:
        """Word what enter and up do now, as far as it fits."""
        total, paused, draft = len(self.prompts), self.paused, self.draft
        them = "it" if total == 1 else "them"
        enter = f"enter sends {them}" if paused else "enter sends the first"
        after = "" if paused else " after this step"
        if draft in ("prompt", "command"):
            first = "enter sends your draft first" if paused else "enter queues your draft"
            enter, after = first if draft == "prompt" else "", ""
        pieces = [f"{total} queued (paused)" if paused else "", f"{enter}{after}"]
        pieces += ["", ""] if draft else ["up edits the last", "a new prompt is sent first" if paused else ""]
        if not paused and cell_len(" · ".join(filter(None, pieces))) > width:
            pieces[1] = enter
        return fit_pieces(list(enumerate(filter(None, pieces))), width)


class QueueView(Widget, can_focus=True):
    """Queued prompts; takes no space if there are none."""

    BINDINGS = place_bindings("waiting")
    HELP = "Queued prompts. Enter opens the queue: edit, remove, move."

    waiting: reactive[Waiting] = reactive(Waiting(), layout=True)

    async def action_open(self) -> None:
        await self.run_action("screen.slash('/queue')")

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        await self.action_open()

    def watch_waiting(self) -> None:
        self.set_class(bool(self.waiting.prompts or self.waiting.sending), "-waiting")

    def render(self) -> Content:
        bar = Content.styled(f"{UNICODE.queued} ", "$accent-soft")
        rows = self.waiting.rows(max(1, self.size.width - SIGNED))
        # No prompt has two spaces in its row.
        parts = (row.partition("  ") for row in rows)
        lines = (Content.assemble(bar, text, gap, (place, "$text-faint")) for text, gap, place in parts)
        return Content("\n").join(lines)

    def get_content_height(self, *_: object) -> int:
        return len(self.waiting.rows(80))
