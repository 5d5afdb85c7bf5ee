"""Sub-agents on the screen: running, stopped from their row, listed, and opened as sessions."""

import re

import pytest

from tests.servers.behaviours import HangMidStream, Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import Deck, Desk, shown
from tui_app.ui import approvals
from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.chat import pane

WIDE = (120, 40)


def at_work(deck: Deck) -> list[int]:
    """Rows of sub-agents that have not ended."""
    return [each.seq for each in deck.app.chat.session.presenter.view.entries if each.at_work]


async def test_forks_at_work_are_stopped_listed_and_promoted(desk: Desk, fake_openai: FakeOpenAI) -> None:
    calls = tuple(("fork", {"task": f"Look {way}.", "background": True}) for way in ("up", "down"))
    both = Tool((*calls, ("explore", {"task": "Look around.", "background": True})))
    fake_openai.add(both, Text("Three are sent."))
    fake_openai.add(tool("ls"), HangMidStream(), phrase="Look up.")
    fake_openai.add(tool("ls"), HangMidStream(), phrase="Look down.")
    fake_openai.add(Text("It is round."), phrase="Look around.")
    desk.serve(fake_openai).change(explore={"enabled": True})
    async with shown(desk.app(), WIDE) as deck:
        await deck.ready()
        await deck.send("Send three.")
        await deck.says("2 forks at work")
        await deck.says("1 call")
        await deck.until(
            lambda: deck.text.count("━") > 2 and "⇉" in deck.text, "gauges, and the sign of a fork"
        )
        await deck.until(lambda: len(at_work(deck)) == 2, "the end of the one that has answered")
        deck.transcript.jump_to(at_work(deck)[0])
        deck.transcript.focus()
        await deck.press("escape")
        await deck.says("1 fork at work")
        await deck.send("/agents")
        await deck.says("fork-2")
        assert "explore-1" in deck.text
        await deck.press("down", "ctrl+u")
        await deck.until(lambda: not deck.app.chat.session.state.forks, "the stop")
        await deck.until(lambda: "at work" not in deck.text, "the list")
        await deck.until(lambda: re.search(r"▸ fork-\d +stopped", deck.text), "the mark where it was")
        await deck.press("up", "enter")
        await deck.says("It is round. (unchecked)")
        await deck.press("escape")
        before = deck.app.chat.session.id
        await deck.send("/agents")
        await deck.says("explore-1")
        await deck.press("ctrl+k")
        await deck.until(lambda: deck.app.chat.session.id != before, "the session of its own")
        await deck.says("It is round.")
        await deck.says("explore-1: Look around")


async def test_what_one_in_the_background_asks_outlives_the_turn(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "QUIET_S", 0.0)
    monkeypatch.setattr(pane, "QUIET_S", 0.01)
    fake_openai.add(tool("fork", task="Look up.", background=True), Text("It is sent."))
    asks = tool("ask_user", question="Which way?")
    write = tool("write_file", path="log.txt", content="calm")
    fake_openai.add(asks, write, Text("Written."), phrase="Look up.")
    desk.serve(fake_openai).change(explore={"enabled": True}, read_only=False)
    async with shown(desk.app(), WIDE) as deck:
        await deck.ready()
        await deck.send("Send it.")
        await deck.says("fork-1 asks: Which way?")
        await deck.until(lambda: not deck.app.chat.session.state.turn, "the end of the turn")
        assert "fork-1 asks: Which way?" in deck.text
        await deck.press(*"North", "enter")
        await deck.says("by agent fork-1")
        await deck.until(lambda: deck.app.chat.query_one(ApprovalBox).has_focus, "the keys")
        assert "Which way?" not in deck.text
        assert "The user answers: North" in str(fake_openai.journal[-1])
        await deck.press("y")
        await deck.until(lambda: not deck.app.chat.session.state.forks, "its end")
        assert (desk.cwd / "log.txt").read_text() == "calm"
