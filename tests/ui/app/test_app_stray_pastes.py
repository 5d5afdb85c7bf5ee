"""What is pasted, or a draft that goes, while something else has the keys: nothing is lost, nothing waits."""

import pytest
from textual import events

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.app.test_app_approvals import asked, box, decisions, write
from tests.ui.kit import Deck, Desk, shown
from tui_app.ui import approvals as approval_box
from tui_app.ui.chat import pane as chat_pane


@pytest.fixture(autouse=True)
def _at_once(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)


async def paste(deck: Deck, text: str) -> None:
    """Paste as a terminal does: to whatever has the keys."""
    deck.app.post_message(events.Paste(text))
    await deck.settle()


async def test_a_paste_while_a_tool_asks_goes_to_the_prompt(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await paste(deck, "the next thing")
        await deck.until(lambda: deck.editor.text == "the next thing", "the paste")
        assert deck.editor.has_focus
        assert box(deck).question is not None


async def test_a_paste_for_the_reason_stays_there(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("n")
        await paste(deck, "not now")
        await deck.press("enter")
        await deck.says("Done.")
        assert deck.editor.is_empty
    assert [each.reason for each in decisions(served)] == ["not now"]


@pytest.mark.parametrize("key", ["ctrl+t", "shift+tab"])
async def test_a_paste_while_rows_have_the_keys_goes_to_the_prompt(served: Desk, key: str) -> None:
    async with shown(served.app(served.store(Story().turns(3))), (80, 24)) as deck:
        await deck.ready()
        await deck.press(key)
        await deck.until(lambda: not deck.editor.has_focus, "the rows")
        await paste(deck, "one\ntwo")
        await deck.until(lambda: deck.editor.text == "one\ntwo", "the paste")


@pytest.mark.parametrize("key", ["enter", "ctrl+c"])
async def test_a_question_takes_the_keys_once_the_draft_is_gone(
    served: Desk, fake_openai: FakeOpenAI, key: str
) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("Do it.")
        await deck.type("any")
        await deck.says("f12 answer")
        await deck.press(key)
        await deck.until(lambda: deck.editor.is_empty, "an empty prompt")
        await deck.until(lambda: box(deck).has_focus, "the keys")
