"""Events of a conversation: messages, tool calls, approvals, changed files."""

import json
from dataclasses import field
from typing import Any, Literal

from tui_app.events.base import COMMAND_FAILED, PRIVATE, Paid, Payload, Said, event
from tui_app.records import frozen
from tui_app.system.pictures import is_picture_name
from tui_app.text import count, plain_line


@event("session.start", light={"state": "parent"})
class SessionStart(Payload):
    """A session began, or was imported from another tool."""

    cwd: str
    model: str
    policy: str = "plimsoll"
    title: str = ""
    branch: str = ""
    """Branch of the repository, for an import whose file has it; empty otherwise."""
    imported_from: str = ""
    """Format name when the session is an import, else empty."""
    imported_file: str = ""
    """Path of the imported file; empty if it is not an import."""
    forked_from: str = ""
    """Id of the session it was forked from; empty if it is not a fork."""
    forked_at: int = 0
    """Log number of the prompt before which it was forked; 0 if the whole session was copied."""
    parent: str = ""
    """Id of the parent session if a subagent works in this one; otherwise empty."""


@event("system.message", row="system", light={"chars": "text"}, says="text")
class SystemMessage(Said):
    """A system prompt in the history itself (imports); compaction never removes it."""


@event("user.message", row="user", says="text")
class UserMessage(Said):
    """A prompt as the user typed it."""

    attachments: tuple[str, ...] = ()

    def light(self) -> dict[str, Any]:
        # Sizes of files are unknown if there are both kinds.
        pictured = all(map(is_picture_name, self.attachments)) if self.attachments else False
        return {"chars": len(self.text), "pictured": pictured and bool(self.tokens.get("attachments"))}


@event("assistant.message", row="assistant")
class AssistantMessage(Paid):
    """One model response, complete or partial."""

    text: str
    thinking: str = ""
    call_ids: tuple[str, ...] = ()
    """Ids of its tool calls, in order."""
    tokens: dict[str, int] = field(default_factory=dict)
    context_tokens: int = 0
    """Input tokens of the last request if the answer took several; otherwise 0."""
    cache_read_tokens: int = 0
    """Input tokens read from the provider's cache."""
    cache_write_tokens: int = 0
    """Input tokens written to the provider's cache."""
    finish_reason: str = ""
    interrupted: bool = False
    """Whether it is incomplete: stopped, cut off, filtered, or at its length limit."""
    duration_s: float = 0.0

    def headline(self) -> str:
        """Return the first words of the response; of its thinking if there is no text."""
        return plain_line(self.text or self.thinking)

    def light(self) -> dict[str, Any]:
        return {
            "chars": len(self.text),
            "ids": self.call_ids,
            "state": "interrupted" if self.interrupted else "",
            "reported": self.input_tokens and (self.context_tokens or self.input_tokens) + self.output_tokens,
            "output": self.output_tokens if self.input_tokens and not self.context_tokens else 0,
            "model": self.model,
            "pictured": bool(self.tokens.get("attachments")),
        }


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@event("tool.call", row="tool", light={"ids": "tool_call_id"})
class ToolCall(Payload):
    """The model called a tool; the call itself is part of the assistant message before it."""

    tool_call_id: str
    name: str
    args: str
    """Arguments as JSON text."""

    @property
    def as_text(self) -> str:
        """Return the tool's name, and each argument on separate lines, with its text unescaped."""
        try:
            args = json.loads(self.args)
        except (ValueError, RecursionError):
            args = None  # a call cut off while it was streamed
        if not isinstance(args, dict):
            return f"{self.name}\n{self.args}"
        return "\n".join([self.name, *(f"{name}: {_text(value)}" for name, value in args.items())])


@event("tool.result")
class ToolResult(Said):
    """Result of a tool, success and failure alike."""

    tool_call_id: str
    name: str
    outcome: Literal["success", "error", "denied", "interrupted"] = "success"
    duration_s: float = 0.0

    def light(self) -> dict[str, Any]:
        return {
            "chars": len(self.text),
            "ids": (self.tool_call_id,),
            "state": self.outcome,
            "pictured": bool(self.tokens.get("attachments")),
        }


@event("shell.command", row="shell", says="text")
class ShellCommand(Payload):
    """The user runs a command in shell mode, ``!command``."""

    id: str
    """Id of this run; its output and its result have the same."""
    text: str
    """The command, as typed after the ``!``."""
    private: bool = False
    """Whether it is hidden from the model (``!!command``)."""

    @property
    def typed(self) -> str:
        return f"{'!!' if self.private else '!'}{self.text}"

    def light(self) -> dict[str, Any]:
        return {"ids": (self.id,), "state": PRIVATE if self.private else ""}


