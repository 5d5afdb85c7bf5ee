"""Receipts: for each request of a session what was sent, read and paid, and what broke its prefix."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import msgspec

from tui_app.context.counting.prompt_cache import HOUR_S, CacheRule, cached_price
from tui_app.events import (
    REWRITES,
    AssistantMessage,
    BranchMerged,
    CompactionComplete,
    Handoff,
    MemoryConsolidated,
    MessageExcluded,
    PrefixBreak,
    SentPart,
    SessionRewind,
    SubAgentStep,
    ToolCall,
    Truncation,
    UsageInfo,
    UserMessage,
)
from tui_app.records import frozen
from tui_app.session.event_heads import Head
from tui_app.session.figures.cache_forecast import CHANGES, changes_sent, rule_of
from tui_app.session.stats_rows import number
from tui_app.session.stores.store import SessionStore
from tui_app.settings import Settings
from tui_app.text import count

Cause = Literal["", "model", "pause", "front", "view", "unknown"]
"""Why a request read less from the cache than it could have.

Another model, a cold cache, a change before the messages, a change of the messages, or unknown.
"""
Kind = Literal["answer", "sub-agent", "summary", "digest", "memory", "handoff"]

_SHORTFALL = 0.5
"""A request that reads less than this share of what it could have has missed the cache."""
_KINDS: dict[str, Kind] = {
    AssistantMessage.TYPE: "answer",
    SubAgentStep.TYPE: "sub-agent",
    CompactionComplete.TYPE: "summary",
    MemoryConsolidated.TYPE: "memory",
    Handoff.TYPE: "handoff",
    BranchMerged.TYPE: "handoff",
    **{kind.TYPE: "digest" for kind in REWRITES},
}
"""Events that cost something."""
_MOVES = {
    **CHANGES,
    SessionRewind.TYPE: "rewind",
    MessageExcluded.TYPE: "exclusion",
    Truncation.TYPE: "cut of one request",
}
"""Events that change the messages of requests, with their names."""
_TITLES: dict[Kind, str] = {
    "sub-agent": "a step of a sub-agent",
    "digest": "digest of archived results",
    "memory": "reading for memory",
    "handoff": "handoff",
}
_MINUTE_S = 60.0
_TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")


@frozen(kw_only=True)
class Receipt:
    """One request to a model."""

    seq: int
    """Log number of its answer."""
    asked: int = 0
    """Log number of its measurement; 0 if it was not measured here."""
    time: float
    """Time of sending, in seconds since the epoch."""
    kind: Kind
    title: str
    """What it followed: a prompt, or a tool call."""
    model: str
    messages: int = 0
    input_tokens: int = 0
    """As reported, including cached tokens; as measured if nothing was reported."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    prefix_kept: float | None = None
    """Share of the previous request that it begins with; None if not measured."""
    cause: Cause = ""
    broken_by: str = ""
    """What broke the prefix, in words; empty if it was kept."""
    source: int = 0
    """Log number of the event that broke it; 0 for none."""
    broken: PrefixBreak | None = None
    """The first byte that differs."""
    lost_usd: float | None = None
    """Cost of the break at public prices; None if no price is known or nothing was lost."""
    parts: tuple[SentPart, ...] = ()
    """What was sent before the messages."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def read_receipts(store: SessionStore, session: str, settings: Settings) -> list[Receipt]:
    """Return the receipts of a session, oldest first. Their prices add up to those of its statistics.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    figures = {seq: data for seq, _, data in store.figures(session)}
    return receipts(store.heads(session), figures, lambda model: rule_of(model, settings))


def receipts(
    heads: Iterable[Head], figures: Mapping[int, Mapping[str, Any]], rule: Callable[[str], CacheRule | None]
) -> list[Receipt]:
    """Make the receipts of a log.

    Args:
        heads: The log, in order.
        figures: The fields of counted events, by log number.
        rule: Returns the cache rule of a model; None if unknown.
    """
    reports = {
        str(data["model"])
        for data in figures.values()
        if data.get("cache_read_tokens") or data.get("cache_write_tokens")
    }
    fold = _Fold(rule, reports)
    for head in heads:
        fold.apply(head, figures.get(head.seq, {}))
    return fold.done


