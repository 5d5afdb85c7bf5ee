"""Audit of the compactions in a conversation from any program: what they lost. No model is called."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.messages import ModelMessage

from tui_app.context.binding.bind import Binder, BoundNotes
from tui_app.context.compaction.trial import questions_about, unanswered
from tui_app.context.counting.encodings import TextCounter, encoding_name
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.ledger.facts import session_facts
from tui_app.context.ledger.retention import judge
from tui_app.context.policy import Policy
from tui_app.context.summaries.prompt import message_text
from tui_app.context.user_text import own_words, sentences
from tui_app.context.views.view import Item, to_messages
from tui_app.conversation.audits.replay import FactsKept, Replay
from tui_app.conversation.audits.simulate import STATES, count_facts, look_up_facts
from tui_app.conversation.audits.transcript import Recorded
from tui_app.conversation.history.view_messages import ViewMessages
from tui_app.events import KIND_LABELS, CompactionComplete, Fact
from tui_app.records import frozen, picked
from tui_app.session.event_heads import Head
from tui_app.session.event_rows import MESSAGES
from tui_app.session.importers.formats import TABLE
from tui_app.session.views.agent_view import AgentView
from tui_app.system.secrets import mask_secrets

_FORMATS = {each.name: each for each in TABLE}
_WAY_BACK = re.compile(
    r"(?i)\b(?:transcript|(?:full|conversation|chat|session) (?:history|log))\b"
    r"[^\n]{0,80}?[/\\]\S+\.(?:jsonl?|md|log|txt)\b"
)
"""Matches text that names a file with the full conversation."""


@frozen(kw_only=True)
class PolicyKept:
    """What one of our policies would have kept of the facts that a compaction was given."""

    policy: str
    tokens: int
    """Of the view under that policy at this point."""
    messages: int
    fits: bool
    """Whether a request with this view fits the window."""
    facts: tuple[Fact, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            **picked(self, "policy tokens messages fits"),
            **picked(count_facts(self.facts), "retention recoverable"),
            "facts": by_kind(self.facts),
        }


@frozen(kw_only=True)
class AuditedCompaction:
    """One compaction, compared with what it replaced."""

    seq: int
    """Its log number."""
    message: int
    """Number of messages before it."""
    time: float
    trigger: str
    """Why it was made; empty if the file does not record it."""
    undone: bool
    """Whether it was undone later."""
    tokens_before: int
    """Counted here, messages only."""
    tokens_after: int
    messages_before: int
    messages_after: int
    reported: tuple[int, int]
    """Tokens before and after, as the program recorded them; 0 if unknown or the same as counted here."""
    facts: tuple[Fact, ...]
    """Facts that left the view, each with its state. Facts lost by an earlier compaction are not repeated."""
    way_back: bool
    """Whether the removed messages can still be reached from the replacement."""
    claims: tuple[str, ...]
    """Statements of the summary that are not in the log."""
    statements: int
    """Number of statements in the summary; 0 if no model wrote it."""
    sourced: int = 0
    """Those with a source in the log."""
    questions: int = 0
    """Number of questions that the log could answer at that point, all put to the replacement."""
    unanswered: tuple[str, ...] = ()
    """Those that the replacement cannot answer."""
    instead: tuple[PolicyKept, ...] = ()

    @property
    def kept(self) -> FactsKept:
        """Facts kept, by weight and in numbers."""
        return count_facts(self.facts)

    def lost_facts(self, *kinds: str) -> tuple[Fact, ...]:
        """Facts that are not word for word in what replaced them; of all kinds, or of some."""
        return tuple(
            each for each in self.facts if each.state != "kept" and (not kinds or each.kind in kinds)
        )

    def to_json(self) -> dict[str, Any]:
        return {
            **picked(self, "seq message time undone tokens_before tokens_after"),
            **picked(self, "messages_before messages_after questions way_back statements sourced"),
            "trigger": self.trigger or None,
            "reported_before": self.reported[0] or None,
            "reported_after": self.reported[1] or None,
            **picked(self.kept, "retention recoverable"),
            "facts": by_kind(self.facts),
            "unanswered": list(self.unanswered),
            "rules_gone": [_as_json(fact) for fact in self.lost_facts(*_USER_KINDS)],
            "errors_gone": [_as_json(fact) for fact in self.lost_facts("error")],
            "others_gone": [
                _as_json(fact) for fact in self.lost_facts() if fact.kind not in (*_USER_KINDS, "error")
            ],
            "claims": list(self.claims),
            "policies": [each.to_json() for each in self.instead],
        }


_USER_KINDS = ("request", "said")
"""Kinds of facts that are the user's words."""


def _as_json(fact: Fact) -> dict[str, str]:
    return picked(fact, "kind text source state")


def by_kind(facts: Iterable[Fact]) -> dict[str, dict[str, int]]:
    """Number of kept, recoverable and lost facts of each kind."""
    counts: dict[str, dict[str, int]] = {kind: dict.fromkeys(STATES, 0) for kind in KIND_LABELS}
    for fact in facts:
        counts[fact.kind][fact.state] += 1
    return counts


