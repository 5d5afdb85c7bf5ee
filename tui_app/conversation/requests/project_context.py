"""What the model is told about a folder: instructions, skills, agents, surroundings.

Instructions and names of skills are part of every request. They are read when a session is opened, and again
after each compaction. In between, every request starts with the same bytes, so that a provider can cache
them.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from tui_app.agent.instructions.agent_files import AgentFiles, find_agents, listed_text
from tui_app.agent.instructions.instructions import (
    InstructionFile,
    instructions_text,
    read_instructions,
    surroundings_text,
)
from tui_app.agent.instructions.skills import Skills, find_skills
from tui_app.conversation.requests.open_request import Opening
from tui_app.events import CompactionComplete, Record
from tui_app.memory.scope import scope_of
from tui_app.sandbox import find_sandbox
from tui_app.settings.spec import ExploreSettings
from tui_app.system.trust import trust_in

DATE_VARIABLE = "SOURCE_DATE_EPOCH"
"""Seconds since the epoch to use as the current time, by the convention of reproducible builds."""
_DIGITS = re.compile("[0-9]{1,11}")


def today(fixed: str = "") -> date:
    """The local date.

    Args:
        fixed: Value of ``DATE_VARIABLE``, or empty.
    """
    now = datetime.fromtimestamp(int(fixed), UTC) if _DIGITS.fullmatch(fixed) else datetime.now().astimezone()
    return now.date()


class ProjectContext:
    """Instructions, skills, agents and surroundings as the model is told of them.

    Nothing is read before ``reload``.

    Attributes:
        trusted: Whether the user trusts the working folder; otherwise none of its files are read.
        instructed: Whether the project's instructions are read at all.
        may_read: Applies the rules to a file.
        added: Further folders the user has opened.
        known: Those of them that the user trusts.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self.cwd, self.added, self.trusted = opening.cwd, opening.added, opening.trusted
        self.known = tuple(each for each in self.added if trust_in(opening.paths, opening.env, each))
        self.instructed, self.may_read = opening.settings.project_instructions, opening.may_read()
        setting = "off" if opening.settings.read_only else opening.settings.sandbox
        self._sandbox = find_sandbox(setting).sentence(network=opening.settings.sandbox_network)
        self.files: tuple[InstructionFile, ...] = ()
        self.skills, self.agents, self._surroundings = Skills(), AgentFiles(), ""

    @property
    def follows(self) -> bool:
        """Whether instructions of the working folder apply."""
        return self.instructed and self.trusted

    def reload(self) -> None:
        """Read everything again. If anything has changed, the next request starts with other bytes."""
        opening, may_read, config = self._opening, self.may_read, self._opening.paths.config
        self.files = read_instructions(self.cwd if self.follows else None, may_read, config, self.known)
        scope = scope_of(self.cwd)
        # A folder may claim the git files of another repository, whose branch names do not apply here.
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
        """Text the model reads before all messages; empty for none."""
        return "\n\n".join(filter(None, (instructions_text(self.files), *self.lists().values())))

    def lists(self) -> dict[str, str]:
        """The lists of skills and agents for the model."""
        skills, agents = listed_text("skills", self.skills.found), listed_text("agents", self.agents.found)
        return {"skills": skills, "agents": agents}

    def pieces(self) -> Sequence[tuple[str, str]]:
        """The instructions by source: each file with its text, skills, agents."""
        files = [(each.path, each.text) for each in self.files]
        return [*files, *self.lists().items()]

    def surroundings(self) -> str:
        """Where and when the session works; empty for the user's own agent."""
        return self._surroundings

    @property
    def skill_folders(self) -> tuple[Path, ...]:
        """Folders of skills outside the working folder, which tools may read."""
        inside = self.cwd.resolve()
        folders = (skill.folder for skill in self.skills.found)
        return tuple(folder for folder in folders if not folder.resolve().is_relative_to(inside))
