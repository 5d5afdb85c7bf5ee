"""Rewinding to before a prompt, also past compactions and during a background compaction."""

from tests.conversation.driving import Desk, Following, done, turn, until, view_bytes
from tests.conversation.jobs import (
    beside_the_job,
    prompt_number,
    released,
    reopened,
    texts,
    until_a_job_runs,
    with_job,
)
from tests.conversation.test_compactions import ASKS, NOTES, filled, stored
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.context.compaction.compactor import State
from tui_app.context.views.view import is_summary
from tui_app.conversation.work import Clear, Compact, Restate, Restore, Rewind
from tui_app.events import CompactionUndone, Notice, SessionRestored, SessionRewind
from tui_app.session.views.user_view import fold_user_view


async def test_rewinding_behind_what_a_job_replaces_leaves_it_to_be_applied(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    release = Signal()
    async with with_job(desk, fake_openai, release) as opened:
        conversation = opened.conversation
        await beside_the_job(conversation, Rewind(prompt_number(conversation, "Fifth")), SessionRewind)
        assert "Fifth" not in texts(conversation)
        assert conversation.compactor.state is State.RUNNING
        assert (await released(opened, release)).outcome == "success"
        assert is_summary(conversation.history.items()[0].message)
        assert "Fifth" not in texts(conversation)
        await reopened(desk, opened)


async def test_rewinding_into_what_a_job_replaces_discards_its_result(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    release = Signal()
    async with with_job(desk, fake_openai, release) as opened:
        conversation = opened.conversation
        await beside_the_job(conversation, Rewind(prompt_number(conversation, "Question 1")), SessionRewind)
        before = view_bytes(conversation)
        complete = await released(opened, release)
        assert (complete.outcome, complete.reason) == ("discarded", "the conversation changed meanwhile")
        assert view_bytes(conversation) == before
        assert "Question 0" in texts(conversation)
        assert not opened.folder.checkpoints.exists()
        await reopened(desk, opened)


async def test_rewinding_past_a_compaction_takes_it_back_and_discards_the_job_behind_it(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    release = Signal()
    async with filled(desk, fake_openai, window=6_600) as opened:
        conversation = opened.conversation
        before = view_bytes(conversation)
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(conversation, Compact())
        await until_a_job_runs(conversation, fake_openai, release)
        assert opened.folder.listed() == 1
        await beside_the_job(conversation, Rewind(prompt_number(conversation, "Question 3")), SessionRewind)
        assert conversation.history.view.compactions == conversation.history.view.undone == []
        assert opened.folder.listed() == 0
        whole = view_bytes(conversation)
        assert before.startswith(whole)
        assert b"Question 2" in whole
        assert b"Question 3" not in whole
        assert (await released(opened, release)).outcome == "discarded"
        assert view_bytes(conversation) == whole
        rows = fold_user_view(opened.store.heads(conversation.session)).entries
        said = {row.title[:10]: row.state for row in rows if row.kind == "user"}
        assert (said["Question 2"], said["Question 3"], said["Again?"]) == ("ok", "undone", "undone")
        assert [row.state for row in rows if row.kind == "compaction"] == ["undone", "discarded"]
        await reopened(desk, opened)
        session = conversation.session
    async with desk.session(session=session) as opened:
        assert view_bytes(opened.conversation) == whole


async def test_only_a_prompt_of_the_conversation_can_be_rewound_to(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        first, third = (prompt_number(conversation, f"Question {number}") for number in (0, 2))
        await done(conversation, Rewind(third))
        for wrong in (third, first + 1, 0, 10_000):
            before, watching = view_bytes(conversation), Following(conversation.bus)
            await done(conversation, Rewind(wrong))
            said = await until(watching, lambda data: isinstance(data, Notice))
            assert f"#{wrong} is not a prompt of this conversation" in str(said.data)
            assert view_bytes(conversation) == before
        assert stored(opened, SessionRewind) == [SessionRewind(to=third)]
        await done(conversation, Rewind(first))
        assert conversation.history.items() == []
        fake_openai.add(Text("From the start."))
        await turn(conversation, "Once more")
        assert "From the start." in texts(conversation)
        await reopened(desk, opened)


async def test_undo_takes_a_rewind_past_a_compaction_back_whole(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation, view = opened.conversation, opened.conversation.history.view
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(conversation, Compact())
        before, standing, total = view_bytes(conversation), list(view.compactions), conversation.usage.total
        await done(conversation, Rewind(prompt_number(conversation, "Question 1")))
        assert (view.compactions, opened.folder.listed()) == ([], 0)
        await done(conversation, Restate(undo=True))
        assert (view_bytes(conversation), view.compactions) == (before, standing)
        assert opened.folder.listed() == 1
        [restored] = stored(opened, SessionRestored)
        assert restored.tokens_after == conversation.usage.total == total
        await reopened(desk, opened)
        await done(conversation, Restate(undo=True))
        assert len(stored(opened, CompactionUndone)) == 1, "the compaction comes next"


async def test_undo_takes_a_clear_back_until_something_is_said(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        before = view_bytes(conversation)
        await done(conversation, Clear(), Restate(undo=True))
        assert view_bytes(conversation) == before
        await done(conversation, Clear())
        [second] = conversation.history.view.reversible
        fake_openai.add(Text("Afresh."))
        await turn(conversation, "Once more")
        after = view_bytes(conversation)
        for work, why in (
            (Restate(undo=True), "Nothing to undo. /fork continues from what was rewound."),
            (Restore(second), "The conversation has continued since. /fork continues from what was rewound."),
        ):
            watching = Following(conversation.bus)
            await done(conversation, work)
            said = await until(watching, lambda data: isinstance(data, Notice))
            assert why in str(said.data)
        assert view_bytes(conversation) == after
