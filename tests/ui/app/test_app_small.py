"""The smallest terminal: what matters is there, whole, and has its keys."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import DONE, SCENES, compacted_talk, compared, long_question, talk
from tests.ui.app.story import MODEL, Story
from tests.ui.kit import SMALL, Deck, Desk, shown
from tests.ui.plans import SWITCH, proposed
from tui_app.ui.dialogs.compaction import CompactionDetail
from tui_app.ui.dialogs.models import SwitchDialog
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.rewind import PromptPicker
from tui_app.ui.timeline import Timeline
from tui_app.ui.widgets import HintRow

PLAN = replace(SWITCH, target="dinghy:scripted", current="")
PROPOSED = proposed(DONE)


@pytest.fixture
def small(desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return desk.serve(fake_openai).change(model=MODEL)


async def compaction(deck: Deck, undone: bool = False) -> None:
    await SCENES["compaction"](deck)
    if undone:
        screen = deck.app.screen
        assert isinstance(screen, CompactionDetail)
        view = replace(screen._view, undone=True, original="Other words.")
        await deck.press("escape")
        await deck.app.push_screen(CompactionDetail(view))
        await compared(deck)


@pytest.mark.parametrize("undone", [False, True], ids=["stands", "edited and undone"])
async def test_a_compaction_shows_its_parts_and_keys(small: Desk, undone: bool) -> None:
    async with shown(small.app(small.store(compacted_talk())), SMALL) as deck:
        await deck.ready()
        await compaction(deck, undone)
        for number, name in enumerate(("Summary", "Facts", "Left 4", "Stayed", "Diff", "Numbers"), 1):
            assert f"< {number} of 6 >  {name}" in deck.text
            assert "esc close" in deck.text
            assert ("undone" in deck.text) is undone
            assert deck.app.screen.focused is not None
            assert deck.app.screen.focused.region.height >= 3
            assert deck.app.screen.focused.region.bottom < 12
            await deck.press("right_square_bracket")
        assert "< 1 of 6 >" in deck.text


async def test_every_tab_of_a_compaction_has_its_name_where_there_is_little_room(small: Desk) -> None:
    async with shown(small.app(small.store(compacted_talk())), (64, 24)) as deck:
        await deck.ready()
        await compaction(deck)
        (names,) = [row for row in deck.rows if "Facts" in row and "Diff" in row]
        assert names.strip(" │").split("  ")[-1] == "Numbers"
        await deck.pilot.resize_terminal(100, 24)
        await deck.says("What left 4")
        await deck.pilot.resize_terminal(*SMALL)
        await deck.says("< 1 of 6 >")


async def test_a_long_draft_leaves_the_gauge_and_its_own_last_line(small: Desk) -> None:
    async with shown(small.app(), SMALL) as deck:
        await deck.ready()
        await deck.type("\n".join(f"line {number}" for number in range(1, 10)))
        await deck.says("line 9")
        assert deck.rows[-2].strip().endswith("ok")
        assert "? keys" in deck.rows[-1]


async def test_the_timeline_over_the_chat_begins_at_its_left_edge(small: Desk) -> None:
    async with shown(small.app(small.store(compacted_talk())), SMALL) as deck:
        await deck.ready()
        await SCENES["timeline"](deck)
        assert any(row.lstrip(" │").startswith("Timeline") for row in deck.rows)


async def test_the_context_shows_its_items_and_keys(small: Desk) -> None:
    async with shown(small.app(small.store(compacted_talk())), SMALL) as deck:
        await deck.ready()
        await SCENES["context"](deck)
        await deck.press("down")
        await deck.settle()
        assert "esc close" in deck.rows[10]
        assert deck.app.screen.query_one("#context-items").region.height >= 4


async def test_a_question_shows_what_would_be_written_and_scrolls_by_pages(small: Desk) -> None:
    async with shown(small.app(small.store(talk())), SMALL) as deck:
        await deck.ready()
        await long_question(deck)
        await deck.says("+ferry 0")
        assert "/dev/null" not in deck.text
        for words in ("y once", "a session", "n no", "pgdn more"):
            assert words in deck.text
        await deck.press("pagedown")
        await deck.says("+ferry 3")
        assert "+ferry 0" not in deck.text
        await deck.press("pageup")
        await deck.says("+ferry 0")
        await deck.pilot.resize_terminal(80, 24)
        await deck.says("--- /dev/null")


async def test_a_name_that_is_cut_off_stands_in_the_diff(small: Desk) -> None:
    """Then its header says what file it is."""
    async with shown(small.app(small.store(talk())), SMALL) as deck:
        await deck.ready()
        await long_question(deck)
        session = deck.app.chat.session
        assert session.state.question is not None
        name = "a/folder/with/a/very/long/name/ferries.txt"
        session.presenter.update(
            replace(session.state, question=replace(session.state.question, id="2.1", subject=name))
        )
        await deck.says("--- /dev/null")


@pytest.mark.parametrize(
    ("screen", "ways"),
    [
        (lambda: ReviewScreen(PROPOSED, clock=lambda: 0.0), ("Apply", "Edit", "Focus", "Discard")),
        (lambda: SwitchDialog(PLAN, clock=lambda: 0.0), ("Compact and switch", "Switch anyway", "Cancel")),
    ],
    ids=["review", "switch"],
)
async def test_every_way_is_seen(
    small: Desk, screen: Callable[[], "ReviewScreen | SwitchDialog"], ways: tuple[str, ...]
) -> None:
    async with shown(small.app(small.store(talk())), SMALL) as deck:
        await deck.ready()
        await deck.app.push_screen(screen())
        await deck.settle()
        for way in ways:
            assert any(row.strip(" │").startswith(way) for row in deck.rows), deck.text
        keys = deck.app.screen.query_one(HintRow)
        assert keys.region.bottom <= 11
        assert "enter choose" in deck.text


async def test_the_marked_way_says_in_full_what_it_does(small: Desk) -> None:
    async with shown(small.app(small.store(talk())), SMALL) as deck:
        await deck.ready()
        await deck.app.push_screen(SwitchDialog(PLAN, clock=iter(range(0, 1000, 10)).__next__))
        await deck.says("stay on the present model")
        await deck.press("up")
        await deck.says("drops the oldest 61k for each request, keeps the last 9 turns")


@pytest.mark.parametrize("plain", [False, True])
async def test_the_rewind_list_has_the_room_there_is(small: Desk, plain: bool) -> None:
    app = small.change(plain=plain).app(small.store(Story().turns(9)))
    async with shown(app, SMALL) as deck:
        await deck.ready()
        await deck.send("/rewind")
        await deck.until(lambda: isinstance(deck.app.screen, PromptPicker), "the prompts")
        assert sum("question" in row for row in deck.rows) >= 7
        assert "would leave the model's" in deck.text
        assert "enter rewind   esc close" in deck.text


async def test_a_timeline_over_the_chat_has_the_room_there_is(small: Desk) -> None:
    async with shown(small.app(small.store(Story().turns(9))), SMALL) as deck:
        await deck.ready()
        await deck.press("ctrl+t")
        await deck.settle()
        assert deck.app.chat.query_one(Timeline).size.height >= 8
        assert sum("question" in row or "answer" in row for row in deck.rows) >= 7
        assert deck.editor.region.height == 1
        await deck.press("ctrl+t")
        await deck.settle()
        assert "question 0" in deck.rows[0], "the title is back"
