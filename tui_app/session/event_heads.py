"""The head of an event: enough to paint a row and count a view, without its text or message.

Opening a session reads heads. They are small, and nothing here imports pydantic-ai.
"""

import json
from dataclasses import field

from tui_app.context.tool_titles import call_title, command_failed, result_note
from tui_app.events import (
    COMMAND_FAILED,
    AgentOutput,
    CheckpointCreated,
    CompactionComplete,
    EffortChange,
    FilesRestored,
    MessageExcluded,
    ModeChange,
    ModelChange,
    Payload,
    PolicyChange,
    SessionRewind,
    ToolCall,
    ToolResult,
    ToolSwitch,
    Truncation,
    ViewRewrite,
)
from tui_app.records import frozen
from tui_app.text import cut, plain_line

TITLE_LIMIT = 160
"""Maximum characters of a title."""
LATER = 2**62
"""A log number after all others, for an event that is only tried out."""


_STORED = {
    "t": "title", "c": "chars", "k": "tokens", "i": "ids", "s": "state", "r": "reported", "m": "model",
    "o": "output", "f": "ref", "x": "removed", "w": "changes", "p": "pictured",
}  # fmt: skip
"""Names of the head's fields in the log."""
_read = json.JSONDecoder().raw_decode


@frozen(kw_only=True)
class Head:
    """One event of the log without its bulk."""

    seq: int = 0
    type: str = ""
    time: float = 0.0
    """Seconds since the epoch."""
    title: str = ""
    chars: int = 0
    """Characters of the full text."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Counted tokens by category, without a factor."""
    pictured: bool = False
    """Whether attachments are included that are no text, to which no factor applies."""
    ids: tuple[str, ...] = ()
    """Ids of an answer's tool calls; a call or result has its own id."""
    state: str = ""
    """Outcome of a tool, hook or compaction; ``interrupted`` for a cut answer; ``pinned`` or ``unpinned``."""
    reported: int = 0
    """Input plus output tokens that the provider reported for an answer."""
    output: int = 0
    """The answer's own share of them; 0 in older logs."""
    model: str = ""
    """Model of an answer or a model change; file name of a checkpoint."""
    ref: int = 0
    """Log number that the event refers to; a checkpoint's own number.

    For example the compaction undone, the message rewound to or pinned, or the message that a summary
    follows.
    """
    removed: tuple[tuple[int, int], ...] = ()
    changes: tuple[tuple[int, dict[str, int]], ...] = ()
    """For a rewrite: log number and tokens of each message that it changed."""
    form: tuple[int, int] = (0, 0)
    """Where this form of the message is: log number of a rewrite and index in it; zeros for the original.

    The view sets it; it is never stored.
    """

    def to_text(self) -> str:
        """Encode as compact JSON, without what the log table has as columns."""
        pairs = {key: value for key, name in _STORED.items() if (value := getattr(self, name))}
        return json.dumps(pairs, separators=(",", ":"))

    @classmethod
    def from_text(cls, seq: int, kind: str, time: float, text: str) -> "Head":
        pairs, end = _read(text, 0)
        if end != len(text):
            raise ValueError("no head")
        values = {_STORED[key]: value for key, value in pairs.items() if key in _STORED}
        if ids := values.get("ids"):
            values["ids"] = tuple(ids)
        for name in ("removed", "changes"):
            if name in values:
                values[name] = tuple(map(tuple, values[name]))
        return cls(seq=seq, type=kind, time=time, **values)


def first_line(text: str) -> str:
    """Return the first non-empty line, cut to the length of a row."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return cut(line, TITLE_LIMIT)


def prompt_line(text: str) -> str:
    """Return the first words of a prompt without Markdown syntax, cut to the length of a row."""
    return cut(plain_line(text), TITLE_LIMIT)


def output_text(payload: AgentOutput) -> str:
    """Format what an agent returned as Markdown; JSON is indented."""
    if not payload.structured:
        return payload.text
    try:
        text = json.dumps(json.loads(payload.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = payload.text
    return f"```json\n{text}\n```"


_UNCUT = (
    CheckpointCreated, CompactionComplete, EffortChange, FilesRestored, ModeChange, ModelChange, PolicyChange,
    SessionRewind, ToolCall, ToolResult, ToolSwitch, Truncation, ViewRewrite, MessageExcluded,
)  # fmt: skip
"""Events whose headline is no longer than a row, or is cut when painted."""


def head_of(seq: int, time: float, payload: Payload) -> Head:
    """Make the head of an event: its headline, its tokens and its other light fields."""
    match payload:
        case ToolCall():
            fields = {"title": call_title(payload.name, payload.args), **payload.light()}
        case ToolResult():
            note = result_note(payload.name, payload.text, payload.outcome)
            ended_badly = payload.outcome == "success" and command_failed(payload.name, payload.text)
            fields = {"title": note, **payload.light()} | ({"state": COMMAND_FAILED} if ended_badly else {})
        case _:
            fields = payload.light()
    title = str(fields.pop("title", "") or payload.headline())
    title = title if isinstance(payload, _UNCUT) else first_line(title)
    tokens = getattr(payload, "tokens", {})
    return Head(seq=seq, type=payload.TYPE, time=time, title=title, tokens=tokens, **fields)
