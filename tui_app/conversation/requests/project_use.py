"""A conversation's use of its project: instructions of visited folders, and loaded skills."""

import asyncio
import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tui_app.agent.approvals.command_line import plain_commands
from tui_app.agent.instructions.instructions import InstructionFile, instructions_text, read_folders
from tui_app.agent.tools.files import is_part
from tui_app.context.compaction.plan import Addition
from tui_app.context.message_marks import folder_text
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.requests.project_context import ProjectContext
from tui_app.events import FolderInstructions, Notice, Record, ToolCall, ToolResult, UserMessage, data_of
from tui_app.paths import from_home
from tui_app.system.project_files import Refused, repository_root
from tui_app.tool_specs import GREP, RUN_COMMAND, USE_SKILL, tool_spec


@dataclass(slots=True)
class ProjectUse:
    """Gives one conversation the instructions of the folders it visits, each file once.

    Compactions keep these and the loaded skills, so no summary has to contain them.
    """

    history: SessionHistory
    project: ProjectContext
    _called: dict[str, Sequence[str]] = field(default_factory=dict)
    """Paths of running calls, by call id."""
    _touched: list[Path] = field(default_factory=list)
    """Paths read since the last request."""
    _looked: tuple[int, set[Path]] = (0, set())
    """Version of the view, and folders examined since then."""

    def on_record(self, record: Record) -> None:
        """Record the paths that a tool, or the user with a prompt, has read."""
        match record.data:
            case ToolCall(tool_call_id=call, name=name, args=args):
                self._called[call] = _paths_in(name, args)
            case ToolResult(tool_call_id=call, name=name, outcome=outcome, text=text):
                paths = self._called.pop(call, ())
                if outcome == "success":
                    found = _HIT.findall(text) if name == GREP.name else ()
                    self._touched += map(Path, dict.fromkeys((*paths, *found)))
            case UserMessage(attachments=paths):
                self._touched += map(Path, paths)

    async def add_folder_instructions(self, _request: object) -> None:
        """Add the instructions of folders that were used after the newest message of the view."""
        touched, self._touched = self._touched, []
        if not touched or not self.project.follows:
            return
        folders = await asyncio.to_thread(self._folders, touched)
        version, looked = self._looked
        if version != self.history.version:
            # Instructions may have left the view since.
            looked = set()
        self._looked = self.history.version, looked | folders.keys()
        if not folders.keys() - looked:
            return
        known = [file.real for file in self.project.files if file.real]
        paths = {*self.folders().values()}
        for file in await asyncio.to_thread(self._read, folders, known):
            if file.path in paths:
                continue
            if file.text:
                text = folder_text(instructions_text([file], intro=""))
                self.history.write_note(FolderInstructions(text=text, path=file.path))
            if file.problem:
                self.history.append(Notice(text=file.problem))

    def folders(self) -> dict[int, str]:
        """Instruction files in the view, or summarised there, by the log numbers of their messages."""
        records = self.history.newest_events(FolderInstructions)
        paths = {each.seq: event.path for each in records if (event := data_of(each, FolderInstructions))}
        if not paths:
            return {}
        present = {head.seq for head in self.history.view.iter_held()} | self.history.view.excluded.keys()
        return {seq: path for seq, path in sorted(paths.items()) if seq in present}

    def skills(self) -> list[str]:
        """Names of the loaded skills, in order."""
        history, called = self.history, f"{USE_SKILL.name} "
        results = (head for head in history.view.iter_held() if head.type == ToolResult.TYPE)
        loaded = {id for head in results if head.state == "success" for id in head.ids}
        calls = history.store.newest(history.session, (ToolCall.TYPE,))
        calls = (head for head in calls if head.title.startswith(called) and head.ids[0] in loaded)
        return list(dict.fromkeys(head.title.removeprefix(called) for head in calls))[::-1]

    def additions(self) -> Sequence[Addition]:
        """Each visited instruction file and loaded skill in its current form, for compactions to keep."""
        paths = {*self.folders().values()} if self.project.follows else set()
        root = repository_root(self.project.cwd)
        found = self._read(dict.fromkeys(sorted((root / from_home(each)).parent for each in paths)), ())
        added = [Addition(f"Instructions of {each.path}", each.text) for each in found if each.path in paths]
        for name in self.skills() if self.project.skills.found else ():
            if (skill := self.project.skills.named(name)) is not None:
                with suppress(Refused):
                    added.append(Addition(f"Skill in use: {name}", skill.body()))
        return added

    def _folders(self, touched: Sequence[Path]) -> dict[Path, None]:
        """The folders between an opened folder and a path that was read, the outermost first.

        Instructions of the working folder itself are known already; those of an added folder are not.
        """
        top, root = self.project.cwd.resolve(), repository_root(self.project.cwd)
        opened = [(top, root, top), *((each, each, each.parent) for each in self.project.known)]
        found: set[Path] = set()
        for path in touched:
            real = Path(os.path.realpath(top / path))
            if not real.exists():  # a word of a command that is no file
                continue
            place = real if real.is_dir() else real.parent
            for folder, project, above in opened:
                if place.is_relative_to(folder) and is_part(project, place):
                    found |= {each for each in (place, *place.parents) if above in each.parents}
                    break
        return dict.fromkeys(sorted(found))

    def _read(self, folders: Iterable[Path], known: Iterable[Path]) -> tuple[InstructionFile, ...]:
        """Read the instructions of some folders. Blocks on the disk."""
        project = self.project
        root = repository_root(project.cwd)
        return read_folders([*folders], root, project.may_read, added=project.known, known=known)


_HIT = re.compile(r"^([^:\n\0]+):\d+: ", re.MULTILINE)
"""A line with a search hit."""


def _paths_in(name: str, args: str) -> Sequence[str]:
    """The paths in a call. The whole workspace is none; any word of a command may be one."""
    try:
        given = json.loads(args)
        if name == RUN_COMMAND.name:
            words = (word for part in plain_commands(given.get("command", "")) for word in part.words)
            return [word for word in words if not word.startswith("-")][:_MOST_WORDS]
        path = given.get("path", "") if tool_spec(name).rule == "file" else ""
    except (ValueError, AttributeError):
        return ()
    return [path] if isinstance(path, str) and path and "\0" not in path else ()


_MOST_WORDS = 50
