"""One MCP server: started, listed, called, stopped. A failure affects only this server."""

import asyncio
import importlib
import logging
import re
import warnings
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

from tui_app.agent.error_sentences import connection_trouble
from tui_app.agent.mcp.offers import Offer, offer
from tui_app.agent.mcp.status import CallFailed, Consent, McpPrompt, McpResource, McpStatus
from tui_app.agent.mcp.tokens import TokenStore
from tui_app.agent.mcp.variables import MissingVariable, secrets_of
from tui_app.agent.waits import end_tasks, first_of, run_alongside
from tui_app.extras import install_command
from tui_app.settings.tables import McpServer
from tui_app.system.trust import NotTrusted, ProgramPlace
from tui_app.text import count, cut, plain_text

if TYPE_CHECKING:
    from tui_app.agent.mcp.connection import Connection
    from tui_app.agent.mcp.oauth import Auth

SIGN_IN_S = 310.0
"""Additional seconds for a start during which the user signs in."""
STOP_S = 2.5
"""Seconds a server has to stop before it is cancelled; its program has ended by then."""
RESTARTS = 3
"""Maximum automatic restarts in a row."""
STABLE_S = 60.0
"""Seconds after which a restarted server counts as stable, and earlier failures no longer count."""
_PAUSE_S = 0.2
"""Seconds before the first of several restarts, doubled for each further one."""
REVIVE_S = 15.0
"""Seconds after which an address that was given up may be tried again."""
MOST_DECLINED = 3
"""Unanswered questions in a row after which further ones are declined until the next call."""
RELIST_S = 1.0
"""Minimum seconds between two readings of a changing list."""
LONGEST_CALL_S = 3_600.0
"""Seconds after which a call ends, whatever progress its server reports."""
_NOTE_CHARS, _WORDS_CHARS = 500, 4_000
_UNAUTHORIZED = 401
_PROMPT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
T = TypeVar("T")

Ask = Callable[[str, str, Mapping[str, Any]], Awaitable[dict[str, Any] | None]]
"""Takes a server's name, question and answer schema, and returns the answer; None for none."""
INSTRUCTION_CHARS = 2_000
"""Maximum characters of a server's instructions sent to the model."""
MOST_LISTED = 500
"""Maximum resources, or prompts, offered of one server."""
RESOURCE_BYTES = 128 * 1024
"""A longer resource is not sent."""


Question = Callable[["Connection", Callable[[], None]], Awaitable[T]]
"""A request on a connection. It calls its second argument whenever the server reports progress."""


class ClientMissing(Exception):
    """The optional client is not installed. The message tells what to do."""


class _Lost(Exception):
    """The connection can no longer be used. The message is a sentence."""


