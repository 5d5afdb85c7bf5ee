"""What a session did and cost, as a fold of its log: the figures of events, none of their texts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tui_app.events import (
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
    SessionRestored,
    SessionRewind,
    SubAgentStart,
    SubAgentStep,
    ToolCall,
    ToolResult,
    Truncation,
    UsageInfo,
    UserMessage,
)
from tui_app.session.savings import STAGES, Savings
from tui_app.session.stats_rows import (
    FIGURES,
    CompactionRow,
    ModelRow,
    SideRow,
    StageRow,
    add,
    mean,
    number,
)

__all__ = [
    "COUNTED", "FIGURES", "STAGES", "CompactionRow", "ModelRow", "SessionStats", "SideRow", "StageRow",
    "StatsFold",
]  # fmt: skip

COUNTED: tuple[str, ...] = (
    UserMessage.TYPE, AssistantMessage.TYPE, ToolCall.TYPE, ToolResult.TYPE, UsageInfo.TYPE, *STAGES,
    CompactionUndone.TYPE, CompactionRedone.TYPE, RewriteUndone.TYPE, SessionRewind.TYPE, SessionClear.TYPE,
    SessionRestored.TYPE, Error.TYPE, HookRan.TYPE, SubAgentStart.TYPE, SubAgentStep.TYPE,
    MemoryConsolidated.TYPE,
)  # fmt: skip
"""Types of the events that the fold looks at."""
_REWRITES = frozenset(kind.TYPE for kind in REWRITES)
_IMPORTED = "imported"
"""Outcome of a compaction that another program made: nothing of it was done here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStats:
    """The figures of one session."""

    turns: int = 0
    requests: int = 0
    """For answers, those that another program sent before an import included."""
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


@dataclass(slots=True)
class StatsFold:
    """Folds events, in the order of the log, into figures."""

    _counts: Counter[str] = field(default_factory=Counter)
    _unanswered: int = 0
    """Requests noted since the last answer."""
    _prompt: int = 0
    """Log number of the newest prompt."""
    _models: dict[str, ModelRow] = field(default_factory=dict)
    _unpriced_models: Counter[str] = field(default_factory=Counter)
    _sides: dict[str, SideRow] = field(default_factory=dict)
    _savings: Savings = field(default_factory=Savings)
    _kept: list[float] = field(default_factory=list)
    _retained: list[float] = field(default_factory=list)
    _errors: Counter[str] = field(default_factory=Counter)
    _hooks: Counter[str] = field(default_factory=Counter)

    def apply(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """Fold one event.

        Args:
            seq: Its log number.
            kind: Its type.
            data: Its fields, at least those of ``FIGURES`` that it has.
        """
        self._counts[kind] += 1
        self._count_request(kind)
        match kind:
            case AssistantMessage.TYPE | SubAgentStep.TYPE:
                self._answer(data)
            case CompactionComplete.TYPE:
                self._compaction(seq, data)
            case Truncation.TYPE:
                self._savings.save(seq, kind, data)
            case CompactionUndone.TYPE | CompactionRedone.TYPE:
                sign = -1 if kind == CompactionUndone.TYPE else 1
                self._savings.restate(number(data, "compaction"), sign)
            case RewriteUndone.TYPE:
                self._savings.restate(number(data, "rewrite"), -1)
            case _ if kind in _REWRITES:
                self._savings.save(seq, kind, data)
                self._side("digests", data)
            case MemoryConsolidated.TYPE:
                self._side("memory", data)
            case _:
                self._others(seq, kind, data)

    def _count_request(self, kind: str) -> None:
        """An answer that no request was noted for was asked for by another program."""
        match kind:
            case UsageInfo.TYPE:
                self._unanswered += 1
                self._counts["requests"] += 1
            case AssistantMessage.TYPE:
                self._counts["requests"] += not self._unanswered
                self._unanswered = 0

    def _others(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        match kind:
            case ToolResult.TYPE:
                self._counts["failed tools"] += data.get("outcome") != "success"
            case UserMessage.TYPE:
                self._prompt = seq
            case SessionRewind.TYPE if data.get("failed"):
                # An answer that broke off and was asked for again leaves the view in the same way.
                self._counts["failed prompts"] += number(data, "to") == self._prompt
            case SessionRewind.TYPE if to := number(data, "to"):
                self._savings.rewound(seq, to)
            case SessionClear.TYPE:
                self._savings.cleared(seq)
            case SessionRestored.TYPE:
                self._savings.restored(number(data, "cut"))
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
            requests=counts["requests"],
            answers=counts[AssistantMessage.TYPE],
            tool_calls=counts[ToolCall.TYPE],
            sub_agents=counts[SubAgentStart.TYPE],
            tool_failures=counts["failed tools"],
            models=tuple(self._models.values()),
            unpriced_models=dict(+self._unpriced_models),
            compactions=tuple(self._savings.compactions[key] for key in sorted(self._savings.compactions)),
            sides=tuple(self._sides[name] for name in sorted(self._sides)),
            stages=tuple(
                self._savings.stages[name] for name in STAGES.values() if name in self._savings.stages
            ),
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
        add(self._models, name, ModelRow(model=name), data, answers=1, unpriced=unpriced)

    def _compaction(self, seq: int, data: Mapping[str, Any]) -> None:
        applied = data.get("outcome") == "success"
        other = applied and str(data.get("job") or "").startswith(_IMPORTED)
        key = (str(data.get("trigger")), _IMPORTED if other else str(data.get("outcome")))
        spent = data if applied else {**data, "tokens_removed": 0}
        row, unpriced = CompactionRow(trigger=key[0], outcome=key[1]), int(_unpriced(data))
        self._unpriced_models[str(data.get("model") or "")] += unpriced
        add(self._savings.compactions, key, row, spent, count=1, unpriced=unpriced)
        if applied:
            self._savings.save(seq, CompactionComplete.TYPE, data, key)
            if data.get("retention") is not None:
                self._retained.append(float(data["retention"]))

    def _side(self, purpose: str, data: Mapping[str, Any]) -> None:
        """Count what a model was paid for; what code did by itself is none of it."""
        if number(data, "input_tokens") or number(data, "output_tokens") or data.get("cost_usd"):
            row, unpriced = SideRow(purpose=purpose), int(_unpriced(data))
            self._unpriced_models[str(data.get("model") or "")] += unpriced
            add(self._sides, purpose, row, data, count=1, unpriced=unpriced)


def _unpriced(data: Mapping[str, Any]) -> bool:
    """Whether something was sent or written that has no known price."""
    return data.get("cost_usd") is None and bool(data.get("input_tokens") or data.get("output_tokens"))
