"""What a folder tells the model: instructions of the project and of its folders, skills, agents.

Instructions and names of skills are part of every request. They are read when a session is opened, and again
after each compaction: in between every request begins with the same bytes, which a provider may have cached.
"""

import asyncio
import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from tui_app.agent.approvals.command_line import plain_commands
from tui_app.agent.instructions.agent_files import AgentFiles, agents_text, find_agents
from tui_app.agent.instructions.instructions import (
    InstructionFile,
    folder_instructions_text,
    instructions_text,
    read_folders,
    read_instructions,
    surroundings_text,
)
from tui_app.agent.instructions.skills import Skills, find_skills, skills_text
from tui_app.agent.tools.files import is_part
from tui_app.context.compaction.plan import Addition
from tui_app.context.message_marks import folder_text
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.requests.open_request import Opening
from tui_app.events import (
    CompactionComplete,
    FolderInstructions,
    Notice,
    Record,
    ToolCall,
    ToolResult,
    UserMessage,
    data_of,
)
from tui_app.memory.scope import scope_of
from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.sandbox import find_sandbox
from tui_app.settings.spec import ExploreSettings
from tui_app.system.project_files import Refused, repository_root
from tui_app.system.trust import trust_in
from tui_app.tool_specs import GREP, RUN_COMMAND, USE_SKILL, tool_spec

DATE_VARIABLE = "SOURCE_DATE_EPOCH"
"""Seconds since the epoch that stand for now, by the convention of reproducible builds."""
_DIGITS = re.compile("[0-9]{1,11}")


def today(fixed: str = "") -> date:
    """The date here.

    Args:
        fixed: What ``DATE_VARIABLE`` says, if anything.
    """
    now = datetime.fromtimestamp(int(fixed), UTC) if _DIGITS.fullmatch(fixed) else datetime.now().astimezone()
    return now.date()


class ProjectContext:
    """Instructions of the user and the project, skills and surroundings as the model is told of them.

    Nothing is read before ``reload``.

    Attributes:
        trusted: Whether the user trusts the working folder; else nothing of it is read.
        instructed: Whether instructions of the project are read at all.
        may_read: What the rules say of files.
        added: Further folders that the user has opened.
        known: Those among them that the user trusts.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self.cwd, self.added, self.trusted = opening.cwd, opening.added, opening.trusted
        self.known = tuple(each for each in self.added if trust_in(opening.paths, opening.env, each))
        self.instructed, self.may_read = opening.settings.project_instructions, opening.may_read()
        wanted = "off" if opening.settings.read_only else opening.settings.sandbox
        self._sandbox = find_sandbox(wanted).sentence(network=opening.settings.sandbox_network)
        self.files: tuple[InstructionFile, ...] = ()
        self.skills, self.agents, self._surroundings = Skills(), AgentFiles(), ""

    @property
    def follows(self) -> bool:
        """Whether instructions of the working folder count."""
        return self.instructed and self.trusted

    def reload(self) -> None:
        """Read everything anew: the next request begins in another way, if anything has changed."""
        opening, may_read, config = self._opening, self.may_read, self._opening.paths.config
        self.files = read_instructions(self.cwd if self.follows else None, may_read, config, self.known)
        scope = scope_of(self.cwd)
        # A folder may point at git's files of another repository, whose names are nobody's here.
        branch = "" if scope.is_claimed else scope.branch
        now = today(opening.env.get(DATE_VARIABLE, ""))
        self._surroundings = surroundings_text(self.cwd, branch, now, self.added, self._sandbox)
        place = self.cwd if self.trusted else None
        self.skills = find_skills(place, config, may_read)
        if ExploreSettings(**opening.settings.explore).enabled:
            self.agents = find_agents(place, config, may_read, opening.policies)

    def on_record(self, record: Record) -> None:
        if isinstance(record.data, CompactionComplete) and record.data.outcome == "success":
            self.reload()

    def instructions(self) -> str:
        """What the model reads, before everything that was said; empty for nothing."""
        lists = skills_text(self.skills), agents_text(self.agents.found)
        return "\n\n".join(filter(None, (instructions_text(self.files), *lists)))

    def pieces(self) -> Sequence[tuple[str, str]]:
        """The same by what it is from: each file with its text, skills, agents."""
        files = [(each.path, each.text) for each in self.files]
        return [*files, ("skills", skills_text(self.skills)), ("agents", agents_text(self.agents.found))]

    def surroundings(self) -> str:
        """Where and when the session works; empty for the user's own agent."""
        return self._surroundings

    @property
    def skill_folders(self) -> tuple[Path, ...]:
        """Folders outside of the working folder in which tools may read what belongs to a skill."""
        inside = self.cwd.resolve()
        folders = (skill.folder for skill in self.skills.found)
        return tuple(folder for folder in folders if not folder.resolve().is_relative_to(inside))


