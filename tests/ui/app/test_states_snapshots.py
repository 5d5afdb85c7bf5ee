"""What states look like that come and go: a compaction behind one's back, a queue, zones of the gauge.

After a wanted change run this file with ``--snapshot-update`` and look at the pictures before keeping them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Input, Static, TextArea

from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import NOON, Story
from tests.ui.app.test_app_snapshots import DONE, Compare, Scene, _fixed, look, looks, opens, reviewed, talk
from tests.ui.kit import USUAL, Deck, Desk
from tui_app.context.summaries.prompt import INSTRUCTIONS
from tui_app.ui.dialogs.base import EditDialog
from tui_app.ui.dialogs.context import ContextScreen
from tui_app.ui.gauge import ContextGauge
from tui_app.ui.themes import THEMES
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

__all__ = ["_fixed", "look"]

TODAY = NOON + 3_600


# A compaction in the background, while one goes on


@pytest.fixture
def crowded(look: Compare, desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Compare:
    """A prompt that fills the window so far that a summary is begun, which does not come."""
    monkeypatch.setattr("time.time", lambda: TODAY)
    desk.serve(fake_openai, window=8_000).change(background_threshold=0.6)
    fake_openai.add(HangBeforeHeaders(), phrase=INSTRUCTIONS[:40])
    fake_openai.add(Text("They are rows as well.", usage=(5_600, 12)))
    return look


async def behind(deck: Deck) -> None:
    await deck.send("and now also handle public holidays")
    session = deck.app.chat.session
    await deck.until(lambda: session.state.background is not None, "the compaction")
    await deck.until(lambda: deck.kinds.count("assistant") == 7 and not session.state.turn, "the answer")
    await deck.type("which of them move from year to year?")


async def behind_context(deck: Deck) -> None:
    await behind(deck)
    await opens(ContextScreen, "f3")(deck)
    await deck.says("compacting")


async def behind_timeline(deck: Deck) -> None:
    await behind(deck)
    await deck.press("ctrl+t")
    deck.app.chat.pane.timeline.focus()


@looks
@pytest.mark.parametrize("scene", [behind, behind_context])
def test_in_the_background(crowded: Compare, size: tuple[int, int], theme: str, scene: Scene) -> None:
    assert crowded(size, Story("word by word").turns(6), scene, theme)


@pytest.mark.parametrize("theme", ["plimsoll-dark", "plimsoll-light"])
def test_in_the_background_over_the_chat(crowded: Compare, theme: str) -> None:
    """At 80 columns the timeline covers the chat; at 120 the pictures of the chat show it."""
    assert crowded(USUAL, Story("word by word").turns(6), behind_timeline, theme)


# A compaction of the provider's


@looks
def test_by_the_provider(look: Compare, size: tuple[int, int], theme: str) -> None:
    done = replace(
        DONE, performed_by="provider", trigger="background", facts=(), retention=None, cost_usd=None
    )

    async def scene(deck: Deck) -> None:
        if not deck.app.chat.pane.timeline.display:
            await deck.press("ctrl+t")
        deck.app.chat.pane.timeline.focus()

    assert look(size, talk().compacted(done), scene, theme)


# What waits


@looks
def test_waiting_prompts(look: Compare, size: tuple[int, int], theme: str) -> None:
    """The queue above the editor, while an answer is written."""

    async def scene(deck: Deck) -> None:
        session = deck.app.chat.session
        status = replace(session.state.status, kind="answering", started=0.0, tokens=214)
        waiting = ("and now also handle public holidays", "then\nrun the tests", "/compact")
        session.presenter.update(replace(session.state, queue=waiting, turn=True, status=status))
        row = deck.app.chat.query_one("#status")
        row._clock = lambda: 6.0  # type: ignore[attr-defined]
        row.refresh()

    assert look(size, talk(), scene, theme)


# A review under way


async def focus_on(deck: Deck) -> None:
    await opens(EditDialog, "f")(deck)
    deck.app.screen.query_one(Input).insert_text_at_cursor("the holidays")


async def edited(deck: Deck) -> None:
    await deck.press("e")
    deck.app.screen.query_one(TextArea).insert("Indeed. ")


@looks
@pytest.mark.parametrize("scene", [focus_on, edited])
def test_review(
    look: Compare, fake_openai: FakeOpenAI, size: tuple[int, int], theme: str, scene: Scene
) -> None:
    fake_openai.add(Text(DONE.summary, usage=(0, 0)))

    async def play(deck: Deck) -> None:
        await deck.send("/compact --review")
        await deck.until(lambda: reviewed(deck), "the review")
        await scene(deck)

    assert look(size, Story("word by word").turns(6).answer("Six.", reported=91_500), play, theme)


# The gauge


WINDOW = ContextWindow(limit=128_000, source="server")


def used(share: float, *, exact: bool = True) -> ContextUsage:
    parts = Breakdown(user=int(WINDOW.limit * share))
    return ContextUsage(parts=parts, window=WINDOW, messages=2, exact=exact)


GAUGES: list[tuple[str, dict[str, Any]]] = [
    ("calm, estimated", {"usage": used(0.1, exact=False)}),
    ("calm, as reported", {"usage": used(0.52)}),
    ("a draft is added", {"usage": used(0.52), "pending": 20_000}),
    ("near", {"usage": used(0.82)}),
    ("near, compacting in the background", {"usage": used(0.82), "compacting": 0.4}),
    ("full", {"usage": used(0.97)}),
    ("more than fits", {"usage": used(1.024)}),
    ("nothing measured yet", {"window": WINDOW}),
    ("a model whose limit nobody knows", {"usage": used(0.52), "window_known": False}),
    ("a policy that compacts nothing", {"usage": used(0.52), "background": 0.0, "blocking": 0.0}),
]


class Gauges(App[None]):
    """All states of the gauge below each other, each under what it is."""

    CSS = "Static { color: $text-muted; } ContextGauge { margin-bottom: 1; }"

    def __init__(self, theme: str) -> None:
        super().__init__()
        self._wanted = theme

    def compose(self) -> ComposeResult:
        for name, values in GAUGES:
            yield Static(name, markup=False)
            gauge = ContextGauge()
            for key, value in values.items():
                setattr(gauge, key, value)
            yield gauge

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self._wanted
        if self.size.height < 3 * len(GAUGES):
            self.query(ContextGauge).set_styles("margin: 0;")


@looks
def test_gauges(snap_compare: Callable[..., bool], size: tuple[int, int], theme: str) -> None:
    assert snap_compare(Gauges(theme), terminal_size=size)
