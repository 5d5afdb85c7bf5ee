"""Prompt caches of providers: that they are requested, reported and priced."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from tests.benchmarks.bill import played
from tests.conversation.driving import Desk, Following, done, turn, until
from tests.servers.caching import MARK, CachingAnthropic, PromptCache, Refused, blocks_of
from tui_app.context.counting.prompt_cache import CacheOutlook
from tui_app.context.policy import PLIMSOLL
from tui_app.conversation.assembly import open_session
from tui_app.conversation.compactions.idle_compaction import IDLE, MARGIN_S
from tui_app.conversation.work import Compact
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Notice,
    SessionStart,
    TurnEnd,
    TurnStart,
    UsageInfo,
)
from tui_app.session.figures.cache_forecast import ColdWarning, forecast_cache
from tui_app.session.preview import StatsReader
from tui_app.session.rewind_fork import fork_session
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.settings import Endpoint, Settings
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

SAID = "The ferry leaves the quay at nine, and the pilot boards at low water. " * 60
NOTES = "Title: Ferries\n## Intent\nKnow when the ferry leaves."


def answer(body: dict[str, Any]) -> str:
    return NOTES if "Write the notes for this transcript" in json.dumps(body) else f"Noted. {SAID}"


@pytest.fixture
def caching(desk: Desk) -> Iterator[CachingAnthropic]:
    """A server with a prompt cache, as ``claude``."""
    with CachingAnthropic(answer) as server:
        server.cache.least = 512  # tests have few tools
        desk.endpoints["claude"] = Endpoint(
            name="claude", protocol="anthropic", base_url=server.base_url, window=60_000
        )
        yield server


MODEL = "claude:claude-sonnet-5"


async def test_tools_system_and_newest_message_are_marked(desk: Desk, caching: CachingAnthropic) -> None:
    async with desk.session(model=MODEL) as opened:
        for _ in range(3):
            await turn(opened.conversation, "When does it leave?")
    for body in caching.bodies:
        assert MARK not in body
        assert MARK in body["tools"][-1]
        assert any(MARK in block for block in body["system"])
        assert MARK in body["messages"][-1]["content"][-1]
        assert 3 <= sum(bool(block.lifetime) for block in blocks_of(body)) <= 4


@pytest.mark.parametrize(("setting", "lifetimes"), [("1h", {"1h"}), ("off", set())])
async def test_how_long_is_set(
    desk: Desk, caching: CachingAnthropic, setting: str, lifetimes: set[str]
) -> None:
    async with desk.session(model=MODEL, prompt_cache=setting) as opened:
        await turn(opened.conversation, "When does it leave?")
    assert {block.lifetime for block in blocks_of(caching.bodies[0]) if block.lifetime} == lifetimes


def test_what_stands_in_front_of_a_rewrite_is_read_as_it_was_predicted() -> None:
    messages = list[ModelMessage]()
    for number in range(60):
        call, said = f"call_{number}", f"Line {number}: {SAID}" * 2
        messages += [
            ModelRequest(parts=[UserPromptPart(f"Read file {number}, and say when the ferry leaves.")]),
            ModelResponse(parts=[ToolCallPart("read_file", {"path": f"{number}.txt"}, call)]),
            ModelRequest(parts=[ToolReturnPart("read_file", said, call)]),
            ModelResponse(parts=[TextPart(f"At nine, says file {number}.")]),
        ]
    done = played(messages, PLIMSOLL, 32_000, "auto", 0.0)
    assert done.rewrites > 2
    assert done.predicted_usd == pytest.approx(done.usd, rel=0.05)
    marks = [[block.lifetime for block in blocks_of(body) if block.lifetime] for body in done.bodies]
    assert all(len(set(each)) == 1 and len(each) <= 4 for each in marks), "one lifetime in a request"
    assert {each[0] for each in marks} == {"5m", "1h"}


@pytest.fixture(scope="module")
def long_talk() -> list[ModelMessage]:
    """A conversation in which most requests add little to the previous one."""
    messages = list[ModelMessage]()
    for number in range(5):
        call = f"call_{number}"
        messages += [
            ModelRequest(parts=[UserPromptPart(SAID * (5 if number else 40))]),
            ModelResponse(parts=[ToolCallPart("read_file", {"path": f"{number}.txt"}, call)]),
            ModelRequest(parts=[ToolReturnPart("read_file", f"File {number}: at nine.", call)]),
            ModelResponse(parts=[TextPart(f"At nine, says file {number}.")]),
        ]
    return messages


@pytest.mark.parametrize("minutes", [0, 10, 70])
def test_where_it_costs_little_an_hour_is_asked_for_and_outlives_a_pause(
    long_talk: list[ModelMessage], minutes: int
) -> None:
    done = played(long_talk, PLIMSOLL, 200_000, "auto", minutes * 60.0)
    assert done.predicted_usd == pytest.approx(done.usd, rel=0.05)
    asked = [{block.lifetime for block in blocks_of(body)} - {""} for body in done.bodies]
    assert all(len(lifetimes) == 1 for lifetimes in asked), "none for an hour behind one for minutes"
    for lifetimes, billed in zip(asked, done.bill, strict=True):
        assert ("1h" in lifetimes) == (0.75 * (billed.total - billed.read) < 0.023 * billed.total)
    assert sum(not billed.read for billed in done.bill) == (5 if minutes == 70 else 1)


async def test_each_request_reads_the_one_before_and_a_compaction_breaks_it_once(
    desk: Desk, caching: CachingAnthropic
) -> None:
    async with desk.session(model=MODEL) as opened:
        for _ in range(3):
            await turn(opened.conversation, f"When does it leave? {SAID}")
        first, *later = caching.bill
        assert first.read == 0
        stats = StatsReader(opened.store.path, opened.conversation.session).read().models[0]
        assert stats.cache_read_tokens == sum(billed.read for billed in caching.bill)
        assert stats.cache_write_tokens == sum(sum(billed.written.values()) for billed in caching.bill) > 0
        for before, now in zip([first, *later], later, strict=False):
            assert now.read == before.total - before.fresh > 0
        await done(opened.conversation, Compact())
        asked = len(caching.bill)
        for _ in range(3):
            await turn(opened.conversation, "And now?")
        broken, *whole = caching.bill[asked:]
        assert 0 < broken.read < caching.bill[asked - 2].read, "what stands in front of the messages is read"
        for before, now in zip([broken, *whole], whole, strict=False):
            assert now.read == before.total - before.fresh


async def test_the_end_of_a_turn_says_what_was_read_and_what_broke_it(
    desk: Desk, caching: CachingAnthropic
) -> None:
    async with desk.session(model=MODEL) as opened:
        ends = list[TurnEnd]()
        for prompt in (f"When? {SAID}", f"And when back? {SAID}", "", f"Sure? {SAID}"):
            if not prompt:
                await done(opened.conversation, Compact())
                continue
            records = await turn(opened.conversation, prompt)
            ends += [record.data for record in records if isinstance(record.data, TurnEnd)]
    assert [end.broken_by for end in ends] == ["", "", "compaction"]
    first, second, third = (end.cached_share for end in ends)
    assert first == 0.0
    assert second == pytest.approx(caching.bill[1].read / caching.bill[1].total, abs=1e-4)
    assert third is not None
    assert second is not None
    assert third < second


async def test_the_forecast_is_what_the_server_reads(desk: Desk, caching: CachingAnthropic) -> None:
    async with desk.session(model=MODEL) as opened:
        session = opened.conversation.session

        def forecast() -> CacheOutlook:
            usage = opened.conversation.history.usage()
            settings = Settings(endpoints=desk.endpoints)
            return forecast_cache(opened.store, session, MODEL, usage, settings, now=time.time())

        assert forecast().predicted_tokens == 0
        for _ in range(3):
            await turn(opened.conversation, f"When does it leave? {SAID}")
        outlook = forecast()
        assert outlook.last_read == outlook.last_predicted == caching.bill[-1].read > 0
        assert outlook.is_warm(time.time())
        await done(opened.conversation, Compact())
        compacted = forecast().predicted_tokens
        await turn(opened.conversation, "And now?")
        read = caching.bill[-1].read
    assert outlook.predicted_tokens is not None
    assert compacted == 0, "instructions and tools alone are too short, by the rules of the real one"
    assert 0 < read < outlook.predicted_tokens


@pytest.mark.parametrize(
    ("setting", "hour"), [("auto", [0.0, 1.0]), ("1h", [None, None]), ("off", [None, None])]
)
async def test_the_log_says_what_is_kept_for_an_hour_and_the_forecast_knows(
    desk: Desk, caching: CachingAnthropic, setting: str, hour: list[float | None]
) -> None:
    desk.endpoints["claude"] = replace(desk.endpoints["claude"], window=200_000)
    caching.answer = lambda _body: "At nine."
    async with desk.session(model=MODEL, prompt_cache=setting) as opened:
        for prompt in (SAID * 20, "And back?"):
            await turn(opened.conversation, prompt)
        session = opened.conversation.session
        measured = [
            record.data.cache_hour
            for record, _ in opened.store.records(session)
            if isinstance(record.data, UsageInfo)
        ]
        settings = Settings(endpoints=desk.endpoints, prompt_cache=setting)
        usage, later = opened.conversation.history.usage(), time.time() + 600.0
        outlook = forecast_cache(opened.store, session, MODEL, usage, settings, now=later)
        caching.now += 600.0
        await turn(opened.conversation, "And on Sundays?")
    assert measured == hour
    assert outlook.predicted_tokens == caching.bill[-1].read
    assert outlook.is_warm(later) == (setting != "off") == (caching.bill[-1].read > 0)


async def test_a_fork_reads_what_its_parent_has_written(desk: Desk, caching: CachingAnthropic) -> None:
    async with desk.session(model=MODEL) as opened:
        await turn(opened.conversation, f"When does it leave? {SAID}")
        fork = fork_session(
            opened.store, opened.folder.path.parent, opened.conversation.session, now=1.0
        ).session
    async with desk.session(model=MODEL, session=fork) as opened:
        await turn(opened.conversation, "And the way back?")
    before, now = caching.bill
    assert now.read == before.total - before.fresh > 0


async def test_a_resumed_session_reads_it_too_until_it_is_cold(desk: Desk, caching: CachingAnthropic) -> None:
    async with desk.session(model=MODEL) as opened:
        await turn(opened.conversation, f"When does it leave? {SAID}")
        session = opened.conversation.session
    for later, warm in ((299.0, True), (300.0, False)):
        caching.now += later
        async with desk.session(model=MODEL, session=session) as opened:
            await turn(opened.conversation, "And the way back?")
        assert (caching.bill[-1].read > 0) == warm


# Summaries that reuse the warm prefix.

PRICED = "anthropic:claude-sonnet-5"


@pytest.fixture
def priced(desk: Desk, caching: CachingAnthropic) -> CachingAnthropic:
    """The same server in place of a vendor with known prices."""
    desk.endpoints["anthropic"] = replace(desk.endpoints["claude"], name="anthropic", window=60_000)
    return caching


def notes_of(body: dict[str, Any]) -> str:
    return NOTES if "Write the notes of the conversation above" in json.dumps(body) else answer(body)


async def compacted(desk: Desk, server: CachingAnthropic, idle: float = 0.0) -> Any:
    """Compact a conversation whose model has been idle for ``idle`` seconds, and return the end event."""
    async with desk.session(model=PRICED) as opened:
        for _ in range(4):
            await turn(opened.conversation, f"When does it leave? {SAID}")
        answered = opened.conversation.history.items()[-1].message
        assert isinstance(answered, ModelResponse)
        answered.timestamp -= timedelta(seconds=idle)
        server.now += idle
        happened = Following(opened.conversation.bus)
        await done(opened.conversation, Compact())
        return (await until(happened, lambda data: isinstance(data, CompactionComplete))).data


async def test_a_summary_is_asked_for_on_the_warm_prefix(desk: Desk, priced: CachingAnthropic) -> None:
    priced.answer = notes_of
    compaction = await compacted(desk, priced)
    *_, before, asked = priced.bill
    assert compaction.outcome == "success"
    assert (compaction.performed_by, compaction.reason) == ("model", "")
    assert compaction.summary.startswith("## Intent\nKnow when the ferry leaves.")
    assert asked.read == before.total
    assert asked.total - asked.read < 2_500, "the last answer and the task are all that is new"
    assert priced.bodies[-1]["tools"] == priced.bodies[-2]["tools"]


async def test_a_cold_summary_is_asked_for_with_a_transcript(desk: Desk, priced: CachingAnthropic) -> None:
    compaction = await compacted(desk, priced, idle=300.0)
    assert compaction.outcome == "success"
    assert priced.bill[-1].read == 0
    assert "tools" not in priced.bodies[-1]


@pytest.mark.parametrize("said", ["I will go on with the work.", ""])
async def test_where_the_prefix_gives_no_notes_the_transcript_does(
    desk: Desk, priced: CachingAnthropic, said: str
) -> None:
    def answers(body: dict[str, Any]) -> str:
        return said if "Write the notes of the conversation above" in json.dumps(body) else answer(body)

    priced.answer = answers
    compaction = await compacted(desk, priced)
    assert (compaction.outcome, compaction.performed_by) == ("success", "model")
    assert "tools" in priced.bodies[-2]
    assert "tools" not in priced.bodies[-1]


# An idle conversation.


async def idling(desk: Desk, **cache: object) -> tuple[bool, list[Any]]:
    """Return whether a compaction starts shortly before the cache expires, and its events."""
    settings = desk.opening(model=PRICED, cache=cache)
    opened = open_session(replace(settings, attended=True))
    await opened.prepare()
    try:
        for _ in range(8):
            await turn(opened.conversation, f"When does it leave? {SAID}")
            happened = Following(opened.conversation.bus)
        started = opened.idle.look()
        await opened.conversation.settle()
    finally:
        await opened.close()
    return started, [record.data async for record in happened]


async def test_an_idle_conversation_is_compacted_on_the_warm_prefix(
    desk: Desk, priced: CachingAnthropic
) -> None:
    priced.answer = notes_of
    desk.endpoints["anthropic"] = replace(desk.endpoints["anthropic"], window=30_000)
    started, happened = await idling(desk, compact_idle=True)
    assert started
    assert [data.text for data in happened if isinstance(data, Notice)] == [IDLE]
    assert [data.outcome for data in happened if isinstance(data, CompactionComplete)] == ["success"]
    assert priced.bill[-1].read > 0.7 * priced.bill[-1].total


async def test_it_is_offered_once_where_it_would_have_paid(desk: Desk, priced: CachingAnthropic) -> None:
    desk.endpoints["anthropic"] = replace(desk.endpoints["anthropic"], window=30_000)
    told = []
    for _ in range(2):
        started, happened = await idling(desk)
        assert not started
        told += [data.text for data in happened if isinstance(data, Notice)]
    assert len(told) == 1
    assert "compact_idle" in told[0]


@pytest.mark.parametrize("case", ["cold", "small", "off", "unpriced", "busy"])
async def test_an_idle_conversation_is_left_alone_where_that_does_not_pay(
    desk: Desk, priced: CachingAnthropic, case: str
) -> None:
    window = 200_000 if case == "small" else 30_000
    desk.endpoints["anthropic"] = replace(desk.endpoints["anthropic"], window=window)
    desk.endpoints["claude"] = replace(desk.endpoints["claude"], window=window)
    policy, model = "off" if case == "off" else "plimsoll", MODEL if case == "unpriced" else PRICED
    opening = desk.opening(model=model, cache={"compact_idle": True}, policy=policy)
    opened = open_session(replace(opening, attended=True))
    await opened.prepare()
    try:
        for _ in range(8):
            await turn(opened.conversation, f"When does it leave? {SAID}")
        idle = opened.idle
        answered = opened.conversation.history.items()[-1].message
        assert isinstance(answered, ModelResponse)
        answered.timestamp -= timedelta(seconds=300.0 if case == "cold" else 0.0)
        idle.is_busy = lambda: case == "busy"
        assert not idle.look()
    finally:
        await opened.close()


async def test_it_is_looked_at_shortly_before_the_cache_expires(desk: Desk) -> None:
    opened = open_session(replace(desk.opening(), attended=True))
    idle, history, looks = opened.idle, opened.conversation.history, asyncio.Queue[float]()
    clock = asyncio.get_running_loop().time
    idle.rates = lambda: looks.put_nowait(clock())
    history.append(TurnEnd(outcome="done"))
    assert looks.empty(), "nothing is known of the model's cache"
    idle.left = lambda: MARGIN_S
    history.append(TurnEnd(outcome="done"))
    history.append(TurnStart(text="x"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert looks.empty(), "the next turn has begun"
    idle.left, ended = lambda: MARGIN_S + 0.05, clock()
    history.append(TurnEnd(outcome="done"))
    history.append(Notice(text="x"))
    assert await looks.get() - ended >= 0.04
    await opened.close()


# Other places that need cache markers: pydantic-ai writes them, from the same setting.


def test_openrouter_takes_marks_and_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from tui_app.agent.models import build_model

    keys = {"OPENROUTER_API_KEY": "k"}
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    model = build_model("openrouter:anthropic/claude-sonnet-4.5", env=keys)
    parameters = ModelRequestParameters(function_tools=[ToolDefinition(name="ls")])
    settings, _ = model.prepare_request(ModelSettings(cache="1h"), parameters)
    marked = {key for key, value in dict(settings or {}).items() if "_cache" in key and value == "1h"}
    assert marked == {f"openrouter_cache_{part}" for part in ("tool_definitions", "instructions", "messages")}


# The fake server enforces the rules of the real one.


def request(*texts: str, marks: tuple[int, ...] = (), lifetime: str = "5m") -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    for place in marks:
        content[place][MARK] = {"type": "ephemeral", "ttl": lifetime}
    return {"messages": [{"role": "user", "content": content}]}


def test_the_server_keeps_only_what_is_long_enough_and_looked_for_near_enough() -> None:
    cache, long = PromptCache(), "x" * 5_000
    assert cache.ask(request("short", marks=(0,)), 0).written == {}
    assert cache.ask(request("short", marks=(0,)), 0).read == 0
    written = cache.ask(request(long, marks=(0,)), 0)
    assert set(written.written) == {"5m"}
    near = cache.ask(request(long, *["y"] * 19, marks=(19,)), 1)
    assert near.read == written.total
    far = cache.ask(request(long, *["z"] * 20, marks=(20,)), 1)
    assert far.read == 0
    with pytest.raises(Refused, match="maximum of 4"):
        cache.ask(request(*"abcde", marks=(0, 1, 2, 3, 4)), 2)


# Without a user to ask.


async def test_a_dear_turn_on_a_cold_cache_is_said_once(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.db")
    model = "anthropic:claude-sonnet-5"
    session = store.create(SessionStart(cwd="/", model=model), time=0.0)
    store.append(session, AssistantMessage(text="x", model=model, input_tokens=300_000), None, time=1_000.0)
    store.close()
    usage = ContextUsage(
        parts=Breakdown(user=300_000), window=ContextWindow(limit=1_000_000, source="model"), messages=2
    )

    def warning(**changes: Any) -> ColdWarning:
        settings = Settings(**changes)
        return ColdWarning(database=tmp_path / "log.db", session=session, settings=settings)

    cold = warning()
    assert await cold.notice(model, usage, 1_299.0) is None, "it is warm"
    said = await cold.notice(model, usage, 1_300.0)
    assert said == Notice(text="The prompt cache is cold: this turn reads 300,000 tokens again, about $0.75.")
    assert await cold.notice(model, usage, 1_300.0) is None, "said already"
    for changes in ({"cache": {"warn_usd": 0.0}}, {"cache": {"warn_usd": 2.0}}, {"prompt_cache": "off"}):
        assert await warning(**changes).notice(model, usage, 1_300.0) is None
    assert await warning().notice("local:tiny", usage, 1_300.0) is None, "no price is known"


async def test_who_is_there_is_asked_and_who_is_not_is_told(desk: Desk) -> None:
    for attended in (True, False):
        opened = open_session(replace(desk.opening(), attended=attended))
        assert (opened.turns.cold is None) == attended
        await opened.close()
