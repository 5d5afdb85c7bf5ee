"""Forecast of prompt cache use by a session's next request, from the last answers in its log."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice, takewhile

from tui_app.context.counting.prompt_cache import (
    CachedAnswer,
    CacheOutlook,
    CacheRule,
    broken_by,
    cache_outlook,
    cache_rule,
)
from tui_app.events import (
    REWRITES,
    AssistantMessage,
    CompactionComplete,
    CompactionEdited,
    CompactionRedone,
    CompactionUndone,
    Notice,
    RewriteUndone,
    SessionClear,
    SessionRestored,
    ToolNormalised,
    UsageInfo,
    data_of,
)
from tui_app.session.event_heads import Head
from tui_app.session.event_rows import STAGES
from tui_app.session.stores.database import Database, open_store
from tui_app.session.stores.store import SessionStore
from tui_app.settings import Settings
from tui_app.settings.spec import CacheSettings
from tui_app.usage import ContextUsage

CHANGES = {
    CompactionComplete.TYPE: "compaction",
    CompactionUndone.TYPE: "compaction undone",
    CompactionRedone.TYPE: "compaction",
    CompactionEdited.TYPE: "edited summary",
    **{kind.TYPE: kind.STAGE for kind in REWRITES},
    ToolNormalised.TYPE: "results cut to size",
    RewriteUndone.TYPE: "rewrite undone",
    SessionClear.TYPE: "clear",
    SessionRestored.TYPE: "cut undone",
}
"""Events that change earlier messages of a request, with their names."""
_LOOKED_AT = 16
"""Number of answers searched for two whose size the provider reported."""


def rule_of(model: str, settings: Settings) -> CacheRule | None:
    """Return the cache rule of a model under the settings; None if unknown."""
    endpoint = settings.endpoints.get(model.partition(":")[0])
    return cache_rule(model, settings.prompt_cache, endpoint.protocol if endpoint is not None else "")


def last_cache_rule(store: SessionStore, session: str, model: str, settings: Settings) -> CacheRule | None:
    """The same after the last request of a session, which may have been kept for an hour.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    rule, last = rule_of(model, settings), data_of(store.last_of(session, UsageInfo.TYPE), UsageInfo)
    return rule and rule.with_hour_share((last and last.cache_hour) or 0.0)


def forecast_cache(
    store: SessionStore, session: str, model: str, usage: ContextUsage, settings: Settings, *, now: float
) -> CacheOutlook:
    """Forecast how much of a session's next request is read from the provider's cache, and its cost.

    Args:
        store: The store of the session.
        session: Its full id.
        model: The model it goes to.
        usage: Its estimated size.
        settings: Settings with the cache lifetime to ask for and the user's own endpoints.
        now: Seconds since the epoch.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    rule, answers = rule_of(model, settings), cached_answers(store, session)
    front = usage.parts.system + usage.parts.tools + usage.parts.memory
    return cache_outlook(model, rule, answers, total=usage.total, front=front, now=now)


def read_forecast(
    database: Database, session: str, model: str, usage: ContextUsage, settings: Settings, *, now: float
) -> CacheOutlook:
    """Like ``forecast_cache``, opening the database for it. May be called in any thread.

    Raises:
        sqlite3.Error: if it cannot be read.
    """
    with closing(open_store(database, read_only=True)) as store:
        return forecast_cache(store, session, model, usage, settings, now=now)


@dataclass(slots=True, kw_only=True)
class ColdWarning:
    """Warns once, where the user cannot be asked, that the cache is cold, and what the turn costs."""

    database: Database
    session: str
    settings: Settings
    _said: bool = False

    async def notice(self, model: str, usage: ContextUsage, now: float) -> Notice | None:
        """Return the notice to show before a prompt, if any.

        Raises:
            sqlite3.Error: if the log cannot be read.
        """
        limit = CacheSettings(**self.settings.cache).warn_usd
        if self._said or not limit:
            return None
        outlook = await asyncio.to_thread(
            read_forecast, self.database, self.session, model, usage, self.settings, now=now
        )
        usd = outlook.costs_cold(now, limit)
        if usd is None:
            return None
        self._said = True
        return Notice(
            text=f"The prompt cache is cold: this turn reads {usage.total:,} tokens again, about ${usd:,.2f}."
        )


def cached_answers(store: SessionStore, session: str) -> tuple[CachedAnswer, ...]:
    """Return the last two answers of a session with a known size, older first; fewer if there are no more.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    return tuple(reversed([answer for _, answer in islice(_answers(store, session), 2)]))


def turn_cache(store: SessionStore, session: str, settings: Settings, since: int) -> tuple[float | None, str]:
    """Return the cache use of a turn: the share of its input read, and what broke a prefix first.

    Args:
        store: The store of the session.
        session: Its full id.
        settings: Settings with the cache lifetime to ask for and the user's own endpoints.
        since: Log number of the last event before the turn.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    newest = list[CachedAnswer]()
    broken = ""
    for seq, answer in _answers(store, session):
        if newest:
            last = newest[-1]
            broken = broken_by(rule_of(last.model, settings), answer, last) or broken
        if seq <= since:
            break
        newest.append(answer)
    total = sum(answer.input_tokens for answer in newest if answer.figures)
    return sum(answer.read_tokens for answer in newest) / total if total else None, broken


def _answers(store: SessionStore, session: str) -> Iterator[tuple[int, CachedAnswer]]:
    """Yield the last answers with a known size and their log numbers, newest first."""
    until = None
    heads = islice(store.newest(session, {AssistantMessage.TYPE}), _LOOKED_AT)
    answers = ((head, data_of(store.record(session, head.seq), AssistantMessage)) for head in heads)
    sized = [(head, answer) for head, answer in answers if answer is not None and answer.input_tokens]
    figures = {answer.model for _, answer in sized if answer.cache_read_tokens or answer.cache_write_tokens}
    for head, answer in sized:
        usages = store.newest(session, {UsageInfo.TYPE})
        usage = next((each.seq for each in usages if each.seq < head.seq), 0)
        measured = data_of(store.record(session, usage) if usage else None, UsageInfo)
        size = answer.context_tokens or answer.input_tokens
        yield (
            head.seq,
            CachedAnswer(
                model=answer.model,
                asked=head.time - answer.duration_s,
                input_tokens=size,
                output_tokens=answer.output_tokens,
                read_tokens=min(size, answer.cache_read_tokens),
                figures=answer.model in figures,
                kept=None if measured is None else measured.prefix_kept,
                hour=0.0 if measured is None else measured.cache_hour or 0.0,
                changes=tuple(dict.fromkeys(_changes(store, session, head.seq, until))),
            ),
        )
        until = head.seq


def changes_sent(head: Head, answer: int) -> bool:
    """Return whether an event of ``CHANGES`` changed something that was sent before an answer."""
    # Newer messages were never sent in another form, and a failed compaction changed nothing.
    if head.type in STAGES:
        return any(seq < answer for seq, _ in head.changes)
    return head.type != CompactionComplete.TYPE or bool(head.removed)


def _changes(store: SessionStore, session: str, answer: int, until: int | None) -> Iterator[str]:
    """Yield the names of the changes of messages that were sent before an answer, newest first."""
    since = takewhile(lambda head: head.seq > answer, store.newest(session, CHANGES))
    return (
        CHANGES[head.type]
        for head in since
        if (until is None or head.seq < until) and changes_sent(head, answer)
    )
