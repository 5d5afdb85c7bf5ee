"""Replays: their report of every request, and that they end in the same view as a live conversation."""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelResponse

from tests.context.histories import complaints
from tests.conversation.simulating_kit import Live, prompt, replay, session, transcript, words
from tests.examples import examples
from tui_app.context.counting.tokens import to_json_text
from tui_app.context.policy import OFF, PLIMSOLL, PRESETS, Policy
from tui_app.conversation.audits.replay import STAGES, Outcome, Replay, Request, work_of
from tui_app.conversation.audits.simulate import simulate
from tui_app.conversation.audits.transcript import recorded_file, recorded_session
from tui_app.conversation.history.view_messages import storable, storable_list
from tui_app.conversation.imports.imports import import_session
from tui_app.events import SessionRewind, SessionStart, UserMessage
from tui_app.refusals import Refusal
from tui_app.session.stores.sqlite_store import SqliteStore

SIZES = [(300, 200, 400), (250, 150), (), (500, 300), (60,)]
LONG = session([*SIZES, (350, 350, 350)] * 4)
SMALL, LARGE = 6_000, 200_000
UNSENT = {"timestamp", "metadata"}


def wire_text(message: ModelMessage) -> str:
    """Serialise a message; the same text means that a provider is sent the same bytes."""
    parts = [
        {each.name: getattr(part, each.name) for each in fields(part) if each.name not in UNSENT}
        for part in message.parts
    ]
    return to_json_text([message.kind, parts])


def told(view: Sequence[ModelMessage]) -> list[str]:
    return [wire_text(message) for message in view]


async def ends_alike(policy: Policy, window: int, turns: Sequence[Sequence[int]]) -> Replay:
    messages = session(turns)
    live = Live(policy, window, messages)
    lived = await live.run()
    played = replay(policy, window)
    await played.play(messages)
    assert told(played.view()) == told(lived)
    assert [request.tokens for request in played.requests] == [live.size(sent) for sent in live.sent]
    return played


@pytest.mark.parametrize("policy", PRESETS)
@pytest.mark.parametrize("window", [SMALL, LARGE])
async def test_a_replay_ends_as_a_live_conversation_does(policy: str, window: int) -> None:
    played = await ends_alike(PRESETS[policy], window, SIZES * 4)
    if window == SMALL:
        assert played.work


@given(
    st.lists(st.lists(st.integers(0, 500), max_size=4), min_size=1, max_size=10),
    st.sampled_from(sorted(PRESETS)),
    st.integers(3_000, 12_000),
)
@settings(deadline=None, max_examples=examples(25))
async def test_any_replay_ends_as_a_live_conversation_does(
    turns: list[list[int]], policy: str, window: int
) -> None:
    await ends_alike(PRESETS[policy], window, turns)


_PLAYED: dict[tuple[str, int], Replay] = {}
_OUTCOMES: dict[tuple[str, int, str], Outcome] = {}
"""Results of the long session, shared by tests that do not modify them."""


async def played(policy: Policy, window: int = SMALL, messages: Sequence[ModelMessage] = LONG) -> Replay:
    key = (policy.name, window)
    if messages is LONG and key in _PLAYED:
        return _PLAYED[key]
    made = replay(policy, window)
    await made.play(messages)
    if messages is LONG:
        _PLAYED[key] = made
    return made


async def outcome(name: str, window: int = SMALL, model: str = "") -> Outcome:
    key = (name, window, model)
    if key not in _OUTCOMES:
        simulation = await simulate(transcript(LONG, model), [PRESETS[name]], [window])
        _OUTCOMES[key] = simulation.windows[0][0]
    return _OUTCOMES[key]


async def test_there_is_a_request_for_every_answer() -> None:
    made = await played(PLIMSOLL, LARGE)
    answers = sum(isinstance(message, ModelResponse) for message in LONG)
    assert [request.number for request in made.requests] == list(range(1, answers + 1))
    assert made.work == {}
    assert [request.tokens for request in made.requests][-1] == replay_size(LONG[:-1])


def replay_size(messages: Sequence[ModelMessage]) -> int:
    counter = replay(PLIMSOLL, LARGE).counter
    return sum(counter.message(message).total for message in messages)


async def test_answers_in_a_row_are_one_answer() -> None:
    messages = (prompt("Go."), words("One."), words("Two."), prompt("On."), words("Three."), prompt("Left."))
    made = await played(PLIMSOLL, LARGE, messages)
    assert len(made.requests) == 2
    assert complaints(made.outgoing()) == []


async def test_a_request_that_only_grows_keeps_its_whole_prefix() -> None:
    made = await played(PLIMSOLL, LARGE)
    first, *others = made.requests
    assert (first.prefix_tokens, first.prefix_kept) == (0, None)
    assert all(request.prefix_kept == 1.0 for request in others)
    assert all(now.previous_tokens == before.tokens for before, now in pairwise(made.requests))


