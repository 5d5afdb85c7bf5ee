"""Branches on the screen: created, shown in the timeline, merged after brief and diff, undone."""

import os
import re
import subprocess
import threading
from pathlib import Path
from types import ModuleType

import pytest

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import WIDE, Deck, Desk, shown
from tui_app.conversation.branches import new_branch
from tui_app.session.rewind_fork import NotAPrompt
from tui_app.ui.dialogs.compactions.merge import MERGE
from tui_app.ui.dialogs.drafts import BUSY
from tui_app.ui.dialogs.questions import FilesDialog
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.sessions import fork
from tui_app.ui.timeline import Timeline, TimelineFilter
from tui_app.ui.widgets.lists import RowList

NOTES = "## State\n- The list is there.\n- harbour.py was deleted."


@pytest.fixture
def repository(served: Desk) -> Path:
    served.env["PATH"] = os.environ["PATH"]
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin", "--allow-empty")):
        names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(("git", *names, *words), cwd=served.cwd, check=True)
    return served.cwd


def timeline(deck: Deck) -> str:
    found = deck.app.chat.query_one(Timeline)
    return "\n".join(found.render_line(y).text.rstrip() for y in range(found.size.height)).rstrip()


async def branched(deck: Deck, fake_openai: FakeOpenAI, *, prompt: str) -> Path:
    """Create a branch, send a prompt in it, and return with the tree. Returns the branch's folder."""
    above = deck.app.chat.session.id
    await deck.send("/branch list them")
    await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.id != above, "the branch")
    await deck.ready()
    fake_openai.add(Text("Listed."))
    await deck.send(prompt)
    await deck.answered()
    folder = deck.app.chat.session.launch.cwd
    await deck.send(f"/tree {above}")
    await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.id == above, "the way back")
    await deck.ready()
    return folder


async def asked_about_files(deck: Deck) -> None:
    await deck.send("/merge list them")
    await deck.until(lambda: isinstance(deck.app.screen, ReviewScreen), "the brief")
    await deck.until(lambda: "The list is there" in deck.text, "the notes")
    # The brief has a line that is not in the log, so enter would edit.
    await deck.says("enter edit ")
    await deck.press("e", "tab", "enter")
    await deck.until(lambda: isinstance(deck.app.screen, FilesDialog), "the diff")


async def test_a_branch_is_made_shown_merged_and_undone(
    served: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    session = served.store(Story().turns(2, words="a short one"))
    (repository / "draft.txt").write_text("mine\n")
    async with shown(served.app(session), size=WIDE) as deck:
        await deck.ready()
        view = served.agent_view(session)
        folder = await branched(deck, fake_openai, prompt="list them")
        assert folder == repository.with_name(f"{repository.name}.worktrees") / "list-them"
        assert (folder / "draft.txt").read_text() == "mine\n"
        (folder / "list.txt").write_text("one\n")
        await deck.send("/tree")
        await deck.until(lambda: "├↳ list them" in timeline(deck), "the tree")
        assert "tree ▾" in timeline(deck)
        assert "open" in timeline(deck)
        assert "│ ● list them" in timeline(deck)

        fake_openai.add(Text(NOTES))
        await asked_about_files(deck)
        assert "created    list.txt" in deck.text
        assert "+one" in deck.text, "the diff is shown first"
        assert "+++" not in deck.text, "below the name of the file"
        assert deck.text.count("list.txt") == 2
        assert not (repository / "list.txt").exists()
        await deck.press("escape")
        await deck.until(lambda: deck.status == MERGE.unchanged, "nothing was merged")
        assert served.agent_view(session) == view

        fake_openai.add(Text(NOTES))
        await asked_about_files(deck)
        usage = deck.app.chat.session.state.usage
        assert usage is not None
        await deck.press("enter")
        await deck.until(lambda: deck.status.startswith("Merged list them: "), "the merge")
        merged = deck.app.chat.session.state.usage
        assert merged is not None
        assert merged.total > usage.total, "the gauge has the brief"
        assert deck.status.endswith("1 file · /undo undoes both")
        assert (repository / "list.txt").read_text() == "one\n"
        assert "harbour.py was deleted. (not in the log)" in served.agent_view(session)[-1]
        assert deck.kinds[-2:] == ["merge", "files"]
        assert "/merge list them" in deck.text
        assert re.search(r"⇇ list them +1 turn, 1 file .*brief ", deck.text)
        assert re.search(r"Files here +list.txt · created", deck.text)
        await deck.send("/tree")
        await deck.until(lambda: "⇇ merge: list" in timeline(deck) and "merged" in timeline(deck))

        await deck.send("/undo")
        await deck.until(lambda: not (repository / "list.txt").exists(), "the files are as before")
        await deck.until(lambda: served.agent_view(session) == view, "the view is as before")


@pytest.mark.parametrize(
    ("command", "said", "where"),
    [
        ("/branch 20 try", "Making the branch …", (new_branch, "make_branch")),
        ("/fork #2", "Making the fork …", (fork, "fork_session")),
    ],
)
async def test_what_takes_a_while_is_said_at_once(
    served: Desk,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    said: str,
    where: tuple[ModuleType, str],
) -> None:
    made = threading.Event()

    def make(*_: object, **__: object) -> None:
        made.wait()
        raise NotAPrompt("There is nothing to begin it from.")

    monkeypatch.setattr(*where, make)
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.ready()
        try:
            await deck.send(command)
            await deck.until(lambda: deck.status == said, "what is done")
        finally:
            made.set()
        await deck.says("There is nothing to begin it from.")


async def test_enter_on_a_row_of_the_tree_goes_to_the_branch(
    served: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    session = served.store(Story().turns(1, words="a short one"))
    async with shown(served.app(session), size=WIDE) as deck:
        await deck.ready()
        await branched(deck, fake_openai, prompt="list them")
        tree = deck.app.chat.query_one(Timeline)
        while tree.shown is not TimelineFilter.TREE:
            tree.action_filter()
        await deck.until(lambda: "├↳ list them" in timeline(deck), "the tree")
        tree.focus()
        await deck.press("down")
        assert tree.cursor is not None
        row = tree.render_line(1 + tree.cursor).text
        assert "├↳ list them" in row, "not past it to what was said there last"
        await deck.press("up", "up")
        assert tree.cursor is not None
        assert "├↳" not in tree.render_line(1 + tree.cursor).text
        tree.post_message(RowList.Selected(tree.count - 1))
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.id != session, "the branch")
        await deck.ready()
        await deck.send("/tree")
        await deck.until(lambda: "above" in timeline(deck), "the session that it has left")
        await deck.send("/merge")
        await deck.says("No branch of this session is open. This is one: open ")
        assert deck.status.endswith("with /tree, and merge there.")
        await deck.send("/branch list them")
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.id != session)


async def test_what_cannot_be_branched_or_merged_now_is_said(
    served: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/branch")
        await deck.says("Nothing to branch off: nothing has been said yet.")
        fake_openai.add(HangMidStream())
        await deck.send("begin")
        await deck.says("These words arrive")
        await deck.send("/merge list")
        await deck.says(BUSY[:50])
        await deck.press("escape")
        await deck.idle()


async def test_a_review_that_is_gone_at_once_leaves_the_keys_to_the_prompt(served: Desk) -> None:
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await deck.send("/merge nothing")
        await deck.says("has no branch nothing")
        await deck.until(lambda: deck.editor.text == "/merge nothing", "what was refused")
        await deck.press("ctrl+u", *"low")
        await deck.until(lambda: deck.editor.text == "low", "the letters")
