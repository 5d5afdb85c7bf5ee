"""Changing the model or the policy of a session, and resuming the session later."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.conversation.driving import Desk, Following, cancelled_within, done, of, turn, until, view_bytes
from tests.servers.behaviours import HangBeforeHeaders, Text, error
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.compaction.compactor import State
from tui_app.context.policy import RESERVE, MessageLimit
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import ChangeEffort, ChangePolicy, Compact, Switch
from tui_app.events import (
    CompactionComplete,
    CompactionStart,
    EffortChange,
    Error,
    ModelChange,
    Notice,
    PolicyChange,
    Record,
    Truncation,
    TurnEnd,
    payload_from_json,
)
from tui_app.providers import OFFLINE_MODEL
from tui_app.settings import SettingsError

# Changing the model, with and without room.


ASKS = "Write the notes for this transcript"
NOTES = "Title: Sea\n## State\nThe sea is salty."
LONG = "The sea is below and the sky is above, as everybody knows. " * 40
SMALL = 3_600


@pytest.fixture
def small() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
async def opened(desk: Desk, fake_openai: FakeOpenAI, small: FakeOpenAI) -> AsyncIterator[OpenSession]:
    async with talk(desk, fake_openai, small) as opened:
        yield opened


@asynccontextmanager
async def talk(desk: Desk, fake_openai: FakeOpenAI, small: FakeOpenAI) -> AsyncIterator[OpenSession]:
    """A conversation of about 5,000 tokens on a model with a window of 32,000; another model has far less."""
    desk.server("local", fake_openai.base_url, window=32_000)
    desk.server("small", small.base_url, window=SMALL)
    fake_openai.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(4)))
    async with desk.session() as opened:
        for number in range(4):
            await turn(opened.conversation, f"Question {number}? {LONG}")
        yield opened


async def test_forecast_changes_nothing(opened: OpenSession) -> None:
    conversation = opened.conversation
    before, usage = view_bytes(conversation), conversation.usage
    forecast = await conversation.models.forecast("small:scripted")
    assert (forecast.tokens, forecast.window.limit, forecast.fits) == (usage.total, SMALL, False)
    assert forecast.can_truncate
    assert 0 < forecast.drops < usage.total
    assert 0 < forecast.keeps_turns <= 4
    assert forecast.after_compaction < usage.total
    assert (view_bytes(conversation), conversation.usage) == (before, usage)
    with pytest.raises(ValueError, match="no model"):
        await conversation.models.forecast("nobody:nothing")


async def test_forecast_counts_as_the_target_does(opened: OpenSession, desk: Desk) -> None:
    """What fits by the present model's count may be too much for one that needs more tokens per text."""
    conversation, models = opened.conversation, opened.conversation.models
    with FakeOpenAI() as server:
        window = conversation.usage.total * 3 // 2
        desk.server("heavy", server.base_url, window=window)
        assert (await models.forecast("heavy:scripted")).fits
        models.shelf.limits.observe(await models.shelf.get("heavy:scripted"), 5_000, 10_000)
        forecast = await models.forecast("heavy:scripted")
        assert not forecast.fits
        assert forecast.tokens_now == conversation.usage.total
        listed = models.fit_of({"heavy:scripted": window, "local:scripted": 32_000})
        assert listed["heavy:scripted"] == (
            "compact" if forecast.can_compact else "too small",
            forecast.after_compaction,
            forecast.tokens,
        )
        assert listed["local:scripted"] == ("fits", 0, forecast.tokens_now)
        await done(conversation, Switch("heavy:scripted", "anyway"))
        assert abs(conversation.usage.total - forecast.tokens) <= 10
        assert forecast.tokens > forecast.tokens_now * 1.5


async def test_the_present_model_is_listed_with_the_size_that_the_gauge_shows(
    opened: OpenSession, fake_openai: FakeOpenAI
) -> None:
    conversation = opened.conversation
    fake_openai.add(Text("I see.", usage=(9_000, 10)))
    await turn(conversation, "What is measured?")
    # What has been learned since affects the next request.
    shelf = conversation.models.shelf
    for _ in range(2):
        shelf.limits.observe(await shelf.get("local:scripted"), 5_000, 30_000)
    listed = conversation.models.fit_of({"local:scripted": 32_000})
    assert listed["local:scripted"] == ("fits", 0, conversation.usage.total)