def load_client() -> tuple[Any, ...]:
    """Import what uses the protocol's library. Slow, so call it in a thread. Raises ``ClientMissing``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module("mcp")
    except ImportError as error:
        message = f"The client for MCP servers is not installed. Install it: {install_command('mcp')}"
        raise ClientMissing(message) from error
    for name in ("mcp", "client"):
        # It would log a server's invalid messages as they are.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return tuple(importlib.import_module(f"tui_app.agent.mcp.{name}") for name in ("connection", "oauth"))


def first_status(server: McpServer) -> McpStatus:
    return McpStatus(name=server.name, where=server.where, state="starting" if server.enabled else "off")


class Server:
    """Starts a server and keeps it running. Not thread-safe: use it on one event loop.

    A server that is lost is restarted automatically, a few times.

    Args:
        settings: The user's settings for it.
        place: Where its program starts, with our own environment.
        changed: Called whenever its state or its list has changed.
        tokens: Tokens of earlier sign-ins; None for none.
        announce: Receives the consent to show; None if no sign-in was requested.
        ask: Asks the user a question of the server; None without a user.
    """

    def __init__(
        self,
        settings: McpServer,
        place: ProgramPlace,
        changed: Callable[["Server"], None],
        tokens: TokenStore,
        announce: Callable[[Consent], None] | None,
        ask: Ask,
    ) -> None:
        self.settings, self._ask = settings, ask
        self._asking = self._declined = 0
        """Number of questions open for the user: meanwhile no call times out."""
        self.offer = Offer()
        self.status = first_status(settings)
        self.settled = asyncio.Event()
        """Set once it is ready, or will not become ready."""
        self._place, self._changed = place, changed
        self._secrets = secrets_of(settings, place.env)
        self._connection: Connection | None = None
        headers = (*settings.headers_env, *settings.given_headers)
        # An Authorization header in the settings replaces the sign-in.
        signs_in = bool(settings.url) and "authorization" not in map(str.lower, headers)
        self._tokens, self._announce = tokens if signs_in else None, announce if signs_in else None
        self._auth: Auth | None = None
        self._stop = asyncio.Event()
        self._again = asyncio.Event()
        """The connection is lost, or a list has changed: the task that keeps it has to act."""
        self._lost = ""
        """Why the connection can no longer be used, as a sentence."""
        self._lingering: set[asyncio.Task[None]] = set()
        """Connections whose session the server has forgotten, with calls that still wait for an answer."""
        self._task: asyncio.Task[None] | None = None
        self._restarts, self._since, self._was_ready = 0, 0.0, False

    @property
    def ready(self) -> bool:
        """Whether it can be called. Notices a program that has ended meanwhile."""
        if self.status.state == "ready" and self._connection is not None and self._connection.is_lost():
            self._lose(self._connection.program.ended or "its address can no longer be reached")
        return self.status.state == "ready"

    @property
    def start_s(self) -> float:
        """Maximum seconds for its start."""
        return self.settings.timeout + (SIGN_IN_S if self._announce is not None else 0.0)

    def start(self) -> None:
        """Start connecting, unless already done or the server is off."""
        if not self.settings.enabled:
            self.settled.set()
        elif self._task is None:
            self._task = asyncio.create_task(self._live(), name=f"mcp-{self.settings.name}")

    def revive(self) -> None:
        """Try again a server that was given up a while ago, and may be back."""
        is_gone = self.status.state == "failed" and self._was_ready and bool(self.settings.url)
        if is_gone and monotonic() - self._since > REVIVE_S:
            self._restarts, self._lost, self._task = 0, "", None
            self.settled.clear()
            self.status = replace(self.status, state="starting")
            self.start()

    async def stop(self) -> None:
        """Close the connection, and kill the program with all its children."""
        self._stop.set()
        self._again.set()
        self.settled.set()
        if self.status.state in ("starting", "ready"):
            self.offer = Offer()
            self.status = replace(self.status, state="stopped", left_out=())
            self._changed(self)
        if self._task is not None and (await asyncio.wait([self._task], timeout=STOP_S))[1]:
            late = (self._task, *self._lingering)
            for task in late:
                task.cancel()
            await asyncio.wait(late, timeout=STOP_S)

    async def call(self, own_name: str, args: dict[str, Any]) -> Any:
        """Call a tool. A call that a lost connection has not sent is sent again on the next one.

        Args:
            own_name: The server's own name of the tool.
            args: Its arguments.

        Raises:
            CallFailed: if there is no result, for whatever reason.
        """
        return await self._request(lambda connection, progressed: connection.call(own_name, args, progressed))

    async def _request(self, question: Question[T]) -> T:
        """Send a request. If it certainly had no effect, send it again on the next connection.

        Raises:
            CallFailed: if there is no answer, for whatever reason.
        """
        for retry in (True, False):
            if not self.ready:
                await self.settled.wait()
            connection = self._connection
            if not self.ready or connection is None:
                name = self.settings.name
                raise CallFailed(f"The MCP server {name} is not running. {self.status.error}".strip())
            try:
                answer = await self._bounded(question, connection)
            except CallFailed:
                raise
            except Exception as error:  # whatever a foreign server makes the client raise
                unsent = await connection.is_unsent(error)
                reason = await self._why(connection, error, is_lost=unsent)
                if not (retry and unsent):
                    raise CallFailed(reason) from error
            else:
                # A server that only forgets its sessions is reconnected without limit.
                self._restarts = self._restarts if retry else 0
                return answer
        raise AssertionError

    async def _bounded(self, question: Question[T], connection: "Connection") -> T:
        """Send a request within its time limit. Raises ``CallFailed``, and whatever the client raises."""
        begun = latest = monotonic()
        self._declined = 0

        def progressed() -> None:
            nonlocal latest
            latest = monotonic()

        limit = self.settings.timeout
        async with run_alongside(question(connection, progressed)) as calling:
            while (left := min(latest + limit, begun + max(limit, LONGEST_CALL_S)) - monotonic()) > 0:
                await first_of(calling, self._stop.wait(), timeout_s=left)
                if calling.done():
                    return calling.result()
                if self._stop.is_set():
                    break
                if self._asking:
                    latest = monotonic()
        why = "was stopped" if self._stop.is_set() else f"did not answer within {limit:g} seconds"
        raise CallFailed(self._note(f"The MCP server {self.settings.name} {why}."))

    async def _why(self, connection: "Connection", error: Exception, *, is_lost: bool) -> str:
        """The message for a failed call. A connection lost with it is replaced."""
        if is_lost or connection.is_lost():
            if connection is self._connection:
                self._lose(f"in the middle of a call {connection.program.ended or _error_text(error)}")
            why = connection.program.ended or self._safe(_sentence(error)).rstrip(".")
            return f"The MCP server {self.settings.name} is gone: {why}."
        if self._auth is not None and self._auth.is_needed:
            return self._note(self._sign_in_error(_error_text(error)))
        self._note(_sentence(error))
        return self._safe(_error_text(error))

    def _sign_in_error(self, words: str) -> str:
        """That the user has to sign in, with the server's own words."""
        if self._auth is None:
            return f"It does not accept the Authorization header of the settings. {words}"
        return f"It needs you to sign in: plimsoll mcp login {self.settings.name}. {words}"

    def _note(self, text: str) -> str:
        """Record the newest error; the server keeps running."""
        self.status = replace(self.status, error=self._safe(text))
        return self._safe(text)

    def _lose(self, why: str) -> None:
        """Replace a connection that can no longer be used, or give the server up."""
        if self._lost or self._stop.is_set():
            return
        self._lost = f"{why[:1].upper()}{why[1:].rstrip('.')}."
        if monotonic() - self._since > STABLE_S:
            self._restarts = 0
        self.offer = Offer()
        self.settled.clear()
        self.status = replace(self.status, state="starting", tools=(), error=self._safe(self._lost))
        self._again.set()
        self._changed(self)

    async def _live(self) -> None:
        """Connect, and reconnect when the connection is lost, until stopped or given up."""
        while (trouble := await self._connect()) is not None and not self._stop.is_set():
            if not self._was_ready or self._restarts >= RESTARTS:
                tried = f" It was started again {count(self._restarts, 'time')}." if self._restarts else ""
                self.fail(f"{trouble}{tried}")
                break
            await first_of(self._stop.wait(), timeout_s=_PAUSE_S * 2**self._restarts)
            self._restarts += 1
            self.status = replace(self.status, restarts=self.status.restarts + 1)
        self.settled.set()
        await asyncio.gather(*self._lingering)

    async def _connect(self) -> str | None:
        """Connect once, and stay connected.

        Returns:
            Why the connection ended, as sentences; None if there must be no retry.
        """
        self._again.clear()
        connection: Connection | None = None
        try:
            client, oauth = await asyncio.to_thread(load_client)
            async with AsyncExitStack() as stack:
                if self._tokens is not None:
                    signing = oauth.auth_of(self.settings.url, self._tokens, self._announce)
                    self._auth = await stack.enter_async_context(signing)
                connection = self._connection = client.Connection(
                    self.settings,
                    self._place,
                    self._auth,
                    changed=self._again.set,
                    flooded=lambda: self._lose("It sends notifications without end"),
                    elicit=self._elicit,
                )
                await self._serve(connection)
        except (ClientMissing, MissingVariable, NotTrusted) as error:
            self.fail(str(error))
        except _Lost as lost:
            return str(lost)
        except Exception as error:  # whatever a foreign program makes the client raise
            return self._start_trouble(connection, error)
        return None

    def _start_trouble(self, connection: "Connection | None", error: Exception) -> str | None:
        """Why a server cannot be started, as sentences; None if a retry would make no difference."""
        data = getattr(error, "data", None)
        if (isinstance(data, dict) and data.get("status") == _UNAUTHORIZED) or (
            self._auth is not None and self._auth.is_needed
        ):
            self.fail(self._sign_in_error(_error_text(error)))
            return None
        why = f"It could not be started: {_error_text(error)}"
        if isinstance(error, TimeoutError):
            why = f"It did not answer within {self.settings.timeout:g} seconds."
        elif connection is not None and connection.program.ended:
            why = f"It could not be started: {connection.program.ended}."
        elif isinstance(error, CallFailed):
            why = str(error)
        if connection is not None and connection.program.printed.stderr_tail:
            why += f" It said: {connection.program.printed.stderr_tail}"
        return plain_text(why)[:_WORDS_CHARS]

    async def _serve(self, connection: "Connection") -> None:
        """Keep a connection until the server is stopped. Raises ``_Lost``, and whatever the client raises."""
        opening = asyncio.create_task(connection.open())
        try:
            await first_of(opening, self._stop.wait(), timeout_s=self.start_s)
            if not opening.done():
                if self._stop.is_set():
                    return
                raise TimeoutError
            opening.result()
            await self._list(connection)
            self._since, self._was_ready, self._announce = monotonic(), True, None
            listed = monotonic()
            while not self._stop.is_set():
                await self._again.wait()
                if not self._lost and not self._stop.is_set():
                    # Do not read a list continuously if it changes all the time.
                    await asyncio.sleep(max(0.0, listed + RELIST_S - monotonic()))
                self._again.clear()
                listed = monotonic()
                if self._lost:
                    lost, self._lost, self._connection = self._lost, "", None
                    raise _Lost(lost)
                if not self._stop.is_set():
                    await self._list(connection)
        finally:
            await end_tasks(opening)
            leaving = asyncio.create_task(self._leave(connection))
            self._lingering.add(leaving)
            leaving.add_done_callback(self._lingering.discard)
            if connection.forgotten is None:
                await asyncio.wait([leaving])

    async def _leave(self, connection: "Connection") -> None:
        """Close a connection. If it still works, wait until all its requests are answered or given up."""
        if connection.forgotten is not None:
            await first_of(connection.idle.wait(), self._stop.wait())
        with suppress(Exception):  # it is being closed anyway
            await connection.leave()

    async def _list(self, connection: "Connection") -> None:
        """Read the server's list, at the start and whenever it reports a change."""
        async with asyncio.timeout(self.settings.timeout):
            listed, malformed = await connection.tools()
        if self._stop.is_set() or self._lost:
            return
        resources = await self._extras(connection, "resources")
        prompts = await self._extras(connection, "prompts")
        # In a thread, so that checking schemas does not block the loop.
        made = await asyncio.to_thread(offer, self.settings.name, listed, self.settings.tools)
        self.offer = replace(made, left_out=(*malformed, *made.left_out))
        name, text = self.settings.name, ""
        if self.settings.instructions:
            text = cut(plain_text(connection.instructions).strip(), INSTRUCTION_CHARS)
        self.status = replace(
            self.status,
            state="ready",
            # Keep the error from before a restart readable.
            error=self.status.error if self.status.restarts else "",
            left_out=self.offer.left_out,
            resources=tuple(
                McpResource(server=name, uri=str(each.uri), about=each.description or each.name or "")
                for each in resources
            ),
            prompts=tuple(_prompt(name, each) for each in prompts if _PROMPT_NAME.fullmatch(each.name)),
            instructions=text,
        )
        self.settled.set()
        self._changed(self)

    async def _extras(self, connection: "Connection", field: str) -> list[Any]:
        """A list other than the tools. If it cannot be read, it counts as empty, and the tools stay."""
        with suppress(Exception):  # whatever a foreign server makes the client raise
            async with asyncio.timeout(self.settings.timeout):
                return list(await connection.listed(field))[:MOST_LISTED]
        return []

    async def read(self, uri: str) -> str | bytes:
        """A resource: text, or a file as bytes. Raises ``CallFailed``."""
        pieces = await self._request(lambda connection, _: connection.read(uri))
        files = [piece for piece in pieces if isinstance(piece, bytes)]
        is_file = len(pieces) == len(files) == 1
        if sum(map(len, pieces)) > RESOURCE_BYTES * (40 if is_file else 1):
            raise CallFailed(f"it is larger than {RESOURCE_BYTES >> 10} KB")
        if files and not is_file:
            raise CallFailed("it contains several files")
        return files[0] if is_file else "\n\n".join(map(str, pieces))

    async def prompt(self, name: str, values: dict[str, str]) -> str:
        """The text of one of its prompts. Raises ``CallFailed``."""
        return await self._request(lambda connection, _: connection.prompt(name, values))

    async def _elicit(self, _context: object, params: Any) -> Any:
        """Ask the user a question of the server."""
        from mcp_types import ElicitResult

        schema = getattr(params, "requested_schema", None)
        if not isinstance(schema, dict):
            # A request to open an address is no question that can be answered here.
            return ElicitResult(action="decline")
        if self._declined >= MOST_DECLINED:
            self._note(f"The MCP server {self.settings.name} asks again and again: it is declined unasked.")
            return ElicitResult(action="decline")
        self._asking += 1
        try:
            answer = await self._ask(self.settings.name, params.message, schema)
        finally:
            self._asking -= 1
        self._declined = self._declined + 1 if answer is None else 0
        return ElicitResult(action="decline" if answer is None else "accept", content=answer)

    def fail(self, why: str) -> None:
        """Give the server up until it is started again."""
        if self._stop.is_set():
            # We stopped it, so this is no failure.
            return
        self.offer = Offer()
        self._since = monotonic()
        self.status = self.status.failed(self._safe(why))
        self.settled.set()
        self._changed(self)

    def _safe(self, text: str) -> str:
        """Mask the values of variables named in the settings, and tokens."""
        for value in (*self._secrets, *(self._tokens.secrets if self._tokens is not None else ())):
            text = text.replace(value, "(hidden)")
        return text


def _prompt(server: str, listed: Any) -> McpPrompt:
    args = tuple(each.name if each.required else f"[{each.name}]" for each in listed.arguments or ())
    return McpPrompt(server=server, name=listed.name, about=listed.description or "", arguments=args)


def _error_text(error: BaseException) -> str:
    """An error's own message, unchanged."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, httpx2.TransportError):
        return "{} {}, then try again.".format(*connection_trouble(error, address="url"))
    return str(error) or type(error).__name__


def _sentence(error: BaseException) -> str:
    """An error's own message in one line, at most a few hundred characters."""
    text = " ".join(_error_text(error).split())[:_NOTE_CHARS]
    return text if text.endswith((".", "!", "?")) else f"{text}."
