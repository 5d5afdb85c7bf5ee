"""The tools of a conversation that change something, put together from what the settings allow."""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_app.agent.tools.keeping_notes import NoteTools
from tui_app.agent.tools.notes import Notes
from tui_app.agent.tools.process import ProcessRunner
from tui_app.agent.tools.toolset import LOOKING
from tui_app.agent.tools.web import WebTool
from tui_app.agent.tools.working import CommandTool, FileTools
from tui_app.agent.tools.workspace import Workspace
from tui_app.conversation.approvals import Approvals, command_line_rules
from tui_app.conversation.file_keeping import FileKeeper
from tui_app.conversation.hooks.environment import without_keys
from tui_app.conversation.request import Opening
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import ApprovalDecided, Record, ToolOutput
from tui_app.paths import Paths
from tui_app.session.workspace import KeptFiles, SessionFolder
from tui_app.settings.approvals import rules_of

MOST_DECISIONS = 500
"""So many of the newest are shown."""


@dataclass(frozen=True, slots=True)
class Tooling:
    """What stands around the tools of one conversation."""

    approvals: Approvals
    files: FileKeeper
    working: tuple[Callable[..., Any], ...]
    """The tools themselves; none in read-only mode."""
    asking: frozenset[str] = frozenset()
    """Names of the built-in tools that ask for themselves, those that look at files among them."""
    cut_short: MutableMapping[str, str] = field(default_factory=dict)
    """By the id of its call, what a command had printed that was stopped."""

    def decisions(self) -> list[Record]:
        """What was decided about calls in this session, the newest first."""
        store, session = self.files.history.store, self.files.history.session
        numbers = [head.seq for head in store.heads(session) if head.type == ApprovalDecided.TYPE]
        found = (store.record(session, seq) for seq in reversed(numbers[-MOST_DECISIONS:]))
        return [record for record in found if record is not None]


def make_tooling(opening: Opening, history: SessionHistory, folder: SessionFolder) -> Tooling:
    """Put the tools together."""
    settings = opening.settings
    approvals = Approvals(
        history.append,
        rules=(*rules_of(settings.approvals), *command_line_rules(opening.allow)),
        read_only=settings.read_only,
        attended=opening.attended,
        yes=opening.yes,
    )
    workspace = Workspace(opening.cwd, closed=own_folders(opening.paths))
    files = FileKeeper(history, KeptFiles(folder.kept_files), workspace)
    working: tuple[Callable[..., Any], ...] = ()
    noting: tuple[Callable[..., Any], ...] = ()
    cut_short: dict[str, str] = {}
    if not settings.read_only:
        notes = NoteTools(Notes(folder.plan_file, folder.todo_file))
        writing = FileTools(workspace, approvals, files)
        command = _command(opening, history, approvals, cut_short)
        working = (writing.write_file, writing.edit_file, command.run_command)
        noting = (notes.todo, notes.plan)
        if settings.web_fetch != "off":
            web = WebTool(approvals, private=settings.web_fetch == "any")
            working = (*working, web.web_fetch)
    asking = frozenset(tool.__name__ for tool in working) | LOOKING
    return Tooling(approvals, files, (*working, *noting), asking, cut_short)


def own_folders(paths: Paths) -> tuple[Path, ...]:
    """Folders of the program's own: whoever writes there could allow himself anything."""
    return (paths.config, paths.data, paths.state, paths.cache)


def _command(
    opening: Opening, history: SessionHistory, approvals: Approvals, cut_short: dict[str, str]
) -> CommandTool:
    named = [endpoint.key_env for endpoint in opening.settings.endpoints.values()]
    return CommandTool(
        ProcessRunner(opening.cwd, without_keys(opening.env, named)),
        approvals,
        lambda call, text: _show(history, call, text),
        opening.settings.command_timeout_s,
        cut_short,
    )


def _show(history: SessionHistory, call: str, text: str) -> None:
    history.append(ToolOutput(tool_call_id=call, text=text))
