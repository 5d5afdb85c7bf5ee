"""Statistics of a session: what it did and cost, as a fold of its events' figures without their texts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

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
"""The stage that shortens a request instead of the view. What it saved is not taken back."""


@dataclass(slots=True)
class Saving:
    """Tokens that one event saved."""

    stage: str
    tokens: int
    row: str
    """Key of its row if it is a compaction."""
    state: Literal["stands", "undone", "cleared"] = "stands"
    """``cleared`` after a clear: nothing was undone, but there is nothing left to save tokens on."""


@dataclass(slots=True)
class Savings:
    """Tracks what saved tokens, by log number, and what took that back."""

    made: dict[int, Saving] = field(default_factory=dict)
    _cuts: dict[int, list[int]] = field(default_factory=dict)
    """Log numbers of the savings taken back, by that of the rewind or clear."""

    def restate(self, seqs: Iterable[int], state: Literal["stands", "undone", "cleared"]) -> None:
        for seq in seqs:
            if seq in self.made:
                self.made[seq].state = state

    def cut(self, seq: int, first: int, state: Literal["undone", "cleared"]) -> None:
        """Cancel the savings from a log number on that still count."""
        self._cuts[seq] = [
            each
            for each, saving in self.made.items()
            if each >= first and saving.state == "stands" and saving.stage != _REQUESTS
        ]
        self.restate(self._cuts[seq], state)

    def restored(self, cut: int) -> None:
        """Restore the savings that an undone rewind or clear had cancelled."""
        self.restate(self._cuts.pop(cut, ()), "stands")

    def stages(self) -> Iterator[StageRow]:
        """Yield the present savings by stage."""
        for stage in STAGES.values():
            if own := [saving for saving in self.made.values() if saving.stage == stage]:
                saved = sum(saving.tokens for saving in own if saving.state == "stands")
                undone = sum(saving.state == "undone" for saving in own)
                yield StageRow(stage=stage, count=len(own), undone=undone, tokens_removed=saved)

    def of_row(self, key: str, row: CompactionRow) -> CompactionRow:
        """Return a row of compactions with its present savings."""
        own = [saving for saving in self.made.values() if saving.row == key]
        saved = sum(saving.tokens for saving in own if saving.state != "undone")
        return replace(row, tokens_removed=saved, undone=sum(saving.state == "undone" for saving in own))


COUNTED: tuple[str, ...] = (
    UserMessage.TYPE, AssistantMessage.TYPE, ToolCall.TYPE, ToolResult.TYPE, UsageInfo.TYPE, *STAGES,
    CompactionUndone.TYPE, CompactionRedone.TYPE, RewriteUndone.TYPE, SessionRewind.TYPE, SessionClear.TYPE,
    SessionRestored.TYPE, Error.TYPE, HookRan.TYPE, SubAgentStart.TYPE, SubAgentStep.TYPE,
    MemoryConsolidated.TYPE, Handoff.TYPE, BranchMerged.TYPE,
)  # fmt: skip
"""Types of the events that the fold uses."""
_SIDES = {MemoryConsolidated.TYPE: "memory", Handoff.TYPE: "handoff", BranchMerged.TYPE: "handoff"}
_FORMAT = 5
"""Format of the stored fold. Raise it when the same log gives other figures: older folds are not read."""
_IMPORTED = "imported"
"""Outcome of a compaction that another program made; it does not count as work done here."""


@frozen(kw_only=True)
class SessionStats:
    """The statistics of one session."""

    turns: int = 0
    requests: int = 0
    """Requests for answers, including those that another program sent before an import."""
    answers: int = 0
    tool_calls: int = 0
    """Without those of subagents."""
    sub_agents: int = 0
    """Number of subagents started. Their cost is in the rows of their models."""
    tool_failures: int = 0
    """Results that were an error, denied or interrupted."""
    models: tuple[ModelRow, ...] = ()
    unpriced_models: dict[str, int] = field(default_factory=dict)
    """Number of requests without a known price by model, including summaries, digests and memory."""
    compactions: tuple[CompactionRow, ...] = ()
    sides: tuple[SideRow, ...] = ()
    stages: tuple[StageRow, ...] = ()
    prefix_kept: float | None = None
    """Mean share of each request that the next one began with; None with fewer than two requests."""
    prefix_kept_min: float | None = None
    prefix_breaks: int = 0
    """Requests that did not begin with the whole previous one."""
    retention: float | None = None
    """Mean share of facts kept by successful compactions."""
    retention_min: float | None = None
    errors: dict[str, int] = field(default_factory=dict)
    """Number of errors by kind."""
    hooks: dict[str, int] = field(default_factory=dict)
    """Number of runs by name and outcome."""

    @property
    def _paid(self) -> list[ModelRow | CompactionRow | SideRow]:
        return [*self.models, *self.compactions, *self.sides]

    @property
    def cost_usd(self) -> float:
        """Known cost of answers, summaries, digests, handoffs and memory."""
        return sum(row.cost_usd for row in self._paid)

    @property
    def unpriced(self) -> int:
        """Number of answers, summaries, digests, handoffs and memory readings without a known price."""
        return sum(row.unpriced for row in self._paid)

    @property
    def cache_share(self) -> float | None:
        """Share of the input that providers read from their caches; None without input."""
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
    """Folds events, in the order of the log, into statistics.

    Attributes:
        last: Log number of the last folded event.
    """

    last: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _unanswered: int = 0
    """Requests since the last answer."""
    _prompt: int = 0
    """Log number of the newest prompt."""
    _models: dict[str, ModelRow] = field(default_factory=dict)
    _unpriced_models: Counter[str] = field(default_factory=Counter)
    _sides: dict[str, SideRow] = field(default_factory=dict)
    _compactions: dict[str, CompactionRow] = field(default_factory=dict)
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
        # A subagent that continues is counted once.
        self._counts[kind] += not data.get("again")
        self._count_request(kind)
        match kind:
            case AssistantMessage.TYPE | SubAgentStep.TYPE:
                name = str(data.get("model") or "")
                self._pay(self._models, name, ModelRow(model=name), data, answers=1)
            case CompactionComplete.TYPE:
                self._compaction(seq, data)
            case CompactionUndone.TYPE | RewriteUndone.TYPE:
                self._savings.restate((number(data, "compaction"), number(data, "rewrite")), "undone")
            case CompactionRedone.TYPE:
                self._savings.restate((number(data, "compaction"),), "stands")
            case _ if kind in STAGES:
                self._save(seq, kind, data)
                if kind != Truncation.TYPE:
                    self._side("digests", data)
            case _ if kind in _SIDES:
                self._side(_SIDES[kind], data)
            case _:
                self._others(seq, kind, data)

    def _count_request(self, kind: str) -> None:
        """Count requests. An answer without a recorded one was requested by another program."""
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
                # A broken-off answer that is requested again leaves the view in the same way.
                self._counts["failed prompts"] += number(data, "to") == self._prompt
            case SessionRewind.TYPE if to := number(data, "to"):
                self._savings.cut(seq, to, "undone")
            case SessionClear.TYPE:
                self._savings.cut(seq, 0, "cleared")
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
        compactions = sorted(self._compactions.items())
        return SessionStats(
            turns=counts[UserMessage.TYPE] - counts["failed prompts"],
            requests=counts["requests"],
            answers=counts[AssistantMessage.TYPE],
            tool_calls=counts[ToolCall.TYPE],
            sub_agents=counts[SubAgentStart.TYPE],
            tool_failures=counts["failed tools"],
            models=tuple(self._models.values()),
            unpriced_models=dict(+self._unpriced_models),
            compactions=tuple(self._savings.of_row(key, row) for key, row in compactions),
            sides=tuple(self._sides[name] for name in sorted(self._sides)),
            stages=tuple(self._savings.stages()),
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
        """Decode a stored fold; a new one if there is none or its format differs."""
        parts = msgspec.json.decode(text or "{}", type=dict[str, msgspec.Raw])
        if bytes(parts.get("format", b"")) != b"%d" % _FORMAT:
            return cls()
        return msgspec.json.decode(parts["fold"], type=cls, dec_hook=lambda kind, value: kind(value))

    def _compaction(self, seq: int, data: Mapping[str, Any]) -> None:
        applied = data.get("outcome") == "success"
        other = applied and str(data.get("job") or "").startswith(_IMPORTED)
        outcome = _IMPORTED if other else str(data.get("outcome"))
        row = CompactionRow(trigger=str(data.get("trigger")), outcome=outcome)
        key = f"{row.trigger} {outcome}"
        self._pay(self._compactions, key, row, data, count=1)
        if applied:
            self._save(seq, CompactionComplete.TYPE, data, key)
            if data.get("retention") is not None:
                self._retained.add(float(data["retention"]))

    def _save(self, seq: int, kind: str, data: Mapping[str, Any], row: str = "") -> None:
        self._savings.made[seq] = Saving(STAGES[kind], number(data, "tokens_removed"), row)

    def _side(self, purpose: str, data: Mapping[str, Any]) -> None:
        """Count paid work other than turns and compactions. Work done without a model does not count."""
        if number(data, "input_tokens") or number(data, "output_tokens") or data.get("cost_usd"):
            self._pay(self._sides, purpose, SideRow(purpose=purpose), data, count=1)

    def _pay(self, rows: dict[Any, Row], key: str, new: Row, data: Mapping[str, Any], **counted: int) -> None:
        """Add the cost of an event to its row, and note its model if there is no price."""
        # An answer was requested even if no tokens are reported.
        asked = data.get("input_tokens") or data.get("output_tokens") or "answers" in counted
        unpriced = int(data.get("cost_usd") is None and bool(asked))
        self._unpriced_models[str(data.get("model") or "")] += unpriced
        add(rows, key, new, data, unpriced=unpriced, **counted)
