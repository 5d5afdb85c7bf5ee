"""Keys of a person who does not know yet that another window writes the session."""

import threading

import pytest

from tests.ui.app.story import Story
from tests.ui.app.test_app_sessions import written_elsewhere
from tests.ui.kit import Desk, shown
from tui_app.ui.dialogs.context import ContextScreen


@pytest.mark.parametrize("wanted", ["/context", "/mcp", "/approvals", "/memory", "/rewind #2"])
async def test_what_was_asked_for_before_the_lock_was_known_is_shown_or_told_why_not(
    served: Desk, slow_start: threading.Event, wanted: str
) -> None:
    session = served.store(Story().user("how late?").answer("At eleven."))
    with written_elsewhere(served, session):
        async with shown(served.app(session)) as deck:
            await deck.until(lambda: deck.app.chat.is_ready, "the chat")
            await deck.send(wanted)
            await deck.settle()
            slow_start.set()
            await deck.until(lambda: deck.app.chat.session.read_only, "the refusal")
            if wanted == "/context":
                await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the items")
            await deck.settle()
            assert "defect" not in " ".join((*deck.app.chat.session.state.notices, deck.words))
