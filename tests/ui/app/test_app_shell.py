"""Shell mode: shown at the prompt, output streamed into one row, stopped with esc."""

import os
from pathlib import Path

import pytest

from tests.servers.behaviours import HangBeforeHeaders, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import SMALL, USUAL, WIDE, Desk, shown
from tui_app.ui.chat.pane import SHELL_HINTS
from tui_app.ui.chat.state import KEPT_FROM_MODEL
from tui_app.ui.dialogs.actions import NO_COMMAND
from tui_app.ui.dialogs.extensions.tasks import TaskScreen, TasksScreen
from tui_app.ui.transcript.entries import SENT_ALONG


@pytest.mark.parametrize("size", [WIDE, USUAL, SMALL], ids=["120x40", "80x24", "40x12"])
async def test_run_and_read(served: Desk, fake_openai: FakeOpenAI, size: tuple[int, int]) -> None:
    fake_openai.add(Text("I see it."))
    async with shown(served.app(), size) as deck:
        await deck.ready()
        await deck.type("!echo lee\\[b]ward; exit 4")
        await deck.says("runs as you")
        await deck.until(lambda: str(SHELL_HINTS[0]) in deck.hints)
        assert deck.app.chat.pane.prompt.count == 0
        await deck.press("enter")
        await deck.until(lambda: deck.kinds == ["shell"] and not deck.app.chat.session.state.busy)
        await deck.says("! echo lee")
        await deck.says("lee\\[b]ward")
        await deck.says("exit 4")
        await deck.says(SENT_ALONG)
        await deck.send("look")
        await deck.answered()
    words = str(fake_openai.journal[-1]["messages"])
    assert "$ echo lee" in words
    assert words.index("$ echo lee") < words.index("'look'" if "'look'" in words else "look")


async def test_private_output_has_no_rail_and_is_not_sent(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Nothing."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.type("!!echo shoal")
        await deck.says("runs as you, not sent")
        await deck.press("enter")
        await deck.says("exit 0 · not sent")
        await deck.says(KEPT_FROM_MODEL)
        (entry,) = deck.app.chat.session.presenter.view.entries
        rail = deck.transcript._pages.rail
        assert not rail.sees(entry)
        assert entry.tokens == 0
        await deck.send("well?")
        await deck.answered()
    assert "shoal" not in str(fake_openai.journal[-1]["messages"])


async def test_streams_and_esc_stops_it(served: Desk, tmp_path: Path) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("!echo be''gun; sleep 600")
        await deck.says("begun")
        await deck.until(lambda: deck.app.chat.session.state.busy and "Running $ echo be" in deck.status)
        await deck.press("escape")
        await deck.says("stopped")
        await deck.idle()
        assert "begun" in deck.text


async def test_a_command_waits_for_the_turn_and_can_be_taken_back(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(HangBeforeHeaders(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("go")
        await deck.until(lambda: deck.app.chat.session.state.turn)
        await deck.send("!echo later")
        await deck.until(lambda: any("!echo later" in row for row in deck.queue))
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "!echo later", "undone")


async def test_keys_and_history_of_its_own(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Yes."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("!echo one")
        await deck.idle()
        await deck.send("a prompt")
        await deck.answered()
        await deck.send("!")
        await deck.says(NO_COMMAND)
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "a prompt")
        await deck.press("ctrl+c")
        await deck.type("!")
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "!echo one")
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "echo one", "back to the prompt")
        await deck.until(lambda: "keep it from" not in deck.hints)
        await deck.press("ctrl+c")
        # A leading space sends it as a prompt, and nothing is completed in a command.
        await deck.type("!ls @")
        assert not deck.editor.files
        session = deck.app.chat.session.id
    async with shown(served.app(session)) as deck:
        await deck.ready()
        assert deck.kinds[0] == "shell"
        await deck.says("! echo one")
        await deck.type("!")
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "!echo one", "from the log")


async def test_background_commands_are_counted_listed_read_and_stopped(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    served.env["PATH"] = os.environ["PATH"]
    served.change(read_only=False, sandbox="off", approvals={"allow": ("run_command sh serve.sh",)})
    (served.cwd / "serve.sh").write_text(
        "for n in $(seq 1 700); do echo row $n; done\n"
        "while [ ! -e go ]; do sleep 0.05; done; echo more; exec sleep 600"
    )
    fake_openai.add(tool("run_command", command="sh serve.sh", background=True), Text("It runs."))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("/tasks")
        await deck.says("No background commands.")
        await deck.send("serve it")
        await deck.answered(1)
        await deck.until(lambda: "1 task in the background" in deck.status)
        await deck.send("/tasks")
        await deck.until(lambda: isinstance(deck.app.screen, TasksScreen))
        await deck.says("1 running")
        await deck.says("sh serve.sh")
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, TaskScreen))
        await deck.says("lines 201 to 700 of 700")
        await deck.says("row 700")
        (served.cwd / "go").touch()
        await deck.says("lines 202 to 701 of 701")
        await deck.says("more")
        await deck.press("p")
        await deck.says("lines 1 to 500 of 701")
        await deck.press("n")
        await deck.says("lines 202 to 701 of 701")
        await deck.press("s")
        await deck.says("stopped")
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, TasksScreen))
        await deck.says("0 running")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat)
        await deck.until(lambda: "in the background" not in deck.status)
        await deck.says("Background command t1: stopped")