async def test_forecast_promises_a_compaction_only_where_one_can_help(
    opened: OpenSession, fake_openai: FakeOpenAI
) -> None:
    conversation = opened.conversation
    forecast = await conversation.models.forecast("small:scripted")
    assert forecast.can_compact
    assert forecast.after_compaction <= forecast.window.effective
    fake_openai.add(Text("I see.", usage=(0, 0)))
    await turn(conversation, f"All of it: {LONG * 6}")
    forecast = await conversation.models.forecast("small:scripted")
    assert not forecast.can_compact
    assert forecast.window.effective <= forecast.after_compaction < forecast.tokens
    before, requests = view_bytes(conversation), len(fake_openai.journal)
    await done(conversation, Switch("small:scripted", "compact"))
    assert conversation.model == "local:scripted"
    assert (view_bytes(conversation), len(fake_openai.journal)) == (before, requests)


async def test_forecast_where_a_compaction_has_left_nothing_that_could_go(
    opened: OpenSession, desk: Desk, fake_openai: FakeOpenAI
) -> None:
    conversation = opened.conversation
    notes = " ".join(f"stop{number}" for number in range(400))
    fake_openai.add(Text(f"Title: Sea\n{notes}"), phrase=ASKS)
    await done(conversation, Compact())
    with FakeOpenAI() as tiny:
        desk.server("tiny", tiny.base_url, window=2_400)
        forecast = await conversation.models.forecast("tiny:scripted")
    assert not forecast.can_compact
    assert forecast.after_compaction == forecast.tokens > forecast.window.limit


async def test_plain(opened: OpenSession, desk: Desk, small: FakeOpenAI) -> None:
    with FakeOpenAI(Text("Hello from here.")) as large:
        desk.server("large", large.base_url, window=64_000)
        await done(opened.conversation, Switch("large:scripted"))
        assert opened.conversation.model == "large:scripted"
        assert opened.conversation.usage.window.limit == 64_000
        assert opened.store.info(opened.conversation.session).model == "large:scripted"
        change = opened.store.last_of(opened.conversation.session, ModelChange.TYPE)
        assert change is not None
        assert change.data == ModelChange(old="local:scripted", new="large:scripted", limit=64_000)
        assert of(await turn(opened.conversation, "Hi"), Error) == []
        assert len(large.journal) == 1


async def test_compact_and_switch(opened: OpenSession, fake_openai: FakeOpenAI, small: FakeOpenAI) -> None:
    conversation = opened.conversation
    fake_openai.add(Text(NOTES), Text(NOTES), phrase=ASKS)
    await done(conversation, Switch("small:scripted", "compact"))
    assert conversation.model == "small:scripted"
    assert conversation.usage.window.limit == SMALL
    assert conversation.usage.total <= conversation.usage.window.effective
    assert len(fake_openai.journal) == 5, "the old model wrote the summary"
    small.add(Text("Small and fine."))
    assert of(await turn(conversation, "Hi"), Error, Truncation, CompactionStart) == []


async def test_compaction_fails_and_the_old_model_stays(opened: OpenSession, fake_openai: FakeOpenAI) -> None:
    conversation = opened.conversation
    before, usage = view_bytes(conversation), conversation.usage
    # The switch may fall back on extraction, so that has to be too large as well.
    fake_openai.add(error(500, "down"), phrase=ASKS)
    conversation.compactor.host.fallback = None
    watching = Following(conversation.bus)
    await done(conversation, Switch("small:scripted", "compact"))
    record = await until(watching, lambda data: isinstance(data, Notice))
    assert "Stayed on local:scripted" in str(record.data)
    assert conversation.model == "local:scripted"
    assert (view_bytes(conversation), conversation.usage) == (before, usage)
    fake_openai.add(Text("Still here."))
    assert of(await turn(conversation, "Hi"), Error) == []


