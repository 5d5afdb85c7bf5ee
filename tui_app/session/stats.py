"""What a session did and cost, as a fold of its log: the figures of events, none of their texts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from tui_app.context.events import (
    REWRITES,
    AssistantMessage,
    CompactionComplete,
    CompactionRedone,
    CompactionUndone,
    Error,
    HookRan,
    MemoryConsolidated,
    RewriteUndone,
    SessionClear,
    SessionRewind,
    SubAgentStart,
    SubAgentStep,
    ToolArchived,
    ToolCall,
    ToolNormalised,
    ToolOffloaded,
    ToolPointers,
    ToolResult,
    ToolTrimmed,
    Truncation,
    UsageInfo,
    UserMessage,
)
from tui_app.session.stats_rows import CompactionRow, ModelRow, SideRow, StageRow, mean

__all__ = [
    "COUNTED", "FIGURES", "STAGES", "CompactionRow", "ModelRow", "SessionStats", "SideRow", "StageRow",
    "StatsFold",
]  # fmt: skip

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
COUNTED: tuple[str, ...] = (
    UserMessage.TYPE, AssistantMessage.TYPE, ToolCall.TYPE, ToolResult.TYPE, UsageInfo.TYPE, *STAGES,
    CompactionUndone.TYPE, CompactionRedone.TYPE, RewriteUndone.TYPE, SessionRewind.TYPE, SessionClear.TYPE,
    Error.TYPE, HookRan.TYPE, SubAgentStart.TYPE, SubAgentStep.TYPE, MemoryConsolidated.TYPE,
)  # fmt: skip
"""Types of the events that the fold looks at."""
FIGURES: tuple[str, ...] = (
    "model", "input_tokens", "output_tokens", "cache_read_tokens", "cost_usd", "duration_s", "outcome",
    "trigger", "tokens_removed", "retention", "prefix_kept", "kind", "compaction", "rewrite", "failed",
    "hook", "to", "job",
)  # fmt: skip
"""Their fields that it reads; none of them is long."""
_REWRITES = frozenset(kind.TYPE for kind in REWRITES)
_CUTS = STAGES[Truncation.TYPE]
_IMPORTED = "imported"
"""Outcome of a compaction that another program made: nothing of it was done here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStats:
    """The figures of one session."""

    turns: int = 0
    requests: int = 0
    answers: int = 0
    tool_calls: int = 0
    """Without those of sub-agents."""
    sub_agents: int = 0
    """How many were sent out; what they cost is in the rows of their models."""
    tool_failures: int = 0
    """Results that were an error, denied or interrupted."""
    models: tuple[ModelRow, ...] = ()
    unpriced_models: dict[str, int] = field(default_factory=dict)
    """How many requests of no known price went to each model, summaries, digests and memory included."""
    compactions: tuple[CompactionRow, ...] = ()
    sides: tuple[SideRow, ...] = ()
    stages: tuple[StageRow, ...] = ()
    prefix_kept: float | None = None
    """Mean share of a request that the next one began with; None before there are two."""
    prefix_kept_min: float | None = None
    prefix_breaks: int = 0
    """Requests that did not begin with the whole one before."""
    retention: float | None = None
    """Mean share of facts kept by the compactions that succeeded."""
    retention_min: float | None = None
    errors: dict[str, int] = field(default_factory=dict)
    """How many of each kind."""
    hooks: dict[str, int] = field(default_factory=dict)
    """How many ran, by name and outcome."""

    @property
    def _paid(self) -> list[ModelRow | CompactionRow | SideRow]:
        """All rows that something was paid for."""
        return [*self.models, *self.compactions, *self.sides]

    @property
    def cost_usd(self) -> float:
        """What is known to have been paid, for answers, summaries, digests and memory."""
        return sum(row.cost_usd for row in self._paid)

    @property
    def unpriced(self) -> int:
        """Answers, summaries, digests and readings for memory whose price is not known."""
        return sum(row.unpriced for row in self._paid)

    @property
    def cache_share(self) -> float | None:
        """Share of the input that providers read from their caches; None where none was reported."""
        sent = sum(row.input_tokens for row in self.models)
        return sum(row.cache_read_tokens for row in self.models) / sent if sent else None

    def to_json(self) -> dict[str, Any]:
        """The names that scripts rely on."""
        share = self.cache_share
        own = {
            "cost_usd": round(self.cost_usd, 6),
            "unpriced": self.unpriced,
            "cache_share": None if share is None else round(share, 4),
        }
        return {**asdict(self), **own}