@frozen(kw_only=True)
class Audit:
    """The audit of one conversation."""

    recorded: Recorded
    messages: int
    """Number of messages, without summaries."""
    tokens: int
    """Of all messages together."""
    compactions: tuple[AuditedCompaction, ...]
    context: tuple[tuple[int, int], ...]
    """Message number and tokens of the context after it; a compaction adds another point for its message."""
    window: int = 0
    """The window the policies were replayed in; 0 if none was."""

    def to_json(self) -> dict[str, Any]:
        recorded = self.recorded
        return {
            "source": recorded.name,
            **picked(recorded, "format title"),
            "model": recorded.model or None,
            **picked(self, "messages tokens"),
            "window": self.window or None,
            "compactions": [each.to_json() for each in self.compactions],
            "total": total(self.compactions),
            "context": [list(point) for point in self.context],
            "skipped": [picked(skipped, "line reason") for skipped in recorded.skipped],
            "notes": list(recorded.notes),
        }


def total(compactions: Sequence[AuditedCompaction]) -> dict[str, Any]:
    """Totals over compactions. Those undone later are only counted."""
    undone, compactions = len(compactions), [each for each in compactions if not each.undone]
    return {
        "compactions": len(compactions),
        "undone": undone - len(compactions),
        "tokens_before": sum(each.tokens_before for each in compactions),
        "tokens_after": sum(each.tokens_after for each in compactions),
        "facts": by_kind(fact for each in compactions for fact in each.facts),
        "rules_gone": sum(len(each.lost_facts(*_USER_KINDS)) for each in compactions),
        "errors_gone": sum(len(each.lost_facts("error")) for each in compactions),
        "claims": sum(len(each.claims) for each in compactions),
        "statements": sum(each.statements for each in compactions),
    }


def report(audits: Sequence[Audit]) -> dict[str, Any]:
    """All audits and their total as one object, read by scripts and shown on the page."""
    every = [compaction for audit in audits for compaction in audit.compactions]
    return {"audits": [audit.to_json() for audit in audits], "total": total(every)}


@frozen
class _Moment:
    head: Head
    message: int
    before: Sequence[Head]
    after: Sequence[Head]


@dataclass(slots=True)
class _Walk:
    moments: list[_Moment]
    context: list[tuple[int, int]]
    said: list[Head]
    """Every message, including those undone later."""
    standing: frozenset[int] = frozenset()
    """Log numbers of the compactions that were not undone."""


def _walk(heads: Sequence[Head]) -> _Walk:
    walk, view = _Walk([], [], []), AgentView()
    size, version = 0, view.version
    for head in heads:
        compacted = head.type == CompactionComplete.TYPE and head.state == "success"
        before = view.visible() if compacted else []
        view.apply(head)
        if view.version != version:
            version, size = view.version, _size(view.visible())
        elif head.type in MESSAGES:
            size += sum(head.tokens.values())
        if head.type in MESSAGES:
            walk.said.append(head)
        elif compacted:
            walk.moments.append(_Moment(head, len(walk.said), before, view.visible()))
        else:
            continue
        walk.context.append((len(walk.said), size))
    walk.standing = frozenset(view.compactions)
    return walk


def _size(heads: Sequence[Head]) -> int:
    return sum(sum(head.tokens.values()) for head in heads)


def _original_messages(heads: Sequence[Head]) -> list[Head]:
    """The messages among some heads, in their original form."""
    return [replace(head, form=(0, 0)) if head.form[0] else head for head in heads if head.type in MESSAGES]


def audit(recorded: Recorded, only: int = 0) -> Audit:
    """Compare each compaction with what it replaced.

    Args:
        recorded: The conversation.
        only: Log number of the one compaction to audit; 0 for all.
    """
    walk = _walk(recorded.heads)
    found: list[AuditedCompaction] = []
    if any(only in (0, moment.head.seq) for moment in walk.moments):
        recorded.messages.load(walk.said)
        kept: dict[int, tuple[Fact, ...]] = {}
        for moment in walk.moments:
            if only and moment.head.seq > only:
                break
            # What an earlier compaction kept counts as long as its replacement is in the view.
            earlier = (kept[head.seq] for head in reversed(moment.before) if head.seq in kept)
            audited = _audited(recorded, walk, moment, next(earlier, ()), check=only in (0, moment.head.seq))
            kept[moment.head.seq] = tuple(fact for fact in audited.facts if fact.state == "kept")
            found.append(audited)
    audits, context = tuple(each for each in found if only in (0, each.seq)), tuple(walk.context)
    messages, tokens = len(walk.said), _size(walk.said)
    return Audit(recorded=recorded, messages=messages, tokens=tokens, compactions=audits, context=context)


