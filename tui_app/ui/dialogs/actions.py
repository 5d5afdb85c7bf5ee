"""Actions of the chat without a dialog of their own: stop, leave, send, compact and undo."""

import asyncio
import sqlite3
from collections import Counter
from dataclasses import replace
from itertools import chain
from time import monotonic, time
from typing import TYPE_CHECKING

from tui_app.conversation.work import Compact, Prompt, Restate, Restore, RestoreFiles, Shell, asked_compaction
from tui_app.references import Span, mentions
from tui_app.refusals import Refusal
from tui_app.session.figures.costs import is_over
from tui_app.session.rewind_points import rewind_points
from tui_app.session.views.entries import Entry
from tui_app.settings.spec import CacheSettings
from tui_app.system.project_files import Refused
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.clipboard import copy
from tui_app.ui.dialogs.lookup import cancel_lookup
from tui_app.ui.dialogs.questions import ChoiceDialog, Way, confirmed
from tui_app.ui.host import FLOW
from tui_app.ui.prompt.editor import DRAFT_CLEARED
from tui_app.ui.slash import CustomCommand, prompt_of, split_arguments
from tui_app.ui.words.text import cost, count, one_line, tokens

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Chat, Host

ASK_AGAIN = "Press ctrl+c again to quit"
GO_BACK = "Press esc again to go back to an earlier prompt"
NOTHING_LEFT = "Nothing is under way that could go on in the background. /quit leaves; it can be resumed."
NO_DEMO = "The demo does not run in the background."
AGAIN_S = 2.0
"""Seconds within which a second ctrl+c quits, and a second esc offers the earlier prompts."""


async def edit_queued(session: ChatSession) -> None:
    """Move the newest queued prompt to the editor."""
    session.pane.prompt.editor.restore_prompt(await session.take_back())


def step_back(screen: "Chat") -> None:
    """Handle esc on the chat screen: cancel a lookup, else stop what runs.

    With nothing to stop it focuses the prompt; pressed twice in an empty prompt it offers earlier prompts. It
    never clears a draft and never leaves the screen.
    """
    session, editor = screen.session, screen.pane.prompt.editor
    if cancel_lookup(editor.screen) or _stop_opening(screen) or screen.pane.step_back():
        return
    row = screen.pane.transcript.cursor_entry if screen.pane.transcript.has_focus else None
    if row is not None and row.at_work:
        stopping = session.ask(lambda opened: opened.conversation.agents.stop_call(row.seq))
        screen.work(stopping, group="cancel", exclusive=False)
    elif session.state.busy:
        session.cancel()
    elif session.state.queue and not session.state.paused and editor.is_empty:
        # Nothing runs yet: the prompt would be sent once the agent side is loaded.
        screen.work(edit_queued(session), group="cancel", exclusive=False)
    elif editor.has_focus and editor.leave_shell():
        return
    elif editor.has_focus and (
        session.launch.stage is not None or (editor.is_empty and rewind_points(session.presenter.agent_view))
    ):
        _go_back(screen)
    else:
        editor.focus()


def _stop_opening(screen: "Chat") -> bool:
    """Cancel what a key or command is about to open; returns whether there was anything."""
    if screen.app.type_ahead.opening is None or not screen.app.type_ahead.opens:
        return False
    screen.workers.cancel_group(screen, FLOW)
    screen.app.type_ahead.end()
    return True


def _go_back(screen: "Chat") -> None:
    session = screen.session
    in_demo = session.launch.stage is not None
    if monotonic() - session.back_asked < AGAIN_S:
        session.back_asked = float("-inf")
        screen.action_slash("/demo" if in_demo else "/rewind")
        return
    session.back_asked = monotonic()
    if in_demo or not session.state.status.text:
        _ask_again(screen, "Press esc again to leave the demo" if in_demo else GO_BACK)


