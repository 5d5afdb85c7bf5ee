"""The tools of a conversation: those that change something, and finding again what was said."""

from collections.abc import Callable, MutableMapping
from dataclasses import field, replace
from functools import partial
from itertools import islice
from typing import Any

from pydantic_ai import RunContext

from tui_app.agent.approvals.command_line import Folder
from tui_app.agent.approvals.rules import Action, AgentGate, Judge
from tui_app.agent.diagnostics.diagnostics import DiagnosticsTool, EditDiagnostics, edit_diagnostics
from tui_app.agent.tools.command_tool import CommandTool, TaskTool, command_runner
from tui_app.agent.tools.tasks import BackgroundTasks
from tui_app.agent.tools.toolset import (
    Asker,
    AskTool,
    FileTools,
    NoteTools,
    tools_of,
)
from tui_app.agent.tools.web import ProviderSearch, WebTool
from tui_app.agent.tools.workspace import Workspace
from tui_app.context.compaction.compaction_tool import ContextToolset
from tui_app.context.compaction.compactor import Asked, Compactor
from tui_app.conversation.approvals import (
    AgentQuestions,
    Approvals,
    CallsAhead,
    Questions,
    command_line_rules,
)
from tui_app.conversation.file_snapshots import FileKeeper
from tui_app.conversation.open_request import Opening
from tui_app.conversation.recall import RepositorySearch, SessionSearch
from tui_app.conversation.request_hook import RequestHook
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.shell import tell_tasks
from tui_app.events import (
    ApprovalDecided,
    Record,
    ToolOutput,
)
from tui_app.records import frozen
from tui_app.session.workspace import TEMPORARY, KeptFiles, SessionFolder
from tui_app.settings.tables import parse_rule
from tui_app.tool_specs import COMPACT_CONTEXT, FILE_LOOKERS, RUN_COMMAND

MOST_DECISIONS = 500
"""So many of the newest are shown."""


@frozen
class Tooling:
    """The tools of one conversation that change something, who is asked before, and where to look back."""

    approvals: Approvals
    gate: Judge
    """Asks them; of a sub-agent in its name."""
    ahead: CallsAhead
    """The calls that have not been allowed yet."""
    questions: Questions
    files: FileKeeper
    search: SessionSearch
    project: RepositorySearch
    working: tuple[Callable[..., Any], ...]
    """The tools themselves; none in read-only mode."""
    asking: frozenset[str] = frozenset()
    """Names of the built-in tools that ask for themselves, those that look at files among them."""
    context: ContextToolset | None = None
    """By which the model asks for a compaction; None in read-only mode."""
    tasks: BackgroundTasks | None = None
    """Background commands; None in read-only mode."""
    news: tuple[RequestHook, ...] = ()
    """Tells the model which of them have ended."""
    cut_short: MutableMapping[str, str] = field(default_factory=dict)
    """By the id of its call, what a command had printed that was stopped."""
    command: CommandTool | None = None
    """Runs commands; None in read-only mode."""
    by_provider: tuple[ProviderSearch, ...] = ()
    """What the model's provider does itself while it answers."""
    diagnostics: EditDiagnostics | None = None
    """What language servers say after edits; None where there are none."""

    def decisions(self) -> list[Record]:
        """What was decided about calls in this session, the newest first."""
        return list(islice(self.files.history.newest_events(ApprovalDecided), MOST_DECISIONS))


