"""Costs of a turn and a session on the screen: known, unknown, resumed, over budget."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from textual.containers import VerticalScroll

from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.caching import CachingAnthropic
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown, write_files
from tui_app.conversation.work import Prompt
from tui_app.session.preview import StatsReader
from tui_app.session.prompts import unsent
from tui_app.session.stats import SessionStats
from tui_app.settings import Endpoint
from tui_app.ui.dialogs import stats
from tui_app.ui.dialogs.actions import send
from tui_app.ui.dialogs.questions import ChoiceDialog, ConfirmDialog
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.stats import StatsScreen
from tui_app.ui.panels.header import ChatHeader


def priced(desk: Desk) -> Desk:
    """An endpoint priced at $2 per million input tokens and $10 per million output tokens."""
    own = {
        name: replace(each, price_in=2.0, price_out=10.0) for name, each in desk.settings.endpoints.items()
    }
    return desk.change(endpoints=own)


async def test_a_priced_server_counts_for_turn_header_and_resumed_session(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)))
    session = served.store(Story().turns(1))
    async with shown(priced(served).app(session)) as deck:
        await deck.ready()
        await deck.send("hello")
        await deck.says("100k in · 10.0k out · $0.30")
        assert "$0.30" in deck.widget(ChatHeader)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.until(lambda: "$0.30" in deck.widget(ChatHeader), "the sum of the log")


async def test_an_unknown_price_is_said_as_unknown(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Fine.", usage=(1_000, 200)))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("hello")
        await deck.says("1.0k in · 0.2k out · cost unknown")
        assert "$" not in deck.widget(ChatHeader)
        assert "$0.00" not in deck.text
        tooltip = deck.app.chat.query_one(ChatHeader).tooltip
        assert str(tooltip).startswith("1 request to harbour:scripted came without a price")
        await deck.send("/stats")
        await deck.says("1 request to harbour:scripted came without a price: not counted")


async def over(deck: Deck) -> None:
    await deck.ready()
    await deck.send("one")
    await deck.says("$0.30")
    await deck.send("two")
    await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")


async def test_of_two_prompts_in_a_burst_neither_is_lost_at_the_budget(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)))
    async with shown(priced(served).change(budget={"session_usd": 0.3}).app()) as deck:
        await deck.ready()
        await deck.send("one")
        await deck.says("$0.30")
        await deck.idle()
        await deck.hurry(*"two", "enter", *"xyz", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        while isinstance(deck.app.screen, ConfirmDialog):
            await deck.press("n")
            await deck.settle()
        await deck.until(lambda: sorted(deck.editor.text.split()) == ["two", "xyz"], "both of them")
        assert len(fake_openai.journal) == 1


async def test_above_the_budget_each_prompt_is_asked_about(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)), Text("Still here.", usage=(1_000, 10)))
    async with shown(priced(served).change(budget={"session_usd": 0.3}).app()) as deck:
        await over(deck)
        assert "This session has cost $0.30; its budget is $0.30." in deck.text
        await deck.press("n")
        await deck.until(lambda: deck.editor.text == "two", "the prompt in the editor")
        assert len(fake_openai.journal) == 1
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.press("y")
        await deck.says("Still here.")


async def test_a_prompt_that_is_asked_about_outlives_the_window(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)))
    desk = priced(served).change(budget={"session_usd": 0.3})
    async with shown(desk.app()) as deck:
        await over(deck)
    assert unsent(desk.paths.unsent_file, desk.cwd) == ["two"]


async def test_a_command_of_ones_own_is_asked_about_too(served: Desk, fake_openai: FakeOpenAI) -> None:
    folder = served.cwd / ".plimsoll" / "commands"
    folder.mkdir(parents=True)
    write_files(folder, {"tide.md": "When is the tide at $ARGUMENTS?"})
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)), Text("At six.", usage=(1_000, 10)))
    async with shown(priced(served).change(budget={"session_usd": 0.3}).app()) as deck:
        await deck.ready()
        await deck.until(lambda: deck.editor.completer.custom, "the commands")
        await deck.send("one")
        await deck.says("$0.30")
        await deck.idle()
        await deck.send("/tide Hull ")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        assert len(fake_openai.journal) == 1
        await deck.press("y")
        await deck.says("At six.")


@pytest.mark.parametrize(("key", "requests"), [("y", 2), ("n", 1)])
async def test_trying_again_is_asked_about_before_anything_goes_back(
    served: Desk, fake_openai: FakeOpenAI, key: str, requests: int
) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)), Text("Better.", usage=(1_000, 10)))
    async with shown(priced(served).change(budget={"session_usd": 0.3}).app()) as deck:
        await deck.ready()
        await deck.send("one")
        await deck.says("$0.30")
        await deck.idle()
        await deck.send("/retry")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.press(key)
        await deck.until(lambda: len(fake_openai.journal) == requests, "the requests")
        await deck.says("Better." if key == "y" else "Fine.")
        session = deck.app.chat.session.id
    assert len(served.agent_view(session)) == 2


async def test_what_waited_to_be_tried_again_goes_nowhere_above_the_budget(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    hold = Signal()
    fake_openai.add(Text("Fine and dandy.", hold=hold, usage=(100_000, 10_000)))
    async with shown(priced(served).change(budget={"session_usd": 0.3}).app()) as deck:
        await deck.ready()
        await deck.send("one")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("/retry")
        await deck.until(lambda: deck.queue, "the retry in the queue")
        hold.set()
        await deck.says("was not sent")
        await deck.idle()
        session = deck.app.chat.session.id
    assert len(served.agent_view(session)) == 2, "the answer is still there"


async def test_an_answer_that_came_while_the_figures_were_read_counts_once(
    served: Desk, fake_openai: FakeOpenAI, slow_start: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)))
    session = served.store(Story().turns(1))
    written, read = threading.Event(), StatsReader.read

    def late(reader: StatsReader) -> SessionStats:
        assert written.wait(20)
        return read(reader)

    monkeypatch.setattr(StatsReader, "read", late)
    async with shown(priced(served).app(session)) as deck:
        await deck.until(lambda: deck.app.chat.is_ready, "the chat")
        await deck.send("hello")
        slow_start.set()
        await deck.until(lambda: len(served.agent_view(session)) == 4, "the answer in the log")
        written.set()
        await deck.says("Fine.")
        await deck.idle()
        assert "$0.30" in deck.widget(ChatHeader)


# Session figures, also while the session grows.


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "LOOK_S", 0.01)


@pytest.mark.usefixtures("_often")
@pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
async def test_figures_and_keys(served: Desk, size: tuple[int, int]) -> None:
    async with shown(served.app(served.store(Story().turns(3).tool("ls", "{}", "x"))), size) as deck:
        await deck.ready()
        await deck.send("/stats")
        await deck.until(lambda: isinstance(deck.app.screen, StatsScreen), "the figures")
        assert "3 turns, 4 requests, 1 tool call" in deck.text
        assert "harbour:scripted" in deck.text
        assert deck.app.screen.query_one("#dialog-hints").region.bottom <= size[1]
        assert deck.app.focused is deck.app.screen.query_one(VerticalScroll)
        await deck.press("y")
        await deck.until(lambda: "3 turns" in deck.app.clipboard)
        await deck.press("escape")
        assert not isinstance(deck.app.screen, StatsScreen)


@pytest.mark.usefixtures("_often")
async def test_they_grow_during_a_turn(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangBeforeHeaders())
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.send("/stats")
        await deck.says("1 turn, 1 request")
        send(deck.app.chat, Prompt("go on"))
        await (await fake_openai.request(1)).paused.wait()
        await deck.says("2 turns, 2 requests")
        assert deck.app.chat.session.state.turn


# A turn with a cold prompt cache.


@pytest.fixture
def caching(desk: Desk) -> Iterator[CachingAnthropic]:
    """Stand in for a vendor with known prices."""
    notes = "Title: Questions\n## Intent\nHave question 0, question 1 and question 2 answered."

    def answer(body: dict[str, object]) -> str:
        return notes if "Write the notes for this transcript" in json.dumps(body) else "Noted."

    with CachingAnthropic(answer) as server:
        vendor = Endpoint(name="anthropic", protocol="anthropic", base_url=server.base_url, window=1_000_000)
        desk.change(endpoints={"anthropic": vendor})
        yield server


SONNET = "anthropic:claude-sonnet-5"


def long_ago(desk: Desk, model: str = SONNET) -> str:
    """A session of 240,000 tokens whose cache expired months ago."""
    desk.change(model=model)
    story = Story(model=model).turns(3, tokens=80_000)
    return desk.store(story.user("and?").answer("So.", reported=240_000))


async def asked(deck: Deck) -> None:
    await deck.ready()
    await deck.send("go on")
    await deck.until(lambda: isinstance(deck.app.screen, ChoiceDialog), "the question")


@pytest.mark.parametrize("size", [WIDE, USUAL])
async def test_a_dear_turn_on_a_cold_cache_is_asked_about_once(
    desk: Desk, caching: CachingAnthropic, size: tuple[int, int]
) -> None:
    async with shown(desk.app(long_ago(desk)), size=size) as deck:
        await asked(deck)
        assert "The prompt cache is cold: this turn costs about $0.6" in deck.text
        assert "Compact first" in deck.text
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "go on", "the prompt in the editor")
        assert caching.bodies == []
        await deck.press("enter")
        await deck.says("Noted.")


@pytest.mark.parametrize(("ups", "requests"), [(3, 1), (2, 2)])
async def test_it_is_sent_as_it_is_or_after_a_compaction(
    desk: Desk, caching: CachingAnthropic, ups: int, requests: int
) -> None:
    async with shown(desk.app(long_ago(desk))) as deck:
        await asked(deck)
        await deck.press(*["up"] * ups, "enter")
        await deck.until(lambda: len(caching.bodies) >= requests, "the requests")
        await deck.says("Noted.")
        await deck.idle()
        last = json.dumps(caching.bodies[-1])
        assert ("answer 0: word0 word1" in last) == (requests == 1)
        assert ("cache missed: the cache had expired" in deck.text) == (requests == 1)
        assert "go on" in last


async def test_it_is_handed_over_or_the_prompt_stays(desk: Desk, caching: CachingAnthropic) -> None:
    async with shown(desk.app(long_ago(desk))) as deck:
        await asked(deck)
        await deck.press("up", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, ReviewScreen), "the brief")
        await deck.until(lambda: "Have question 0" in deck.words, "its notes")
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "go on", "the prompt in the editor")


@pytest.mark.parametrize(
    "change", [{"cache": {"warn_usd": 0}}, {"cache": {"warn_usd": 9.0}}, {"prompt_cache": "off"}]
)
async def test_it_is_not_asked_where_it_is_not_wanted(
    desk: Desk, caching: CachingAnthropic, change: dict[str, object]
) -> None:
    async with shown(desk.change(**change).app(long_ago(desk))) as deck:
        await deck.ready()
        await deck.send("go on")
        await deck.says("Noted.")


async def test_it_is_not_asked_where_no_price_is_known(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Fine."))
    served.serve(fake_openai, window=1_000_000)
    async with shown(served.app(long_ago(served, "harbour:scripted"))) as deck:
        await deck.ready()
        await deck.send("go on")
        await deck.says("Fine.")
