"""Keys for rows that are typed in one go with the key that leads to them."""

from tests.ui.app.story import Story
from tests.ui.kit import Desk, shown


async def test_letters_behind_the_key_to_the_rows_act_on_rows(desk: Desk) -> None:
    async with shown(desk.app(desk.store(Story().turns(3))), (120, 40)) as deck:
        await deck.ready()
        await deck.hurry("tab", "up", "up", "v", "up", "v")
        assert deck.app.focused is deck.transcript
        assert deck.editor.text == ""
        assert "2 marked" in deck.hints