async def test_what_a_stage_did_stands_in_the_request_it_was_done_for() -> None:
    made = await played(PLIMSOLL)
    assert {"trim", "pointers", "compact"} <= set(made.work)
    # Work after the last request belongs to no request.
    for stage, work in work_of(made.events[: made.seen]).items():
        rows = [request.stages[stage] for request in made.requests if stage in request.stages]
        assert sum(row.actions for row in rows) == work.actions
        assert sum(row.tokens_removed for row in rows) == work.tokens_removed > 0
    rewritten = [request for request in made.requests if request.stages]
    assert all(request.prefix_tokens < request.previous_tokens for request in rewritten)


async def test_requests_fit_the_window_whatever_the_policy() -> None:
    for policy in PRESETS.values():
        made = await played(policy)
        assert max(request.tokens for request in made.requests) <= made.known_window.effective


async def test_without_compaction_a_view_above_the_window_counts_as_failed() -> None:
    made = await played(OFF)
    over = [request for request in made.requests if request.needed > made.known_window.effective]
    assert 0 < len(over) < len(made.requests)
    assert [request for request in made.requests if request.failed] == over
    assert all("truncate" in request.stages for request in over)
    assert told(made.view()) == told(LONG)


async def test_a_request_that_fits_in_no_way_fails_and_the_replay_goes_on() -> None:
    messages = (
        prompt("Go."),
        words("Yes."),
        prompt("long " * 9_000),
        words("No."),
        prompt("And?"),
        words("."),
    )
    made = await played(PLIMSOLL, SMALL, messages)
    assert [request.failed for request in made.requests] == [False, True, False]
    lost = made.requests[1]
    assert (lost.tokens, lost.messages, lost.cost_usd) == (0, 0, None)
    assert lost.needed > SMALL
    after = made.requests[2]
    assert "compact" in after.stages
    assert after.previous_tokens == made.requests[0].tokens, "the cache knows what was sent last"


async def test_a_window_in_which_nothing_fits_is_an_error() -> None:
    messages = (prompt("long " * 2_000), words("No."))
    with pytest.raises(Refusal, match=r"A window of 1,000 tokens is too small for made-up\.json: .*"):
        await simulate(transcript(messages), [PLIMSOLL], [1_000])


async def test_nothing_to_replay_is_an_error() -> None:
    with pytest.raises(Refusal, match="no answer of a model"):
        await simulate(transcript((prompt("Anybody?"),)), [PLIMSOLL], [SMALL])


async def test_large_results_go_to_files_in_memory() -> None:
    policy = PRESETS["progressive"]
    messages = session([(9_000,), (10,), (10,)])
    made = await played(policy, LARGE, messages)
    assert made.work["offload"].actions == 1
    [(name, text)] = made.history.files.items()
    assert name.startswith("tool_outputs/read_file_20000101_000000_")
    assert "berth1x8999" in text
    assert name in "".join(told(made.view()))


async def test_same_conversation_same_bytes() -> None:
    runs = [
        json.dumps((await simulate(transcript(LONG), list(PRESETS.values()), [SMALL, LARGE])).to_json())
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


async def test_facts_are_looked_up_in_what_the_model_would_be_given() -> None:
    whole, cut = await outcome("plimsoll", LARGE), await outcome("off")
    assert (whole.facts.retention, whole.facts.recoverable) == (1.0, 0.0)
    assert whole.facts.counts["kept"] > 0
    assert 0 < cut.facts.retention < 1
    assert cut.facts.retention + cut.facts.recoverable == pytest.approx(1.0, abs=0.001)
    assert cut.facts.counts["recoverable"] > 0
    assert cut.work["truncate"].actions == cut.failed, "asking what comes next is no request"


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("", False),
        ("nobody:nothing", False),
        ("openai:gpt-5", True),
        ("gpt-5", True),
        ("myhost:gpt-5", False),
    ],
)
async def test_a_price_is_known_or_unknown_but_never_nothing(model: str, known: bool) -> None:
    priced = await outcome("plimsoll", model=model)
    costs = [request.cost_usd for request in priced.requests]
    assert all((cost is not None and cost > 0) is known for cost in costs)
    assert (priced.cost_usd is not None) is known
    assert (priced.to_json()["cost_usd"] is not None) is known


async def test_what_the_cache_holds_is_cheaper() -> None:
    priced = await outcome("plimsoll", LARGE, model="openai:gpt-5")
    last = priced.requests[-1]
    full = 1.25e-6 * last.tokens + 10e-6 * last.output_tokens
    assert last.cost_usd is not None
    assert last.cost_usd < full / 2
    assert priced.cost_usd == pytest.approx(sum(each.cost_usd or 0 for each in priced.requests))


