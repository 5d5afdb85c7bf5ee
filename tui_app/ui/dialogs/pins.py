"""What is pinned: every message that stays word for word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from tui_app.conversation.work import Pin
from tui_app.references import log_number
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.filter import FilterDialog
from tui_app.ui.dialogs.message import entry_of
from tui_app.ui.keys import place_bindings, place_hints
from tui_app.ui.text import one_line, padded, tokens

if TYPE_CHECKING:
    from tui_app.ui.host import Host

_NUMBER_CELLS = 8
_FIGURES_CELLS = 19
"""Tokens, number, and the gaps beside them."""


@dataclass(frozen=True, slots=True)
class PinRow:
    """One pinned message."""

    seq: int
    """Log number."""
    title: str
    tokens: int
    """Counted tokens; 0 where it is not in the next request."""
    in_view: bool
    """Whether the next request holds it."""


@dataclass(frozen=True, slots=True)
class PinChoice:
    """What a user wants with a pinned message: see it, or take the pin away."""

    seq: int
    unpin: bool = False


class PinsScreen(FilterDialog[PinRow, PinChoice]):
    """Dismisses with what is to be done with one message, or ``None``."""

    BINDINGS = place_bindings("pins")
    HINTS = place_hints("pins")
    NAME = "pins"
    PLACEHOLDER = "filter by words of the message"

    def __init__(self, rows: Sequence[PinRow]) -> None:
        super().__init__()
        self.offer(rows)

    @property
    def title_text(self) -> str:
        total = sum(row.tokens for row in self._rows)
        return f"Pinned · {self.how_many} · {tokens(total)} tokens of the next request"

    def text_of(self, row: PinRow) -> str:
        return row.title

    def line(self, row: PinRow, width: int) -> Content:
        return pin_line(row, max(12, width - _FIGURES_CELLS))

    @property
    def nothing(self) -> str:
        return "No pinned message has these words in its first line."

    def explain(self, row: PinRow) -> None:
        sent = "It stays word for word: no compaction takes it, no stage rewrites it."
        self.note(
            sent if row.in_view else "The next request does not hold it: it was left before it was pinned."
        )

    def use(self, row: PinRow) -> None:
        self.dismiss(PinChoice(row.seq))

    def action_unpin(self) -> None:
        if (row := self.marked) is not None:
            self.dismiss(PinChoice(row.seq, unpin=True))


def pin_line(row: PinRow, room: int) -> Content:
    """One row: tokens, first line, number."""
    size = tokens(row.tokens) if row.in_view else "-"
    return Content.assemble(
        (f"{size:>7}  ", "$text-muted"),
        padded(one_line(row.title, room), room),
        (f"  {'#' + str(row.seq):>{_NUMBER_CELLS}}", "$text-muted"),
    )


# Keeping messages word for word: ``/pin`` and ``/unpin``.

_TITLE_CELLS = 60
NOTHING = "Nothing is pinned. /pin last pins the newest message, /pin #12 another one."
USAGE = "/{} takes the number of a message, as in /{} #12, or last; alone it lists what is pinned."


async def pin(app: "Host", session: ChatSession, argument: str, *, pinned: bool) -> None:
    """Pin or unpin a message that is named; without a name show what is pinned."""
    if not argument:
        await _show_pins(app, session)
        return
    name = "pin" if pinned else "unpin"
    if argument.strip().lower() == "last":
        held = _newest(session, pinned=pinned)
        if held:
            _submit(session, held, pinned)
        else:
            session.say("There is no message yet." if pinned else NOTHING)
    elif (number := log_number(argument)) is not None:
        entry = entry_of(session, number)
        _submit(session, entry.message if entry is not None else number, pinned)
    else:
        session.say(USAGE.format(name, name))


def _submit(session: ChatSession, seq: int, pinned: bool) -> None:
    """Ask for it and say so; where it is refused, the reason takes that sentence's place."""
    if session.submit(Pin(seq, pinned)):
        titles = (entry.title for entry in session.presenter.view.entries if entry.message == seq)
        title = one_line(next(titles, ""), _TITLE_CELLS)
        session.say(f"{'Pinned' if pinned else 'Unpinned'} #{seq}{f': {title}' if title else ''}")


def _newest(session: ChatSession, *, pinned: bool) -> int:
    """The newest message that can be pinned, or that is."""
    if not pinned:
        return max(session.presenter.agent_view.pins, default=0)
    entries = reversed(session.presenter.view.entries)
    said = (entry for entry in entries if entry.kind in ("user", "assistant", "tool") and not entry.left)
    return next((entry.message for entry in said if entry.chars or entry.kind != "assistant"), 0)


async def _show_pins(app: "Host", session: ChatSession) -> None:
    """List what is pinned; a chosen one is shown in the conversation."""
    titles = {entry.message: entry for entry in session.presenter.view.entries}
    held = {head.seq: head for head in session.presenter.agent_view.visible()}
    rows = []
    for seq in sorted(session.presenter.agent_view.pins):
        entry, head = titles.get(seq), held.get(seq)
        title = entry.title if entry is not None else (head.title if head is not None else "")
        tokens = round(sum(head.tokens.values()) * session.state.scale) if head is not None else 0
        rows.append(PinRow(seq, title or "(calls tools)", tokens, in_view=head is not None))
    if not rows:
        session.say(NOTHING)
        return
    chosen = await app.push_screen_wait(PinsScreen(rows))
    if chosen is None:
        return
    if chosen.unpin:
        _submit(session, chosen.seq, pinned=False)
    else:
        session.presenter.jump_to(titles[chosen.seq].seq if chosen.seq in titles else chosen.seq)