@event("shell.result")
class ShellResult(Said):
    """A command of the user has ended; its message is sent with the next prompt unless it is private.

    The text is how it ended, and its output.
    """

    id: str
    outcome: Literal["exited", "stopped", "not started", "interrupted"] = "exited"
    """``stopped`` by the user; ``interrupted`` if the program ended first."""
    exit_code: int | None = None
    """None if it was terminated without one; a signal is negative."""
    private: bool = False
    duration_s: float = 0.0

    def headline(self) -> str:
        return self.outcome if self.exit_code is None else f"exit {self.exit_code}"

    def light(self) -> dict[str, Any]:
        ended = "" if self.exit_code == 0 else COMMAND_FAILED
        ended = ended if self.outcome in ("exited", "not started") else "interrupted"
        state = f"{PRIVATE} {ended}".strip() if self.private else ended
        return {"chars": len(self.text), "ids": (self.id,), "state": state}


@event("task.started")
class TaskStarted(Payload):
    """A command of the model continues in the background."""

    id: str
    """Id within the session: ``t1``, ``t2``."""
    command: str
    tool_call_id: str = ""

    def light(self) -> dict[str, Any]:
        return {"ids": (self.id,), "title": plain_line(self.command)}


@event("task.resumed", stored=False)
class TaskResumed(Payload):
    """A background command that was kept running is tracked again, now that its session is open."""

    id: str
    command: str


def how_it_ended(outcome: str, exit_code: int | None) -> str:
    """Return how a background command ended, in a few words."""
    phrases = {"lost": "no longer running", "session": "ended with the session", "kept": "kept running"}
    if outcome != "exited":
        return phrases.get(outcome, outcome)
    by_signal = exit_code is not None and exit_code < 0
    return f"ended by signal {-(exit_code or 0)}" if by_signal else f"exit {exit_code}"


@event("task.ended", row="notice", light={"ids": "id", "chars": "text", "state": "outcome"})
class TaskEnded(Payload):
    """A background command has ended."""

    id: str
    command: str
    outcome: Literal["exited", "stopped", "kept", "lost", "session"] = "exited"
    """``stopped`` by user or model, ended with the ``session``, ``lost`` with a program that was killed;
    ``kept``: still running, no longer tracked.
    """
    exit_code: int | None = None
    """None if it was terminated from outside; a signal is negative."""
    duration_s: float = 0.0
    lines: int = 0
    """Total lines of its output."""
    text: str = ""
    """The end of its output."""
    pid: int = 0
    """Process id of a kept one: killing it ends all of it."""
    file: str = ""
    """Output file of a kept one."""

    @property
    def how(self) -> str:
        return how_it_ended(self.outcome, self.exit_code)

    def headline(self) -> str:
        after = f" after {self.duration_s:.0f} s" if self.duration_s else ""
        if self.outcome == "kept":
            after = f" (kill {self.pid} ends it, its output is in {self.file})"
        return f"Background command {self.id}: {self.how}{after}: {plain_line(self.command)}"


@event("task.told", light={"chars": "text"}, says="text")
class TaskTold(Said):
    """The model is told which background commands have ended: one line after the newest message."""

    ids: tuple[str, ...] = ()


@event("agent.output", row="assistant", light={"chars": "text"}, says="text")
class AgentOutput(Payload):
    """Output of a user's own agent through an output tool, whose call is in the messages."""

    text: str
    """JSON on one line; text unchanged."""
    structured: bool = True
    """Whether it is JSON."""


@event("web.searched", row="notice")
class WebSearched(Payload):
    """The provider searched the web while the model answered; the results are in the message."""

    queries: tuple[str, ...]
    sources: tuple[str, ...] = ()
    """Addresses of the pages."""

    def headline(self) -> str:
        asked = plain_line(", ".join(self.queries))
        return f"web search{f': {asked}' if asked else ''} · {count(len(self.sources), 'page')}"


@event("message.pinned")
class MessagePinned(Payload):
    """A message was pinned, so that it is kept word for word, or unpinned."""

    seq: int
    """Log number of the message."""
    pinned: bool = True
    """Whether it is pinned from now on; false unpins it."""

    def light(self) -> dict[str, Any]:
        return {"ref": self.seq, "state": "pinned" if self.pinned else "unpinned"}


ApprovalDecision = Literal["allowed", "denied", "cancelled"]


ApprovalScope = Literal["once", "always", "rule"]


DecidedBy = Literal["person", "rule", "mode", "unattended", "guard"]


