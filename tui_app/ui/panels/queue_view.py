"""The queue: prompts that wait, one row each."""

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
"""Prompts shown in full rows; the rest is counted."""

Draft = Literal["", "blank", "prompt", "command"]
"""What the editor holds: nothing, spaces alone, what would be queued, or a command that runs at once."""


class Waiting(NamedTuple):
    """Prompts that wait, and what decides what the keys do with them."""

    prompts: tuple[str, ...] = ()
    sending: str = ""
    """What has left the queue and is not in the conversation yet."""
    paused: bool = False
    """Whether they wait for the user, after a cancelled turn."""
    steerable: bool = False
    """Whether a turn is under way that the next one may cut short."""
    draft: Draft = ""
    """What enter acts on instead of them."""

    def rows(self, width: int) -> list[str]:
        """One for each of the oldest, the count of the others and the keys, at most ``width`` cells wide."""
        total = len(self.prompts)
        rows = [one_line(f"Sending: {self.sending}", width)] if self.sending else []
        for at, prompt in enumerate(self.prompts[:MAX_ROWS], start=1):
            # A command changes the history, and therefore waits.
            is_known = is_command(prompt) and isinstance(parse(prompt), ParsedCommand)
            when = "runs when the current work ends · " if is_known and width >= SHORT else ""
            place = f"{when}{at} of {total} queued"
            room = width - cell_len(place) - GAP  # its inset is that of the prompt below
            rows.append(f"{padded(one_line(prompt, room - GAP), room)}{place}")
        if total > MAX_ROWS:
            rows.append(f"and {total - MAX_ROWS} more")
        return [*rows, self.keys(width)] if total and (self.paused or self.steerable) else rows

    def keys(self, width: int) -> str:
        """What enter and up do now, as much of it as has room."""
        total, paused, draft = len(self.prompts), self.paused, self.draft
        them = "it" if total == 1 else "them"
        enter = f"enter sends {them}" if paused else "enter sends the first one"
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
    """Waiting prompts; takes no room while there are none."""

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
        lines = (Content.assemble(bar, said, gap, (place, "$text-faint")) for said, gap, place in parts)
        return Content("\n").join(lines)

    def get_content_height(self, *_: object) -> int:
        return len(self.waiting.rows(80))
