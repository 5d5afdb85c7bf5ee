"""Everyone can use it: contrast, focus that is seen, words for colours, room in small terminals."""

import re
from typing import Any

import pytest

from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import SCENES
from tests.ui.app.test_app_snapshots import CHOICES, DONE, MODEL, talk
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tests.ui.render import Run, runs
from tui_app.agent import catalogue
from tui_app.context.events import Error
from tui_app.ui.contrast import MIN_CONTRAST, contrast

DRAWN = re.compile("[\u2500-\u257f\u2800-\u28ff]")


@pytest.fixture
def full(desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk with a server and settings that stand in a file as well."""

    async def list_models(**_: object) -> list[Any]:
        return CHOICES

    monkeypatch.setattr(catalogue, "list_models", list_models)
    return desk.serve(fake_openai).change(model=MODEL)


def everything(desk: Desk) -> str:
    """A session with tools, a compaction and an error."""
    error = Error(kind="auth", message="The key was refused.", hint="Set OPENAI_API_KEY.", detail="401")
    desk.store(talk())
    return desk.store(talk(125_000).compacted(DONE).user("and holidays").add(error))


async def at(deck: Deck, scene: str) -> None:
    await deck.ready()
    await SCENES[scene](deck)
    await deck.settle()


@pytest.mark.parametrize("theme", ["plimsoll-dark", "plimsoll-light"])
@pytest.mark.parametrize("scene", SCENES)
async def test_all_text_has_a_contrast_of_four_and_a_half(full: Desk, scene: str, theme: str) -> None:
    full.change(theme=theme)
    async with shown(full.app(everything(full)), WIDE) as deck:
        await at(deck, scene)
        top = [run for run in runs(deck.app) if run.says_something and on_top(deck, run)]
        assert len(top) > 5
        faint = {
            f"{contrast(run.fore, run.back):.1f} {run.fore.hex} on {run.back.hex}: {run.text.strip()[:30]}"
            for run in top
            if contrast(run.fore, run.back) < MIN_CONTRAST
        }
        assert faint == set()


def on_top(deck: Deck, run: Run) -> bool:
    """Whether it belongs to the present screen rather than to what is dimmed behind it."""
    widget, _ = deck.app.screen.get_widget_at(run.x, run.y)
    return widget is not deck.app.screen or deck.app.screen is deck.app.chat


@pytest.mark.parametrize("theme", ["plimsoll-dark", "plimsoll-light"])
@pytest.mark.parametrize("scene", SCENES)
async def test_the_focus_is_seen(full: Desk, scene: str, theme: str) -> None:
    full.change(theme=theme)
    async with shown(full.app(everything(full)), WIDE) as deck:
        await at(deck, scene)
        screen = deck.app.screen
        focused = screen.focused
        assert focused is not None
        before = painted(deck)
        screen.set_focus(None)
        await deck.settle()
        assert painted(deck) != before, f"{focused} looks the same without focus"


def painted(deck: Deck) -> list[Any]:
    return [list(strip) for strip in deck.app.screen._compositor.render_strips()]


@pytest.mark.parametrize("scene", SCENES)
async def test_plain_draws_nothing_out_of_lines(full: Desk, scene: str) -> None:
    full.change(plain=True)
    async with shown(full.app(everything(full)), WIDE) as deck:
        await at(deck, scene)
        assert [row for row in deck.rows if DRAWN.search(row)] == []


@pytest.mark.parametrize("scene", SCENES)
async def test_without_colour_there_is_none(full: Desk, scene: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with shown(full.app(everything(full)), WIDE) as deck:
        await at(deck, scene)
        coloured = {
            (run.text.strip()[:30], colour.hex)
            for run in runs(deck.app)
            for colour in (run.fore, run.back)
            if max(colour.rgb) - min(colour.rgb) > 2
        }
        assert coloured == set()


@pytest.mark.parametrize("scene", SCENES)
async def test_without_colour_the_focus_is_seen(
    full: Desk, scene: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with shown(full.app(everything(full)), WIDE) as deck:
        await at(deck, scene)
        before = painted(deck)
        deck.app.screen.set_focus(None)
        await deck.settle()
        assert painted(deck) != before


@pytest.mark.parametrize("size", [SMALL, USUAL, (200, 60)], ids=["40x12", "80x24", "200x60"])
@pytest.mark.parametrize("scene", SCENES)
async def test_every_screen_fits(full: Desk, scene: str, size: tuple[int, int]) -> None:
    async with shown(full.app(everything(full)), size) as deck:
        await at(deck, scene)
        screen = deck.app.screen
        width, height = size
        for widget in screen.query("HintRow, Input, PromptEditor, ContextGauge, OptionList"):
            region = widget.region
            if widget.display and widget.is_attached:
                assert region.right <= width, widget
                assert region.bottom <= height, widget
                assert region.height >= 1, widget
        assert screen.focused is not None
        assert screen.focused.region.height >= 1
