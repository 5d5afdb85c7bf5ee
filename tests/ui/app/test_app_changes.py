"""/diff and /commit in the app, with a real repository."""

from pathlib import Path

import pytest

from tests.repository import begin, git
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import USUAL, Desk, shown
from tui_app.ui.dialogs.changes import ChangesScreen
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.panels.header import ChatHeader


@pytest.fixture
def repository(served: Desk) -> Path:
    (served.cwd / "ferry.py").write_text("TIDE = 1\nPORT = 2\n")
    return begin(served.cwd)


async def test_changes_are_shown_and_committed_when_the_user_says_so(
    served: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    served.change(read_only=False, approvals={"allow": ("edit_file",)})
    fake_openai.add(tool("edit_file", path="ferry.py", old_text="1", new_text="7"), Text("Done."))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        header = deck.app.chat.query_one(ChatHeader)
        assert header.place.endswith("(main)")
        await deck.send("/diff")
        await deck.says("No changes: neither this session nor git has any.")
        await deck.send("set the tide")
        await deck.answered(1)
        await deck.until(lambda: header.place.endswith("(main*)"), "uncommitted changes in the header")
        (repository / "notes.md").write_text("mine\n")

        await deck.send("/diff")
        await deck.until(lambda: isinstance(deck.app.screen, ChangesScreen))
        await deck.says("1 by this session")
        await deck.says("+ TIDE = 7")
        await deck.says("- TIDE = 1")
        await deck.press("down")
        await deck.says("+ mine")
        await deck.press("enter")
        await deck.until(lambda: deck.editor.text == "@notes.md ", "the file in the prompt")
        await deck.press("ctrl+c")

        fake_openai.add(Text("Raise the tide"))
        await deck.send("/commit")
        await deck.until(lambda: isinstance(deck.app.screen, ReviewScreen))
        await deck.says("Raise the tide")
        await deck.says("the files that this session changed")
        await deck.press("escape")
        await deck.says("Not committed.")
        assert git(repository, "log", "--format=%s").split("\n")[0] == "Begin"

        fake_openai.add(Text("Raise the tide"))
        await deck.send("/commit")
        await deck.says("Raise the tide")
        await deck.press("e", "end", "!", "escape", "enter")
        await deck.says("Committed")
        await deck.until(lambda: deck.app.screen is deck.app.chat)
    assert git(repository, "log", "-1", "--format=%s").strip() == "Raise the tide!"
    assert git(repository, "show", "--format=", "--name-only").split() == ["ferry.py"]


async def test_what_git_refuses_leads_back_to_the_message(
    served: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho not on Sundays >&2\nexit 1\n")
    hook.chmod(0o755)
    (repository / "ferry.py").write_text("TIDE = 2\n")
    git(repository, "add", "-A")
    fake_openai.add(Text("Lower the tide"))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("/commit")
        await deck.says("Lower the tide")
        await deck.press("enter")
        await deck.says("git refused, nothing was committed: not on Sundays")
        await deck.says("Lower the tide")
        await deck.press("escape")
        await deck.says("Not committed.")
