"""Diagnostics of a session's language servers: what an edit broke, and what is wrong in the project.

Servers, their messages and the library for them run on an event loop in a thread, so that no server can block
the session.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from pydantic_ai import RunContext, ToolDenied
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities import WrapToolExecuteHandler as Handler
from pydantic_ai.messages import ToolCallPart

from tui_app.agent.approvals.rules import Action, Judge
from tui_app.agent.diagnostics.finder import Installed, ServerFinder, known_servers
from tui_app.agent.diagnostics.findings import WARNING, Finding, new_findings
from tui_app.agent.diagnostics.server import RunningServer
from tui_app.agent.tools.calls import as_model_retry
from tui_app.agent.tools.commands import Stop
from tui_app.agent.tools.edits import MAX_BYTES, FileChange
from tui_app.agent.tools.files import Walk
from tui_app.agent.tools.lookup import Looking
from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.agent.waits import end_tasks
from tui_app.records import frozen
from tui_app.sandbox import Confinement
from tui_app.system.project_files import repository_root
from tui_app.system.trust import search_path
from tui_app.text import count, plain_text
from tui_app.tool_specs import FILE_CHANGERS, READ_FILE, tool_spec

WAIT_S = 1.0
"""Seconds that the result of an edit waits for findings."""
NEWS_CHARS = 2_000
"""Maximum characters reported after an edit, about 500 tokens."""
REPORT_ROWS, REPORT_FILES = 200, 200
REPORT_S = 20.0
MOST_RUNNING = 8
"""Maximum servers of a session."""
_CLOSE_S = 5.0
T = TypeVar("T")


@dataclass(slots=True)
class Diagnostics:
    """The language servers of one session.

    No thread or server starts before the first edit of a supported file.
    """

    workspace: Workspace
    finder: ServerFinder
    shows: Callable[[str], bool]
    """Whether the tools would show a file, by its path as they name it."""
    begin: Callable[[Installed], RunningServer]
    _running: dict[tuple[str, Path], RunningServer] = field(default_factory=dict)
    _checks: set[asyncio.Task[None]] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None

    def changed(self, change: FileChange) -> None:
        """Have the servers of a file check a tool's change of it."""
        if _is_known(change.path):
            self._started().call_soon_threadsafe(self._check, change)

    async def news(self, wait_s: float) -> str:
        """New findings that were not reported yet, as text for the model; empty for none.

        Args:
            wait_s: Maximum seconds to wait for servers that are still checking; later findings are reported
                later.
        """
        return "" if self._loop is None else await self._on_thread(self._news(wait_s))

    async def report(self, path: str) -> str:
        """The findings in one file, or in the whole project.

        Raises:
            ToolProblem: if no server supports the file.
        """
        self._started()
        return await self._on_thread(self._report(path))

    def statuses(self) -> tuple[str, ...]:
        """Each server that was started, as text."""
        return tuple(f"{each.name}: {each.state}" for each in list(self._running.values()))

    async def close(self) -> None:
        """Stop all servers, and the thread."""
        if (loop := self._loop) is None or self._thread is None:
            return
        await self._on_thread(self._leave())
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(self._thread.join, _CLOSE_S)
        if not self._thread.is_alive():
            loop.close()
        self._loop = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="diagnostics", daemon=True)
            self._thread.start()
        return self._loop

    async def _on_thread(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    # Everything below runs on the thread.

    def _check(self, change: FileChange) -> None:
        before, after = ((data or b"").decode("utf-8", "replace") for data in (change.before, change.after))
        for server in self._servers(change.path):
            task = asyncio.create_task(server.check(change.path, before, after))
            self._checks.add(task)
            task.add_done_callback(self._checks.discard)

    def _servers(self, path: Path) -> list[RunningServer]:
        found = self.finder.servers_of(path)
        for each in found:
            if each.key not in self._running and len(self._running) < MOST_RUNNING:
                self._running[each.key] = self.begin(each)
        return [self._running[each.key] for each in found if each.key in self._running]

    async def _news(self, wait_s: float) -> str:
        if self._checks:
            await asyncio.wait(self._checks, timeout=wait_s)
        found: list[_Row] = []
        names: list[str] = []
        for server in self._running.values():
            if server.is_busy:
                continue
            new = [
                row
                for path, now in server.found.items()
                for row in self._rows(server, path, new_findings(now, server.known.get(path, Counter())))
            ]
            server.know()
            found += new
            names += [server.name] if new else []
        if not found:
            return ""
        head = f"{count(len(found), 'new diagnostic')}, from {_named(names)}:"
        return "\n".join([head, *_rows(found, NEWS_CHARS, "diagnostics lists them")])

    async def _report(self, path: str) -> str:
        files, left_out = await asyncio.to_thread(self._files, path)
        asked: dict[RunningServer, dict[Path, str]] = {}
        for file in files:
            with suppress(OSError):
                text = file.read_bytes()[:MAX_BYTES].decode("utf-8", "replace")
                for server in self._servers(file):
                    asked.setdefault(server, {})[file] = text
        if not asked:
            where = f"{path!r:.200}" if path else "any file here"
            raise ToolProblem(f"No language server that is installed reads {where}.")
        answers = await asyncio.gather(*(_looked(server, texts) for server, texts in asked.items()))
        looked = dict(zip(asked, answers, strict=True))
        found: list[_Row] = []
        notes = [f"[only the first {REPORT_FILES} files were looked at]"] if left_out else []
        for server, (missing, all_found) in looked.items():
            for file, now in all_found.items():
                # Others may be wrong too, but only this one was asked about.
                if not path or file in files:
                    found += self._rows(server, file, now)
            server.know()
            if server.is_lost:
                notes.append(f"[{server.name}: {server.state}]")
            elif missing:
                notes.append(f"[{server.name} has not looked at {count(missing, 'file')} yet; ask again]")
        errors = sum(each.severity < WARNING for each, _ in found)
        numbers = f"{count(errors, 'error')}, {count(len(found) - errors, 'warning')}"
        answered = [
            server.name
            for server, (missing, _) in looked.items()
            if missing < len(asked[server]) and not server.is_lost
        ]
        head = f"{count(len(files), 'file')}, from {_named(answered)}: {numbers}"
        if not answered:
            head = f"No language server has looked at {count(len(files), 'file')} yet."
        return "\n".join([head, *_rows(found, REPORT_ROWS * 100, "name a file to see its own"), *notes])

    def _rows(self, server: RunningServer, path: Path, found: Sequence[Finding]) -> "list[_Row]":
        """Errors and warnings, each with its row; none of a file that the tools would not show."""
        wrong = [each for each in found if each.severity <= WARNING]
        shown = self._shown(path) if wrong else ""
        return [(each, each.row(shown, server.name)) for each in wrong] if shown else []

    def _files(self, path: str) -> tuple[list[Path], bool]:
        """The files to check, and whether there are more. Raises ``ToolProblem``."""
        if path:
            file = self.workspace.resolve(path)
            if not file.is_file():
                raise ToolProblem(
                    f"There is no file {path!r:.200}; leave the path out for the whole project."
                )
            return [file], False
        found: list[Path] = []
        for file in Walk(self.workspace.root, Stop(), self.workspace.hidden).files():
            if _is_known(file) and self._shown(file) and self.finder.servers_of(file):
                found.append(file)
                if len(found) > REPORT_FILES:
                    break
        return found[:REPORT_FILES], len(found) > REPORT_FILES

    def _shown(self, path: Path) -> str:
        """A file's path as the tools name it; empty if they would not show it."""
        try:
            real = self.workspace.resolve(str(path))
        except ToolProblem:
            return ""
        name = self.workspace.display(real)
        return plain_text(name) if self.shows(name) else ""

    async def _leave(self) -> None:
        await end_tasks(*self._checks)
        await asyncio.gather(*(each.leave() for each in self._running.values()), return_exceptions=True)


@frozen
class DiagnosticsTool:
    """Read-only. Files that rules keep from the model are left out."""

    found: Diagnostics
    gate: Judge

    async def diagnostics(self, ctx: RunContext[Any], path: str = "") -> str | ToolDenied:
        """Ask the language servers for errors and warnings in the code.

        Args:
            ctx: The run.
            path: One file; leave it out for the whole project.
        """
        if declined := await Looking(self.found.workspace, self.gate).declined(
            ctx, path or ".", READ_FILE.name
        ):
            return ToolDenied(declined)
        with as_model_retry():
            return await self.found.report(path)


class EditDiagnostics(AbstractCapability[Any]):
    """Appends new findings to the result of an edit, and late ones to the next result that allows it."""

    def __init__(self, found: Diagnostics) -> None:
        self.found = found

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, args: dict[str, Any], handler: Handler, **_: Any
    ) -> Any:
        """Run the tool, then append new findings."""
        result = await handler(args)
        # A file shown by a tool is not changed: it is compared with the file later.
        if not isinstance(result, str) or not tool_spec(call.tool_name).changes:
            return result
        news = await self.found.news(WAIT_S if call.tool_name in FILE_CHANGERS else 0.0)
        if not news:
            return result
        first, _end, rest = result.partition("\n")
        # The first line of a change is its row on the screen.
        number = f", {news.partition(', from')[0]}" if call.tool_name in FILE_CHANGERS else ""
        return f"{first}{number}\n{rest}\n\n{news}"


