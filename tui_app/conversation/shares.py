"""What stands behind a category of the context, and what a session has beside its own tools, in plain values.

Imports nothing heavy: the screen shows it.
"""

from dataclasses import dataclass
from typing import Literal

from tui_app.agent.mcp.status import McpStatus
from tui_app.agent.project_instructions import InstructionFile


@dataclass(frozen=True, slots=True)
class Share:
    """A part of one category."""

    category: Literal["tools", "memory"]
    name: str
    """A server, a file, or what else it is; foreign text."""
    tokens: int


@dataclass(frozen=True, slots=True)
class SkillRow:
    """One skill."""

    name: str
    description: str
    place: Literal["project", "user"]
    file: str
    in_use: bool = False
    """Whether the conversation has loaded it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """How it all stands."""

    servers: tuple[McpStatus, ...] = ()
    files: tuple[InstructionFile, ...] = ()
    skills: tuple[SkillRow, ...] = ()
    refused: tuple[str, ...] = ()
    """What is no usable skill, and why."""
    shares: tuple[Share, ...] = ()
    instructed: bool = True
    """Whether the repository's instructions are followed."""
