"""What finding, marking, one message, a tool's long question and marked items of the context look like.

After a wanted change run this file with ``--snapshot-update`` and look at the pictures before keeping them.
"""

from dataclasses import replace

import pytest

from tests.ui.app.test_app_snapshots import Compare, Scene, context_screen, look, looks, talk
from tests.ui.kit import Deck
from tui_app.conversation import agent_setup as agents
from tui_app.events import ApprovalRequested
from tui_app.ui.approvals import ApprovalBox

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


async def long_question(deck: Deck) -> None:
    """A file of 200 lines would be written."""
    detail = "\n".join(("--- /dev/null", "+++ b/ferries.txt", *(f"+ferry {number}" for number in range(200))))
    question = ApprovalRequested(
        id="1.1", tool_call_id="1", tool="write_file", kind="file", subject="ferries.txt", detail=detail,
        note="new file", pattern="write_file ferries.txt", because="asks unless a rule allows it",
    )  # fmt: skip
    session = deck.app.chat.session
    session.presenter.update(replace(session.state, question=question))
    await deck.until(lambda: deck.app.chat.query_one(ApprovalBox).has_focus, "the keys")


@looks
@pytest.mark.parametrize("scene", [found, marked, one_message, long_question, marked_items])
def test_reading_and_steering(look: Compare, size: tuple[int, int], theme: str, scene: Scene) -> None:
    assert look(size, talk(), scene, theme)
