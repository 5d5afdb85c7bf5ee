"""Text as Markdown that nothing inside can break out of."""

import re

from tui_app.events import (
    CheckpointCreated,
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
    RewriteUndone,
    SessionClear,
    SessionRestored,
    SessionRewind,
    SessionStart,
    SubAgentEnd,
    Truncation,
    ViewRewrite,
)

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


def notice(data: Payload) -> str:
    """The heading of an event that says nothing else; empty for one that is not shown."""
    return _of_session(data) or _of_context(data)


def _of_session(data: Payload) -> str:
    match data:
        case SessionStart():
            origin = f", imported from {inline(data.imported_from)}" if data.imported_from else ""
            return f"Session began{origin}"
        case ModelChange():
            return f"Model changed: {code(data.old)} → {code(data.new)}"
        case EffortChange():
            return f"Effort changed: {code(data.old)} → {code(data.new)}"
        case PolicyChange():
            return f"Policy changed: {code(data.old)} → {code(data.new)}"
        case SubAgentEnd():
            return f"Sub-agent: {inline(data.headline())}"
        case SessionRestored():
            return f"Undone: #{data.cut}"
        case SessionClear() | SessionRewind():
            return "Context cleared" if isinstance(data, SessionClear) else "Conversation rewound"
        case _:
            return f"Error: {inline(data.message)}" if isinstance(data, Error) else ""


def _of_context(data: Payload) -> str:
    match data:
        case CompactionUndone() | CompactionRedone():
            done = "undone" if isinstance(data, CompactionUndone) else "redone"
            return f"Compaction #{data.compaction} {done}"
        case CompactionEdited():
            return f"Compaction #{data.compaction}: {inline(data.headline())}"
        case MessageExcluded():
            return f"Excluded: {' '.join(f'#{seq}' for seq in data.seqs)}"
        case MessagePinned():
            return f"{'Pinned' if data.pinned else 'Unpinned'}: #{data.seq}"
        case ViewRewrite():
            return f"In the model's context: {data.headline()}"
        case RewriteUndone():
            return f"Undone: #{data.rewrite}"
        case Truncation():
            return f"Request cut to fit: {data.tokens_before:,} → {data.tokens_after:,} tokens"
        case CheckpointCreated():
            return f"Checkpoint {data.number}: {inline(data.title)}"
        case _:
            return ""
