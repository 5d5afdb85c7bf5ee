"""Keeping messages word for word: ``/pin`` and ``/unpin``."""

from typing import TYPE_CHECKING

from tui_app.conversation.work import Pin
from tui_app.log_numbers import log_number
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.selection import entry_of
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.pins import PinRow, PinsScreen

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp

_TITLE_CELLS = 60
NOTHING = "Nothing is pinned. /pin last pins the newest message, /pin #12 another one."
USAGE = "/{} takes the number of a message, as in /{} #12, or last; alone it lists what is pinned."


async def pin(app: "PlimsollApp", session: ChatSession, argument: str, *, pinned: bool) -> None:
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


async def _show_pins(app: "PlimsollApp", session: ChatSession) -> None:
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
