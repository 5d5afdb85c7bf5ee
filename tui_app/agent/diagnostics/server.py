"""One language server: started, queried, restarted, stopped when idle."""

import asyncio
import importlib
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from tui_app.agent.diagnostics.finder import Installed
from tui_app.agent.diagnostics.findings import Finding, Key, ServerUnavailable
from tui_app.agent.waits import first_of
from tui_app.extras import install_command
from tui_app.sandbox import INSTALL, Confinement
from tui_app.system.command_parent import parented
from tui_app.text import cut, plain_text

if TYPE_CHECKING:
    from tui_app.agent.diagnostics.connection import Connection

IDLE_S = 600.0
RESTARTS = 2
"""Maximum restarts of a server that was lost."""
BASELINE_S, SETTLE_S = 30.0, 10.0
"""Seconds to wait for findings of the state before an edit, and after it."""
QUIET_S, FIRST_QUIET_S = 0.25, 2.0
"""Seconds of silence after which a server has reported all. Some report in parts, slowly at first."""
MOST_SILENT = 2
MOST_OPEN, MOST_KNOWN = 50, 2_000
"""Maximum files open in a server at once, and maximum files with findings."""
Found = dict[Path, Sequence[Finding]]
_WHY_CHARS, _NOT_RUNNING = 300, "not running: "


def load_client() -> "type[Connection]":
    """Import the protocol's library, which takes long. Raises ``ServerUnavailable``."""
    try:
        importlib.import_module("pygls")
    except ImportError as error:
        reason = f"its client is not installed. Install it: {install_command('lsp')}"
        raise ServerUnavailable(reason) from error
    return importlib.import_module("tui_app.agent.diagnostics.connection").Connection  # type: ignore[no-any-return]


