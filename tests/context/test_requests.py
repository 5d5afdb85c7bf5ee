"""Building requests: what is left out, repaired and reported, and prefixes that prompt caches can reuse."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from tests.context.governor_kit import Provider, Rig, plain_counter, rig
from tests.context.histories import (
    as_items,
    asked,
    complaints,
    long_conversation,
    messages,
    prompts,
    retry_prompt,
)
from tests.context.tool_results.kit import result as prefix_result
from tests.context.tool_results.kit import said as prefix_said
from tests.context.tool_results.kit import words as prefix_words
from tests.examples import examples
from tui_app.context.history import ListHistory
from tui_app.context.policy import OFF, PLIMSOLL, PRESETS, Policy
from tui_app.context.requests import builder as assembling
from tui_app.context.requests.builder import (
    CONTINUE,
    INTERRUPTED,
    START,
    Assembly,
    Outgoing,
    build,
    repair,
    sendable,
)
from tui_app.context.requests.request_meter import Piece, PrefixMeter, prefix_kept
from tui_app.context.views.view import Item, to_messages
from tui_app.context.windows.window_limits import ContextTooLarge
from tui_app.context.windows.windows import resolve_window
from tui_app.events import (
    CompactionComplete,
    Payload,
    PrefixBreak,
    SentPart,
    ToolNormalised,
    ToolOffloaded,
    Truncation,
    UsageInfo,
    ViewRewrite,
    payload_from_json,
    payload_to_json,
)
from tui_app.usage import Breakdown, ContextWindow, Overhead

# Building one request: what is left out, how far below the limit, and what is reported.


def said(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def called(call_id: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("read", {}, call_id)])


def viewed(messages: Sequence[ModelMessage], window: int | ContextWindow, system: int = 0) -> ListHistory:
    view = ListHistory(plain_counter())
    view.sync(messages)
    resolved = resolve_window(setting=window) if isinstance(window, int) else window
    view.set_overhead(Overhead(resolved, Breakdown(system=system)), "m")
    return view


def counted(messages: Sequence[ModelMessage]) -> int:
    return sum(plain_counter().message(message).total for message in messages)


def built(messages: Sequence[ModelMessage], window: int | ContextWindow) -> Outgoing:
    return build(viewed(messages, window), messages, PLIMSOLL)


@pytest.mark.parametrize("window", [4_000, 128_000, 1_000_000])
def test_a_cut_request_ends_five_per_cent_below_what_fits(window: int) -> None:
    messages = [*long_conversation(window // 600, 800), said("Go on.")]
    effective = resolve_window(setting=window).effective
    assert counted(messages) > effective
    out = built(messages, window)
    assert 0.90 * effective < counted(out.messages) <= 0.95 * effective


def test_what_fits_exactly_is_not_cut_for_the_margin() -> None:
    messages = [*long_conversation(4, 800), said("Go on.")]
    size = counted(messages)
    window = ContextWindow(limit=size, source="setting")
    assert built(messages, window).truncation is None
    assert built(messages, ContextWindow(limit=size - 1, source="setting")).truncation is not None


def test_results_without_a_call_at_the_end_go_also_when_everything_fits() -> None:
    orphan = ModelRequest(parts=[ToolReturnPart("read", "text", "gone")])
    messages = [said("Hello."), ModelResponse(parts=[TextPart("Hi.")]), said("Go on."), orphan]
    out = built(messages, 100_000)
    assert out.messages == messages[:3]
    assert out.truncation is None


def test_a_result_is_cut_also_where_a_prompt_stands_in_the_same_message() -> None:
    """Tools may return a result and user content at once."""
    both = ModelRequest(parts=[ToolReturnPart("read", "x " * 50_000, "a"), UserPromptPart("See above.")])
    messages = [said("Read it."), called("a"), both]
    out = built(messages, 4_000)
    assert counted(out.messages) <= 3_750
    assert "cut to fit this request" in str(out.messages[-1].parts[0].content)
    assert prompts(out.messages)[-1] == "See above."
    assert out.truncation is not None
    assert (out.truncation.messages_before, out.truncation.messages_after) == (3, len(out.messages))
    assert len(str(both.parts[0].content)) == 100_000


def test_results_beside_the_latest_prompt_go_when_even_cut_they_do_not_fit() -> None:
    calls = ModelResponse(parts=[ToolCallPart("read", {}, f"c{number}") for number in range(60)])
    results = [ToolReturnPart("read", "x " * 500, f"c{number}") for number in range(60)]
    both = ModelRequest(parts=[*results, UserPromptPart("See above.")])
    out = built([said("Read it."), calls, both], 2_000)
    assert [part.content for message in out.messages for part in message.parts] == ["See above."]
    assert counted(out.messages) <= 1_744


def test_what_is_left_of_a_message_stays_one_message() -> None:
    first = ModelRequest(
        parts=[UserPromptPart("old " * 900), SystemPromptPart("Be brief."), UserPromptPart("The latest.")]
    )
    out = built([first], 1_000)
    [message] = out.messages
    assert [part.content for part in message.parts] == ["Be brief.", "The latest."]
    assert out.truncation is not None
    assert (out.truncation.messages_before, out.truncation.messages_removed) == (1, 0)


def test_what_the_run_adds_is_part_of_both_counts() -> None:
    messages = [*long_conversation(10, 800), said("Go on.")]
    feedback = retry_prompt("Not like this. " * 100)
    sent = [*messages[:-1], ModelRequest(parts=[*messages[-1].parts, feedback])]
    view = viewed(messages, 4_000)
    out = build(view, sent, PLIMSOLL)
    assert out.truncation is not None
    assert out.truncation.tokens_before == counted(sent)
    assert out.truncation.tokens_after == counted(out.messages)
    assert feedback in out.messages[-1].parts


@settings(max_examples=examples(200), deadline=None)
@given(asked(), st.sampled_from([256, 512, 1_024, 2_048]), st.integers(0, 200))
def test_the_counts_of_the_event_are_those_of_the_request(
    history: list[ModelMessage], window: int, system: int
) -> None:
    view = viewed(history, window, system)
    try:
        out = build(view, history, PLIMSOLL)
    except ContextTooLarge:
        return
    assert complaints(out.messages) == []
    told = out.truncation
    if told is None:
        return
    assert told.tokens_removed == told.tokens_before - told.tokens_after > 0
    assert told.messages_removed == told.messages_before - told.messages_after >= 0
    assert told.tokens_after <= resolve_window(setting=window).effective
    assert told.messages_after == sum(1 for _ in groupby(out.messages, type)), "requests in a row are one"
    assert told.tokens_after == counted(out.messages) + system, "a word that repair puts in front is counted"


def believed(announced: int, effective: int) -> ContextWindow:
    """A window that refusals without numbers have reduced from the announced one."""
    return ContextWindow(limit=effective + 256, source="learnt", reserve=256, announced=announced)


def test_a_size_that_is_only_believed_makes_the_request_as_small_as_it_can_be() -> None:
    messages = [*long_conversation(4, 800), said("word " * 400)]
    out = built(messages, believed(100_000, 400))
    assert out.messages == messages[-1:]
    assert out.truncation is not None


def test_a_size_that_is_known_refuses_the_request_before_it_is_sent() -> None:
    messages = [said("word " * 4_000)]
    assert built(messages, believed(100_000, 400)).messages == messages
    with pytest.raises(ContextTooLarge) as error:
        built(messages, believed(4_000, 400))
    assert error.value.limit == 4_000
    assert error.value.requested > 4_000


def test_a_request_that_is_cut_keeps_what_is_pinned() -> None:
    messages = [said("Never touch the pier."), *long_conversation(30, 800), said("Go on.")]
    view = viewed(messages, 4_000)
    assert "Never touch the pier." not in str(build(view, messages, PLIMSOLL).messages)
    view.pins = frozenset({view.items()[0].key})
    assert "Never touch the pier." in str(build(view, messages, PLIMSOLL).messages)


# A request built incrementally equals one built from scratch.


STEPS = st.sampled_from((1, 3, 16))
"""Numbers of items added at a time."""


def assembling_said(text: str = "hello") -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def result(call_id: str) -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("read", "found", call_id)])


def words(text: str = "well") -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def whole(items: Sequence[Item]) -> list[ModelMessage]:
    return sendable(to_messages(items))


def sectioned(history: Sequence[ModelMessage]) -> Sequence[Item]:
    """Return another agent's list as items: one per kind of part in a request."""
    view = ListHistory(plain_counter())
    view.sync(history)
    return view.items()


