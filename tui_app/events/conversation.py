"""Events of a conversation: messages, tool calls, approvals, changed files."""

import json
from dataclasses import field
from typing import Any, Literal

from tui_app.events.base import COMMAND_FAILED, PRIVATE, Paid, Payload, Said, event
from tui_app.records import frozen
from tui_app.system.pictures import is_picture_name
from tui_app.text import count, plain_first_line


@event("session.start", light={"state": "parent"})
class SessionStart(Payload):
    """A session began, or was imported from another tool."""

    cwd: str
    model: str
    policy: str = "plimsoll"
    title: str = ""
    branch: str = ""
    """Branch of the repository, of an import whose file names it; empty elsewhere."""
    imported_from: str = ""
    """Format name when the session is an import, else empty."""
    imported_file: str = ""
    """Path of the file it was imported from; empty when it is no import."""
    forked_from: str = ""
    """Id of the session that this one begins as; empty when it is no fork."""
    forked_at: int = 0
    """Log number of the prompt in front of which it left that session; 0 where it took everything over."""
    parent: str = ""
    """Id of the session whose sub-agent works in this one; empty elsewhere."""


@event("system.message", row="system", light={"chars": "text"}, says="text")
class SystemMessage(Said):
    """A system prompt that stands in the history itself (imports); compaction never removes it."""


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
    """One model response, whole or as far as it got."""

    text: str
    thinking: str = ""
    call_ids: tuple[str, ...] = ()
    """Ids of the tool calls it makes, in order."""
    tokens: dict[str, int] = field(default_factory=dict)
    context_tokens: int = 0
    """Input tokens of the last request, where the answer took several; else 0."""
    cache_read_tokens: int = 0
    """Input tokens that the provider read from its cache."""
    cache_write_tokens: int = 0
    """Input tokens that it wrote into its cache."""
    finish_reason: str = ""
    interrupted: bool = False
    """Whether it is not all the model meant to say: stopped, cut off, filtered, or at its length limit."""
    duration_s: float = 0.0

    def headline(self) -> str:
        """Return the first words of the response; of its thinking if there is no text."""
        return plain_first_line(self.text or self.thinking)

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
    """The model asked for a tool; the call itself is part of the assistant message before it."""

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
    """What a tool answered, success and failure alike."""

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
    """Of this run; its output and its result have the same."""
    text: str
    """The command, as it was typed behind the ``!``."""
    private: bool = False
    """Whether it is kept from the model (``!!command``)."""

    @property
    def typed(self) -> str:
        return f"{'!!' if self.private else '!'}{self.text}"

    def light(self) -> dict[str, Any]:
        return {"ids": (self.id,), "state": PRIVATE if self.private else ""}


@event("shell.result")
class ShellResult(Said):
    """A command of the user's has ended; its message goes along with the next prompt unless it is private.

    The text says how it ended, and what it printed.
    """

    id: str
    outcome: Literal["exited", "stopped", "not started", "interrupted"] = "exited"
    """``stopped`` by the user; ``interrupted`` where the program ended first."""
    exit_code: int | None = None
    """None where it was ended before it had one; a signal is negative."""
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
    """A command of the model's goes on in the background."""

    id: str
    """Names it within the session: ``t1``, ``t2``."""
    command: str
    tool_call_id: str = ""

    def light(self) -> dict[str, Any]:
        return {"ids": (self.id,), "title": plain_first_line(self.command)}


@event("task.resumed", stored=False)
class TaskResumed(Payload):
    """A background command that was kept running is followed again, now that its session is open."""

    id: str
    command: str


def how_it_ended(outcome: str, exit_code: int | None) -> str:
    """Return how a background command ended, in a few words."""
    said = {"lost": "no longer running", "session": "ended with the session", "kept": "kept running"}
    if outcome != "exited":
        return said.get(outcome, outcome)
    by_signal = exit_code is not None and exit_code < 0
    return f"ended by signal {-(exit_code or 0)}" if by_signal else f"exit {exit_code}"


@event("task.ended", row="notice", light={"ids": "id", "chars": "text", "state": "outcome"})
class TaskEnded(Payload):
    """A background command has ended."""

    id: str
    command: str
    outcome: Literal["exited", "stopped", "kept", "lost", "session"] = "exited"
    """``stopped`` by user or model, ended with the ``session``, ``lost`` with a program that was killed;
    ``kept``: it goes on, and nobody looks after it any more."""
    exit_code: int | None = None
    """None where it was ended from outside; a signal is negative."""
    duration_s: float = 0.0
    lines: int = 0
    """Lines it has printed in all."""
    text: str = ""
    """The end of what it has printed."""
    pid: int = 0
    """Of one that is kept: ending this process ends all of it."""
    file: str = ""
    """Of one that is kept: where its output goes."""

    @property
    def how(self) -> str:
        return how_it_ended(self.outcome, self.exit_code)

    def headline(self) -> str:
        after = f" after {self.duration_s:.0f} s" if self.duration_s else ""
        if self.outcome == "kept":
            after = f" (kill {self.pid} ends it, its output is in {self.file})"
        return f"Background command {self.id}: {self.how}{after}: {plain_first_line(self.command)}"


