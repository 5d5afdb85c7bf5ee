"""What the question for a key looks like."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from tests.ui.kit import USUAL, WIDE, Deck, Desk
from tui_app.conversation import agent_setup as agents
from tui_app.ui.dialogs.api_keys import KeyDialog
from tui_app.ui.dialogs.base import ConfirmDialog

Compare = Callable[..., bool]
looks = pytest.mark.parametrize(
    ("size", "theme"),
    [(WIDE, "plimsoll-dark"), (USUAL, "plimsoll-dark"), (WIDE, "plimsoll-light"), (USUAL, "plimsoll-light")],
    ids=["120x40-dark", "80x24-dark", "120x40-light", "80x24-light"],
)


@pytest.fixture(autouse=True)
def _fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The instructions name folders of this run, and the gauge behind a dialog counts them."""
    monkeypatch.setattr(agents, "system_instructions", lambda *_, **__: "Answer questions about these files.")


def showing(screen: Screen[Any], keys: str = "") -> Callable[[Pilot[Any]], Any]:
    async def prepare(pilot: Pilot[Any]) -> None:
        deck = Deck(pilot.app, pilot)
        await deck.ready()
        await pilot.app.push_screen(screen)
        await pilot.press(*keys)
        for field in pilot.app.screen.query("Input"):
            field.cursor_blink = False
        await deck.settle()

    return prepare


@looks
def test_key_dialog(desk: Desk, snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    refused = "The provider does not take this key (HTTP 401). It was not kept."
    screen = KeyDialog("openai:gpt-5.4-mini", "OPENAI_API_KEY", refused)
    app = desk.change(theme=theme).app()
    assert snap_compare(app, terminal_size=size, run_before=showing(screen, "hidden"))


@looks
def test_where_to_keep_it(desk: Desk, snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    text = "The key works. Keep OPENAI_API_KEY in the system keyring? "
    text += "Otherwise it is used until Plimsoll is closed."
    screen = ConfirmDialog(text, verb="Keep it", keep="This run only")
    app = desk.change(theme=theme).app()
    assert snap_compare(app, terminal_size=size, run_before=showing(screen))
