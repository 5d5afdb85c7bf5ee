"""Which compactions wait for a person: all, those they start, none; and nobody waits where nobody is."""

import pytest

from tests.conversation.driving import Desk, done, of, turn, until
from tests.conversation.test_compacting import ASKS, LONG, NOTES, filled, last_of, stored
from tests.conversation.test_reviewing import decided
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.compaction.compactor import State
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.compactions import Reviews
from tui_app.conversation.work import Compact, Prompt
from tui_app.events import CompactionComplete, CompactionProposed, CompactionStart, Trigger, TurnEnd
from tui_app.settings import ReviewMode


@pytest.mark.parametrize(
    ("mode", "asked"),
    [
        ("always", {"manual", "model_switch", "background", "blocking", "turn_end", "overflow"}),
        ("manual", {"manual", "model_switch"}),
        ("never", set()),
    ],
)
def test_what_waits(mode: ReviewMode, asked: set[Trigger]) -> None:
    reviews = Reviews(print, mode)
    every: tuple[Trigger, ...] = (
        "manual", "model_switch", "background", "blocking", "turn_end", "overflow", "headless",
        "memory_pressure",
    )  # fmt: skip
    assert {trigger for trigger in every if reviews.of(trigger) is not None} == asked


async def proposed(opened: OpenSession, prompt: str = "Fifth") -> CompactionProposed:
    watch = opened.conversation.watch()
    opened.conversation.submit(Prompt(prompt))
    record = await until(watch, lambda payload: isinstance(payload, CompactionProposed))
    watch.close()
    assert isinstance(record.data, CompactionProposed)
    return record.data


async def test_one_in_the_background_waits_while_the_turn_goes_on(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai, window=6_600) as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("always")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        fake_openai.add(Text("Short."), Text("Once more."))
        watch = conversation.watch()
        asked = await proposed(opened)
        await until(watch, lambda payload: isinstance(payload, TurnEnd))
        assert conversation.compactor.state is State.READY
        assert not stored(opened, CompactionComplete), "nothing is applied unseen"
        complete = await decided(opened, asked.job, asked.summary)
        assert (complete.outcome, complete.trigger) == ("success", "background")


async def test_who_says_no_is_not_asked_again_at_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai, window=6_600) as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("always")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        fake_openai.add(Text("Short."), Text("Once more."))
        asked = await proposed(opened)
        assert (await decided(opened, asked.job, None)).outcome == "discarded"
        records = await turn(conversation, "Sixth")
        assert not of(records, CompactionStart)


async def test_a_request_that_cannot_go_on_waits_for_the_decision(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai, window=6_600) as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("always")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        fake_openai.add(Text("Short."))
        watch = conversation.watch()
        asked = await proposed(opened, f"Fifth {LONG} {LONG}")
        assert conversation.busy, "the turn waits"
        conversation.reviews.decide(asked.job, asked.summary)
        await until(watch, lambda payload: isinstance(payload, TurnEnd))
        complete = last_of(opened)
        assert (complete.outcome, complete.trigger) == ("success", "blocking")


async def test_manual_leaves_those_of_the_background_alone(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai, window=6_600) as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("manual")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        fake_openai.add(Text("Short."))
        await turn(conversation, "Fifth")
        await conversation.settle()
        assert (last_of(opened).outcome, last_of(opened).trigger) == ("success", "background")


async def test_a_changed_mode_counts_at_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("always")
        conversation.reviews.ask_about("never")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(conversation, Compact())
        assert last_of(opened).outcome == "success"


async def test_nobody_waits_without_a_screen(desk: Desk, fake_openai: FakeOpenAI) -> None:
    """Whatever the settings say: a command or another program has nobody to ask."""
    desk.server("local", fake_openai.base_url, window=6_600)
    fake_openai.add(*(Text(f"Answer. {LONG}", usage=(0, 0)) for _ in range(5)))
    fake_openai.add(*(Text(NOTES) for _ in range(4)), phrase=ASKS)
    async with desk.session(review="always") as opened:
        for number in range(5):
            await turn(opened.conversation, f"Question {number}? {LONG}")
        await opened.conversation.settle()
        assert last_of(opened).outcome == "success"


async def test_the_turn_end_of_a_policy_holds_nothing_up(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=20_000)
    fake_openai.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(7)))
    fake_openai.add(*(Text(NOTES) for _ in range(6)), phrase=ASKS)
    async with desk.session(policy="reserve") as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("always")
        watch = conversation.watch()
        for number in range(6):
            await turn(conversation, f"Question {number}? {LONG}")
            if of([record for record, _ in opened.store.records(conversation.session)], CompactionStart):
                break
        asked = await until(watch, lambda payload: isinstance(payload, CompactionProposed))
        await turn(conversation, "Go on")
        assert isinstance(asked.data, CompactionProposed)
        complete = await decided(opened, asked.data.job, asked.data.summary)
        assert (complete.outcome, complete.trigger) == ("success", "turn_end")