@event("task.told", light={"chars": "text"}, says="text")
class TaskTold(Said):
    """The model is told which background commands have ended: one line behind the newest message."""

    ids: tuple[str, ...] = ()


@event("agent.output", row="assistant", light={"chars": "text"}, says="text")
class AgentOutput(Payload):
    """What an agent of the user's own returned by way of an output tool, whose call is in the messages."""

    text: str
    """JSON in one line; a text as it is."""
    structured: bool = True
    """Whether it is JSON."""


@event("web.searched", row="notice")
class WebSearched(Payload):
    """The provider searched the web while the model answered; what it found is in the message."""

    queries: tuple[str, ...]
    sources: tuple[str, ...] = ()
    """Addresses of the pages."""

    def headline(self) -> str:
        asked = plain_first_line(", ".join(self.queries))
        return f"web search{f': {asked}' if asked else ''} · {count(len(self.sources), 'page')}"


@event("message.pinned")
class MessagePinned(Payload):
    """A message was pinned, so that it stays word for word, or unpinned."""

    seq: int
    """Log number of the message."""
    pinned: bool = True
    """Whether it stays from now on; false takes the pin away."""

    def light(self) -> dict[str, Any]:
        return {"ref": self.seq, "state": "pinned" if self.pinned else "unpinned"}


ApprovalDecision = Literal["allowed", "denied", "cancelled"]


ApprovalScope = Literal["once", "always", "rule"]


DecidedBy = Literal["person", "rule", "mode", "unattended", "guard"]


@event("approval.decided", row="approval")
class ApprovalDecided(Payload):
    """Whether a call of a tool may go ahead, who said so, and why."""

    id: str
    tool_call_id: str
    tool: str
    subject: str
    decision: ApprovalDecision
    by: DecidedBy
    """``mode`` is the session's mode or read-only mode; ``unattended`` where nobody could be asked."""
    scope: ApprovalScope = "once"
    """For this one call, from now on in this session, or by a rule that was there."""
    rule: str = ""
    """The rule that decided or was added, as it is written; of a guard the user's words."""
    reason: str = ""
    """What the user gave as the reason, or the program."""
    origin: str = ""
    """Where what it acts on first stood, if the user never wrote it: ``#45 read_file README.md``."""
    guard: int = 0
    """Log number of the guard that stopped it; 0 where none did."""

    def headline(self) -> str:
        subject = " ".join(self.subject.split())
        if self.guard:
            return f"stopped: {self.tool} {subject[:60]} · {self.rule}"
        said = {"allowed": "allowed", "denied": "denied", "cancelled": "not answered"}[self.decision]
        if self.scope == "always":
            said = f'always allowed by "{self.rule}"'
        elif self.scope == "rule" and self.rule:
            said = f'{said} by the rule "{self.rule}"'
        elif self.by == "person" and self.decision == "allowed":
            said = "allowed once"
        why = f" · {' '.join(self.reason.split())}" if self.reason else ""
        if self.origin and self.origin not in why:
            why = f" · not from you: {self.origin}{why}"
        return f"{said}: {self.tool} {subject[:60]}{why}"

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
    """From here on a call that does this is stopped, until the guard is lifted."""

    forbids: GuardKind
    what: str = ""
    """The path or the first words of the command; empty where the kind says it all."""
    quote: str = ""
    """The user's words that it comes from."""
    source: int = 0
    """Log number of the prompt with them; 0 where they were typed for the guard alone."""
    session: str = ""
    """Session of that prompt, where this one was handed over; empty for this one."""

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
        said: dict[GuardKind, str] = {
            "edits": f"{self.what} stays as it is",
            "command": f"no {self.what}",
            "writes": "nothing is written",
            "tests": "tests run after changes",
        }
        return f"guard: {said[self.forbids]}"


@event("guard.offered", row="notice")
class GuardOffered(Payload):
    """A sentence of the user names something that code can check: they may make a guard of it."""

    quote: str
    source: int
    """Log number of the prompt."""

    def headline(self) -> str:
        return f'#{self.source}: "{" ".join(self.quote.split())}" can be a guard: /guard'


@event("guard.broken", row="notice", light={"ref": "guard"})
class GuardBroken(Payload):
    """A turn ended without what a guard wants, and the model is told to go on, once."""

    guard: int
    """Log number of its ``guard.set``."""
    words: str
    """The user's, with their number."""
    files: tuple[str, ...]
    """What was changed behind the newest run of tests."""

    def headline(self) -> str:
        return f"not done: no tests since {count(len(self.files), 'file')} changed · {self.words}"


@event("guard.lifted", row="notice", says="guard lifted: {0.text}")
class GuardLifted(Payload):
    """A guard stops nothing any more."""

    guard: int
    """Log number of its ``guard.set``."""
    text: str


