"""Stopping and leaving: what Esc, ctrl+c and the quit commands do, one step a press."""

from collections import Counter
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from tui_app.session.rewind_fork import rewind_points
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.base import cancel_lookup
from tui_app.ui.host import FLOW
from tui_app.ui.prompt.editor import DRAFT_CLEARED
from tui_app.ui.text import one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Chat, Host

ASK_AGAIN = "Press ctrl+c again to quit"
GO_BACK = "Press esc again to go back to an earlier prompt"
AGAIN_S = 2.0
"""Seconds within which a second ctrl+c quits, and a second esc offers the earlier prompts."""


async def step_back(screen: "Chat", opening: object | None) -> None:
    """What Esc does on the chat screen: give a lookup up, else take a prompt back, else stop what runs.

    With nothing to stop it leads back to the prompt, and pressed twice in an empty one to earlier prompts.
    A draft is never cleared, the screen never left.

    Args:
        screen: The chat.
        opening: What was being opened when the key was pressed; what was asked for behind it is not meant.
    """
    session, editor = screen.session, screen.pane.prompt.editor
    if cancel_lookup(editor.screen) or _stop_opening(screen, opening) or screen.pane.step_back():
        return
    if session.state.queue and editor.is_empty:
        editor.give_back(await session.take_back())
    elif session.state.busy:
        session.cancel()
    elif editor.has_focus and editor.is_empty and rewind_points(session.presenter.agent_view):
        _go_back(screen)
    else:
        editor.focus()


def _stop_opening(screen: "Chat", opening: object | None) -> bool:
    """Give up what a key or command is about to show; whether there was anything."""
    if opening is None or screen.app.type_ahead.opening is not opening:
        return False
    screen.workers.cancel_group(screen, FLOW)
    screen.app.type_ahead.end()
    return True


def _go_back(screen: "Chat") -> None:
    """Say what a second press does, or do it."""
    session = screen.session
    if monotonic() - session.back_asked < AGAIN_S:
        session.back_asked = float("-inf")
        screen.action_slash("/rewind")
        return
    session.back_asked = monotonic()
    if not session.state.status.text:
        _ask_again(screen, GO_BACK)


def stop_or_quit(app: "Host", screen: "Chat") -> None:
    """What ctrl+c does: copy a selection, clear the draft, stop what runs, and when pressed twice quit."""
    if text := screen.get_selected_text():
        app.copy_to_clipboard(text)
        count = text.count("\n") + 1
        screen.session.say(f"Copied {count} line{'s' if count != 1 else ''}.")
        screen.clear_selection()
    elif screen.pane.prompt.editor.clear_draft():
        screen.session.say(DRAFT_CLEARED)
    elif screen.session.state.busy:
        screen.session.cancel()
    elif monotonic() - app.quit_asked < AGAIN_S:
        app.exit()
    else:
        app.quit_asked = monotonic()
        _ask_again(screen, ASK_AGAIN)


def _ask_again(screen: "Chat", question: str) -> None:
    """Say what a second press does, for as long as it does that."""
    screen.session.say(question)
    screen.set_timer(AGAIN_S, partial(_forget_question, screen.session, question))


def _forget_question(session: ChatSession, question: str) -> None:
    """Take the question off the row once a second press would only ask it again."""
    if session.state.status.text == question:
        session.move_on()


def what_leaving_costs(session: ChatSession) -> str:
    """The question to ask before a session is left; empty when nothing would be lost."""
    state = session.state
    losses = []
    if state.turn:
        losses.append("the running answer is stopped")
    if state.compacting:
        losses.append("the compaction is cancelled")
    losses += _what_waits(session)
    return f"Leave this session? What is written so far stays, but {' and '.join(losses)}." if losses else ""


def what_quitting_costs(session: ChatSession) -> str:
    """The question to ask before the program ends; empty when nothing is under way."""
    waits = " and ".join(_what_waits(session))
    if session.state.turn:
        behind = f" {waits[0].upper()}{waits[1:]}." if waits else ""
        return f"Quit while the model answers? The answer is stopped; what is written so far stays.{behind}"
    return f"Quit now? {waits[0].upper()}{waits[1:]}." if waits else ""


def _what_waits(session: ChatSession) -> list[str]:
    """What becomes of prompts and commands that were not reached."""
    waiting, told = session.unsent.waiting, []
    commands = [one_line(each, 40) for each in (Counter(session.state.queue) - Counter(waiting)).elements()]
    if waiting:
        one = len(waiting) == 1
        prompts = "1 waiting prompt is" if one else f"{len(waiting)} waiting prompts are"
        told.append(f"{prompts} not sent (the up arrow brings {'it' if one else 'them'} back)")
    if commands:
        told.append(f"{', '.join(commands)} {'is' if len(commands) == 1 else 'are'} dropped")
    return told
