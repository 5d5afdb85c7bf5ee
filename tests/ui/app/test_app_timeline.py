"""The timeline in the whole app: enter opens a compaction, and one over the chat goes out of the way."""

import re

import pytest

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tui_app.events import CompactionComplete
from tui_app.ui.dialogs.actions import GO_BACK
from tui_app.ui.dialogs.compaction import CompactionDetail

DONE = CompactionComplete(
    job="j",
    outcome="success",
    trigger="manual",
    title="tide",
    summary="# Intent\nThe tide.",
    removed=((2, 3),),
)


def story() -> Story:
    return Story().turns(1).compacted(DONE).turns(2)


async def in_timeline(deck: Deck) -> None:
    timeline = deck.app.chat.pane.timeline
    if not timeline.display:
        await deck.press("ctrl+t")
    timeline.focus()
    await deck.settle()


@pytest.mark.parametrize("size", [WIDE, USUAL])
async def test_enter_on_a_compaction_opens_it_and_leads_to_its_place(
    served: Desk, size: tuple[int, int]
) -> None:
    async with shown(served.app(served.store(story())), size) as deck:
        await deck.ready()
        await in_timeline(deck)
        await deck.press("f", "f", "f", "home", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the compaction")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat)
        assert deck.app.focused is deck.transcript
        assert deck.transcript.cursor_entry is not None
        assert deck.transcript.cursor_entry.kind == "compaction"


async def test_enter_on_another_row_only_shows_it_and_uncovers_the_chat(served: Desk) -> None:
    async with shown(served.app(served.store(story())), USUAL) as deck:
        await deck.ready()
        await in_timeline(deck)
        await deck.press("home", "enter")
        await deck.settle()
        assert deck.app.screen is deck.app.chat
        assert not deck.app.chat.pane.timeline.region
        assert "question 0" in deck.text


@pytest.mark.parametrize("inside", [True, False], ids=["in the timeline", "in the prompt"])
async def test_esc_closes_a_timeline_that_lies_over_the_chat(served: Desk, *, inside: bool) -> None:
    async with shown(served.app(served.store(story())), USUAL) as deck:
        await deck.ready()
        await in_timeline(deck)
        if not inside:
            deck.editor.focus()
        await deck.press("escape")
        await deck.until(lambda: not deck.app.chat.pane.timeline.region, "the chat alone")
        assert deck.app.focused is deck.editor
        assert GO_BACK not in deck.text


async def test_esc_in_the_prompt_stops_what_runs_before_it_closes_the_timeline(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(HangMidStream())
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("talk")
        await deck.says("These words arrive")
        await deck.press("ctrl+t")
        await deck.until(lambda: deck.app.chat.pane.timeline.has_focus, "the keys")
        deck.editor.focus()
        await deck.press("escape")
        await deck.idle()
        assert deck.app.chat.pane.timeline.region
        await deck.press("escape")
        await deck.until(lambda: not deck.app.chat.pane.timeline.region, "the chat alone")


async def test_over_the_chat_it_has_the_keys_and_goes_for_an_answer(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("It is ebb."))
    async with shown(served.app(served.store(story())), SMALL) as deck:
        await deck.ready()
        pane = deck.app.chat.pane
        await deck.press("ctrl+t")
        await deck.until(lambda: pane.timeline.has_focus, "the keys")
        await deck.until(lambda: "esc back" in deck.hints, "the way back")
        await deck.press("up")
        assert deck.editor.text == "", "no earlier prompt"
        await deck.press("ctrl+t")
        await deck.until(lambda: deck.editor.has_focus, "the prompt")
        await deck.press("ctrl+t")
        await deck.type("is it ebb?")
        await deck.until(lambda: deck.editor.text == "is it ebb?", "letters go to the prompt")
        await deck.press("enter")
        await deck.says("It is ebb.")
        assert not pane.timeline.region


async def test_the_bottom_row_names_what_tab_goes_to(served: Desk) -> None:
    async with shown(served.app(served.store(story())), WIDE) as deck:
        await deck.ready()
        deck.transcript.focus()
        for name in ("timeline", "prompt", "timeline"):
            await deck.until(lambda name=name: f"tab {name}" in deck.hints, name)  # type: ignore[misc]
            await deck.press("ctrl+t")


async def test_the_bottom_row_says_what_the_keys_do_where_the_focus_is(served: Desk) -> None:
    async with shown(served.app(served.store(story())), WIDE) as deck:
        await deck.ready()
        assert "ctrl+g compact" in deck.hints
        await in_timeline(deck)
        await deck.until(lambda: "f rows of one kind" in deck.hints)
        assert "ctrl+g" not in deck.hints
        deck.transcript.focus()
        for hint in ("up to a row", "ctrl+o details", "? keys"):
            await deck.until(lambda hint=hint: hint in deck.hints, hint)  # type: ignore[misc]
        assert not re.search("enter|pin|mark|undo|compact|from here", deck.hints), "there is no row yet"
        await deck.press("up")
        for hint in ("enter open", "v mark", "? keys"):
            await deck.until(lambda hint=hint: hint in deck.hints, hint)  # type: ignore[misc]
        await deck.press("v")
        await deck.until(lambda: "1 marked" in deck.hints and "a archive" in deck.hints)
        await deck.press("escape")
        await deck.until(lambda: "v mark" in deck.hints)
        deck.editor.focus()
        await deck.until(lambda: "ctrl+g compact" in deck.hints)


@pytest.mark.parametrize("size", [WIDE, USUAL])
async def test_keys_of_marked_rows_are_named_where_they_act_and_else_the_way_there(
    served: Desk, size: tuple[int, int]
) -> None:
    async with shown(served.app(served.store(Story("Ferries").turns(2))), size) as deck:
        await deck.ready()
        deck.transcript.focus()
        await deck.press("up", "v")
        await deck.until(lambda: "1 marked" in deck.hints and "y text" in deck.hints)
        deck.editor.focus()
        await deck.until(lambda: "1 marked   tab rows   esc unmarks" in deck.hints, "the way there")
        assert "y text" not in deck.hints
        assert "ctrl+g compact" in deck.hints
        await deck.press("y")
        assert deck.editor.text == "y"
        await deck.press("tab")
        await deck.until(lambda: "y text" in deck.hints, "the keys that act")
        assert deck.app.focused is deck.transcript
        deck.editor.focus()
        await deck.press("escape")
        await deck.until(lambda: "marked" not in deck.hints, "no marks")
        deck.transcript.focus()
        await deck.press("v")
        await deck.until(lambda: "1 marked" in deck.hints)
        deck.app.chat.pane.timeline.display = True
        deck.app.chat.pane.timeline.focus()
        await deck.until(lambda: "enter show it" in deck.hints, "what the timeline does")
        assert "y text" not in deck.hints
