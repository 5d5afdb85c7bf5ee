"""Events of the session as a whole: rewinds, context board, hooks, subagents, errors, its end."""

from dataclasses import field
from pathlib import PurePath
from typing import Any, Literal

from tui_app.events.base import Changed, ErrorKind, Paid, Payload, Resized, Said, event
from tui_app.events.context import Fact
from tui_app.modes import Mode
from tui_app.records import frozen
from tui_app.text import count, plain_line, thousands


@event("session.model_change", row="model", light={"model": "new"}, says="{0.old} → {0.new}")
class ModelChange(Changed):
    """The conversation continues with another model."""

    limit: int = 0
    cut: bool = False
    """Whether the user chose to truncate each request instead of compacting."""


@event("session.policy_change", row="model", says="policy {0.old} → {0.new}")
class PolicyChange(Changed):
    """The conversation continues with another policy, also when it is resumed."""


@event("session.effort_change", row="model", says="effort {0.old} → {0.new}")
class EffortChange(Changed):
    """The reasoning effort changes from now on, also when the conversation is resumed."""


@event("session.tool_switch", row="model", says="tool {0.name} {0.state}")
class ToolSwitch(Payload):
    """A tool is no longer sent with requests, or is again; also when the conversation is resumed."""

    name: str
    state: Literal["on", "off"]


@event("session.mode", says="mode {0.old} → {0.new}")
class ModeChange(Payload):
    """What the session's tools may do without asking changes, also when it is resumed."""

    old: Mode
    new: Mode


@event("session.mode_told", row="notice", says="the model was told: {0.mode} mode")
class ModeTold(Said):
    """The model was told which mode the session is in; the message is for the model."""

    mode: Mode


@event("session.clear", row="clear")
class SessionClear(Payload):
    """The agent view was emptied; the log keeps everything."""


@event("session.restored", light={"ref": "cut"})
class SessionRestored(Resized):
    """A rewind or a clear was undone: the agent view is restored."""

    cut: int
    """Log number of the undone event."""


@event("session.rewind", row="clear")
class SessionRewind(Payload):
    """The agent view ends before message ``to`` again; the log keeps later messages."""

    to: int
    """Log number of the first removed message."""
    failed: bool = False
    """The prompt was never answered and went back to the editor."""
    again: bool = False
    """The prompt is sent again instead of going back to the editor."""

    def headline(self) -> str:
        """Return where it was rewound to; empty for a prompt that was never answered."""
        return "" if self.failed else f"rewound to before #{self.to}"

    def light(self) -> dict[str, Any]:
        return {"ref": self.to, "state": "failed" if self.failed else ""}


@event("checkpoint.created", row="checkpoint", says="checkpoint {0.number:03d}  {0.title}")
class CheckpointCreated(Payload):
    """A checkpoint file was written."""

    number: int
    title: str
    path: str

    def light(self) -> dict[str, Any]:
        return {"model": PurePath(self.path).name, "ref": self.number}


@event("session.folders")
class FoldersAdded(Payload):
    """From now on tools may also read and write in these folders, besides the session's own."""

    folders: tuple[str, ...]

    def headline(self) -> str:
        return f"folders added: {', '.join(self.folders) or 'none'}"


@event("memory.inbox", row="memory", light={"chars": "text"})
class MemoryInbox(Said):
    """A session was given the context board of its repository and branch; the message is for the model."""

    entries: int
    """Number of its entries."""
    left_out: int = 0
    """Number of entries that did not fit."""
    repository: str = ""
    branch: str = ""

    def headline(self) -> str:
        more = f", {self.left_out} more had no room" if self.left_out else ""
        entries = "entry" if self.entries == 1 else "entries"
        return f"context board: {self.entries} {entries} from earlier sessions{more}"


@event("session.handoff", row="memory", light={"chars": "text"})
class Handoff(Paid):
    """A session begins with a brief of an earlier one; the message is for the model."""

    text: str
    goal: str
    """Goal of the session, in the user's words."""
    from_session: str
    """Id of the session the brief is from, which is unchanged."""
    from_title: str = ""
    performed_by: str = "heuristic"
    """Author of its notes: ``model``, or ``heuristic`` if it only quotes."""
    edited: bool = False
    """Whether the user edited the brief."""
    claims_marked: int | None = None
    """Number of claims in the notes that are not in the log."""
    facts: tuple[Fact, ...] = ()
    """Rules and other facts of the earlier session, for a brief made from this one."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens by category."""

    def headline(self) -> str:
        named = f' "{plain_line(self.from_title)}"' if self.from_title else ""
        return f"handed over from {self.from_session}{named}: {plain_line(self.goal)}"


@frozen(kw_only=True)
class MergedFile:
    """One file changed by a branch."""

    path: str
    before: str = ""
    """SHA-256 of the content here; empty if there is no such file."""
    after: str = ""
    """SHA-256 of the content after the merge; empty if the file is removed."""
    theirs: str = ""
    """SHA-256 of the content in the branch."""
    mode: int = 0
    left: str = ""
    """Why it is left alone here; empty if it is taken over."""

    @property
    def verb(self) -> str:
        if self.left:
            return "left alone"
        return "removed" if not self.after else "changed" if self.before else "created"