@frozen
class SkillsInUse:
    """The skills a conversation has loaded, for its compactions: no summary has to hold them."""

    history: SessionHistory
    project: ProjectContext

    def names(self) -> list[str]:
        """Their names, the one loaded last at the end."""
        history, called = self.history, f"{USE_SKILL.name} "
        results = (head for head in history.view.each_held() if head.type == ToolResult.TYPE)
        loaded = {id for head in results if head.state == "success" for id in head.ids}
        calls = history.store.newest(history.session, (ToolCall.TYPE,))
        calls = (head for head in calls if head.title.startswith(called) and head.ids[0] in loaded)
        return list(dict.fromkeys(head.title.removeprefix(called) for head in calls))[::-1]

    def additions(self) -> Sequence[Addition]:
        """Name and instructions of each, as they are now."""
        additions = []
        for name in self.names() if self.project.skills.found else ():
            if (skill := self.project.skills.named(name)) is not None:
                with suppress(Refused):
                    additions.append(Addition(f"Skill in use: {name}", skill.body()))
        return additions


@dataclass(kw_only=True, slots=True)
class FolderReader:
    """Gives one conversation the instructions of the folders it comes to, each file once."""

    history: SessionHistory
    project: ProjectContext
    _called: dict[str, Sequence[str]] = field(default_factory=dict)
    """Paths of the calls under way, by their ids."""
    _touched: list[Path] = field(default_factory=list)
    """What was read since the last request."""
    _looked: tuple[int, set[Path]] = (0, set())
    """Version of the view, and folders that were looked into since."""

    def on_record(self, record: Record) -> None:
        """Note what a tool, or the user with a prompt, has read."""
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

    async def tell_instructions(self, _request: object) -> None:
        """Put the instructions of folders that were come to behind the newest message of the view."""
        touched, self._touched = self._touched, []
        if not touched or not self.project.follows:
            return
        folders = await asyncio.to_thread(self._folders, touched)
        version, looked = self._looked
        if version != self.history.version:
            # What was told may have left the view since.
            looked = set()
        self._looked = self.history.version, looked | folders.keys()
        if not folders.keys() - looked:
            return
        known = [file.real for file in self.project.files if file.real]
        told = {*self.in_view().values()}
        for file in await asyncio.to_thread(self._read, folders, known):
            if file.path in told:
                continue
            if file.text:
                text = folder_text(folder_instructions_text([file]))
                self.history.tell_model(FolderInstructions(text=text, path=file.path))
            if file.problem:
                self.history.append(Notice(text=file.problem))

    def in_view(self) -> dict[int, str]:
        """The files that the view holds, or that it holds in a summary, by the numbers of their messages."""
        records = self.history.newest_events(FolderInstructions)
        told = {each.seq: event.path for each in records if (event := data_of(each, FolderInstructions))}
        if not told:
            return {}
        held = {head.seq for head in self.history.view.each_held()} | self.history.view.excluded.keys()
        return {seq: path for seq, path in sorted(told.items()) if seq in held}

    def additions(self) -> Sequence[Addition]:
        """Each file as it is now: what compactions keep of the messages they replace."""
        told = {*self.in_view().values()} if self.project.follows else set()
        root = repository_root(self.project.cwd)
        found = self._read(dict.fromkeys(sorted((root / from_home(each)).parent for each in told)), ())
        return [Addition(f"Instructions of {each.path}", each.text) for each in found if each.path in told]

    def _folders(self, touched: Sequence[Path]) -> dict[Path, None]:
        """The folders of a project between an opened folder and what was read, the outermost first.

        The instructions of the working folder itself are known already, those of an added one are not.
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
        """Read the files of some folders; blocks on the disk."""
        project = self.project
        root = repository_root(project.cwd)
        return read_folders([*folders], root, project.may_read, added=project.known, known=known)


_HIT = re.compile(r"^([^:\n\0]+):\d+: ", re.MULTILINE)
"""A line that a search has found."""


def _paths_in(name: str, args: str) -> Sequence[str]:
    """The paths that a call names: none for the whole workspace, any word of a command may be one."""
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
