"""The rows of the list above the prompt."""

import pytest
from textual.app import App, ComposeResult

from tui_app.ui.widgets.offer_list import Offer, OfferList


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
