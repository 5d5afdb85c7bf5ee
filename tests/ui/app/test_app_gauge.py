"""The gauge: its words in every state, and one number on every screen."""

import re
import threading

import pytest

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.kit import SMALL, USUAL, Desk, shown
from tui_app.ui.dialogs.base import DetailsScreen
from tui_app.ui.dialogs.context import ContextScreen
from tui_app.ui.gauge import ContextGauge


def story(reported: int) -> Story:
    # A report far beyond what can have been sent is not believed.
    return Story().user("how late does the last ferry go?", 4_000).answer("At eleven.", reported=reported)


@pytest.mark.parametrize(
    ("reported", "words"),
    [
        (12_800, "10% of 128k · 12.8k · ok"),
        (104_960, "82% of 128k · 105k · near"),
        (124_160, "97% of 128k · 124.2k · full"),
        (131_072, "over by 3.1k · 131.1k of 128k · full"),
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
        assert deck.gauge == "?% of ?"
        slow_start.set()
        await deck.ready()
        # Instructions and tool definitions are there before anything is said.
        assert re.fullmatch(r"(\d+|<1)% of 128k · ~\S+ · ok", deck.gauge)
    async with shown(served.app(served.store(story(0)))) as deck:
        await deck.ready()
        assert re.fullmatch(r"(\d+|<1)% of 128k · ~\S+ · ok", deck.gauge)


async def test_an_import_has_its_limit_before_the_model_is_loaded(
    served: Desk, slow_start: threading.Event
) -> None:
    unasked = Story().user("how late does the last ferry go?", 4_000).answer("At eleven.", reported=0)
    async with shown(served.app(served.store(unasked))) as deck:
        # The session is there only when the log has been read.
        await deck.until(lambda: deck.gauge.startswith("3% of 128k · ~4."), "the limit")
        slow_start.set()
        await deck.ready()


async def test_a_limit_that_nobody_knows_is_called_so(
    served: Desk, fake_openai: FakeOpenAI, slow_start: threading.Event
) -> None:
    served.serve(fake_openai, window=None)
    unasked = Story().user("how late does the last ferry go?", 4_000).answer("At eleven.", reported=0)
    async with shown(served.app(served.store(unasked)), USUAL) as deck:
        await deck.says("of ? · limit not known yet")
        slow_start.set()
        await deck.ready()


async def test_the_mark_says_where_compaction_starts(served: Desk) -> None:
    served.change(background_threshold=0.6)
    async with shown(served.app(served.store(story(12_800)))) as deck:
        await deck.ready()
        assert deck.widget(ContextGauge).endswith("compacts at 60%")
        assert deck.widget(ContextGauge).count("┃") == 2


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
        assert deck.app.chat.query_one(ContextGauge).pending >= 950
        hold.set()
        await deck.answered()
        assert deck.app.chat.query_one(ContextGauge).pending == 0


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
