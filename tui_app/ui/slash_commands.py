"""The built-in slash commands: each is declared here once, with what it does.

Prompt, help, palette and the page of keys read the table. It is made before the first frame, so what a
command needs is imported when it runs.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from inspect import isawaitable, signature
from typing import TYPE_CHECKING, Any

from tui_app.refusals import Refusal
from tui_app.ui import slash
from tui_app.ui.slash import SlashCommand

if TYPE_CHECKING:
    from tui_app.ui.host import Chat

COMMANDS = slash.COMMANDS


class Flow:
    """A command implemented by one function, mostly of a dialog.

    Arguments are passed by parameter name: ``app``, ``session``, ``taken`` (names that custom commands cannot
    have); any other parameter gets the command's argument.

    Args:
        name: Module and function.
        folder: Package of the module.
        fixed: Further keyword arguments.
    """

    def __init__(self, name: str, folder: str = "tui_app.ui.dialogs", **fixed: bool) -> None:
        self._name, self._folder, self._fixed = name, folder, fixed

    @property
    def function(self) -> Callable[..., Any]:
        module, _, name = self._name.rpartition(".")
        return partial(getattr(import_module(f"{self._folder}.{module}"), name), **self._fixed)

    async def __call__(self, chat: "Chat", argument: str) -> None:
        values = {"app": chat.app, "session": chat.session, "taken": reserved_names()}
        function = self.function
        takes = (
            each for each in signature(function).parameters.values() if each.kind is not each.KEYWORD_ONLY
        )
        done = function(*(values.get(each.name, argument) for each in takes))
        if isawaitable(done):
            await done


def reserved_names() -> set[str]:
    """Return the names that custom commands cannot have, with the first words of two-word commands."""
    return {word for command in COMMANDS for name in command.names for word in (name, name.split()[0])}


async def run_command(chat: "Chat", command: SlashCommand, argument: str) -> None:
    """Run a command, or report why not. Runs in a worker, so dialogs may be awaited.

    A refused command that had an argument is put back into the editor, to be corrected.
    """
    session = chat.session
    session.command = f"/{command.name} {argument}" if argument else ""
    try:
        if command.writes and session.read_only:
            raise Refusal(session.read_only)
        await command.handler(chat, argument)
    except Exception as error:
        from tui_app.session.stores.store import SessionNotFound, explained

        if isinstance(error, Refusal | SessionNotFound):
            session.reply(str(error))
        elif why := explained(error, session.launch.paths.database):
            # An error of a named file is an answer to the user; an error of the log is kept as a notice.
            tell = session.reply if isinstance(error, OSError) else session.report
            tell(f"/{command.name} did not work. {why}")
        else:
            raise
        session.put_command_back()


async def _verify(chat: "Chat", _: str) -> None:
    from tui_app.conversation.work import VerifySummary

    chat.session.submit(VerifySummary())


async def _todo(chat: "Chat", _: str) -> None:
    if not chat.pane.toggle_todos():
        chat.session.reply("There is no todo list: the model keeps one when it has several things to do.")


async def _new(chat: "Chat", _: str) -> None:
    from tui_app.ui.dialogs.sessions.session_choice import Chosen, go_to

    await go_to(chat.app, chat.session, Chosen(""))


COMMANDS += (
    SlashCommand("compact", "Summarise old history; --review, --extract, --try, --from, --up-to",
        Flow("actions.compact"), aliases=("summarize", "offload"), argument="[focus]", busy="queue"),
    SlashCommand("undo", "Undo the last compaction, exclusion, rewind, merge or /clear",
        Flow("actions.restate", undo=True), busy="queue"),
    SlashCommand("redo", "Apply an undone compaction or exclusion again", Flow("actions.restate", undo=False),
        busy="queue"),
    SlashCommand("verify", "Have the model check the newest summary against its sources", _verify,
        busy="queue", writes=True),
    SlashCommand("rewind", "Go back to before an earlier prompt", Flow("sessions.rewind.rewind"),
        argument="[#number]", busy="queue", opens="always", writes=True),
    SlashCommand("retry", "Send the last prompt again", Flow("sessions.rewind.retry"), busy="queue",
        writes=True),
    SlashCommand("fork", "Branch off at an earlier prompt", Flow("sessions.fork.fork"), argument="[#number]",
        opens="always", leaves=True),
    SlashCommand("branch", "Try something aside, with its own files, from here or before a prompt",
        Flow("sessions.branches.branch"), argument="[#number] [name]", leaves=True),
    SlashCommand("merge", "Bring the outcome of a branch back: a brief and its files",
        Flow("compactions.merge.merge"), argument="[branch]", opens="always", writes=True),
    SlashCommand("tree", "Show the branches of this session in the timeline, or go to one",
        Flow("sessions.branches.show_tree"), argument="[branch]"),
    SlashCommand("handoff", "Continue in a new session with a brief of this one",
        Flow("compactions.handoff.hand_over"), argument="[goal]", opens="always", writes=True, leaves=True),
    SlashCommand("clear", "Start with an empty context (history stays)", Flow("sessions.rewind.clear"),
        busy="queue", opens="always", writes=True),
    SlashCommand("history", "Show turn and message counts", Flow("session_info.show_history"),
        opens="always"),
    SlashCommand("context", "Show what fills the context", Flow("compactions.context.show_context"),
        aliases=("tokens",), opens="always"),
    SlashCommand("model", "Choose a model", Flow("models.choose_model"), aliases=("models",),
        argument="[name]", busy="queue", opens="alone", writes=True),
    SlashCommand("effort", "Choose the reasoning effort", Flow("choices.change_effort"), argument="[level]",
        busy="queue", opens="alone"),
    SlashCommand("policy", "Choose the context policy", Flow("choices.change_policy"), argument="[name]",
        busy="queue", opens="alone"),
    SlashCommand("mode", "Change the mode: ask, edit or plan", Flow("choices.change_mode"), argument="[name]",
        opens="alone", writes=True),
    SlashCommand("accept", "Accept the plan and carry it out", Flow("choices.accept_plan"),
        argument="[ask|edit]", busy="queue", writes=True),
    SlashCommand("todo", "Show or hide the todo list", _todo),
    SlashCommand("resume", "Open another session", Flow("sessions.session_choice.resume"),
        aliases=("sessions", "threads"), argument="[words|ID]", opens="always", leaves=True),
    SlashCommand("new", "Start a new session", _new, leaves=True),
    SlashCommand("status", "Model, policy, context and session at a glance", Flow("session_info.show_status"),
        opens="always"),
    SlashCommand("stats", "Session statistics: work, cost, tokens saved", Flow("stats.show_stats"),
        opens="always"),
    SlashCommand("audit", "What compactions lost, and what each policy would have kept",
        Flow("session_info.show_audit"), opens="always"),
    SlashCommand("copy", "Copy the last answer as Markdown", Flow("message_actions.copy_message"),
        argument="[text|code] [n|#number]"),
    SlashCommand("find", "Find words in the conversation",
        lambda chat, words: chat.pane.finding.open(words), argument="[words]", opens="always"),
    SlashCommand("diff", "What this session changed, and what git says", Flow("changes.show_changes"),
        opens="always"),
    SlashCommand("commit", "Propose a commit message, then commit if you agree", Flow("changes.commit"),
        argument="[hint]", opens="always"),
    SlashCommand("tasks", "Background commands: read their output, stop them",
        Flow("extensions.tasks.show_tasks"), opens="always"),
    SlashCommand("pin", "Keep a message word for word", Flow("pins.pin", pinned=True),
        argument="[#number|last]", opens="alone"),
    SlashCommand("unpin", "Unpin a message", Flow("pins.pin", pinned=False), argument="[#number|last]",
        opens="alone"),
    SlashCommand("exclude", "Exclude messages from the context; add turn for whole turns",
        Flow("message_actions.exclude_by_number", excluded=True), argument="[#number … [turn]]", busy="queue",
        opens="alone", writes=True),
    SlashCommand("include", "Bring excluded messages back",
        Flow("message_actions.exclude_by_number", excluded=False), argument="[#number …]", busy="queue",
        opens="alone", writes=True),
    SlashCommand("prompts", "Search earlier prompts", Flow("sessions.prompts.search_prompts"),
        opens="always"),
    SlashCommand("export", "Save this conversation (md, html, json)", Flow("sessions.export.export_session"),
        argument="[file]"),
    SlashCommand("import", "Continue a session from Claude Code, Codex, …",
        Flow("sessions.import_export.import_transcript"), argument="[file]", opens="always"),
    SlashCommand("demo", "Guided demo on a recorded session; run it again to leave",
        Flow("demo.toggle_demo", "tui_app.ui"), leaves=True),
    SlashCommand("editor", "Write the prompt in $EDITOR", Flow("outside_editor.edit_draft", "tui_app.ui"),
        argument="[text]"),
    SlashCommand("session checkpoints", "List the checkpoint files",
        Flow("compactions.checkpoints.show_checkpoints"), opens="always"),
    SlashCommand("approvals", "What tools may do, and what was decided",
        Flow("extensions.approvals.show_approvals"), opens="always"),
    SlashCommand("trust", "Trust this folder: use its instructions, its commands and git",
        Flow("extensions.trust.grant_trust"), opens="always"),
    SlashCommand("guard", "Stop calls that break a rule of yours: edits PATH, command WORDS, writes, tests",
        Flow("extensions.approvals.set_guard"), argument="[edits|command|writes|tests …]", opens="alone",
        writes=True),
    SlashCommand("goal", "Have the model work until a check holds; off ends it", Flow("choices.set_goal"),
        argument="[text --check …|off]", writes=True),
    SlashCommand("settings", "Show and change settings and keys", Flow("settings_desk.show_settings"),
        argument="[words]", opens="always"),
    SlashCommand("theme", "Change the theme", Flow("settings_desk.choose_theme"), argument="[name]",
        opens="alone"),
    SlashCommand("help", "Keys and commands", Flow("help_rows.show_help"), opens="always"),
    SlashCommand("quit", "Leave; it can be resumed", lambda chat, _: chat.app.leave(ask=True),
        aliases=("exit",)),
    SlashCommand("detach", "Leave it running in the background, and quit", Flow("actions.detach"),
        leaves=True),
    SlashCommand("queue", "Edit, remove or reorder queued prompts", Flow("extensions.queue.show_queue"),
        opens="always"),
    SlashCommand("memory", "See and change what is remembered here", Flow("extensions.memory.show_memory"),
        opens="always"),
    SlashCommand("subconscious run", "Update memory from this session now",
        Flow("extensions.memory.read_session_now"), writes=True),
    SlashCommand("mcp", "MCP servers: state, tools, tokens", Flow("extensions.mcp.show_mcp"),
        argument="[reload [name]]", opens="alone", writes=True),
    SlashCommand("tools", "Tools: tokens, state, switch off", Flow("setup.tools.show_tools"), opens="always",
        writes=True),
    SlashCommand("skills", "List what the model can load", Flow("extensions.skills.show_skills"),
        opens="always"),
    SlashCommand("agents", "Sub-agents: read, stop or open them; agents the model can use",
        Flow("extensions.skills.show_agents"), opens="always"),
)  # fmt: skip