@dataclass(slots=True, eq=False)
class RunningServer:
    """One language server of a session. Not thread-safe: use it on one event loop."""

    installed: Installed
    env: Mapping[str, str]
    confinement: Callable[[], Confinement | None]
    """The sandbox for its program, as for commands; None if it is off."""
    required: bool
    """Whether it must not run without a sandbox."""
    masked: Callable[[str], str] = str
    """Masks secrets in a text."""
    state: str = "not started"
    found: Found = field(default_factory=dict)
    known: dict[Path, Counter[Key]] = field(default_factory=dict)
    """Findings from before an edit, or already reported."""
    _connection: "Connection | None" = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _heard: asyncio.Event = field(default_factory=asyncio.Event)
    _times: Counter[Path] = field(default_factory=Counter)
    _versions: dict[Path, int | None] = field(default_factory=dict)
    _lost: int = 0
    _silent: int = 0
    """Number of times in a row that it reported nothing. The wait is then short."""
    _idle: asyncio.TimerHandle | None = None

    @property
    def name(self) -> str:
        return self.installed.server.name

    @property
    def is_busy(self) -> bool:
        return self._lock.locked()

    @property
    def is_lost(self) -> bool:
        return self._lost > 0 and self._connection is None

    def know(self) -> None:
        """Mark all current findings as known."""
        self.known = {path: _keys(found) for path, found in self.found.items()}

    async def check(self, path: Path, before: str, after: str) -> None:
        """Check a file as it was, unless that is known, and then as it is."""
        async with self._using():
            connection = await self._started()
            if connection.open.get(path) != before:
                first = not connection.open
                await self._put(connection, {path: before}, BASELINE_S, FIRST_QUIET_S if first else QUIET_S)
                self.known |= {file: _keys(self.found[file]) for file in self.found if first or file == path}
            await self._put(connection, {path: after}, SETTLE_S)

    async def look(self, texts: Mapping[Path, str], limit_s: float) -> tuple[int, Found]:
        """Check files in their current state.

        Returns:
            How many were not checked in time, and all findings.
        """
        missing, found = len(texts), dict(self.found)
        async with self._using():
            connection = await self._started()
            kept = {*connection.open}
            missing = await self._put(connection, texts, limit_s)
            # Before they are closed: the server then retracts their findings.
            found = dict(self.found)
            for path in connection.open.keys() - kept:
                connection.drop(path)
        return missing, found

    @asynccontextmanager
    async def _using(self) -> AsyncIterator[None]:
        async with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            try:
                yield
            except Exception as error:  # whatever a foreign server makes the library raise
                await self._lose(str(error) or type(error).__name__)
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(IDLE_S, lambda: loop.create_task(self._end_idle()))

    async def leave(self) -> None:
        """Stop it; the next edit starts it again."""
        if self._idle is not None:
            self._idle.cancel()
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.leave()
            self.state = "ended"

    async def _put(
        self, connection: "Connection", texts: Mapping[Path, str], limit_s: float, quiet_s: float = QUIET_S
    ) -> int:
        """Send texts and wait for findings in them. Returns how many files got no report in time."""
        times, before = self._times.copy(), self._times.total()
        end = monotonic() + (limit_s if self._silent < MOST_SILENT else QUIET_S)
        versions: dict[Path, int] = {}
        for path, text in texts.items():
            if connection.open.get(path) == text:
                # An earlier report on the same text counts.
                times[path], versions[path] = 0, connection.versions[path]
            else:
                language = self.installed.server.languages[path.suffix[1:]]
                versions[path] = connection.put(path, text, language)
        for path in [*connection.open][: -MOST_OPEN - len(texts)]:
            connection.drop(path)
        while True:
            waiting = [path for path in versions if not self._is_looked_at(path, versions[path], times)]
            if (left := min(end - monotonic(), limit_s if waiting else quiet_s)) <= 0:
                break
            self._heard.clear()
            await first_of(self._heard.wait(), connection.ended, timeout_s=left)
            if connection.ended.done():
                raise ServerUnavailable(connection.ended.result())
            if not waiting and not self._heard.is_set():
                break
        self._silent += self._times.total() == before and bool(waiting)
        return len(waiting)

    def _is_looked_at(self, path: Path, version: int, before: "Counter[Path]") -> bool:
        latest = self._versions.get(path)
        return self._times[path] > before[path] and (latest is None or latest >= version)

    async def _started(self) -> "Connection":
        """The connection, opened if there is none. Raises ``ServerUnavailable``."""
        if self._connection is not None:
            if not self._connection.ended.done():
                return self._connection
            await self._lose(self._connection.ended.result())
        if self._lost > RESTARTS:
            raise ServerUnavailable(self.state.removeprefix(_NOT_RUNNING))
        self.state = "starting"
        connection = self._connection = (await asyncio.to_thread(load_client))(self._published)
        path = os.pathsep.join((*self.installed.programs, self.env.get("PATH", os.defpath)))
        await connection.start(self._command(), self.installed.root, {**self.env, "PATH": path})
        self.state = "ready"
        return connection

    def _command(self) -> Sequence[str]:
        """The command that starts it, as commands of the model are. Raises ``ServerUnavailable``."""
        if (kept := self.confinement()) is not None and kept.is_kept_in:
            # Make the program's folder visible where the home folder is hidden, as for programs on the PATH.
            search = os.pathsep.join((kept.search, str(Path(self.installed.words[0]).parent)))
            # No user approves what it sends, so it has no network, even if commands have one.
            return replace(kept, search=search, network=False).found().wrap_command(self.installed.words)
        if self.required:
            raise ServerUnavailable(f'the settings require a sandbox (sandbox = "require"). {INSTALL}')
        if self.installed.needs_sandbox:
            named = f"Or name its command in the setting language_servers.{self.name}."
            raise ServerUnavailable(
                f"it may run or fetch what files name, and no sandbox keeps it in. {INSTALL} {named}"
            )
        return parented(self.installed.words)

    async def _lose(self, why: str) -> None:
        connection, self._connection = self._connection, None
        if why:
            self._lost += 1
            self.state = cut(" ".join(plain_text(self.masked(f"{_NOT_RUNNING}{why}")).split()), _WHY_CHARS)
        for each in (self.found, self.known, self._times, self._versions):
            each.clear()
        if connection is not None:
            await connection.leave()

    async def _end_idle(self) -> None:
        async with self._lock:
            if self._connection is not None:
                await self._lose("")
                self.state = "ended, as nothing was changed for a while"

    def _published(self, path: Path, version: int | None, found: Sequence[Finding]) -> None:
        if path in self.found or len(self.found) < MOST_KNOWN:
            self.found[path] = found
            self._times[path] += 1
            self._versions[path] = version
            self._silent = 0
            self._heard.set()


def _keys(found: Sequence[Finding]) -> Counter[Key]:
    return Counter(each.key for each in found)
