"""One connection to a language server, over pygls.

That library is loaded with this file, when a server is first started.
"""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from pygls.client import JsonRPCClient
from pygls.io_ import run_async
from pygls.protocol.json_rpc import JsonRPCProtocol
from pygls.uris import from_fs_path, to_fs_path

from tui_app.agent.diagnostics.findings import MOST_FINDINGS, Finding, ServerUnavailable, finding_of
from tui_app.agent.program_output import ProgramOutput, exit_text
from tui_app.agent.waits import first_of, run_alongside
from tui_app.system.processes import NotStarted, Pipes, ProcessGroup, start_group
from tui_app.version import __version__

# What a server sends that is no message would be written out as it is, and so would the files.
logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)

MESSAGE_BYTES = 4 << 20
FLOOD_MESSAGES, FLOOD_S = 3_000, 10.0
"""So many messages in so many seconds are a flood."""
_HEADER_LINES = 50
"""Lines before one message."""
_UNREAD_BYTES = 16 << 20
"""What waits to be read by the server at most."""
START_S, LEAVE_S = 30.0, 0.5
_NO_PROTOCOL = "it does not speak the protocol"


class _Input:
    """What a server sends, bounded."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream
        self._lines = self._messages = 0
        self._since = monotonic()

    async def readline(self) -> bytes:
        self._lines += 1
        if self._lines > _HEADER_LINES:
            raise ServerUnavailable(_NO_PROTOCOL)
        try:
            return await self._stream.readline()
        except ValueError as error:
            raise ServerUnavailable(_NO_PROTOCOL) from error

    async def readexactly(self, size: int) -> bytes:
        self._lines = 0
        self._messages += 1
        if monotonic() - self._since > FLOOD_S:
            self._since, self._messages = monotonic(), 1
        if self._messages > FLOOD_MESSAGES:
            raise ServerUnavailable("it sends messages without end")
        if size > MESSAGE_BYTES:
            raise ServerUnavailable(f"it sent a message of more than {MESSAGE_BYTES >> 20} MB")
        return await self._stream.readexactly(size)


class _Protocol(JsonRPCProtocol):
    """Messages without what a server of pygls does with them: ``exit`` would end this program.

    Of what comes only diagnostics are read into types: those of the library know not all that servers send.
    """

    def get_message_type(self, method: str) -> type[Any] | None:
        typed = method == lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS
        return lsp.PublishDiagnosticsNotification if typed else None


class Connection:
    """A server while it runs; made and used on one event loop.

    Args:
        published: Called with what a server finds in a file, with the version of the file where it says that.
    """

    def __init__(self, published: Callable[[Path, int | None, Sequence[Finding]], None]) -> None:
        # Its own converter makes a class of each object in a message that it does not know.
        self._protocol = JsonRPCClient(_Protocol, get_converter).protocol
        self._group: ProcessGroup[ProgramOutput] | None = None
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done once the server is gone, with why."""
        self.open: dict[Path, str] = {}
        """Files that the server has, with their texts."""
        self.versions = Counter[Path]()

        def heard(said: lsp.PublishDiagnosticsParams) -> None:
            if name := to_fs_path(said.uri):
                published(Path(name), said.version, [*map(finding_of, said.diagnostics[:MOST_FINDINGS])])

        answer = self._protocol.fm.feature
        answer(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(heard)
        answer(lsp.WORKSPACE_CONFIGURATION)(lambda asked: [None] * len(asked["items"]))
        for method in (lsp.CLIENT_REGISTER_CAPABILITY, lsp.WINDOW_WORK_DONE_PROGRESS_CREATE):
            answer(method)(lambda _: None)

    async def start(self, words: Sequence[str], root: Path, env: Mapping[str, str]) -> None:
        """Start the server's program and agree with it.

        Raises:
            ServerUnavailable: if it cannot be started, ends or does not answer.
        """
        pipes = Pipes(stdin=asyncio.subprocess.PIPE)
        try:
            self._group = await start_group(ProgramOutput, words, cwd=root, env=env, pipes=pipes)
        except NotStarted as error:
            raise ServerUnavailable(f"it cannot be started: {error.why}") from error
        pipe: Any = self._group.transport.get_pipe_transport(0)
        self._pipe = pipe
        self._protocol.set_writer(pipe)
        self.ended = asyncio.create_task(self._read(self._group.listener))
        uri = from_fs_path(str(root))
        # A number of ours means nothing to a program in a sandbox, which would take us for gone.
        about = {"processId": None, "clientInfo": {"name": "plimsoll", "version": __version__}}
        where = {"rootUri": uri, "rootPath": str(root), "workspaceFolders": [{"uri": uri, "name": root.name}]}
        await self._ask(lsp.INITIALIZE, {**about, **where, "capabilities": _CAPABILITIES}, START_S)
        self._protocol.notify(lsp.INITIALIZED, {})
        self._protocol.notify(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, {"settings": {}})

    def put(self, path: Path, text: str, language: str) -> int:
        """Give the server the text of a file, as it is on the disk now; the version it has of it.

        Raises:
            ServerUnavailable: if it does not read what it was given before.
        """
        if self._pipe.get_write_buffer_size() > _UNREAD_BYTES:
            raise ServerUnavailable("it does not read what it is sent")
        self.versions[path] += 1
        file = {"uri": from_fs_path(str(path)), "version": self.versions[path]}
        if path in self.open:
            changes = [{"text": text}]
            self._protocol.notify(
                lsp.TEXT_DOCUMENT_DID_CHANGE, {"textDocument": file, "contentChanges": changes}
            )
        else:
            whole = {**file, "languageId": language, "text": text}
            self._protocol.notify(lsp.TEXT_DOCUMENT_DID_OPEN, {"textDocument": whole})
        self._protocol.notify(lsp.TEXT_DOCUMENT_DID_SAVE, {"textDocument": file, "text": text})
        self.open[path] = text
        return self.versions[path]

    def drop(self, path: Path) -> None:
        """Close a file."""
        del self.open[path]
        file = {"uri": from_fs_path(str(path))}
        self._protocol.notify(lsp.TEXT_DOCUMENT_DID_CLOSE, {"textDocument": file})

    async def leave(self) -> None:
        """End the server with all that it has started."""
        if self._group is None:
            return
        try:
            with suppress(ServerUnavailable):
                await self._ask(lsp.SHUTDOWN, None, LEAVE_S)
                self._protocol.notify(lsp.EXIT)
                await asyncio.wait([self.ended], timeout=LEAVE_S)
        finally:
            await self._group.end()
            self.ended.cancel()
            await asyncio.wait([self.ended])

    async def _ask(self, method: str, params: object, limit_s: float) -> None:
        """Wait for an answer. Raises ``ServerUnavailable``."""
        answer = self._protocol.send_request_async(method, params)
        await first_of(answer, self.ended, timeout_s=limit_s)
        if not answer.done():
            answer.cancel()
            why = self.ended.result() if self.ended.done() else f"it did not answer within {limit_s:g} s"
            raise ServerUnavailable(why)
        if (error := answer.exception()) is not None:
            raise ServerUnavailable(f"it answered with an error: {error}")

    async def _read(self, listener: ProgramOutput) -> str:
        """Read to the end; why it came."""
        messages = run_async(threading.Event(), _Input(listener.output), self._protocol)
        async with run_alongside(messages) as reading:
            await first_of(reading, listener.exited.wait())
            if reading.done() and isinstance(error := reading.exception(), ServerUnavailable):
                return str(error)
            await first_of(listener.exited.wait(), timeout_s=LEAVE_S)
        assert self._group is not None
        return f"{exit_text(self._group.transport.get_returncode())}: {listener.stderr_tail}".rstrip(": ")


_CAPABILITIES = {
    "workspace": {"configuration": True, "workspaceFolders": True},
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True},
    },
}
