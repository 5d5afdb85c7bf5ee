"""Opening a session for the length of a command."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tui_app.cli.core.failures import for_shell
from tui_app.cli.core.output import tell
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.work import Work
from tui_app.events import HookRan, Notice, Record

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession


@asynccontextmanager
async def opened_session(opening: Opening) -> AsyncIterator["OpenSession"]:
    """Open a session for writing; hooks that do not simply go well are told."""
    # The agent side takes a second to load: only for those who need it.
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
    """Have something done in an open session; everything that happened meanwhile."""
    heard: list[Record] = []
    opened.bus.listen(heard.append)
    opened.conversation.submit(work)
    await opened.conversation.settle()
    return heard


def notices_in(records: Iterable[Record]) -> list[str]:
    """What was told meanwhile, worded for a shell; where nothing was done, why."""
    return [for_shell(each.data.text) for each in records if isinstance(each.data, Notice)]