async def test_compaction_is_cancelled_and_the_old_model_stays(
    opened: OpenSession, fake_openai: FakeOpenAI
) -> None:
    conversation = opened.conversation
    before, usage = view_bytes(conversation), conversation.usage
    fake_openai.add(HangBeforeHeaders(), phrase=ASKS)
    conversation.submit(Switch("small:scripted", "compact"))
    exchange = await fake_openai.request(5)
    await exchange.paused.wait()
    await cancelled_within(conversation)
    await exchange.closed.wait()
    assert conversation.model == "local:scripted"
    assert (view_bytes(conversation), conversation.usage) == (before, usage)


async def test_anyway_cuts_each_request(opened: OpenSession, small: FakeOpenAI) -> None:
    conversation = opened.conversation
    before = view_bytes(conversation)
    forecast = await conversation.models.forecast("small:scripted")
    await done(conversation, Switch("small:scripted", "anyway"))
    assert conversation.model == "small:scripted"
    small.add(Text("One.", usage=(0, 0)), Text("Two.", usage=(0, 0)))
    for prompt in ("First", "Second"):
        records = await turn(conversation, prompt)
        assert [end.outcome for end in of(records, TurnEnd) if isinstance(end, TurnEnd)] == ["done"]
        assert len(of(records, Truncation)) == 1
        assert of(records, CompactionStart, CompactionComplete) == []
    assert view_bytes(conversation).startswith(before), "the view keeps everything"
    questions = [str(message).count("Question ") for message in small.journal[0]["messages"]]
    assert sum(questions) == forecast.keeps_turns


@pytest.fixture
async def cut(desk: Desk, fake_openai: FakeOpenAI, small: FakeOpenAI) -> str:
    """The same conversation, closed after switching to the small model with requests truncated."""
    async with talk(desk, fake_openai, small) as opened:
        await done(opened.conversation, Switch("small:scripted", "anyway"))
        return opened.conversation.session


async def test_anyway_is_kept_when_the_session_is_resumed(desk: Desk, cut: str, small: FakeOpenAI) -> None:
    async with desk.session(session=cut, model="") as opened:
        conversation, before = opened.conversation, view_bytes(opened.conversation)
        small.add(Text("Still here.", usage=(0, 0)))
        records = await turn(conversation, "Hi again")
        assert of(records, CompactionStart, CompactionComplete, Error) == []
        assert len(of(records, Truncation)) == 1
        assert view_bytes(conversation).startswith(before)


async def test_anyway_is_over_with_another_model_or_a_compaction(
    desk: Desk, cut: str, small: FakeOpenAI
) -> None:
    async with desk.session(session=cut, model="local:scripted") as opened:
        assert not tripped(opened)
    async with desk.session(session=cut, model="") as opened:
        await done(opened.conversation, Switch("small:scripted", "anyway"))
        assert tripped(opened)
        small.fallback = Text(NOTES)
        await done(opened.conversation, Compact())
        assert not tripped(opened)
    async with desk.session(session=cut, model="") as opened:
        assert not tripped(opened)


def test_a_change_noted_without_the_choice_can_be_read() -> None:
    record = payload_from_json(ModelChange.TYPE, {"old": "a", "new": "b", "limit": 3})
    assert record == ModelChange(old="a", new="b", limit=3, cut=False)


def tripped(opened: OpenSession) -> bool:
    """Whether automatic compaction has been disabled by failures."""
    compactor = opened.conversation.compactor
    return compactor.breaker.tripped(compactor.policy)


async def test_unknown_model_leaves_the_old_one(opened: OpenSession) -> None:
    watching = Following(opened.conversation.bus)
    await done(opened.conversation, Switch("nobody:nothing"))
    record = await until(watching, lambda data: isinstance(data, Error))
    assert "nobody:nothing" in str(record.data)
    assert opened.conversation.model == "local:scripted"


