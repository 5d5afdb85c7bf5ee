"""Opening a session, or another conversation, for a command."""

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.cli.core.command import Program
from tui_app.cli.core.failures import for_shell
from tui_app.cli.core.output import tell
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.work import Work
from tui_app.events import HookRan, Notice, Record

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.audits.transcript import Recorded


@asynccontextmanager
async def opened_session(opening: Opening) -> AsyncIterator["OpenSession"]:
    """Open a session for writing; report hooks that fail."""
    # Imported here: loading the agent side takes a second.
    from tui_app.conversation.assembly import open_session

    def tell_hook(record: Record) -> None:
        if isinstance(record.data, HookRan) and record.data.outcome != "ok":
            tell(record.data.headline())

    opened = open_session(opening)
    opened.bus.listen(tell_hook)
    try:
        yield opened
    finally:
        await opened.close()


async def carry_out(opened: "OpenSession", work: Work) -> list[Record]:
    """Run work in an open session; return everything that happened meanwhile."""
    records: list[Record] = []
    opened.bus.listen(records.append)
    opened.conversation.submit(work)
    await opened.conversation.settle()
    return records


def notices_in(records: Iterable[Record]) -> list[str]:
    """Return the texts of notices, reworded for the command line. They explain why nothing was done."""
    return [for_shell(each.data.text) for each in records if isinstance(each.data, Notice)]


DEMO = "demo"
"""Name of the recording that ``plimsoll demo`` plays."""


@contextmanager
def recorded(program: Program, source: str) -> "Iterator[Recorded]":
    """Open a file, the demo's recording, or a session, whose store stays open in the block."""
    from tui_app.conversation.audits.transcript import recorded_file, recorded_session
    from tui_app.demo.stage import data_file

    if (path := Path(source)).exists():
        yield recorded_file(path)
    elif source == DEMO:
        # With the invented summary from the tour.
        summary = data_file("invented.md").read_text("utf-8")
        yield recorded_file(data_file("session.jsonl"), DEMO, summary=summary)
    else:
        with program.sessions() as store:
            yield recorded_session(store, source)