@event("approval.decided", row="approval")
class ApprovalDecided(Payload):
    """Whether a tool call is allowed, who decided, and why."""

    id: str
    tool_call_id: str
    tool: str
    subject: str
    decision: ApprovalDecision
    by: DecidedBy
    """``mode`` is the session's mode or read-only mode; ``unattended`` if there was no user to ask."""
    scope: ApprovalScope = "once"
    """For this call only, from now on in this session, or by an existing rule."""
    rule: str = ""
    """The rule that decided or was added, as written; for a guard the user's words."""
    reason: str = ""
    """Reason given by the user or the program."""
    origin: str = ""
    """First origin of what it acts on, if the user never wrote it: ``#45 read_file README.md``."""
    guard: int = 0
    """Log number of the guard that stopped it; 0 for none."""

    def headline(self) -> str:
        subject = " ".join(self.subject.split())
        if self.guard:
            return f"stopped: {self.tool} {subject[:60]} · {self.rule}"
        verdict = {"allowed": "allowed", "denied": "denied", "cancelled": "not answered"}[self.decision]
        if self.scope == "always":
            verdict = f'always allowed by "{self.rule}"'
        elif self.scope == "rule" and self.rule:
            verdict = f'{verdict} by the rule "{self.rule}"'
        elif self.by == "person" and self.decision == "allowed":
            verdict = "allowed once"
        why = f" · {' '.join(self.reason.split())}" if self.reason else ""
        if self.origin and self.origin not in why:
            why = f" · not from you: {self.origin}{why}"
        return f"{verdict}: {self.tool} {subject[:60]}{why}"

    def light(self) -> dict[str, Any]:
        quiet = self.by in ("rule", "mode") and self.decision == "allowed"
        # The row of its call has the mark.
        return {
            "ids": (self.tool_call_id,),
            "state": "quiet" if quiet else self.decision,
            "model": self.origin,
            "ref": self.guard,
        }


GuardKind = Literal["edits", "command", "writes", "tests"]
"""What a guard blocks: changes below a path, a command, all writing, an end without tests."""


@event("guard.set", row="notice")
class GuardSet(Payload):
    """From now on a call that does this is stopped, until the guard is lifted."""

    forbids: GuardKind
    what: str = ""
    """The path or the first words of the command; empty if the kind is enough."""
    quote: str = ""
    """The user's words it is based on."""
    source: int = 0
    """Log number of the prompt with them; 0 if they were typed for the guard only."""
    session: str = ""
    """Session of that prompt if this one was handed over; empty for this one."""

    @property
    def text(self) -> str:
        """As typed by the user: ``edits legacy/``."""
        return f"{self.forbids} {self.what}".strip()

    @property
    def words(self) -> str:
        """The user's words that a call violates, with their number."""
        place = f"{self.session[:8]}#{self.source}" if self.source else ""
        return ": ".join(filter(None, (place, f'"{" ".join((self.quote or self.text).split())}"')))

    def headline(self) -> str:
        phrases: dict[GuardKind, str] = {
            "edits": f"{self.what} stays as it is",
            "command": f"no {self.what}",
            "writes": "nothing is written",
            "tests": "tests run after changes",
        }
        return f"guard: {phrases[self.forbids]}"


@event("guard.offered", row="notice")
class GuardOffered(Payload):
    """A sentence of the user names something that code can check, so it can become a guard."""

    quote: str
    source: int
    """Log number of the prompt."""

    def headline(self) -> str:
        return f'#{self.source}: "{" ".join(self.quote.split())}" can be a guard: /guard'


@event("guard.broken", row="notice", light={"ref": "guard"})
class GuardBroken(Payload):
    """A turn ended without what a guard requires, and the model is told to continue, once."""

    guard: int
    """Log number of its ``guard.set``."""
    words: str
    """The user's words, with their number."""
    files: tuple[str, ...]
    """Files changed after the newest test run."""

    def headline(self) -> str:
        return f"not done: no tests since {count(len(self.files), 'file')} changed · {self.words}"


@event("guard.lifted", row="notice", says="guard lifted: {0.text}")
class GuardLifted(Payload):
    """A guard no longer stops anything."""

    guard: int
    """Log number of its ``guard.set``."""
    text: str


RepeatKind = Literal["command", "running", "edit", "question", "task", "refused"]
"""Kinds of repetition: a command, a background command that still runs, an applied edit, an answered
question, a task that was done or removed from the list, or something the user refused.
"""


