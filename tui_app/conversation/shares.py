"""What stands behind a category of the context, and what a session has beside its own tools, in plain values.

Imports nothing heavy: the screen shows it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tui_app.agent.mcp.status import McpStatus
from tui_app.agent.project_instructions import InstructionFile
from tui_app.context.counting.usage import Breakdown


@dataclass(frozen=True, slots=True)
class Share:
    """A part of one category."""

    category: Literal["tools", "memory"]
    name: str
    """A server, a file, or what else it is; foreign text."""
    tokens: int


def on_scale(shares: Iterable[Share], parts: Breakdown) -> tuple[Share, ...]:
    """Shares on the scale of the figures they stand behind, which know how the model really counts.

    Args:
        shares: As they were counted, without any factor; those of the tools are all there are.
        parts: Tokens of each category of the next request.

    Returns:
        The same in their order; those of the tools add up to that category to the token.
    """
    every = tuple(shares)
    counted = sum(share.tokens for share in every if share.category == "tools")
    factor = parts.tools / counted if counted and parts.tools else 1.0
    scaled, so_far, given = [], 0, 0
    for share in every:
        if share.category == "tools":
            so_far += share.tokens
            tokens = round(so_far * factor) - given
            given += tokens
        else:
            tokens = min(parts.memory, round(share.tokens * factor))
        scaled.append(replace(share, tokens=tokens))
    return tuple(scaled)


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
