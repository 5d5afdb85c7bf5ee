"""One connection to an MCP server, over the protocol's own library.

The library is loaded with this module, when a server is first started.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic
from typing import Any, TypeVar

import httpx2
from mcp import ClientSession, MCPError
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    Implementation,
    PaginatedRequestParams,
)
from pydantic import ValidationError
from pydantic_ai.messages import ToolReturnPart

from tui_app.agent.mcp.answers import LISTS, Listing, content_of, valid_result
from tui_app.agent.mcp.oauth import Auth
from tui_app.agent.mcp.program import LINE_BYTES, Program, mended
from tui_app.agent.mcp.status import CallFailed
from tui_app.agent.mcp.variables import header_values, program_environment
from tui_app.agent.network.network import Route
from tui_app.agent.waits import end_tasks, first_of
from tui_app.files import object_in
from tui_app.settings.tables import McpServer
from tui_app.system.trust import FOLDER_VARIABLE, ProgramPlace
from tui_app.version import __version__

MOST_PAGES = 200
"""Maximum pages of one list."""
FLOOD_NOTES, FLOOD_S = 5_000, 10.0
"""This many notifications in this many seconds are a flood."""
PING_S = 5.0
_ENDED_S = 1.0
"""Seconds after which the reason of a closed connection is known."""
_LOST_STATUSES = (404, 410)
_SESSION_STATUSES = (None, 200, 400)
"""Statuses with which a non-conforming server may refuse a session it has forgotten."""
REFUSAL_BYTES = 64 * 1024
WORDS_CHARS = 2_000
_BAD_STATUS = 400
T = TypeVar("T")


class Connection:
    """A connected server. Create and use it on one event loop.

    Args:
        server: Its settings.
        place: Where its program starts, with our own environment.
        auth: Signs requests to an address; None for none.
        changed: Called when one of its lists has changed.
        flooded: Called when it floods us with notifications.
        elicit: Answers a question of the server to the user; None without a user.
    """

    def __init__(
        self,
        server: McpServer,
        place: ProgramPlace,
        auth: Auth | None,
        *,
        changed: Callable[[], None],
        flooded: Callable[[], None],
        elicit: ElicitationFnT,
    ) -> None:
        self._server, self._place, self._auth = server, place, auth
        self._changed, self._flooded, self._elicit = changed, flooded, elicit
        self.program = Program()
        """The server's program, unless it is an address."""
        self._listings = {method: Listing() for method in LISTS}
        self._unreadable: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._since, self._notes = 0.0, 0
        self.forgotten: tuple[int | None, int] | None = None
        """Status and code with which the server refuses requests in a session it has forgotten."""
        self.idle, self._asked = asyncio.Event(), 0
        self.idle.set()
        self._opened, self._leaving = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._session: ClientSession
        self._dispatcher: _Dispatcher | None = None

    async def open(self) -> None:
        """Connect, and initialize the protocol. Raises whatever the library raises."""
        self._task = asyncio.create_task(self._run())
        await first_of(self._task, self._opened.wait())
        self._raise_end()

    async def leave(self) -> None:
        """Disconnect, and stop the server's program."""
        self._leaving.set()
        if self._task is not None:
            if not self._opened.is_set():
                self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        # A single task, because what the library opens has to be closed by the same task.
        async with AsyncExitStack() as stack:
            read, write = await stack.enter_async_context(self._streams())
            self._dispatcher = _Dispatcher(read, write, self._valid)
            self._session = await stack.enter_async_context(
                ClientSession(
                    dispatcher=self._dispatcher,
                    message_handler=self._on_message,
                    elicitation_callback=self._elicit,
                    client_info=Implementation(name="plimsoll", version=__version__),
                )
            )
            try:
                await self._session.initialize()
            except MCPError as error:
                if error.code not in (UNSUPPORTED_PROTOCOL_VERSION, METHOD_NOT_FOUND):
                    raise
                await self._session.discover()
            self._opened.set()
            await self._leaving.wait()

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[Any, Any]]:
        server, env = self._server, self._place.environment()
        if server.url:
            # Callers bound every wait, which progress may extend.
            timeout = httpx2.Timeout(30.0, read=None)
            async with (
                _HttpClient(headers=header_values(server, env), auth=self._auth, timeout=timeout) as client,
                streamable_http_client(
                    server.url, http_client=client, max_sse_event_size=LINE_BYTES
                ) as streams,
            ):
                yield streams
            return
        args = [each.replace(f"${FOLDER_VARIABLE}", env[FOLDER_VARIABLE]) for each in server.args]
        folder, own = self._place.start_folder(server.cwd), program_environment(server, env)
        async with self.program.streams((server.command, *args), folder, own) as streams:
            yield streams

    @property
    def instructions(self) -> str:
        """The server's instructions for its use."""
        return self._session.instructions or ""

    async def tools(self) -> tuple[Sequence[Any], tuple[str, ...]]:
        """Every tool the server lists, and sentences about malformed ones."""
        listed = await self.listed("tools", self._server.tools)
        return listed, self._listings["tools/list"].sentences

    async def listed(self, field: str, chosen: Sequence[str] | None = None) -> Sequence[Any]:
        """All pages of a list; empty if the server has no such list.

        Args:
            field: ``tools``, ``resources`` or ``prompts``.
            chosen: Names that the settings allow; None for all.
        """
        self._listings[f"{field}/list"] = Listing(chosen)
        ask, entries, cursor = getattr(self._session, f"list_{field}"), list[Any](), None
        offers = {each for each in LISTS.values() if getattr(self._session.server_capabilities, each, None)}
        # Older servers have tools without announcing them.
        if field not in (offers or {"tools"}):
            return ()
        for _ in range(MOST_PAGES):
            try:
                page = await self._answer(ask(params=PaginatedRequestParams(cursor=cursor)))
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND:
                    return entries
                raise
            entries += getattr(page, field)
            if not (cursor := page.next_cursor):
                return entries
        raise CallFailed(f"The MCP server {self._server.name} lists its {field} without end.")

    async def read(self, uri: str) -> Sequence[str | bytes]:
        """The pieces of a resource, each as text or bytes."""
        answer = await self._answer(self._session.read_resource(uri))
        return [
            piece.text if hasattr(piece, "text") else base64.b64decode(piece.blob, validate=False)
            for piece in answer.contents
        ]

    async def prompt(self, name: str, values: dict[str, str]) -> str:
        """The text of a prompt with its arguments filled in."""
        result = await self._answer(self._session.get_prompt(name, values))
        texts = []
        for message in result.messages:
            # Converted like a result, so that every part is a text or file.
            part = valid_result({"content": [message.content.model_dump(mode="json", by_alias=True)]})
            text = part["content"][0].get("text", f"[{message.content.type} left out]")
            texts.append(text if message.role == "user" else f"[answer given as an example] {text}")
        return "\n\n".join(texts)

    async def call(self, name: str, args: dict[str, Any], progressed: Callable[[], None]) -> Any:
        """Call a tool. Its text is returned unchanged. Raises whatever the library raises.

        Args:
            name: The server's own name of the tool.
            args: Its arguments.
            progressed: Called when the server reports progress.
        """

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            progressed()

        result = await self._answer(self._session.call_tool(name, args, progress_callback=heard))
        content = content_of(result)
        if not result.is_error:
            return content
        text = ToolReturnPart(name, content).model_response_str(wrap_if_error=False)
        raise CallFailed(text if text.strip() else f"The tool {name} failed without a message.")

    def is_lost(self) -> bool:
        """Whether no further call can succeed: the program is gone, or the address cannot be reached."""
        is_over = self._task is not None and self._task.done()
        is_closed = self._dispatcher is not None and self._dispatcher.is_closed
        return is_over or is_closed or bool(self.program.ended)

    async def is_unsent(self, error: BaseException) -> bool:
        """Whether a request certainly had no effect, because there was no session for it."""
        if isinstance(error, httpx2.ConnectError):
            return True
        if not self._server.url or not isinstance(error, MCPError) or self.is_lost():
            return False
        status = error.data.get("status") if isinstance(error.data, dict) else None
        refusal = status, error.code
        if status in _LOST_STATUSES:
            self.forgotten = refusal
        elif refusal != self.forgotten and status in _SESSION_STATUSES and error.code != METHOD_NOT_FOUND:
            # A refusal like any other error: if another request in the session gets the same, the session is
            # gone.
            with suppress(TimeoutError):
                try:
                    async with asyncio.timeout(PING_S):
                        await self._session.send_ping()
                except MCPError as same:
                    self.forgotten = refusal if same.code == error.code else self.forgotten
        return refusal == self.forgotten

    async def _answer(self, answer: Awaitable[T]) -> T:
        """Wait for an answer, as long as the connection lasts and messages can be read.

        Raises:
            CallFailed: if an answer cannot be read: the request it belongs to is unknown.
        """
        assert self._task is not None
        if self._unreadable.done():
            self._unreadable = asyncio.get_running_loop().create_future()
        asking = asyncio.ensure_future(answer)
        self._asked += 1
        self.idle.clear()
        try:
            await first_of(asking, self._unreadable, self._task)
            if not asking.done() and self._unreadable.done():
                raise CallFailed(f"The MCP server {self._server.name} sent {self._unreadable.result()}.")
            if asking.done() and self.is_lost():
                await asyncio.wait([self._task], timeout=_ENDED_S)
            if not asking.done() or asking.exception() is not None:
                self._raise_end()
            return await asking
        finally:
            await end_tasks(asking)
            self._asked -= 1
            if not self._asked:
                self.idle.set()

    def _raise_end(self) -> None:
        """Raise why the connection has ended, if it has and the reason is known."""
        if self._task is None or not self._task.done():
            return
        error = None if self._task.cancelled() else self._task.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if error is not None:
            raise error

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, Exception):
            # Lines that are no messages are skipped: programs print them by mistake.
            if (flaw := _flaw_of_answer(message)) and not self._unreadable.done():
                self._unreadable.set_result(flaw)
            return
        if monotonic() - self._since > FLOOD_S:
            self._since, self._notes = monotonic(), 0
        self._notes += 1
        if self._notes > FLOOD_NOTES:
            self._flooded()
        elif getattr(message, "method", "").endswith("/list_changed"):
            self._changed()

    def _valid(self, method: str, answer: dict[str, Any]) -> dict[str, Any]:
        """Validate an answer before the library, which would reject all of it for one malformed part."""
        if method == "tools/call":
            return valid_result(answer)
        known = self._listings.get(method)
        return known.sifted(method, answer, self._session.protocol_version or "") if known else answer


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Sends requests, and validates their answers."""

    def __init__(self, read: Any, write: Any, valid: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        super().__init__(read, write)
        self._valid = valid
        self.is_closed = False

    async def run(self, *args: Any, **more: Any) -> None:
        try:
            await super().run(*args, **more)
        finally:
            self.is_closed = True

    async def send_raw_request(
        self, method: str, params: Any, opts: Any = None, **more: Any
    ) -> dict[str, Any]:
        return self._valid(method, await super().send_raw_request(method, params, opts, **more))


def _flaw_of_answer(error: Exception) -> str:
    """Why an answer cannot be read; empty if the message is no answer."""
    if not isinstance(error, ValidationError):
        return ""
    if "recursion limit" in str(error):
        return "an answer that is nested too deeply"
    wrong = {found["loc"] for found in error.errors(include_url=False, include_input=False)}
    is_answer = ("JSONRPCResponse", "id") not in wrong and ("JSONRPCRequest", "method") in wrong
    return "an answer that does not follow the protocol" if is_answer else ""


class _HttpClient(httpx2.AsyncClient):
    """A client that converts an MCP server's responses to a form that the library can read."""

    def __init__(self, **options: Any) -> None:
        super().__init__(transport=Route(), trust_env=False, **options)
        # Before anything reads the response, including what signs requests.
        self.event_hooks = {"response": [_shorten_refusal]}

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        response = await super().send(request, **options)
        if response.status_code >= _BAD_STATUS and request.method == "POST":
            return await _refusal(request, response)
        if response.next_request is not None or not options.get("stream"):
            return response
        own = [each for each in response.headers.multi_items() if each[0] not in _OF_THE_BODY]
        body = _Body(_lines_of(response), response.aclose)
        return httpx2.Response(
            response.status_code, headers=own, stream=body, request=request, extensions=response.extensions
        )


