"""The prompt cache and the next request: rules, forecasts, prices, and what broke a prefix."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.counting.prompt_cache import (
    NO_CACHE,
    CacheContents,
    CachedAnswer,
    CacheLife,
    CacheOutlook,
    CacheRule,
    broken_by,
    cache_outlook,
    cache_rule,
    cached_price,
    predicted_read,
)
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Payload,
    Rewritten,
    SessionStart,
    ToolArchived,
    ToolNormalised,
    UsageInfo,
    UserMessage,
)
from tui_app.session.figures.cache_forecast import cached_answers, last_cache_rule
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.settings import Settings
from tui_app.ui.words.cost_words import next_turn_text

SONNET = "anthropic:claude-sonnet-4-5"
RULE = CacheRule(300.0, 1_024, chooses=True)
ANSWER = CachedAnswer(
    model=SONNET, asked=1_000.0, input_tokens=50_000, output_tokens=500, read_tokens=40_000, figures=True
)


@pytest.mark.parametrize(
    ("model", "retention", "rule"),
    [
        (SONNET, "auto", (300, 1_024)),
        (SONNET, "1h", (3_600, 1_024)),
        ("anthropic:claude-opus-4-5", "auto", (300, 4_096)),
        ("gateway/anthropic:claude-haiku-4-5", "auto", (300, 4_096)),
        ("bedrock:us.anthropic.claude-3-5-haiku-20241022-v1:0", "1h", (3_600, 2_048)),
        ("openrouter:anthropic/claude-haiku-4.5", "auto", (300, 4_096)),
        ("openrouter:openai/gpt-5", "off", (300, 1_024)),
        ("openai-chat:gpt-5", "1h", (300, 1_024)),
        ("openai-chat:gpt-5.6-mini", "off", (1_800, 1_024)),
        ("anthropic:claude-opus-5", "auto", (300, 512)),
        ("bedrock:us.anthropic.claude-opus-5-v1:0", "auto", (300, 1_024)),
        ("google:gemini-2.5-pro", "auto", (300, 2_048)),
        ("google:gemini-3.8-flash", "auto", (300, 4_096)),
        ("claude-haiku-4-5-20251001", "auto", (300, 4_096)),
        ("deepseek:deepseek-chat", "auto", (3_600, 64)),
    ],
)
def test_rules_of_providers(model: str, retention: str, rule: tuple[int, int]) -> None:
    found = cache_rule(model, retention)
    assert found is not None
    assert (found.lifetime_s, found.least) == rule


def test_what_nothing_is_known_of_has_no_rule_and_what_is_not_asked_keeps_nothing() -> None:
    assert cache_rule(SONNET, "off") is NO_CACHE
    for model in ("offline:extractive", "local:tiny", "bedrock:meta.llama", "openrouter:meta/llama"):
        assert cache_rule(model) is None
    assert cache_rule("claude:x", protocol="anthropic") == RULE
    assert cache_rule("openai:x", protocol="openai-chat") is None, "whoever answers there"


def test_next_request_is_cheap_until_its_prefix_is_forgotten() -> None:
    def at(now: float) -> CacheOutlook:
        return cache_outlook(SONNET, RULE, [ANSWER], total=51_000, front=5_000, now=now)

    warm, cold = at(1_299.0), at(1_300.0)
    assert (warm.warm_until, warm.predicted_tokens, cold.predicted_tokens) == (1_300.0, 50_000, 0)
    assert warm.warm_usd == pytest.approx((50_000 * 0.3 + 1_000 * 3.75 + 500 * 15) / 1e6)
    assert warm.cold_usd == pytest.approx((51_000 * 3.75 + 500 * 15) / 1e6)
    assert (warm.last_predicted, warm.last_read) == (None, 40_000)
    assert next_turn_text(warm, 1_299.0) == ("next turn $0.026 warm, $0.20 cold · warm until 00:21")
    assert next_turn_text(cold, 1_300.0) == "next turn about $0.20: the prompt cache is cold"


@pytest.mark.parametrize(
    ("change", "predicted"),
    [({"changes": ("compaction",)}, 5_000), ({"model": "openai:gpt-5"}, 0), ({"input_tokens": 900}, 0)],
)
def test_what_was_rewritten_or_read_by_another_model_is_not_there(
    change: dict[str, object], predicted: int
) -> None:
    last = replace(ANSWER, **change)  # type: ignore[arg-type]
    outlook = cache_outlook(SONNET, RULE, [last], total=20_000, front=5_000, now=1_001.0)
    assert outlook.predicted_tokens == predicted


def test_without_a_rule_a_price_or_an_answer_nothing_is_made_up() -> None:
    unknown = cache_outlook("local:tiny", None, [ANSWER], total=9_000, front=0, now=0.0)
    assert (unknown.warm_until, unknown.warm_usd, unknown.cold_usd, unknown.predicted_tokens) == (None,) * 4
    new = cache_outlook(SONNET, RULE, [], total=9_000, front=0, now=0.0)
    assert (new.warm_usd, new.predicted_tokens, new.last_read) == (None, 0, None)
    assert next_turn_text(unknown, 0.0) == next_turn_text(new, 0.0) == ""
    unpriced = replace(ANSWER, model="claude:x")
    outlook = cache_outlook("claude:x", RULE, [unpriced], total=60_000, front=0, now=1_001.0)
    assert next_turn_text(outlook, 1_001.0) == "the prompt cache is warm until 00:21"


def test_writing_for_an_hour_costs_twice_the_input_and_without_a_cache_once() -> None:
    prices = [
        cache_outlook(SONNET, cache_rule(SONNET, kept), [], total=10_000, front=0, now=0.0).cold_usd
        for kept in ("off", "auto", "1h")
    ]
    assert prices == pytest.approx([0.03, 0.0375, 0.06])


@pytest.mark.parametrize(
    ("model", "cold", "warm"),
    [(SONNET, 0.0375, 0.003345), ("openai:gpt-5.2", 0.0175, 0.0019075), ("openai:gpt-5.6", 0.05, 0.00446)],
)
def test_a_cold_request_pays_for_writing_and_a_warm_one_for_reading(
    model: str, cold: float, warm: float
) -> None:
    def price(read: int, total: int = 10_000) -> float | None:
        return cached_price(model, cache_rule(model), total, read, 0)

    assert price(0) == pytest.approx(cold)
    assert price(9_900) == pytest.approx(warm)
    assert price(900, 1_000) == price(0, 1_000), "what is too short is neither written nor read"


def test_what_two_requests_share_is_read_until_it_is_forgotten() -> None:
    life, unknown = CacheLife(RULE), CacheLife(None)
    reads = [
        life.read(shared, 9_000, at)
        for shared, at in ((0, 0), (5_000, 299), (5_000, 598), (5_000, 898), (9, 899))
    ]
    assert reads == [0, 5_000, 5_000, 0, 0]
    assert [unknown.read(5_000, 9_000, at) for at in (0.0, 9e9)] == [5_000, 5_000]


@given(
    requests=st.lists(
        st.tuples(
            st.floats(0.0, 1.0), st.integers(0, 200_000), st.sampled_from([30.0, 299.0, 600.0, 4_200.0])
        ),
        min_size=1,
        max_size=12,
    ),
    chooses=st.booleans(),
)
def test_an_hour_is_asked_for_only_where_it_costs_little_and_keeps_what_was_read(
    requests: list[tuple[float, int, float]], chooses: bool
) -> None:
    held, rule, now = CacheContents(), replace(RULE, chooses=chooses), 0.0
    for share, new, pause in requests:
        now += pause
        shared = round(share * held.tokens)
        total, read = shared + new, held.read(rule, shared, now)
        assert read <= shared
        if now - held.asked >= rule.lifetime_s:
            assert read <= held.hour, "only what was asked for an hour outlives the minutes"
        before, held = held, held.next(rule, shared, total, now)
        pays = 0.75 * (total - read) < 0.02 * 1.15 * total
        assert held.hour == (total if chooses and pays else before.hour if read >= before.hour else 0)
        assert chooses or not held.hour


def test_what_an_hour_keeps_is_warm_behind_the_minutes() -> None:
    def at(now: float, hour: float, **changes: Any) -> CacheOutlook:
        last = replace(ANSWER, hour=hour, **changes)
        return cache_outlook(SONNET, RULE, [last], total=51_000, front=5_000, now=now)

    whole = at(4_599.0, 1.0)
    assert (whole.warm_until, whole.cold_from, whole.predicted_tokens) == (4_600.0, 4_600.0, 50_000)
    assert not at(4_600.0, 1.0).predicted_tokens
    assert (at(1_299.0, 0.8).predicted_tokens, at(1_300.0, 0.8).predicted_tokens) == (50_000, 40_000)
    assert at(1_300.0, 0.8).costs_cold(1_300.0, 0.1) is None
    assert at(1_299.0, 0.3).warm_until == 1_300.0, "most of it is forgotten by then"
    changed = [at(now, 1.0, changes=("trim",)).predicted_tokens for now in (1_299.0, 1_300.0)]
    assert changed == [5_000, 0], "its mark stands behind the change"
    later = replace(ANSWER, asked=1_600.0, read_tokens=0, kept=1.0)
    assert predicted_read(RULE, replace(ANSWER, hour=1.0), later) == 50_000
    assert predicted_read(RULE, ANSWER, later) == 0
    assert broken_by(RULE, ANSWER, later) == "the cache had expired"
    assert broken_by(RULE, replace(ANSWER, hour=1.0), later).startswith("not known")


def test_forecast_of_the_last_request() -> None:
    last = replace(ANSWER, asked=1_100.0, kept=0.5)
    assert predicted_read(RULE, ANSWER, last) == 25_000
    assert predicted_read(RULE, ANSWER, replace(last, kept=None)) == 50_000
    assert predicted_read(RULE, replace(ANSWER, changes=("trim",)), replace(last, kept=None)) is None
    assert predicted_read(RULE, ANSWER, replace(last, asked=1_300.0)) == 0
    assert predicted_read(None, ANSWER, last) is None


def test_what_broke_a_prefix_is_named() -> None:
    whole = replace(ANSWER, asked=1_100.0, input_tokens=60_000, read_tokens=49_000)
    lost = replace(whole, read_tokens=2_000)
    assert broken_by(RULE, ANSWER, whole) == ""
    assert broken_by(None, ANSWER, lost) == broken_by(NO_CACHE, ANSWER, lost) == ""
    assert broken_by(RULE, ANSWER, replace(lost, model="openai:gpt-5")) == "another model"
    assert broken_by(RULE, replace(ANSWER, changes=("archive", "trim")), lost) == "archive, trim"
    assert broken_by(RULE, ANSWER, replace(lost, asked=1_400.0)) == "the cache had expired"
    assert broken_by(RULE, ANSWER, replace(lost, kept=0.1)) == "other instructions or tools"
    assert broken_by(RULE, ANSWER, lost).startswith("not known")
    assert broken_by(RULE, ANSWER, replace(lost, figures=False)) == "", "nothing was ever said of a cache"
    answers = [replace(ANSWER, changes=("compaction",)), replace(lost, asked=1_100.0)]
    outlook = cache_outlook(SONNET, RULE, answers, total=61_000, front=5_000, now=1_101.0)
    assert outlook.broken_by == "compaction"
    assert next_turn_text(outlook, 1_101.0).endswith("; the last request missed the cache: compaction")


def test_answers_and_what_came_since_are_read_from_the_log(tmp_path: Path) -> None:
    def said(tokens: int, read: int) -> AssistantMessage:
        return AssistantMessage(
            text="So.", model=SONNET, input_tokens=tokens, cache_read_tokens=read, duration_s=5.0
        )

    compacted = CompactionComplete(
        job="1", trigger="manual", outcome="success", tokens_before=9, tokens_after=1, tokens_removed=8,
        messages_before=3, messages_after=1, messages_removed=2, removed=((2, 3),), performed_by="heuristic",
        model="", duration_s=0.0, summary="s",
    )  # fmt: skip
    events: list[Payload] = [
        UserMessage(text="one"),  # 2
        UsageInfo(usage={"total": 9}),
        said(8_000, 0),  # 4
        ToolNormalised(changes=(Rewritten(seq=5),)),  # of a result that no earlier request contained
        UsageInfo(usage={"total": 9}, prefix_kept=1.0, cache_hour=1.0),
        said(9_000, 8_000),  # 7
        ToolArchived(changes=(Rewritten(seq=3),)),
        UsageInfo(usage={"total": 9}, prefix_kept=0.4, cache_hour=0.75),
        said(0, 0),  # 10: cut off, so its size is unknown
        replace(compacted, outcome="failed", removed=()),
    ]
    store = SqliteStore(tmp_path / "sessions.db")
    session = store.create(SessionStart(cwd="/x", model=SONNET), time=0.0)
    for at, payload in enumerate(events, 1):
        store.append(session, payload, None, time=60.0 * at)
    before, last = cached_answers(store, session)
    assert (before.input_tokens, before.asked, before.changes) == (8_000, 175.0, ())
    assert (last.read_tokens, last.kept, last.changes) == (8_000, 1.0, ("archive",))
    assert (before.hour, last.hour) == (0.0, 1.0), "older logs do not say"
    rule = last_cache_rule(store, session, SONNET, Settings())
    assert rule is not None
    assert rule.lifetime_s == 3_600.0
    assert last_cache_rule(store, session, SONNET, Settings(prompt_cache="off")) == NO_CACHE
    store.append(session, compacted, None, time=900.0)
    assert cached_answers(store, session)[-1].changes == ("compaction", "archive")
    store.close()
