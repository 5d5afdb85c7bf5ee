"""Running a slash command or a palette entry."""

import asyncio
from typing import TYPE_CHECKING

from tui_app.conversation.work import Clear, Prompt, Restate
from tui_app.files import Refused
from tui_app.references import mentions
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.commands import COMMANDS, CommandId, CustomCommand, find_commands, prompt_of
from tui_app.ui.dialogs.approvals import show_approvals
from tui_app.ui.dialogs.base import confirmed
from tui_app.ui.dialogs.context import show_checkpoints, show_context, show_history, show_status
from tui_app.ui.dialogs.export import export_session
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.imports import import_transcript
from tui_app.ui.dialogs.mcp import show_mcp, show_skills
from tui_app.ui.dialogs.memory import read_session_now, show_memory
from tui_app.ui.dialogs.message import copy_message
from tui_app.ui.dialogs.models import choose_model, switch_to
from tui_app.ui.dialogs.pins import pin
from tui_app.ui.dialogs.prompts import search_prompts
from tui_app.ui.dialogs.queue import send, show_queue
from tui_app.ui.dialogs.quit import what_leaving_costs
from tui_app.ui.dialogs.rewind import compact, fork, retry, rewind
from tui_app.ui.dialogs.sessions import Chosen, choose_session, held_elsewhere
from tui_app.ui.dialogs.settings import change_policy, choose_theme, show_policies, show_settings
from tui_app.ui.dialogs.stats import show_stats
from tui_app.ui.help_index import help_rows
from tui_app.ui.launch import Launch
from tui_app.ui.prompt.external_editor import edit_outside
from tui_app.ui.text import count

if TYPE_CHECKING:
    from tui_app.ui.host import Chat, Host

NOTHING_TO_CLEAR = "Nothing to clear: the context holds no message."
ONE_RUNS = "A compaction is running already. Esc cancels it; then another can begin."


async def run_command(app: "Host", session: ChatSession, command: CommandId, argument: str) -> None:
    """Do what a command asks for; runs in a worker, so dialogs may be awaited."""
    match command:
        case CommandId.CLEAR | CommandId.MODEL | CommandId.REWIND | CommandId.RETRY if session.read_only:
            session.say(session.read_only)
        case CommandId.COMPACT if session.state.compacting and session.state.status.trigger == "manual":
            session.say(ONE_RUNS)
            if argument:
                session.presenter.give_back(f"/compact {argument}")
        case CommandId.COMPACT:
            compact(session, argument)
        case CommandId.UNDO | CommandId.REDO:
            session.submit(Restate(undo=command is CommandId.UNDO))
        case CommandId.CLEAR | CommandId.REWIND | CommandId.RETRY:
            await _go_back(app, session, command, argument)
        case CommandId.MODEL | CommandId.POLICY | CommandId.SETTINGS | CommandId.THEME | CommandId.APPROVALS:
            await _configure(app, session, command, argument)
        case CommandId.FORK:
            await fork(app, session, argument)
        case CommandId.RESUME | CommandId.NEW | CommandId.IMPORT:
            await _change_session(app, session, command, argument)
        case _:
            await _show(app, session, command, argument)


async def _configure(app: "Host", session: ChatSession, command: CommandId, argument: str) -> None:
    """Commands that choose how to go on."""
    match command:
        case CommandId.MODEL if argument:
            await switch_to(app, session, argument)
        case CommandId.MODEL:
            await choose_model(app, session)
        case CommandId.POLICY if argument:
            change_policy(session, argument)
        case CommandId.POLICY:
            await show_policies(app, session)
        case CommandId.APPROVALS:
            await show_approvals(app, session)
        case CommandId.SETTINGS:
            await show_settings(app, argument)
        case CommandId.THEME:
            await choose_theme(app, session, argument)


async def _tell(app: "Host", session: ChatSession, command: CommandId) -> None:
    """Commands that say how things stand."""
    match command:
        case CommandId.HISTORY:
            await show_history(app, session)
        case CommandId.STATUS:
            await show_status(app, session)
        case CommandId.STATS:
            await show_stats(app, session)
        case CommandId.CHECKPOINTS:
            await show_checkpoints(app, session)
        case CommandId.MEMORY:
            await show_memory(app, session)
        case CommandId.SKILLS:
            await show_skills(app, session)
        case CommandId.SUBCONSCIOUS:
            await read_session_now(session)


