"""Pinned messages, which stay word for word."""

from typing import TYPE_CHECKING, Any, ClassVar

from tui_app.conversation.work import Pin
from tui_app.records import frozen
from tui_app.references import log_number
from tui_app.refusals import Refusal
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.list import Asked, ListDialog, ListSpec
from tui_app.ui.widgets.tables import Column
from tui_app.ui.words.text import one_line, tokens

if TYPE_CHECKING:
    from tui_app.ui.host import Host
from tui_app.ui.dialogs.message_actions import message_of


@frozen
class PinRow:
    """One pinned message."""

    seq: int
    """Log number."""
    title: str
    tokens: int
    """Size in model tokens; 0 if it is not in the next request."""
    in_view: bool
    """Whether the next request contains it."""


_STAYS = "Kept word for word through every compaction."

_HAS_LEFT = "It is not in the next request: it had left the context before it was pinned."


class PinsScreen(ListDialog[PinRow], place="pins"):
    """Dismisses with the message to show, a request to ``unpin`` one, or ``None``."""

    SPEC: ClassVar[ListSpec[Any]] = ListSpec[PinRow](
        name="pins",
        search="filter by words of the message",
        columns=(
            Column(lambda row: tokens(row.tokens) if row.in_view else "-", 7, right=True),
            Column(lambda row: f"  {row.title}", tone=""),
            Column(lambda row: f"#{row.seq}", 10, right=True),
        ),
        title=lambda it: f"Pinned · {tokens(sum(row.tokens for row in it.rows))} tokens of the next request",
        words=lambda row: row.title,
        note=lambda row: _STAYS if row.in_view else _HAS_LEFT,
        empty="No matching pinned message.",
    )


NOTHING = "Nothing is pinned. /pin last pins the newest message, /pin #12 another one."

PIN_USAGE = "/{0} takes the number of a message, as in /{0} #12, or last; alone it lists what is pinned."


async def pin(app: "Host", session: ChatSession, argument: str, *, pinned: bool) -> None:
    """Pin or unpin the named message; without an argument list the pinned ones."""
    if not argument:
        await _show_pins(app, session)
        return
    if argument.strip().lower() == "last":
        seq = max(session.presenter.agent_view.pins, default=0)
        if pinned:
            # The newest message that can be pinned.
            entries = reversed(session.presenter.view.entries)
            rows = (each for each in entries if each.kind in ("user", "assistant", "tool") and not each.left)
            seq = next((each.message for each in rows if each.chars or each.kind != "assistant"), 0)
        if not seq:
            raise Refusal("There is no message yet." if pinned else NOTHING)
        _submit(session, seq, pinned)
    elif (number := log_number(argument)) is not None:
        _submit(session, message_of(session, number), pinned)
    else:
        raise Refusal(PIN_USAGE.format("pin" if pinned else "unpin"))


def _submit(session: ChatSession, seq: int, pinned: bool) -> None:
    """Request the change and report it; if it is refused, the reason is shown instead."""
    if session.submit(Pin(seq, pinned)):
        titles = (entry.title for entry in session.presenter.view.entries if entry.message == seq)
        title = one_line(next(titles, ""), 60)
        session.reply(f"{'Pinned' if pinned else 'Unpinned'} #{seq}{f': {title}' if title else ''}")


async def _show_pins(app: "Host", session: ChatSession) -> None:
    titles = {entry.message: entry for entry in session.presenter.view.entries}
    heads = {head.seq: head for head in session.presenter.agent_view.visible()}
    rows = []
    for seq in sorted(session.presenter.agent_view.pins):
        entry, head = titles.get(seq), heads.get(seq)
        title = entry.title if entry is not None else (head.title if head is not None else "")
        tokens = round(sum(head.tokens.values()) * session.state.scale) if head is not None else 0
        rows.append(PinRow(seq, title or "(calls tools)", tokens, in_view=head is not None))
    if not rows:
        raise Refusal(NOTHING)
    match await app.push_screen_wait(PinsScreen(rows)):
        case Asked(row=PinRow(seq=seq)):
            _submit(session, seq, pinned=False)
        case PinRow(seq=seq):
            session.presenter.jump_to(titles[seq].seq if seq in titles else seq)
