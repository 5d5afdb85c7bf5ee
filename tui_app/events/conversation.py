"""What was said and done in a turn: the events that carry messages, and those that stream them."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tui_app.events.base import ErrorKind, Payload


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


# Events of the session as a whole: beginning, changes of course, errors, end.


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart(Payload):
    """A session began, or was imported from another tool."""

    TYPE: ClassVar[str] = "session.start"
    cwd: str
    model: str
    policy: str = "plimsoll"
    title: str = ""
    imported_from: str = ""
    """Format name when the session is an import, else empty."""
    imported_file: str = ""
    """Path of the file it was imported from; empty when it is no import."""
    forked_from: str = ""
    """Id of the session that this one begins as; empty when it is no fork."""
    forked_at: int = 0
    """Log number of the prompt in front of which it left that session; 0 where it took everything over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange(Payload):
    """The conversation goes on with another model."""

    TYPE: ClassVar[str] = "session.model_change"
    old: str
    new: str
    limit: int = 0
    cut: bool = False
    """Whether the person chose to have each request cut to fit, instead of compacting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange(Payload):
    """The conversation goes on under another policy, also when it is resumed."""

    TYPE: ClassVar[str] = "session.policy_change"
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClear(Payload):
    """The agent view was emptied; the log keeps everything."""

    TYPE: ClassVar[str] = "session.clear"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRewind(Payload):
    """The agent view ends before message ``to`` again; the log keeps what came after."""

    TYPE: ClassVar[str] = "session.rewind"
    to: int
    """Log number of the first message that leaves the view."""
    failed: bool = False
    """The prompt was never answered and went back to the editor."""
    again: bool = False
    """The prompt is sent once more and does not go back to the editor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRestored(Payload):
    """A rewind or a clear was taken back: the agent view is again what it was before."""

    TYPE: ClassVar[str] = "session.restored"
    cut: int
    """Log number of the event that is undone."""
    tokens_before: int = 0
    tokens_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCreated(Payload):
    """A checkpoint file was written."""

    TYPE: ClassVar[str] = "checkpoint.created"
    number: int
    title: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Error(Payload):
    """Something went wrong, said for a person."""

    TYPE: ClassVar[str] = "error"
    kind: ErrorKind
    message: str
    """One sentence: what happened and why."""
    hint: str = ""
    """What to do next."""
    retryable: bool = False
    limit: int | None = None
    requested: int | None = None
    detail: str = ""
    """Raw text of the provider or the exception; shown on demand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd(Payload):
    """The session was closed."""

    TYPE: ClassVar[str] = "session.end"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged(Payload):
    """What waits to be sent, oldest first; ``paused`` after a cancelled turn."""

    TYPE: ClassVar[str] = "queue.changed"
    STORED: ClassVar[bool] = False
    prompts: tuple[str, ...]
    paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPressure(Payload):
    """The process holds more memory than it may, and something is done about it."""

    TYPE: ClassVar[str] = "memory.pressure"
    STORED: ClassVar[bool] = False
    rss_mb: int
    """Megabytes of its resident set."""
    limit_mb: int
    """Megabytes it may have."""
    action: Literal["drop", "compact"]
    """Whether caches are dropped, or the history is compacted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Payload):
    """Something worth knowing that is no error: shown quietly, never over the prompt."""

    TYPE: ClassVar[str] = "notice"
    STORED: ClassVar[bool] = False
    text: str
    passing: bool = False
    """Whether it only answers what was just asked for, so that nobody has to read it later."""


# The event of hooks: commands of the person's own that run when something happens in a session.

