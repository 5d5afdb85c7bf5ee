"""What stages and compactions have saved, as a fold: less what was taken back since, by whatever it was."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tui_app.events import (
    CompactionComplete,
    ToolArchived,
    ToolNormalised,
    ToolOffloaded,
    ToolPointers,
    ToolTrimmed,
    Truncation,
)
from tui_app.session.stats_rows import CompactionRow, StageRow, add, number

STAGES: dict[str, str] = {
    ToolNormalised.TYPE: "normalise",
    ToolOffloaded.TYPE: "offload",
    ToolArchived.TYPE: "archive",
    ToolTrimmed.TYPE: "trim",
    ToolPointers.TYPE: "pointers",
    CompactionComplete.TYPE: "compact",
    Truncation.TYPE: "truncate",
}
"""Stages that make the context smaller, by the event that records their work, in the order they run."""
_REQUESTS = STAGES[Truncation.TYPE]
"""The one that changes a request and not the view: what it cut stays cut."""


@dataclass(slots=True)
class Savings:
    """Follows what saved tokens, and what took that back.

    Attributes:
        stages: What each stage saves now, by its name.
        compactions: What compactions did, by how they started and ended.
    """

    stages: dict[str, StageRow] = field(default_factory=dict)
    compactions: dict[tuple[str, str], CompactionRow] = field(default_factory=dict)
    _saved: dict[int, tuple[str, int, tuple[str, str] | None]] = field(default_factory=dict)
    """By log number: the stage, the tokens it saved, and the row of compactions it is in."""
    _standing: set[int] = field(default_factory=set)
    """Those that still save something."""
    _rewound: dict[int, list[int]] = field(default_factory=dict)
    """By the number of a rewind, what it took back."""
    _cleared: dict[int, list[int]] = field(default_factory=dict)
    """By the number of a clear, what saved something until then."""

    def save(self, seq: int, kind: str, data: Mapping[str, Any], row: tuple[str, str] | None = None) -> None:
        """Add what one event saved; ``row`` is that of its compaction, where it is one."""
        stage = STAGES[kind]
        self._saved[seq] = stage, number(data, "tokens_removed"), row
        self._standing.add(seq)
        add(self.stages, stage, StageRow(stage=stage), data, count=1)

    def restate(self, seq: int, sign: int) -> None:
        """Take what an event saved out of the figures (-1), or put it back (+1)."""
        if seq not in self._saved or (seq in self._standing) == (sign > 0):
            return
        _, tokens, row = self._saved[seq]
        self._count(seq, sign, undone=-sign)
        if row is not None:
            again = {"tokens_removed": sign * tokens}
            add(self.compactions, row, self.compactions[row], again, undone=-sign)

    def rewound(self, seq: int, to: int) -> None:
        """Take out what was saved behind the prompt that was gone back to."""
        self._rewound[seq] = self._savings(to)
        for each in self._rewound[seq]:
            self.restate(each, -1)

    def cleared(self, seq: int) -> None:
        """What a cleared view was spared is saved no more, though nobody took it back."""
        self._cleared[seq] = self._savings(0)
        for each in self._cleared[seq]:
            self._count(each, -1)

    def restored(self, cut: int) -> None:
        """A rewind or a clear was taken back: what it took out of the figures is in them again."""
        for each in self._rewound.pop(cut, ()):
            self.restate(each, 1)
        for each in self._cleared.pop(cut, ()):
            self._count(each, 1)

    def _count(self, seq: int, sign: int, undone: int = 0) -> None:
        stage, tokens, _ = self._saved[seq]
        (self._standing.add if sign > 0 else self._standing.discard)(seq)
        add(self.stages, stage, StageRow(stage=stage), {"tokens_removed": sign * tokens}, undone=undone)

    def _savings(self, first: int) -> list[int]:
        """Numbers of what changed the view from a log number on, and still does."""
        return sorted(seq for seq in self._standing if seq >= first and self._saved[seq][0] != _REQUESTS)
