"""Reviewing a summary in a conversation: prompts go on, the decision comes late, nothing is left behind."""

import asyncio

from tests.conversation.driving import Desk, cancelled_within, done, of, turn, until, view_bytes
from tests.conversation.test_compacting import ASKS, NOTES, filled, last_of, stored
from tests.servers.behaviours import Text, error
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.compaction.compactor import State
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Clear, Compact, Restate
from tui_app.events import CompactionComplete, CompactionProgress, CompactionProposed, TurnEnd

EDITED = f"{NOTES}\nThe horizon is where they meet."


async def proposed(opened: OpenSession, server: FakeOpenAI) -> CompactionProposed:
    """Have a summary written that waits for a decision."""
    server.add(Text(NOTES), phrase=ASKS)
    watch = opened.conversation.watch()
    opened.conversation.submit(Compact("tides", review=True))
    record = await until(watch, lambda payload: isinstance(payload, CompactionProposed))
    watch.close()
    assert isinstance(record.data, CompactionProposed)
    return record.data


async def decided(opened: OpenSession, job: str, summary: str | None) -> CompactionComplete:
    assert opened.conversation.reviews.decide(job, summary)
    await opened.conversation.settle()
    return last_of(opened)


async def test_edited_applied_undone_and_redone(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        before = view_bytes(conversation)
        asked = await proposed(opened, fake_openai)
        assert (asked.problem, asked.messages_before) == ("", 8)
        assert "Tell the sea from the sky." in asked.summary
        assert asked.tokens_after < asked.tokens_before
        assert view_bytes(conversation) == before
        assert stored(opened, CompactionProposed) == [], "the log keeps what was applied"
        complete = await decided(opened, asked.job, EDITED)
        assert (complete.outcome, complete.edited, complete.focus) == ("success", True, "tides")
        assert complete.summary == EDITED
        assert "horizon" in str(conversation.history.items()[0].message)
        compacted = view_bytes(conversation)
        await done(conversation, Restate(undo=True))
        assert view_bytes(conversation) == before
        await done(conversation, Restate(undo=False))
        assert view_bytes(conversation) == compacted
        assert not conversation.reviews.decide(asked.job, NOTES), "it is decided once"


async def test_discarded(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        before = view_bytes(opened.conversation)
        asked = await proposed(opened, fake_openai)
        complete = await decided(opened, asked.job, None)
        assert (complete.outcome, complete.job) == ("discarded", asked.job)
        assert view_bytes(opened.conversation) == before
        assert not opened.folder.checkpoints.exists()


async def test_a_prompt_goes_on_and_a_late_decision_is_applied(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        asked = await proposed(opened, fake_openai)
        fake_openai.add(Text("Yes."))
        ends = of(await turn(conversation, "Go on?"), TurnEnd)
        assert [end.outcome for end in ends if isinstance(end, TurnEnd)] == ["done"]
        assert conversation.compactor.state is State.READY
        assert "Question 0?" in str(fake_openai.journal[-1]), "the view was whole"
        complete = await decided(opened, asked.job, asked.summary)
        assert (complete.outcome, complete.edited) == ("success", False)
        assert "Go on?" in str(conversation.history.items()[-2].message)


async def test_a_decision_during_a_turn_is_applied_once_it_may_be(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        asked = await proposed(opened, fake_openai)
        fake_openai.add(Text("Yes."))
        answer = asyncio.create_task(turn(conversation, "Go on?"))
        await fake_openai.request(6)
        conversation.reviews.decide(asked.job, asked.summary)
        await answer
        await conversation.settle()
        assert last_of(opened).outcome == "success"
        assert "Yes." in str(conversation.history.items()[-1].message)


async def test_cancelling_clearing_and_closing_end_the_question(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        before = view_bytes(conversation)
        asked = await proposed(opened, fake_openai)
        await cancelled_within(conversation)
        assert last_of(opened).outcome == "cancelled"
        assert view_bytes(conversation) == before
        assert not conversation.reviews.decide(asked.job, NOTES)
        await proposed(opened, fake_openai)
        session = conversation.session
    async with desk.session(session=session) as opened:
        assert last_of(opened).outcome == "cancelled", "leaving discards it"
        assert view_bytes(opened.conversation) == before
        asked = await proposed(opened, fake_openai)
        opened.conversation.submit(Clear())
        await opened.conversation.settle()
        assert not opened.conversation.reviews.decide(asked.job, NOTES)
        assert list(opened.conversation.history.items()) == []


async def test_a_second_one_is_refused_while_a_person_decides(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        asked = await proposed(opened, fake_openai)
        requests = len(fake_openai.journal)
        opened.conversation.submit(Compact())
        complete = await decided(opened, asked.job, NOTES)
        assert complete.outcome == "success"
        assert len(fake_openai.journal) == requests


async def test_another_focus_has_it_written_anew(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        watch = conversation.watch()
        asked = await proposed(opened, fake_openai)
        fake_openai.add(Text(f"{NOTES}\nMind the dusk."), phrase=ASKS)
        assert conversation.reviews.refocus(asked.job, "the dusk")
        again = await until(
            watch, lambda data: isinstance(data, CompactionProposed) and "dusk" in data.summary
        )
        assert "Above all keep what concerns: the dusk" in str(fake_openai.journal[-1])
        assert isinstance(again.data, CompactionProposed)
        assert (again.data.job, again.data.messages_leave + again.data.messages_stay) == (asked.job, 8)
        complete = await decided(opened, asked.job, again.data.summary)
        assert (complete.outcome, complete.focus, complete.edited) == ("success", "the dusk", False)


async def test_where_no_other_is_written_the_first_one_stays(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        watch = conversation.watch()
        asked = await proposed(opened, fake_openai)
        fake_openai.add(*(error(500, "down") for _ in range(4)), phrase=ASKS)
        conversation.reviews.refocus(asked.job, "the dusk")
        again = await until(watch, lambda data: isinstance(data, CompactionProposed) and bool(data.problem))
        assert isinstance(again.data, CompactionProposed)
        assert again.data.problem.startswith("with that focus none was written: ")
        complete = await decided(opened, asked.job, asked.summary)
        assert (complete.outcome, complete.focus) == ("success", "tides")


async def test_the_text_is_told_while_it_is_written(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        told: list[str] = []
        opened.bus.listen(
            lambda record: (
                told.append(record.data.text) if isinstance(record.data, CompactionProgress) else None
            )
        )
        await proposed(opened, fake_openai)
        assert "".join(told) == NOTES