HookName = Literal["preCompact", "postCompact", "preTool", "postTool", "sessionStart", "sessionEnd"]
"""When a hook runs."""
HookOutcome = Literal["ok", "vetoed", "overruled", "failed", "timeout", "missing", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRan(Payload):
    """A hook's command ended, was ended, or could not be started."""

    TYPE: ClassVar[str] = "hook.ran"
    hook: HookName
    command: str
    """Name of the program, without its arguments."""
    trigger: str = ""
    """What `match` is compared with: why a compaction runs, the tool's name, `new` or `resume`."""
    outcome: HookOutcome = "ok"
    """`overruled` is a veto where nothing can be vetoed; all but `ok` and `vetoed` changed nothing."""
    exit: int | None = None
    """Exit code, negative for a signal; null when the command never started or had to be ended."""
    duration_s: float = 0.0
    reason: str = ""
    """What came of it, as a sentence that begins with the command; empty when there is nothing to say."""
    output: str = ""
    """What it printed, without control characters and cut to size."""


# Events of what outlives a session: the context board, and the message that brings it to a new one.


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInbox(Payload):
    """A session was given the context board of its repository and branch; the message is for the model."""

    TYPE: ClassVar[str] = "memory.inbox"
    text: str
    entries: int
    """How many entries it holds."""
    left_out: int = 0
    """How many more had no room."""
    repository: str = ""
    branch: str = ""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens by category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAdded(Payload):
    """An entry was put on the context board."""

    TYPE: ClassVar[str] = "memory.added"
    entry: int
    """Its id."""
    text: str
    kind: str
    """``rule``, ``decision``, ``command``, ``file`` or ``note``."""
    made_by: str
    """``person``, ``extraction``, or the name of a model."""
    source: int = 0
    """Log number of the message it comes from; 0 for none."""
    source_session: str = ""
    """Id of the session that message is in."""
    repository: str = ""
    branch: str = ""
    """Empty where it holds for every branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPruned(Payload):
    """An entry was taken off the context board; it is kept, marked."""

    TYPE: ClassVar[str] = "memory.pruned"
    entry: int
    text: str
    by: str
    """``person``, ``extraction``, or the name of a model."""
    reason: str = ""
    replaced_by: int = 0
    """Id of the entry that stands in its place; 0 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConsolidated(Payload):
    """The session was read for what is worth remembering."""

    TYPE: ClassVar[str] = "memory.consolidated"
    outcome: Literal["success", "failed"]
    performed_by: Literal["model", "extraction"]
    model: str = ""
    interaction: str = "memory-consolidation"
    """The marker that its requests carry."""
    read_until: int = 0
    """Log number of the last message that was read."""
    parts: int = 0
    """In how many parts it was read."""
    added: int = 0
    pruned: int = 0
    refused: int = 0
    """Entries that were offered and not taken."""
    reason: str = ""
    """Why it failed, or why a model did not do it, in one sentence."""
    duration_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


# Events of sub-agents: what they look at is in the log, never in the view of the agent that sent them.

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


# Events around tools that change something: questions, decisions, output while it comes, changed files.

ApprovalDecision = Literal["allowed", "denied", "cancelled"]
ApprovalScope = Literal["once", "always", "rule"]
DecidedBy = Literal["person", "rule", "mode", "unattended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(Payload):
    """A call of a tool waits for a person to allow it; nothing has been done."""

    TYPE: ClassVar[str] = "approval.requested"
    STORED: ClassVar[bool] = False
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
    """The rule that "always" would add; empty where none may allow it."""
    because: str = ""
    """Why it is asked."""
    waiting: int = 0
    """Further calls that wait to be asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalsAhead(Payload):
    """Which calls of the answer have to be allowed before they run, and have not been yet."""

    TYPE: ClassVar[str] = "approval.ahead"
    STORED: ClassVar[bool] = False
    call_ids: tuple[str, ...]
    """Ids of the calls, all there are; a call is named until it may run or has a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecided(Payload):
    """Whether a call of a tool may go ahead, who said so, and why."""

    TYPE: ClassVar[str] = "approval.decided"
    id: str
    tool_call_id: str
    tool: str
    subject: str
    decision: ApprovalDecision
    by: DecidedBy
    """``mode`` is read-only mode; ``unattended`` where nobody could be asked."""
    scope: ApprovalScope = "once"
    """For this one call, from now on in this session, or by a rule that was there."""
    rule: str = ""
    """The rule that decided or was added, as it is written."""
    reason: str = ""
    """What the person gave as the reason, or the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput(Payload):
    """What a running command prints, as it comes; its result has all that is kept of it."""

    TYPE: ClassVar[str] = "tool.output"
    STORED: ClassVar[bool] = False
    tool_call_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanged(Payload):
    """A tool is about to change a file, whose bytes are kept so that they can be brought back."""

    TYPE: ClassVar[str] = "file.changed"
    tool_call_id: str
    path: str
    """Relative to the workspace."""
    before: str = ""
    """SHA-256 of what it held; empty where there was no file."""
    after: str = ""
    """SHA-256 of what it holds then."""
    mode: int = 0
    """Rights it had, as a number; 0 where there was no file."""
    kept: bool = True
    """Whether its bytes had room in the session's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredFile:
    """One file that was brought back."""

    path: str
    before: str = ""
    """SHA-256 of what it held until then; empty where there was no file."""
    after: str = ""
    """SHA-256 of what it holds again; empty where there is no file again."""
    mode: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRestored(Payload):
    """Files hold what they held before a prompt again, or what they held before such a step."""

    TYPE: ClassVar[str] = "files.restored"
    to: int
    """Log number of the prompt, or of the step that was taken back."""
    undo: bool = False
    """Whether this takes an earlier step back."""
    files: tuple[RestoredFile, ...] = ()
    skipped: tuple[str, ...] = ()
    """Paths that were left alone: others had changed them since, or their bytes were not kept."""