def stop_or_quit(app: "Host", screen: "Chat") -> None:
    """Handle ctrl+c: copy a selection, clear the draft, stop what runs, or quit when pressed twice."""
    if text := screen.get_selected_text():

        async def copied() -> None:
            screen.session.reply(await copy(app, text, count(text.count("\n") + 1, "line")))

        screen.work(copied, group="copy")
        screen.clear_selection()
    elif screen.pane.prompt.editor.clear_draft():
        screen.session.reply(DRAFT_CLEARED)
    elif screen.session.state.busy:
        screen.session.cancel()
    elif monotonic() - app.quit_asked < AGAIN_S:
        app.exit()
    else:
        app.quit_asked = monotonic()
        _ask_again(screen, ASK_AGAIN)


def _ask_again(screen: "Chat", question: str) -> None:
    """Show what a second key press does, as long as it does that."""
    session = screen.session
    session.reply(question)

    def forget() -> None:
        if session.state.status.text == question:
            session.move_on()

    screen.set_timer(AGAIN_S, forget)


def what_leaving_costs(session: ChatSession) -> str:
    """Word the question before a session is left; empty if nothing would be lost."""
    state = session.state
    under_way = {
        "the running answer is stopped": state.turn,
        "the running command is stopped": state.shell,
        "the sub-agents at work are stopped": state.forks or state.agents,
        "the compaction is cancelled": state.compacting,
    }
    losses = " and ".join([*(words for words, runs in under_way.items() if runs), *_what_waits(session)])
    return f"Leave this session? The partial answer is kept, but {losses}. {_KEYS} leaves." if losses else ""


async def detach(app: "Host", session: ChatSession) -> None:
    """Hand the running work to a background process, and quit."""
    state, launch = session.state, session.launch
    if why := session.read_only or (NO_DEMO if launch.stage is not None else ""):
        raise Refusal(why)
    if not (state.busy or state.queue):
        raise Refusal(NOTHING_LEFT)
    session.reply("Leaving after the present step … esc stops it instead")
    step, rules = await session.ask(_leave)
    if step == "over":
        raise Refusal(NOTHING_LEFT)
    if step == "left":
        words = ["--session", session.id, "--cwd", str(launch.cwd)]
        for flag, values in (("--allow", rules), ("--add-dir", launch.add_dirs), ("--agent", [launch.agent])):
            words += chain.from_iterable((flag, str(value)) for value in values if value)
        words += ["--trust"] * launch.trust + ["--read-only"] * bool(launch.flags.get("read_only"))
        app.detached = tuple(words)
    app.exit()


async def _leave(opened: "OpenSession") -> tuple[str, list[str]]:
    rules = opened.conversation.tooling.approvals.session_rules
    return await opened.detach(), [rule.text for rule in rules]


async def may_leave(app: "Host", session: ChatSession, first: str = "") -> bool:
    """Return whether to leave a session, asking the user if something would be lost.

    ``first`` precedes the question.
    """
    costs = what_leaving_costs(session)
    return not costs or await confirmed(app, f"{first}{costs}", verb="Leave", keep="Stay")


def what_quitting_costs(session: ChatSession) -> str:
    """Word the question before the program quits; empty if nothing is running or queued."""
    waits, stops = " and ".join(_what_waits(session)), ""
    if session.state.turn:
        stops = "Quit while the model answers? The answer is stopped; what is written so far stays. "
    lost = f"{waits[0].upper()}{waits[1:]}. " if waits else ""
    return f"{stops or 'Quit now? '}{lost}{_KEYS} quits." if stops or lost else ""


_KEYS = "Enter or esc stays, y"
"""The keys for the question, whose safe answer is preselected."""


def _what_waits(session: ChatSession) -> list[str]:
    waiting, parts = session.unsent.waiting, []
    commands = [one_line(each, 40) for each in (Counter(session.state.queue) - Counter(waiting)).elements()]
    if waiting:
        one = len(waiting) == 1
        prompts = "1 waiting prompt is" if one else f"{len(waiting)} waiting prompts are"
        parts.append(f"{prompts} not sent (the up arrow brings {'it' if one else 'them'} back)")
    if commands:
        parts.append(f"{', '.join(commands)} {'is' if len(commands) == 1 else 'are'} dropped")
    return parts


