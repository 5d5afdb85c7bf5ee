"""Earlier sessions: open one, name one, delete one after a question, or search what was said in all."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import partial
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len
from textual.app import App
from textual.content import Content
from textual.worker import Worker

from tui_app.context.storage_errors import StorageError
from tui_app.records import frozen
from tui_app.session.background import standings_of, where_open
from tui_app.session.database import has_begun, open_store
from tui_app.session.lock import SessionLocked
from tui_app.session.management import delete_session, rename_session
from tui_app.session.preview import StatsReader
from tui_app.session.search import Found, Searched, searching
from tui_app.session.stats import SessionStats
from tui_app.session.store import SessionInfo, SessionNotFound, explained
from tui_app.ui.dialogs.actions import may_leave, what_leaving_costs
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.list import Asked, ListDialog, ListSpec
from tui_app.ui.dialogs.questions import ConfirmDialog, EditDialog
from tui_app.ui.keys import Hint
from tui_app.ui.launch import Launch
from tui_app.ui.tables import MUTED, Column
from tui_app.ui.text import clean, cost, count, from_home, one_line, tokens, window_text
from tui_app.usage import percent_text

if TYPE_CHECKING:
    from tui_app.ui.chat.session import ChatSession
    from tui_app.ui.host import Host


_NO_OTHER = "There is no other session yet."


def last_used(moment: datetime, now: datetime) -> str:
    """``23:53`` today, ``yesterday``, ``Monday`` within a week, else the date."""
    days = (now.date() - moment.date()).days
    if not 0 <= days < 7:
        return f"{moment:%Y-%m-%d}"
    return (f"{moment:%H:%M}", "yesterday")[days] if days < 2 else _WEEKDAYS[moment.weekday()]


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""In English whatever the locale is, as everything else."""


THIS_ONE = "  this one"
"""Behind the title of the session that is open here."""


def spent_text(stats: SessionStats | None) -> tuple[str, str]:
    """How often a session was compacted, and what it has cost: ``3×``, ``$1.90``; empty where it was not.

    ``$1.90+`` where a part of it has no known price.
    """
    if stats is None:
        return "", ""
    made = sum(row.count - row.undone for row in stats.compactions if row.outcome in ("success", "imported"))
    usd, unpriced = stats.cost_usd, "+" if stats.unpriced else ""
    return f"{made}×" if made else "", f"{cost(usd)}{unpriced}" if usd else "?" * len(unpriced)


_NARROW, _ROOMY = 50, 90
"""Cells of a row from which it has its columns, and from which it says what a session has spent."""