def _audited(
    recorded: Recorded, walk: _Walk, moment: _Moment, earlier: Sequence[Fact], *, check: bool
) -> AuditedCompaction:
    done, messages = recorded.event(moment.head.seq), recorded.messages
    assert isinstance(done, CompactionComplete)
    messages.load([*moment.before, *moment.after])
    view = [Item(head.seq, messages.of(head)) for head in _original_messages(moment.before)]
    known = {(fact.kind, fact.text) for fact in earlier}
    fresh = _by_sentence(session_facts(view, {head.seq for head in moment.after}))
    facts = (*earlier, *(fact for fact in fresh if (fact.kind, fact.text) not in known))
    new_text = "\n".join(message_text(messages.of(head)) for head in moment.after)
    foreign = done.performed_by == "provider"
    program = _FORMATS.get(recorded.format) if foreign else None
    way_back = not foreign or bool(_WAY_BACK.search(done.summary))
    facts, _ = judge(facts, replacement_text=new_text, recoverable=way_back)
    items = [Item(head.seq, messages.of(head)) for head in walk.said[: moment.message]] if check else []
    questions = questions_about(items, {head.seq for head in moment.after})
    checked = BoundNotes("")
    if check and done.performed_by in ("model", "provider"):  # code only quotes
        summary = program.frame.sub("", done.summary) if program and program.frame else done.summary
        checked = Binder.over(items, recorded.beside).bind(summary)
    before, after = _size(moment.before), _size(moment.after)
    trigger = "automatic" if foreign and done.trigger == "blocking" else done.trigger.replace("_", " ")
    return AuditedCompaction(
        seq=moment.head.seq,
        message=moment.message,
        time=moment.head.time,
        trigger=trigger if program is None or program.tells_trigger else "",
        # An import undoes those of other programs: the model sees everything again.
        undone=not foreign and moment.head.seq not in walk.standing,
        tokens_before=before,
        tokens_after=after,
        messages_before=_count(messages, moment.before),
        messages_after=_count(messages, moment.after),
        reported=(
            done.tokens_before if done.tokens_before != before else 0,
            done.tokens_after if done.tokens_after != after else 0,
        ),
        facts=facts,
        way_back=way_back,
        claims=tuple(
            mask_secrets(line.statement.text) for line in checked.lines if line.form == "not in the log"
        ),
        statements=len(checked.lines),
        sourced=checked.sourced,
        questions=len(questions),
        unanswered=unanswered(questions, new_text),
    )


def _by_sentence(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Split the user's words into sentences: a summary may keep one rule of a prompt and lose another."""
    for fact in facts:
        parts = list(dict.fromkeys(sentences(own_words(fact.text)))) if fact.kind in _USER_KINDS else []
        if len(parts) < 2:
            yield fact
        else:
            share = fact.weight / sum(map(len, parts))
            yield from (replace(fact, text=each, weight=round(share * len(each), 4)) for each in parts)


def _count(messages: ViewMessages, heads: Sequence[Head]) -> int:
    """Number of messages as sent: the results of one answer are one message."""
    return len(to_messages([Item(head.seq, messages.of(head)) for head in heads]))


_SMALLEST = 1_000
"""Tokens of the smallest window used for a replay."""
Watch = Callable[[str, int, int], None]
"""Receives the policy's name, the number of requests replayed under all policies, and their total."""


async def with_policies(audited: Audit, policies: Sequence[Policy], watch: Watch) -> Audit:
    """Replay a conversation under each policy, in a window that is full where the compactions were.

    Args:
        audited: The audit so far.
        policies: Which policies.
        watch: Called for every request.
    """
    if not audited.compactions or not policies:
        return audited
    recorded = audited.recorded
    window = max(_SMALLEST, *(each.tokens_before for each in audited.compactions))
    items = recorded.original_items()
    answers = sum(item.message.kind == "response" for item in items)
    text = TextCounter(encoding_name(recorded.model))
    text.load()
    counter = TokenCounter(text)
    instead: dict[int, list[PolicyKept]] = {each.seq: [] for each in audited.compactions}
    for number, policy in enumerate(policies):

        def told(requests: int, policy: Policy = policy, before: int = number * answers) -> None:
            watch(policy.name, before + requests, len(policies) * answers)

        replay = Replay(policy, window, counter, watch=told)

        def stops(replay: Replay = replay) -> Iterator[ModelMessage]:
            """Yield the messages. At each compaction, look up the facts before playing the next message."""
            ahead = list(reversed(audited.compactions))
            for place, item in enumerate(items):
                while ahead and ahead[-1].seq < item.key:
                    compaction = ahead.pop()
                    instead[compaction.seq].append(_policy_kept(replay, compaction, items[:place]))
                yield item.message
            for compaction in reversed(ahead):
                instead[compaction.seq].append(_policy_kept(replay, compaction, items))

        await replay.play(stops())
    compactions = (replace(each, instead=tuple(instead[each.seq])) for each in audited.compactions)
    return replace(audited, compactions=tuple(compactions), window=window)


def _policy_kept(replay: Replay, compaction: AuditedCompaction, items: Sequence[Item]) -> PolicyKept:
    whole = replay.history.usage().total
    messages, fits = len(replay.view()), whole <= replay.known_window.effective
    facts = tuple(look_up_facts(compaction.facts, items, replay.outgoing()))
    return PolicyKept(policy=replay.policy.name, tokens=whole, messages=messages, fits=fits, facts=facts)
