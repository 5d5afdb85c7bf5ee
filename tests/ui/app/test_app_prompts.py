"""ctrl+r: what was said before in this folder, in this session and others."""

import pytest
from textual.widgets import Input, OptionList

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, Deck, Desk, shown
from tui_app.session.prompts import PastPrompt
from tui_app.ui.dialogs.prompts import PromptsScreen, listed, prompt_line


def rows(deck: Deck) -> list[str]:
    return [str(option.prompt)[18:] for option in deck.app.screen.query_one(OptionList).options]


async def search(deck: Deck, *keys: str) -> None:
    await deck.press("ctrl+r")
    await deck.until(lambda: isinstance(deck.app.screen, PromptsScreen), "the search")
    await deck.press(*keys)
    await deck.settle()


def earlier(desk: Desk) -> None:
    """Sessions of this folder and of another one."""
    here = str(desk.cwd)
    desk.store(Story("ferry", cwd=here).user("When does the ferry leave?").answer("At ten."))
    desk.store(Story("tides", cwd=here).user("Compare\nthe tides").answer("Done."))
    desk.store(Story("other", cwd="/elsewhere").user("Never shown here").answer("Right."))


async def test_prompts_of_earlier_sessions_come_back_into_the_prompt(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    earlier(served)
    fake_openai.add(Text("Noted."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("and on Sundays?")
        await deck.answered()
        await search(deck)
        assert rows(deck)[0] == "and on Sundays?"
        assert sorted(rows(deck)[1:]) == ["Compare the tides", "When does the ferry leave?"]
        await deck.press(*"tides", "enter")
        await deck.until(lambda: deck.editor.text == "Compare\nthe tides", "the prompt")
        assert deck.editor.has_focus
        assert len(fake_openai.journal) == 1, "it is written, not sent"


async def test_escape_gives_the_draft_back_and_choosing_keeps_it_one_step_away(served: Desk) -> None:
    earlier(served)
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.type("a draft")
        await search(deck, *"tides", "escape")
        assert deck.editor.text == "a draft"
        await search(deck, *"tides", "enter")
        await deck.until(lambda: deck.editor.text == "Compare\nthe tides", "the prompt")
        await deck.press("up", "up")
        assert deck.editor.text == "a draft"


async def test_cleared_drafts_are_found_too(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.type("never sent")
        await deck.press("ctrl+c")
        await search(deck)
        assert rows(deck) == ["never sent"]
        assert "this session" in deck.text
        await deck.press("enter")
        await deck.until(lambda: deck.editor.text == "never sent", "the draft")


async def test_nothing_found_is_said_and_enter_does_nothing(served: Desk) -> None:
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await search(deck)
        assert "Nothing was said in this folder yet." in deck.text
        await deck.press("enter")
        assert isinstance(deck.app.screen, PromptsScreen)
    earlier(served)
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await search(deck, *"zzz", "enter")
        assert "No prompt holds all of that." in deck.text


async def test_the_command_and_the_search_box(served: Desk) -> None:
    earlier(served)
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("/prompts")
        await deck.until(lambda: isinstance(deck.app.screen, PromptsScreen), "the search")
        assert deck.app.screen.query_one(Input).has_focus
        assert deck.app.screen.query_one("#dialog-hints").region.bottom <= 24


def test_what_is_in_the_log_is_not_listed_twice() -> None:
    logged = [PastPrompt(text="b", time=2.0), PastPrompt(text="a", time=1.0)]
    assert [prompt.text for prompt in listed(["a", "/copy", "b", "/copy"], logged)] == ["/copy", "b", "a"]


@pytest.mark.parametrize("width", [40, 72, 112])
def test_rows_are_clean_and_fit(width: int) -> None:
    line = prompt_line(PastPrompt(text="\x1b[31m[bold]\n" + "long " * 50, time=1_760_000_000), width)
    assert line.cell_length <= width
    assert "[bold] long" in line.plain
    assert "\x1b" not in line.plain
