"""The agent that an editor uses through the Agent Client Protocol: methods, pipes and serving.

The SDK calls the methods by name, with validated arguments.
"""

import asyncio
import contextlib
import json
import logging
import os
import queue
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from acp import PROTOCOL_VERSION, RequestError
from acp.agent.connection import AgentSideConnection
from acp.helpers import update_available_commands
from acp.interfaces import Agent, Client
from acp.schema import (
    AgentCapabilities,
    CloseSessionResponse,
    ConfigOptionUpdate,
    ForkSessionResponse,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    McpServerStdio,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)

from tui_app.agent.catalog import ModelChoice
from tui_app.agent.waits import end_tasks
from tui_app.conversation.assembly import open_session
from tui_app.conversation.requests.open_request import Opening
from tui_app.editors.menus import MODEL, POLICY, Menu, modes, options, usable_models
from tui_app.editors.prompts import COMMANDS, asked
from tui_app.editors.session import EditorSession
from tui_app.editors.updates import NOT_FOUND, Updates, refused, trouble
from tui_app.session.rewind_fork import fork_session
from tui_app.session.stores.database import log_exists, open_store
from tui_app.session.stores.store import SessionNotFound
from tui_app.settings.tables import McpServer
from tui_app.system.program_log import logging_to
from tui_app.text import visible
from tui_app.version import __version__

_log = logging.getLogger(__name__)
LISTED = 50
"""Sessions per page of the list."""


