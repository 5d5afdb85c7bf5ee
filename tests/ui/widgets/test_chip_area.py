"""Pastes that stand as chips, taken back and done again in any order."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tui_app.ui.prompt.completion import FileFinder, OfferList
from tui_app.ui.prompt.editor import PromptEditor
from tui_app.ui.widgets import WrittenArea

LARGE = "\n".join(f"line {number}" for number in range(63))
OTHER = "\n".join(f"row {number} of another text" for number in range(40))
SMALL = "\n".join(f"entry {number}" for number in range(15))
PASTES = {"paste large": LARGE, "paste other": OTHER, "paste small": SMALL}
KEYS = (
    *("ctrl+o", "ctrl+z", "ctrl+y", "a", "space", "backspace", "delete"),
    *("home", "end", "up", "left", "ctrl+k", "shift+up", "shift+home"),
)


class Desk(App[None]):
    BINDINGS = [("ctrl+o", "expand", "Expand")]  # noqa: RUF012 (declared so by Textual)

    def compose(self) -> ComposeResult:
        self.offers = OfferList()
        yield self.offers
        yield PromptEditor(self.offers, FileFinder(Path.cwd()))

    @property
    def area(self) -> PromptEditor:
        return self.query_one(PromptEditor)

    def action_expand(self) -> None:
        self.area.action_expand()

    async def do(self, pilot: Pilot[None], *steps: str) -> None:
        for step in steps:
            if body := PASTES.get(step):
                self.area.post_message(events.Paste(body))
            else:
                await pilot.press(step)
            await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 12)])
@pytest.mark.parametrize("before", ["", "look at "])
async def test_an_expanded_paste_can_be_taken_back_and_done_again(size: tuple[int, int], before: str) -> None:
    app = Desk()
    async with app.run_test(size=size) as pilot:
        app.area.insert(before)
        await app.do(pilot, "paste large", "ctrl+o")
        assert app.area.text == before + LARGE
        await app.do(pilot, "ctrl+z")
        assert app.area.text == f"{before}[pasted 63 lines]"
        assert app.area.cursor_location == (0, len(app.area.text))
        await app.do(pilot, "ctrl+y")
        assert app.area.text == before + LARGE
        await app.do(pilot, "ctrl+z", "ctrl+z")
        assert app.area.text == before
        await app.do(pilot, "ctrl+y")
        assert app.area.draft == before + LARGE


async def test_a_paste_taller_than_the_prompt_can_be_taken_back() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await app.do(pilot, "paste small", "ctrl+z")
        assert app.area.text == ""
        await app.do(pilot, "ctrl+y")
        assert app.area.text == SMALL


class Form(App[None]):
    def compose(self) -> ComposeResult:
        yield WrittenArea()


async def test_so_can_one_in_a_field_without_chips() -> None:
    app = Form()
    async with app.run_test(size=(40, 12)) as pilot:
        area = app.query_one(WrittenArea)
        area.post_message(events.Paste(LARGE))
        await pilot.pause()
        assert area.text == LARGE
        await pilot.press("ctrl+z")
        assert area.text == ""


async def walk(steps: list[str]) -> None:
    app = Desk()
    async with app.run_test(size=(40, 12)) as pilot:
        await app.do(pilot, *steps)
        area = app.area
        assert ["".join(sections) for sections in area.wrapped_document.lines] == area.text.split("\n")
        assert area.clamp_visitable(area.cursor_location) == area.cursor_location
        done = area.text
        for _ in steps:
            area.undo()
            await pilot.pause()
        assert area.text == ""
        for _ in steps:
            area.redo()
            await pilot.pause()
        assert area.text == done or "ctrl+z" in steps


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from([*PASTES, *PASTES, *KEYS]), max_size=10))
@example(["paste large", "space", "paste other", "ctrl+o", "home", "ctrl+o", "a"])
@example(["paste large", "ctrl+o", "shift+up", "delete", "ctrl+z", "ctrl+z", "ctrl+z"])
def test_any_order_of_steps_can_be_taken_back(steps: list[str]) -> None:
    asyncio.run(walk(steps))


@pytest.mark.parametrize(
    ("key", "left"),
    [("ctrl+u", ["first", "lock " * 20 + "end", "last"]), ("ctrl+k", ["first", "tide " * 20, "last"])],
)
async def test_a_wrapped_line_is_deleted_as_the_line_it_is(key: str, left: list[str]) -> None:
    app = Form()
    async with app.run_test(size=(40, 12)) as pilot:
        area = app.query_one(WrittenArea)
        area.text = "\n".join(["first", "tide " * 20 + "lock " * 20 + "end", "last"])
        area.move_cursor((1, 100))
        await pilot.press(key)
        assert area.text.split("\n") == left
        area.undo()
        assert area.cursor_location == (1, 100)


async def test_at_the_start_of_a_line_it_is_joined_to_the_one_before() -> None:
    app = Form()
    async with app.run_test() as pilot:
        area = app.query_one(WrittenArea)
        area.text = "one\ntwo"
        area.move_cursor((1, 0))
        await pilot.press("ctrl+u")
        assert area.text == "onetwo"