async def test_job_in_the_background_makes_room_for_the_switch(
    desk: Desk, fake_openai: FakeOpenAI, small: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=6_600)
    desk.server("small", small.base_url, window=SMALL)
    fake_openai.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(4)))
    async with desk.session() as opened:
        conversation = opened.conversation
        for number in range(4):
            await turn(conversation, f"Question {number}? {LONG}")
        fake_openai.add(HangBeforeHeaders(), Text(NOTES), phrase=ASKS)
        fake_openai.add(Text("Fine.", usage=(0, 0)))
        await turn(conversation, "Fifth")
        await fake_openai.request(6)
        assert conversation.compactor.state is State.RUNNING
        await done(conversation, Switch("small:scripted", "compact"))
        assert conversation.model == "small:scripted"


# Changing the policy of a session, and resuming the session later.


MINE = {"mine": {"base": "plimsoll", "max_messages": 6}}


@pytest.fixture
async def policy_change_opened(desk: Desk, fake_openai: FakeOpenAI) -> AsyncIterator[OpenSession]:
    desk.server("local", fake_openai.base_url, window=32_000)
    async with desk.session() as opened:
        yield opened


async def heard(opened: OpenSession, *work: ChangePolicy) -> list[Record]:
    """Submit work, and return the records published until it was finished."""
    subscription, last = Following(opened.conversation.bus), Notice(text="That was all.")
    await done(opened.conversation, *work)
    opened.bus.publish_live(opened.conversation.session, last)
    said: list[Record] = []
    async for record in subscription:
        if record.data is last:
            break
        said.append(record)
    subscription.close()
    return said


async def test_it_is_in_force_from_then_on_and_in_the_log(policy_change_opened: OpenSession) -> None:
    conversation = policy_change_opened.conversation
    assert conversation.policy == "plimsoll"
    said = await heard(policy_change_opened, ChangePolicy("reserve"))
    assert of(said, PolicyChange) == [PolicyChange(old="plimsoll", new="reserve")]
    assert conversation.policy == "reserve"
    assert conversation.compactor.policy == RESERVE
    last = policy_change_opened.store.last_of(conversation.session, PolicyChange.TYPE)
    assert last is not None
    assert last.data == PolicyChange(old="plimsoll", new="reserve")


@pytest.mark.parametrize(
    ("name", "words"),
    [("none", "no policy none; nothing changed. Choose one of plimsoll,"), ("plimsoll", "already plimsoll")],
)
async def test_a_name_nobody_knows_or_the_present_one_changes_nothing(
    policy_change_opened: OpenSession, name: str, words: str
) -> None:
    said = await heard(policy_change_opened, ChangePolicy(name))
    assert of(said, PolicyChange) == []
    [notice] = of(said, Notice)
    assert isinstance(notice, Notice)
    assert words in notice.text
    assert notice.passing, "it answers a key"
    assert policy_change_opened.conversation.policy == "plimsoll"


async def test_a_job_planned_for_the_old_policy_is_given_up(
    policy_change_opened: OpenSession, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(4)))
    for number in range(4):
        await turn(policy_change_opened.conversation, f"Question {number}? {LONG}")
    fake_openai.add(HangBeforeHeaders(), phrase="Write the notes")
    compactor = policy_change_opened.conversation.compactor
    compactor.start("background")
    assert compactor.state is State.RUNNING
    said = await heard(policy_change_opened, ChangePolicy("off"))
    [complete] = of(said, CompactionComplete)
    assert isinstance(complete, CompactionComplete)
    assert (complete.outcome, complete.policy) == ("cancelled", "plimsoll")
    assert compactor.state is State.IDLE