def grown(items: Sequence[Item]) -> None:
    """Build a request after every item."""
    assembly = Assembly()
    for end in range(1, len(items) + 1):
        built, added = assembly.request(items[:end], [])
        assert built == whole(items[:end])
        view = {id(part) for item in items[:end] for part in item.message.parts}
        parts = [part for message in built if isinstance(message, ModelRequest) for part in message.parts]
        assert [id(part) for part in parts if id(part) not in view] == [id(part) for part in added]


@given(messages(max_size=20), STEPS)
@settings(deadline=None)
def test_growing_message_by_message_changes_nothing(history: list[ModelMessage], step: int) -> None:
    with patch.object(assembling, "_STEP", step):
        grown(as_items(history))
        grown(sectioned(history))


@given(messages(max_size=12), messages(max_size=12), st.integers(0, 12), STEPS)
@settings(deadline=None)
def test_a_rewritten_view_is_built_as_if_from_nothing(
    first: list[ModelMessage], second: list[ModelMessage], shared: int, step: int
) -> None:
    with patch.object(assembling, "_STEP", step):
        rewritten(first, second, shared)


def rewritten(first: list[ModelMessage], second: list[ModelMessage], shared: int) -> None:
    assembly, begun = Assembly(), as_items(first)
    for end in range(1, len(begun) + 1):
        assembly.request(begun[:end], [])
    view = [*begun[:shared], *as_items(second)]
    for end in range(shared, len(view) + 1):
        assert assembly.request(view[:end], [])[0] == whole(view[:end])


