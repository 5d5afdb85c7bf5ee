"""The context screen on a real session: each key is one event of the log, and the screen follows it."""

import re

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.events import MessagePinned, Payload, RewriteUndone, ToolArchived, ToolOffloaded
from tui_app.session.agent_view import fold_agent_view
from tui_app.ui.dialogs.context import ContextScreen
from tui_app.ui.request_ledger import LedgerList
from tui_app.ui.text import tokens
from tui_app.ui.transcript.transcript import Transcript

TEXT = "".join(f"{number}: the tide comes in twice a day at the northern pier\n" for number in range(400))


def story() -> Story:
    return (
        Story("tide")
        .user("When is the tide?")
        .tool("read_file", '{"path": "tide.txt"}', TEXT, tokens=6_000)
        .answer("Twice a day.")
        .user("Thank you.")
        .answer("Welcome.")
    )


async def opened(deck: Deck) -> None:
    await deck.ready()
    await deck.press("f3")
    await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the context screen")


def marked(deck: Deck) -> str:
    """The state of the marked row in words."""
    ledger = deck.app.screen.query_one(LedgerList)
    rows = [row for row in deck.rows if f"#{ledger.marked.seq}" in row] if ledger.marked else []
    return "".join(rows)


def stored(desk: Desk, session: str, kind: type[Payload]) -> list[Payload]:
    with desk.log() as log:
        return [record.data for record, _ in log.records(session) if isinstance(record.data, kind)]


async def test_pin_archive_offload_and_take_back_are_an_event_each(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await opened(deck)
        await deck.says("after o: ")
        await deck.press("p")
        await deck.until(lambda: "pinned, visible" in marked(deck), "the pin")
        await deck.says("pinned 6.")
        await deck.until(lambda: "after" not in deck.text, "nothing to do with what is pinned")
        await deck.press("a")
        await deck.says("This message is pinned: it stays as it is until it is unpinned.")
        await deck.press("p")
        await deck.until(lambda: "pinned" not in marked(deck), "no pin")
        await deck.says("after o: ")
        await deck.press("o")
        await deck.until(lambda: "in read_file" in marked(deck), "the file")
        await deck.says("saved so far: offload")
        await deck.says("u: ")
        await deck.press("u")
        await deck.until(lambda: " visible" in marked(deck), "the old form")
        await deck.says("after o: ")
        await deck.press("a")
        await deck.until(lambda: "archived" in marked(deck), "the stub")
        gauge = deck.gauge
        assert gauge in deck.text
        live = deck.app.chat.session.presenter.agent_view
        with served.log() as log:
            assert fold_agent_view(log.heads(session)) == live
    pins = stored(served, session, MessagePinned)
    assert [pin.pinned for pin in pins if isinstance(pin, MessagePinned)] == [True, False]
    for kind in (ToolOffloaded, RewriteUndone, ToolArchived):
        assert len(stored(served, session, kind)) == 1


async def test_a_found_item_is_shown_in_the_chat(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await opened(deck)
        await deck.press("slash", *"tool result", "enter")
        await deck.says("1 of 6")
        await deck.press("enter")
        await deck.until(lambda: not isinstance(deck.app.screen, ContextScreen), "the chat")
        entry = deck.transcript.cursor_entry
        assert entry is not None
        assert entry.kind == "tool"


async def test_plain_signs_only(served: Desk) -> None:
    session = served.change(plain=True).store(story())
    async with shown(served.app(session), WIDE) as deck:
        await opened(deck)
        await deck.says("after o: ")
        assert deck.text.isascii()


async def test_several_items_are_marked_with_one_preview_before_anything_is_done(served: Desk) -> None:
    session = served.store(
        story().tool("read_file", '{"path": "other.txt"}', TEXT, tokens=6_000).answer("The same.").user("So?")
    )
    async with shown(served.app(session), WIDE) as deck:
        await opened(deck)
        before = deck.app.chat.session.state.usage
        await deck.press("space", "space")
        await deck.says("2 marked, after o: ")
        [row] = [row for row in deck.rows if "2 marked" in row]
        promised = row.partition("o: ")[2].partition("% ")[0]
        assert not deck.app.chat.session.presenter.agent_view.rewrites, "nothing is done yet"
        assert sum("✓" in row for row in deck.rows) == 2
        await deck.press("o")
        view = deck.app.chat.session.presenter.agent_view
        await deck.until(lambda: len(view.rewrites) == 2, "both in files")
        await deck.until(lambda: f"Context   {promised}% of" in deck.text, "what was promised")
        after = deck.app.chat.session.state.usage
        assert before is not None
        assert after is not None
        assert after.total < before.total - 5_000
        await deck.press("space", "space")
        await deck.says("2 marked")
        await deck.press("escape")
        await deck.until(lambda: "2 marked" not in deck.text, "no marks")
        assert isinstance(deck.app.screen, ContextScreen)


async def test_a_result_is_stale_once_its_file_holds_something_else(served: Desk) -> None:
    (served.cwd / "tide.txt").write_text("twice\n")
    told = Story("stale").user("?").tool("read_file", '{"path": "tide.txt"}', "1\ttwice").answer("Twice.")
    session = served.store(told)
    async with shown(served.app(session), WIDE) as deck:
        await opened(deck)
        await deck.says("visible  #5")
        await deck.press("escape")
        (served.cwd / "tide.txt").write_text("once\n")
        await deck.press("f3")
        await deck.says("stale: the file has changed since  #5")
        await deck.press("escape")
        (served.cwd / "tide.txt").unlink()
        await deck.press("f3")
        await deck.says("stale: the file is gone  #5")


async def test_items_are_on_the_scale_of_the_figures_above_them(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    """The model counts more tokens than its texts were counted for, and says so."""
    fake_openai.add(Text("Ebb.", usage=(9_000, 60)))
    session = served.store(Story("tide").user("Why?", 1_400).answer("So.", 1_600))
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await deck.send("And?")
        await deck.answered()
        await opened(deck)
        await deck.says("#2")
        items = {row.split()[-2]: row.split()[1] for row in deck.rows if re.search(r"#\d+ +│", row)}
        bars = [re.match(r"│ (.*?) +([\d,]+) .*━", row) for row in deck.rows]
        figures = {bar[1]: int(bar[2].replace(",", "")) for bar in bars if bar}
        assert figures["answers"] > 1_700, "a factor was learnt"
        # The rest of either is the newest turn's.
        assert items["#3"] == tokens(round(1_600 * figures["answers"] / 1_601))
        assert items["#2"] == tokens(round(1_400 * figures["you"] / 1_401))


async def test_a_message_has_one_size_wherever_it_is_shown(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Ebb.", usage=(9_000, 60)))
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        before = size_in(deck.rows, r"read_file tide.txt.* ([\d.]+k) tok")
        await deck.send("And?")
        await deck.answered()
        inside = size_in(deck.rows, r"read_file tide.txt.* ([\d.]+k) tok")
        beside = size_in(deck.rows, r"read_file tide.txt *([\d.]+k)$")
        await opened(deck)
        await deck.says("#5")
        listed = size_in(deck.rows, r"([\d.]+k) .*read_file tide.txt.* #5")
        assert before != inside == beside == listed
        await deck.press("escape")
        deck.app.chat.query_one(Transcript).focus()
        await deck.press("home", "down", "down", "ctrl+o")
        await deck.says(f"{listed} tokens")


def size_in(rows: list[str], pattern: str) -> str:
    return next(found[1] for row in rows if (found := re.search(pattern, row.rstrip())))
