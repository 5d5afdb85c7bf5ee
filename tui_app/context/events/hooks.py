"""The event of hooks: commands of the person's own that run when something happens in a session."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from tui_app.context.events.base import Payload

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
