"""Input of a hook, and the meaning of its exit."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from tui_app.context.compaction.guards import Veto
from tui_app.context.summaries.prompt import clip
from tui_app.context.user_text import BY_HOOK
from tui_app.events import HookName, HookOutcome, HookRan, Record, ToolResult
from tui_app.records import frozen
from tui_app.settings.tables import Hook
from tui_app.system.environment import masked
from tui_app.text import cut, plain_text

_NOT_WELL = ("failed", "timeout", "missing")

VETO = 2
"""The exit code for a veto."""

INSTRUCTIONS_CHARS = 4_000
"""Maximum characters that all hooks together may add to the instructions for a summary."""

PROMPT_CHARS = 4_000
"""Maximum characters that all hooks together may add to a prompt."""

OUTPUT_CHARS = 2_000
"""Maximum characters of output kept in the event."""

_REASON_CHARS = 300

_NAME_CHARS = 60


@frozen(kw_only=True)
class HookExit:
    """How a hook's process ended."""

    exit: int | None = None
    """Its exit code; None if it never started or had to be stopped."""
    stdout: str = ""
    stderr: str = ""
    duration_s: float = 0.0
    limit_s: float = 0.0
    """Its timeout in seconds."""
    timed_out: bool = False
    missing: str = ""
    """Why it could not be started."""
    cancelled: bool = False


@frozen
class Run:
    """One hook that ran, with its event."""

    ran: HookRan
    said: str = ""
    """Its stdout if it succeeded; the reason if it vetoed, or if its failure denies."""

    @property
    def refuses(self) -> bool:
        """Whether it stops what it ran before."""
        return self.ran.outcome == "vetoed" or self.ran.denies


def judge(hook: HookName, trigger: str, settings: Hook, ended: HookExit) -> Run:
    """Interpret how a hook ended."""
    out, err = plain_text(ended.stdout).strip(), plain_text(ended.stderr).strip()
    why = one_line(err) or "it gave no reason"
    outcome, reason = _end(hook, trigger, ended, why)
    denies = settings.on_failure == "deny" and outcome in _NOT_WELL and may_veto(hook, trigger)
    ran = HookRan(
        hook=hook,
        command=name_of(settings),
        trigger=trigger,
        outcome=outcome,
        denies=denies,
        exit=ended.exit,
        duration_s=round(ended.duration_s, 3),
        reason=f"{reason}, which denies" if denies else reason,
        output=cut("\n".join(text for text in (out, err) if text), OUTPUT_CHARS),
    )
    return Run(ran, reason if denies else {"ok": out, "vetoed": why}.get(outcome, ""))


_VETOES: Mapping[str, str] = {
    "preTool": "declined {trigger}",
    "userPrompt": "refused the prompt",
    "stop": "makes the model continue",
    "preCompact": "vetoed the compaction",
}
"""The effect of a hook's veto."""


def may_veto(hook: HookName, trigger: str) -> bool:
    """Whether a hook can veto: a tool, a prompt, a stop, or a compaction that is not required."""
    return hook in _VETOES and (hook != "preCompact" or trigger in ("background", "model"))


def _end(hook: HookName, trigger: str, ended: HookExit, why: str) -> tuple[HookOutcome, str]:
    """The outcome, with a description unless the hook succeeded."""
    code = ended.exit or 0
    if ended.cancelled:
        return "cancelled", "was stopped"
    if ended.missing:
        return "missing", f"could not be started: {ended.missing}"
    if ended.timed_out:
        return "timeout", f"took longer than {ended.limit_s:g} s and was ended"
    if code == VETO and may_veto(hook, trigger):
        return "vetoed", f"{_VETOES[hook].format(trigger=trigger)}: {why}"
    if code == VETO and hook == "preCompact":
        kind = trigger.replace("_", " ")
        return "overruled", f"vetoed the compaction ({why}), but one that is {kind} cannot be vetoed"
    if not code:
        return "ok", ""
    end = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return "failed", f"{end}: {why}" if ended.stderr.strip() else end


def before_compaction(runs: Sequence[Run]) -> str | Veto:
    for run in runs:
        if run.refuses:
            return Veto(f"{run.said.rstrip('.')} (preCompact hook {run.ran.command})")
    return cut("\n".join(run.said for run in runs if run.said), INSTRUCTIONS_CHARS)


def before_tool(runs: Sequence[Run]) -> str:
    """What the model gets instead of a result; empty if the tool may run."""
    declined = next((run for run in runs if run.refuses), None)
    if declined is None:
        return ""
    return f"{BY_HOOK}{declined.ran.command} declined this call: {declined.said}"


def changed_arguments(run: Run) -> dict[str, Any] | None:
    """New arguments for a tool from a preTool hook; None if it does not change them.

    It prints a JSON object ``{"args": {…}}``; other output is ignored here.
    """
    if run.ran.outcome != "ok" or not run.said.startswith("{"):
        return None
    try:
        args = json.loads(run.said)["args"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return args if isinstance(args, dict) else None


def name_of(hook: Hook) -> str:
    """The program's name without arguments, which may contain secrets."""
    if isinstance(hook.command, str):
        words = [word for word in hook.command.split() if "=" not in word]
        program = words[0] if words else "sh"
    else:
        program = hook.command[0]
    return one_line(plain_text(PurePath(program).name))[:_NAME_CHARS] or "command"


def one_line(text: str) -> str:
    return cut(" ".join(text.split()), _REASON_CHARS)


RESULT_CHARS = 50_000
"""Maximum characters of a tool's result given to a hook; of a longer one, the head and tail."""


def stdin_of(hook: HookName, trigger: str, record: Record, keys: Iterable[str]) -> bytes:
    """The hook's input, one line of JSON.

    Args:
        hook: Which hook runs.
        trigger: What ``match`` is compared with.
        record: The event.
        keys: Secrets to mask.
    """
    if isinstance(record.data, ToolResult):
        record = replace(record, data=replace(record.data, text=clip(record.data.text, RESULT_CHARS)))
    event = {"hook": hook, "trigger": trigger, **record.to_json()}
    # Escaped as ASCII: any text, even with unpaired surrogates, becomes JSON that every program can read.
    return masked(json.dumps(event), (json.dumps(key)[1:-1] for key in keys)).encode("ascii") + b"\n"