@frozen
class _Sent:
    """An answered request, as far as the next one can begin with it."""

    model: str
    asked: float
    size: int
    hour: float


@dataclass(slots=True)
class _Fold:
    rule: Callable[[str], CacheRule | None]
    reports: set[str]
    """Models whose provider reports cached tokens."""
    done: list[Receipt] = field(default_factory=list)
    _before: _Sent | None = None
    _answer: int = 0
    _title: str = ""
    _parts: tuple[SentPart, ...] = ()
    _old_parts: tuple[SentPart, ...] = ()
    """Those of the newest answered request."""
    _moves: list[tuple[str, int]] = field(default_factory=list)
    """Names and numbers of changes of messages since the newest answer."""
    _cut: int = 0
    """Number of the event that cut the newest answered request."""
    _asked: Head | None = None
    _measured: Mapping[str, Any] = field(default_factory=dict)
    _broken: PrefixBreak | None = None
    _kept: float | None = None

    def apply(self, head: Head, data: Mapping[str, Any]) -> None:
        match head.type:
            case UserMessage.TYPE:
                self._title = head.title
            case ToolCall.TYPE:
                self._title = f"after {head.title}"
            case UsageInfo.TYPE:
                self._measure(head, data)
        if head.type in _KINDS and data:
            self._pay(head, data)
        if head.type in _MOVES and (head.type not in CHANGES or changes_sent(head, self._answer)):
            self._moves.append((_MOVES[head.type], head.seq))
            if head.type == CompactionComplete.TYPE:
                self._title = "first request after the compaction"

    def _measure(self, head: Head, data: Mapping[str, Any]) -> None:
        first = self._asked is None
        self._asked, self._measured = self._asked or head, data
        if parts := data.get("parts"):
            self._parts = msgspec.convert(parts, tuple[SentPart, ...])
        # Of several attempts, the first that differs from the answered request counts.
        kept = data.get("prefix_kept")
        self._kept = kept if first or self._kept == 1.0 else self._kept
        if self._broken is None and (broken := data.get("broken")):
            self._broken = msgspec.convert(broken, PrefixBreak)

    def _pay(self, head: Head, data: Mapping[str, Any]) -> None:
        kind = _KINDS[head.type]
        paid = any(data.get(name) for name in ("input_tokens", "output_tokens", "cost_usd"))
        if not paid and (kind != "answer" or self._asked is None):
            return
        title = _TITLES.get(kind, "")
        if kind == "summary":
            title = f"summary of {count(number(data, 'messages_left'), 'message')}"
            title = title if head.removed else f"summary, {data.get('outcome')}"
        tokens: dict[str, Any] = {name: number(data, name) for name in _TOKENS}
        time, usd = head.time - float(data.get("duration_s") or 0.0), data.get("cost_usd")
        model = str(data.get("model") or "")
        receipt = Receipt(
            seq=head.seq, time=time, kind=kind, title=title, model=model, cost_usd=usd, **tokens
        )
        sent = number(data, "context_tokens") or receipt.input_tokens
        self.done.append(self._answered(receipt, sent) if kind == "answer" else receipt)

    def _answered(self, receipt: Receipt, sent: int) -> Receipt:
        asked, data = self._asked, self._measured
        began = asked.time if asked is not None else receipt.time
        now = _Sent(receipt.model, began, sent, float(data.get("cache_hour") or 0.0))
        cause, words, source = self._cause(now, receipt.cache_read_tokens)
        receipt = replace(
            receipt,
            asked=asked.seq if asked is not None else 0,
            time=now.asked,
            title=self._title,
            messages=number(data, "messages"),
            input_tokens=receipt.input_tokens or number(data, "total"),
            prefix_kept=self._kept,
            cause=cause,
            broken_by=words,
            source=source,
            broken=self._broken,
            lost_usd=self._lost(now, receipt.cache_read_tokens) if cause else None,
            parts=self._parts,
        )
        self._before = now if sent else self._before
        self._answer, self._old_parts = receipt.seq, self._parts
        cut = [seq for name, seq in self._moves if name == _MOVES[Truncation.TYPE]]
        # The request after a cut one begins differently again.
        self._moves = [(_MOVES[Truncation.TYPE], cut[-1])] if cut and cut[-1] != self._cut else []
        self._cut = cut[-1] if cut else 0
        self._asked, self._measured, self._broken, self._kept = None, {}, None, None
        return receipt

    def _cause(self, now: _Sent, read: int) -> tuple[Cause, str, int]:
        """Return why a request read less than it could have: cause, description and event."""
        before = self._before
        if before is None:
            return "", "", 0
        rule, could = self.rule(now.model), min(before.size, now.size)
        least = rule.least if rule is not None else 0
        short = now.model in self.reports and least <= could and could > 0 and read < _SHORTFALL * could
        if before.model != now.model:
            other = short or now.model not in self.reports
            return ("model", f"another model: {before.model} before", 0) if other else ("", "", 0)
        pause = now.asked - before.asked
        if rule is not None and not rule.lifetime_s:
            short = False
        elif rule is not None and short and pause >= rule.with_hour_share(before.hour).lifetime_s:
            return "pause", f"the cache was cold after {_duration(pause)}", 0
        broken = self._broken or (None if self._kept is not None else self._resumed())
        if broken is not None and not broken.part.startswith("message "):
            return "front", break_text(broken), 0
        if not short and (self._kept is None or self._kept >= 1.0):
            return "", "", 0
        if self._moves:
            name, seq = self._moves[0]
            return "view", f"the {name}, #{seq}", seq
        if broken is not None:
            return "view", break_text(broken), 0
        return ("unknown", "the provider did not keep it", 0) if short else ("", "", 0)

    def _resumed(self) -> PrefixBreak | None:
        """Return what changed before the messages, if this process did not measure the previous request."""
        old = {part.name: part.hash for part in self._old_parts}
        for part in self._parts if old else ():
            if part.hash != old.get(part.name):
                return PrefixBreak(part=part.name, how="changed" if part.name in old else "added")
        removed = [name for name in old if name not in {part.name for part in self._parts}]
        return PrefixBreak(part=removed[0], how="removed") if removed else None

    def _lost(self, now: _Sent, read: int) -> float | None:
        before, rule = self._before, self.rule(now.model)
        could = min(before.size, now.size) if before is not None and before.model == now.model else 0
        if rule is None or could <= read or now.model not in self.reports:
            return None
        paid, whole = (cached_price(now.model, rule, now.size, cached, 0) for cached in (read, could))
        return None if paid is None or whole is None else max(0.0, paid - whole)


def break_text(broken: PrefixBreak) -> str:
    """Describe where a request first differs from the previous one."""
    whose = f"{broken.part} of {broken.by}" if broken.by and broken.by not in broken.part else broken.part
    place = f", byte {broken.byte:,}" if broken.how == "changed" and broken.line else ""
    return f"{whose} {broken.how}{place}"


def _duration(seconds: float) -> str:
    if seconds < 2 * HOUR_S:
        return count(round(seconds / _MINUTE_S), "minute")
    return count(round(seconds / HOUR_S), "hour")


def lost_by_cause(found: Sequence[Receipt]) -> dict[Cause, float]:
    """Return the cost of broken prefixes at public prices, by cause."""
    causes = dict.fromkeys(each.cause for each in found if each.cause and each.lost_usd)
    return {cause: sum(each.lost_usd or 0.0 for each in found if each.cause == cause) for cause in causes}


def receipt_of(found: Sequence[Receipt], number: int) -> Receipt | None:
    """Return the request that an event belongs to: as answer, measurement, or just before it."""
    return next((each for each in found if number <= each.seq), None)
