"""A conversation as Markdown that nothing inside can break out of, and texts made safe for any page."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tui_app.context.secrets import mask_secrets
from tui_app.events import (
    AgentOutput,
    AssistantMessage,
    CheckpointCreated,
    CompactionAcknowledged,
    CompactionComplete,
    CompactionEdited,
    CompactionRedone,
    CompactionUndone,
    EffortChange,
    Error,
    MessageExcluded,
    MessagePinned,
    ModelChange,
    Payload,
    PolicyChange,
    Record,
    RewriteUndone,
    SessionClear,
    SessionRestored,
    SessionRewind,
    SessionStart,
    ShellCommand,
    ShellResult,
    SubAgentEnd,
    SystemMessage,
    ToolArchived,
    ToolCall,
    ToolResult,
    Truncation,
    UsageInfo,
    UserMessage,
    ViewRewrite,
    payload_to_json,
)
from tui_app.session.user_view import INTERRUPTED, is_interruption
from tui_app.text import plain_text

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")


def inline(text: str) -> str:
    """One line in which no character means anything to Markdown."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    return f"`{' '.join(text.replace('`', chr(39)).split()) or '?'}`"


def quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip("\n").split("\n"))


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any inside."""
    text = text.strip("\n")
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def contained(text: str) -> str:
    """Keep an answer's Markdown, but close its open fence and take raw HTML at the start of lines."""
    lines: list[str] = []
    fence = ""
    for raw in text.split("\n"):
        line = raw
        mark = _FENCE.match(line)
        if fence:
            if mark and mark["mark"].startswith(fence) and not mark["info"].strip():
                fence = ""
        elif mark:
            fence = mark["mark"]
        elif line.lstrip().startswith("<"):
            line = line.replace("<", "\\<", 1)
        lines.append(line)
    return "\n".join([*lines, fence] if fence else lines)


# Events that are a heading and no more in a conversation written for reading.


_NOTICES: dict[type[Payload], Callable[[Any], str]] = {
    SessionStart: lambda each: (
        f"Session began, imported from {inline(each.imported_from)}"
        if each.imported_from
        else "Session began"
    ),
    ModelChange: lambda each: f"Model changed: {code(each.old)} → {code(each.new)}",
    EffortChange: lambda each: f"Effort changed: {code(each.old)} → {code(each.new)}",
    PolicyChange: lambda each: f"Policy changed: {code(each.old)} → {code(each.new)}",
    SubAgentEnd: lambda each: f"Sub-agent: {inline(each.headline())}",
    SessionRestored: lambda each: f"Undone: #{each.cut}",
    SessionClear: lambda _: "Context cleared",
    SessionRewind: lambda _: "Conversation rewound",
    Error: lambda each: f"Error: {inline(each.message)}",
    CompactionUndone: lambda each: f"Compaction #{each.compaction} undone",
    CompactionRedone: lambda each: f"Compaction #{each.compaction} redone",
    CompactionEdited: lambda each: f"Compaction #{each.compaction}: {inline(each.headline())}",
    MessageExcluded: lambda each: f"Excluded: {' '.join(f'#{seq}' for seq in each.seqs)}",
    MessagePinned: lambda each: f"{'Pinned' if each.pinned else 'Unpinned'}: #{each.seq}",
    RewriteUndone: lambda each: f"Undone: #{each.rewrite}",
    Truncation: lambda each: f"Request cut to fit: {each.tokens_before:,} → {each.tokens_after:,} tokens",
    CheckpointCreated: lambda each: f"Checkpoint {each.number}: {inline(each.title)}",
}


def notice(data: Payload) -> str:
    """The heading of an event that says nothing else; empty for one that is not shown."""
    if isinstance(data, ViewRewrite):
        return f"In the model's context: {data.headline()}"
    said = _NOTICES.get(type(data))
    return "" if said is None else said(data)


def readable(data: Payload, mask: bool) -> Payload:
    """The payload with its texts made safe to show; secrets are masked before anything is added to them."""
    if isinstance(data, UsageInfo):
        return data
    values = payload_to_json(data)
    texts: dict[str, Any] = {
        name: safe(value, mask) for name, value in values.items() if isinstance(value, str)
    }
    if isinstance(data, UserMessage):
        texts["attachments"] = tuple(safe(name, mask) for name in data.attachments)
    return replace(data, **texts)


