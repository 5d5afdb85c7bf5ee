"""The palette over every dialog: whatever its keys do at this moment is offered there as well."""

import pytest
from textual.actions import parse
from textual.binding import Binding

from tests.ui.app.scenes import SCENES
from tests.ui.app.test_accessibility import at, everything, full
from tests.ui.kit import WIDE, Deck, Desk, shown
from tui_app.ui.dialogs.base import Dialog

__all__ = ["full"]

CHAT = frozenset(
    {
        "chat",
        "draft",
        "commands",
        "conversation",
        "unfolded",
        "timeline",
        "notice",
        "find",
        "marked",
        "question",
    }
)
"""Scenes without a dialog; and over the palette itself there is none."""
WALKING = frozenset({"move", "page", "first", "last"})
"""What means something only while one looks at the list."""


def can_act(deck: Deck) -> list[Binding]:
    """Keys of ours that do something now: not what stops a search that does not run, or suits another row.

    Textual's own, for the cursor of a text or the next thing to focus, explain themselves nowhere.
    """
    every = deck.app.screen.active_bindings.values()
    ours = [active.binding for active in every if active.enabled and active.binding.tooltip]
    return [binding for binding in ours if parse(binding.action)[1] not in (*WALKING, "command_palette")]


@pytest.mark.parametrize("scene", [name for name in SCENES if name not in {*CHAT, "palette"}])
async def test_every_key_that_acts_in_a_dialog_is_offered_over_it(full: Desk, scene: str) -> None:
    async with shown(full.app(everything(full)), WIDE) as deck:
        await at(deck, scene)
        screen = deck.app.screen
        assert isinstance(screen, Dialog)
        for widget in (screen.focused, *screen.focus_chain):
            screen.set_focus(widget)
            await deck.settle()
            acting = {binding.description for binding in can_act(deck)}
            assert "Close" in acting or len(acting) > 1, "the check would notice"
            offered = [row.title for row in deck.app.get_system_commands(screen)]
            assert acting - set(offered) == set(), widget
            assert len(offered) == len(set(offered)), widget
