"""Live-only events for the screen, which are never stored in the log."""

from typing import Literal

from tui_app.events.base import Payload, event
from tui_app.usage import ContextUsage


@event("turn.start", stored=False)
class TurnStart(Payload):
    """A turn began: the prompt left the queue."""

    text: str


@event("assistant.delta", stored=False)
class AssistantDelta(Payload):
    """Streamed text or thinking of the answer being written."""

    text: str = ""
    thinking: str = ""


@event("turn.retry", stored=False)
class TurnRetry(Payload):
    """The provider failed temporarily; the same request is retried after a pause."""

    attempt: int
    """Number of the next attempt, counted from 1; the first one is not announced."""
    attempts: int
    """Maximum number of attempts."""
    wait_s: float
    """Seconds until then."""
    reason: str
    """One sentence: the provider's message."""


@event("turn.end", stored=False)
class TurnEnd(Payload):
    """A turn has ended; ``prompt`` is the text to return to the editor if it was never sent."""

    outcome: Literal["done", "cancelled", "failed"]
    duration_s: float = 0.0
    prompt: str = ""
    cached_share: float | None = None
    """Share of its input that was read from the provider's cache; None if no size was reported."""
    broken_by: str = ""
    """Why one of its requests read far less from the cache than it could have, in words."""


@event("queue.changed", stored=False)
class QueueChanged(Payload):
    """The queue, oldest first; ``paused`` after a cancelled turn."""

    prompts: tuple[str, ...]
    paused: bool = False


@event("session.gauge", stored=False)
class GaugeChanged(Payload):
    """The estimate of the next request after any change of the view, model or tokenizer.

    It has ``scale`` in addition to the figures, and ``believed_limit`` while a refusal makes the limit
    smaller than announced.
    """

    usage: ContextUsage


@event("memory.pressure", stored=False)
class MemoryPressure(Payload):
    """The process uses more memory than it may, and some is freed."""

    rss_mb: int
    """Resident megabytes."""
    limit_mb: int
    """Maximum megabytes."""
    action: Literal["drop", "compact"]
    """Whether caches are dropped, or the history is compacted."""

    def headline(self) -> str:
        """Return what is done about low memory, as a sentence."""
        done = "caches were dropped" if self.action == "drop" else "the history is compacted"
        return f"Memory is short ({self.rss_mb:,} of {self.limit_mb:,} MB): {done}."


@event("notice", stored=False)
class Notice(Payload):
    """A notice that is no error: shown quietly, never over the prompt."""

    text: str
    actions: tuple[str, ...] = ()
    """Actions with keys or commands in a front end, by their names in ``next_steps``."""
    passing: bool = False
    """Whether it only answers a request of the user, and is of no use later."""
    refused: bool = False
    """Whether that request was refused: nothing changed."""


@event("approval.requested", stored=False)
class ApprovalRequested(Payload):
    """A tool call is waiting for a user's approval; nothing has been done."""

    id: str
    """Id of this question: asking again about the same call gives another one."""
    tool_call_id: str
    tool: str
    kind: Literal["file", "command", "address", "other"]
    subject: str
    """Path, command line, address, or arguments as JSON."""
    detail: str = ""
    """What would change, for a file as a unified diff."""
    note: str = ""
    pattern: str = ""
    """The rule that "always" adds: it allows exactly this command line, path or host; empty if none may."""
    prefix: str = ""
    """A wider rule that may be added instead, ending in `` …``; empty where none is sensible."""
    because: str = ""
    """Why the user is asked."""
    origin: str = ""
    """What in the call first occurred in a text not written by the user, and where; empty for nothing."""
    origin_seq: int = 0
    """Log number of that text in this session; 0 if unknown, or in another one."""
    reaches: str = ""
    """In addition: what cannot be undone."""
    repeats: str = ""
    """What it repeats, and where that was done: ``ran at #142: ok``; empty for nothing."""
    waiting: int = 0
    """Number of further calls waiting for approval."""


@event("mcp.question", stored=False)
class ServerAsked(Payload):
    """An MCP server asks the user something, and its call is waiting for the answer."""

    id: str
    server: str
    message: str
    schema: str = ""
    """JSON schema of the answer, whose properties are plain values."""


@event("question.asked", stored=False)
class QuestionAsked(Payload):
    """The model asks the user something; the answer is the result of its call."""

    id: str
    """Id of this question."""
    tool_call_id: str
    question: str
    choices: tuple[str, ...] = ()
    """Choices; empty for a free text."""
    attended: bool = True
    """Whether a user can answer."""
    repeats: str = ""
    """Where it was answered before, and how; empty if it was not."""


@event("question.closed", stored=False)
class QuestionClosed(Payload):
    """A question of the model is no longer open: it was answered, or its agent was stopped."""

    id: str


@event("approval.ahead", stored=False)
class ApprovalsAhead(Payload):
    """Calls of the answer that still need approval before they run."""

    call_ids: tuple[str, ...]
    """All their ids; a call is listed until it may run or has a result."""


@event("tool.output", stored=False)
class ToolOutput(Payload):
    """Output of a running command, as it arrives; its result has everything that is kept."""

    tool_call_id: str
    """Id of the call; for a command of the user the id of its run."""
    text: str
