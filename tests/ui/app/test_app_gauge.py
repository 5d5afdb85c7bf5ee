"""Gauge and timeline: a word for every state, and the same number on every screen."""

import re
import threading
from dataclasses import replace

import pytest

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tui_app.events import CompactionComplete
from tui_app.session.measurement import Known
from tui_app.settings import Endpoint
from tui_app.ui.chat.log_reader import preview_of, with_window
from tui_app.ui.dialogs.actions import GO_BACK
from tui_app.ui.dialogs.compaction import CompactionDetail
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.panels.gauge import ContextGauge
from tui_app.ui.words.glyphs import UNICODE

# The gauge: a word for every state, and the same number on every screen.


def story(reported: int) -> Story:
    # A reported size far beyond what was sent is rejected.
    return Story().user("how late does the last ferry go?", 20_000).answer("At eleven.", reported=reported)


@pytest.mark.parametrize(
    ("reported", "words"),
    [
        (12_800, "10% of 128k · 12.8k · ok"),
        (104_960, "82% of 128k · 105k · near"),
        (124_160, "97% of 128k · 124.2k · full"),
        (131_072, "over by 3.1k of 128k · full"),
    ],
)
async def test_reported_numbers_without_a_tilde(served: Desk, reported: int, words: str) -> None:
    async with shown(served.app(served.store(story(reported))), USUAL) as deck:
        await deck.ready()
        assert deck.gauge == words
        assert words in deck.widget(ContextGauge)
        assert "…" not in deck.widget(ContextGauge)


async def test_estimates_carry_a_tilde_and_an_empty_context_is_no_false_zero(
    served: Desk, slow_start: threading.Event
) -> None:
    async with shown(served.app()) as deck:
        assert deck.gauge == "loading model …"
        assert deck.widget(ContextGauge).count("╂") == 2, "where compaction starts, and where sending waits"
        slow_start.set()
        await deck.ready()
        # Instructions and tool definitions count before the first prompt.
        assert re.fullmatch(r"(\d+|<1)% of 128k · ~\S+ · ok", deck.gauge)
    async with shown(served.app(served.store(story(0)))) as deck:
        await deck.ready()
        assert re.fullmatch(r"(\d+|<1)% of 128k · ~\S+ · ok", deck.gauge)


async def test_an_import_has_its_limit_before_the_model_is_loaded(
    served: Desk, slow_start: threading.Event
) -> None:
    unasked = Story().user("how late does the last ferry go?", 4_000).answer("At eleven.", reported=0)
    async with shown(served.app(served.store(unasked))) as deck:
        # The session is only complete once the log has been read.
        await deck.until(lambda: deck.gauge.startswith("3% of 128k · ~4."), "the limit")
        slow_start.set()
        await deck.ready()


async def test_a_limit_that_nobody_knows_is_called_so(
    served: Desk, fake_openai: FakeOpenAI, slow_start: threading.Event
) -> None:
    served.serve(fake_openai, window=None)
    unasked = Story().user("how late does the last ferry go?", 4_000).answer("At eleven.", reported=0)
    async with shown(served.app(served.store(unasked)), USUAL) as deck:
        await deck.says("of ? · window not known yet")
        slow_start.set()
        await deck.ready()


async def test_the_mark_says_where_compaction_starts(served: Desk) -> None:
    served.change(background_threshold=0.6)
    async with shown(served.app(served.store(story(12_800)))) as deck:
        await deck.ready()
        assert "compacts at 60%" in str(deck.app.chat.query_one(ContextGauge).tooltip)
        assert deck.widget(ContextGauge).count(UNICODE.load_mark) == 2


async def test_a_policy_that_compacts_nothing_has_no_marks(served: Desk) -> None:
    served.change(policy="off")
    async with shown(served.app(served.store(story(124_160)))) as deck:
        await deck.ready()
        assert "┃" not in deck.widget(ContextGauge)
        assert deck.gauge == "97% of 128k · 124.2k · ok"
        await deck.press("f3")
        await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the context screen")
        assert "compacts only when asked" in deck.text
        assert deck.gauge in deck.text
        await deck.press("escape")
        await deck.send("/status")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the status screen")
        assert deck.gauge in deck.text


async def test_at_forty_columns_the_words_stay(served: Desk) -> None:
    async with shown(served.app(served.store(story(124_160))), SMALL) as deck:
        await deck.ready()
        assert deck.widget(ContextGauge).strip().endswith("97% of 128k · 124.2k · full")


