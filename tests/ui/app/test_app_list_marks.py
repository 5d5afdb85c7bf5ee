"""A list marks what its keys say in the order they came, and keeps it while the terminal changes its size."""

import re

import pytest
from textual.widgets import Input, Static

from tests.ui.app.test_accessibility import at, everything, full
from tests.ui.kit import SMALL, WIDE, Deck, Desk, shown
from tui_app.ui.dialogs.filter import FilterDialog

__all__ = ["full"]

LISTS = (
    "models", "sessions", "imports", "search", "help", "settings", "memory", "themes", "rewind", "pins",
    "checkpoints", "approvals", "prompts", "servers", "skills",
)  # fmt: skip


def marked(deck: Deck) -> tuple[int | None, int]:
    screen = deck.app.screen
    assert isinstance(screen, FilterDialog)
    return screen.options.highlighted, screen.options.option_count


@pytest.mark.parametrize("scene", LISTS)
async def test_a_resize_moves_no_mark(full: Desk, scene: str) -> None:
    async with shown(full.app(everything(full)), WIDE) as deck:
        await at(deck, scene)
        await deck.press("down")
        before = marked(deck)
        for width, height in (SMALL, WIDE):
            await deck.pilot.resize_terminal(width, height)
            await deck.settle()
            assert marked(deck) == before


async def test_a_resize_leaves_a_mark_that_keys_have_only_just_moved(full: Desk) -> None:
    async with shown(full.app(everything(full)), WIDE) as deck:
        await at(deck, "models")
        screen = deck.app.screen
        assert isinstance(screen, FilterDialog)
        first = screen.options.highlighted
        screen.action_move(1)
        screen.line_up()
        assert screen.options.highlighted == (first or 0) + 1


@pytest.mark.parametrize("scene", LISTS)
async def test_keys_in_a_burst_move_the_mark_before_a_row_is_used(full: Desk, scene: str) -> None:
    async with shown(full.app(everything(full)), WIDE) as deck:
        await at(deck, scene)
        screen = deck.app.screen
        assert isinstance(screen, FilterDialog)
        used: list[object] = []
        screen.use = used.append  # type: ignore[method-assign]
        first, rows = marked(deck)
        await deck.hurry("down", "pagedown", "up", "enter")
        expected = first or 0
        for step in (1, 10, -1):
            expected = min(rows - 1, max(0, expected + step))
        assert used == ([screen.shown[expected]] if rows else [])


@pytest.mark.parametrize("scene", [scene for scene in LISTS if scene != "search"])
async def test_the_title_counts_what_the_filter_leaves(full: Desk, scene: str) -> None:
    async with shown(full.app(everything(full)), WIDE) as deck:
        await at(deck, scene)
        screen = deck.app.screen
        assert isinstance(screen, FilterDialog)
        title, rows = screen.query_one(".dialog-title", Static), screen.options.option_count
        before = str(title.render())
        assert " of " not in before.partition(" tokens of ")[0].replace("Conversations of", "")
        screen.query_one(Input).value = "e"
        await deck.settle()
        assert re.search(rf"· {screen.options.option_count} of {rows}\b", str(title.render())), title.render()
        screen.query_one(Input).value = "no row has these words"
        await deck.settle()
        assert f"· 0 of {rows}" in str(title.render())
        screen.query_one(Input).value = ""
        await deck.settle()
        assert str(title.render()) == before
