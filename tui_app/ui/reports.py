"""Audits and figures of a session, and what a sub-agent did, as plain text for the screen and for a shell."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tui_app.context.tool_titles import call_title, result_note
from tui_app.events import Payload, RowKind, SubAgentEnd, SubAgentStart, SubAgentStep, ToolCall, answers_told
from tui_app.records import frozen
from tui_app.session.database import Database, open_store
from tui_app.session.exports.audit_page import LABELS, STATES, number_of
from tui_app.session.stats import ModelRow, SessionStats
from tui_app.session.user_view import Entry
from tui_app.ui.text import (
    clean,
    clock,
    cost,
    count,
    counted_text,
    duration,
    one_line,
    percent,
    table_lines,
    tokens,
)

if TYPE_CHECKING:
    from tui_app.context.policy import Policy
    from tui_app.conversation.audit import Audit

_NAME_CELLS = 400
_MOST = 40
"""Items of a list that are shown; JSON and page have them all."""


def audit_lines(audit: Mapping[str, Any]) -> Iterator[str]:
    """One conversation.

    Args:
        audit: Of ``Audit.to_json``.
    """
    model = f", counted as {audit['model']}" if audit["model"] else ""
    compactions: Sequence[Mapping[str, Any]] = audit["compactions"]
    name = one_line(audit["source"], _NAME_CELLS)
    yield _line(
        f"{name} ({audit['format']}): {count(audit['messages'], 'message')}, "
        f"{tokens(audit['tokens'])} tokens, {count(len(compactions), 'compaction')}{model}"
    )
    if not compactions:
        yield "It was never compacted: nothing was lost."
        return
    for number, compaction in enumerate(compactions, 1):
        yield ""
        yield from compaction_lines(compaction, f"Compaction {number}")
        yield from _policies(compaction["policies"], audit["window"])
    if len(compactions) > 1:
        yield ""
        yield from total_lines(audit["total"], "All of them")


def compaction_lines(found: Mapping[str, Any], name: str = "Compaction") -> Iterator[str]:
    """One compaction, without the policies.

    Args:
        found: Of ``AuditedCompaction.to_json``.
        name: What it is called.
    """
    trigger = f", {found['trigger']}" if found["trigger"] else ""
    undone = ", undone later" if found["undone"] else ""
    yield _line(f"{name}, after message {found['message']:,}{trigger}{undone}")
    before, after = found["messages_before"], found["messages_after"]
    counted = [(found[f"tokens_{when}"], found[f"reported_{when}"]) for when in ("before", "after")]
    sizes = (counted_text(here, there or here) for here, there in counted)
    yield f"{' to '.join(sizes)} tokens, {before:,} to {count(after, 'message')}"
    way = f"what was removed {'can still be looked up' if found['way_back'] else 'cannot be recovered'}"
    yield f"{percent(found['retention'])} of the facts by weight were kept; {way}"
    yield from answers_told(found["questions"], found["unanswered"])
    yield ""
    yield from _kinds(found["facts"])
    yield from _list("Your words lost", [fact["text"] for fact in found["rules_gone"]])
    yield from _list("Open errors lost", [fact["text"] for fact in found["errors_gone"]])
    if found["unanswered"]:
        yield from _list("Questions not answered", found["unanswered"])
    if found["statements"]:
        claims: Sequence[str] = found["claims"]
        yield from _list(f"Lines not in the log, of {found['statements']:,}", claims)


def total_lines(total: Mapping[str, Any], name: str) -> Iterator[str]:
    """What several compactions add up to."""
    undone = f" ({total['undone']:,} more undone later and left out)" if total["undone"] else ""
    yield _line(
        f"{name}: {count(total['compactions'], 'compaction')}{undone}, {tokens(total['tokens_before'])} to "
        f"{tokens(total['tokens_after'])} tokens, {count(total['rules_gone'], 'sentence')} of the user and "
        f"{count(total['errors_gone'], 'open error')} gone, {total['claims']:,} of "
        f"{count(total['statements'], 'statement')} not in the log"
    )
    yield from _kinds(total["facts"])


def _kinds(facts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    rows = [
        (LABELS[kind], *(f"{counts[state]:,}" for state in STATES))
        for kind, counts in facts.items()
        if any(counts.values())
    ]
    if rows:
        yield from table_lines([("facts", *STATES), *rows], right=(1, 2, 3))
    else:
        yield "No facts were found."


def _policies(policies: Sequence[Mapping[str, Any]], window: int | None) -> Iterator[str]:
    if not policies:
        return
    yield ""
    place = f"in a window of {tokens(window or 0)}"
    yield f"What each policy would have kept of these facts, names aside, {place}"
    rows = [
        (
            each["policy"],
            percent(each["retention"]),
            *(f"{number_of(each['facts'], state):,}" for state in STATES),
            tokens(each["tokens"]),
            "" if each["fits"] else "too large for the window",
        )
        for each in policies
    ]
    heads = ("policy", "by weight", *STATES, "context", "")
    yield from table_lines([heads, *rows], right=range(1, 6))


def _list(heading: str, items: Sequence[str]) -> Iterator[str]:
    yield ""
    yield f"{heading}: {len(items):,}"
    for item in items[:_MOST]:
        yield _line(f"- {item}", indent="  ")
    if len(items) > _MOST:
        yield f"  and {len(items) - _MOST:,} more"


def _line(text: str, indent: str = "") -> str:
    """Text of any origin as lines that drive nothing; further lines are indented."""
    return f"\n{indent}".join(line for line in clean(text).splitlines() if line.strip())


def read_audit(database: Database, session: str, only: int = 0, policies: "Sequence[Policy]" = ()) -> "Audit":
    """Audit a session with a connection of the caller's own; call it in a thread, it takes its time.

    Args:
        database: Where sessions are kept.
        session: Its id.
        only: Log number of the compaction that is wanted; 0 for all.
        policies: Which are replayed as well.
    """
    # The agent side takes a second to load.
    from tui_app.conversation.audit import audit, with_policies
    from tui_app.conversation.transcript import recorded_session

    with closing(open_store(database, read_only=True)) as store:
        found = audit(recorded_session(store, session), only)
        return asyncio.run(with_policies(found, policies, lambda *_: None))


# The figures of a session: turns, models, cache, compactions, what was saved.

_MODEL_CELLS = 28
_UNKNOWN = "(unknown)"


@frozen
class Section:
    """A few lines under one word."""

    title: str
    lines: tuple[str, ...]


def sections(stats: SessionStats) -> list[Section]:
    """Everything there is a figure for, at most 76 columns wide."""
    found = [
        Section("Session", tuple(_session(stats))),
        Section("Models", tuple(_models(stats))),
        Section("Prompt cache", tuple(_cache(stats))),
        Section("Compactions", tuple(_compactions(stats))),
        Section("Digests and memory", tuple(_figures(stats.sides, "for", "times", "in", "out", "cost"))),
        Section("Tokens saved by stage", tuple(_figures(stats.stages, "stage", "times", "undone", "tokens"))),
        Section("Errors", tuple(_counted(stats.errors))),
        Section("Hooks", tuple(_counted(stats.hooks))),
    ]
    return [section for section in found if section.lines]


def _session(stats: SessionStats) -> Iterable[str]:
    failed = f", {stats.tool_failures:,} failed" if stats.tool_failures else ""
    calls = count(stats.tool_calls, "tool call")
    yield f"{count(stats.turns, 'turn')}, {count(stats.requests, 'request')}, {calls}{failed}"
    if stats.sub_agents:
        yield count(stats.sub_agents, "sub-agent")
    if stats.unpriced and not stats.cost_usd:
        yield "cost unknown"
        return
    answers = sum(row.unpriced for row in stats.models)
    rest = stats.unpriced - answers
    unknown = f", {count(answers, 'answer')} of unknown price" if answers else ""
    unknown += f", {count(rest, 'other request')} of unknown price" if rest else ""
    others = " and ".join(("summaries", *(row.purpose for row in stats.sides)))
    yield f"{cost(stats.cost_usd)} with {others}{unknown}"


def _models(stats: SessionStats) -> Iterable[str]:
    yield from _figures(stats.models, "model", "answers", "in", "cached", "out", "cost")
    # Whose price is not known, and what a user can do about it.
    for model, requests in stats.unpriced_models.items():
        name = one_line(model, _MODEL_CELLS) or _UNKNOWN
        yield f"no price for {name}: {count(requests, 'request')} not counted"
    if stats.unpriced_models:
        yield "for your own server, set price_in and price_out in its endpoint"


def _cache(stats: SessionStats) -> Iterable[str]:
    if stats.prefix_kept is not None and stats.prefix_kept_min is not None:
        least = f" (lowest {percent(stats.prefix_kept_min)})" if stats.prefix_breaks else ""
        yield f"{percent(stats.prefix_kept)} of each request was already sent before{least}"
        yield f"{count(stats.prefix_breaks, 'request')} could not reuse the cache"
    if stats.cache_share:
        yield f"providers read {percent(stats.cache_share)} of the input from their caches"
    read = sum(row.cache_read_tokens for row in stats.models)
    if written := sum(row.cache_write_tokens for row in stats.models):
        yield f"{tokens(read)} tokens were read from them, {tokens(written)} written into them"


def _compactions(stats: SessionStats) -> Iterable[str]:
    undone = ["undone"] if any(row.undone for row in stats.compactions) else []
    names = ("trigger", "outcome", "times", *undone, "removed", "time", "cost")
    yield from _figures(stats.compactions, *names, left=2)
    if stats.retention is not None and stats.retention_min is not None:
        mean, least = percent(stats.retention), percent(stats.retention_min)
        yield f"facts kept (weighted): {mean} average, {least} minimum"


def _counted(counts: Mapping[str, int]) -> Iterable[str]:
    return _table([(_word(name), f"{number:,}") for name, number in counts.items()])


def _word(name: str) -> str:
    """A name out of the log, which another version may have written."""
    return one_line(name, _MODEL_CELLS).replace("_", " ")


_CELLS: Mapping[str, Callable[[Any], str]] = {
    "model": lambda row: one_line(row.model, _MODEL_CELLS) or _UNKNOWN,
    "answers": lambda row: f"{row.answers:,}",
    "trigger": lambda row: _word(row.trigger),
    "outcome": lambda row: _word(row.outcome),
    "for": lambda row: row.purpose,
    "stage": lambda row: row.stage,
    "times": lambda row: f"{row.count:,}",
    "undone": lambda row: f"{row.undone:,}" if row.undone else "",
    "in": lambda row: tokens(row.input_tokens) if row.input_tokens or not row.output_tokens else "?",
    "cached": lambda row: tokens(row.cache_read_tokens),
    "out": lambda row: tokens(row.output_tokens),
    "removed": lambda row: tokens(row.tokens_removed),
    "tokens": lambda row: tokens(row.tokens_removed),
    "time": lambda row: duration(row.duration_s),
    "cost": lambda row: (
        cost(row.cost_usd)
        if row.unpriced < (row.answers if isinstance(row, ModelRow) else row.count)
        else "?"
    ),
}
"""The columns of figures: how each reads in a row."""


def _figures(rows: Sequence[object], *names: str, left: int = 1) -> list[str]:
    """Rows below the names of their columns; nothing where there are none."""
    return (
        _table([names, *([_CELLS[name](row) for name in names] for row in rows)], left=left) if rows else []
    )


def _table(rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Rows in columns; all but the first ``left`` ones are aligned to the right."""
    return list(table_lines(rows, right=range(left, len(rows[0]) if rows else 0), least=7))


