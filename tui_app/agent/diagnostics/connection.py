"""One connection to a language server, over pygls.

The library is loaded with this module, when a server is first started.
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

# It would log invalid messages from a server, and files, as they are.
logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)

MESSAGE_BYTES = 4 << 20
FLOOD_MESSAGES, FLOOD_S = 3_000, 10.0
"""This many messages in this many seconds are a flood."""
_HEADER_LINES = 50
"""Maximum header lines of one message."""
_UNREAD_BYTES = 16 << 20
"""Maximum bytes waiting for the server to read them."""
START_S, LEAVE_S = 30.0, 0.5
_NO_PROTOCOL = "it does not speak the protocol"


class _Input:
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
    """Messages without pygls' server behaviour: ``exit`` would end this program.

    Only diagnostics are parsed into types: the library does not know all messages that servers send.
    """

    def get_message_type(self, method: str) -> type[Any] | None:
        typed = method == lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS
        return lsp.PublishDiagnosticsNotification if typed else None


class Connection:
    """A running server. Create and use it on one event loop.

    Args:
        published: Receives the findings of a file, with the file's version if the server gives it.
    """

    def __init__(self, published: Callable[[Path, int | None, Sequence[Finding]], None]) -> None:
        # Its default converter creates a class for each unknown object in a message.
        self._protocol = JsonRPCClient(_Protocol, get_converter).protocol
        self._group: ProcessGroup[ProgramOutput] | None = None
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done once the server is gone, with the reason."""
        self.open: dict[Path, str] = {}
        """Files open in the server, with their texts."""
        self.versions = Counter[Path]()

        def heard(report: lsp.PublishDiagnosticsParams) -> None:
            if name := to_fs_path(report.uri):
                published(Path(name), report.version, [*map(finding_of, report.diagnostics[:MOST_FINDINGS])])

        answer = self._protocol.fm.feature
        answer(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(heard)
        answer(lsp.WORKSPACE_CONFIGURATION)(lambda asked: [None] * len(asked["items"]))
        for method in (lsp.CLIENT_REGISTER_CAPABILITY, lsp.WINDOW_WORK_DONE_PROGRESS_CREATE):
            answer(method)(lambda _: None)

    async def start(self, words: Sequence[str], root: Path, env: Mapping[str, str]) -> None:
        """Start the server's program and initialize the protocol.

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
        # Our process id has no meaning in a sandbox: the server would take us for gone.
        about = {"processId": None, "clientInfo": {"name": "plimsoll", "version": __version__}}
        where = {"rootUri": uri, "rootPath": str(root), "workspaceFolders": [{"uri": uri, "name": root.name}]}
        await self._ask(lsp.INITIALIZE, {**about, **where, "capabilities": _CAPABILITIES}, START_S)
        self._protocol.notify(lsp.INITIALIZED, {})
        self._protocol.notify(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, {"settings": {}})

    def put(self, path: Path, text: str, language: str) -> int:
        """Send the server the current text of a file. Returns the new version.

        Raises:
            ServerUnavailable: if it does not read what it was sent before.
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
        del self.open[path]
        file = {"uri": from_fs_path(str(path))}
        self._protocol.notify(lsp.TEXT_DOCUMENT_DID_CLOSE, {"textDocument": file})

    async def leave(self) -> None:
        """Stop the server with all its child processes."""
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
        """Send a request and wait for its answer. Raises ``ServerUnavailable``."""
        answer = self._protocol.send_request_async(method, params)
        await first_of(answer, self.ended, timeout_s=limit_s)
        if not answer.done():
            answer.cancel()
            why = self.ended.result() if self.ended.done() else f"it did not answer within {limit_s:g} s"
            raise ServerUnavailable(why)
        if (error := answer.exception()) is not None:
            raise ServerUnavailable(f"it answered with an error: {error}")

    async def _read(self, listener: ProgramOutput) -> str:
        """Read to the end. Returns why it ended."""
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
    "textDocument": {"synchronization": {"didSave": True}, "publishDiagnostics": {"versionSupport": True}},
}
