"""The built-in slash commands: each is declared here once, with what it does.

Prompt, help, palette and the page of the keys read the table. It is made before the first frame: what a
command needs is imported when it runs.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from tui_app.ui import slash
from tui_app.ui.slash import Busy, CustomCommand, Opens, SlashCommand

if TYPE_CHECKING:
    from tui_app.ui.host import Chat

    Handler = Callable[[Chat, str], Coroutine[Any, Any, None]]

COMMANDS = slash.COMMANDS


def command(
    name: str,
    summary: str,
    *,
    aliases: tuple[str, ...] = (),
    argument: str = "",
    busy: Busy = "now",
    opens: Opens = "",
    writes: bool = False,
    leaves: bool = False,
) -> "Callable[[Handler], Handler]":
    """Declare a command; see :class:`SlashCommand` for what each argument means."""

    def declare(handler: "Handler") -> "Handler":
        COMMANDS.append(SlashCommand(name, summary, handler, aliases, argument, busy, opens, writes, leaves))
        return handler

    return declare


def built_in_words() -> set[str]:
    """Names that no file gets. A command of two words takes its first one too: who could tell them apart?"""
    return {word for command in COMMANDS for name in command.names for word in (name, name.split()[0])}


async def run_command(chat: "Chat", command: SlashCommand, argument: str) -> None:
    """Do what a command asks for; runs in a worker, so dialogs may be awaited."""
    if command.writes and (why := chat.session.read_only):
        chat.session.say(why)
    else:
        await command.handler(chat, argument)


async def offer_served(chat: "Chat", written: Sequence[CustomCommand]) -> None:
    """Let the prompt offer what MCP servers have beside the commands out of files, once they have started."""
    from tui_app.ui.dialogs import extensions

    await extensions.offer_served(chat, written)


async def answer_server(chat: "Chat", asked: Any) -> None:
    """Have the user answer what an MCP server asks."""
    from tui_app.ui.dialogs.extensions import ask_for_server

    await ask_for_server(chat.app, chat.session, asked)


@command(
    "compact", "Summarise old history; --review, --extract, --up-to #N, --from #N",
    aliases=("summarize", "offload"), argument="[focus]", busy="queue",
)  # fmt: skip
async def _compact(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.actions import compact

    compact(chat.session, argument)


@command("undo", "Undo the last compaction, exclusion, rewind or /clear", busy="queue")
async def _undo(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.actions import restate

    restate(chat.session, undo=True)


@command("redo", "Apply an undone compaction or exclusion again", busy="queue")
async def _redo(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.actions import restate

    restate(chat.session, undo=False)


@command(
    "rewind", "Go back to before an earlier prompt", argument="[#number]", busy="queue", opens="always",
    writes=True,
)  # fmt: skip
async def _rewind(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.rewind import rewind

    await rewind(chat.app, chat.session, argument)


@command("retry", "Send the last prompt again", busy="queue", writes=True)
async def _retry(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.rewind import retry

    await retry(chat.app, chat.session)


@command("fork", "Branch off at an earlier prompt", argument="[#number]", opens="always", leaves=True)
async def _fork(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.rewind import fork

    await fork(chat.app, chat.session, argument)


@command(
    "handoff", "Continue in a new session with a brief of this one", argument="[goal]", opens="always",
    writes=True, leaves=True,
)  # fmt: skip
async def _handoff(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.handoff import hand_over

    await hand_over(chat.app, chat.session, argument)


@command("clear", "Start with an empty context (history stays)", busy="queue", opens="always", writes=True)
async def _clear(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.rewind import clear

    await clear(chat.app, chat.session)


@command("history", "Count turns and messages", opens="always")
async def _history(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.session_info import show_history

    await show_history(chat.app, chat.session)


@command("context", "Show what fills the context", aliases=("tokens",), opens="always")
async def _context(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.context import show_context

    chat.session.presenter.jump_to(await show_context(chat.app, chat.session))


@command(
    "model",
    "Choose a model",
    aliases=("models",),
    argument="[name]",
    busy="queue",
    opens="alone",
    writes=True,
)
async def _model(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.models import choose_model, switch_to

    if argument:
        await switch_to(chat.app, chat.session, argument)
    else:
        await choose_model(chat.app, chat.session)


@command("effort", "Choose the reasoning effort", argument="[level]", busy="queue", opens="alone")
async def _effort(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.settings import change_effort

    await change_effort(chat.app, chat.session, argument)


@command("policy", "Choose the context policy", argument="[name]", busy="queue", opens="alone")
async def _policy(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.settings import change_policy

    await change_policy(chat.app, chat.session, argument)


@command(
    "mode", "Change the mode: ask, edit or plan", argument="[name]", opens="alone",
    writes=True,
)  # fmt: skip
async def _mode(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.settings import change_mode

    await change_mode(chat.app, chat.session, argument)


@command("accept", "Accept the plan and carry it out", argument="[ask|edit]", busy="queue", writes=True)
async def _accept(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.settings import accept_plan

    accept_plan(chat.session, argument)


@command("todo", "Show or hide the todo list")
async def _todo(chat: "Chat", argument: str) -> None:
    if not chat.pane.toggle_todos():
        chat.session.say("There is no todo list: the model keeps one when it has several things to do.")


@command(
    "resume", "Open another session", aliases=("sessions", "threads"), argument="[words|ID]", opens="always",
    leaves=True,
)  # fmt: skip
async def _resume(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.sessions import resume

    await resume(chat.app, chat.session, argument)


@command("new", "Start a new session", leaves=True)
async def _new(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.sessions import Chosen, go_to

    await go_to(chat.app, chat.session, Chosen(""))


@command("status", "Model, policy, context and session at a glance", opens="always")
async def _status(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.session_info import show_status

    await show_status(chat.app, chat.session)


@command("stats", "What was done, what it cost, what was saved", opens="always")
async def _stats(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.session_info import show_stats

    await show_stats(chat.app, chat.session)


@command("audit", "What compactions lost, and what each policy would have kept", opens="always")
async def _audit(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.session_info import show_audit

    await show_audit(chat.app, chat.session)


@command("copy", "Copy the last answer as Markdown", argument="[text|code] [n|#number]")
async def _copy(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.message import copy_message

    await copy_message(chat.app, chat.session, argument)


@command("find", "Find words in the conversation", argument="[words]", opens="always")
async def _find(chat: "Chat", argument: str) -> None:
    await chat.pane.finding.open(argument)


@command("diff", "What this session changed, and what git says", opens="always")
async def _diff(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.changes import show_changes

    await show_changes(chat.app, chat.session)


@command("commit", "Propose a commit message, then commit if you agree", argument="[hint]", opens="always")
async def _commit(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.changes import commit

    await commit(chat.app, chat.session, argument)


@command("tasks", "Background commands: read their output, stop them", opens="always")
async def _tasks(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.queue import show_tasks

    await show_tasks(chat.app, chat.session)


@command("pin", "Keep a message word for word", argument="[#number|last]", opens="alone")
async def _pin(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.message import pin

    await pin(chat.app, chat.session, argument, pinned=True)


@command("unpin", "Unpin a message", argument="[#number|last]", opens="alone")
async def _unpin(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.message import pin

    await pin(chat.app, chat.session, argument, pinned=False)


@command(
    "exclude", "Exclude messages from the context; add turn for whole turns",
    argument="[#number … [turn]]", busy="queue", writes=True,
)  # fmt: skip
async def _exclude(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.message import exclude_by_number

    exclude_by_number(chat.session, argument, excluded=True)


@command("include", "Bring excluded messages back", argument="[#number …]", busy="queue", writes=True)
async def _include(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.message import exclude_by_number

    exclude_by_number(chat.session, argument, excluded=False)


@command("prompts", "Search earlier prompts", opens="always")
async def _prompts(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.prompts import search_prompts

    await search_prompts(chat.app, chat.session)


@command("export", "Save this conversation (md, html, json)", argument="[file]")
async def _export(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.import_export import export_session

    await export_session(chat.session, argument)


@command("import", "Continue a session from Claude Code, Codex, …", argument="[file]", opens="always")
async def _import(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.import_export import import_transcript
    from tui_app.ui.dialogs.sessions import Chosen, go_to

    if imported := await import_transcript(chat.app, chat.session, argument):
        await go_to(chat.app, chat.session, Chosen(imported))


@command("demo", "Try everything on a recorded session; again to leave", leaves=True)
async def _demo(chat: "Chat", argument: str) -> None:
    from tui_app.ui.demo import toggle_demo

    await toggle_demo(chat.app, chat.session)


@command("editor", "Write the prompt in $EDITOR", argument="[text]")
async def _editor(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.prompts import edit_draft

    edit_draft(chat.app, chat.session, argument)


@command("session checkpoints", "List the checkpoint files", opens="always")
async def _checkpoints(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.session_info import show_checkpoints

    await show_checkpoints(chat.app, chat.session)


@command("approvals", "What tools may do, and what was decided", opens="always")
async def _approvals(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.approvals import show_approvals

    await show_approvals(chat.app, chat.session)


@command("settings", "Show and change settings and keys", argument="[words]", opens="always")
async def _settings(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.settings import show_settings

    await show_settings(chat.app, argument)


@command("theme", "Change the theme", argument="[name]", opens="alone")
async def _theme(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.settings import choose_theme

    await choose_theme(chat.app, chat.session, argument)


@command("help", "Keys and commands", opens="always")
async def _help(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.help import show_help

    await show_help(chat.app)


@command("quit", "Leave; it can be resumed", aliases=("exit",))
async def _quit(chat: "Chat", argument: str) -> None:
    await chat.app.leave(ask=True)


@command("queue", "Edit, remove or reorder queued prompts", opens="always")
async def _queue(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.queue import show_queue

    await show_queue(chat.app, chat.session)


@command("memory", "See and change what is remembered here", opens="always")
async def _memory(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.memory import show_memory

    await show_memory(chat.app, chat.session)


@command("subconscious run", "Read this session for the memory now")
async def _subconscious(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.memory import read_session_now

    await read_session_now(chat.session)


@command("mcp", "MCP servers: state, tools, tokens", argument="[reload [name]]", opens="alone")
async def _mcp(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.extensions import show_mcp

    await show_mcp(chat.app, chat.session, argument)


@command("skills", "List what the model can load", opens="always")
async def _skills(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.extensions import show_skills

    await show_skills(chat.app, chat.session)


@command("agents", "List the agents the model can use", opens="always")
async def _agents(chat: "Chat", argument: str) -> None:
    from tui_app.ui.dialogs.extensions import show_agents

    await show_agents(chat.app, chat.session)