async def test_typing_and_streaming_make_it_grow_before_anything_is_measured(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    hold = Signal()
    fake_openai.add(Text("word " * 800, hold=hold, hold_after=780))
    async with shown(served.app()) as deck:
        await deck.ready()
        empty = deck.gauge
        await deck.type("x " * 1_000)
        assert deck.gauge != empty
        assert "~" in deck.gauge
        await deck.press("ctrl+c")
        await deck.until(lambda: deck.gauge == empty, "the gauge of an empty prompt")
        await deck.send("write a lot")
        await (await fake_openai.request(1)).paused.wait()
        await deck.until(lambda: deck.app.chat.session.state.unlogged > 3_800, "the streamed text")
        assert deck.app.chat.query_one(ContextGauge).load.pending >= 950
        hold.set()
        await deck.answered()
        assert deck.app.chat.query_one(ContextGauge).load.pending == 0


async def test_gauge_context_and_status_say_the_same(served: Desk) -> None:
    async with shown(served.app(served.store(story(104_960)))) as deck:
        await deck.ready()
        gauge = deck.gauge
        await deck.send("/status")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the status screen")
        assert gauge in deck.text
        await deck.press("escape")
        await deck.send("/context")
        await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the context screen")
        assert gauge in deck.text
        await deck.press("escape")
        await deck.press("f3")
        await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the context screen")
        assert "not measured" in deck.text


async def test_categories_sum_to_the_total(served: Desk) -> None:
    async with shown(served.app(served.store(Story().turns(3)))) as deck:
        await deck.ready()
        usage = deck.app.chat.session.state.usage
        assert usage is not None
        assert usage.total == sum(usage.to_json()[name] for name in ("system", "tools", "user", "assistant"))  # type: ignore[misc]
        await deck.press("f3")
        await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the context screen")
        assert "answers" in deck.text
        assert deck.gauge in deck.text


# The window shown before the first request: of the writer's chosen model, or of the session for a reader.


def test_who_looks_on_sees_the_window_of_the_model_that_is_named(desk: Desk) -> None:
    ends = {"lake": 8_000, "sea": 200_000}
    desk.change(
        endpoints={
            name: Endpoint(name=name, base_url="http://127.0.0.1:9", window=ends[name]) for name in ends
        }
    )
    session = desk.store(Story(model="sea:one").user("When?"))
    launch = replace(desk.launch(session), model="lake:one")
    assert preview_of(launch, session).known.window.limit == 8_000, "whoever writes goes on with this one"
    with desk.log() as log:
        assert with_window(launch, log.info(session), Known()).window.limit == 200_000


# The timeline in the app: enter opens a compaction, and a timeline over the chat closes.


DONE = CompactionComplete(
    job="j",
    outcome="success",
    trigger="manual",
    title="tide",
    summary="# Intent\nThe tide.",
    removed=((2, 3),),
)


def timeline_story() -> Story:
    return Story().turns(1).compacted(DONE).turns(2)


async def in_timeline(deck: Deck) -> None:
    timeline = deck.app.chat.pane.timeline
    if not timeline.display:
        await deck.press("ctrl+t")
    timeline.focus()
    await deck.settle()


@pytest.mark.parametrize("size", [WIDE, USUAL])
async def test_enter_on_a_compaction_opens_it_and_leads_to_its_place(
    served: Desk, size: tuple[int, int]
) -> None:
    async with shown(served.app(served.store(timeline_story())), size) as deck:
        await deck.ready()
        await in_timeline(deck)
        await deck.press("f", "f", "home", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the compaction")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat)
        assert deck.app.focused is deck.transcript
        assert deck.transcript.cursor_entry is not None
        assert deck.transcript.cursor_entry.kind == "compaction"


async def test_enter_on_another_row_only_shows_it_and_uncovers_the_chat(served: Desk) -> None:
    async with shown(served.app(served.store(timeline_story())), USUAL) as deck:
        await deck.ready()
        await in_timeline(deck)
        await deck.press("home", "enter")
        await deck.settle()
        assert deck.app.screen is deck.app.chat
        assert not deck.app.chat.pane.timeline.region
        assert "question 0" in deck.text


@pytest.mark.parametrize("inside", [True, False], ids=["in the timeline", "in the prompt"])
async def test_esc_closes_a_timeline_that_lies_over_the_chat(served: Desk, *, inside: bool) -> None:
    async with shown(served.app(served.store(timeline_story())), USUAL) as deck:
        await deck.ready()
        await in_timeline(deck)
        if not inside:
            deck.editor.focus()
        await deck.press("escape")
        await deck.until(lambda: not deck.app.chat.pane.timeline.region, "the chat alone")
        assert deck.app.focused is deck.editor
        assert GO_BACK not in deck.text


async def test_esc_in_the_prompt_stops_what_runs_before_it_closes_the_timeline(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(HangMidStream())
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("talk")
        await deck.says("These words arrive")
        await deck.press("ctrl+t")
        await deck.until(lambda: deck.app.chat.pane.timeline.has_focus, "the keys")
        deck.editor.focus()
        await deck.press("escape")
        await deck.idle()
        assert deck.app.chat.pane.timeline.region
        await deck.press("escape")
        await deck.until(lambda: not deck.app.chat.pane.timeline.region, "the chat alone")


async def test_over_the_chat_it_has_the_keys_and_goes_for_an_answer(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("It is ebb."))
    async with shown(served.app(served.store(timeline_story())), SMALL) as deck:
        await deck.ready()
        pane = deck.app.chat.pane
        await deck.press("ctrl+t")
        await deck.until(lambda: pane.timeline.has_focus, "the keys")
        await deck.until(lambda: "esc back" in deck.hints, "the way back")
        await deck.press("up")
        assert deck.editor.text == "", "no earlier prompt"
        await deck.press("ctrl+t")
        await deck.until(lambda: deck.editor.has_focus, "the prompt")
        await deck.press("ctrl+t")
        await deck.until(lambda: pane.timeline.has_focus, "the keys once more")
        await deck.type("is it ebb?")
        await deck.until(lambda: deck.editor.text == "is it ebb?", "letters go to the prompt")
        await deck.press("enter")
        await deck.says("It is ebb.")
        assert not pane.timeline.region


async def test_the_bottom_row_names_what_tab_goes_to(served: Desk) -> None:
    async with shown(served.app(served.store(timeline_story())), WIDE) as deck:
        await deck.ready()
        deck.transcript.focus()
        for name in ("timeline", "prompt", "timeline"):
            await deck.until(lambda name=name: f"tab {name}" in deck.hints, name)  # type: ignore[misc]
            await deck.press("ctrl+t")


async def test_the_bottom_row_says_what_the_keys_do_where_the_focus_is(served: Desk) -> None:
    async with shown(served.app(served.store(timeline_story())), WIDE) as deck:
        await deck.ready()
        assert "ctrl+g compact" in deck.hints
        await in_timeline(deck)
        await deck.until(lambda: "f rows of one kind" in deck.hints)
        assert "ctrl+g" not in deck.hints
        deck.transcript.focus()
        for hint in ("up to a row", "ctrl+o details", "? help"):
            await deck.until(lambda hint=hint: hint in deck.hints, hint)  # type: ignore[misc]
        assert not re.search("enter|pin|mark|undo|compact|from here", deck.hints), "there is no row yet"
        await deck.press("up")
        for hint in ("enter open", "v mark", "? help"):
            await deck.until(lambda hint=hint: hint in deck.hints, hint)  # type: ignore[misc]
        await deck.press("v")
        await deck.until(lambda: "1 marked" in deck.hints and "a archive" in deck.hints)
        await deck.press("escape")
        await deck.until(lambda: "v mark" in deck.hints)
        deck.editor.focus()
        await deck.until(lambda: "ctrl+g compact" in deck.hints)


@pytest.mark.parametrize("size", [WIDE, USUAL])
async def test_keys_of_marked_rows_are_named_where_they_act_and_else_the_way_there(
    served: Desk, size: tuple[int, int]
) -> None:
    async with shown(served.app(served.store(Story("Ferries").turns(2))), size) as deck:
        await deck.ready()
        deck.transcript.focus()
        await deck.press("up", "v")
        await deck.until(lambda: "1 marked" in deck.hints and "y text" in deck.hints)
        deck.editor.focus()
        await deck.until(lambda: "1 marked   tab rows   esc unmarks" in deck.hints, "the way there")
        assert "y text" not in deck.hints
        assert "ctrl+g compact" in deck.hints
        await deck.press("y")
        assert deck.editor.text == "y"
        await deck.press("tab")
        await deck.until(lambda: "y text" in deck.hints, "the keys that act")
        assert deck.app.focused is deck.transcript
        deck.editor.focus()
        await deck.press("escape")
        await deck.until(lambda: "marked" not in deck.hints, "no marks")
        deck.transcript.focus()
        await deck.press("v")
        await deck.until(lambda: "1 marked" in deck.hints)
        deck.app.chat.pane.timeline.display = True
        deck.app.chat.pane.timeline.focus()
        await deck.until(lambda: "enter show it" in deck.hints, "what the timeline does")
        assert "y text" not in deck.hints


async def test_nothing_of_a_command_counts_as_prompt(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        for draft, counts in (("keep the ferry prices", True), ("/compact keep the ferry prices", False)):
            deck.editor.text = draft
            await deck.settle()
            assert bool(deck.app.chat.pane.prompt.count) is counts