class SessionsScreen(ListDialog[SessionInfo], place="sessions"):
    """Dismisses with the session to ``open``, ``rename`` or ``delete``, or with the wish to ``search``."""

    def __init__(
        self,
        rows: Sequence[SessionInfo],
        *,
        current: str = "",
        windows: Mapping[str, int] = MappingProxyType({}),
        held: Callable[[str], str] = lambda _: "",
        here: str = "",
        home: str = "",
        stats: Callable[[str], SessionStats] | None = None,
        tz: tzinfo | None = None,
    ) -> None:
        """Offer sessions.

        Args:
            rows: Newest first.
            current: Id of the one that is open here, which stays as it is; another one is marked at first.
            windows: Tokens that models hold, where that is known.
            held: Says where the session with an id is open, empty where it is not; asked in a thread.
            here: The folder whose sessions come first.
            home: The user's own folder.
            stats: Reads what the session with an id has done, in a thread; may raise ``sqlite3.Error``.
            tz: Time zone of the dates; ``None`` for that of the machine.
        """
        self._current, self._held, self._read_stats = current, held, stats
        self.standing: Mapping[str, str] = {}
        """By id, how those stand that were left in the background."""
        known: dict[str, SessionStats] = {}
        self._stats = known
        """By session, as far as they are read."""

        def name(row: SessionInfo, cells: int) -> Content:
            mark = self._mark(row, cells)
            return Content.assemble(one_line(row.title, cells - cell_len(mark)) or "untitled", (mark, MUTED))

        def moment(row: SessionInfo) -> datetime:
            return datetime.fromtimestamp(row.updated, tz)

        def used(row: SessionInfo) -> str:
            return last_used(moment(row), datetime.now(tz))

        def turns(row: SessionInfo) -> str:
            return f"{known[row.id].turns:,}" if row.id in known else ""

        def few_turns(row: SessionInfo) -> str:
            return f"{turns(row):>4} {'turn ' if turns(row) == '1' else 'turns'}"

        def spent(row: SessionInfo) -> tuple[str, str]:
            return spent_text(known.get(row.id))

        def folder(cwd: str) -> str:
            return one_line(from_home(PurePath(cwd), home), 80)

        def note(row: SessionInfo) -> str:
            if row.id == current and len(rows) == 1:
                return _NO_OTHER
            window = windows.get(row.model, 0)
            # What was never sent has not been counted.
            held = f"{tokens(row.tokens)} of {window_text(window)}, {percent_text(row.tokens, window)}"
            full = f"opens with {held} · " if window and row.tokens else ""
            return f"{full}{one_line(row.id, 40)} · {one_line(row.model, 40)} · {folder(row.cwd)}"

        spec = ListSpec[SessionInfo](
            name="sessions",
            search="filter by title, folder or model",
            columns=(
                Column(title="session", fitted=name),
                Column(few_turns, 11, "", right=True, comes_below=_NARROW),
                Column(lambda row: f"{moment(row):%m-%d}", 7, right=True, comes_below=_NARROW),
                Column(turns, 7, "", "turns", right=True, leaves_at=_NARROW),
                Column(size_text, 10, "", "context", right=True, leaves_at=_NARROW),
                Column(lambda row: spent(row)[0], 11, "", "compacted", right=True, leaves_at=_ROOMY),
                Column(lambda row: spent(row)[1], 9, "", "cost", right=True, leaves_at=_ROOMY),
                Column(used, 12, MUTED, "last used", right=True, leaves_at=_NARROW),
            ),
            title=lambda it: " · ".join(["Sessions", *(folder(row.cwd) for row in it.shown[:1])]),
            words=lambda row: f"{row.title} {row.cwd} {row.model} {row.id} {self.standing.get(row.id, '')}",
            note=note,
            empty="No matching session.",
            none=_NO_OTHER,
            acts_without_row=("f7", "esc"),
            section=lambda row: row.cwd,
            head=folder,
        )
        # By folder: this one, then the one used last.
        folders = list(dict.fromkeys((here, *(row.cwd for row in rows))))
        super().__init__(sorted(rows, key=lambda row: folders.index(row.cwd)), spec)

    def _mark(self, row: SessionInfo, cells: int) -> str:
        """What stands behind the title of a session."""
        if (standing := self.standing.get(row.id)) is not None:
            return f"  {one_line(standing, max(8, cells // 2))}"
        return THIS_ONE if row.id == self._current else ""

    def on_mount(self) -> None:
        """List the sessions; what each has spent comes later."""
        if self._read_stats is not None:
            self.run_worker(self._count(self._read_stats), group="stats", exit_on_error=False)

    async def _count(self, read: Callable[[str], SessionStats]) -> None:
        """Read what each session has spent, the newest first: a log may be long, and the list is there."""
        with suppress(StorageError, OSError, sqlite3.Error):
            for row in self.rows:
                self._stats[row.id] = await asyncio.to_thread(read, row.id)
                self.repaint(row)

    def first(self) -> int:
        return next((at for at, row in enumerate(self.shown) if row.id != self._current), 0)

    def use(self, row: SessionInfo) -> None:
        self.dismiss(Asked("open", row))

    async def action_delete(self) -> None:
        """Ask, then dismiss with the session to delete; one that is open elsewhere cannot be."""
        if (row := self.marked) is None:
            return
        if row.id == self._current:
            self.note("This is the session you are in. Open another one to delete it.")
        elif who := await asyncio.to_thread(self._held, row.id):
            self.note(f"This session is open in {who}. Close it there first.")
        else:
            title = one_line(row.title, 60) or "untitled"
            question = f'Delete session "{title}"? {count(row.messages, "message")}, cannot be undone.'
            self.ask(ConfirmDialog(question), lambda _: Asked("delete", row))


