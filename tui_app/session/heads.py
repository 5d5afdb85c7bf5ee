"""The light half of an event: enough to paint a row and count a view, without its text or message.

Heads are what opening a session reads; they are small, and nothing here imports pydantic-ai.
"""

import json
from dataclasses import dataclass, field

from tui_app.session.markup import words_of

TITLE_LIMIT = 160
"""Characters of a title."""
COMMAND_FAILED = "command failed"
"""State of the result of a command that was run, and did not end well."""
LATER = 2**62
"""A log number behind all others, for an event that is only tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """One event of the log, less its bulk."""

    seq: int = 0
    type: str = ""
    time: float = 0.0
    """Seconds since the epoch."""
    title: str = ""
    chars: int = 0
    """Characters of the full text."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Counted tokens by category, without any factor."""
    ids: tuple[str, ...] = ()
    """Tool calls an answer makes; for a call or result its own id."""
    state: str = ""
    """Outcome of a tool, hook or compaction; ``interrupted`` for a cut answer; ``pinned`` or ``unpinned``."""
    reported: int = 0
    """Input plus output tokens the provider reported with an answer."""
    model: str = ""
    """Model of an answer or a change; file name of a checkpoint."""
    ref: int = 0
    """Log number another event points to: the compaction undone, the message rewound to or pinned, the one
    that a summary stands behind. Of a checkpoint its own number."""
    removed: tuple[tuple[int, int], ...] = ()
    changes: tuple[tuple[int, dict[str, int]], ...] = ()
    """Of a rewrite: log number and tokens of each message that has another form now."""
    form: tuple[int, int] = (0, 0)
    """Where this form of the message is: number of a rewrite and the place in it; zeros for the first form.
    The view sets it; it is never stored."""

    def to_text(self) -> str:
        """Compact JSON, columns of the log table left out."""
        pairs = {
            "t": self.title,
            "c": self.chars,
            "k": self.tokens,
            "i": self.ids,
            "s": self.state,
            "r": self.reported,
            "m": self.model,
            "f": self.ref,
            "x": self.removed,
            "w": self.changes,
        }
        return json.dumps({key: value for key, value in pairs.items() if value}, separators=(",", ":"))

    @classmethod
    def from_text(cls, seq: int, kind: str, time: float, text: str) -> "Head":
        """Rebuild a head from the log."""
        pairs = json.loads(text)
        get = pairs.get
        return cls(
            seq=seq,
            type=kind,
            time=time,
            title=get("t", ""),
            chars=get("c", 0),
            tokens=get("k", {}),
            ids=tuple(get("i", ())),
            state=get("s", ""),
            reported=get("r", 0),
            model=get("m", ""),
            ref=get("f", 0),
            removed=tuple((a, b) for a, b in get("x", ())),
            changes=tuple((seq, tokens) for seq, tokens in get("w", ())),
        )


def first_line(text: str) -> str:
    """First line with anything on it, cut to a row's length."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return _cut(line)


def spoken_line(text: str) -> str:
    """First words of what somebody said, without Markdown's signs, cut to a row's length."""
    return _cut(words_of(text))


def _cut(line: str) -> str:
    return line if len(line) <= TITLE_LIMIT else f"{line[: TITLE_LIMIT - 1]}…"