def test_histories_with_traps_grow_the_same() -> None:
    grown(as_items([called("a"), assembling_said(), words(), result("a"), words(), assembling_said()]))
    grown(
        as_items(
            [
                assembling_said(),
                called("a"),
                result("a"),
                called("a"),
                result("a"),
                result("a"),
                words(),
                assembling_said(),
            ]
        )
    )
    grown(as_items([assembling_said(), words(), result("ghost"), words(), assembling_said(), words()]))
    grown(
        as_items(
            [
                assembling_said(" "),
                words(),
                assembling_said(""),
                words(),
                assembling_said("x"),
                words(),
                assembling_said(),
            ]
        )
    )
    grown(
        as_items(
            [
                words(),
                assembling_said(),
                called("a"),
                words(),
                assembling_said(),
                words(),
                result("a"),
                assembling_said(),
            ]
        )
    )


def test_what_is_settled_is_the_same_object_from_request_to_request() -> None:
    history = long_conversation(20)
    assembly, items = Assembly(), as_items([*history, assembling_said()])
    before, _ = assembly.request(items, [])
    longer = [*items, Item(10_000, words()), Item(10_001, assembling_said("and on"))]
    now, _ = assembly.request(longer, [])
    assert len(now) == len(before) + 2
    assert all(a is b for a, b in zip(before, now, strict=False))


def test_what_stands_in_front_of_a_rewrite_stays_the_same_object() -> None:
    assembly, items = Assembly(), as_items([*long_conversation(20), assembling_said()])
    for end in range(1, len(items) + 1):
        before, _ = assembly.request(items[:end], [])
    changed = [*items[:50], Item(items[50].key, result("call-12")), *items[51:]]
    now, _ = assembly.request(changed, [])
    assert now == whole(changed)
    assert all(a is b for a, b in zip(before[:48], now[:48], strict=True))


def test_a_call_that_stays_open_costs_no_more_than_building_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []

    def counted(messages: Sequence[ModelMessage], *, begins: bool = True) -> list[ModelMessage]:
        looked_at.append(len(messages))
        return repair(messages, begins=begins)

    monkeypatch.setattr("tui_app.context.requests.builder.repair", counted)
    items = as_items([assembling_said(), called("open"), *long_conversation(200), assembling_said()])
    assembly = Assembly()
    built = assembly.request(items, [])[0]
    *taken_in, _rest = looked_at
    assert sum(taken_in) < 3 * len(items)
    assert built == whole(items)


