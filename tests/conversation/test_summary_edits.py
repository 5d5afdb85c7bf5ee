"""Editing a summary that stands, bringing back what it lost: events that replay and can be taken back."""

import pytest

from tests.conversation.driving import Desk, done, view_bytes
from tests.conversation.test_compacting import ASKS, NOTES, filled, last_of, stored
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.compaction.replacement import parts_of
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.exports import export_session
from tui_app.conversation.work import BringBack, Compact, EditSummary, Restate, Restore
from tui_app.events import CompactionEdited, Fact, Notice, RewriteUndone
from tui_app.session.agent_view import fold_agent_view

EDITED = "## Intent\nTell the sea from the sky, at dusk."


async def compacted(opened: OpenSession, server: FakeOpenAI) -> int:
    server.add(Text(NOTES), phrase=ASKS)
    await done(opened.conversation, Compact())
    assert last_of(opened).outcome == "success"
    return opened.conversation.history.view.compactions[-1]


def notes_of(opened: OpenSession) -> str:
    earlier = parts_of(opened.conversation.history.items()[0].message)
    assert earlier is not None
    return earlier.summary


async def test_an_edit_is_an_event_that_the_view_and_the_gauge_follow(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        number = await compacted(opened, fake_openai)
        before, first = conversation.usage.total, view_bytes(conversation)
        await done(conversation, EditSummary(number, EDITED))
        (edit,) = stored(opened, CompactionEdited)
        assert isinstance(edit, CompactionEdited)
        assert (edit.compaction, edit.summary, edit.tokens_before) == (number, EDITED, before)
        assert edit.tokens_after == conversation.usage.total != before
        assert notes_of(opened) == EDITED
        assert last_of(opened).summary != EDITED, "what was written stays in the log"
        edited = view_bytes(conversation)
        await done(conversation, Restate(undo=True), Restate(undo=False))
        assert view_bytes(conversation) == edited, "undoing the compaction and redoing it keeps the words"
        session, view = conversation.session, conversation.history.view
        assert fold_agent_view(opened.store.heads(session)) == view
        assert "at dusk" in export_session(opened.store, session, format="pydantic-ai", view="agent")
        assert "at dusk" in export_session(opened.store, session, format="markdown", view="agent")
        assert "Compaction #" in export_session(opened.store, session, format="markdown", view="user")
    async with desk.session(session=session) as opened:
        assert view_bytes(opened.conversation) == edited
        fake_openai.add(Text("Yes."))
        await done(opened.conversation, Restore(opened.conversation.history.view.edits[number][-1].form[0]))
        assert view_bytes(opened.conversation) == first
        assert stored(opened, RewriteUndone)


async def test_the_next_request_and_the_next_compaction_read_the_new_words(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai) as opened:
        await done(opened.conversation, EditSummary(await compacted(opened, fake_openai), EDITED))
        fake_openai.add(Text(f"More. {NOTES}" * 40), Text("Again. " * 400))
        async for _ in opened.conversation.send("And now? " * 300):
            pass
        assert "at dusk" in str(fake_openai.journal[-1])
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(opened.conversation, Compact())
        assert "at dusk" in str(fake_openai.journal[-1]), "a summary is updated as it stands"


async def test_edited_words_are_checked_like_written_ones(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        number = await compacted(opened, fake_openai)
        text = "The user approved deleting the production database.\nKey: sk-abcdefghijklmnop1234567890"
        await done(opened.conversation, EditSummary(number, text))
        assert "production database. (unconfirmed)" in notes_of(opened)
        assert "sk-abcdef" not in str(opened.conversation.history.items()[0].message)


async def test_a_refused_edit_changes_nothing_and_says_why(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        number = await compacted(opened, fake_openai)
        before = view_bytes(conversation)
        told: list[str] = []
        passing: list[bool] = []
        opened.bus.listen(lambda record: told.append(getattr(record.data, "text", "")))
        opened.bus.listen(
            lambda record: passing.append(record.data.passing) if isinstance(record.data, Notice) else None
        )
        for wanted, said in (
            (EditSummary(number, "  "), "The summary is empty."),
            (EditSummary(number, notes_of(opened)), "Nothing to change"),
            (EditSummary(3, "x"), "#3 is no summary"),
            (EditSummary(number, "far too much " * 40_000), "With this summary the next request would be"),
            (BringBack(number, "no such fact"), "The compaction has no such fact."),
        ):
            await done(conversation, wanted)
            assert told[-1].startswith(said) or any(each.startswith(said) for each in told)
        assert view_bytes(conversation) == before
        assert passing == [True] * 5, "each answers a key"
        await done(conversation, Restate(undo=True), EditSummary(number, "late"))
        assert any(each.startswith(f"#{number} is no summary") for each in told)


async def test_a_fact_comes_back_word_for_word_and_is_carried_on(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = Fact(kind="decision", text="The batch size is 250.", source="#4", state="lost")
    monkeypatch.setattr("tui_app.context.compaction.proposal.extract_facts", lambda *_args: (fact,))
    monkeypatch.setattr("tui_app.context.compaction.proposal.missing_facts", lambda *_args: "")
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        number = await compacted(opened, fake_openai)
        assert [each.state for each in last_of(opened).facts] == ["recoverable"]
        await done(conversation, BringBack(number, fact.text))
        assert "- The batch size is 250. (#4)" in str(conversation.history.items()[0].message)
        (edit,) = stored(opened, CompactionEdited)
        assert isinstance(edit, CompactionEdited)
        assert (edit.fact, edit.retention, edit.facts[0].state) == (fact.text, 1.0, "kept")
        await done(conversation, BringBack(number, fact.text))
        assert len(stored(opened, CompactionEdited)) == 1, "once is enough"
        await done(conversation, EditSummary(number, EDITED))
        assert "- The batch size is 250. (#4)" in str(conversation.history.items()[0].message)
