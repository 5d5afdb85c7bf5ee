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

from make_screenshots import (  # noqa: E402
    PATHS,
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
from textual.widgets import OptionList, TextArea  # noqa: E402

from tui_app.context.events import AssistantMessage, SessionStart, Trigger, UserMessage  # noqa: E402
from tui_app.conversation.writers import SummaryWriters  # noqa: E402
from tui_app.session.store import Store  # noqa: E402
from tui_app.ui.widgets.offer_list import OfferList  # noqa: E402

TARGET = HERE.parent / "docs" / "screens"
OTHERS = ("Tide notes for March", "Fares of the night boats", "Harbour plan, first draft")
"""Titles of other sessions."""
FILES = ("board.py", "harbours.csv", "notes on holidays.md")
DAY = 86_400
Drive = Callable[[Pilot[int]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Picture:
    """One screen, and the keys that lead to it."""

    name: str
    drive: Drive
    says: str
    """Words that must stand in it."""
    compacted: bool = False


def command(line: str, *keys: str, over: bool = True) -> Drive:
    """Type a slash command, then press keys."""

    async def drive(pilot: Pilot[int]) -> None:
        await pilot.press(*("space" if letter == " " else letter for letter in line), "enter")
        if over:
            await shown(pilot)
        await listed(pilot)
        await pilot.press(*keys)

    return drive


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


PICTURES: Sequence[Picture] = (
    Picture("chat", in_chat, "timetable/board.py:52"),
    Picture("timeline", in_timeline, "checkpoint 001", compacted=True),
    Picture("compaction", in_detail, "Sundays in the ferry import", compacted=True),
    Picture("context", in_context, "tool definitions"),
    Picture("review", in_review, "Review the summary before it is applied"),
    Picture("models", in_models, "harbour:deck-4b"),
    Picture("sessions", command("/sessions"), "Fares of the night boats"),
    Picture("rewind", command("/rewind"), "leave the model's view"),
    Picture("settings", command("/settings"), "background_threshold"),
    Picture("themes", command("/theme"), "plimsoll-light"),
    Picture("editor", in_editor, "harbours.csv"),
    Picture("help", command("/help"), "Compact the conversation"),
    Picture("stats", command("/stats"), "Tokens saved by stage", compacted=True),
)


def write_others(clock: Clock) -> None:
    """Sessions and files beside the conversation."""
    for name in FILES:
        (PROJECT / name).write_text("day,time\n", encoding="utf-8")
    store = Store(PATHS.database)
    for number, title in enumerate(OTHERS):
        clock.now -= DAY
        with mock.patch("secrets.token_hex", return_value=f"0b5e55{number:02x}"):
            session = store.create(
                SessionStart(cwd=str(PROJECT), model="harbour:deck-14b", title=title), time=clock()
            )
        store.append(session, UserMessage(text=title), None, time=clock())
        store.append(session, AssistantMessage(text="Noted."), None, time=clock())
    store.close()


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
    ):
        session = write_session(clock, compacted=picture.compacted)
        now = clock.now
        write_others(clock)
        clock.now = now
        return asyncio.run(draw(session, picture.drive))


def main(target: Path) -> None:
    """Draw all of them into a folder."""
    for picture in PICTURES:
        (target / f"{picture.name}.svg").write_text(drawn(picture), encoding="utf-8")
        print(f"{picture.name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if sys.argv[1:] else TARGET)