Row = TypeVar("Row", ModelRow, CompactionRow, SideRow, StageRow)


@dataclass(slots=True)
class StatsFold:
    """Folds events, in the order of the log, into figures."""

    _counts: Counter[str] = field(default_factory=Counter)
    _models: dict[str, ModelRow] = field(default_factory=dict)
    _unpriced_models: Counter[str] = field(default_factory=Counter)
    _compactions: dict[tuple[str, str], CompactionRow] = field(default_factory=dict)
    _sides: dict[str, SideRow] = field(default_factory=dict)
    _stages: dict[str, StageRow] = field(default_factory=dict)
    _kept: list[float] = field(default_factory=list)
    _retained: list[float] = field(default_factory=list)
    _errors: Counter[str] = field(default_factory=Counter)
    _hooks: Counter[str] = field(default_factory=Counter)
    _saved: dict[int, tuple[str, int, tuple[str, str] | None]] = field(default_factory=dict)
    """By log number: the stage, the tokens it saved, and the row of compactions it is in."""
    _standing: set[int] = field(default_factory=set)
    """Those that still save something."""

    def apply(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """Fold one event.

        Args:
            seq: Its log number.
            kind: Its type.
            data: Its fields, at least those of ``FIGURES`` that it has.
        """
        self._counts[kind] += 1
        match kind:
            case AssistantMessage.TYPE | SubAgentStep.TYPE:
                self._answer(data)
            case CompactionComplete.TYPE:
                self._compaction(seq, data)
            case Truncation.TYPE:
                self._save(seq, kind, data)
            case CompactionUndone.TYPE | CompactionRedone.TYPE:
                self._restate(_number(data, "compaction"), -1 if kind == CompactionUndone.TYPE else 1)
            case RewriteUndone.TYPE:
                self._restate(_number(data, "rewrite"), -1)
            case _ if kind in _REWRITES:
                self._save(seq, kind, data)
                self._side("digests", data)
            case MemoryConsolidated.TYPE:
                self._side("memory", data)
            case _:
                self._others(kind, data)

    def _others(self, kind: str, data: Mapping[str, Any]) -> None:
        match kind:
            case ToolResult.TYPE:
                self._counts["failed tools"] += data.get("outcome") != "success"
            case SessionRewind.TYPE:
                self._rewound(data)
            case SessionClear.TYPE:
                self._cleared()
            case UsageInfo.TYPE if (kept := data.get("prefix_kept")) is not None:
                self._kept.append(float(kept))
            case Error.TYPE:
                self._errors[str(data.get("kind"))] += 1
            case HookRan.TYPE:
                self._hooks[f"{data.get('hook')} {data.get('outcome')}"] += 1

    def stats(self) -> SessionStats:
        """The figures so far."""
        counts, kept, retained = self._counts, self._kept, self._retained
        return SessionStats(
            turns=counts[UserMessage.TYPE] - counts["failed prompts"],
            requests=counts[UsageInfo.TYPE],
            answers=counts[AssistantMessage.TYPE],
            tool_calls=counts[ToolCall.TYPE],
            sub_agents=counts[SubAgentStart.TYPE],
            tool_failures=counts["failed tools"],
            models=tuple(self._models.values()),
            unpriced_models=dict(+self._unpriced_models),
            compactions=tuple(self._compactions[key] for key in sorted(self._compactions)),
            sides=tuple(self._sides[name] for name in sorted(self._sides)),
            stages=tuple(self._stages[name] for name in STAGES.values() if name in self._stages),
            prefix_kept=mean(kept),
            prefix_kept_min=min(kept, default=None),
            prefix_breaks=sum(share < 1.0 for share in kept),
            retention=mean(retained),
            retention_min=min(retained, default=None),
            errors=dict(sorted(self._errors.items())),
            hooks=dict(sorted(self._hooks.items())),
        )

    def _answer(self, data: Mapping[str, Any]) -> None:
        name = str(data.get("model") or "")
        unpriced = int(data.get("cost_usd") is None)
        self._unpriced_models[name] += unpriced
        _add(self._models, name, ModelRow(model=name), data, answers=1, unpriced=unpriced)

    def _compaction(self, seq: int, data: Mapping[str, Any]) -> None:
        applied = data.get("outcome") == "success"
        other = applied and str(data.get("job") or "").startswith(_IMPORTED)
        key = (str(data.get("trigger")), _IMPORTED if other else str(data.get("outcome")))
        spent = data if applied else {**data, "tokens_removed": 0}
        row, unpriced = CompactionRow(trigger=key[0], outcome=key[1]), int(_unpriced(data))
        self._unpriced_models[str(data.get("model") or "")] += unpriced
        _add(self._compactions, key, row, spent, count=1, unpriced=unpriced)
        if applied:
            self._save(seq, CompactionComplete.TYPE, data, key)
            if data.get("retention") is not None:
                self._retained.append(float(data["retention"]))

    def _side(self, purpose: str, data: Mapping[str, Any]) -> None:
        """Count what a model was paid for; what code did by itself is none of it."""
        if _number(data, "input_tokens") or _number(data, "output_tokens") or data.get("cost_usd"):
            row, unpriced = SideRow(purpose=purpose), int(_unpriced(data))
            self._unpriced_models[str(data.get("model") or "")] += unpriced
            _add(self._sides, purpose, row, data, count=1, unpriced=unpriced)

    def _save(self, seq: int, kind: str, data: Mapping[str, Any], row: tuple[str, str] | None = None) -> None:
        stage = STAGES[kind]
        self._saved[seq] = stage, _number(data, "tokens_removed"), row
        self._standing.add(seq)
        _add(self._stages, stage, StageRow(stage=stage), data, count=1)

    def _restate(self, seq: int, sign: int) -> None:
        """Take what an event saved out of the figures, or put it back."""
        if seq not in self._saved or (seq in self._standing) == (sign > 0):
            return
        stage, tokens, key = self._saved[seq]
        (self._standing.add if sign > 0 else self._standing.discard)(seq)
        again = {"tokens_removed": sign * tokens}
        _add(self._stages, stage, StageRow(stage=stage), again, undone=-sign)
        if key is not None:
            _add(self._compactions, key, self._compactions[key], again, undone=-sign)

    def _rewound(self, data: Mapping[str, Any]) -> None:
        """Take out what was saved behind the prompt that was gone back to; requests cut there stay cut."""
        if data.get("failed"):
            self._counts["failed prompts"] += 1
        elif to := _number(data, "to"):
            for seq in self._savings(to):
                self._restate(seq, -1)

    def _cleared(self) -> None:
        """What a cleared view was spared is saved no more, though nobody took it back."""
        for seq in self._savings(0):
            stage, tokens, _ = self._saved[seq]
            self._standing.discard(seq)
            _add(self._stages, stage, StageRow(stage=stage), {"tokens_removed": -tokens})

    def _savings(self, first: int) -> list[int]:
        """Numbers of what changed the view from a log number on, and still does."""
        return sorted(seq for seq in self._standing if seq >= first and self._saved[seq][0] != _CUTS)


def _add(rows: dict[Any, Row], key: object, new: Row, data: Mapping[str, Any], **more: int) -> None:
    """Add figures of an event to the row of their name; what a row does not have is left out."""
    row, names = rows.get(key, new), type(new).__dataclass_fields__
    numbers = {name: data[name] for name in FIGURES if isinstance(data.get(name), int | float)}
    values = {
        name: getattr(row, name) + value for name, value in {**numbers, **more}.items() if name in names
    }
    rows[key] = replace(row, **values)


def _unpriced(data: Mapping[str, Any]) -> bool:
    """Whether something was sent or written that has no known price."""
    return data.get("cost_usd") is None and bool(data.get("input_tokens") or data.get("output_tokens"))


def _number(data: Mapping[str, Any], name: str) -> int:
    return int(data.get(name) or 0)
