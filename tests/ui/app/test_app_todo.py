"""The todo panel: under the timeline, above the prompt where there is no room, and as plain text."""

import pytest

from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, in_plain, shown
from tui_app.ui.panels.todo import TodoItem, TodoPanel, is_open, read_todos, todo_lines

ITEMS = (TodoItem("add easter()", "done"), TodoItem("use it", "doing"), TodoItem("test it"))


def keep(*items: TodoItem) -> Tool:
    return tool("todo", items=[{"text": item.text, "state": item.state} for item in items])


def panels(deck: Deck) -> list[str]:
    """Ids of the visible panels."""
    found = deck.app.chat.query(TodoPanel)
    return [panel.id or "" for panel in found if panel.region.height and panel.display and panel.items]


async def test_a_list_is_shown_while_it_is_open_and_follows_what_is_done(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    served.change(read_only=False)
    done = [item._replace(state="done") for item in ITEMS]
    fake_openai.add(keep(*ITEMS), Text("Begun."), keep(*done), Text("Done."), keep(), Text("Gone."))
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await deck.send("Go.")
        await deck.answered()
        await deck.says("1 of 3")
        for words in ("✓ add easter()", "● use it", "☐ test it"):
            assert words in deck.text, words
        assert panels(deck) == ["todo"]
        assert "☐ 1 of 3  use it" in deck.text
        await deck.press("f8")
        await deck.until(lambda: not panels(deck), "no panel")
        await deck.press("f8")
        await deck.until(lambda: panels(deck) == ["todo"], "the panel")
        # Without a timeline the panel stays where it is.
        await deck.press("ctrl+t")
        await deck.until(lambda: not deck.app.chat.pane.timeline.region.height, "no timeline")
        assert panels(deck) == ["todo"]
        assert "● use it" in deck.text
        await deck.send("Finish.")
        await deck.answered(2)
        await deck.says("3 of 3")
        await deck.send("Empty it.")
        await deck.answered(3)
        assert not panels(deck)
        await deck.send("/todo")
        await deck.says("There is no todo list")


@pytest.mark.parametrize("size", [USUAL, SMALL], ids=["80x24", "40x12"])
async def test_where_there_is_no_room_a_key_shows_it_above_the_prompt(
    served: Desk, fake_openai: FakeOpenAI, size: tuple[int, int]
) -> None:
    served.change(read_only=False)
    many = [TodoItem(f"step {number}", "done" if number < 4 else "pending") for number in range(20)]
    fake_openai.add(keep(*many), Text("Begun."))
    async with shown(served.app(), size) as deck:
        await deck.ready()
        await deck.send("Go.")
        await deck.answered()
        assert not panels(deck)
        await deck.press("f8")
        await deck.until(lambda: panels(deck) == ["todo-low"], "the panel")
        await deck.says("4 of 20")
        if size == USUAL:
            for words in ("☐ step 4", "more"):
                assert words in deck.text, words
        rows = ("#transcript", "#todo-low", "#prompt-row", "#gauge", "#hints")
        places = [deck.app.chat.query_one(row).region for row in rows]
        assert all(place.height > 0 for place in places)
        assert places[-1].bottom == size[1]
        await deck.press("f8")
        await deck.until(lambda: not panels(deck), "no panel")


async def test_a_resumed_session_has_its_list_and_a_finished_one_is_out_of_the_way(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    served.change(read_only=False)
    fake_openai.add(keep(*ITEMS), Text("Begun."), keep(ITEMS[0]), Text("Done."))
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await deck.send("Go.")
        await deck.answered()
        session = deck.app.chat.session.id
    async with shown(served.app(session), WIDE) as deck:
        await deck.says("● use it")
        await deck.ready()
        await deck.send("Finish.")
        await deck.answered(2)
        await deck.until(lambda: not panels(deck), "no panel")


def test_foreign_text_is_no_list_and_no_markup() -> None:
    assert read_todos("nothing\n- [y] x\n- [ ]\n* [x] y\n- [x] a [b]\x1b[31m") == (
        TodoItem("a [b]\x1b[31m", "done"),
    )
    [_, line] = todo_lines(read_todos("- [x] a [b]\x1b[31m"), 40, 5)
    assert line.plain.startswith("✓ a [b]")
    assert "\x1b" not in line.plain
    assert not is_open(read_todos("- [x] done"))


@pytest.mark.parametrize("rows", range(1, 8))
@pytest.mark.parametrize("done", [0, 3, 6])
def test_a_long_list_fits_its_rows_and_shows_what_is_next(rows: int, done: int) -> None:
    items = [TodoItem(f"step {at}", "done" if at < done else "pending") for at in range(6)]
    lines = [line.plain for line in todo_lines(items, 30, rows)]
    assert len(lines) == min(rows, 7)
    assert lines[0].endswith(f"{done} of 6")
    if rows > 1:
        assert any(f"step {min(done, 5)}" in line for line in lines)
    assert all(in_plain(line).isascii() for line in lines)
