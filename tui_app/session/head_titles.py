"""What the rows of the context window's own events say: compactions, rewrites, requests that were cut."""

import json

from tui_app.events import (
    AgentOutput,
    ApprovalDecided,
    CompactionComplete,
    CompactionEdited,
    FilesRestored,
    HookRan,
    MemoryConsolidated,
    MemoryInbox,
    MemoryPressure,
    MemoryPruned,
    SubAgentEnd,
    ToolArchived,
    ToolNormalised,
    ToolOffloaded,
    ToolPointers,
    ToolTrimmed,
    Truncation,
    ViewRewrite,
)
from tui_app.plurals import count

_DONE = {
    ToolNormalised.TYPE: ("long result cut to size", "long results cut to size"),
    ToolOffloaded.TYPE: ("large result put in a file", "large results put in files"),
    ToolArchived.TYPE: ("old result archived", "old results archived"),
    ToolTrimmed.TYPE: ("old result trimmed", "old results trimmed"),
    ToolPointers.TYPE: ("written text replaced by a pointer", "written texts replaced by pointers"),
}


def thousands(tokens: int) -> str:
    """Tokens in thousands or millions with one digit, for example ``91.5k``."""
    return f"{tokens / 1_000:.1f}k" if tokens < 999_950 else f"{tokens / 1_000_000:.1f}M"


def output_text(payload: AgentOutput) -> str:
    """What an agent returned, as Markdown: JSON one value to a line."""
    if not payload.structured:
        return payload.text
    try:
        text = json.dumps(json.loads(payload.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = payload.text
    return f"```json\n{text}\n```"


def rewrite_title(payload: ViewRewrite) -> str:
    """What a reversible stage did, in one line."""
    changed, (one, many) = len(payload.changes), _DONE[payload.TYPE]
    sizes = f"{thousands(payload.tokens_before)} → {thousands(payload.tokens_after)}"
    return f"{changed} {one if changed == 1 else many} · {sizes}"


def compaction_title(payload: CompactionComplete) -> str:
    """The numbers of a compaction in one line; the reason when it did not succeed."""
    if payload.outcome != "success":
        return payload.reason or payload.outcome
    kept = "" if payload.retention is None else f" · facts kept {payload.retention:.0%}"
    by = _writer(payload)
    sizes = f"{thousands(payload.tokens_before)} → {thousands(payload.tokens_after)}"
    part = _span(payload)
    return (
        f"{sizes} · {count(payload.messages_before, 'message')} → {payload.messages_after:,}{part}{kept}{by}"
    )


def _writer(payload: CompactionComplete) -> str:
    """Who wrote a summary, where it was not the model that was meant to."""
    if payload.performed_by == "provider":
        return " · by the provider"
    stands_in = {"heuristic": "extraction", "marker": "a marker"}.get(payload.performed_by, payload.model)
    return f" · by {stands_in}" if payload.reason else ""


def _span(payload: CompactionComplete) -> str:
    first = f" from #{payload.from_message}" if payload.from_message else ""
    last = f" up to #{payload.up_to_message}" if payload.up_to_message else ""
    return f" ·{first}{last}" if first or last else ""


def edit_title(payload: CompactionEdited) -> str:
    """What was changed in a summary, in one line."""
    sizes = f"{thousands(payload.tokens_before)} → {thousands(payload.tokens_after)}"
    what = f"brought back: {payload.fact}" if payload.fact else "summary edited"
    return f"{what} · {sizes}"


def pressure_text(payload: MemoryPressure) -> str:
    """What is done about too little memory, as a sentence."""
    done = "caches were dropped" if payload.action == "drop" else "the history is compacted"
    return f"Memory is short ({payload.rss_mb:,} of {payload.limit_mb:,} MB): {done}."


def sub_agent_title(payload: SubAgentEnd) -> str:
    """What a sub-agent has done, in one line; the reason too where it did not get to its end."""
    calls = count(payload.calls, "call")
    size = thousands(payload.input_tokens + payload.output_tokens)
    price = "" if payload.cost_usd is None else f" · ${payload.cost_usd:.4f}"
    ended = "" if payload.outcome == "done" else f" · {payload.outcome}"
    why = f": {payload.reason}" if payload.reason else ""
    return f"{calls} · {size} tokens{price} · {payload.duration_s:.0f} s{ended}{why}"


def truncation_title(payload: Truncation) -> str:
    """What one request went without, in one line; the conversation itself is as it was."""
    removed = payload.messages_removed
    what = count(removed, "message") if removed > 0 else "long results cut"
    tokens = payload.tokens_removed
    size = thousands(tokens) if tokens >= 1_000 else str(tokens)
    # What is counted again when a request is cut can outweigh what little left.
    sizes = f", ~{size} tokens" if tokens > 0 else ""
    return f"Request truncated: {what}{sizes} left out of this request only"


def hook_title(payload: HookRan) -> str:
    """Which hook ran and what came of it; without anything to tell, the beginning of what it printed."""
    name = f"{payload.hook} hook {payload.command}"
    if payload.reason:
        return f"{name} {payload.reason}"
    printed = " ".join(payload.output.split())
    return f"{name} · {printed}" if printed else name


def inbox_title(payload: MemoryInbox) -> str:
    """What a session was given from earlier ones."""
    given = payload.entries
    more = f", {payload.left_out} more had no room" if payload.left_out else ""
    return f"context board: {given} {'entry' if given == 1 else 'entries'} from earlier sessions{more}"


def pruned_title(payload: MemoryPruned) -> str:
    """What was taken off the board, and why."""
    why = f"replaced by {payload.replaced_by}" if payload.replaced_by else payload.reason
    return f"no longer remembered{f' ({why})' if why else ''}: {payload.text}"


def consolidated_title(payload: MemoryConsolidated) -> str:
    """What came of reading a session for the board."""
    if payload.outcome != "success":
        return f"memory: the session could not be read: {payload.reason}"
    by = payload.model or "extraction"
    return f"memory: {payload.added} remembered, {payload.pruned} taken off, by {by}"


def approval_title(payload: ApprovalDecided) -> str:
    """What was decided about a call, by whom, and why, in one line."""
    subject = " ".join(payload.subject.split())
    said = {"allowed": "allowed", "denied": "denied", "cancelled": "not answered"}[payload.decision]
    if payload.scope == "always":
        said = f'allowed from now on by "{payload.rule}"'
    elif payload.scope == "rule" and payload.rule:
        said = f'{said} by the rule "{payload.rule}"'
    elif payload.by == "person" and payload.decision == "allowed":
        said = "allowed once"
    why = f" · {' '.join(payload.reason.split())}" if payload.reason else ""
    return f"{said}: {payload.tool} {subject[:60]}{why}"


def files_title(payload: FilesRestored) -> str:
    """How many files hold again what they held, are gone again, or were left alone."""
    removed = sum(not file.after for file in payload.files)
    fates = (
        (len(payload.files) - removed, "restored"),
        (removed, "removed"),
        (len(payload.skipped), "left alone"),
    )
    (number, fate), *others = [each for each in fates if each[0]] or [(0, "restored")]
    first = f"{count(number, 'file')} {fate}"
    said = ", ".join([first, *(f"{number} {fate}" for number, fate in others)])
    return f"taken back: {said}" if payload.undo else said
