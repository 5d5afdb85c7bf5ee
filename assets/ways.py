"""The ways that lead to the screens of the pictures: keys a person presses, and what is waited for."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from unittest import mock

from beside import SERVERS
from ferry import TURNS
from make_screenshots import PROJECT, draft, in_detail, in_models, shown
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, TextArea

from tui_app.agent.mcp.servers import McpServers
from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.dialogs.compaction import SummaryEditor
from tui_app.ui.dialogs.message import MessageScreen
from tui_app.ui.dialogs.models import SwitchDialog
from tui_app.ui.dialogs.questions import FilesDialog
from tui_app.ui.dialogs.sessions.session_search import SearchScreen
from tui_app.ui.dialogs.setup.key_entry import KeyDialog
from tui_app.ui.prompt.completion import OfferList
from tui_app.ui.widgets.hint_row import HintRow
from tui_app.ui.widgets.long_text import LongText

Drive = Callable[[Pilot[int]], Awaitable[None]]


def command(line: str, *keys: str, over: bool = True) -> Drive:
    """Type a slash command, then press keys."""

    async def drive(pilot: Pilot[int]) -> None:
        await typed(pilot, line)
        if over:
            await shown(pilot)
        await listed(pilot)
        await pilot.press(*keys)

    return drive


async def typed(pilot: Pilot[int], line: str) -> None:
    """Put a prompt or command into the editor at once, and send it."""
    await draft(pilot, line)
    await pilot.press("enter")


async def until(pilot: Pilot[int], condition: Callable[[], object]) -> None:
    """Wait for something."""
    while not condition():
        await pilot.pause(0.05)


async def listed(pilot: Pilot[int]) -> None:
    """Wait until the lists of the screen are filled."""
    for options in pilot.app.screen.query(OptionList):
        while options.display and not options.option_count:
            await pilot.pause(0.05)


async def in_review(pilot: Pilot[int]) -> None:
    """The proposal of a compaction by hand."""
    await command("/compact --review")(pilot)
    for text in pilot.app.screen.query(TextArea):
        text.cursor_blink = False


async def in_editor(pilot: Pilot[int]) -> None:
    """A draft of two lines, and the files that could go along."""
    await draft(pilot, "Compare the board\nwith ")
    await pilot.press(*"@h")
    offers = pilot.app.screen.query_one(OfferList)
    while not offers.is_open:
        await pilot.pause(0.05)


async def in_timeline(pilot: Pilot[int]) -> None:
    """The timeline with the mark on the compaction."""
    await pilot.press("tab", "tab", "end", "up", "up")


async def in_question(pilot: Pilot[int]) -> None:
    """A tool asks before it changes a file."""
    await typed(pilot, "write board.py: print(sailings(today))")
    box = pilot.app.screen.query_one(ApprovalBox)

    def answerable() -> bool:
        # Until it is laid out, the box does not know that all of the question is seen.
        shown = [hint[:2] for row in box.query(HintRow) for hint in row.hints]
        return box.question is not None and box.has_focus and ("y", "yes") in shown

    await until(pilot, answerable)


async def in_approvals(pilot: Pilot[int]) -> None:
    """The rules, and what was decided by a rule and by the person."""
    await typed(pilot, "write drafts/sundays.md: Sunday is weekday 0.")
    await answered(pilot, 1)
    await in_question(pilot)
    await pilot.press("n")
    # A letter that others follow at once begins a word.
    await until(pilot, lambda: isinstance(pilot.app.screen.focused, Input))
    await pilot.press(*"keep it", "enter")
    await answered(pilot, 2)
    await command("/approvals")(pilot)


async def in_rewind_files(pilot: Pilot[int]) -> None:
    """Going back to before two files were written, one of which has changed since."""
    for number, name in enumerate(("board", "sundays", "tides")):
        await typed(pilot, f"write drafts/{name}.md: From the harbour office.")
        await answered(pilot, number + 1)
    (PROJECT / "drafts" / "tides.md").write_text("Asked again.\n", encoding="utf-8")
    await command("/rewind", "down", "down", "enter")(pilot)
    await until(pilot, lambda: isinstance(pilot.app.screen, FilesDialog))


async def answered(pilot: Pilot[int], count: int) -> None:
    """Wait until so many answers were given here, and nothing runs."""
    session = pilot.app.chat.session

    def answers() -> int:
        return sum(entry.kind == "assistant" for entry in session.presenter.view.entries)

    await until(pilot, lambda: answers() >= count + len(TURNS) and not session.state.busy)


async def in_search(pilot: Pilot[int]) -> None:
    """What was said in all sessions."""
    await command("/sessions", "f7")(pilot)
    await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
    await steady(pilot)
    await pilot.press(*"sunday")
    await until(pilot, lambda: pilot.app.screen.query_one(OptionList).option_count)


async def in_summary(pilot: Pilot[int]) -> None:
    """The summary of a compaction, to be edited."""
    await in_detail(pilot)
    await pilot.press("e")
    await until(pilot, lambda: isinstance(pilot.app.screen, SummaryEditor))
    await steady(pilot)


async def in_message(pilot: Pilot[int]) -> None:
    """One message in full."""
    await pilot.press("tab", "end", "up", "ctrl+o")
    await until(pilot, lambda: isinstance(pilot.app.screen, MessageScreen))
    await until(pilot, lambda: pilot.app.screen.query_one(LongText).virtual_size.height > 1)


async def in_pins(pilot: Pilot[int]) -> None:
    """Two messages that stay word for word."""
    pins = pilot.app.chat.session.presenter.agent_view.pins
    for number, which in enumerate(("#2", "last")):
        await typed(pilot, f"/pin {which}")
        await until(pilot, lambda number=number: len(pins) > number)
    await command("/pin")(pilot)


async def in_servers(pilot: Pilot[int]) -> None:
    """Every MCP server, with its tools; none is started."""
    # Till the picture is drawn: the screen asks again and again.
    mock.patch.object(McpServers, "statuses", return_value=SERVERS).start()
    await command("/mcp")(pilot)
    await steady(pilot)


async def in_switch(pilot: Pilot[int]) -> None:
    """The choice of a model that is too small for the conversation."""
    await command("/model harbour:deck-4b")(pilot)
    await until(pilot, lambda: isinstance(pilot.app.screen, SwitchDialog))


async def in_key(pilot: Pilot[int]) -> None:
    """The choice of a model whose key is missing."""
    await in_models(pilot)
    await listed(pilot)
    await pilot.press(*"anthropic", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, KeyDialog))
    await steady(pilot)


async def in_palette(pilot: Pilot[int]) -> None:
    """What the browser keeps the keys of."""
    await pilot.press("ctrl+p")
    await shown(pilot)
    await pilot.press(*"time")
    await until(pilot, lambda: pilot.app.screen.query_one(OptionList).option_count)
    await steady(pilot)


async def in_queue(pilot: Pilot[int]) -> None:
    """Three things that wait; nothing runs that could begin them."""
    session = pilot.app.chat.session
    waiting = ("and which other checks take zero for missing?", "Run the tests of the parser.", "/compact")
    session.presenter.update(replace(session.state, queue=waiting, paused=True))
    await command("/queue")(pilot)


async def in_prompts(pilot: Pilot[int]) -> None:
    """The prompts that were sent in this folder."""
    await pilot.press("ctrl+r")
    await shown(pilot)
    await listed(pilot)


async def steady(pilot: Pilot[int]) -> None:
    """No cursor blinks into the picture."""
    for field in pilot.app.screen.query("Input, TextArea"):
        field.cursor_blink = False
