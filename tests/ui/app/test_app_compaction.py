"""Manual compaction: its row, its result, cancelling and undo."""

import re

import pytest
from textual.widgets import Static, TabbedContent, TextArea

from tests.servers.behaviours import Empty, HangBeforeHeaders, HangMidStream, Text, error
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.scenes import compared
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.conversation.work import Prompt
from tui_app.events import CompactionComplete, CompactionProgress, Record
from tui_app.ui.chat.compaction_outcome import CANCELLED
from tui_app.ui.chat.state import PROPOSED
from tui_app.ui.dialogs.actions import ONE_RUNS, send
from tui_app.ui.dialogs.compaction import CompactionDetail, SummaryEditor
from tui_app.ui.dialogs.compactions.review_flow import ReadAlongScreen
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.settings_desk import SettingsDesk
from tui_app.ui.keyboard import stray_keys

SUMMARY = "Each question, from question 0 to question 5, has its answer in words."
BRIEF = Text(SUMMARY, usage=(0, 0))


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story().turns(6))


async def compacted(deck: Deck) -> None:
    """Wait for a successful compaction."""
    await deck.until(lambda: "compaction" in deck.kinds, "the entry")
    await deck.idle()
    assert deck.status.startswith("Compacted"), deck.status


async def test_the_row_says_the_ways_on_where_the_line_is_out_of_sight(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(BRIEF)
    async with shown(served.app(session), (80, 24)) as deck:
        await deck.ready()
        await deck.press("pageup", "pageup")
        await deck.send("/compact")
        await compacted(deck)
        assert "became a summary" not in deck.text
        assert "/undo undoes it" in deck.status


async def test_the_whole_flow(served: Desk, fake_openai: FakeOpenAI, session: str) -> None:
    fake_openai.add(BRIEF, Text("Good.", usage=(2_222, 10)))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        before = deck.app.chat.session.state.usage
        await deck.send("/compact")
        await compacted(deck)
        after = deck.app.chat.session.state.usage
        assert before is not None
        assert after is not None
        assert 0 < after.total < before.total / 2
        assert not after.exact
        assert "~" in deck.gauge
        assert re.match(r"Compacted 5\.\dk → ~\S+", deck.status), "its line says what can be done"
        assert "/undo" not in deck.status
        assert "Conversation compacted" in deck.text
        assert len(fake_openai.journal) == 1
        # The usage reported with the next answer replaces the estimate.
        await deck.send("go on")
        await deck.answered(7)
        assert deck.gauge.startswith("2% of 128k · 2.2k · ok")


async def test_ctrl_o_opens_the_newest_compaction_from_the_prompt(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(BRIEF)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact")
        await compacted(deck)
        await deck.pilot.press("ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the details")


async def test_head_and_tabs_count_the_same_messages(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(BRIEF)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact")
        await compacted(deck)
        await deck.pilot.press("ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the details")
        await compared(deck)
        tabs = deck.app.screen.query_one(TabbedContent)
        left, stayed = (
            int(str(tabs.get_tab(f"tab-{name}").label).split()[-1]) for name in ("left", "stayed")
        )
        before, after = re.findall(r"(\d+) → (\d+) messages", deck.text)[0]
        assert left + stayed == int(before)
        assert stayed + 1 == int(after), "and the summary"


async def test_nothing_to_compact_asks_no_model(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app(served.store(Story().user("hello").answer("Hello.")))) as deck:
        await deck.ready()
        await deck.send("/compact")
        await deck.says("Nothing to compact: the last 2 messages are kept as they are")
        assert not deck.app.chat.session.state.busy
        assert "compaction" not in deck.kinds
    assert fake_openai.journal == []


@pytest.mark.parametrize("hanging", [HangBeforeHeaders(), HangMidStream()], ids=["silent", "mid-stream"])
async def test_escape_changes_nothing_and_closes_the_request(
    served: Desk, fake_openai: FakeOpenAI, session: str, hanging: HangBeforeHeaders | HangMidStream
) -> None:
    fake_openai.add(hanging, Text("Still here."))
    view = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        gauge = deck.gauge
        await deck.press("ctrl+g")
        exchange = await fake_openai.request(1)
        await exchange.paused.wait()
        await deck.says("Compacting conversation history")
        assert deck.status.split("\n")[0].endswith("esc cancels")
        assert "manual" in deck.status
        await deck.press("escape")
        await deck.until(lambda: deck.status == CANCELLED, CANCELLED)
        assert not deck.app.chat.session.state.busy
        await exchange.closed.wait()
        assert served.agent_view(session) == view
        assert deck.gauge == gauge
        await deck.send("are you there?")
        await deck.answered(7)
        assert "Still here." in deck.text


async def test_the_summary_is_read_along_while_it_is_written(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    hold = Signal()
    fake_openai.add(Text(SUMMARY, usage=(0, 0), hold=hold, hold_after=12))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.press("ctrl+o")
        assert not isinstance(deck.app.screen, ReadAlongScreen), "nothing is written"
        while deck.app.screen is not deck.app.chat:
            await deck.press("escape")
        deck.editor.focus()
        told = list(deck.app.chat.session.followers)
        await deck.press("ctrl+g")
        await deck.says("ctrl+o reads along")
        await deck.press("ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, ReadAlongScreen), "the text")
        await deck.until(lambda: deck.app.screen.query_one(TextArea).text, "its beginning")
        assert SUMMARY.startswith(deck.app.screen.query_one(TextArea).text.strip()[:20])
        assert "Writing the summary" in deck.text
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        assert deck.app.chat.session.state.compacting, "reading stops nothing"
        await deck.press("ctrl+o")
        hold.set()
        await deck.until(lambda: not deck.app.chat.session.state.compacting, "the end")
        title = deck.app.screen.query_one(".dialog-title", Static)
        await deck.until(lambda: "Writing" not in str(title.content), "what became of it")
        await deck.press("ctrl+o")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        assert deck.app.chat.session.followers == told, "whoever has left hears no more"


async def test_what_is_written_while_the_screen_to_read_along_opens_is_shown(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        screen = ReadAlongScreen(1, "Fix the ")
        more = CompactionProgress(job="1", part=1, parts=1, tokens_written=3, text="importer.")
        screen.keep_up(Record(seq=0, time=0.0, session="", data=more))
        deck.app.push_screen(screen)
        await deck.until(lambda: "Fix the importer." in deck.text, "all of it")


async def test_while_one_runs_the_context_screen_says_so_and_a_second_is_refused(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(HangBeforeHeaders(), BRIEF)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        exchange = await fake_openai.request(1)
        await exchange.paused.wait()
        said = deck.app.chat.session
        await deck.press("ctrl+g")
        await deck.until(lambda: said.state.status.notes == (ONE_RUNS,), "a refusal")
        await deck.send("/compact tests")
        await deck.until(lambda: deck.editor.text == "/compact tests", "what was asked for, in the editor")
        await deck.press("f3")
        await deck.says("compacting now: c cancels it")
        await deck.press("c")
        await exchange.closed.wait()
        await deck.until(lambda: not deck.app.chat.session.state.busy, "the end of it")
        await deck.says("compacts at 80%")
    assert len(fake_openai.journal) == 1, "only one was asked for"


async def test_undoing_again_says_that_it_is_undone(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(BRIEF)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        await compacted(deck)
        deck.transcript.focus()
        await deck.press("up", "u")
        await deck.says("the full history is back")
        await deck.press("u")
        await deck.says("This is already undone. /redo applies it again.")
        await deck.press("home", "up", "u")
        await deck.says("This row cannot be undone")


async def test_why_a_key_is_refused_is_read_in_the_status_row_and_is_no_notice(served: Desk) -> None:
    session = served.store(Story("ferries").user("how late?").answer("At eleven."))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        await deck.until(lambda: deck.status.startswith("Nothing to compact"), "why not")
        await deck.send("/unpin #2")
        await deck.until(lambda: deck.status.startswith("#2 is not pinned."), "why not")
        await deck.send("/policy strict")
        await deck.until(lambda: deck.status.startswith("No policy strict."), "why not")
        deck.transcript.jump_to(2)
        deck.transcript.focus()
        await deck.press("less_than_sign")
        await deck.until(lambda: "fewer than two messages" in deck.status, "why not")
        assert deck.app.chat.session.state.notices == ()
        assert "notice" not in deck.hints


@pytest.mark.parametrize("failure", [Empty(), error(400, "no")], ids=["empty", "refused"])
async def test_a_failure_changes_nothing_and_says_why(
    served: Desk, fake_openai: FakeOpenAI, session: str, failure: Empty
) -> None:
    fake_openai.fallback = failure
    view = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        await deck.says("Compaction failed: ")
        assert "Nothing changed. · enter keeps the extract instead" in deck.status
        assert served.agent_view(session) == view
        await deck.press("f2")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the notices")
        assert "Compaction failed" in deck.text
        await deck.press("escape")
        assert "notice" not in deck.hints
        await deck.press("f2")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the notices again")
        assert "Compaction failed" in deck.text
        await deck.press("escape", "ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the details")
        for words in ("Nothing changed.", "Began         manual", "Model         ", "ctrl+g tries again"):
            assert words in deck.text, words


async def test_enter_keeps_the_extract_where_the_model_wrote_none(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.fallback = Empty()
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact the ferry prices")
        await deck.says("enter keeps the extract instead")
        asked = len(fake_openai.journal)
        await deck.press("enter")
        await deck.says("Compacted ")
    with served.log() as store:
        record = store.last_of(session, CompactionComplete.TYPE)
    assert record is not None
    done = record.data
    assert isinstance(done, CompactionComplete)
    assert (done.outcome, done.performed_by, done.focus) == ("success", "heuristic", "the ferry prices")
    assert len(fake_openai.journal) == asked, "extraction asks no model"


async def test_undo_and_redo_from_the_entry_the_screen_and_by_name(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(BRIEF)
    full = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        gauge = deck.gauge
        await deck.press("ctrl+g")
        await compacted(deck)
        short, less = served.agent_view(session), deck.gauge
        assert len(short) < len(full)
        deck.transcript.focus()
        await deck.press("up", "u")
        await deck.until(lambda: deck.gauge == gauge, "the gauge from before")
        assert served.agent_view(session) == full
        await deck.send("/redo")
        await deck.until(lambda: deck.gauge == less, "the gauge after the compaction")
        assert served.agent_view(session) == short
        deck.transcript.focus()
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the detail")
        assert SUMMARY in deck.text
        await deck.press("u")
        await deck.until(lambda: deck.gauge == gauge, "the gauge from before")
        await deck.send("/undo")
        await deck.says("Nothing to undo.")
        assert not deck.app.chat.session.state.notices
        assert served.agent_view(session) == full
    assert len(fake_openai.journal) == 1


async def test_the_focus_reaches_the_model_and_work_goes_on_meanwhile(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(HangBeforeHeaders())
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact the ferry prices")
        exchange = await fake_openai.request(1)
        assert "the ferry prices" in exchange.text()
        await deck.says("Compacting conversation history")
        await deck.press("pageup")
        assert deck.transcript.scroll_y < deck.transcript.max_scroll_y
        await deck.send("and now?")
        await deck.until(lambda: deck.queue == ["and now?   1 of 1 queued"], "the waiting prompt")
        assert deck.status.endswith("esc cancels")
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "and now?", "the prompt back")
        assert deck.status.endswith("esc cancels")


async def test_details_of_a_compaction_of_an_earlier_run(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(BRIEF)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        await compacted(deck)
        shown_before = deck.gauge, deck.kinds
    async with shown(served.app(session)) as deck:
        await deck.ready()
        assert (deck.gauge, deck.kinds) == shown_before
        deck.transcript.focus()
        await deck.press("up", "ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the detail")
        assert SUMMARY in deck.text
        await deck.press(*["right_square_bracket"] * 4)
        await deck.says("+   Each question, from question 0")
        assert re.search(r"- +#2 .* user +20 +question 0", deck.text)
        await deck.press("c")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the checkpoint file")
        assert "cannot be read" not in deck.text
        await deck.press("escape", "escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat)


async def test_the_bottom_row_names_what_acts_on_the_row_under_the_cursor(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(BRIEF)
    async with shown(served.app(session), (160, 40)) as deck:
        await deck.ready()
        transcript = deck.transcript
        prompts = [entry.seq for entry in transcript._pages.entries if entry.kind == "user"]
        transcript.jump_to(prompts[0])
        transcript.focus()
        await deck.until(lambda: "p pin" in deck.hints, "keys of the first prompt")
        await deck.settle()
        assert not re.search("undo|compact up to", deck.hints), "one message is no part"
        transcript.jump_to(prompts[3])
        await deck.until(lambda: "< compact up to" in deck.hints, "a part")
        assert "> from here" in deck.hints
        transcript.jump_to(prompts[-1])
        await deck.until(lambda: ">" not in deck.hints, "the newest stays")
        await deck.press("greater_than_sign")
        await deck.until(lambda: deck.status.startswith("Nothing to compact"), "why not")
        await deck.press("less_than_sign")
        await deck.until(lambda: "compaction" in deck.kinds, "the entry")
        await deck.idle()
        transcript.jump_to(next(each.seq for each in transcript._pages.entries if each.kind == "compaction"))
        transcript.focus()
        await deck.until(lambda: "u undo" in deck.hints, "the way back")
        assert "p pin" not in deck.hints
        await deck.press("u")
        await deck.until(lambda: "u undo" not in deck.hints, "it is undone")


# Compaction with a review of the summary.


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept keys in the dialog at once."""
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)


@pytest.fixture
def review_session(served: Desk, fake_openai: FakeOpenAI) -> str:
    fake_openai.add(Text(SUMMARY, usage=(0, 0)))
    return served.store(Story().turns(6))


async def asked(deck: Deck, command: str) -> ReviewScreen:
    await deck.ready()
    await deck.send(command)
    await deck.until(lambda: reviewing(deck), "the review")
    assert isinstance(deck.app.screen, ReviewScreen)
    return deck.app.screen


def reviewing(deck: Deck) -> bool:
    """Whether a summary is waiting for review."""
    screen = deck.app.screen
    return isinstance(screen, ReviewScreen) and not screen.writing


def completed(desk: Desk, session: str) -> CompactionComplete:
    with desk.log() as log:
        record = log.last_of(session, CompactionComplete.TYPE)
    assert record is not None
    assert isinstance(record.data, CompactionComplete)
    return record.data


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
async def test_edited_applied_and_undone(served: Desk, review_session: str, size: tuple[int, int]) -> None:
    view = served.agent_view(review_session)
    async with shown(served.app(review_session), size) as deck:
        screen = await asked(deck, "/compact --review the words")
        assert SUMMARY[:40] in deck.text
        assert served.agent_view(review_session) == view, "nothing has changed yet"
        await deck.press("e", "end", *" Good.", "escape", "enter")
        await deck.until(lambda: "compaction" in deck.kinds, "the entry")
        await deck.idle()
        done = completed(served, review_session)
        assert (done.outcome, done.edited, done.focus) == ("success", True, "the words")
        assert re.sub(r" \((?:#[^)]*|unchecked)\)", "", done.summary) == f"{SUMMARY} Good."
        assert deck.status.startswith("Compacted")
        assert screen not in deck.app.screen_stack
        await deck.send("/undo")
        await deck.says("Undone: the full history is back")
        assert served.agent_view(review_session) == view


@pytest.mark.usefixtures("_at_once")
async def test_the_setting_asks_each_time_and_escape_discards(served: Desk, review_session: str) -> None:
    view = served.agent_view(review_session)
    async with shown(served.change(review="manual").app(review_session)) as deck:
        await asked(deck, "/compact")
        await deck.press("escape")
        await deck.says("Discarded. Nothing changed.")
        assert served.agent_view(review_session) == view
        assert not deck.app.chat.session.state.unread


@pytest.mark.usefixtures("_at_once")
async def test_a_key_has_the_model_try_it_before_it_is_applied(
    served: Desk, review_session: str, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("1. unknown", usage=(0, 0)))
    async with shown(served.app(review_session), WIDE) as deck:
        await asked(deck, "/compact --review")
        await deck.says("questions answered")
        assert "answered · 0 by the model" not in deck.text
        await deck.press("t")
        await deck.says("answered · 0 by the model")
        assert SUMMARY[:40] in deck.text
        await deck.press("home", "enter")
        await deck.until(lambda: "compaction" in deck.kinds, "the entry")
        await deck.idle()
    done = completed(served, review_session)
    assert done.misread is not None
    assert len(done.misread) == done.questions > 0


@pytest.mark.usefixtures("_at_once")
async def test_an_empty_summary_comes_back_with_the_reason(served: Desk, review_session: str) -> None:
    async with shown(served.app(review_session)) as deck:
        await asked(deck, "/compact --review")
        await deck.press("e")
        deck.app.screen.query_one(TextArea).text = ""
        await deck.press("escape", "enter")
        await deck.says("It cannot be applied like this: the summary is empty.")
        await deck.press("escape")
        await deck.says("Compaction discarded")


@pytest.mark.usefixtures("_at_once")
async def test_a_queued_prompt_goes_on_behind_the_question(
    served: Desk, review_session: str, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Gladly."))
    async with shown(served.app(review_session)) as deck:
        await asked(deck, "/compact --review")
        assert deck.app.chat.session.state.status.text == PROPOSED
        send(deck.app.chat, Prompt("go on"))
        await deck.until(lambda: deck.kinds.count("assistant") == 7, "the answer")
        assert isinstance(deck.app.screen, ReviewScreen)
        await deck.press("home", "enter")
        await deck.until(lambda: "compaction" in deck.kinds, "the entry")
        assert len(served.agent_view(review_session)) < 12
        assert "Gladly." in served.agent_view(review_session)[-1]


@pytest.mark.usefixtures("_at_once")
async def test_a_job_that_ends_otherwise_takes_its_question_along(served: Desk, review_session: str) -> None:
    async with shown(served.app(review_session)) as deck:
        screen = await asked(deck, "/compact --review")
        deck.app.chat.session.cancel()
        await deck.until(lambda: deck.app.screen is not screen, "the chat")
        await deck.says("Compaction cancelled. Nothing changed.")


@pytest.mark.usefixtures("_at_once")
async def test_quitting_discards_it(served: Desk, review_session: str) -> None:
    view = served.agent_view(review_session)
    async with shown(served.app(review_session)) as deck:
        await asked(deck, "/compact --review")
        await deck.press("ctrl+q")
    assert served.agent_view(review_session) == view
    assert completed(served, review_session).outcome == "cancelled"


# Compacting part of the transcript, editing a summary afterwards, and settings that apply at once.


@pytest.fixture
def _parts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)


@pytest.fixture
def parts_session(served: Desk, fake_openai: FakeOpenAI) -> str:
    fake_openai.add(Text(SUMMARY, usage=(0, 0)))
    return served.store(Story().turns(6))


async def parts_compacted(deck: Deck) -> None:
    await deck.until(lambda: "compaction" in deck.kinds, "the entry")
    await deck.idle()


@pytest.mark.usefixtures("_parts_at_once")
@pytest.mark.parametrize(("key", "place"), [("less_than_sign", 0), ("greater_than_sign", 2)])
async def test_the_marked_entry_says_where_it_ends_or_begins(
    served: Desk, parts_session: str, key: str, place: int
) -> None:
    view = served.agent_view(parts_session)
    async with shown(served.app(parts_session)) as deck:
        await deck.ready()
        entries = deck.app.chat.session.presenter.view.entries
        row = [entry for entry in entries if entry.kind in ("user", "assistant")][5 if place == 0 else 2]
        deck.transcript.focus()
        deck.transcript.jump_to(row.seq)
        await deck.press(key)
        await parts_compacted(deck)
        now = served.agent_view(parts_session)
        assert SUMMARY in now[place]
        kept = view[6:] if place == 0 else view[:2]
        assert set(kept) <= set(now), "what is outside stays as it is"
        entries = deck.app.chat.session.presenter.view.entries
        done = next(entry for entry in reversed(entries) if entry.kind == "compaction")
        assert f"{'up to' if place == 0 else 'from'} #{row.seq}" in done.title
        await deck.send("/undo")
        await deck.says("Undone: the full history is back")
        assert served.agent_view(parts_session) == view


REFUSED_PARTS = {
    "/compact --up-to twelve": "--up-to takes the number of a message",
    "/compact --everything": "/compact has no --everything; it takes --review, --extract,",
    "/compact --from #9 --up-to #3": "There is nothing between #9 and #3",
    "/compact --up-to #1": "Nothing to compact up to #1: fewer than two",
    "/compact --up-to #9000": "There is no message #9000 in the model's view.",
}


@pytest.mark.usefixtures("_parts_at_once")
async def test_a_part_that_cannot_be_is_refused_in_words(
    served: Desk, fake_openai: FakeOpenAI, parts_session: str
) -> None:
    async with shown(served.app(parts_session)) as deck:
        await deck.ready()
        for command, said in REFUSED_PARTS.items():
            await deck.send(command)
            await deck.says(said)
            await deck.back()
    assert fake_openai.journal == []


@pytest.mark.usefixtures("_parts_at_once")
async def test_a_summary_is_edited_and_the_edit_taken_back(served: Desk, parts_session: str) -> None:
    async with shown(served.app(parts_session)) as deck:
        await deck.ready()
        await deck.send("/compact")
        await parts_compacted(deck)
        first = served.agent_view(parts_session)
        await deck.press("ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the details")
        await deck.press("e")
        await deck.until(lambda: isinstance(deck.app.screen, SummaryEditor), "the editor")
        await deck.press(*"Indeed: ")
        await deck.hurry("tab", "enter")
        await deck.until(lambda: "rewrite" in deck.kinds, "the row of the edit")
        await deck.idle()
        assert deck.status.startswith("Summary edited, ~")
        assert f"Indeed: {SUMMARY}" in served.agent_view(parts_session)[0]
        assert "summary edited" in deck.text
        await deck.press("ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the details")
        await deck.says("Indeed: ")
        assert "edited since" in deck.text
        await deck.press("escape")
        row = next(e for e in deck.app.chat.session.presenter.view.entries if e.kind == "rewrite")
        deck.transcript.focus()
        deck.transcript.jump_to(row.seq)
        await deck.press("u")
        await deck.until(lambda: "undone" in deck.text, "the row to say so")
        assert served.agent_view(parts_session) == first


@pytest.mark.usefixtures("_parts_at_once")
async def test_the_summary_is_read_while_it_is_written(served: Desk, fake_openai: FakeOpenAI) -> None:
    release = Signal()
    fake_openai.add(Text(SUMMARY, usage=(0, 0), hold=release, hold_after=3))
    session = served.store(Story().turns(6))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact --review")
        await deck.until(lambda: isinstance(deck.app.screen, ReviewScreen), "the dialog")
        await (await fake_openai.request(1)).paused.wait()
        await deck.until(lambda: "Each question" in deck.app.screen.query_one(TextArea).text, "some text")
        assert not reviewing(deck)
        release.set()
        await deck.until(lambda: reviewing(deck), "something to decide")
        assert SUMMARY[:40] in deck.app.screen.query_one(TextArea).text
        assert "messages removed," in deck.text


@pytest.mark.usefixtures("_parts_at_once")
async def test_another_focus_is_asked_for_in_the_dialog(
    served: Desk, fake_openai: FakeOpenAI, parts_session: str
) -> None:
    fake_openai.add(Text(f"{SUMMARY} Words were short.", usage=(0, 0)))
    async with shown(served.app(parts_session)) as deck:
        await deck.ready()
        await deck.send("/compact --review")
        await deck.until(lambda: reviewing(deck), "the review")
        await deck.press("f", *"length", "enter")
        await deck.until(lambda: reviewing(deck) and "short" in deck.text, "another summary")
        assert "Above all keep what concerns: length" in str(fake_openai.journal[-1])
        await deck.press("home", "enter")
        await parts_compacted(deck)
        assert "Words were short." in served.agent_view(parts_session)[0]


@pytest.mark.usefixtures("_parts_at_once")
async def test_a_changed_setting_counts_at_once(served: Desk, parts_session: str) -> None:
    async with shown(served.app(parts_session)) as deck:
        await deck.ready()
        assert SettingsDesk(deck.app).change("review", "always") == ""
        await deck.send("/compact")
        await deck.until(lambda: reviewing(deck), "the review")
        await deck.press("escape")
        await deck.says("Compaction discarded")


@pytest.mark.usefixtures("_parts_at_once")
async def test_a_mark_in_the_conversation_says_nothing_to_the_prompt(
    served: Desk, parts_session: str
) -> None:
    async with shown(served.app(parts_session)) as deck:
        await deck.ready()
        await deck.send("/compact")
        await parts_compacted(deck)
        deck.transcript.focus()
        await deck.settle()
        await deck.press("up", "up", "up")
        deck.editor.focus()
        await deck.settle()
        await deck.press("ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the details")
