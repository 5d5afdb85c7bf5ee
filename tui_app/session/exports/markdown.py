"""A conversation as Markdown that no content can break out of; sections shared by all readable exports."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

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
    ToolSwitch,
    Truncation,
    UsageInfo,
    UserMessage,
    ViewRewrite,
    payload_to_json,
)
from tui_app.session.event_heads import output_text
from tui_app.session.views.user_view import INTERRUPTED, is_interruption
from tui_app.system.secrets import mask_secrets
from tui_app.text import plain_text

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")
EXCLUDED = " (excluded)"
"""Added to the heading of a message that the user excluded from the context."""


def export_markdown(
    records: Sequence[Record],
    *,
    title: str,
    mask: bool = True,
    shown: Mapping[int, str] | None = None,
    excluded: Collection[int] = (),
) -> str:
    """Write a conversation for reading.

    Prompts are quoted and all tool content is in fences longer than any fence inside, so that no content can
    pass for the structure of the document.

    Args:
        records: The log, in order.
        title: Heading of the document.
        mask: Whether secrets are masked.
        shown: What the model gets instead of an event's own text, by log number.
        excluded: Log numbers of messages that the user excluded from the context.
    """
    blocks = [f"# {inline(safe(title, mask)) or 'Conversation'}"]
    for seq, moment, (_, heading, body) in sections(records, mask, shown or {}, excluded):
        time = f"<sub>{moment:%Y-%m-%d %H:%M:%S UTC}</sub>"
        blocks += [f"## #{seq} {heading}", time, *map(_block, body)]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _block(block: "Block") -> str:
    if block.kind == "thinking":
        return f"Thinking:\n\n{fenced(block.text)}" if block.text.strip() else ""
    written: dict[str, Callable[[str], str]] = {"said": quote, "prose": contained, "line": str}
    write = written.get(block.kind)
    return write(block.text) if write else fenced(block.text, "" if block.kind == "text" else block.kind)


class Block(NamedTuple):
    """Text below a heading."""

    kind: Literal["said", "prose", "line", "thinking", "text", "json", "sh"]
    """``said`` is quoted, ``prose`` is a model's Markdown, ``line`` is ours; others are kept unchanged."""
    text: str
    label: str = ""
    """Label if the block is folded."""


class Section(NamedTuple):
    """One event."""

    kind: str = "notice"
    heading: str = ""
    """Markdown; empty for an event that is not shown."""
    blocks: tuple[Block, ...] = ()


def sections(
    records: Iterable[Record], mask: bool, shown: Mapping[int, str], excluded: Collection[int]
) -> Iterator[tuple[int, datetime, Section]]:
    """Iterate over log number, time and section of each event that is shown, with safe texts.

    Args:
        records: The log, in order.
        mask: Whether secrets are masked.
        shown: What the model gets instead of an event's own text, by log number.
        excluded: Log numbers of messages that the user excluded from the context.
    """
    for record in records:
        instead = safe(shown[record.seq], mask) if record.seq in shown else None
        made = _section(readable(record.data, mask), instead)
        if made.heading:
            heading = made.heading + (EXCLUDED if record.seq in excluded else "")
            yield record.seq, datetime.fromtimestamp(record.time, UTC), made._replace(heading=heading)


def _section(data: Payload, shown: str | None) -> Section:
    match data:
        case UserMessage() if is_interruption(data.text):
            return Section("notice", INTERRUPTED)
        case UserMessage():
            named = [f"[{name}]" for name in data.attachments if name not in data.text]
            return Section("user", "You", (Block("said", "\n\n".join(filter(None, (data.text, *named)))),))
        case AssistantMessage():
            heading = f"Answer of {code(data.model)}" if data.model else "Answer"
            blocks = (Block("thinking", data.thinking, "Thinking"), Block("prose", data.text))
            return Section("answer", f"{heading} (interrupted)" if data.interrupted else heading, blocks)
        case CompactionComplete():
            return _compaction(data, shown)
        case ToolArchived() if shown is not None:
            return Section("tool", "Digest of archived results", (Block("text", shown),))
        case _ if render := _SECTIONS.get(type(data)):
            kind, heading, block = render(data)
            return Section(kind, heading, (block if shown is None else block._replace(text=shown),))
        case _:
            return Section("notice", _notice(data))


