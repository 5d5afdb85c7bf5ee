"""What goes along with every request from files of the project and the person: instructions, names of skills.

Read when a session is opened, and again behind each compaction: in between every request begins with the same
bytes, so that what a provider has cached stays good.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from tui_app.agent.instructions import (
    InstructionFile,
    Skills,
    find_skills,
    instructions_text,
    read_instructions,
    skill_body,
    skills_text,
)
from tui_app.context.compaction.plan import Addition
from tui_app.context.counting.tokens import TokenCounter
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import CompactionComplete, Record, SessionRestored, SessionRewind, ToolCall, ToolResult
from tui_app.files import Refused
from tui_app.session.workspace import SessionFolder
from tui_app.tool_specs import USE_SKILL
from tui_app.usage import Breakdown


@dataclass(slots=True)
class Standing:
    """Instructions of the project and skills as the model is told of them."""

    cwd: Path
    config: Path
    """The person's own folder of settings."""
    instructed: bool = True
    """Whether instructions of the project are read at all."""
    files: tuple[InstructionFile, ...] = ()
    skills: Skills = field(default_factory=Skills)

    def read(self) -> None:
        """Read everything as it is now."""
        self.files = read_instructions(self.cwd) if self.instructed else ()
        self.skills = find_skills(self.cwd, self.config)

    def heard(self, record: Record) -> None:
        """Read anew where the beginning of a request changes anyway: behind a compaction."""
        if isinstance(record.data, CompactionComplete) and record.data.outcome == "success":
            self.read()

    def text(self) -> str:
        """What the model reads, before everything that was said; empty for nothing."""
        return "\n\n".join(filter(None, (instructions_text(self.files), skills_text(self.skills))))

    @property
    def skill_folders(self) -> tuple[Path, ...]:
        """Folders outside of the working folder in which tools may read what belongs to a skill."""
        inside = self.cwd.resolve()
        folders = (skill.folder for skill in self.skills.found)
        return tuple(folder for folder in folders if not folder.resolve().is_relative_to(inside))


@dataclass(slots=True)
class SkillsInUse:
    """The skills a conversation has loaded, for its compactions: no summary has to hold them."""

    history: SessionHistory
    standing: Standing
    _seen: int = 0
    _asked: dict[str, tuple[int, str]] = field(default_factory=dict)
    _loaded: list[tuple[int, str]] = field(default_factory=list)
    _left: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    """By the number of a rewind, what was loaded before it."""

    def names(self) -> list[str]:
        """Their names, the one loaded last at the end."""
        self._follow()
        return list(dict.fromkeys(name for _, name in reversed(self._loaded)))[::-1]

    def __call__(self) -> Sequence[Addition]:
        """Name and instructions of each, as they are now."""
        additions = []
        for name in self.names():
            skill = self.standing.skills.named(name)
            if skill is None:
                continue
            try:
                additions.append(Addition(f"Skill in use: {name}", skill_body(skill)))
            except Refused:
                continue
        return additions

    def _follow(self) -> None:
        """Read what the log has got since; heads only."""
        for head in self.history.store.heads(self.history.session, self._seen):
            self._seen = head.seq
            if head.type == ToolCall.TYPE and head.title.startswith(f"{USE_SKILL.name} "):
                self._asked[head.ids[0]] = head.seq, head.title.removeprefix(f"{USE_SKILL.name} ")
            elif head.type == ToolResult.TYPE and head.ids and head.ids[0] in self._asked:
                asked = self._asked.pop(head.ids[0])
                self._loaded += [asked] if head.state == "success" else []
            elif head.type == SessionRestored.TYPE:
                self._loaded = self._left.pop(head.ref, self._loaded)
            elif head.type == SessionRewind.TYPE:
                self._left[head.seq] = self._loaded
                self._loaded = [each for each in self._loaded if each[0] < head.ref]


# What a session keeps in files of its folder and every compaction carries along: plan and todo list.


@dataclass(frozen=True, slots=True)
class StandingFiles:
    """Reads them as they are now."""

    folder: SessionFolder

    def __call__(self) -> tuple[Addition, ...]:
        """The plan, then the todo list; what is not there is empty."""
        return (
            Addition("Current plan", self.folder.read_note(self.folder.plan_file)),
            Addition("Todo list", self.folder.read_note(self.folder.todo_file)),
        )


# What every request of a conversation carries beside its messages: instructions and tool definitions.


def _nothing() -> str:
    return ""


@dataclass(slots=True)
class Carried:
    """As far as it is known: what was put together at the start, then what the last request really held."""

    instructions: str = ""
    tools: Sequence[ToolDefinition] = field(default_factory=tuple)
    standing: Callable[[], str] = _nothing
    """What stands among the instructions and is counted as memory: those of the project, names of skills."""

    def tokens(self, counter: TokenCounter) -> Breakdown:
        """Its size, without any factor."""
        memory = counter.unscaled(counter.instructions(self.standing()))
        return counter.carried(self.instructions, self.tools) + Breakdown(memory=memory)


class CarriedWatch(AbstractCapability[Any]):
    """Keeps ``Carried`` true: tools may come and go, and another agent's are known only then."""

    def __init__(self, carried: Carried) -> None:
        self._carried = carried

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Note what goes out."""
        parameters = request_context.model_request_parameters
        parts = [part.content for part in parameters.instruction_parts or ()]
        standing = self._carried.standing()
        self._carried.instructions = "\n\n".join(part for part in parts if part != standing)
        self._carried.tools = (*parameters.function_tools, *parameters.output_tools)
        return request_context