RepeatKind = Literal["command", "running", "edit", "question", "task", "refused"]
"""Kinds of repetition: a command, a background command that still runs, an applied edit, an answered
question, a task that was done or removed from the list, or something the user refused.
"""


@event("call.repeated")
class CallRepeated(Payload):
    """A call does what was done before, out of the model's sight: it was told so, or the log has answered."""

    tool_call_id: str
    tool: str
    kind: RepeatKind
    text: str
    """What was done, where, and what came of it: ``ran at #142: exit 1, 3 failed``."""
    source: int
    """Log number of what came of it."""
    session: str = ""
    """Session of that, where this one was handed over; empty for this one."""
    answered: bool = False
    """Whether the log has answered, and nothing was done."""
    again: str = ""
    """Of a command that ran once more, how it ended now: ``the same``, or as ``exit 0, 12 passed``."""

    def headline(self) -> str:
        now = f". Ran again: {self.again}" if self.again else ""
        return f"{self.text}{'. The log has answered' if self.answered else now}"

    def light(self) -> dict[str, Any]:
        return {"ids": (self.tool_call_id,), "state": "answered" if self.answered else "told"}


@event("goal.set", row="notice")
class GoalSet(Payload):
    """From here on the model goes on after each turn until a check holds or a budget is used up."""

    text: str
    check: str = ""
    """The command that ends with exit code 0 once the goal is reached; empty where turns are counted."""
    count: int = 0
    """The turns after which it is reached; 0 where a command says so."""
    most_turns: int = 0
    """Turns that it may take; 0 for no limit."""
    most_tokens: int = 0
    """Input and output tokens that it may take; 0 for no limit."""
    most_usd: float = 0.0
    """US dollars that it may take; 0 for no limit."""

    @property
    def condition(self) -> str:
        """Condition of success, in words."""
        return f"when `{self.check}` exits with 0" if self.check else f"after {count(self.count, 'turn')}"

    def headline(self) -> str:
        return f"goal: {plain_first_line(self.text)} · reached {self.condition}"


@event("goal.checked", row="notice")
class GoalChecked(Payload):
    """After a turn it was looked whether the goal is reached."""

    goal: int
    """Log number of its ``goal.set``."""
    turn: int
    """Turns it has taken so far."""
    held: bool = False
    exit_code: int | None = None
    """Of the command; None where there is none, or it was ended from outside."""
    text: str = ""
    """The end of what the command has printed."""

    def headline(self) -> str:
        code = "" if self.exit_code is None else f" · exit {self.exit_code}"
        return f"goal {'reached' if self.held else 'not reached yet'} after {count(self.turn, 'turn')}{code}"


GoalOutcome = Literal["met", "given up", "turns", "tokens", "money", "not checked", "off"]


@event("goal.ended", row="notice", light={"state": "outcome"})
class GoalEnded(Payload):
    """The model does not go on for the goal any more."""

    goal: int
    """Log number of its ``goal.set``."""
    outcome: GoalOutcome
    """``given up`` by the model, out of ``turns``, ``tokens`` or ``money``, ``off`` by the user."""
    reason: str = ""
    """Why the model gave it up, or why it could not be checked."""

    def headline(self) -> str:
        said = {"met": "reached", "not checked": "not checked", "given up": "given up", "off": "off"}
        how = said.get(self.outcome, f"ended: its budget of {self.outcome} is used up")
        return f"goal {how}{f' · {plain_first_line(self.reason)}' if self.reason else ''}"


@event("file.changed")
class FileChanged(Payload):
    """A tool is about to change a file, whose bytes are kept so that they can be brought back."""

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


@frozen(kw_only=True)
class RestoredFile:
    """One file that was brought back."""

    path: str
    before: str = ""
    """SHA-256 of what it held until then; empty where there was no file."""
    after: str = ""
    """SHA-256 of what it holds again; empty where there is no file again."""
    mode: int = 0


@event("files.restored", row="files")
class FilesRestored(Payload):
    """Files hold what they held before a prompt again, or what they held before such a step."""

    to: int
    """Log number of the prompt, or of the step that was undone."""
    undo: bool = False
    """Whether this takes an earlier step back."""
    files: tuple[RestoredFile, ...] = ()
    skipped: tuple[str, ...] = ()
    """Paths that were left alone: others had changed them since, or their bytes were not kept."""
    branch: str = ""
    """Name of the branch whose files they hold now; empty where nothing was merged."""

    def headline(self) -> str:
        removed = sum(not file.after for file in self.files)
        fates = (
            (len(self.files) - removed, "taken over" if self.branch else "restored"),
            (removed, "removed"),
            (len(self.skipped), "left alone"),
        )
        (number, fate), *others = [each for each in fates if each[0]] or [(0, "restored")]
        first = f"{count(number, 'file')} {fate}"
        said = ", ".join([first, *(f"{number} {fate}" for number, fate in others)])
        return f"undone: {said}" if self.undo else said

    def light(self) -> dict[str, Any]:
        return {"ref": self.to, "state": "undo" if self.undo else ""}
