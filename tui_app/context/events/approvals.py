"""Events around tools that change something: questions, decisions, output while it comes, changed files."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from tui_app.context.events.base import Payload

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
