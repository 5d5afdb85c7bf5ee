"""A repeated call is marked in the approval and in its row, also after a resume."""

import pytest

from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.test_app_approvals import asked
from tests.ui.kit import WIDE, Desk, shown
from tui_app.ui import approvals as approval_box
from tui_app.ui.chat import pane as chat_pane

LONG = "The tide tables of the north harbour say when the water is high. " * 60
LINE = "python3 -c \"print('3 passed in 0.01s')\""


@pytest.fixture(autouse=True)
def _at_once(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow tools to act, and accept answers at once."""
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)


async def test_it_is_told_in_the_box_and_below_the_row(served: Desk, fake_openai: FakeOpenAI) -> None:
    run = tool("run_command", command=LINE)
    fake_openai.add(run, Text(LONG), Text(LONG), run, Text("It still works."))
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("y")
        await deck.answered()
        await deck.send(f"Read this. {LONG}")
        await deck.answered()
        await deck.send("/compact --extract")
        await deck.says("became a summary")
        box = await asked(deck)
        assert box.question is not None
        told = box.question.repeats
        assert told.startswith("ran at #")
        await deck.says(f"done before   {told}")
        await deck.press("y")
        await deck.says("It still works.")
        await deck.says(f"{told}. Ran again: the same")
        session = deck.app.chat.session.id
    async with shown(served.app(session), WIDE) as deck:
        await deck.says(f"{told}. Ran again: the same")
