"""What may be done with one message of the next request, and what each would come to.

Imports nothing heavy: the screen shows it.
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
    """One thing that may be done."""

    after: int = 0
    """Tokens of the next request then."""
    refused: str = ""
    """Why it makes no sense, as a sentence; empty when it does."""
    freed: int = 0
    """Tokens it takes out, as the rows are counted; less than nothing where it adds some."""
    count: int = 1
    """How many of the messages it can be done to."""


@frozen(kw_only=True)
class Outlook:
    """What may be done with one message, or with some together. All sizes in tokens of the estimate."""

    seq: int = 0
    """Log number of the message; the first one's where several were asked about."""
    seqs: tuple[int, ...] = ()
    """Log numbers of all of them."""
    pin: Move = field(default_factory=Move)
    archive: Move = field(default_factory=Move)
    offload: Move = field(default_factory=Move)
    restore: Move = field(default_factory=Move)
    """Taking the newest rewrite of it back, with all that it has rewritten."""
    exclude: Move = field(default_factory=Move)
    """Taking it out of the model's sight, with what must leave along with it."""
    floor: int = 0
    """What no compaction can remove from the view."""
    pinned: int = 0
    """What stays because of pins, calls and their results together."""
    pinned_along: int = 0
    """Of that, what nobody has pinned itself: the calls of pinned results, the results of pinned calls."""
    pin_budget: int = 0
    """What may stay because of pins."""


@frozen
class Share:
    """A part of one category."""

    category: Literal["tools", "memory"]
    name: str
    """A server, a file, or what else it is; foreign text."""
    tokens: int
    saved: int = 0
    """What it would take besides, were all of it sent."""


def on_scale(shares: Iterable[Share], parts: Breakdown) -> tuple[Share, ...]:
    """Put shares on the scale of the figures they are part of, which know how the model really counts.

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
        scaled.append(replace(share, tokens=tokens, saved=round(share.saved * factor)))
    return tuple(scaled)


@frozen
class SkillRow:
    """One skill."""

    name: str
    description: str
    place: str
    """``project`` or ``user``; of a sub-agent that was sent its state."""
    file: str
    in_use: bool = False
    """Whether the conversation has loaded it."""
    detail: str = ""
    """What else there is to say of it."""
    brief: str | None = None
    """What a sub-agent has come back with; None for what is a file."""


@frozen(kw_only=True)
class Overview:
    """Servers, instructions and skills of a session."""

    servers: tuple[McpStatus, ...] = ()
    files: tuple[InstructionFile, ...] = ()
    skills: tuple[SkillRow, ...] = ()
    refused: tuple[str, ...] = ()
    """What is no usable skill, and why."""
    agents: AgentFiles = field(default_factory=AgentFiles)
    """Agents of the user's and the project's own."""
    shares: tuple[Share, ...] = ()
    instructed: bool = True
    """Whether the repository's instructions are followed."""
    language_servers: tuple[str, ...] = ()
    """Each that was started, in words."""