_OF_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")


@dataclass(slots=True)
class _Body(httpx2.AsyncByteStream):
    pieces: AsyncIterator[bytes]
    close: Callable[[], Awaitable[None]]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.pieces

    async def aclose(self) -> None:
        await self.close()


async def _lines_of(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body line by line, with surrogates fixed. An answer, or a line of an event, has a maximum size."""
    has_lines = response.headers.get("content-type", "").startswith("text/event-stream")
    line, size = bytearray(), 0
    async for data in response.aiter_bytes():
        head, end, tail = data.rpartition(b"\n")
        if end:
            yield mended(bytes(line) + head + end)
            line = bytearray(tail)
        else:
            line += data
        size += len(data)
        if (len(line) if has_lines else size) > LINE_BYTES:
            raise httpx2.StreamError(f"it sent a message of more than {LINE_BYTES >> 20} MB")
    yield mended(bytes(line))


async def _shorten_refusal(response: httpx2.Response) -> None:
    if response.status_code < _BAD_STATUS or not isinstance(response.stream, httpx2.AsyncByteStream):
        return
    body = response.stream

    async def beginning() -> AsyncIterator[bytes]:
        left = REFUSAL_BYTES
        async for data in body:
            yield data[:left]
            if (left := left - len(data)) <= 0:
                return

    response.stream = _Body(beginning(), body.aclose)


async def _refusal(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Convert a refusal, in any form, to the error that answers the request."""
    sent, body = object_in(request.content) or {}, object_in(await response.aread()) or {}
    error, status = body.get("error") if "jsonrpc" in body else None, response.status_code
    match error:
        case {"code": int(code), "message": str(message)}:
            pass
        case _:
            phrase = next((each.phrase for each in HTTPStatus if each == status), "")
            words = response.text.strip()[:WORDS_CHARS]
            summary = f"It answered {status} {phrase}".rstrip()
            code, message = INTERNAL_ERROR, f"{summary}: {words}" if words else summary
    answer = {
        "jsonrpc": "2.0",
        "id": sent.get("id"),
        "error": {"code": code, "message": message, "data": {"status": status}},
    }
    own = {name: value for name, value in response.headers.items() if name not in _OF_THE_BODY}
    own["content-type"] = "application/json"
    return httpx2.Response(status, headers=own, json=answer, request=request)