async def test_what_a_pause_outlives_is_paid_for_again() -> None:
    async def spoken(minutes: int) -> Outcome:
        then = datetime(2026, 1, 1, tzinfo=UTC)
        said = [
            replace(each, timestamp=then + number * timedelta(minutes=minutes))
            if isinstance(each, ModelResponse)
            else each
            for number, each in enumerate(LONG)
        ]
        source = transcript(said, "claude-sonnet-4-5")
        return (await simulate(source, [PLIMSOLL], [LARGE])).windows[0][0]

    # A response, and the request it answers.
    quick, slow = await spoken(2), await spoken(4)
    assert quick.cached_tokens == slow.cached_tokens > 0, "the same bytes are sent"
    assert slow.to_json()["cache_read_tokens"] == 0 < quick.to_json()["cache_read_tokens"]
    assert (slow.cost_usd or 0) > 1.5 * (quick.cost_usd or 1)


async def test_the_built_in_assistant_costs_nothing() -> None:
    assert (await outcome("plimsoll", model="offline:extractive")).cost_usd == 0.0


def request_of(**given: object) -> Request:
    return replace(Request(number=1, failed=False, needed=0, stages={}), **given)


async def test_totals_are_those_of_the_requests() -> None:
    whole = await outcome("reserve")
    sent = [request for request in whole.requests if request.tokens]
    assert whole.peak_tokens == max(request.tokens for request in sent)
    assert whole.mean_tokens == round(sum(request.tokens for request in sent) / len(sent))
    assert whole.cached_share == sum(r.prefix_tokens for r in sent) / sum(r.tokens for r in sent)
    some = replace(whole, requests=(request_of(tokens=4), request_of(failed=True), request_of(tokens=7)))
    assert (some.peak_tokens, some.mean_tokens, some.input_tokens, some.failed) == (7, 6, 11, 1)
    none = replace(whole, requests=(request_of(failed=True),))
    assert (none.peak_tokens, none.mean_tokens, none.cached_share, none.cost_usd) == (0, 0, 0.0, None)
    half = replace(whole, requests=(request_of(tokens=4, cost_usd=1.0), request_of(tokens=4)))
    assert half.cost_usd is None, "what is not known of one request is not known of all"


async def test_json_names() -> None:
    simulation = await simulate(transcript(LONG, "gpt-5"), [PLIMSOLL], [SMALL])
    data = json.loads(json.dumps(simulation.to_json()))
    [window] = data["windows"]
    [policy] = window["policies"]
    assert (window["limit"], window["reserve"]) == (SMALL, SMALL // 16)
    assert set(policy["stages"]) == set(STAGES)
    assert policy["requests"] == len(policy["details"]) == data["answers"]
    assert policy["compactions"] == policy["stages"]["compact"]["actions"] > 0
    assert policy["stages"]["compact"]["tokens_removed"] > 0
    assert 0 <= policy["retention"] <= 1
    assert (policy["background_mark"], policy["blocking_mark"]) == (4_800, 5_625)
    first = policy["details"][0]
    assert (first["request"], first["prefix_kept"], first["failed"]) == (1, None, False)


def write_file(path: Path) -> Path:
    path.write_text(storable_list(list(LONG))[0])
    return path


async def test_a_file_and_the_session_made_of_it_replay_alike(tmp_path: Path) -> None:
    path = write_file(tmp_path / "berths.json")
    store = SqliteStore(tmp_path / "sessions.db")
    try:
        report = import_session(path, store=store, cwd=tmp_path, now=1.0)
        from_file, from_log = recorded_file(path), recorded_session(store, report.session[:6])
        said = [[item.message for item in each.original_items()] for each in (from_file, from_log)]
    finally:
        store.close()
    assert (from_log.name, from_log.format) == (report.session, from_file.format)
    assert told(said[0]) == told(said[1]) == told(LONG)


async def test_what_was_compacted_is_replayed_and_what_was_taken_back_is_not(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    try:
        session_id = store.create(SessionStart(cwd="/", model="openai:gpt-5"), time=1.0)
        for text in ("first", "second", "third"):
            store.append(session_id, UserMessage(text=text), storable(prompt(text))[0], time=2.0)
        store.append(session_id, SessionRewind(to=3), None, time=3.0)
        store.append(session_id, UserMessage(text="other"), storable(prompt("other"))[0], time=4.0)
        read = recorded_session(store, session_id)
        said = [item.message for item in read.original_items()]
    finally:
        store.close()
    assert read.model == "openai:gpt-5"
    assert told(said) == told([prompt("first"), prompt("other")])


async def test_the_tokenizer_is_that_of_the_model() -> None:
    messages = (prompt("Überschwänglichkeit " * 200), words("Ja."))
    small = await simulate(transcript(messages), [PLIMSOLL], [SMALL], "openai:gpt-4")
    large = await simulate(transcript(messages), [PLIMSOLL], [SMALL], "openai:gpt-5")
    assert small.tokens != large.tokens
