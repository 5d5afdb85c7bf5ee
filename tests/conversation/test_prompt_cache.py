"""What providers keep of requests: that they are asked to, that it is read, and what it costs."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from tests.conversation.driving import Desk, done, turn
from tests.servers.caching import MARK, CachingAnthropic, PromptCache, Refused, blocks_of
from tui_app.context.counting.prices import request_price
from tui_app.context.counting.prompt_cache import CacheOutlook
from tui_app.conversation.work import Compact
from tui_app.session.cache_forecast import forecast_cache
from tui_app.session.preview import StatsReader
from tui_app.session.rewind_fork import fork_session
from tui_app.settings import Endpoint, Settings

SAID = "The ferry leaves the quay at nine, and the pilot boards at low water. " * 60
NOTES = "Title: Ferries\n## Intent\nKnow when the ferry leaves."


def answer(body: dict[str, Any]) -> str:
    return NOTES if "Write the notes for this transcript" in json.dumps(body) else f"Noted. {SAID}"


@pytest.fixture
def caching(desk: Desk) -> Iterator[CachingAnthropic]:
    """A server with a prompt cache, as ``claude``."""
    with CachingAnthropic(answer) as server:
        server.cache.least = 512  # the tools of a session in tests are few
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


# Whatever else asks for marks: pydantic-ai writes them, from the one setting.


def test_openrouter_takes_marks_and_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from tui_app.agent.models import build_model

    keys = {"OPENROUTER_API_KEY": "k"}
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    model = build_model("openrouter:anthropic/claude-sonnet-4.5", env=keys)
    parameters = ModelRequestParameters(function_tools=[ToolDefinition(name="ls")])
    settings, _ = model.prepare_request(ModelSettings(cache="1h"), parameters)
    marked = {key for key, value in dict(settings or {}).items() if "_cache" in key and value == "1h"}
    assert marked == {f"openrouter_cache_{part}" for part in ("tool_definitions", "instructions", "messages")}


# What a request costs, by the rules of its provider: writing, reading, and what is too short for either.


@pytest.mark.parametrize(
    ("model", "cold", "warm"),
    [
        ("anthropic:claude-sonnet-4-5", 0.0375, 0.003345),
        ("openai:gpt-5.2", 0.0175, 0.0019075),
    ],
)
def test_a_cold_request_pays_for_writing_and_a_warm_one_for_reading(
    model: str, cold: float, warm: float
) -> None:
    def price(cached: int) -> float | None:
        return request_price(model, input_tokens=10_000, cached_tokens=cached, output_tokens=0)

    assert price(0) == pytest.approx(cold)
    assert price(9_900) == pytest.approx(warm)


def test_what_is_too_short_is_neither_written_nor_read() -> None:
    price = request_price(
        "anthropic:claude-sonnet-4-5", input_tokens=1_000, cached_tokens=900, output_tokens=0
    )
    assert price == pytest.approx(0.003)


# The server itself keeps to the rules that it stands for.


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
