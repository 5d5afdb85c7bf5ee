"""Selecting with the mouse gives back what was written."""

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import SELECT_ALL

from tests.ui.widgets.transcript_kit import Stage, long_talk, row_with, rows, stage_of
from tui_app.session.entries import Body
from tui_app.ui.transcript.layout import Spot
from tui_app.ui.transcript.transcript import Transcript

PROSE = "The quick brown fox jumps over the lazy dog and then it runs far away into the deep dark wood."


async def drag(pilot: Pilot, start: tuple[int, int], end: tuple[int, int]) -> str | None:
    await pilot.mouse_down(Transcript, offset=start)
    await pilot.hover(Transcript, offset=end)
    await pilot.mouse_up(Transcript, offset=end)
    await pilot.pause()
    return pilot.app.screen.get_selected_text()


async def test_wrapped_lines_are_joined_again() -> None:
    app = stage_of(lambda talk: talk.add("user", "x", body=Body(text=PROSE)))
    async with app.run_test(size=(40, 12)) as pilot:
        last = max(y for y, row in enumerate(rows(app.transcript)) if row)
        assert last > 2
        assert await drag(pilot, (2, 1), (38, last)) == PROSE


async def test_a_part_of_one_line() -> None:
    app = stage_of(lambda talk: talk.add("user", "x", body=Body(text="one 日本 two")))
    async with app.run_test(size=(40, 12)) as pilot:
        assert await drag(pilot, (6, 1), (8, 1)) == "日本"


async def test_ornament_is_not_copied() -> None:
    app = stage_of(
        lambda talk: talk.add("user", "x", body=Body(text="ask")),
        lambda talk: talk.add("tool", 'grep "a"', tokens=212),
    )
    async with app.run_test(size=(60, 12)) as pilot:
        y = row_with(app.transcript, "grep")
        assert await drag(pilot, (0, 0), (57, y)) == 'ask\n\ngrep "a"'


async def test_whole_answers_are_copied_as_markdown() -> None:
    library, entries = long_talk(2)
    app = Stage(library, entries)
    async with app.run_test(size=(60, 40)) as pilot:
        app.screen.selections = {app.transcript: SELECT_ALL}
        await pilot.pause()
        text = app.screen.get_selected_text()
        assert text is not None
        assert text.count("```python") == 2
        assert text.startswith("prompt 0\n\ngrep 0 · 3 hits\nanswer 0\n")


async def test_double_click_selects_one_entry() -> None:
    library, entries = long_talk(2)
    app = Stage(library, entries)
    async with app.run_test(size=(60, 40)) as pilot:
        await pilot.click(Transcript, offset=(4, row_with(app.transcript, "answer 1")), times=2)
        await pilot.pause()
        assert app.screen.get_selected_text() == library.bodies[6].text.strip()


async def test_a_selection_survives_scrolling_through_unmeasured_entries() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=(60, 20)) as pilot:
        y = row_with(app.transcript, "answer 39")
        assert await drag(pilot, (2, y), (11, y)) == "answer 39"
        await pilot.press("pageup", "pageup", "home", "end")
        assert app.screen.get_selected_text() == "answer 39"


async def test_the_highlight_lies_on_content_only() -> None:
    app = stage_of(lambda talk: talk.add("tool", 'grep "a"', tokens=212))
    async with app.run_test(size=(60, 12)) as pilot:
        await drag(pilot, (0, 0), (57, 0))
        app.transcript.selection_updated(app.transcript.text_selection)
        colour = app.screen.get_component_rich_style("screen--selection").bgcolor
        marked = [s.text for s in app.transcript.render_line(0) if s.style and s.style.bgcolor == colour]
        assert "".join(marked) == 'grep "a"'


async def test_other_entries_clear_a_selection() -> None:
    library, entries = long_talk(2)
    app = Stage(library, entries)
    async with app.run_test(size=(60, 20)) as pilot:
        await drag(pilot, (2, 2), (11, 2))
        app.transcript.set_entries(entries[:1])
        await pilot.pause()
        assert app.transcript.text_selection is None


@pytest.mark.parametrize("spot", [Spot(0, 0, 0), Spot(9_999, 700, 40), Spot(3, 0, 12_000)])
def test_rows_and_spots_are_the_same_thing(spot: Spot) -> None:
    assert Spot.at_row(spot.row) == spot
    assert spot.row < Spot(spot.slot, spot.piece, spot.line + 1).row < Spot(spot.slot + 1, 0, 0).row
    assert Offset(0, spot.row).y == spot.row