async def _show(app: "Host", session: ChatSession, command: CommandId, argument: str) -> None:
    """Commands that change nothing."""
    match command:
        case CommandId.CONTEXT:
            session.presenter.jump_to(await show_context(app, session))
        case CommandId.COPY:
            await copy_message(app, session, argument)
        case CommandId.FIND:
            await app.chat.pane.finding.open(argument)
        case CommandId.PIN | CommandId.UNPIN:
            await pin(app, session, argument, pinned=command is CommandId.PIN)
        case CommandId.EXPORT:
            await export_session(session, argument)
        case CommandId.HELP:
            await _help(app)
        case CommandId.QUIT:
            await app.leave(ask=True)
        case CommandId.PROMPTS | CommandId.EDITOR | CommandId.QUEUE:
            await _prompt(app, session, command, argument)
        case CommandId.MCP:
            await show_mcp(app, session, argument)
        case _:
            await _tell(app, session, command)


async def _prompt(app: "Host", session: ChatSession, command: CommandId, argument: str) -> None:
    """Commands about what is written and what waits."""
    match command:
        case CommandId.PROMPTS:
            await search_prompts(app, session)
        case CommandId.EDITOR:
            launch = session.launch
            if problem := edit_outside(app.chat.pane.prompt.editor, argument, launch.env, launch.cwd):
                session.say(problem)
        case CommandId.QUEUE:
            await show_queue(app, session)


async def _help(app: "Host") -> None:
    """List keys and commands, and run the command that is chosen there."""
    chosen = await app.push_screen_wait(
        HelpScreen(help_rows(app.launch.settings.keymap, app.chat.pane.prompt.editor.custom))
    )
    if chosen is not None:
        app.chat.run(chosen)


async def _go_back(app: "Host", session: ChatSession, command: CommandId, argument: str) -> None:
    """Commands that take messages out of the model's view."""
    if command is CommandId.CLEAR:
        await _clear(app, session)
    elif command is CommandId.RETRY:
        await retry(app, session)
    else:
        await rewind(app, session, argument)


async def _clear(app: "Host", session: ChatSession) -> None:
    held = len(session.presenter.agent_view.visible())
    if not held:
        session.say(NOTHING_TO_CLEAR)
        return
    leave = f"{count(held, 'message')} {'leaves' if held == 1 else 'leave'}"
    text = f"Clear the context? {leave} the model's view; the log keeps them."
    if await confirmed(app, text, verb="Clear", keep="Keep"):
        session.submit(Clear())


async def _chosen_session(
    app: "Host", session: ChatSession, command: CommandId, argument: str
) -> Chosen | None:
    """The session to go to, and where in it; None to stay."""
    match command:
        case CommandId.RESUME:
            chosen = await choose_session(app, session.launch, session.id, argument)
            if chosen is None or chosen.session != session.id:
                return chosen
            session.presenter.jump_to(chosen.seq)
            return None
        case CommandId.IMPORT:
            imported = await import_transcript(app, session, argument)
            return Chosen(imported) if imported else None
        case _:
            return Chosen("")


async def _change_session(app: "Host", session: ChatSession, command: CommandId, argument: str) -> None:
    chosen = await _chosen_session(app, session, command, argument)
    if chosen is None:
        return
    text = what_leaving_costs(session)
    if not text or await confirmed(app, await _told_first(session, chosen, text), verb="Leave", keep="Stay"):
        app.open_session(chosen.session, at=chosen.seq)


async def _told_first(session: ChatSession, chosen: Chosen, text: str) -> str:
    """A question about leaving, behind what stands against it: the other session may be open elsewhere."""
    if not chosen.session:
        return text
    who = await asyncio.to_thread(held_elsewhere, session.launch, chosen.session)
    return f"That session is open in {who} and would only be shown. {text}" if who else text


# Commands that a person or a project has written: finding them, and sending what one stands for.


async def offer_custom(screen: "Chat", launch: Launch) -> None:
    """Let the prompt offer them; the files are looked for in a thread."""
    # A command of two words also takes its first one: nobody could tell them apart.
    taken = {word for command in COMMANDS for name in command.names for word in (name, name.split()[0])}
    found = await asyncio.to_thread(find_commands, launch.cwd, launch.paths.config, taken)
    screen.pane.prompt.editor.custom = found


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
