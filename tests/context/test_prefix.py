"""Prompt caches: requests begin with the one before, but for rewrites, and these come seldom."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from tests.context.governor_kit import Provider, Rig, plain_counter, rig
from tests.context.histories import messages
from tests.context.stages.stage_kit import result, said, words
from tests.examples import examples
from tui_app.context.policy import OFF, PRESETS, Policy
from tui_app.context.requests.pipeline import Piece, PrefixMeter, Sent, prefix_kept
from tui_app.events import (
    CompactionComplete,
    Payload,
    ToolNormalised,
    ToolOffloaded,
    Truncation,
    UsageInfo,
    ViewRewrite,
    payload_from_json,
    payload_to_json,
)

TURNS = 60
READS = (1, 0, 3, 1, 2)
"""Tool calls of each turn, over and over."""
TOOL = ToolDefinition(name="read", description="Reads.")


def sent(text: str, head: int = 0) -> Sent:
    """A request of one piece for each letter, behind a head of so many tokens."""
    front = (Piece(b"head", head),) if head else ()
    pieces = [Piece(letter.encode(), 1) for letter in text]
    return Sent(head=front, pieces=pieces, sums=range(1, len(pieces) + 1))


@pytest.mark.parametrize(
    ("before", "now", "kept"),
    [
        ("abcd", "abcd", 1.0),
        ("abcd", "abcdef", 1.0),
        ("abcd", "abXd", 0.5),
        ("abcd", "abc", 0.75),
        ("abcd", "Xbcd", 0.0),
        ("abcd", "", 0.0),
    ],
)
def test_share_that_is_kept(before: str, now: str, kept: float) -> None:
    assert prefix_kept(sent(before), sent(now)) == kept


@given(st.text("ab", min_size=1), st.text("ab"))
def test_only_all_of_it_is_a_whole(before: str, now: str) -> None:
    assert (prefix_kept(sent(before, 10**9), sent(now, 10**9)) == 1.0) == now.startswith(before)


@given(st.text("ab"), st.text("ab"), st.text("ab"))
def test_what_is_known_to_be_the_same_need_not_be_compared(both: str, before: str, now: str) -> None:
    known = prefix_kept(sent(both + before, 3), sent(both + now, 3), len(both))
    assert known == prefix_kept(sent(both + before, 3), sent(both + now, 3))


@dataclass
class Meter:
    """A meter with the requests it is given."""

    meter: PrefixMeter = field(default_factory=lambda: PrefixMeter(plain_counter()))

    def kept(
        self, *sent: ModelMessage, instructions: str = "Be kind.", tools: Sequence[ToolDefinition] = (TOOL,)
    ) -> float | None:
        return self.meter.next(instructions, tools, sent)


@given(messages(), messages())
def test_a_request_keeps_what_it_only_adds_to(first: list[ModelMessage], more: list[ModelMessage]) -> None:
    meter = Meter()
    assert meter.kept(*first) is None
    assert meter.kept(*first, *more) == 1.0


def test_what_stands_in_front_of_the_messages_counts() -> None:
    meter, history = Meter(), (said("x " * 500), words("y " * 500))
    meter.kept(*history)
    assert meter.kept(*history, instructions="Be brief.") == pytest.approx(0.03, abs=0.03)
    assert (
        meter.kept(*history, instructions="Be brief.", tools=[replace(TOOL, description="Reads all.")]) == 0
    )
    assert meter.kept(*history, instructions="Be brief.", tools=[TOOL]) == 0


def test_what_is_never_sent_does_not_count_and_what_is_sent_does() -> None:
    meter, part = Meter(), result("a", "found").parts[0]
    meter.kept(said(), ModelRequest(parts=[part]))
    unsent = ModelRequest(parts=[replace(part, metadata={"own": 1})])
    assert meter.kept(said(), unsent) == 1.0
    lost = ModelRequest(parts=[replace(part, content="lost")])
    assert 0.0 < (meter.kept(said(), lost) or 0.0) < 1.0


def test_a_part_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def reading(part: object) -> bytes:
        read.append(part)
        return str(part).encode()

    monkeypatch.setattr("tui_app.context.requests.pipeline._sent", reading)
    meter, history = Meter(), [said("one"), words("two")]
    meter.kept(*history)
    history.append(said("three"))
    meter.kept(*history)
    assert len(read) == 3


class Talker(Provider):
    """Reads files, as often as the turn has it, then says so."""

    def __init__(self, window: int) -> None:
        super().__init__(window)
        self.left = 0
        self.reply = self.step

    def step(self, number: int) -> ModelResponse:
        if not self.left:
            return ModelResponse([TextPart(f"done {number}")])
        self.left -= 1
        return ModelResponse([ToolCallPart("read", {"path": f"{number}.py"}, f"call-{number}")])


def read(path: str) -> str:
    return f"{path}: " + "lorem ipsum " * 300


async def talked(policy: Policy, window: int, turns: Sequence[int] = READS * (TURNS // len(READS))) -> Rig:
    """A long conversation with tools; ``turns`` says how often each turn reads."""
    made = rig(Talker(window), policy)
    assert isinstance(made.provider, Talker)
    agent = Agent(made.provider, capabilities=[made.governor], tools=[read])
    history: list[ModelMessage] = []
    for number, reads in enumerate(turns):
        made.provider.left = reads
        done = await agent.run(f"Turn {number}.", message_history=history)
        history = done.all_messages()
        await made.compactor.settled()
    return made


def breaks(events: Sequence[Payload]) -> list[tuple[float, list[Payload]]]:
    """What was kept where the prefix was not, and what had happened since the request before."""
    found: list[tuple[float, list[Payload]]] = []
    since: list[Payload] = []
    for event in events:
        if isinstance(event, UsageInfo):
            if event.prefix_kept is not None and event.prefix_kept < 1.0:
                found.append((event.prefix_kept, since))
            since = []
        else:
            since.append(event)
    return found


def rewrites(event: Payload) -> bool:
    if isinstance(event, CompactionComplete):
        return event.outcome == "success"
    arriving = isinstance(event, ToolNormalised | ToolOffloaded)
    return isinstance(event, ViewRewrite | Truncation) and not arriving


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("window", [20_000, 60_000])
@pytest.mark.parametrize(
    "policy", [each for each in PRESETS.values() if each is not OFF], ids=lambda p: p.name
)
async def test_between_two_rewrites_every_request_begins_with_the_one_before(
    policy: Policy, window: int
) -> None:
    made = await talked(policy, window)
    requests = made.heard.of(UsageInfo)
    rewritten = [event for event in made.heard.events if rewrites(event)]
    broken = breaks(made.heard.events)
    assert len(requests) == len(made.provider.sent)
    assert requests[0].prefix_kept is None
    assert all(any(map(rewrites, since)) for _, since in broken)
    assert 0 < len(broken) <= len(rewritten) <= len(requests) // 3, "rewrites come in batches"


@settings(max_examples=examples(20), deadline=None)
@given(st.sampled_from(list(PRESETS.values())), st.lists(st.integers(0, 4), max_size=12), st.integers(8, 30))
def test_whatever_turns_there_are(policy: Policy, turns: list[int], window_k: int) -> None:
    made = asyncio.run(talked(policy, window_k * 1_000, turns))
    assert all(any(map(rewrites, since)) for _, since in breaks(made.heard.events))


@pytest.mark.asyncio
async def test_without_a_policy_nothing_is_rewritten() -> None:
    made = await talked(OFF, 1_000_000)
    assert {event.prefix_kept for event in made.heard.of(UsageInfo)} == {None, 1.0}


@pytest.mark.asyncio
async def test_what_the_provider_read_from_its_cache_stands_with_the_next_request() -> None:
    made = rig(Provider(8_000))
    agent = Agent(made.provider, capabilities=[made.governor])
    first = await agent.run("One.")
    cached(made.provider, 7)
    second = await agent.run("Two.", message_history=first.all_messages())
    await agent.run("Three.", message_history=second.all_messages())
    assert [event.cache_read_tokens for event in made.heard.of(UsageInfo)] == [None, None, 7]


def cached(provider: Provider, tokens: int) -> None:
    """Have the provider report what it found in its cache."""
    answer = provider.answer

    def answering(sent: list[ModelMessage], info: object) -> ModelResponse:
        response = answer(sent, info)  # type: ignore[arg-type]
        response.usage = replace(response.usage, cache_read_tokens=tokens)
        return response

    provider.function = answering  # type: ignore[assignment]


def test_the_log_keeps_it_beside_the_figures() -> None:
    event = UsageInfo(usage={"total": 3}, prefix_kept=0.5, cache_read_tokens=2)
    data = payload_to_json(event)
    assert data == {"total": 3, "prefix_kept": 0.5, "cache_read_tokens": 2, "factor": None, "carried": None}
    assert payload_from_json(event.TYPE, data) == event
    assert payload_from_json(event.TYPE, {"total": 3}) == UsageInfo(usage={"total": 3})