def _private(data: Any) -> str:
    return " (not shown to the model)" if data.private else ""


def _result(data: ToolResult) -> tuple[str, str, Block]:
    state = "" if data.outcome == "success" else f" ({data.outcome})"
    return "tool", f"Result of {code(data.name)}{state}", Block("text", data.text)


_SECTIONS: dict[type[Payload], Callable[[Any], tuple[str, str, Block]]] = {
    SystemMessage: lambda each: ("system", "System prompt", Block("text", each.text, "Text")),
    ShellCommand: lambda each: ("user", f"Your command{_private(each)}", Block("sh", each.text)),
    ShellResult: lambda each: ("tool", f"Output of your command{_private(each)}", Block("text", each.text)),
    ToolCall: lambda each: ("tool", f"Tool call: {code(each.name)}", Block("json", each.args, "Arguments")),
    ToolResult: _result,
    AgentOutput: lambda each: ("answer", "Answer", Block("prose", output_text(each))),
    CompactionAcknowledged: lambda each: ("answer", "Acknowledged", Block("prose", each.text)),
}
"""Events with one text: how they are shown, their heading, and the text."""


def _compaction(data: CompactionComplete, shown: str | None) -> Section:
    if data.outcome != "success":
        return Section("compaction", f"Compaction {data.outcome}", (Block("said", data.reason),))
    rows = [f"Trigger {data.trigger}, by {data.performed_by}"]
    for before, after, unit in (
        (data.tokens_before, data.tokens_after, "tokens"),
        (data.messages_before, data.messages_after, "messages"),
    ):
        if before:
            rows.append(f"{before:,} → {after:,} {unit}" if after else f"{before:,} {unit} before")
    if data.retention is not None:
        rows.append(f"{data.retention:.0%} of the facts kept by weight")
    summary = Block("said", data.summary if shown is None else shown, "Summary")
    return Section("compaction", "Conversation compacted", (Block("line", " · ".join(rows)), summary))


_NOTICES: dict[type[Payload], Callable[[Any], str]] = {
    SessionStart: lambda each: (
        f"Session began, imported from {inline(each.imported_from)}"
        if each.imported_from
        else "Session began"
    ),
    ModelChange: lambda each: f"Model changed: {code(each.old)} → {code(each.new)}",
    EffortChange: lambda each: f"Effort changed: {code(each.old)} → {code(each.new)}",
    ToolSwitch: lambda each: f"Tool {code(each.name)} switched {each.state}",
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


def _notice(data: Payload) -> str:
    """Return the heading of an event without content; empty for one that is not shown."""
    if isinstance(data, ViewRewrite):
        return f"In the model's context: {data.headline()}"
    render = _NOTICES.get(type(data))
    return "" if render is None else render(data)


def readable(data: Payload, mask: bool) -> Payload:
    """Make the texts of a payload safe to show. Secrets are masked before anything is added to them."""
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
    """Return a text without control characters, and without secrets if these are masked."""
    cleaned = plain_text(text)
    return mask_secrets(cleaned) if mask else cleaned


def inline(text: str) -> str:
    """Return one line without special meaning for Markdown."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    return f"`{' '.join(text.replace('`', chr(39)).split()) or '?'}`"


def quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip("\n").split("\n"))


def fenced(text: str, language: str = "") -> str:
    """Return a code block whose fence is longer than any inside."""
    text = text.strip("\n")
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def contained(text: str) -> str:
    """Keep an answer's Markdown, but close its open fence and escape raw HTML at the start of lines."""
    lines: list[str] = []
    fence = ""
    for raw in text.strip("\n").split("\n"):
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
