"""What finding, marking, one message and marked items of the context look like.

After a wanted change run this file with ``--snapshot-update`` and look at the pictures before keeping them.
"""

import pytest

from tests.ui.app.test_app_snapshots import Compare, Scene, context_screen, look, looks, talk
from tests.ui.kit import Deck
from tui_app.conversation import agents

__all__ = ["look"]


async def found(deck: Deck) -> None:
    await deck.press("ctrl+f", *"sunday")
    await deck.until(lambda: " of " in deck.text.partition("Find")[2], "the places")


async def marked(deck: Deck) -> None:
    deck.transcript.jump_to(2)
    deck.transcript.focus()
    await deck.press("p")
    await deck.says("⚑ pinned")
    await deck.press("v", "shift+down", "shift+down")
    await deck.says("3 marked")


async def one_message(deck: Deck) -> None:
    deck.transcript.jump_to(4)
    deck.transcript.focus()
    await deck.press("ctrl+o")
    await deck.says("JSON")


@pytest.fixture(autouse=True)
def _fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The instructions name folders of this run, and the context counts them."""
    monkeypatch.setattr(agents, "system_instructions", lambda *_, **__: "Answer questions about these files.")


async def marked_items(deck: Deck) -> None:
    await context_screen(deck)
    await deck.press("space", "space")
    await deck.says("2 marked")


@looks
@pytest.mark.parametrize("scene", [found, marked, one_message, marked_items])
def test_reading_and_steering(look: Compare, size: tuple[int, int], theme: str, scene: Scene) -> None:
    assert look(size, talk(), scene, theme)
