"""Events of sub-agents: what they look at is in the log, never in the view of the agent that sent them."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from tui_app.context.events.base import Payload

SubAgentOutcome = Literal["done", "stopped", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentStart(Payload):
    """A sub-agent began to look for something, in a context of its own."""

    TYPE: ClassVar[str] = "subagent.start"
    tool_call_id: str
    """The call that sent it, whose result is its answer."""
    task: str
    model: str
    max_steps: int
    """Model requests it may make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentCall:
    """One tool call of a sub-agent, with what came of it."""

    name: str
    args: str
    """Arguments as JSON text."""
    outcome: Literal["success", "error", "denied", "interrupted"] = "interrupted"
    text: str = ""
    """Beginning of the result."""
    chars: int = 0
    """Characters of the whole result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentStep(Payload):
    """One answer of a sub-agent's model, and the calls it made."""

    TYPE: ClassVar[str] = "subagent.step"
    tool_call_id: str
    """The call that sent it."""
    text: str = ""
    calls: tuple[SubAgentCall, ...] = ()
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentEnd(Payload):
    """A sub-agent is at its end; what it found is the result of the call that sent it."""

    TYPE: ClassVar[str] = "subagent.end"
    tool_call_id: str
    """The call that sent it."""
    outcome: SubAgentOutcome
    """``stopped`` where it had no steps or tokens left."""
    reason: str = ""
    """Why it failed or was stopped, in one sentence."""
    steps: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    compactions: int = 0
    """How often its own context was compacted."""
    duration_s: float = 0.0
