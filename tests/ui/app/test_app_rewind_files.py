"""A rewind asks about files, says what became of them, and is taken back."""

import pytest

from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import Desk, shown
from tui_app.ui.dialogs.actions import undo
from tui_app.ui.dialogs.rewind import RewindFiles


@pytest.fixture(autouse=True)
def _may_write(served: Desk) -> None:
    served.change(read_only=False, approvals={"allow": ("write_file",)})


def write() -> Tool:
    return tool("write_file", path="plan.txt", content="sea\nsky\n")


async def test_a_rewind_asks_about_files_and_can_be_taken_back(served: Desk, fake_openai: FakeOpenAI) -> None:
    (served.cwd / "plan.txt").write_text("before\n")
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("Write.")
        await deck.answered()
        number = next(one.seq for one in deck.app.chat.session.presenter.view.entries if one.kind == "user")
        await deck.send(f"/rewind #{number}")
        await deck.until(lambda: isinstance(deck.app.screen, RewindFiles), "the question")
        assert "restored   plan.txt" in deck.text
        await deck.press("down", "enter")
        await deck.until(lambda: (served.cwd / "plan.txt").read_text() == "before\n", "the old file")
        await deck.says("1 file restored · u takes it back")
        entry = next(one for one in deck.app.chat.session.presenter.view.entries if one.kind == "files")
        undo(deck.app.chat.session, entry)
        await deck.until(lambda: (served.cwd / "plan.txt").read_text() == "sea\nsky\n", "the new file")
        await deck.says("taken back: 1 file restored")


async def test_a_file_that_was_only_removed_is_not_called_restored(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("Write.")
        await deck.answered()
        number = next(one.seq for one in deck.app.chat.session.presenter.view.entries if one.kind == "user")
        await deck.send(f"/rewind #{number}")
        await deck.until(lambda: isinstance(deck.app.screen, RewindFiles), "the question")
        await deck.press("down", "enter")
        await deck.until(lambda: not (served.cwd / "plan.txt").exists(), "no file")
        await deck.says("1 file removed · u takes it back")
        assert "restored" not in deck.text