def make_tooling(
    opening: Opening,
    history: SessionHistory,
    folder: SessionFolder,
    compactor: Compactor | None = None,
    lender: Tooling | None = None,
    agent: str = "",
) -> Tooling:
    """Make the tools that the settings allow.

    Args:
        opening: Which session, with what settings.
        history: Its view and log.
        folder: Its files.
        compactor: What compacts it; without one the tools are only measured.
        lender: The tools of the session that has sent a sub-agent: what asks, keeps files and goes on in the
            background is theirs.
        agent: What the sub-agent is called.
    """
    settings = opening.settings
    # Once: a command could have a link lead elsewhere by the time of the next.
    workspace_folder, added = opening.cwd.resolve(), opening.added

    confinement = partial(
        opening.confinement, (workspace_folder, *added), (folder.path / TEMPORARY).resolve()
    )
    kept = confinement() if settings.sandbox_unasked and opening.trusted else None
    unasked = (parse_rule("allow", RUN_COMMAND.name, "built in"),) if kept and kept.is_kept_in else ()
    workspace = Workspace(opening.cwd, (), opening.paths.own_folders, added=added, session=folder.path)
    gate: Judge
    asker: Asker
    if lender is None:
        gate = approvals = Approvals(
            history.append,
            rules=(*opening.rules, *command_line_rules(opening.allow), *unasked),
            folder=Folder(opening.cwd, opening.paths.own_folders, opening.added),
            read_only=settings.read_only,
            mode=opening.first_mode,
            attended=opening.attended,
            yes=opening.yes,
        )
        ahead = approvals.ahead
        asker = questions = Questions(history.append, ahead, opening.attended)
        files = FileKeeper(history, KeptFiles(folder.kept_files), workspace)
    else:
        approvals, questions, files = lender.approvals, lender.questions, lender.files
        gate, ahead, asker = (
            AgentGate(approvals, agent),
            CallsAhead(lambda _: None),
            AgentQuestions(questions, agent),
        )
    search = SessionSearch(history.store, history.session)
    project = RepositorySearch(opening.database, history.session, opening.cwd, gate)
    made = partial(Tooling, approvals, gate, ahead, questions, files, search, project)
    if settings.read_only:
        return made((), asking=FILE_LOOKERS)

    def show(call: str, text: str) -> None:
        history.append(ToolOutput(tool_call_id=call, text=text))

    cut_short: dict[str, str] = {}
    secrets = opening.secrets()
    runner = command_runner(opening.cwd, opening.outward_env(), secrets)
    tasks, diagnostics = (lender.tasks, lender.diagnostics) if lender is not None else (None, None)
    if tasks is None:
        tasks = BackgroundTasks(
            runner=runner, folder=folder.path / "tasks", report=history.append, secrets=secrets
        )
    if lender is None and settings.diagnostics != "off":
        diagnostics = edit_diagnostics(
            workspace,
            gate,
            chosen=settings.language_servers,
            trusted=opening.trusted,
            env=opening.outward_env(),
            masked=secrets.masked,
            confinement=confinement,
            required=settings.sandbox == "require",
        )

    command = CommandTool(
        runner,
        gate,
        show,
        settings.command_timeout_s,
        cut_short,
        confinement,
        settings.sandbox == "require",
        tasks,
    )
    writing = FileTools(workspace, gate, files, tasks.written)
    if diagnostics is not None:
        writing = replace(writing, changed=diagnostics.found.changed)
    web = [] if settings.web_fetch == "off" else [WebTool(gate, private=settings.web_fetch == "any")]
    checks = [] if diagnostics is None else [DiagnosticsTool(diagnostics.found, gate)]
    working = tools_of(writing, command, *web, *checks)
    asking = frozenset(tool.__name__ for tool in working) | FILE_LOOKERS

    async def permit(ctx: RunContext[Any], asked: Asked) -> str | None:
        return await gate(
            Action(
                tool=COMPACT_CONTEXT.name,
                kind="other",
                subject=asked.reason,
                detail=asked.focus,
                note="compacts the conversation",
                call=ctx.tool_call_id or "",
            )
        )

    context = ContextToolset(lambda _run: compactor, permit)
    notes = NoteTools(folder.plan_file, folder.todo_file)
    working += tools_of(TaskTool(tasks), notes, AskTool(asker))
    return made(
        tuple(working),
        asking,
        context,
        tasks,
        # Of a sub-agent's commands the session that has sent it is told.
        () if lender is not None else (RequestHook(partial(tell_tasks, tasks, history)),),
        cut_short,
        command,
        (ProviderSearch(),) if settings.web_search else (),
        diagnostics,
    )