# What a sub-agent did, in words: its task, each step with its calls, what it used and how it ended.

_TYPES = frozenset({SubAgentStart.TYPE, SubAgentStep.TYPE, SubAgentEnd.TYPE})


def sub_agent_text(events: Sequence[Payload]) -> str:
    """Everything but its answer, which is the result of the call that has sent it; empty without events."""
    lines, ended, number = list[str](), False, 0
    for event in events:
        match event:
            case SubAgentStart(again=True):
                ended = False
                lines.append(f"\nTold: {event.task}")
            case SubAgentStart():
                who = f"Agent {event.agent}" if event.agent else event.name or "Sub-agent"
                lines.append(f"{who} · {event.model} · at most {count(event.max_steps, 'step')}")
                lines.append(f"Task: {event.task}")
            case SubAgentStep():
                number += 1
                used = count(event.input_tokens + event.output_tokens, "token")
                # Its last words are the result itself.
                end = "its answer" if event.text else "its context was compacted"
                lines.append(f"\nStep {number} · {used}{'' if event.calls else f' · {end}'}")
                if event.calls and event.text.strip():
                    lines.append(event.text.strip())
                for call in event.calls:
                    size, is_cut = f"{call.chars:,} characters", call.chars > len(call.text)
                    note = size if is_cut else result_note(call.name, call.text, call.outcome)
                    lines.append(f"  {call_title(call.name, call.args)} · {note}")
            case SubAgentEnd():
                ended = True
                lines.append(f"\n{event.headline()}")
    if events and not ended:
        lines.append("\n(still running, or cut off when the program ended)")
    return "\n".join(lines)


def read_sub_agent(database: Database, session: str, call: int) -> list[Payload]:
    """The events of the sub-agent that a call has sent; blocks while the log is read.

    Args:
        database: The sessions file.
        session: Id of the session.
        call: Log number of the call.
    """
    with closing(open_store(database, read_only=True)) as store:
        sent = store.record(session, call)
        if sent is None or not isinstance(sent.data, ToolCall):
            return []
        id, found = sent.data.tool_call_id, []
        for head in store.heads(session, after=call):
            if head.type in _TYPES and head.ids[0] == id:
                found.append(store.record(session, head.seq))
    return [record.data for record in found if record is not None]


SAID_BY: dict[RowKind, str] = {
    "user": "user", "assistant": "answer", "tool": "tool", "shell": "command",
}  # fmt: skip
"""Who has said a message, in the words of all lists."""


def said_at(entries: Iterable[Entry]) -> dict[str, str]:
    """Whose words messages are and when they came, such as ``user, 12:14``, by ``#N``."""
    return {
        f"#{each.message}": f"{SAID_BY[each.kind]}, {clock(each.time)}"
        for each in entries
        if each.kind in SAID_BY
    }