@event("branch.merged", row="merge", light={"chars": "text", "ids": "branch", "ref": "until"})
class BranchMerged(Paid):
    """The result of a branch was merged into this session; the message is for the model."""

    text: str
    branch: str
    """Id of the branch's session, which is unchanged."""
    name: str
    until: int
    """Log number of the last event in the branch that it covers."""
    turns: int = 0
    files: tuple[MergedFile, ...] = ()
    performed_by: str = "heuristic"
    """Author of its notes: ``model``, or ``heuristic`` if it only quotes."""
    edited: bool = False
    """Whether the user edited the brief."""
    claims_marked: int | None = None
    """Number of claims in the notes that are not in the log."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens by category."""

    @property
    def taken(self) -> tuple[MergedFile, ...]:
        return tuple(file for file in self.files if not file.left)

    def headline(self) -> str:
        left = len(self.files) - len(self.taken)
        figures = f"{count(self.turns, 'turn')}, {count(len(self.taken), 'file')}"
        return f"merged {plain_line(self.name)}: {figures}{f', {left} left alone' if left else ''}"


@event("memory.added", row="memory", light={"ref": "entry"}, says="remembered: {0.text}")
class MemoryAdded(Payload):
    """An entry was added to the context board."""

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
    """Empty if it applies to every branch."""


@event("memory.pruned", row="memory", light={"ref": "entry"})
class MemoryPruned(Payload):
    """An entry was removed from the context board; it is kept, marked."""

    entry: int
    text: str
    by: str
    """``person``, ``extraction``, or the name of a model."""
    reason: str = ""
    replaced_by: int = 0
    """Id of the entry that replaced it; 0 for none."""

    def headline(self) -> str:
        why = f"replaced by {self.replaced_by}" if self.replaced_by else self.reason
        return f"no longer remembered{f' ({why})' if why else ''}: {self.text}"


@event("memory.consolidated", row="memory")
class MemoryConsolidated(Paid):
    """The session was read for memory."""

    outcome: Literal["success", "failed"]
    performed_by: Literal["model", "extraction"]
    interaction: str = "memory-consolidation"
    """The marker of its requests."""
    read_until: int = 0
    """Log number of the last message that was read."""
    parts: int = 0
    """Number of parts it was read in."""
    added: int = 0
    pruned: int = 0
    refused: int = 0
    """Proposed entries that were refused."""
    reason: str = ""
    """Why it failed, or why a model did not do it, in one sentence."""
    duration_s: float = 0.0

    def headline(self) -> str:
        if self.outcome != "success":
            return f"memory: the session could not be read: {self.reason}"
        by = self.model or "extraction"
        return f"memory: {self.added} remembered, {self.pruned} removed, by {by}"

    def light(self) -> dict[str, Any]:
        return {"state": "" if self.outcome == "success" else "failed"}


HookName = Literal[
    "preCompact", "postCompact", "preTool", "postTool", "userPrompt", "turnEnd", "waiting", "stop",
    "sessionStart", "sessionEnd",
]  # fmt: skip
"""Events of hooks."""


HookOutcome = Literal["ok", "vetoed", "overruled", "failed", "timeout", "missing", "cancelled"]


@event("hook.ran", row="hook", light={"chars": "output", "state": "outcome"})
class HookRan(Payload):
    """A hook's command ended, was terminated, or could not be started."""

    hook: HookName
    command: str
    """Name of the program, without its arguments."""
    trigger: str = ""
    """What `match` is compared with: the trigger of a compaction, the tool's name, how a turn ended, what is
    waiting, `new` or `resume`.
    """
    outcome: HookOutcome = "ok"
    """`overruled` is a veto where none is possible; all but `ok` and `vetoed` changed nothing, unless
    `denies` is true.
    """
    denies: bool = False
    """Whether it failed, and the guarded action was refused for that."""
    exit: int | None = None
    """Exit code, negative for a signal; null if the command never started or had to be terminated."""
    duration_s: float = 0.0
    reason: str = ""
    """Its result, as a sentence that begins with the command; empty if there is nothing to report."""
    output: str = ""
    """Its output, without control characters and cut to size."""

    def headline(self) -> str:
        """Return the hook and its outcome; without an outcome, the beginning of its output."""
        name = f"{self.hook} hook {self.command}"
        if self.reason:
            return f"{name} {self.reason}"
        printed = " ".join(self.output.split())
        return f"{name} · {printed}" if printed else name


SubAgentOutcome = Literal["done", "stopped", "failed", "cancelled"]