@dataclass(slots=True)
class EditorAgent:
    """Answers an editor's requests. One per process, with any number of sessions."""

    opening: Opening
    """Parameters for every session; the editor sets its folder and id."""
    _client: Client | None = None
    _sessions: dict[str, EditorSession] = field(default_factory=dict)
    _behind: set["asyncio.Task[None]"] = field(default_factory=set)
    _models: list[ModelChoice] = field(default_factory=list)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="plimsoll", title="Plimsoll", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(embedded_context=True, image=True),
                mcp_capabilities=McpCapabilities(http=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    close=SessionCloseCapabilities(),
                    resume=SessionResumeCapabilities(),
                    fork=SessionForkCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **_: Any) -> None:
        """Refuse: keys come from the environment, so there is nothing to sign in to."""
        raise refused("There is nothing to sign in to: keys are read from the environment.")

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> NewSessionResponse:
        session = await self._open(cwd, servers=mcp_servers or ())
        return NewSessionResponse(session_id=session.id, **self._menus(session))

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> LoadSessionResponse:
        """Continue a session, after sending all of it again."""
        session = await self._open(cwd, _named(session_id), mcp_servers or ())
        await session.replay()
        return LoadSessionResponse(**self._menus(session))

    async def fork_session(
        self, session_id: str, cwd: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> ForkSessionResponse:
        """Continue in a copy of a session, which does not change."""

        def fork() -> str:
            folder, now = self.opening.paths.sessions_dir, datetime.now(UTC).timestamp()
            with contextlib.closing(open_store(self.opening.database)) as store:
                return fork_session(store, folder, session_id, now=now).session

        try:
            forked = await asyncio.to_thread(fork)
        except Exception as error:  # worded for the user
            raise trouble(error) from error
        session = await self._open(cwd, forked, mcp_servers or ())
        return ForkSessionResponse(session_id=session.id, **self._menus(session))

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> ResumeSessionResponse:
        """Continue a session whose history the editor already has."""
        session = await self._open(cwd, _named(session_id), mcp_servers or ())
        return ResumeSessionResponse(**self._menus(session))

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> ListSessionsResponse:
        found = await asyncio.to_thread(self._listed, cwd or "")
        start = int(cursor) if cursor and cursor.isdecimal() else 0
        page = found[start : start + LISTED]
        more = str(start + LISTED) if len(found) > start + LISTED else None
        return ListSessionsResponse(sessions=page, next_cursor=more)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        session = self._known(session_id)
        reason = await session.prompt(asked(prompt, session.opening.cwd))
        return PromptResponse(stop_reason=reason, usage=session.updates.spending.usage)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if (session := self._sessions.get(session_id)) is not None:
            session.cancel()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Change the mode, even during a turn."""
        await self._known(session_id).choose_mode(mode_id)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        session = self._known(session_id)
        match config_id:
            case "model" if isinstance(value, str):
                await session.choose_model(value)
            case "policy" if isinstance(value, str):
                await session.choose_policy(value)
            case _:
                raise refused(f"There is no menu {config_id}; there are {MODEL} and {POLICY}.")
        return SetSessionConfigOptionResponse(config_options=self._options(session))

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        session = self._known(session_id)
        del self._sessions[session_id]
        await session.close()
        return CloseSessionResponse()

    async def close(self) -> None:
        """Close every session and its tasks."""
        await end_tasks(*self._behind)
        sessions, self._sessions = list(self._sessions.values()), {}
        ends = await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)
        for error in ends:
            if isinstance(error, Exception):
                _log.error("a session could not be ended", exc_info=error)

    def _options(self, session: EditorSession) -> list[Menu]:
        return options(session.opened.conversation, self.opening.settings, self._models)

    def _menus(self, session: EditorSession) -> dict[str, Any]:
        return {"modes": modes(session.opened.conversation), "config_options": self._options(session)}

    def _known(self, session_id: str) -> EditorSession:
        if (session := self._sessions.get(session_id)) is None:
            raise RequestError(NOT_FOUND, f"There is no open session {session_id}. Load it first.")
        return session

    async def _open(self, cwd: str, session_id: str = "", servers: Sequence[Any] = ()) -> EditorSession:
        """Open a session, or return the one that is already open here.

        Args:
            cwd: Its folder, as named by the editor.
            session_id: Its id; empty for a new one.
            servers: MCP servers from the editor, in addition to those in the settings.
        """
        folder = _folder(cwd)
        async with self._opening:
            if (known := self._sessions.get(session_id)) is None:
                passed, remarks = passed_servers(servers, self.opening.settings.mcp)
                settings = replace(self.opening.settings, mcp={**self.opening.settings.mcp, **passed})
                known = await self._opened(
                    replace(self.opening, settings=settings, cwd=folder, session=session_id)
                )
                for remark in remarks:
                    known.show_text(remark)
        task = asyncio.create_task(self._introduce(known), name="acp introduction")
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)
        return known

    async def _opened(self, opening: Opening) -> EditorSession:
        assert self._client is not None
        # Only a full id is accepted: the editor has it from us.
        if opening.session and not any(found.session_id == opening.session for found in self._listed("")):
            raise trouble(SessionNotFound(f"There is no session {opening.session}."))
        try:
            opened = open_session(opening)
        except Exception as error:  # worded for the user
            raise trouble(error) from error
        session = EditorSession(opened, opening, self._client, Updates(opening.cwd))
        self._sessions[session.id] = session
        try:
            await session.start()
        except Exception as error:
            del self._sessions[session.id]
            await session.close()
            raise trouble(error) from error
        return session

    def _listed(self, cwd: str) -> list[SessionInfo]:
        if not log_exists(self.opening.database):
            return []
        with contextlib.closing(open_store(self.opening.database, read_only=True)) as store:
            found = store.sessions()
        return [
            SessionInfo(
                session_id=info.id,
                cwd=info.cwd,
                title=info.title or None,
                updated_at=datetime.fromtimestamp(info.updated, UTC).isoformat(),
            )
            for info in found
            if not cwd or info.cwd == cwd
        ]

    async def _introduce(self, session: EditorSession) -> None:
        """Send the slash commands, then the models, which takes a moment to find."""
        assert self._client is not None
        session.speak()
        with contextlib.suppress(ConnectionError):
            commands = update_available_commands(COMMANDS)
            await self._client.session_update(session_id=session.id, update=commands)
            self._models = await usable_models(self.opening.env, self.opening.settings)
            menus = self._options(session)
            update = ConfigOptionUpdate(session_update="config_option_update", config_options=menus)
            await self._client.session_update(session_id=session.id, update=update)


_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def passed_servers(
    servers: Sequence[Any], known: Mapping[str, McpServer]
) -> tuple[dict[str, McpServer], list[str]]:
    """Convert MCP servers from an editor to the form of the settings, with remarks on those left out.

    Args:
        servers: Servers in the protocol's form.
        known: Servers in the settings, whose names are taken.
    """
    passed: dict[str, McpServer] = {}
    remarks: list[str] = []
    for server in servers:
        name = _NOT_IN_NAMES.sub("_", server.name).strip("_-")[:32]
        name = name if name[:1].isalpha() else f"mcp_{name}"[:32]
        shown = visible(server.name)[:80]
        if name in known or name in passed:
            remarks.append(f"The MCP server {shown} is not started: another one is called {name}.")
        elif isinstance(server, McpServerStdio):
            env = {each.name: each.value for each in server.env}
            passed[name] = McpServer(
                name=name, command=server.command, args=tuple(server.args), given_env=env
            )
        elif isinstance(server, HttpMcpServer):
            headers = {each.name: each.value for each in server.headers}
            passed[name] = McpServer(name=name, url=server.url, given_headers=headers)
        else:
            remarks.append(f"The MCP server {shown} is not started: only stdio and HTTP are supported.")
    return passed, remarks


def _named(session_id: str) -> str:
    """Check that an id is given; without one, a new session would be created."""
    if session_id:
        return session_id
    raise RequestError(NOT_FOUND, "A session is loaded by its id.")


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if folder.is_absolute() and folder.is_dir():
        return folder
    raise refused(f"There is no folder {cwd}; the editor names it by its whole path.")


Message = dict[str, Any]

LINE_BYTES = 64 * 1024 * 1024
"""Maximum bytes of one message; a longer line is discarded."""
_READ_BYTES = 64 * 1024
_LAST_WORDS_S = 1.0
"""Maximum seconds for pending output at the end."""
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


@contextmanager
def own_pipes() -> Iterator[tuple[int, int]]:
    """Withdraw stdin and stdout from the rest of the process within a block.

    Yields:
        The file descriptors for reading and writing.
    """
    reading, writing = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)
    try:
        yield reading, writing
    finally:
        os.dup2(reading, 0)
        os.dup2(writing, 1)
        # ``reading`` stays open: its thread may be blocked in a read until the process ends.
        os.close(writing)


@dataclass(slots=True)
class Pipes:
    """The protocol's messages over two file descriptors. Belongs to one event loop."""

    reading: int
    writing: int
    _inbox: "asyncio.Queue[bytes | None]" = field(default_factory=asyncio.Queue)
    _outbox: "queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None]" = field(
        default_factory=queue.SimpleQueue
    )
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _writer: threading.Thread | None = None

    def open(self) -> None:
        threading.Thread(target=self._read, name="acp-reader", daemon=True).start()
        self._writer = threading.Thread(target=self._write, name="acp-writer", daemon=True)
        self._writer.start()

    async def receive(self) -> Message | None:
        """Wait for the next message, replying to invalid lines; None when the other side has closed."""
        while (line := await self._inbox.get()) is not None:
            if not line.strip():
                continue
            message, problem = read_message(line)
            if message is not None:
                return message
            if problem is not None:
                await self.send(problem)
        # Further calls get the same.
        self._inbox.put_nowait(None)
        return None

    async def send(self, message: Message) -> None:
        """Write a message and wait until the system has accepted it.

        Raises:
            ConnectionError: if the other side no longer reads.
        """
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        written: asyncio.Future[None] = self._loop.create_future()
        self._outbox.put((line, written))
        await written

    async def close(self) -> None:
        """Write pending messages, for a limited time."""
        self._outbox.put(None)
        if self._writer is not None:
            await asyncio.to_thread(self._writer.join, _LAST_WORDS_S)

    def _read(self) -> None:
        pending, skipping = bytearray(), False
        while True:
            try:
                data = os.read(self.reading, _READ_BYTES)
            except OSError:
                data = b""
            if not data:
                break
            # Only new data is searched: a message of many megabytes comes in thousands of pieces.
            *ends, rest = data.split(b"\n")
            for end in ends:
                self._hand_over(b"?" if skipping else bytes(pending + end))
                pending.clear()
                skipping = False
            pending += rest
            if skipping or len(pending) > LINE_BYTES:
                pending.clear()
                skipping = True
        self._hand_over(None)

    def _write(self) -> None:
        while (item := self._outbox.get()) is not None:
            line, written = item
            try:
                left = memoryview(line)
                while left:
                    left = left[os.write(self.writing, left) :]
            except OSError as error:
                self._tell(written, ConnectionError(error.strerror or str(error)))
                # The other side no longer reads, which counts as closed even if stdin is still open.
                self._hand_over(None)
            else:
                self._tell(written, None)

    def _tell(self, written: "asyncio.Future[None]", error: ConnectionError | None) -> None:
        def tell() -> None:
            if written.done():
                return
            if error is None:
                written.set_result(None)
            else:
                written.set_exception(error)

        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(tell)

    def _hand_over(self, line: bytes | None) -> None:
        with contextlib.suppress(RuntimeError):  # as above
            self._loop.call_soon_threadsafe(self._inbox.put_nowait, line)


def read_message(line: bytes) -> tuple[Message | None, Message | None]:
    """Parse one line.

    Returns:
        The message, or the error to reply; neither for a response that belongs to no request.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None, _refusal(
            None, _PARSE_ERROR, "This line is not JSON; a message is an object on one line."
        )
    if not isinstance(value, dict):
        return None, _refusal(None, _INVALID_REQUEST, "A message is a JSON object.")
    id = value.get("id")
    if not isinstance(id, str | int | None) or isinstance(id, bool):
        return None, _refusal(None, _INVALID_REQUEST, "The id of a message is a number or a text.")
    if "method" in value:
        if isinstance(value["method"], str):
            return value, None
        return None, _refusal(id, _INVALID_REQUEST, "The method of a message is a text.")
    if id is None:
        return None, _refusal(None, _INVALID_REQUEST, "A message has a method, or answers one.")
    if not isinstance(id, int):
        return None, None
    match value.get("error"):
        case None | {"code": int(), "message": str()}:
            return value, None
        case _:
            return _refusal(id, _INVALID_REQUEST, "The answer has an error that cannot be read."), None


def _refusal(id: str | int | None, code: int, sentence: str) -> Message:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": sentence}}


async def serve(opening: Opening) -> int:
    """Serve the editor on stdin and stdout.

    Args:
        opening: Parameters for sessions; the editor sets folder and id.

    Returns:
        The exit code, 0 after the editor has closed the connection.
    """
    with logging_to(opening.paths.log_file, "acp"), own_pipes() as (reading, writing):
        pipes, agent = Pipes(reading, writing), EditorAgent(opening)
        pipes.open()
        connection = AgentSideConnection(
            cast("Agent", agent), pipes, listening=False, use_unstable_protocol=True
        )
        try:
            await connection.listen()
        finally:
            # Finish running prompts first, so that none of them uses a closed session.
            await connection.close()
            await agent.close()
    return 0
