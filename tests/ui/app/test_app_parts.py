"""Compacting a part from the transcript, editing a summary afterwards, and settings that count at once."""

import pytest
from textual.widgets import TextArea

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.app.test_app_review import reviewing
from tests.ui.kit import Deck, Desk, shown
from tui_app.ui import type_ahead as stray_keys
from tui_app.ui.dialogs.compaction import CompactionDetail, SummaryEditor
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.settings import SettingsDesk

SUMMARY = "The person asked six questions about words; all were answered."


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)


@pytest.fixture
def session(served: Desk, fake_openai: FakeOpenAI) -> str:
    fake_openai.add(Text(SUMMARY, usage=(0, 0)))
    return served.store(Story().turns(6))


async def compacted(deck: Deck) -> None:
    await deck.until(lambda: "compaction" in deck.kinds, "the entry")
    await deck.idle()


@pytest.mark.parametrize(("key", "place"), [("less_than_sign", 0), ("greater_than_sign", 2)])
async def test_the_marked_entry_says_where_it_ends_or_begins(
    served: Desk, session: str, key: str, place: int
) -> None:
    view = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        entries = deck.app.chat.session.presenter.view.entries
        row = [entry for entry in entries if entry.kind in ("user", "assistant")][5 if place == 0 else 2]
        deck.transcript.focus()
        deck.transcript.jump_to(row.seq)
        await deck.press(key)
        await compacted(deck)
        now = served.agent_view(session)
        assert SUMMARY in now[place]
        kept = view[6:] if place == 0 else view[:2]
        assert set(kept) <= set(now), "what is outside stays as it is"
        assert f"{'up to' if place == 0 else 'from'} #{row.seq}" in deck.text
        await deck.send("/undo")
        await deck.says("Undone: what it replaced is back")
        assert served.agent_view(session) == view


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/compact --up-to twelve", "--up-to takes the number of a message"),
        ("/compact --everything", "/compact has no --everything; it takes --review, --from #N and --up-to"),
        ("/compact --from #9 --up-to #3", "Nothing lies between #9 and #3"),
        ("/compact --up-to #1", "Nothing to compact up to #1: fewer than two"),
        ("/compact --up-to #9000", "There is no message #9000 in the model's view."),
    ],
)
async def test_a_part_that_cannot_be_is_refused_in_words(
    served: Desk, fake_openai: FakeOpenAI, session: str, command: str, said: str
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send(command)
        await deck.says(said)
    assert fake_openai.journal == []


async def test_a_summary_is_edited_and_the_edit_taken_back(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact")
        await compacted(deck)
        first = served.agent_view(session)
        await deck.press("ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the details")
        await deck.press("e")
        await deck.until(lambda: isinstance(deck.app.screen, SummaryEditor), "the editor")
        await deck.press(*"Indeed: ")
        await deck.hurry("tab", "home", "enter")
        await deck.until(lambda: "rewrite" in deck.kinds, "the row of the edit")
        await deck.idle()
        assert deck.status.startswith("Summary edited, ~")
        assert f"Indeed: {SUMMARY}" in served.agent_view(session)[0]
        assert "summary edited" in deck.text
        await deck.press("ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the details")
        assert deck.app.screen.query_one("#tab-summary TextArea", TextArea).text == f"Indeed: {SUMMARY}"
        assert "edited since" in deck.text
        await deck.press("escape")
        row = next(e for e in deck.app.chat.session.presenter.view.entries if e.kind == "rewrite")
        deck.transcript.focus()
        deck.transcript.jump_to(row.seq)
        await deck.press("u")
        await deck.until(lambda: "taken back" in deck.text, "the row to say so")
        assert served.agent_view(session) == first


async def test_the_summary_is_read_while_it_is_written(served: Desk, fake_openai: FakeOpenAI) -> None:
    release = Signal()
    fake_openai.add(Text(SUMMARY, usage=(0, 0), hold=release, hold_after=3))
    session = served.store(Story().turns(6))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact --review")
        await deck.until(lambda: isinstance(deck.app.screen, ReviewScreen), "the dialog")
        await (await fake_openai.request(1)).paused.wait()
        await deck.until(lambda: "The person" in deck.app.screen.query_one(TextArea).text, "some text")
        assert not reviewing(deck)
        release.set()
        await deck.until(lambda: reviewing(deck), "something to decide")
        assert deck.app.screen.query_one(TextArea).text == SUMMARY
        assert "messages leave," in deck.text


async def test_another_focus_is_asked_for_in_the_dialog(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(Text(f"{SUMMARY} Words were short.", usage=(0, 0)))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact --review")
        await deck.until(lambda: reviewing(deck), "the review")
        await deck.press("f", *"length", "enter")
        await deck.until(lambda: reviewing(deck) and "short" in deck.text, "another summary")
        assert "Above all keep what concerns: length" in str(fake_openai.journal[-1])
        await deck.press("up", "enter")
        await compacted(deck)
        assert "Words were short." in served.agent_view(session)[0]


async def test_a_changed_setting_counts_at_once(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        assert SettingsDesk(deck.app).change("review", "always") == ""
        await deck.send("/compact")
        await deck.until(lambda: reviewing(deck), "the review")
        await deck.press("escape")
        await deck.says("Compaction discarded")


async def test_a_mark_in_the_conversation_says_nothing_to_the_prompt(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact")
        await compacted(deck)
        deck.transcript.focus()
        await deck.settle()
        await deck.press("up", "up", "up")
        deck.editor.focus()
        await deck.settle()
        await deck.press("ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the details")
