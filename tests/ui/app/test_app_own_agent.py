"""Tools of a person's own agent ask as well: nobody here knows what they do."""

import pytest
from textual.widgets import Input

from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.test_app_approvals import asked, decisions
from tests.ui.kit import WIDE, Desk, shown
from tui_app.ui import approvals as approval_box
from tui_app.ui.chat import pane as chat_pane
from tui_app.ui.dialogs.approvals import ApprovalsScreen
from tui_app.ui.dialogs.base import EditDialog


@pytest.fixture(autouse=True)
def _at_once(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is still writing when a question comes up."""
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)


OWN_AGENT = """
from pathlib import Path

from pydantic_ai import Agent

helper = Agent()

@helper.tool_plain
def book(ferry: str) -> str:
    Path(__file__).with_name("booked").write_text(ferry)
    return "booked"
"""
BOOK = tool("book", ferry="Elsa \x1b[8m[bold]")


@pytest.mark.parametrize(
    ("keys", "booked", "decision"),
    [
        (("y",), True, ("allowed", "once", "")),
        (("a",), True, ("allowed", "always", "")),
        (("n", *"not she", "enter"), False, ("denied", "once", "not she")),
    ],
)
async def test_a_tool_of_an_agent_of_ones_own(
    served: Desk, fake_openai: FakeOpenAI, keys: tuple[str, ...], booked: bool, decision: tuple[str, str, str]
) -> None:
    (served.cwd / "agents.py").write_text(OWN_AGENT)
    fake_openai.add(BOOK, Text("Done."))
    async with shown(served.app(agent="agents.py:helper"), WIDE) as deck:
        await deck.ready()
        await asked(deck)
        for words in ("Allow book?", r'{"ferry":"Elsa \u001b[8m[bold]"}', "y once", "a allows: book"):
            assert words in deck.text, words
        await deck.press(*keys)
        await deck.answered()
    assert (served.cwd / "booked").exists() is booked
    assert [(one.decision, one.scope, one.reason) for one in decisions(served)] == [decision]
    assert decision[2] in str(fake_openai.journal[-1]["messages"][-1])


async def test_a_rule_says_that_a_tool_only_looks(served: Desk, fake_openai: FakeOpenAI) -> None:
    served.change(read_only=True)
    (served.cwd / "agents.py").write_text(OWN_AGENT)
    fake_openai.add(BOOK, Text("It may not."), BOOK, Text("Now it may."))
    async with shown(served.app(agent="agents.py:helper"), WIDE) as deck:
        await deck.ready()
        await deck.send("Book.")
        await deck.says("It may not.")
        assert [(one.decision, one.by) for one in decisions(served)] == [("denied", "mode")]
        assert "no rule says that this tool only looks" in str(fake_openai.journal[-1]["messages"][-1])
        await deck.send("/approvals")
        await deck.until(lambda: isinstance(deck.app.screen, ApprovalsScreen), "the rules")
        await deck.press("f7")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the dialog")
        deck.app.screen.query_one(Input).value = "looks book Elsa"
        await deck.press("enter")
        await deck.says("nothing behind it")
        deck.app.screen.query_one(Input).value = "looks book"
        await deck.press("enter")
        await deck.says("looks book: written to")
        await deck.press("escape")
        await deck.until(lambda: not isinstance(deck.app.screen, ApprovalsScreen), "the chat")
        await deck.send("Book.")
        await deck.says("Now it may.")
    assert (served.cwd / "booked").exists()
