"""The rows of the list above the prompt."""

import pytest
from textual.app import App, ComposeResult

from tui_app.ui.prompt.completion import Offer, OfferList


@pytest.mark.parametrize("label", ["/undo", "/" + "x" * 23, "/copy [text|code] [n|#number]"])
async def test_a_summary_stands_apart_from_its_command(label: str) -> None:
    class Desk(App[None]):
        def compose(self) -> ComposeResult:
            yield OfferList()

    app = Desk()
    async with app.run_test() as pilot:
        offers = app.query_one(OfferList)
        offers.offers = (Offer(label, "Copy a message"),)
        await pilot.pause()
        assert label in str(offers.render())
        assert str(offers.render()).split(label)[1].startswith(" ")


class Listing(App[None]):
    def compose(self) -> ComposeResult:
        yield OfferList()


@pytest.mark.parametrize("height", [8, 3])
async def test_more_offers_than_rows_say_so_and_all_are_reached(height: int) -> None:
    app = Listing()
    async with app.run_test() as pilot:
        offers = app.query_one(OfferList)
        offers.styles.max_height = height
        offers.offers = tuple(Offer(f"/{number}") for number in range(35))
        await pilot.pause()
        lines = str(offers.render()).splitlines()
        assert len(lines) == offers.size.height == height
        assert lines[-1].strip() == f"1-{height - 1} of 35   up/down shows the others"
        for number in range(35):
            marked = [line for line in str(offers.render()).splitlines() if not line.startswith(" ")]
            assert marked == [f"{offers.glyphs.prompt} /{number}"]
            offers.move(1)
        assert str(offers.render()).splitlines()[-1].strip().startswith("1-")


async def test_offers_that_all_have_room_are_not_counted() -> None:
    app = Listing()
    async with app.run_test() as pilot:
        offers = app.query_one(OfferList)
        offers.offers = tuple(Offer(f"/{number}") for number in range(8))
        await pilot.pause()
        assert len(str(offers.render()).splitlines()) == 8
        assert " of " not in str(offers.render())