@event("call.repeated")
class CallRepeated(Payload):
    """A call repeats something out of the model's view: the model was told so, or the log answered."""

    tool_call_id: str
    tool: str
    kind: RepeatKind
    text: str
    """What was done, where, and its result: ``ran at #142: exit 1, 3 failed``."""
    source: int
    """Log number of the result."""
    session: str = ""
    """Session of the result if this one was handed over; empty for this one."""
    answered: bool = False
    """Whether the log answered, and nothing was done."""
    again: str = ""
    """For a command that ran again, how it ended now: ``the same``, or as ``exit 0, 12 passed``."""

    def headline(self) -> str:
        now = f". Ran again: {self.again}" if self.again else ""
        return f"{self.text}{'. The log has answered' if self.answered else now}"

    def light(self) -> dict[str, Any]:
        return {"ids": (self.tool_call_id,), "state": "answered" if self.answered else "told"}


@event("goal.set", row="notice")
class GoalSet(Payload):
    """From now on the model continues after each turn until a check passes or a budget is used up."""

    text: str
    check: str = ""
    """The command that exits with 0 once the goal is reached; empty if turns are counted."""
    count: int = 0
    """Number of turns after which it is reached; 0 if a command decides."""
    most_turns: int = 0
    """Maximum turns; 0 for no limit."""
    most_tokens: int = 0
    """Maximum input and output tokens; 0 for no limit."""
    most_usd: float = 0.0
    """Maximum cost in US dollars; 0 for no limit."""

    @property
    def condition(self) -> str:
        """Condition of success, in words."""
        return f"when `{self.check}` exits with 0" if self.check else f"after {count(self.count, 'turn')}"

    def headline(self) -> str:
        return f"goal: {plain_line(self.text)} · reached {self.condition}"


@event("goal.checked", row="notice")
class GoalChecked(Payload):
    """After a turn it was checked whether the goal is reached."""

    goal: int
    """Log number of its ``goal.set``."""
    turn: int
    """Number of turns so far."""
    held: bool = False
    exit_code: int | None = None
    """Exit code of the command; None if there is none, or it was terminated from outside."""
    text: str = ""
    """The end of the command's output."""

    def headline(self) -> str:
        code = "" if self.exit_code is None else f" · exit {self.exit_code}"
        return f"goal {'reached' if self.held else 'not reached yet'} after {count(self.turn, 'turn')}{code}"


GoalOutcome = Literal["met", "given up", "turns", "tokens", "money", "not checked", "off"]


@event("goal.ended", row="notice", light={"state": "outcome"})
class GoalEnded(Payload):
    """The model no longer works on the goal."""

    goal: int
    """Log number of its ``goal.set``."""
    outcome: GoalOutcome
    """``given up`` by the model, out of ``turns``, ``tokens`` or ``money``, ``off`` by the user."""
    reason: str = ""
    """Why the model gave it up, or why it could not be checked."""

    def headline(self) -> str:
        phrases = {"met": "reached", "not checked": "not checked", "given up": "given up", "off": "off"}
        how = phrases.get(self.outcome, f"ended: its budget of {self.outcome} is used up")
        return f"goal {how}{f' · {plain_line(self.reason)}' if self.reason else ''}"


@event("file.changed")
class FileChanged(Payload):
    """A tool is about to change a file, whose content is kept so that it can be restored."""

    tool_call_id: str
    path: str
    """Relative to the workspace."""
    before: str = ""
    """SHA-256 of the content before; empty if there was no file."""
    after: str = ""
    """SHA-256 of the content after."""
    mode: int = 0
    """File mode before, as a number; 0 if there was no file."""
    kept: bool = True
    """Whether there was room for its content in the session's folder."""


@frozen(kw_only=True)
class RestoredFile:
    """One restored file."""

    path: str
    before: str = ""
    """SHA-256 of the content before; empty if there was no file."""
    after: str = ""
    """SHA-256 of the restored content; empty if the file was removed."""
    mode: int = 0


@event("files.restored", row="files")
class FilesRestored(Payload):
    """Files were restored to their content before a prompt, or before such a step."""

    to: int
    """Log number of the prompt, or of the step that was undone."""
    undo: bool = False
    """Whether this undoes an earlier step."""
    files: tuple[RestoredFile, ...] = ()
    skipped: tuple[str, ...] = ()
    """Paths that were left alone: changed by others since, or without kept content."""
    branch: str = ""
    """Name of the branch whose files were taken over; empty without a merge."""

    def headline(self) -> str:
        removed = sum(not file.after for file in self.files)
        fates = (
            (len(self.files) - removed, "taken over" if self.branch else "restored"),
            (removed, "removed"),
            (len(self.skipped), "left alone"),
        )
        (number, fate), *others = [each for each in fates if each[0]] or [(0, "restored")]
        first = f"{count(number, 'file')} {fate}"
        text = ", ".join([first, *(f"{number} {fate}" for number, fate in others)])
        return f"undone: {text}" if self.undo else text

    def light(self) -> dict[str, Any]:
        return {"ref": self.to, "state": "undo" if self.undo else ""}
