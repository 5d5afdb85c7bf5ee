"""Changing the policy of a session, and going on with it later."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.conversation.driving import Desk, done, of, turn
from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.compaction.compactor import State
from tui_app.context.policy import RESERVE, MessageLimit
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import ChangePolicy
from tui_app.events import CompactionComplete, Notice, PolicyChange, Record
from tui_app.settings import SettingsError

LONG = "The sea is below and the sky is above, as everybody knows. " * 40
MINE = {"mine": {"base": "plimsoll", "max_messages": 6}}


@pytest.fixture
async def opened(desk: Desk, fake_openai: FakeOpenAI) -> AsyncIterator[OpenSession]:
    desk.server("local", fake_openai.base_url, window=32_000)
    async with desk.session() as opened:
        yield opened


async def heard(opened: OpenSession, *work: ChangePolicy) -> list[Record]:
    """What was said while something was done."""
    subscription, last = opened.conversation.watch(), Notice(text="That was all.")
    await done(opened.conversation, *work)
    opened.bus.tell(opened.conversation.session, last)
    said: list[Record] = []
    async for record in subscription:
        if record.data is last:
            break
        said.append(record)
    subscription.close()
    return said


async def test_it_is_in_force_from_then_on_and_in_the_log(opened: OpenSession) -> None:
    conversation = opened.conversation
    assert conversation.policy == "plimsoll"
    said = await heard(opened, ChangePolicy("reserve"))
    assert of(said, PolicyChange) == [PolicyChange(old="plimsoll", new="reserve")]
    assert conversation.policy == "reserve"
    assert conversation.compactor.policy == RESERVE
    last = opened.store.last_of(conversation.session, PolicyChange.TYPE)
    assert last is not None
    assert last.data == PolicyChange(old="plimsoll", new="reserve")


@pytest.mark.parametrize(
    ("name", "words"),
    [("none", "no policy none; nothing changed. Choose one of plimsoll,"), ("plimsoll", "plimsoll already")],
)
async def test_a_name_nobody_knows_or_the_present_one_changes_nothing(
    opened: OpenSession, name: str, words: str
) -> None:
    said = await heard(opened, ChangePolicy(name))
    assert of(said, PolicyChange) == []
    [notice] = of(said, Notice)
    assert isinstance(notice, Notice)
    assert words in notice.text
    assert notice.passing, "it answers a key"
    assert opened.conversation.policy == "plimsoll"


async def test_a_job_planned_for_the_old_policy_is_given_up(
    opened: OpenSession, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(4)))
    for number in range(4):
        await turn(opened.conversation, f"Question {number}? {LONG}")
    fake_openai.add(HangBeforeHeaders(), phrase="Write the notes")
    compactor = opened.conversation.compactor
    compactor.start("background")
    assert compactor.state is State.RUNNING
    said = await heard(opened, ChangePolicy("off"))
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
