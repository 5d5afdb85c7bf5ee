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
    """The provider failed for a reason that passes; the same request is sent once more after a pause."""

    attempt: int
    """Which try comes next, counted from 1; the first one is not announced."""
    attempts: int
    """How many there are at most."""
    wait_s: float
    """Seconds until then."""
    reason: str
    """One sentence: what the provider said."""


@event("turn.end", stored=False)
class TurnEnd(Payload):
    """A turn is over; ``prompt`` is the text to give back to the editor when it was never sent."""

    outcome: Literal["done", "cancelled", "failed"]
    duration_s: float = 0.0
    prompt: str = ""
    cached_share: float | None = None
    """Share of its input that was read from the provider's cache; None where no size was reported."""
    broken_by: str = ""
    """Why a request of it read far less of the cache than it could have, in words."""


@event("queue.changed", stored=False)
class QueueChanged(Payload):
    """What waits to be sent, oldest first; ``paused`` after a cancelled turn."""

    prompts: tuple[str, ...]
    paused: bool = False


@event("session.gauge", stored=False)
class GaugeChanged(Payload):
    """The estimate of the next request after any change of the view, model or tokenizer.

    ``scale`` stands beside the figures, and ``believed_limit`` while a refusal makes the limit smaller than
    announced.
    """

    usage: ContextUsage


@event("memory.pressure", stored=False)
class MemoryPressure(Payload):
    """The process holds more memory than it may, and something is done about it."""

    rss_mb: int
    """Megabytes of its resident set."""
    limit_mb: int
    """Megabytes it may have."""
    action: Literal["drop", "compact"]
    """Whether caches are dropped, or the history is compacted."""

    def headline(self) -> str:
        """Return what is done about low memory, as a sentence."""
        done = "caches were dropped" if self.action == "drop" else "the history is compacted"
        return f"Memory is short ({self.rss_mb:,} of {self.limit_mb:,} MB): {done}."


@event("notice", stored=False)
class Notice(Payload):
    """Something worth knowing that is no error: shown quietly, never over the prompt."""

    text: str
    actions: tuple[str, ...] = ()
    """Steps that a front end has keys or commands for, by their names in ``next_steps``."""
    passing: bool = False
    """Whether it only answers what was just asked for, so that nobody has to read it later."""


@event("approval.requested", stored=False)
class ApprovalRequested(Payload):
    """A call of a tool waits for a user to allow it; nothing has been done."""

    id: str
    """Names this question: the same call asked about again has another one."""
    tool_call_id: str
    tool: str
    kind: Literal["file", "command", "address", "other"]
    subject: str
    """Path, command line, address, or arguments as JSON."""
    detail: str = ""
    """What would change, for a file as a unified diff."""
    note: str = ""
    pattern: str = ""
    """The rule that "always" adds: it allows this very command line, path or host; empty where none may."""
    prefix: str = ""
    """A wider rule that may be added instead, ending in `` …``; empty where none is sensible."""
    because: str = ""
    """Why it is asked."""
    origin: str = ""
    """What of the call first stood in a text that the user did not write, and where; empty for nothing."""
    origin_seq: int = 0
    """Log number of that text in this session; 0 where it is not known, or in another one."""
    reaches: str = ""
    """With that: what cannot be taken back."""
    repeats: str = ""
    """What was done before that it does once more, and where: ``ran at #142: ok``; empty for nothing."""
    waiting: int = 0
    """Further calls that wait to be asked about."""


@event("mcp.question", stored=False)
class ServerAsked(Payload):
    """An MCP server asks the user something, and its call waits for the answer."""

    id: str
    server: str
    message: str
    schema: str = ""
    """Of the answer: a JSON schema whose properties are plain values."""


@event("question.asked", stored=False)
class QuestionAsked(Payload):
    """The model asks the user something; the answer is the result of its call."""

    id: str
    """Names this question."""
    tool_call_id: str
    question: str
    choices: tuple[str, ...] = ()
    """What to choose from; empty where words are asked for."""
    attended: bool = True
    """Whether somebody is there to answer."""
    repeats: str = ""
    """Where it was answered before, and how; empty for nowhere."""


@event("question.closed", stored=False)
class QuestionClosed(Payload):
    """A question of the model waits no longer: it was answered, or whoever asked was stopped."""

    id: str


@event("approval.ahead", stored=False)
class ApprovalsAhead(Payload):
    """Which calls of the answer have to be allowed before they run, and have not been yet."""

    call_ids: tuple[str, ...]
    """Ids of the calls, all there are; a call is named until it may run or has a result."""


@event("tool.output", stored=False)
class ToolOutput(Payload):
    """What a running command prints, as it comes; its result has all that is kept of it."""

    tool_call_id: str
    """Of the call; of a command of the user's the id of its run."""
    text: str
