"""Draws a picture of each screen for its page: ``python assets/make_screens.py [FOLDER]``.

On the invented conversation of ``make_screenshots.py``, with the same program, the same on every machine.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from beside import RULES, WHO, write_board, write_others, write_skills, write_transcripts  # noqa: E402
from make_screenshots import (  # noqa: E402
    Author,
    Clock,
    draw,
    elsewhere,
    in_chat,
    in_context,
    in_detail,
    in_models,
    no_servers,
    write_read_files,
    write_session,
)
from ways import (  # noqa: E402
    Drive,
    command,
    in_approvals,
    in_editor,
    in_key,
    in_message,
    in_palette,
    in_pins,
    in_prompts,
    in_question,
    in_queue,
    in_review,
    in_rewind_files,
    in_search,
    in_servers,
    in_summary,
    in_switch,
    in_timeline,
)

from tui_app.conversation.compactions.summary_writers import SummaryWriters  # noqa: E402
from tui_app.events import Trigger  # noqa: E402
from tui_app.settings import OFFLINE_MODEL  # noqa: E402

TARGET = HERE.parent / "docs" / "screens"


@dataclass(frozen=True, slots=True)
class Picture:
    """One screen, and the keys that lead to it."""

    name: str
    drive: Drive
    says: str
    """Words that must stand in it."""
    compacted: bool = False
    beside: Callable[[Clock], None] | None = None
    """Writes what only this picture needs."""
    title: str = "Plimsoll"
    """What the window is called."""
    model: str = ""
    """Who answers; empty is the model of the conversation."""


PICTURES: Sequence[Picture] = (
    Picture("chat", in_chat, "timetable/board.py:52"),
    Picture("timeline", in_timeline, "checkpoint 001", compacted=True),
    Picture("compaction", in_detail, "Sundays in the ferry import", compacted=True),
    Picture("context", in_context, "waits at"),
    Picture("review", in_review, "Proposal"),
    Picture("models", in_models, "harbour:deck-4b"),
    Picture("approvals", in_approvals, "keep everywhere", model=OFFLINE_MODEL),
    Picture("question", in_question, "y yes", model=OFFLINE_MODEL),
    Picture("checkpoints", command("/session checkpoints"), "checkpoint 001", compacted=True),
    Picture("summary", in_summary, "Edit the summary", compacted=True),
    Picture("message", in_message, "copy all"),
    Picture("pins", in_pins, "tokens of the next request"),
    Picture("memory", command("/memory"), "Sunday is zero", beside=write_board),
    Picture("import", command("/import"), "Which"),
    Picture("search", in_search, "Search all sessions"),
    Picture("files", in_rewind_files, "Conversation and files", model=OFFLINE_MODEL),
    Picture("sessions", command("/sessions"), "Fares of the night boats"),
    Picture("rewind", command("/rewind"), "leave the model's view"),
    Picture("settings", command("/settings"), "background_threshold"),
    Picture("themes", command("/theme"), "plimsoll-light"),
    Picture("editor", in_editor, "harbours.csv"),
    Picture("queue", in_queue, "Run the tests of the parser."),
    Picture("prompts", in_prompts, "How does it treat low water?"),
    Picture("switch", in_switch, "Compact and switch"),
    Picture("key", in_key, "ANTHROPIC_API_KEY"),
    Picture("mcp", in_servers, "tides_low_water"),
    Picture("skills", command("/skills"), "public holidays", beside=write_skills),
    Picture("tools", command("/tools"), "switch off or on"),
    Picture("web", in_palette, "Timeline", title="127.0.0.1:8420"),
    Picture("help", command("/help"), "what fills the context"),
    Picture("palette", in_palette, "Show or hide the timeline"),
    Picture("stats", command("/stats"), "Tokens saved by stage", compacted=True),
)


def author(_writers: SummaryWriters, _trigger: Trigger) -> tuple[Author, ...]:
    """The one summary of the pictures."""
    return (Author(),)


def drawn(picture: Picture) -> str:
    """The picture as SVG."""
    clock = Clock()
    with (
        ExitStack() as behind,
        elsewhere(),
        no_servers(),
        mock.patch("time.time", clock),
        mock.patch.object(SummaryWriters, "choose", author),
        # Nobody is still writing when a question comes up.
        mock.patch("tui_app.ui.approvals.QUIET_S", 0.0),
        mock.patch("tui_app.ui.chat.pane.QUIET_S", 0.01),
    ):
        behind.callback(mock.patch.stopall)
        session = write_session(clock, compacted=picture.compacted)
        now = clock.now
        write_others(clock)
        clock.now = now
        if picture.beside:
            picture.beside(clock)
        write_transcripts(clock)
        write_read_files()
        return asyncio.run(
            draw(
                session,
                picture.drive,
                model=picture.model,
                approvals=RULES,
                env={"HOME": str(WHO), "PLIMSOLL_TRUST": "/", "SOURCE_DATE_EPOCH": "1767323045"},
                title=picture.title,
            )
        )


def main(target: Path) -> None:
    """Draw all of them into a folder."""
    for picture in PICTURES:
        (target / f"{picture.name}.svg").write_text(drawn(picture), encoding="utf-8")
        print(f"{picture.name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if sys.argv[1:] else TARGET)
