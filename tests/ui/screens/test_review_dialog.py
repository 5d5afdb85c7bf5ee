"""The review dialog: which keys decide, which only write, and what is never lost."""

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.widgets import OptionList, Static, TextArea

from tui_app.context.events import CompactionProposed
from tui_app.ui.glyphs import PLAIN, UNICODE
from tui_app.ui.screens.confirm import ConfirmDialog
from tui_app.ui.screens.review import Reviewed, ReviewScreen, numbers_line
from tui_app.ui.widgets.stray_keys import QUIET_S

PROPOSED = CompactionProposed(
    job="1",
    summary="# Intent\nFix [/x] \x1b[31mthe import.",
    tokens_before=91_500,
    tokens_after=6_200,
    messages_before=212,
    messages_after=9,
    retention=0.98,
    facts_lost=1,
)
SIZES = pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += QUIET_S
        return self.now


class Host(App[None]):
    def __init__(self, proposed: CompactionProposed = PROPOSED, clock: Any = None) -> None:
        super().__init__()
        self.dialog = ReviewScreen(proposed, clock=clock or Clock())
        self.results: list[Reviewed | None] = []

    def compose(self) -> ComposeResult:
        yield Static("behind", markup=False)

    def on_mount(self) -> None:
        self.push_screen(self.dialog, self.results.append)

    @property
    def text(self) -> TextArea:
        return self.dialog.query_one(TextArea)


def test_numbers() -> None:
    line = "91.5k → 6.2k tokens · 212 → 9 messages · facts kept 98 %, 1 lost"
    assert numbers_line(PROPOSED, UNICODE) == line
    assert numbers_line(PROPOSED, PLAIN).isascii()


@SIZES
async def test_applied_as_it_is(size: tuple[int, int]) -> None:
    app = Host()
    async with app.run_test(size=size) as pilot:
        assert app.text.text == "# Intent\nFix [/x] the import."
        assert app.dialog.query_one("#dialog-hints").region.bottom <= size[1]
        assert app.text.size.height >= 1
        await pilot.press("up", "enter")
        assert app.results == [Reviewed(PROPOSED.summary)], "escape sequences are no edit"


async def test_edited_then_applied() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("enter")
        assert app.text.has_focus
        await pilot.press("down", "end", "enter", *"Now!")
        await pilot.press("escape")
        assert app.results == []
        assert app.dialog.query_one(OptionList).has_focus
        await pilot.press("up", "enter")
        assert app.results == [Reviewed("# Intent\nFix [/x] the import.\nNow!")]


@pytest.mark.parametrize("keys", [("escape",), ("down", "enter")])
async def test_discarded_at_once_when_nothing_was_edited(keys: tuple[str, ...]) -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*keys)
        assert app.results == [Reviewed(None)]


async def test_what_was_edited_is_not_thrown_away_by_one_key() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("tab", "x", "tab", "escape")
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("n")
        assert app.results == []
        assert "x" in app.text.text
        await pilot.press("escape", "y")
        assert app.results == [Reviewed(None)]


async def test_keys_of_a_person_who_is_still_writing_decide_nothing() -> None:
    app = Host(clock=lambda: 0.0)
    async with app.run_test() as pilot:
        await pilot.press(*"yes", "enter", "up", "enter", *"no")
        assert app.results == []
        assert app.text.text == "# Intent\nFix [/x] the import."
        await pilot.press("escape")
        assert app.results == [Reviewed(None, typed="yes\n\nno")]


@SIZES
async def test_why_an_edit_cannot_be_applied(size: tuple[int, int]) -> None:
    problem = CompactionProposed(job="1", summary="", problem="the summary is empty")
    app = Host(problem)
    async with app.run_test(size=size):
        said = str(app.dialog.query_one("#review-problem", Static).render())
        assert said == "It cannot be applied like this: the summary is empty."
        assert app.dialog.query_one("#dialog-hints").region.bottom <= size[1]