@event("subagent.start", light={"ids": "tool_call_id", "model": "model"}, says="task")
class SubAgentStart(Payload):
    """A subagent started, with its own context."""

    tool_call_id: str
    """The call that started it, whose result is its answer."""
    task: str
    model: str
    max_steps: int
    """Maximum model requests."""
    agent: str = ""
    """Name of the user's or project's own agent that was started; empty for others."""
    name: str = ""
    """Its name in the session, such as `fork-1`."""
    session: str = ""
    """Id of its own session."""
    fork: bool = False
    """Whether it began with all that the session had sent to its model."""
    background: bool = False
    """Whether the turn continues without its answer."""
    again: bool = False
    """Whether it had ended and continues, with the task as its new message."""


@frozen(kw_only=True)
class SubAgentCall:
    """One tool call of a subagent, with its result."""

    name: str
    args: str
    """Arguments as JSON text."""
    outcome: Literal["success", "error", "denied", "interrupted"] = "interrupted"
    text: str = ""
    """Beginning of the result."""
    chars: int = 0
    """Characters of the whole result."""


@event("subagent.step")
class SubAgentStep(Paid):
    """One answer of a subagent's model, with its calls."""

    tool_call_id: str
    """The call that started it."""
    text: str = ""
    calls: tuple[SubAgentCall, ...] = ()
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    context_tokens: int = 0
    """Tokens of its own context by then."""
    window: int = 0
    """Its context window; 0 if unknown."""

    def light(self) -> dict[str, Any]:
        made = (str(number) for number in range(len(self.calls)))
        reported = self.input_tokens + self.output_tokens
        gauge = f"{self.context_tokens} {self.window} {self.cache_read_tokens} {self.input_tokens}"
        return {
            "ids": (self.tool_call_id, *made),
            "reported": reported,
            "model": self.model,
            "state": gauge if self.window else "",
        }


@event("subagent.end")
class SubAgentEnd(Payload):
    """A subagent has ended; its answer is the result of the call that started it."""

    tool_call_id: str
    """The call that started it."""
    outcome: SubAgentOutcome
    """``stopped`` if it had no steps or tokens left."""
    reason: str = ""
    """Why it failed or was stopped, in one sentence."""
    steps: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cost_usd: float | None = None
    compactions: int = 0
    """How often its own context was compacted."""
    duration_s: float = 0.0
    brief: str = ""
    """Its words, with the source of each line, and its deeds from the log; the model reads it."""

    def headline(self) -> str:
        """Return the work done; the reason too if it did not finish."""
        calls = count(self.calls, "call")
        size = thousands(self.input_tokens + self.output_tokens)
        price = "" if self.cost_usd is None else f" · ${self.cost_usd:.4f}"
        ended = "" if self.outcome == "done" else f" · {self.outcome}"
        why = f": {self.reason}" if self.reason else ""
        return f"{calls} · {size} tokens{price} · {self.duration_s:.0f} s{ended}{why}"

    def light(self) -> dict[str, Any]:
        price = () if self.cost_usd is None else (f"{self.cost_usd:.6f}",)
        return {"ids": (self.tool_call_id, *price), "state": self.outcome}


@event("subagent.promoted")
class SubAgentPromoted(Payload):
    """The session of a subagent is listed with the user's own from now on."""

    name: str
    """Its name in the parent session."""


@event("error", row="error", light={"chars": "detail"}, says="{0.message} {0.hint}")
class Error(Payload):
    """An error, worded for a user."""

    kind: ErrorKind
    message: str
    """One sentence: what happened and why."""
    hint: str = ""
    """What to do next, in words that hold everywhere."""
    actions: tuple[str, ...] = ()
    """Actions with keys or commands in a front end, by their names in ``next_steps``."""
    retryable: bool = False
    limit: int | None = None
    requested: int | None = None
    detail: str = ""
    """Raw text of the provider or the exception; shown on demand."""


@frozen(kw_only=True)
class LeftPrompt:
    """A prompt that was queued when its session was left."""

    text: str
    files: tuple[str, ...] = ()
    """Paths of attached files, as the user wrote them."""
    told: dict[str, str] = field(default_factory=dict)
    """Additional content by name: piped input, and what the program itself adds."""
    held: bool = False
    """Whether it is held until the user sends it."""


BackgroundStep = Literal["left", "waiting", "done", "failed", "stopped", "attached"]


@event("session.background", row="notice")
class SessionBackground(Payload):
    """The session was left running in the background, ended there, or was opened again."""

    step: BackgroundStep
    """``left`` to continue in another process, ``attached`` to a screen. What ran in the background is
    ``waiting`` for an answer, ``done``, ``failed`` or ``stopped``.
    """
    question: str = ""
    """The question waiting for an answer."""
    turn: bool = False
    """Whether a turn is unfinished, and continues where the session is opened next."""
    prompts: tuple[LeftPrompt, ...] = ()
    """Prompts still to be sent, oldest first."""

    def headline(self) -> str:
        waits = f": {plain_line(self.question)}" if self.question else ""
        return f"background: {self.step}{waits}"


@event("session.end")
class SessionEnd(Payload):
    """The session was closed."""
