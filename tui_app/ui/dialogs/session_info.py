"""What a session is, holds, did and cost: in words, in figures as they grow, and its checkpoint files."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui_app.conversation.policies import choose_policy, policy_names
from tui_app.events import CheckpointCreated
from tui_app.git import Git
from tui_app.memory.scope import DETACHED, scope_of
from tui_app.records import frozen
from tui_app.session.preview import StatsReader
from tui_app.session.stats import SessionStats
from tui_app.settings.spec import SessionServer
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.details import DetailsScreen, file_text, labelled
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.extensions import overview, status_lines
from tui_app.ui.dialogs.list import ListSpec, OpenList
from tui_app.ui.gauge import marks
from tui_app.ui.launch import Launch
from tui_app.ui.load import Load
from tui_app.ui.reports import audit_lines, read_audit, sections
from tui_app.ui.tables import MUTED, Column
from tui_app.ui.text import cost, count, one_line

# In words.

WEB_SEARCH = "by providers that offer it, at their price for each search"


async def show_status(app: App[Any], session: ChatSession) -> None:
    """Model, policy, context and session at a glance."""
    state, launch = session.state, session.launch
    background, blocking = marks(launch.settings, state.usage, state.policy)
    filled = Load(state.usage, background, blocking).text
    branch = await asyncio.to_thread(_branch, launch)
    rows = (
        ("Session", session.id or "not started"),
        ("Folder", str(launch.cwd)),
        ("Branch", branch),
        *(("" if number else "Added", one_line(str(each), 200)) for number, each in enumerate(launch.added)),
        ("Model", state.model),
        ("Effort", state.effort or launch.settings.thinking),
        ("Policy", state.policy),
        ("Context", filled.replace("·", session.glyphs.separator)),
        ("Cost", "unknown" if state.costs.usd is None else cost(state.costs.usd)),
        ("Web search", WEB_SEARCH if launch.settings.web_search else ""),
        ("Files", str(session.folder)),
        ("Kept on", launch.database.shown if isinstance(launch.database, SessionServer) else ""),
    )
    told = (line for label, each in rows if each for line in labelled(label, [each]))
    lines = [*told, *status_lines(await overview(session))]
    await app.push_screen_wait(DetailsScreen("Status", "\n".join(lines)))


def _branch(launch: Launch) -> str:
    """The branch, and in words whether anything is uncommitted."""
    branch = scope_of(launch.cwd).branch
    if not branch:
        return ""
    changed = launch.trusted and Git(launch.cwd, launch.outward_env()).is_dirty()
    name = "none checked out" if branch == DETACHED else one_line(branch, 200)
    return f"{name}{', with uncommitted changes' if changed else ''}"


async def show_history(app: App[Any], session: ChatSession) -> None:
    heads = session.presenter.agent_view.visible()
    entries = session.presenter.view.entries
    turns = sum(entry.kind == "user" and entry.state != "failed" for entry in entries)
    lines = [
        f"{count(turns, 'turn')}, {count(len(entries), 'row')} in the conversation.",
        f"{count(len(heads), 'message')} in the next request.",
    ]
    text = "\n".join(lines) if entries else "Nothing has been said yet."
    await app.push_screen_wait(DetailsScreen("History", text))


async def show_audit(app: App[Any], session: ChatSession) -> None:
    """What the compactions of the session lost; the log is read, and replayed, in a thread."""
    launch = session.launch

    def read() -> str:
        if not session.id:
            return "Nothing has been said yet."
        policies = [choose_policy(launch.settings, name) for name in policy_names(launch.settings)]
        try:
            found = read_audit(launch.database, session.id, policies=policies)
        except (sqlite3.Error, OSError) as error:
            return f"The log cannot be read: {error}. Try /audit again."
        return "\n".join(audit_lines(found.to_json()))

    await app.push_screen_wait(DetailsScreen("Audit", read))


# In figures.

LOOK_S = 1.0
"""Seconds between two looks at the log while the screen is open."""


class StatsScreen(Dialog[None], place="stats", style="stats", size="-full"):
    """Scrollable figures that follow the log."""

    def __init__(self, stats: SessionStats, read: Callable[[], Awaitable[SessionStats]]) -> None:
        """Show figures.

        Args:
            stats: The figures so far.
            read: Brings them up to date, without holding up the screen.
        """
        super().__init__("Statistics")
        self._stats, self._read = stats, read

    def body(self) -> ComposeResult:
        with VerticalScroll(id="stats-scroll"):
            yield Static(self._content(), id="stats-figures", markup=False)

    def on_mount(self) -> None:
        """Scroll with the keys; look at the log now and then."""
        self.query_one("#stats-scroll").focus()
        self.run_worker(self._follow(), exit_on_error=False)

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            stats = await self._read()
            if stats != self._stats:
                self._stats = stats
                self.query_one("#stats-figures", Static).update(self._content())

    def _content(self) -> Content:
        blocks = [
            Content("\n").join([Content.styled(section.title, "bold"), *map(Content, section.lines)])
            for section in sections(self._stats)
        ]
        content = Content("\n\n").join(blocks)
        self.whole = content.plain
        return content


async def show_stats(app: App[Any], session: ChatSession) -> None:
    """Show what the session did and cost; the log is read in a thread."""
    reader = StatsReader(session.launch.database, session.id)

    async def again() -> SessionStats:
        with suppress(sqlite3.Error, OSError):  # the next look may succeed
            await asyncio.to_thread(reader.read)
        return reader.known

    await app.push_screen_wait(StatsScreen(await asyncio.to_thread(reader.read), again))


# The checkpoints of a session: one a compaction; enter opens the file.


@frozen(kw_only=True)
class CheckpointRow:
    """One checkpoint."""

    title: str
    """Its number and title."""
    path: str
    standing: bool
    """Whether its compaction stands; one that was undone or left behind keeps its file."""


def checkpoint_text(row: CheckpointRow) -> Content:
    """Its title, and whether it was undone."""
    return Content.assemble(one_line(row.title, 400), ("" if row.standing else "  undone", MUTED))


class CheckpointsScreen(OpenList[CheckpointRow]):
    """Wants a checkpoint to be opened."""

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
    """List the checkpoints, and open the files that are chosen, until the list is closed."""
    rows = await _checkpoints(session)
    if not rows:
        none = "There is no checkpoint yet. One is written whenever the conversation is compacted."
        await app.push_screen_wait(DetailsScreen("Checkpoints", none))
        return
    screen = CheckpointsScreen(rows)
    app.push_screen(screen)
    while (wish := await screen.wanted()) and wish.row:
        path = Path(wish.row.path)
        await app.push_screen_wait(DetailsScreen(path.name, await asyncio.to_thread(file_text, path)))
        screen.show(await _checkpoints(session))


async def _checkpoints(session: ChatSession) -> list[CheckpointRow]:
    standing = session.presenter.agent_view.compactions
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
            rows.append(CheckpointRow(title=entry.title, path=str(path), standing=compaction in standing))
    return rows
