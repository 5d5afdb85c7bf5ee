"""The checkpoint files of a session, one per compaction."""

import asyncio
from pathlib import Path, PurePath
from typing import Any, ClassVar

from textual.app import App
from textual.content import Content

from tui_app.events import CheckpointCreated
from tui_app.records import frozen
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.details import DetailsScreen, file_text
from tui_app.ui.dialogs.list import ListSpec, OpenList
from tui_app.ui.widgets.tables import MUTED, Column
from tui_app.ui.words.text import one_line


@frozen(kw_only=True)
class CheckpointRow:
    """One checkpoint."""

    title: str
    """Its number and title."""
    path: str
    standing: bool
    """Whether its compaction is in effect; an undone or rewound one keeps its file."""


def checkpoint_text(row: CheckpointRow) -> Content:
    """Return its title, and whether it was undone."""
    return Content.assemble(one_line(row.title, 400), ("" if row.standing else "  undone", MUTED))


class CheckpointsScreen(OpenList[CheckpointRow]):
    """Requests opening a checkpoint."""

    SPEC: ClassVar[ListSpec[Any]] = ListSpec[CheckpointRow](
        name="checkpoints",
        search="filter by title",
        columns=(Column(checkpoint_text),),
        title=lambda _: "Checkpoints",
        note=lambda row: f"checkpoints/{one_line(PurePath(row.path).name, 200)}",
        empty="No matching checkpoint.",
        enter="open",
        key=lambda row: row.path,
    )


async def show_checkpoints(app: App[Any], session: ChatSession) -> None:
    """List the checkpoints and open the chosen files, until the list is closed."""
    rows = await _checkpoints(session)
    if not rows:
        none = "There is no checkpoint yet. One is written whenever the conversation is compacted."
        await app.push_screen_wait(DetailsScreen("Checkpoints", none))
        return
    screen = CheckpointsScreen(rows)
    app.push_screen(screen)
    while (wish := await screen.next_request()) and wish.row:
        path = Path(wish.row.path)
        await app.push_screen_wait(DetailsScreen(path.name, await asyncio.to_thread(file_text, path)))
        screen.show(await _checkpoints(session))


async def _checkpoints(session: ChatSession) -> list[CheckpointRow]:
    active = session.presenter.agent_view.compactions
    rows, compaction = list[CheckpointRow](), 0
    entries = session.presenter.view.entries
    written = await session.bodies.records([entry.seq for entry in entries if entry.kind == "checkpoint"])
    for entry in entries:
        if entry.kind == "compaction" and entry.state in ("ok", "undone"):
            compaction = entry.seq
        record = written.get(entry.seq)
        if record is not None and isinstance(record.data, CheckpointCreated):
            # The folder may have been moved since.
            path = session.folder / "checkpoints" / Path(record.data.path).name
            rows.append(CheckpointRow(title=entry.title, path=str(path), standing=compaction in active))
    return rows
