"""Actions on one message of the next request, and their effect.

Imports nothing heavy, because the screen shows it.
"""

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Literal

from tui_app.agent.instructions.agent_files import AgentFiles
from tui_app.agent.instructions.instructions import InstructionFile
from tui_app.agent.mcp.status import McpStatus
from tui_app.records import frozen
from tui_app.usage import Breakdown


@frozen
class Move:
    """One possible action."""

    after: int = 0
    """Tokens of the next request after it."""
    refused: str = ""
    """Why it makes no sense, as a sentence; empty if it does."""
    freed: int = 0
    """Tokens it removes, on the scale of the rows; negative if it adds some."""
    count: int = 1
    """To how many of the messages it applies."""


@frozen(kw_only=True)
class Outlook:
    """Possible actions on one message, or on several together. All sizes are estimated tokens."""

    seq: int = 0
    """Log number of the message, or of the first of several."""
    seqs: tuple[int, ...] = ()
    """Log numbers of all of them."""
    pin: Move = field(default_factory=Move)
    archive: Move = field(default_factory=Move)
    offload: Move = field(default_factory=Move)
    restore: Move = field(default_factory=Move)
    """Undoing its newest rewrite, with everything that rewrite changed."""
    exclude: Move = field(default_factory=Move)
    """Removing it from the model's view, with what must leave along with it."""
    floor: int = 0
    """What no compaction can remove from the view."""
    pinned: int = 0
    """What stays because of pins, calls and their results together."""
    pinned_along: int = 0
    """Part of that which is not pinned itself: the calls of pinned results, the results of pinned calls."""
    pin_budget: int = 0
    """Maximum kept because of pins."""


@frozen
class Share:
    """A part of one category."""

    category: Literal["tools", "memory"]
    name: str
    """Name of a server, file or other source; untrusted text."""
    tokens: int
    saved: int = 0
    """What it would take in addition if all of it were sent."""


def on_scale(shares: Iterable[Share], parts: Breakdown) -> tuple[Share, ...]:
    """Scale shares to the figures they are part of, which account for the model's real tokenizer.

    Args:
        shares: As counted, without a factor. For tools, these must be all there are.
        parts: Tokens of each category of the next request.

    Returns:
        The same in the same order; those of the tools add up to that category exactly.
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
        scaled.append(replace(share, tokens=tokens, saved=round(share.saved * factor)))
    return tuple(scaled)


@frozen
class SkillRow:
    """A skill, or a subagent, as lists show it."""

    name: str
    description: str
    place: str
    """``project`` or ``user``; for a subagent that was started, its state."""
    file: str
    in_use: bool = False
    """Whether the conversation has loaded it."""
    detail: str = ""
    """More about it."""
    brief: str | None = None
    """The result a subagent returned; None for a file."""


@frozen(kw_only=True)
class Overview:
    """Servers, instructions and skills of a session."""

    servers: tuple[McpStatus, ...] = ()
    files: tuple[InstructionFile, ...] = ()
    skills: tuple[SkillRow, ...] = ()
    refused: tuple[str, ...] = ()
    """Unusable skills, each with the reason."""
    agents: AgentFiles = field(default_factory=AgentFiles)
    """Agents defined by the user and the project."""
    shares: tuple[Share, ...] = ()
    instructed: bool = True
    """Whether the repository's instructions are followed."""
    language_servers: tuple[str, ...] = ()
    """Each running language server, as text."""
