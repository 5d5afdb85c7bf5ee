"""The context screen: rows that sum, and a way to the biggest messages."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.widgets import Static

from tui_app.context.usage import CATEGORIES, Breakdown, ContextUsage, ContextWindow
from tui_app.session.visibility import MessageKind
from tui_app.ui.flows.context import KINDS
from tui_app.ui.glyphs import PLAIN, UNICODE
from tui_app.ui.screens.context import ContextScreen, ItemRow, category_lines, category_rows

USAGE = ContextUsage(
    parts=Breakdown(system=2_100, tools=4_800, user=3_000, assistant=14_200, tool_results=60_900),
    window=ContextWindow(limit=128_000, source="model", reserve=8_000),
    messages=212,
    unmeasured=500,
)
ITEMS = [
    ItemRow(tokens=18_300 - n, kind="tool result", what=f"[/x] pytest {n}", seq=142 + n) for n in range(30)
]


class Host(App[None]):
    def __init__(self, screen: ContextScreen) -> None:
        super().__init__()
        self._first = screen
        self.results: list[object] = []

    def compose(self) -> ComposeResult:
        yield Static("behind", markup=False)

    def on_mount(self) -> None:
        self.push_screen(self._first, self.results.append)


@given(
    figures=st.lists(st.integers(0, 10**7), min_size=len(CATEGORIES), max_size=len(CATEGORIES)),
    unmeasured=st.integers(0, 10**6),
)
def test_rows_always_sum_to_the_total(figures: list[int], unmeasured: int) -> None:
    parts = Breakdown(**dict(zip(CATEGORIES, figures, strict=True)))
    usage = replace(USAGE, parts=parts, unmeasured=unmeasured)
    assert sum(row.tokens for row in category_rows(usage)) == usage.total
    printed = category_lines(usage, 20, PLAIN).plain.split("\n")
    shown = [int(line[17:28].replace(",", "")) for line in printed]
    assert sum(shown[:-1]) == shown[-1] == usage.total


def test_what_no_category_explains_is_named() -> None:
    assert [row.name for row in category_rows(USAGE)][-1] == "not measured"
    text = category_lines(USAGE, 20, UNICODE).plain
    assert "not measured             500" in text
    assert "total                 85,500   66%" in text


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_enter_names_the_message_to_show(size: tuple[int, int]) -> None:
    app = Host(ContextScreen(USAGE, ITEMS, floor=11_200))
    async with app.run_test(size=size) as pilot:
        heads = [str(widget.render()) for widget in app.screen.query(Static)]
        assert "Context   66% of 128k · ~85.5k · ok" in heads
        assert "212 messages · reserve 8k · compacts at 80% · floor 11.2k: cannot go lower" in heads
        assert app.screen.query_one("#dialog-hints").region.bottom <= size[1]
        await pilot.press("down", "enter")
        assert app.results == [143]


@pytest.mark.parametrize("key", ["escape", "f3"])
async def test_nothing_known_is_said_and_closes(key: str) -> None:
    app = Host(ContextScreen(None))
    async with app.run_test(size=(80, 24)) as pilot:
        heads = [str(widget.render()) for widget in app.screen.query(Static)]
        assert "Context   ?% of ?" in heads
        await pilot.press("enter", key)
        assert app.results == [None]


def test_every_kind_of_message_has_a_name_that_fits_its_column() -> None:
    assert set(KINDS) == set(get_args(MessageKind))
    assert all(0 < len(name) <= 12 for name in KINDS.values())