def size_text(row: SessionInfo) -> str:
    """How much its next request holds."""
    return tokens(row.tokens) if row.tokens else "?"


# Everything that was ever said, in any session: words are typed, hits appear, one is opened at its place.

_WHO = {
    "user.message": "user",
    "assistant.message": "answer",
    "tool.call": "call",
    "tool.result": "tool",
    "session.compaction_complete": "summary",
}
_ROOMY_HITS = 100
"""Cells of a row from which a hit has the whole date, and more of the session's title."""
SLOW_S = 0.2
"""Seconds after which a search says how far it is; one that is sooner done would only flicker."""
Search = Callable[[str, Callable[[], bool]], Generator[Searched, None, None]]
"""Searches for words, and asks whether to stop; each step is taken in a thread."""
_HELP = 'Words in any order, "words side by side", or the beginning of one as harb*'


class SearchFailed(Exception):
    """The sessions cannot be searched; the text says why to a user."""


def snippet(found: Found, cells: int) -> Content:
    """The words around a hit, which is set off and stays in sight."""
    # Cleaned piece by piece, so that the places still fit.
    pieces: list[tuple[str, str]] = []
    at = 0
    for start, end in found.hits:
        pieces += [(_safe(found.snippet[at:start]), ""), (_safe(found.snippet[start:end]), "bold underline")]
        at = end
    pieces.append((_safe(found.snippet[at:]), ""))
    whole = Content.assemble(*pieces)
    if found.hits and found.hits[0][1] > cells:
        # In a narrow window what goes before the hit must not push it out.
        whole = Content.assemble("… ", whole[max(0, found.hits[0][0] - cells // 3) :])
    return whole.truncate(cells, ellipsis=True)


def _safe(text: str) -> str:
    return clean(text, keep_newlines=False)


def title_of(searched: Searched | None, state: Literal["", "looking", "stopped"]) -> str:
    """The first row: how far the search is, where that is worth saying."""
    title = "Search all sessions"
    if not state:
        return title
    done = f"{searched.sessions:,} of {searched.of:,}" if searched is not None and searched.of else ""
    if state == "looking":
        return f"{title} · {f'{done} searched' if done else 'searching'} · esc stops"
    return f"{title} · stopped{f' at {done}' if done else ''}"


class SearchScreen(ListDialog[Found], place="search"):
    """Dismisses with the hit to open, or ``None``. Searching never holds up typing, and can be stopped."""

    def __init__(self, search: Search, *, tz: tzinfo | None = None) -> None:
        """Offer a search.

        Args:
            search: Reports the best hits so far; called in a thread, raises ``SearchFailed``.
            tz: Time zone of the dates; ``None`` for that of the machine.
        """

        def when(form: str) -> Callable[[Found], str]:
            return lambda found: datetime.fromtimestamp(found.time, tz).strftime(form)

        def title(found: Found) -> str:
            return found.title or "untitled"

        def note(found: Found) -> str:
            where = f"{found.session} #{found.seq} · {one_line(found.title, 40)} · {one_line(found.cwd, 60)}"
            return f"{count(len(self.shown), 'hit')} · {where}"

        spec = ListSpec[Found](
            name="search",
            search="search what was said in all sessions",
            columns=(
                Column(when("%Y-%m-%d %H:%M"), 18, leaves_at=_ROOMY_HITS),
                Column(when("%m-%d"), 7, comes_below=_ROOMY_HITS),
                # The words are what was searched for: where there is little room, the note names the session.
                Column(title, 26, "", gap=2, leaves_at=_ROOMY_HITS),
                Column(title, 14, "", gap=2, leaves_at=_NARROW, comes_below=_ROOMY_HITS),
                Column(lambda found: _WHO.get(found.type, ""), 9),
                Column(fitted=snippet),
            ),
            title=lambda _: title_of(None, ""),
            note=note,
            key=lambda found: (found.session, found.seq),
            least_lines=8,
            narrows=False,
        )
        super().__init__((), spec)
        self._search = search
        self._stopping: threading.Event | None = None
        """Stops the search that is under way; None while none is."""
        self._reached: Searched | None = None
        self._slow = False
        """Whether it is said how far the search is."""

    def fill(self, wanted: str) -> None:
        """Search anew; what was being searched for is forgotten."""
        self._end("")
        self._reached, self._slow = None, False
        self.workers.cancel_group(self, "search")
        if wanted.strip():
            self._stopping = threading.Event()
            # What makes a coroutine: the next letter may cancel a worker before it has begun.
            look = partial(self._look, wanted, self._stopping)
            _searching: Worker[None] = self.run_worker(look, group="search", exit_on_error=False)
        else:
            self._show((), _HELP)

    def line_up(self) -> None:
        """Paint the hits for the present width; nothing is searched anew."""
        if self.shown:
            self._show(self.shown, "", same=True)

    async def _look(self, wanted: str, stopping: threading.Event) -> None:
        slow = self.set_timer(SLOW_S, self._tell)
        parts = self._search(wanted, stopping.is_set)
        said = ""
        try:
            while (part := await asyncio.to_thread(next, parts, None)) is not None:
                same, self._reached = self._has_found, part
                if part.found:
                    self._show(part.found, "", same=same)
                if self._slow:
                    self._tell()
            said = "" if self._has_found else "No results."
        except SearchFailed as failed:
            said = str(failed)
        finally:
            slow.stop()
            # Where it is at work in a thread just now, that ends it: it asks whether it is to stop.
            with suppress(ValueError):
                parts.close()
        if said:
            self._show((), said)
        self._end("")

    @property
    def _has_found(self) -> bool:
        return self._reached is not None and bool(self._reached.found)

    def _tell(self) -> None:
        """Say how far the search is, from now on after each part."""
        self._slow = True
        self._say_how_far("looking")

    def _end(self, state: Literal["", "stopped"]) -> None:
        """End the search; what was found stays."""
        if self._stopping is not None:
            self._stopping.set()
            self._stopping = None
        if state:
            self.workers.cancel_group(self, "search")
            if not self._has_found:
                self._show((), "Stopped before anything was found.")
        self._say_how_far(state)

    def _say_how_far(self, state: Literal["", "looking", "stopped"]) -> None:
        self.write_head(title_of(self._reached, state))
        esc = Hint("esc", "stop" if state == "looking" else "close", 0, "screen.close")
        self.key_row.hints = (*(self.spec.hints[:-1] if self.shown else ()), esc)

    def _show(self, found: Sequence[Found], note: str, *, same: bool = False) -> None:
        """List hits; those of the ``same`` search keep the row that was chosen."""
        if not (same and self.options.highlighted):
            self.marked_key = None
        self.said = note
        self.list_rows(found)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the key that stops to others while there is nothing to stop."""
        if action == "stop":
            return self._stopping is not None
        return super().check_action(action, parameters)

    def action_stop(self) -> None:
        """Stop the search; what was found stays."""
        self._end("stopped")

    def action_close(self) -> None:
        """Stop a search that says how far it is; else close."""
        if self._stopping is not None and self._slow:
            self._end("stopped")
        else:
            self.dismiss(None)

    def on_unmount(self) -> None:
        if self._stopping is not None:
            self._stopping.set()


@frozen
class Chosen:
    """Where to go on."""

    session: str
    """Id of the session; empty begins a new one."""
    seq: int = 0
    """Log number of the message to show; 0 for the end."""
    then: str = ""
    """A command that is run there once it is open."""


async def choose_session(
    app: App[Any],
    launch: Launch,
    current: str,
    written: str = "",
    *,
    windows: Mapping[str, int] = MappingProxyType({}),
    listed: Callable[[Sequence[SessionInfo]], object] = lambda _: None,
) -> Chosen | None:
    """Show the sessions until the user opens one or leaves the list.

    Args:
        app: Shows the screens.
        launch: Where the sessions are.
        current: Id of the open session.
        written: What the list is filtered by at first.
        windows: Tokens that models hold, where that is known.
        listed: Called with the sessions each time they are read, as each may be renamed here.

    Returns:
        What to open; None when the list was closed.
    """
    while True:
        infos, standing = await asyncio.to_thread(_list, launch)
        rows = [info for info in infos if info.messages]
        listed(rows)
        screen = SessionsScreen(
            rows,
            current=current,
            windows=windows,
            held=partial(held_elsewhere, launch),
            here=next((row.cwd for row in rows if row.id == current), str(launch.cwd)),
            home=launch.env.get("HOME", ""),
            stats=lambda id: StatsReader(launch.database, id).read(),
        )
        screen.written, screen.standing = written, standing
        choice = await app.push_screen_wait(screen)
        written = screen.written
        if choice is None:
            return None
        if choice.what == "open":
            return Chosen(choice.row.id)
        if choice.what == "search":
            search = SearchScreen(_searching(launch))
            search.written = written
            if (found := await app.push_screen_wait(search)) is not None:
                return Chosen(found.session, found.seq)
        elif choice.what == "rename":
            row = choice.row
            about = "Its name in the list. Empty: its first prompt."
            dialog = EditDialog("Title of the session", about, one_line(row.title, 200))
            if (title := await app.push_screen_wait(dialog)) is not None:
                await _change(app, launch, "Not renamed", partial(_rename, launch, row.id, title))
        else:
            await _change(app, launch, "Not deleted", partial(_delete, launch, choice.row.id))


async def resume(app: "Host", session: "ChatSession", words: str) -> None:
    """Let the user choose a session and go to it; a message of this one is shown where it stands."""

    def listed(rows: Sequence[SessionInfo]) -> None:
        presenter = session.presenter
        title = next((row.title for row in rows if row.id == session.id), presenter.state.title)
        if title != presenter.state.title:
            presenter.update(replace(presenter.state, title=title))

    usage = session.state.usage
    windows = {session.state.model: usage.window.stated} if usage is not None else {}
    chosen = await choose_session(app, session.launch, session.id, words, windows=windows, listed=listed)
    if chosen is None:
        return
    if chosen.session == session.id:
        session.presenter.jump_to(chosen.seq)
    else:
        await go_to(app, session, chosen)


async def go_to(app: "Host", session: "ChatSession", chosen: Chosen) -> None:
    """Open a session; asks first where something of this one would be lost."""
    held = ""
    if chosen.session and what_leaving_costs(session):
        held = await asyncio.to_thread(held_elsewhere, session.launch, chosen.session)
    first = f"That session is open in {held} and would be read-only. " if held else ""
    if await may_leave(app, session, first):
        app.open_session(chosen.session, at=chosen.seq, then=chosen.then)


def held_elsewhere(launch: Launch, session: str) -> str:
    """Where a session is open for writing, in words; empty where it is not, or that is unknown."""
    try:
        with closing(open_store(launch.database, read_only=True)) as store:
            return where_open(store, launch.paths.sessions_dir, session)
    except (OSError, sqlite3.Error):
        return ""


def _searching(launch: Launch) -> Search:
    """Make the search over the sessions that follows what the user types."""

    def search(words: str, stopped: Callable[[], bool]) -> Generator[Searched, None, None]:
        try:
            yield from searching(launch.database, words, stopped, typing=True)
        except sqlite3.Error as error:
            told = explained(error, launch.paths.database)
            raise SearchFailed(f"The sessions cannot be searched. {told}") from error

    return search


async def _change(app: App[Any], launch: Launch, refused: str, change: Callable[[], object]) -> None:
    """Change a session in a thread; where that is not possible, a screen says why."""
    try:
        await asyncio.to_thread(change)
    except (SessionNotFound, SessionLocked, OSError, sqlite3.Error) as error:
        told = explained(error, launch.paths.database)
        await app.push_screen_wait(DetailsScreen(refused, told))


def _delete(launch: Launch, session: str) -> None:
    with suppress(SessionNotFound):  # another window was faster
        delete_session(launch.database, launch.paths.sessions_dir, session)


def _rename(launch: Launch, session: str, title: str) -> None:
    with closing(open_store(launch.database)) as store:
        rename_session(store, session, title)


def _list(launch: Launch) -> tuple[list[SessionInfo], dict[str, str]]:
    """The sessions, and by id how those stand that were left in the background."""
    if not has_begun(launch.database):
        return [], {}
    with closing(open_store(launch.database, read_only=True)) as store:
        infos = store.sessions()
        left = standings_of(store, launch.paths.sessions_dir, infos)
        return infos, {id: each.in_words for id, each in left.items()}
