"""Compacting by hand: what the row says, what changes, what a cancel leaves, and the way back."""

import re

import pytest
from textual.widgets import TabbedContent

from tests.servers.behaviours import Empty, HangBeforeHeaders, HangMidStream, Text, error
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import compared
from tests.ui.app.story import Story
from tests.ui.kit import Deck, Desk, shown
from tui_app.ui.chat.state import CANCELLED
from tui_app.ui.dialogs.actions import ONE_RUNS
from tui_app.ui.dialogs.base import DetailsScreen
from tui_app.ui.dialogs.compaction import CompactionDetail

SUMMARY = "The person asked six questions about words; all were answered."
BRIEF = Text(SUMMARY, usage=(0, 0))


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story().turns(6))


async def compacted(deck: Deck) -> None:
    """Wait for a compaction that succeeds."""
    await deck.until(lambda: "compaction" in deck.kinds, "the entry")
    await deck.idle()
    assert deck.status.startswith("Compacted"), deck.status


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
        assert re.match(r"Compacted 5\.\dk → ~\S+ · /undo takes it back · ctrl\+o shows", deck.status)
        assert "Conversation compacted" in deck.text
        assert len(fake_openai.journal) == 1
        # The next answer's own number takes the estimate's place.
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
            int(str(tabs.get_tab(f"tab-{name}").label).split()[-2]) for name in ("left", "stayed")
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
        assert deck.status.endswith("esc cancels")
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
        await deck.says("compacting now: x cancels it")
        await deck.press("x")
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
        await deck.says("what it replaced is back")
        await deck.press("u")
        await deck.says("This is undone already. /redo applies it again.")
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
        assert "Nothing changed. · f2 details · ctrl+g tries again" in deck.status
        assert served.agent_view(session) == view
        await deck.press("f2")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the notices")
        assert "Compaction failed" in deck.text
        await deck.press("escape")
        assert "notice" not in deck.hints
        await deck.press("f2")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the notices again")
        assert "Compaction failed" in deck.text


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
        await deck.says("No compaction to undo.")
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
        await deck.until(lambda: deck.queue == ["Queued 1 of 1: and now?"], "the waiting prompt")
        assert deck.status.endswith('esc takes back "and now?"')
        await deck.press("escape")
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
        await deck.says("+   The person asked six questions")
        assert re.search(r"- +#2 .* user +20 +question 0", deck.text)
        await deck.press("c")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the checkpoint file")
        assert "cannot be read" not in deck.text
        await deck.press("escape", "escape")
        assert deck.app.screen is deck.app.chat


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
