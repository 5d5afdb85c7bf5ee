"""What was said and done in a turn: the events that carry messages, and those that stream them."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tui_app.context.events.base import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage(Payload):
    """A system prompt that stands in the history itself (imports); compaction never removes it."""

    TYPE: ClassVar[str] = "system.message"
    text: str
    tokens: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage(Payload):
    """A prompt as the person typed it."""

    TYPE: ClassVar[str] = "user.message"
    text: str
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens by category (see ``usage.CATEGORIES``); zero categories left out."""
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage(Payload):
    """One model response, whole or as far as it got."""

    TYPE: ClassVar[str] = "assistant.message"
    text: str
    thinking: str = ""
    call_ids: tuple[str, ...] = ()
    """Ids of the tool calls it makes, in order."""
    tokens: dict[str, int] = field(default_factory=dict)
    model: str = ""
    input_tokens: int = 0
    """As reported by the provider; 0 when it reported nothing."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    finish_reason: str = ""
    interrupted: bool = False
    """Whether it is not all the model meant to say: stopped, cut off, filtered, or at its length limit."""
    duration_s: float = 0.0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(Payload):
    """The model asked for a tool; the call itself is part of the assistant message before it."""

    TYPE: ClassVar[str] = "tool.call"
    tool_call_id: str
    name: str
    args: str
    """Arguments as JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(Payload):
    """What a tool answered, success and failure alike."""

    TYPE: ClassVar[str] = "tool.result"
    tool_call_id: str
    name: str
    text: str
    outcome: Literal["success", "error", "denied", "interrupted"] = "success"
    tokens: dict[str, int] = field(default_factory=dict)
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutput(Payload):
    """What an agent of the person's own returned by way of an output tool, whose call is in the messages."""

    TYPE: ClassVar[str] = "agent.output"
    text: str
    """JSON in one line; a text as it is."""
    structured: bool = True
    """Whether it is JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePinned(Payload):
    """A message stays word for word whatever else leaves, or no longer."""

    TYPE: ClassVar[str] = "message.pinned"
    seq: int
    """Log number of the message."""
    pinned: bool = True
    """Whether it stays from now on; false takes the pin away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart(Payload):
    """A turn began: the prompt left the queue."""

    TYPE: ClassVar[str] = "turn.start"
    STORED: ClassVar[bool] = False
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantDelta(Payload):
    """Streamed text or thinking of the answer being written."""

    TYPE: ClassVar[str] = "assistant.delta"
    STORED: ClassVar[bool] = False
    text: str = ""
    thinking: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRetry(Payload):
    """The provider failed for a reason that passes; the same request is sent once more after a pause."""

    TYPE: ClassVar[str] = "turn.retry"
    STORED: ClassVar[bool] = False
    attempt: int
    """Which try comes next, counted from 1; the first one is not announced."""
    attempts: int
    """How many there are at most."""
    wait_s: float
    """Seconds until then."""
    reason: str
    """One sentence: what the provider said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd(Payload):
    """A turn is over; ``prompt`` is the text to give back to the editor when it was never sent."""

    TYPE: ClassVar[str] = "turn.end"
    STORED: ClassVar[bool] = False
    outcome: Literal["done", "cancelled", "failed"]
    duration_s: float = 0.0
    prompt: str = ""
