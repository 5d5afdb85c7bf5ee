"""Tools of a conversation: those that change something, and search of earlier messages."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from pydantic_ai import RunContext

from tui_app.agent.approvals.command_line import Folder
from tui_app.agent.approvals.rules import Action, AgentGate, Judge
from tui_app.agent.diagnostics.diagnostics import DiagnosticsTool, EditDiagnostics, edit_diagnostics
from tui_app.agent.tools.ask_tool import Asker, AskTool
from tui_app.agent.tools.command_tool import CommandTool, TaskTool, command_runner
from tui_app.agent.tools.note_tools import NoteTools
from tui_app.agent.tools.tasks import BackgroundTasks
from tui_app.agent.tools.toolset import FileTools, tools_of
from tui_app.agent.tools.web import ProviderSearch, WebTool
from tui_app.context.compaction.compaction_tool import ContextToolset
from tui_app.context.compaction.compactor import Asked, Compactor
from tui_app.context.history import ignore
from tui_app.conversation.approvals import Approvals, CallsAhead
from tui_app.conversation.consent.questions import AgentQuestions, Questions
from tui_app.conversation.files.file_snapshots import FileKeeper
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.memory.recall import SessionSearch
from tui_app.conversation.memory.repository_search import RepositorySearch
from tui_app.conversation.requests.open_request import Opening
from tui_app.events import ApprovalDecided, Record, ToolOutput
from tui_app.session.kept_files import KeptFiles
from tui_app.session.workspace import TEMPORARY
from tui_app.settings.tables import parse_rule
from tui_app.tool_specs import COMPACT_CONTEXT, FILE_LOOKERS, RUN_COMMAND

MOST_DECISIONS = 500
"""Maximum decisions shown, the newest first."""


class Tooling:
    """The tools of one conversation, with their approvals and the searches of its past.

    In read-only mode there are none that change something.

    Args:
        opening: Which session, with which settings.
        history: Its view and log.
        compactor: Its compactor. Without one, the tools are only measured.
        lender: For a subagent, the tools of the session that started it. Approvals, questions, kept files and
            background commands are shared with those.
        agent: Name of the subagent.

    Attributes:
        gate: Asks the approvals, for a subagent under its name.
        ahead: The calls that have not been allowed yet.
        working: The tools themselves.
        asking: Names of the built-in tools that ask for approval themselves, including those that read files.
        context: Lets the model request a compaction.
        command: Runs commands.
        tasks: Background commands.
        cut_short: Output of stopped commands, by the id of the call.
        by_provider: Tools that the model's provider runs itself while it answers.
        diagnostics: Reports of language servers after edits; None if there are none.
    """

    def __init__(
        self,
        opening: Opening,
        history: SessionHistory,
        compactor: Compactor | None = None,
        lender: "Tooling | None" = None,
        agent: str = "",
    ) -> None:
        settings, folder, secrets = opening.settings, history.archive.folder, opening.secrets()
        # Resolved once: a command could redirect a link before the next call.
        places = (opening.cwd.resolve(), *opening.added)
        confinement = partial(opening.confinement, places, (folder.path / TEMPORARY).resolve())
        kept = confinement() if settings.sandbox_unasked and opening.trusted else None
        asked_for = [parse_rule("allow", text, "command line") for text in opening.allow]
        unasked = [parse_rule("allow", RUN_COMMAND.name, "built in")] if kept and kept.is_kept_in else []
        workspace = opening.workspace(session=folder.path)
        asker: Asker
        if lender is None:
            self.approvals = Approvals(
                history.append,
                rules=(*opening.rules, *asked_for, *unasked),
                folder=Folder(opening.cwd, opening.paths.own_folders, opening.added),
                read_only=settings.read_only,
                mode=opening.first_mode,
                attended=opening.attended,
                yes=opening.yes,
            )
            self.gate: Judge = self.approvals
            self.ahead = self.approvals.ahead
            asker = self.questions = Questions(history.append, self.ahead, opening.attended)
            self.files = FileKeeper(history, KeptFiles(folder.kept_files), workspace)
        else:
            self.approvals, self.questions, self.files = lender.approvals, lender.questions, lender.files
            self.gate, self.ahead = AgentGate(self.approvals, agent), CallsAhead(ignore)
            asker = AgentQuestions(self.questions, agent)
        gate = self.gate
        self.search = SessionSearch(history.store, history.session)
        self.project = RepositorySearch(opening.database, history.session, opening.cwd, gate)
        self.working, self.asking = tuple[Callable[..., Any], ...](), FILE_LOOKERS
        self.cut_short = dict[str, str]()
        self.by_provider = tuple[ProviderSearch, ...]()
        self.context: ContextToolset | None = None
        self.command: CommandTool | None = None
        self.tasks: BackgroundTasks | None = lender.tasks if lender else None
        self.diagnostics: EditDiagnostics | None = lender.diagnostics if lender else None
        if settings.read_only:
            return

        def show(call: str, text: str) -> None:
            history.append(ToolOutput(tool_call_id=call, text=text))

        outward, required = opening.outward_env(), settings.sandbox == "require"
        runner = command_runner(opening.cwd, outward, secrets)
        tasks = self.tasks or BackgroundTasks(
            runner=runner, folder=folder.path / "tasks", report=history.append, secrets=secrets
        )
        if lender is None:
            self.tasks = tasks
        if lender is None and settings.diagnostics != "off":
            self.diagnostics = edit_diagnostics(
                workspace,
                gate,
                chosen=settings.language_servers,
                trusted=opening.trusted,
                env=outward,
                masked=secrets.masked,
                confinement=confinement,
                required=required,
            )
        limit_s, stopped = settings.command_timeout_s, self.cut_short
        self.command = CommandTool(runner, gate, tasks, show, limit_s, stopped, confinement, required)
        writing = FileTools(workspace, gate, self.files, tasks.written)
        checks = list[object]()
        if self.diagnostics is not None:
            writing = replace(writing, changed=self.diagnostics.found.changed)
            checks = [DiagnosticsTool(self.diagnostics.found, gate)]
        web = [] if settings.web_fetch == "off" else [WebTool(gate, private=settings.web_fetch == "any")]
        acting = tools_of(writing, self.command, *web, *checks)
        self.asking |= {tool.__name__ for tool in acting}

        async def permit(ctx: RunContext[Any], asked: Asked) -> str | None:
            tool, note, call = COMPACT_CONTEXT.name, "compacts the conversation", ctx.tool_call_id or ""
            subject, detail = asked.reason, asked.focus
            return await gate(
                Action(tool=tool, kind="other", subject=subject, detail=detail, note=note, call=call)
            )

        self.context = ContextToolset(lambda _run: compactor, permit)
        notes = NoteTools(folder.plan_file, folder.todo_file)
        self.working = (*acting, *tools_of(TaskTool(tasks), notes, AskTool(asker)))
        self.by_provider = (ProviderSearch(),) if settings.web_search else ()

    def decisions(self) -> list[Record]:
        """Decisions about calls in this session, the newest first."""
        return list(islice(self.files.history.newest_events(ApprovalDecided), MOST_DECISIONS))