def test_parts_that_only_the_run_knows_stay_at_the_end() -> None:
    assembly = Assembly()
    first = as_items([assembling_said(), words(), assembling_said("go on")])
    assembly.request(first, [])
    longer = [*first, Item(8, words()), Item(9, assembling_said("further"))]
    feedback = retry_prompt("be brief")
    built, added = assembly.request(longer, [ModelRequest(parts=[feedback])])
    assert built[-1].parts[-1] is feedback
    assert added == [feedback]


# Prompt caches: each request starts with the previous one, except after rewrites, which are rare.


TURNS = 40
READS = (1, 0, 3, 1, 2)
"""Tool calls of successive turns, repeated."""
TOOL = ToolDefinition(name="read", description="Reads.")


def sent(text: str, head: int = 0) -> list[Piece]:
    """A request with one piece per letter, after a head of ``head`` tokens."""
    front = [Piece(b"head", head)] if head else []
    return front + [Piece(letter.encode(), 1) for letter in text]


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


@dataclass
class Meter:
    """A prefix meter that is fed whole requests."""

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
    meter, history = Meter(), (prefix_said("x " * 500), prefix_words("y " * 500))
    meter.kept(*history)
    assert meter.kept(*history, instructions="Be brief.") == pytest.approx(0.03, abs=0.03)
    assert (
        meter.kept(*history, instructions="Be brief.", tools=[replace(TOOL, description="Reads all.")]) == 0
    )
    assert meter.kept(*history, instructions="Be brief.", tools=[TOOL]) == 0


def test_what_is_never_sent_does_not_count_and_what_is_sent_does() -> None:
    meter, part = Meter(), prefix_result("a", "found").parts[0]
    meter.kept(prefix_said(), ModelRequest(parts=[part]))
    unsent = ModelRequest(parts=[replace(part, metadata={"own": 1})])
    assert meter.kept(prefix_said(), unsent) == 1.0
    lost = ModelRequest(parts=[replace(part, content="lost")])
    assert 0.0 < (meter.kept(prefix_said(), lost) or 0.0) < 1.0


def test_a_part_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def reading(part: object) -> bytes:
        read.append(part)
        return str(part).encode()

    monkeypatch.setattr("tui_app.context.requests.request_meter._sent", reading)
    meter, history = Meter(), [prefix_said("one"), prefix_words("two")]
    meter.kept(*history)
    history.append(prefix_said("three"))
    meter.kept(*history)
    assert len(read) == 3


class Talker(Provider):
    """Reads files as often as the turn demands, then answers."""

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
    """Run a long conversation with tools; ``turns`` gives the reads per turn."""
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
    """Return the share kept by each request that broke the prefix, and the events since the previous one."""
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
@pytest.mark.parametrize("window", [20_000, 40_000])
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
    """Make the provider report cached tokens."""
    answer = provider.answer

    def answering(sent: list[ModelMessage], info: object) -> ModelResponse:
        response = answer(sent, info)  # type: ignore[arg-type]
        response.usage = replace(response.usage, cache_read_tokens=tokens)
        return response

    provider.function = answering  # type: ignore[assignment]


def test_the_log_keeps_it_beside_the_figures() -> None:
    broken = PrefixBreak(part="AGENTS.md", how="changed", byte=7, line=2)
    parts = (SentPart(name="AGENTS.md", tokens=3, hash="0a"),)
    event = UsageInfo(usage={"total": 3}, prefix_kept=0.5, cache_read_tokens=2, parts=parts, broken=broken)
    data = payload_to_json(event)
    unknown = {"factor": None, "carried": None, "growth": None, "cache_hour": None}
    unknown |= {"parts": (asdict(parts[0]),), "broken": asdict(broken)}  # type: ignore[dict-item]
    assert data == {"total": 3, "prefix_kept": 0.5, "cache_read_tokens": 2, **unknown}
    assert payload_from_json(event.TYPE, data) == event
    assert payload_from_json(event.TYPE, {"total": 3}) == UsageInfo(usage={"total": 3})


# Repair: changing as little as possible until every provider accepts the messages.


def repair_said(text: str = "hello") -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def call(*ids: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("read", {"n": 1}, one) for one in ids])


def repair_result(*ids: str, text: str = "found") -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("read", f"{text} {one}", one) for one in ids])


def test_a_valid_history_is_not_touched() -> None:
    history = long_conversation(5)
    repaired = repair(history)
    assert all(a is b for a, b in zip(repaired, history, strict=True))