def asks_first(screen: "Chat", prompt: Prompt) -> bool:
    """Ask before sending a prompt that could be expensive; the answer sends it or returns it.

    Returns:
        Whether the user is asked.
    """
    session = screen.session
    is_paid = is_above(session) and not prompt.above_budget
    if not is_paid and not _may_be_cold(session):
        return False
    # Not exclusive: two prompts sent quickly each have a question of their own.
    screen.work(_send_asked(screen, prompt, is_paid=is_paid), group="asked", exclusive=False)
    return True


def _may_be_cold(session: ChatSession) -> bool:
    """Return, from what is known at once, whether a turn may be expensive because its cache is cold."""
    limit, state = CacheSettings(**session.launch.settings.cache).warn_usd, session.state
    if not limit or session.cold_asked or state.busy or state.locked or state.usage is None:
        return False
    entries = session.presenter.view.entries
    idle = bool(entries) and time() - entries[-1].time > _IDLE_S
    return idle and state.usage.total * _DEAREST > limit


def send(screen: "Chat", request: Prompt | Shell) -> None:
    """Send a prompt, or run a user's shell command; return it to the editor if that is not possible."""
    session, pane = screen.session, screen.pane
    typed = request.text if isinstance(request, Prompt) else request.label
    if session.submit(request):
        if isinstance(request, Prompt):
            session.unsent.sent(typed)
        pane.complain("")
        pane.show_conversation()
        pane.transcript.action_last()
    else:
        pane.prompt.editor.restore_prompt(typed)


NO_COMMAND = "Type a command after the !. To send a prompt that starts with !, put a space first."


def run_shell(screen: "Chat", asked: Shell) -> None:
    """Run a user's shell command, after the running work."""
    if asked.command:
        send(screen, asked)
    else:
        screen.session.reply(NO_COMMAND)


_IDLE_S = 300.0
"""Seconds for which every provider keeps its prompt cache."""
_DEAREST = 1e-4
"""US dollars per token of input including the cache write: more than any model costs."""


async def _send_asked(screen: "Chat", prompt: Prompt, *, is_paid: bool) -> None:
    """Send a prompt if the user agrees to its cost, above the budget or with a cold cache."""
    session, editor = screen.session, screen.pane.prompt.editor
    # It has left the editor, and a user who quits instead of answering must find it again.
    session.unsent.sent(prompt.text)
    if is_paid:
        way = "send" if await agreed(screen.app, session, "this prompt") else ""
    else:
        way = await _ask_when_cold(screen)
    session.unsent.mark_restored(prompt.text)
    if way == "compact" and session.submit(Compact()) and session.launch.settings.review != "never":
        editor.restore_prompt(prompt.text)
        session.reply("The prompt is back: send it once the summary is applied.")
    elif way in ("send", "compact"):
        request = replace(prompt, above_budget=True) if is_paid else prompt
        if not (is_paid and asks_first(screen, request)):
            send(screen, request)
    else:
        editor.restore_prompt(prompt.text)
        if way == "hand over":
            screen.action_slash(f"/handoff {prompt.text}")


async def _ask_when_cold(screen: "Chat") -> str:
    """Ask, once per session, how to continue if a turn is expensive because the cache is cold."""
    session = screen.session
    usd = await asyncio.to_thread(_cold_usd, session)
    if usd is None or session.cold_asked:
        return "send"
    session.cold_asked = True
    size = tokens(session.state.usage.total if session.state.usage is not None else 0)
    limit = CacheSettings(**session.launch.settings.cache).warn_usd
    dialog = ChoiceDialog(
        f"The prompt cache is cold: this turn costs about {cost(usd)}",
        (
            Way("Send", f"reads all {size} tokens again", "send"),
            Way("Compact first", "then sends the prompt; later turns are cheaper too", "compact"),
            Way("Hand over", "continues in a new session with a brief of this one", "hand over"),
            Way("Cancel", "puts the prompt back"),
        ),
        f"Asked once in a session, above {cost(limit)} (cache.warn_usd in the settings).",
    )
    return await screen.app.push_screen_wait(dialog) or ""