def safe(text: str, mask: bool) -> str:
    """A text without controls, and without secrets where these are masked."""
    cleaned = plain_text(text)
    return mask_secrets(cleaned) if mask else cleaned


KEPT = " (not shown to the model)"


EXCLUDED = " (excluded)"
"""Behind the heading of a message that a user keeps out of the model's sight."""


def export_markdown(
    records: Sequence[Record],
    *,
    title: str,
    mask: bool = True,
    shown: Mapping[int, str] | None = None,
    excluded: Collection[int] = (),
) -> str:
    """Write a conversation for reading.

    Prompts are quoted and everything of tools stands in fences longer than any fence inside, so nothing
    that was said can pass for the document's own structure.

    Args:
        records: The log, in order.
        title: Heading of the document.
        mask: Whether secrets are masked.
        shown: By log number, what a model is shown in place of an event's own text.
        excluded: Log numbers of what the user keeps out of the model's sight.
    """
    heading = safe(title, mask)
    blocks = [f"# {inline(heading) or 'Conversation'}"]
    for record in records:
        instead = (shown or {}).get(record.seq)
        heading, body = _section(
            readable(record.data, mask), None if instead is None else safe(instead, mask)
        )
        if heading:
            moment = datetime.fromtimestamp(record.time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            heading += EXCLUDED if record.seq in excluded else ""
            blocks += [f"## #{record.seq} {heading}", f"<sub>{moment}</sub>", body]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _section(data: Payload, shown: str | None) -> tuple[str, str]:
    """Heading and body of an event; ``shown`` takes the place of its text."""
    match data:
        case UserMessage(text=text) if is_interruption(text):
            return INTERRUPTED, ""
        case UserMessage():
            named = [f"[{inline(plain_text(name))}]" for name in data.attachments if name not in data.text]
            return "You", quote("\n\n".join(filter(None, (data.text, *named))))
        case AssistantMessage():
            heading = f"Answer of {code(data.model)}" if data.model else "Answer"
            state = " (interrupted)" if data.interrupted else ""
            thinking = f"Thinking:\n\n{fenced(data.thinking)}" if data.thinking.strip() else ""
            text = contained(data.text.strip("\n"))
            return heading + state, "\n\n".join(filter(None, (thinking, text)))
        case SystemMessage():
            return "System prompt", fenced(data.text)
        case ShellCommand():
            return "Your command" + (KEPT if data.private else ""), fenced(data.text, "sh")
        case ShellResult():
            heading = "Output of your command" + (KEPT if data.private else "")
            return heading, fenced(data.text if shown is None else shown)
        case CompactionComplete():
            return _compaction(data, data.summary if shown is None else shown)
        case CompactionAcknowledged():
            return "Acknowledged", contained(data.text)
        case _:
            return _tool(data, shown) or (notice(data), "")


def _tool(data: Payload, shown: str | None) -> tuple[str, str] | None:
    match data:
        case ToolCall():
            return f"Tool call: {code(data.name)}", fenced(data.args if shown is None else shown, "json")
        case ToolResult():
            state = "" if data.outcome == "success" else f" ({data.outcome})"
            return f"Result of {code(data.name)}{state}", fenced(data.text if shown is None else shown)
        case AgentOutput():
            return "Answer", fenced(data.text, "json") if data.structured else contained(data.text)
        case ToolArchived() if shown is not None:
            return "Digest of archived results", fenced(shown)
        case _:
            return None


def _compaction(data: CompactionComplete, text: str) -> tuple[str, str]:
    if data.outcome != "success":
        return f"Compaction {data.outcome}", quote(data.reason)
    rows = [f"Trigger {data.trigger}, by {data.performed_by}"]
    for before, after, unit in (
        (data.tokens_before, data.tokens_after, "tokens"),
        (data.messages_before, data.messages_after, "messages"),
    ):
        if before:
            rows.append(f"{before:,} → {after:,} {unit}" if after else f"{before:,} {unit} before")
    if data.retention is not None:
        rows.append(f"{data.retention:.0%} of the facts kept by weight")
    return "Conversation compacted", "\n\n".join(filter(None, (" · ".join(rows), quote(text))))