async def test_a_resumed_session_goes_on_with_what_was_chosen_in_it(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Hello."))
    async with desk.session(policies=MINE) as opened:
        session = opened.conversation.session
        await turn(opened.conversation, "Hi")
        await done(opened.conversation, ChangePolicy("reserve"), ChangePolicy("mine"))
        assert opened.conversation.compactor.policy.limit == MessageLimit(messages=6)
    async with desk.session(session=session, policies=MINE, policy="off") as again:
        assert again.conversation.policy == "mine"
    async with desk.session(session=session, policy="off") as again:
        assert again.conversation.policy == "off", "it has left the settings since"


async def test_one_asked_for_while_opening_is_remembered(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(*(Text("Hello.") for _ in range(3)))
    new = open_session(replace(desk.opening(), policy="sliding-window"))
    session = new.conversation.session
    await new.prepare()
    await turn(new.conversation, "Hi")
    await new.close()
    async with desk.session(session=session) as again:
        assert again.conversation.policy == "sliding-window"
    other = open_session(replace(desk.opening(session=session), policy="reserve"))
    await other.prepare()
    await other.close()
    async with desk.session(session=session, policy="off") as again:
        assert again.conversation.policy == "reserve", "the setting is for new sessions"
        last = again.store.last_of(session, PolicyChange.TYPE)
        assert last is not None
        assert last.data == PolicyChange(old="sliding-window", new="reserve")


async def test_one_asked_for_while_opening_ranks_above_it(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Hello."))
    async with desk.session() as opened:
        session = opened.conversation.session
        await turn(opened.conversation, "Hi")
        await done(opened.conversation, ChangePolicy("reserve"))
    opening = replace(desk.opening(session=session), policy="progressive")

    again = open_session(opening)
    assert again.conversation.policy == "progressive"
    await again.close()
    with pytest.raises(SettingsError, match="policy"):
        open_session(replace(opening, policy="x"))


# Reasoning effort.


def asked_effort(server: FakeOpenAI) -> object:
    return server.exchanges[-1].body.get("reasoning_effort")


async def test_the_effort_is_changed_within_a_session_and_kept(desk: Desk, fake_openai: FakeOpenAI) -> None:
    server, name = fake_openai, "local:gpt-5-mini"
    desk.server("local", server.base_url)
    async with desk.session(model=name) as opened:
        conversation = opened.conversation
        await turn(conversation, "One.")
        assert asked_effort(server) is None
        for effort, sent in (("high", "high"), ("low", "low"), ("default", None), ("medium", "medium")):
            await done(conversation, ChangeEffort(effort))
            await turn(conversation, "Another.")
            assert asked_effort(server) == sent
        watching = Following(conversation.bus)
        await done(conversation, ChangeEffort("medium"), ChangeEffort("enormous"))
        session = conversation.session
    said = [each.data.text async for each in watching if isinstance(each.data, Notice)]
    assert said == [
        "The effort is already medium.",
        "There is no effort 'enormous'. Choose one of default, off, minimal, low, medium, high, xhigh, max.",
    ]
    async with desk.session(session=session, model=name, thinking="low") as opened:
        await turn(opened.conversation, "Again.")
        assert asked_effort(server) == "medium", "what was chosen in the session"
    opened = open_session(replace(desk.opening(session=session, model=name), effort="high"))
    await opened.prepare()
    await turn(opened.conversation, "Again.")
    assert asked_effort(server) == "high", "what was asked for this time"
    changes = [each for each in opened.store.newest(session, (EffortChange.TYPE,))]
    assert changes[0].title == "effort medium → high"
    assert len(changes) == 5
    await opened.close()


async def test_a_model_that_is_not_known_to_think_is_said(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url)
    async with desk.session(model="local:gpt-4o") as opened:
        watching = Following(opened.conversation.bus)
        await done(opened.conversation, ChangeEffort("high"))
        await turn(opened.conversation, "One.")
        assert asked_effort(fake_openai) is None
    said = [each.data.text async for each in watching if isinstance(each.data, Notice)]
    assert said == ["local:gpt-4o is not known to think: effort applies to models that do."]


async def test_the_tokenizer_waits_for_the_first_turn_and_never_where_something_was_said(desk: Desk) -> None:
    opened = open_session(desk.opening(model=OFFLINE_MODEL))
    try:
        await opened.live()
        conversation = opened.conversation
        assert not conversation.history.counter.loaded
        await turn(conversation, "hello")
        assert conversation.history.counter.loaded
        before = conversation.history.usage().total
    finally:
        await opened.close()
    again = open_session(desk.opening(session=conversation.session, model=OFFLINE_MODEL))
    try:
        await again.live()
        assert again.conversation.history.counter.loaded
        assert again.conversation.history.usage().total == before
    finally:
        await again.close()
