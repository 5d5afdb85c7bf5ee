"""What the end of a hook means: pure functions from how its process ended to the event and its effect."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from tui_app.context.compaction.guards import Veto
from tui_app.events import HookName, HookOutcome, HookRan
from tui_app.session.exports.plain_text import plain_text
from tui_app.settings.hooks import Hook

VETO = 2
"""The exit code that says no."""
INSTRUCTIONS_CHARS = 4_000
"""Characters that all hooks together may add to what a summary is asked for."""
OUTPUT_CHARS = 2_000
"""Characters of output that the event keeps."""
_REASON_CHARS = 300
_NAME_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a hook's process ended."""

    exit: int | None = None
    """Its exit code; None when it never started or had to be ended."""
    stdout: str = ""
    stderr: str = ""
    duration_s: float = 0.0
    limit_s: float = 0.0
    """Seconds after which it was to be ended."""
    timed_out: bool = False
    missing: str = ""
    """Why it could not be started."""
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """One hook that ran: what is told of it, and what it said."""

    ran: HookRan
    said: str = ""
    """Its stdout when it ended well; the reason when it vetoed."""


def judge(hook: HookName, trigger: str, settings: Hook, ended: Ended) -> Run:
    """Say what the end of a hook means."""
    out, err = plain_text(ended.stdout).strip(), plain_text(ended.stderr).strip()
    why = _one_line(err) or "it gave no reason"
    outcome = _outcome(hook, trigger, ended)
    ran = HookRan(
        hook=hook,
        command=name_of(settings),
        trigger=trigger,
        outcome=outcome,
        exit=ended.exit,
        duration_s=round(ended.duration_s, 3),
        reason=_reason(outcome, hook, trigger, ended, why),
        output=_cut("\n".join(text for text in (out, err) if text), OUTPUT_CHARS),
    )
    return Run(ran, {"ok": out, "vetoed": why}.get(outcome, ""))


def may_veto(hook: HookName, trigger: str) -> bool:
    """Whether a hook can stop what it runs before: a tool, or a compaction nobody waits for."""
    return hook == "preTool" or (hook == "preCompact" and trigger == "background")


def before_compaction(runs: Sequence[Run]) -> str | Veto:
    """What preCompact hooks have to say: instructions for the summary, or that there must be none."""
    for run in runs:
        if run.ran.outcome == "vetoed":
            return Veto(f"{run.said.rstrip('.')} (preCompact hook {run.ran.command})")
    return _cut("\n".join(run.said for run in runs if run.said), INSTRUCTIONS_CHARS)


def before_tool(runs: Sequence[Run]) -> str:
    """What the model is told instead of a result; empty when the tool may run."""
    declined = next((run for run in runs if run.ran.outcome == "vetoed"), None)
    if declined is None:
        return ""
    return f"Not run: the user's preTool hook {declined.ran.command} declined this call: {declined.said}"


def name_of(hook: Hook) -> str:
    """The program's name; arguments are left out, for they may hold anything."""
    if isinstance(hook.command, str):
        words = [word for word in hook.command.split() if "=" not in word]
        program = words[0] if words else "sh"
    else:
        program = hook.command[0]
    return _one_line(plain_text(PurePath(program).name))[:_NAME_CHARS] or "command"


def _outcome(hook: HookName, trigger: str, ended: Ended) -> HookOutcome:
    if ended.cancelled:
        return "cancelled"
    if ended.missing:
        return "missing"
    if ended.timed_out:
        return "timeout"
    if ended.exit == VETO and may_veto(hook, trigger):
        return "vetoed"
    if ended.exit == VETO and hook == "preCompact":
        return "overruled"
    return "failed" if ended.exit else "ok"


def _reason(outcome: HookOutcome, hook: HookName, trigger: str, ended: Ended, why: str) -> str:
    match outcome:
        case "ok":
            return ""
        case "cancelled":
            return "was stopped"
        case "missing":
            return f"could not be started: {ended.missing}"
        case "timeout":
            return f"took longer than {ended.limit_s:g} s and was ended"
        case "vetoed" if hook == "preTool":
            return f"declined {trigger}: {why}"
        case "vetoed":
            return f"vetoed the compaction: {why}"
        case "overruled":
            kind = trigger.replace("_", " ")
            return f"vetoed the compaction ({why}), but one that is {kind} cannot be vetoed"
        case _:
            code = ended.exit or 0
            end = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            return f"{end}: {why}" if ended.stderr.strip() else end


def _one_line(text: str) -> str:
    return _cut(" ".join(text.split()), _REASON_CHARS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
