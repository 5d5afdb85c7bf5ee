"""Hostile text in lists of earlier text and while it arrives: answers, command output."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from textual.widgets import Input, OptionList

from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.test_app_approvals import asked
from tests.ui.app.test_app_display_safety import (
    NASTY,
    TOGETHER,
    assert_intact,
    assert_intact_at_all,
    at,
    each_in_a_size,
    story,
)
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.ui import approvals as approval_box
from tui_app.ui.chat import pane as chat_pane
from tui_app.ui.dialogs.compactions.checkpoints import CheckpointsScreen
from tui_app.ui.dialogs.sessions.prompts import PromptsScreen
from tui_app.ui.dialogs.sessions.rewind import PromptPicker
from tui_app.ui.dialogs.sessions.session_search import SearchScreen
from tui_app.ui.dialogs.sessions.sessions import SessionsScreen
from tui_app.ui.dialogs.stats import StatsScreen
from tui_app.ui.panels.output_tail import OutputTail

WHERE: dict[str, Callable[[Deck], Awaitable[None]]] = {}
"""Scenes that lead to each place where foreign text is shown."""

NASTY_BYTES = b"\xff\xfe half \xf0\x9f and \xed\xa0\xbd"
"""Bytes that are not valid UTF-8."""


def place(scene: Callable[[Deck], Awaitable[None]]) -> Callable[[Deck], Awaitable[None]]:
    WHERE[scene.__name__] = scene
    return scene


async def has_rows(deck: Deck) -> None:
    options = deck.app.screen.query_one(OptionList)
    await deck.until(lambda: options.option_count, "the rows")


@place
async def search(deck: Deck) -> None:
    await deck.send("/sessions")
    await at(deck, SessionsScreen)
    await deck.press("f7")
    await at(deck, SearchScreen)
    deck.app.screen.query_one(Input).value = "beacon"
    await has_rows(deck)


@place
async def stats(deck: Deck) -> None:
    await deck.send("/stats")
    await at(deck, StatsScreen)
    await deck.says("beacon")


@place
async def earlier_prompts(deck: Deck) -> None:
    await deck.press("ctrl+r")
    await at(deck, PromptsScreen)
    await has_rows(deck)


@place
async def fork(deck: Deck) -> None:
    await deck.send("/fork")
    await at(deck, PromptPicker)
    await has_rows(deck)


@place
async def checkpoints(deck: Deck) -> None:
    await deck.send("/session checkpoints")
    await at(deck, CheckpointsScreen)
    await has_rows(deck)


def storable(kinds: str) -> str:
    """All texts of some kinds that can be stored; neither a log nor a server accepts lone surrogates."""
    return " ".join(NASTY[name] for name in TOGETHER[kinds]).encode("utf-8", "replace").decode()


@pytest.mark.parametrize("kinds", TOGETHER)
async def test_lists_are_safe_with_the_layout_intact(served: Desk, kinds: str) -> None:
    told = story(storable(kinds))
    # Earlier prompts are listed for the current folder only.
    told.start = replace(told.start, cwd=str(served.cwd))
    told.model = f"beacon {storable(kinds)}"[:300]
    told.answer("By a model with such a name.")
    async with shown(served.app(served.store(told)), WIDE) as deck:
        await deck.ready()
        async for size, (where, scene) in each_in_a_size(deck, WHERE.items(), (WIDE, USUAL), kinds):
            await scene(deck)
            assert "beacon" in deck.text, where
            await assert_intact(deck, size, where)
            while deck.app.screen is not deck.app.chat:
                await deck.press("escape")
            deck.editor.focus()


@pytest.mark.parametrize("kinds", TOGETHER)
async def test_an_answer_is_safe_while_it_arrives(served: Desk, fake_openai: FakeOpenAI, kinds: str) -> None:
    go_on = Signal()
    # Chunks of fixed size split escape sequences and combined characters.
    text = f"beacon {storable(kinds)}"
    fake_openai.add(Text(text, chunks=41, hold=go_on, hold_after=20))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("Go on.")
        await (await fake_openai.request(1)).paused.wait()
        if kinds != "long":
            await deck.says("beacon")
        await assert_intact(deck, USUAL, "in the middle")
        go_on.set()
        await deck.answered()
        await assert_intact(deck, USUAL, "at the end")


@pytest.mark.parametrize("kinds", TOGETHER)
async def test_the_output_of_a_command_is_safe_while_it_runs(
    served: Desk, fake_openai: FakeOpenAI, kinds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)
    fake_openai.add(tool("run_command", command="cat told.txt; read x < pipe"), Text("Done."))
    os.mkfifo(served.cwd / "pipe")
    told = b"beacon\n" + NASTY_BYTES + b"\n" + storable(kinds).encode() + b"\nlighthouse\n"
    (served.cwd / "told.txt").write_bytes(told)
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("y")
        tail = deck.app.chat.query_one(OutputTail)
        await deck.until(lambda: tail.display and "lighthouse" in tail.output, "the output")
        assert "lighthouse" in deck.text
        await assert_intact_at_all(deck, (WIDE, USUAL), "while it runs")
        await asyncio.to_thread((served.cwd / "pipe").write_text, "go\n")
        await deck.answered()
        await assert_intact_at_all(deck, (WIDE, USUAL), "its result")
