"""Draws a picture of each screen for its page: ``python assets/make_screens.py [FOLDER]``.

On the invented conversation of ``make_screenshots.py``, with the same program, the same on every machine.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from beside import RULES, WHO, write_board, write_others, write_transcripts  # noqa: E402
from ferry import TURNS  # noqa: E402
from make_screenshots import (  # noqa: E402
    PROJECT,
    Author,
    Clock,
    draw,
    elsewhere,
    in_chat,
    in_context,
    in_detail,
    in_models,
    no_servers,
    shown,
    write_session,
)
from textual.pilot import Pilot  # noqa: E402
from textual.widgets import Input, OptionList, TextArea  # noqa: E402

from tui_app.context.events import Trigger  # noqa: E402
from tui_app.conversation.writers import SummaryWriters  # noqa: E402
from tui_app.settings import OFFLINE_MODEL  # noqa: E402
from tui_app.ui.screens.message import MessageScreen  # noqa: E402
from tui_app.ui.screens.rewind_files import RewindFiles  # noqa: E402
from tui_app.ui.screens.search import SearchScreen  # noqa: E402
from tui_app.ui.screens.summary_editor import SummaryEditor  # noqa: E402
from tui_app.ui.widgets.approval_box import ApprovalBox  # noqa: E402
from tui_app.ui.widgets.long_text import LongText  # noqa: E402
from tui_app.ui.widgets.offer_list import OfferList  # noqa: E402

TARGET = HERE.parent / "docs" / "screens"
Drive = Callable[[Pilot[int]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Picture:
    """One screen, and the keys that lead to it."""

    name: str
    drive: Drive
    says: str
    """Words that must stand in it."""
    compacted: bool = False
    remembered: bool = False
    """Whether something stands on the board of the folder."""
    model: str = ""
    """Who answers; empty is the model of the conversation."""


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
    """Type a prompt or command, and send it."""
    await pilot.press(*("space" if letter == " " else letter for letter in line), "enter")


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
    await pilot.press(*"Compare", "space", *"the", "space", *"board", "ctrl+j", *"with", "space", *"@h")
    offers = pilot.app.screen.query_one(OfferList)
    while not offers.is_open:
        await pilot.pause(0.05)


async def in_timeline(pilot: Pilot[int]) -> None:
    """The timeline with the mark on the compaction."""
    await pilot.press("shift+tab", "end", "up", "up")


async def in_question(pilot: Pilot[int]) -> None:
    """A tool asks before it changes a file."""
    await typed(pilot, "write board.py: print(sailings(today))")
    box = pilot.app.screen.query_one(ApprovalBox)
    await until(pilot, lambda: box.question and box.has_focus)


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
    await until(pilot, lambda: isinstance(pilot.app.screen, RewindFiles))


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
    await pilot.press("shift+tab", "shift+tab", "end", "up", "ctrl+o")
    await until(pilot, lambda: isinstance(pilot.app.screen, MessageScreen))
    await until(pilot, lambda: pilot.app.screen.query_one(LongText).virtual_size.height > 1)


async def in_pins(pilot: Pilot[int]) -> None:
    """Two messages that stay word for word."""
    pins = pilot.app.chat.session.presenter.agent_view.pins
    for number, which in enumerate(("#2", "last")):
        await typed(pilot, f"/pin {which}")
        await until(pilot, lambda number=number: len(pins) > number)
    await command("/pin")(pilot)


async def steady(pilot: Pilot[int]) -> None:
    """No cursor blinks into the picture."""
    for field in pilot.app.screen.query("Input, TextArea"):
        field.cursor_blink = False


PICTURES: Sequence[Picture] = (
    Picture("chat", in_chat, "timetable/board.py:52"),
    Picture("timeline", in_timeline, "checkpoint 001", compacted=True),
    Picture("compaction", in_detail, "Sundays in the ferry import", compacted=True),
    Picture("context", in_context, "tool definitions"),
    Picture("review", in_review, "Review the summary before it is applied"),
    Picture("models", in_models, "harbour:deck-4b"),
    Picture("approvals", in_approvals, "keep for later", model=OFFLINE_MODEL),
    Picture("question", in_question, "from now on", model=OFFLINE_MODEL),
    Picture("checkpoints", command("/session checkpoints"), "Checkpoints · 1", compacted=True),
    Picture("summary", in_summary, "Edit the summary", compacted=True),
    Picture("message", in_message, "copy all"),
    Picture("pins", in_pins, "tokens of the next request"),
    Picture("memory", command("/memory"), "Sunday is zero", remembered=True),
    Picture("import", command("/import"), "Which harbours have no night boat?"),
    Picture("search", in_search, "Search all sessions"),
    Picture("files", in_rewind_files, "Conversation and files", model=OFFLINE_MODEL),
    Picture("sessions", command("/sessions"), "Fares of the night boats"),
    Picture("rewind", command("/rewind"), "leave the model's view"),
    Picture("settings", command("/settings"), "background_threshold"),
    Picture("themes", command("/theme"), "plimsoll-light"),
    Picture("editor", in_editor, "harbours.csv"),
    Picture("help", command("/help"), "Compact the conversation"),
    Picture("stats", command("/stats"), "Tokens saved by stage", compacted=True),
)


def author(_writers: SummaryWriters, _trigger: Trigger) -> tuple[Author, ...]:
    """The one summary of the pictures."""
    return (Author(),)


def drawn(picture: Picture) -> str:
    """The picture as SVG."""
    clock = Clock()
    with (
        elsewhere(),
        no_servers(),
        mock.patch("time.time", clock),
        mock.patch.object(SummaryWriters, "choose", author),
        # Nobody is still writing when a question comes up.
        mock.patch("tui_app.ui.widgets.approval_box.QUIET_S", 0.0),
        mock.patch("tui_app.ui.widgets.chat_pane.QUIET_S", 0.01),
    ):
        session = write_session(clock, compacted=picture.compacted)
        now = clock.now
        write_others(clock)
        clock.now = now
        if picture.remembered:
            write_board(clock)
        write_transcripts(clock)
        return asyncio.run(
            draw(session, picture.drive, model=picture.model, approvals=RULES, env={"HOME": str(WHO)})
        )


def main(target: Path) -> None:
    """Draw all of them into a folder."""
    for picture in PICTURES:
        (target / f"{picture.name}.svg").write_text(drawn(picture), encoding="utf-8")
        print(f"{picture.name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if sys.argv[1:] else TARGET)
