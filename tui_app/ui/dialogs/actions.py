"""Actions of the chat without a dialog of their own: stop, leave, send, compact and undo."""

import asyncio
from collections import Counter
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from tui_app.conversation.work import Compact, Prompt, Restate, Restore, RestoreFiles, asked_compaction
from tui_app.files import Refused
from tui_app.references import Span, mentions
from tui_app.session.entries import Entry
from tui_app.session.rewind_fork import rewind_points
from tui_app.session.stats import is_over
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.base import cancel_lookup, confirmed
from tui_app.ui.host import FLOW
from tui_app.ui.prompt.editor import DRAFT_CLEARED
from tui_app.ui.slash import CustomCommand, prompt_of
from tui_app.ui.text import cost, one_line

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
    """Cancel what a key or command is about to show; returns whether there was anything."""
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
    """Handle ctrl+c: copy a selection, clear the draft, stop what runs, and when pressed twice quit."""
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
    """Word the question to ask before a session is left; empty when nothing would be lost."""
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
    """Say what becomes of queued prompts and commands."""
    waiting, told = session.unsent.waiting, []
    commands = [one_line(each, 40) for each in (Counter(session.state.queue) - Counter(waiting)).elements()]
    if waiting:
        one = len(waiting) == 1
        prompts = "1 waiting prompt is" if one else f"{len(waiting)} waiting prompts are"
        told.append(f"{prompts} not sent (the up arrow brings {'it' if one else 'them'} back)")
    if commands:
        told.append(f"{', '.join(commands)} {'is' if len(commands) == 1 else 'are'} dropped")
    return told


def send(screen: "Chat", prompt: Prompt) -> None:
    """Send a prompt, or ask first; what is not sent goes back to the editor."""
    session, pane = screen.session, screen.pane
    if is_above(session) and not prompt.above_budget:
        # Not exclusive: each of two prompts sent in a burst has its own question, and its way back.
        screen.work(_send_above(screen, prompt), group="budget", exclusive=False)
    elif session.submit(prompt):
        session.unsent.sent(prompt.text)
        pane.introduce("")
        pane.transcript.action_last()
    else:
        pane.prompt.editor.give_back(prompt.text)


async def send_custom(screen: "Chat", command: CustomCommand, argument: str) -> None:
    """Send the prompt that a command stands for; what was typed goes back where there is none."""
    session, editor = screen.session, screen.pane.prompt.editor
    typed = f"/{command.name} {argument}".strip()
    try:
        text = await asyncio.to_thread(prompt_of, command, argument)
    except Refused as refused:
        editor.give_back(typed)
        session.say(f"/{command.name} cannot be used: {refused}.")
        return
    if text.strip():
        send(screen, Prompt(text, mentions(text)))
    else:
        editor.give_back(typed)
        session.say(f"/{command.name} says nothing: {command.file} is empty.")


def is_above(session: ChatSession) -> bool:
    """Whether the session has used its budget up."""
    return is_over(session.launch.settings.budget, session.state.spent)


async def agreed(app: "Host", session: ChatSession, what: str) -> bool:
    """Ask whether something is sent above the budget.

    Args:
        app: Shows the question.
        session: What has cost too much.
        what: What would be sent, for example ``this prompt``.
    """
    spent, limit = session.state.spent or 0.0, session.launch.settings.budget["session_usd"]
    text = f"This session has cost {cost(spent)}; its budget is {cost(limit)}. Send {what} anyway?"
    return await confirmed(app, text, verb="Send", keep="Do not send")


async def _send_above(screen: "Chat", prompt: Prompt) -> None:
    session = screen.session
    # It has left the editor: a user who quits instead of answering finds it again.
    session.unsent.sent(prompt.text)
    yes = await agreed(screen.app, session, "this prompt")
    session.unsent.given_back(prompt.text)
    if yes:
        send(screen, replace(prompt, above_budget=True))
    else:
        screen.pane.prompt.editor.give_back(prompt.text)


ONE_RUNS = "A compaction is running already. Esc cancels it; then another can begin."


def compact(session: ChatSession, argument: str = "") -> None:
    """Compact now, or after the running turn.

    Args:
        session: The open session.
        argument: What stands behind ``/compact``: see :func:`asked_compaction`.
    """
    if session.state.compacting and session.state.status.trigger == "manual":
        session.say(ONE_RUNS)
        if argument:
            session.presenter.give_back(f"/compact {argument}")
    elif isinstance(asked := asked_compaction(argument), str):
        session.say(asked)
    else:
        session.submit(asked)


def go_on(session: ChatSession) -> None:
    """Do what enter stands for on an empty prompt: keep the extract that is offered, or send what waits."""
    failed = session.state.standing.failed
    if failed is None or session.state.busy:
        session.steer()
    else:
        span = Span(failed.from_message, failed.up_to_message)
        session.submit(Compact(failed.focus, span=span, extract=True))


def compact_part(session: ChatSession, entry: Entry, *, up_to: bool) -> None:
    """Compact what was said up to a row, or from it on."""
    session.submit(Compact(span=part_of(entry, up_to=up_to)))


def part_of(entry: Entry, *, up_to: bool) -> Span:
    """What was said up to a row, or from it on."""
    return Span(last=entry.result_seq or entry.seq) if up_to else Span(first=entry.seq)


def restate(session: ChatSession, *, undo: bool) -> None:
    """Take the newest compaction, rewind or clearing back, or apply an undone compaction again."""
    session.submit(Restate(undo=undo))


def undo(session: ChatSession, entry: Entry) -> None:
    """Take back what a row stands for: a compaction, a rewrite, a rewind, or files that went back."""
    if entry.kind == "files":
        session.submit(RestoreFiles(entry.seq))
    elif entry.kind in ("rewrite", "clear"):
        session.submit(Restore(entry.seq))
    else:
        session.submit(Restate(undo=True, compaction=entry.seq))
