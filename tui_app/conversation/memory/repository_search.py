"""Search of the repository's other sessions, limited to what may be shown."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from tui_app.agent.approvals.rules import Action, Gate
from tui_app.agent.tools.history import HistoryHit
from tui_app.conversation.memory.recall import SPOKEN_WORD, SessionSearch, around, hit_in
from tui_app.memory.scope import scope_of
from tui_app.records import frozen
from tui_app.session.exclusions import excluded_in
from tui_app.session.search import search_sessions
from tui_app.session.stores.database import Database, open_store
from tui_app.session.stores.store import SessionStore
from tui_app.system.secrets import mask_secrets
from tui_app.text import count as count_of
from tui_app.tool_specs import SEARCH_HISTORY

_SPARE = 10
"""Extra hits to request, because those found by earlier searches are skipped."""


@frozen
class RepositorySearch:
    """Searches all sessions started in the repository of a folder.

    Sessions of the same folder are shown like this one. Before anything of another folder is shown, the user
    is asked.
    """

    database: Database
    session: str
    folder: Path
    gate: Gate

    async def search(self, words: str, limit: int, call: str) -> tuple[Sequence[HistoryHit], str]:
        """Messages with all the words, best first, and why some are left out."""
        try:
            found = (await asyncio.to_thread(self._found, words, limit + _SPARE))[:limit]
        except sqlite3.Error as error:
            return (), f"the sessions cannot be searched: {error}"
        away = sorted({folder for _, folder in found if folder})
        declined = await self._declined(away, call) if away else ""
        shown = [hit for hit, folder in found if not (folder and declined)]
        left = count_of(len(found) - len(shown), "hit")
        return shown, f"{left} of sessions of another folder left out: {declined}" if declined else ""

    async def fetch(self, session: str, seq: int, call: str) -> HistoryHit | str | None:
        """One message, or why it may not be shown; None if there is none."""
        try:
            hit, folder = await asyncio.to_thread(self._fetched, session, seq)
        except sqlite3.Error as error:
            return f"the sessions cannot be read: {error}"
        if hit is not None and folder and (declined := await self._declined([folder], call)):
            return declined
        return hit

    async def _declined(self, folders: Sequence[str], call: str) -> str:
        tool, note = SEARCH_HISTORY.name, "reads sessions of another folder, changes nothing"
        subject = json.dumps({"folders": folders}, ensure_ascii=False)
        return await self.gate(Action(tool=tool, kind="other", subject=subject, note=note, call=call))

    def _found(self, words: str, limit: int) -> list[tuple[HistoryHit, str]]:
        """Hits, each with the folder of its session; the folder is empty if no approval is needed."""
        found: list[tuple[HistoryHit, str]] = []
        terms = {word.lower() for word in SPOKEN_WORD.findall(words)}
        with closing(open_store(self.database, read_only=True)) as store:
            folders = self._folders(store)
            excluded = cache(partial(excluded_in, store))
            for each in search_sessions(self.database, words, limit=limit, sessions=folders):
                record = store.record(each.session, each.seq)
                hit = hit_in(each.seq, record.data, excluded(each.session)) if record is not None else None
                if hit is not None:
                    shown = self._shown(around(hit, words, terms), each.session)
                    found.append((shown, folders[each.session]))
        return found

    def _fetched(self, session: str, seq: int) -> tuple[HistoryHit | None, str]:
        with closing(open_store(self.database, read_only=True)) as store:
            folders = self._folders(store, hidden=True)
            known = {id: folder for id, folder in folders.items() if id.startswith(session)}
            if len(known) != 1:
                return None, ""
            ((id, folder),) = known.items()
            hit = SessionSearch(store, id).fetch(seq)
        return (None if hit is None else self._shown(hit, id)), folder

    def _shown(self, hit: HistoryHit, session: str) -> HistoryHit:
        own = session == self.session
        return hit if own else replace(hit, text=mask_secrets(hit.text), session=session)

    def _folders(self, store: SessionStore, *, hidden: bool = False) -> dict[str, str]:
        """The repository's sessions by id, each with its folder if that is another one.

        Args:
            store: Where they are.
            hidden: Whether to include those of subagents.
        """
        here, infos = self.folder.resolve(), store.sessions(hidden=hidden)
        repository = scope_of(here).repository
        found: dict[str, str] = {}
        for cwd in {info.cwd for info in infos}:
            place = Path(cwd)
            folder = "" if place.resolve() == here else cwd
            ours = not folder or scope_of(place).repository == repository
            found |= {info.id: folder for info in infos if info.cwd == cwd and ours}
        return {**found, self.session: ""}