def edit_diagnostics(
    workspace: Workspace,
    gate: Judge,
    *,
    chosen: Mapping[str, str],
    trusted: bool,
    env: Mapping[str, str],
    masked: Callable[[str], str],
    confinement: Callable[[], Confinement | None],
    required: bool,
) -> EditDiagnostics | None:
    """Diagnostics after edits; None if no server, or no client for them, is installed. Blocks.

    Args:
        workspace: Where files are changed.
        gate: Applies the rules to files.
        chosen: By server, the command line from the settings, or ``off``.
        trusted: Whether programs of the folder may run.
        env: Environment of the servers.
        masked: Masks secrets in a text.
        confinement: The sandbox for commands.
        required: Whether nothing may run without a sandbox.
    """
    path = search_path(env.get("PATH", ""), repository_root(workspace.root))
    finder = ServerFinder(folder=workspace.root, search=path, trusted=trusted, chosen=chosen)

    def shows(path: str) -> bool:
        asked = Action(tool=READ_FILE.name, kind="file", subject=path, looks=True)
        return gate.judged(asked).ruling == "allow"

    def begin(installed: Installed) -> RunningServer:
        return RunningServer(installed, {**env, "PATH": path}, confinement, required, masked)

    if find_spec("pygls") is None or not finder.any():
        return None
    return EditDiagnostics(Diagnostics(workspace, finder, shows, begin))


_Row = tuple[Finding, str]


def _is_known(file: Path) -> bool:
    return any(file.suffix[1:] in each.languages for each in known_servers().values())


def _named(names: Iterable[str]) -> str:
    return f"{', '.join(dict.fromkeys(names))} (the words of those programs, not of the user)"


def _rows(found: Sequence[_Row], chars: int, more: str) -> Iterator[str]:
    """The rows that fit, errors first, then the number of the rest."""
    rows = [row for _, row in sorted(found, key=lambda each: each[0].severity)]
    for number, row in enumerate(rows):
        chars -= len(row)
        if chars < 0 or number == REPORT_ROWS:
            yield f"[{len(rows) - number:,} more; {more}]"
            return
        yield row


async def _looked(
    server: RunningServer, texts: Mapping[Path, str]
) -> "tuple[int, Mapping[Path, Sequence[Finding]]]":
    """A server's findings in files; none if it is busy with others or does not answer in time."""
    try:
        return await asyncio.wait_for(server.look(texts, REPORT_S), REPORT_S)
    except TimeoutError:
        return len(texts), {}