def test_a_call_without_result_is_answered_as_interrupted() -> None:
    repaired = repair([repair_said(), call("a", "b"), repair_result("b"), repair_said("next")])
    assert complaints(repaired) == []
    part = repaired[2].parts[0]
    assert isinstance(part, ToolReturnPart)
    assert (part.tool_call_id, part.content, part.outcome) == ("a", INTERRUPTED, "interrupted")


def test_a_call_at_the_end_is_answered() -> None:
    repaired = repair([repair_said(), call("a")])
    assert isinstance(repaired[-1], ModelRequest)
    assert complaints(repaired) == []


def test_a_result_without_call_goes_and_what_stood_beside_it_stays() -> None:
    mixed = ModelRequest(parts=[ToolReturnPart("read", "x", "ghost"), UserPromptPart("hello")])
    repaired = repair([mixed, words(), repair_result("ghost")])
    assert [part.part_kind for message in repaired for part in message.parts] == ["user-prompt", "text"]
    assert len(mixed.parts) == 2


def test_a_late_result_moves_behind_its_call() -> None:
    repaired = repair([repair_said(), call("a"), repair_said("still there?"), words(), repair_result("a")])
    assert complaints(repaired, ends_with_request=False) == []
    assert [part.part_kind for part in repaired[2].parts] == ["tool-return", "user-prompt"]
    assert repaired[2].parts[0].content == "found a"


def test_a_reused_id_gets_its_own_result() -> None:
    history = [repair_said(), call("a"), repair_said("stop"), call("a"), repair_result("a", text="second")]
    repaired = repair(history)
    assert complaints(repaired) == []
    assert repaired[2].parts[0].content == INTERRUPTED
    assert repaired[4].parts[0].content == "second a"


def test_a_result_given_twice_is_sent_once() -> None:
    repaired = repair([repair_said(), call("a"), repair_result("a"), repair_result("a", text="again")])
    assert complaints(repaired) == []
    assert [part.content for part in repaired[2].parts] == ["found a"]


def test_an_id_used_twice_in_one_answer_is_called_once() -> None:
    repaired = repair([repair_said(), call("a", "a"), repair_result("a", "a")])
    assert complaints(repaired) == []


@pytest.mark.parametrize(
    "empty",
    [
        ModelRequest(parts=[]),
        repair_said(""),
        repair_said("  \n"),
        ModelRequest(parts=[UserPromptPart(["", " "])]),
        ModelRequest(parts=[SystemPromptPart("")]),
        ModelResponse(parts=[]),
        words(" "),
        ModelResponse(parts=[ThinkingPart("only a thought")]),
    ],
)
def test_empty_messages_go(empty: ModelMessage) -> None:
    repaired = repair([repair_said(), words(), empty, repair_said("next")])
    assert complaints(repaired) == []
    assert len(repaired) == 3


def test_signed_thinking_beside_text_stays() -> None:
    kept = ModelResponse(parts=[ThinkingPart("", signature="sig"), TextPart("x")])
    assert repair([repair_said(), kept])[1] is kept


def test_responses_in_a_row_become_one() -> None:
    repaired = repair([repair_said(), words("a"), words("b"), call("c"), repair_result("c")])
    assert complaints(repaired) == []
    assert [part.part_kind for part in repaired[1].parts] == ["text", "text", "tool-call"]


def test_a_history_never_starts_with_a_response() -> None:
    repaired = repair([words(), repair_said()])
    assert repaired[0].parts[0].content == START
    assert repair(repaired) == repaired


def test_nothing_stays_nothing() -> None:
    assert repair([]) == []
    assert repair([ModelRequest(parts=[])]) == []


def test_what_is_sent_ends_with_a_request_that_says_something() -> None:
    assert sendable([repair_said(), words(), repair_said("")])[-1].parts[0].content == CONTINUE
    assert sendable([])[-1].parts[0].content == CONTINUE


def test_a_run_with_instructions_alone_is_sent_as_it_is() -> None:
    alone = ModelRequest(parts=[], instructions="Greet the user.")
    assert sendable([alone]) == [alone]


def test_repair_is_the_same_every_time() -> None:
    history = [words(), call("a"), repair_said("x")]
    assert repair(history) == repair(history)
