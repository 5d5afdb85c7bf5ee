"""What a session did and cost, as a fold of its log: the figures of events, none of their texts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from tui_app.events import (
    REWRITES,
    AssistantMessage,
    BranchMerged,
    CompactionComplete,
    CompactionRedone,
    CompactionUndone,
    Error,
    Handoff,
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
from tui_app.records import frozen
from tui_app.session.stats_rows import CompactionRow, ModelRow, Row, Shares, SideRow, StageRow, add, number

STAGES: dict[str, str] = {
    **{kind.TYPE: kind.STAGE for kind in REWRITES},
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
    compactions: dict[str, CompactionRow] = field(default_factory=dict)
    _saved: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    """By log number: the stage, the tokens it saved, and the row of compactions it is in."""
    _taken: set[int] = field(default_factory=set)
    """Those that save nothing any more."""
    _rewound: dict[int, list[int]] = field(default_factory=dict)
    """By the number of a rewind, what it took back."""
    _cleared: dict[int, list[int]] = field(default_factory=dict)
    """By the number of a clear, what saved something until then."""

    def save(self, seq: int, kind: str, data: Mapping[str, Any], row: str = "") -> None:
        """Add what one event saved; ``row`` is that of its compaction, where it is one."""
        stage = STAGES[kind]
        self._saved[seq] = stage, number(data, "tokens_removed"), row
        add(self.stages, stage, StageRow(stage=stage), data, count=1)

    def restate(self, seq: int, sign: int) -> None:
        """Take what an event saved out of the figures (-1), or put it back (+1)."""
        if seq not in self._saved or (seq in self._taken) == (sign < 0):
            return
        _, tokens, row = self._saved[seq]
        self._count(seq, sign, undone=-sign)
        if row:
            again = {"tokens_removed": sign * tokens}
            add(self.compactions, row, self.compactions[row], again, undone=-sign)

    def rewound(self, seq: int, to: int) -> None:
        """Take out what was saved behind the prompt that was gone back to."""
        self._rewound[seq] = self._savings(to)
        for each in self._rewound[seq]:
            self.restate(each, -1)

    def cleared(self, seq: int) -> None:
        """Stop counting what a cleared view was spared, though it was not undone."""
        self._cleared[seq] = self._savings(0)
        for each in self._cleared[seq]:
            self._count(each, -1)

    def restored(self, cut: int) -> None:
        """Put back what a rewind or a clear took out of the figures: it was undone."""
        for each in self._rewound.pop(cut, ()):
            self.restate(each, 1)
        for each in self._cleared.pop(cut, ()):
            self._count(each, 1)

    def _count(self, seq: int, sign: int, undone: int = 0) -> None:
        stage, tokens, _ = self._saved[seq]
        (self._taken.discard if sign > 0 else self._taken.add)(seq)
        add(self.stages, stage, StageRow(stage=stage), {"tokens_removed": sign * tokens}, undone=undone)

    def _savings(self, first: int) -> list[int]:
        """Numbers of what changed the view from a log number on, and still does."""
        standing = (seq for seq in self._saved.keys() - self._taken if seq >= first)
        return sorted(seq for seq in standing if self._saved[seq][0] != _REQUESTS)


COUNTED: tuple[str, ...] = (
    UserMessage.TYPE, AssistantMessage.TYPE, ToolCall.TYPE, ToolResult.TYPE, UsageInfo.TYPE, *STAGES,
    CompactionUndone.TYPE, CompactionRedone.TYPE, RewriteUndone.TYPE, SessionRewind.TYPE, SessionClear.TYPE,
    SessionRestored.TYPE, Error.TYPE, HookRan.TYPE, SubAgentStart.TYPE, SubAgentStep.TYPE,
    MemoryConsolidated.TYPE, Handoff.TYPE, BranchMerged.TYPE,
)  # fmt: skip
"""Types of the events that the fold looks at."""
_SIDES = {MemoryConsolidated.TYPE: "memory", Handoff.TYPE: "handoff", BranchMerged.TYPE: "handoff"}
_REWRITES = frozenset(kind.TYPE for kind in REWRITES)
_FORMAT = 4
"""Version of a fold as text. Raise it when it makes something else of a log: older texts are not read."""
_IMPORTED = "imported"
"""Outcome of a compaction that another program made: nothing of it was done here."""


@frozen(kw_only=True)
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
        share = self.cache_share
        own = {
            "cost_usd": round(self.cost_usd, 6),
            "unpriced": self.unpriced,
            "cache_share": None if share is None else round(share, 4),
        }
        return {**asdict(self), **own}


@dataclass(slots=True)
class StatsFold:
    """Folds events, in the order of the log, into figures.

    Attributes:
        last: Log number of the last event that was folded.
    """

    last: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _unanswered: int = 0
    """Requests noted since the last answer."""
    _prompt: int = 0
    """Log number of the newest prompt."""
    _models: dict[str, ModelRow] = field(default_factory=dict)
    _unpriced_models: Counter[str] = field(default_factory=Counter)
    _sides: dict[str, SideRow] = field(default_factory=dict)
    _savings: Savings = field(default_factory=Savings)
    _kept: Shares = field(default_factory=Shares)
    _retained: Shares = field(default_factory=Shares)
    _errors: Counter[str] = field(default_factory=Counter)
    _hooks: Counter[str] = field(default_factory=Counter)

    def apply(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """Fold one event.

        Args:
            seq: Its log number.
            kind: Its type.
            data: Its fields, at least those of ``FIGURES`` that it has.
        """
        self.last = seq
        # A sub-agent that goes on is one.
        self._counts[kind] += not data.get("again")
        self._count_request(kind)
        match kind:
            case AssistantMessage.TYPE | SubAgentStep.TYPE:
                name = str(data.get("model") or "")
                self._pay(self._models, name, ModelRow(model=name), data, answers=1)
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
            case _ if kind in _SIDES:
                self._side(_SIDES[kind], data)
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
                self._kept.add(float(kept))
            case Error.TYPE:
                self._errors[str(data.get("kind"))] += 1
            case HookRan.TYPE:
                self._hooks[f"{data.get('hook')} {data.get('outcome')}"] += 1

    def stats(self) -> SessionStats:
        counts, kept, retained = self._counts, self._kept, self._retained
        compactions, stages = self._savings.compactions, self._savings.stages
        return SessionStats(
            turns=counts[UserMessage.TYPE] - counts["failed prompts"],
            requests=counts["requests"],
            answers=counts[AssistantMessage.TYPE],
            tool_calls=counts[ToolCall.TYPE],
            sub_agents=counts[SubAgentStart.TYPE],
            tool_failures=counts["failed tools"],
            models=tuple(self._models.values()),
            unpriced_models=dict(+self._unpriced_models),
            compactions=tuple(compactions[key] for key in sorted(compactions)),
            sides=tuple(self._sides[name] for name in sorted(self._sides)),
            stages=tuple(stages[name] for name in STAGES.values() if name in stages),
            prefix_kept=kept.mean,
            prefix_kept_min=kept.least,
            prefix_breaks=kept.partial,
            retention=retained.mean,
            retention_min=retained.least,
            errors=dict(sorted(self._errors.items())),
            hooks=dict(sorted(self._hooks.items())),
        )

    def to_text(self) -> str:
        return msgspec.json.encode({"format": _FORMAT, "fold": self}).decode()

    @classmethod
    def from_text(cls, text: str) -> "StatsFold":
        """Make a fold that was kept; a new one where none was, or other rules made it."""
        parts = msgspec.json.decode(text or "{}", type=dict[str, msgspec.Raw])
        if bytes(parts.get("format", b"")) != b"%d" % _FORMAT:
            return cls()
        return msgspec.json.decode(parts["fold"], type=cls, dec_hook=lambda kind, value: kind(value))

    def _compaction(self, seq: int, data: Mapping[str, Any]) -> None:
        applied = data.get("outcome") == "success"
        other = applied and str(data.get("job") or "").startswith(_IMPORTED)
        outcome = _IMPORTED if other else str(data.get("outcome"))
        row = CompactionRow(trigger=str(data.get("trigger")), outcome=outcome)
        key, spent = f"{row.trigger} {outcome}", data if applied else {**data, "tokens_removed": 0}
        self._pay(self._savings.compactions, key, row, spent, count=1)
        if applied:
            self._savings.save(seq, CompactionComplete.TYPE, data, key)
            if data.get("retention") is not None:
                self._retained.add(float(data["retention"]))

    def _side(self, purpose: str, data: Mapping[str, Any]) -> None:
        """Count what a model was paid for; what code did by itself is none of it."""
        if number(data, "input_tokens") or number(data, "output_tokens") or data.get("cost_usd"):
            self._pay(self._sides, purpose, SideRow(purpose=purpose), data, count=1)

    def _pay(self, rows: dict[Any, Row], key: str, new: Row, data: Mapping[str, Any], **counted: int) -> None:
        """Add what something has cost to its row, and whom it went to where no price is known."""
        # An answer was asked for, whatever is reported of it.
        asked = data.get("input_tokens") or data.get("output_tokens") or "answers" in counted
        unpriced = int(data.get("cost_usd") is None and bool(asked))
        self._unpriced_models[str(data.get("model") or "")] += unpriced
        add(rows, key, new, data, unpriced=unpriced, **counted)