def _cold_usd(session: ChatSession) -> float | None:
    """Return the next turn's cost with a cold cache if it is worth a warning; reads the log."""
    from tui_app.session.figures.cache_forecast import read_forecast

    launch, state, now = session.launch, session.state, time()
    if state.usage is None:
        return None
    try:
        outlook = read_forecast(
            launch.database, session.id, state.model, state.usage, launch.settings, now=now
        )
    except sqlite3.Error:
        return None  # an error of the log is reported where it is written
    return outlook.costs_cold(now, CacheSettings(**launch.settings.cache).warn_usd)


async def send_custom(screen: "Chat", command: CustomCommand, argument: str) -> None:
    """Send a custom command's prompt; if there is none, put the command back into the editor."""
    session, editor = screen.session, screen.pane.prompt.editor
    why = f"has no text: {command.file} is empty."
    try:
        if (served := command.prompt) is not None:
            words = split_arguments(argument)
            text = await session.ask(lambda opened: opened.extras.servers.prompt_text(served, words))
        else:
            text = await asyncio.to_thread(prompt_of, command, argument, session.launch.may_read())
    except Refused as refused:
        text, why = "", f"cannot be used: {one_line(str(refused), 300)}."
    if text.strip():
        # Mentions in a server's text are not the user's, so no files are attached.
        prompt = Prompt(text, () if command.prompt is not None else mentions(text))
        if not asks_first(screen, prompt):
            send(screen, prompt)
    else:
        editor.restore_prompt(f"/{command.name} {argument}".strip())
        session.reply(f"/{command.name} {why}")


def is_above(session: ChatSession) -> bool:
    """Return whether the session has used up its budget."""
    return is_over(session.launch.settings.budget, session.state.costs.usd)


async def agreed(app: "Host", session: ChatSession, what: str) -> bool:
    """Ask whether to send something above the budget.

    Args:
        app: Shows the question.
        session: The session that is above its budget.
        what: What would be sent, for example ``this prompt``.
    """
    spent, limit = session.state.costs.usd or 0.0, session.launch.settings.budget["session_usd"]
    text = f"This session has cost {cost(spent)}; its budget is {cost(limit)}. Send {what} anyway?"
    return await confirmed(app, text, verb="Send", keep="Do not send")


ONE_RUNS = "A compaction is already running. esc cancels it."


def compact(session: ChatSession, argument: str = "") -> None:
    """Compact now, or after the running turn.

    Args:
        session: The open session.
        argument: The argument of ``/compact``: see :func:`asked_compaction`.
    """
    if session.state.compacting and session.state.status.trigger == "manual":
        raise Refusal(ONE_RUNS)
    if isinstance(asked := asked_compaction(argument), str):
        raise Refusal(asked)
    session.submit(asked)


def go_on(session: ChatSession) -> None:
    """Handle enter on an empty prompt: keep the offered extract, or send what is queued."""
    failed = session.state.lasting_status.failed
    if failed is None or session.state.busy:
        session.instruct(lambda now: now.steer())
    else:
        span = Span(failed.from_message, failed.up_to_message)
        session.submit(Compact(failed.focus, span=span, extract=True))


def part_of(entry: Entry, *, up_to: bool) -> Span:
    """Return the span up to a row, or from it on."""
    return Span(last=entry.result_seq or entry.seq) if up_to else Span(first=entry.seq)


def restate(session: ChatSession, *, undo: bool) -> None:
    """Undo the newest compaction, rewind or clear, or apply an undone compaction again."""
    session.submit(Restate(undo=undo))


def undo(session: ChatSession, entry: Entry) -> None:
    """Undo a row: a compaction, a rewrite, a rewind, or restored files."""
    if entry.kind == "files":
        session.submit(RestoreFiles(entry.seq))
    elif entry.kind in ("rewrite", "clear"):
        session.submit(Restore(entry.seq))
    else:
        session.submit(Restate(undo=True, compaction=entry.seq))
