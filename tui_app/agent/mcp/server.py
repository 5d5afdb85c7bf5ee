"""One MCP server through its life: started, listed, called, ended; whatever it does, only it fails."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any, TypeVar

from pydantic_ai.tools import ToolDefinition

from tui_app.agent.answer_schema import references
from tui_app.agent.mcp.connection import (
    DESCRIPTION_CHARS,
    SCHEMA_CHARS,
    Callbacks,
    CallFailed,
    ClientMissing,
    Connection,
    MissingVariable,
    load_client,
    secrets_of,
)
from tui_app.agent.mcp.sign_in import SignIn
from tui_app.agent.mcp.status import McpPrompt, McpResource, McpStatus
from tui_app.records import frozen
from tui_app.settings.tables import McpServer
from tui_app.text import count, plain_text
from tui_app.tool_specs import TOOLS
from tui_app.trust import NotTrusted, ProgramPlace

# Which tools of an MCP server the model is offered, and under which names. All a server says is foreign.

NAME_CHARS = 64
"""Characters of a tool's name that every provider takes."""
MOST_TOOLS = 128
ALL_SCHEMA_CHARS = 400_000
"""Characters of all schemas of a server: each takes time to check."""
MOST_TOLD = 50
"""Sentences about tools that are left out; of more it is told how many there are."""
T = TypeVar("T")
_PROMPT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


@frozen
class Offered:
    """One tool: how the server calls it, and how the model does."""

    server: str
    own_name: str
    definition: ToolDefinition

    @property
    def claims_read_only(self) -> bool:
        """Whether the server says that it changes nothing; a hint, nothing to rely on."""
        return bool((self.definition.metadata or {}).get("read_only_hint"))


@frozen
class Offer:
    """What comes of a server's list."""

    tools: tuple[Offered, ...] = ()
    left_out: tuple[str, ...] = ()
    """Sentences: which tool cannot be used, and why."""


def offer(server: str, listed: Sequence[Any], allowed: Collection[str] | None) -> Offer:
    """Choose from what a server lists.

    Args:
        server: Its name.
        listed: Its tools as the protocol has them: name, description, input_schema, annotations.
        allowed: Names of those that may be used; None allows all.
    """
    tools: dict[str, Offered] = {}
    left_out: list[str] = []
    left = ALL_SCHEMA_CHARS
    known = {str(each.name) for each in listed}
    left_out += [f"{name} is allowed by the settings, but the server has no such tool."
                 for name in allowed or () if name not in known]  # fmt: skip
    for each in listed:
        if allowed is not None and each.name not in allowed:
            continue
        hints, name, schema = each.annotations, prefixed(server, each.name), dict(each.input_schema)
        why = ""
        if len(name) > NAME_CHARS:
            why = f"its name is longer than {NAME_CHARS} characters"
        elif name in tools:
            why = f"{tools[name].own_name:.80} has the name {name} already"
        elif len(tools) >= MOST_TOOLS:
            why = f"a server may offer at most {MOST_TOOLS} tools"
        else:
            why = _schema_trouble(schema, left)
        if why:
            left_out.append(f"{each.name:.80} is left out: {why}.")
            continue
        definition = ToolDefinition(
            name=name,
            description=(each.description or "")[:DESCRIPTION_CHARS],
            parameters_json_schema=schema,
            metadata={
                "mcp_server": server,
                "mcp_tool": each.name,
                "read_only_hint": bool(hints is not None and hints.read_only_hint),
            },
        )
        tools[name] = Offered(server, each.name, definition)
        left -= len(json.dumps(schema))
    if (more := len(left_out) - MOST_TOLD) > 0:
        left_out = [*left_out[:MOST_TOLD], f"{count(more, 'more tool')} left out."]
    return Offer(tuple(tools.values()), tuple(left_out))


def _schema_trouble(schema: Mapping[str, Any], left: int) -> str:
    """Why a schema cannot be used; empty where it can.

    Args:
        schema: What a tool takes.
        left: Characters that are left for it.
    """
    size = len(json.dumps(schema))
    if size > SCHEMA_CHARS:
        return f"its schema is longer than {SCHEMA_CHARS:,} characters"
    if size > left:
        return f"the schemas of all are longer than {ALL_SCHEMA_CHARS:,} characters"
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    # A provider would refuse it, and with it the whole request.
    try:
        Draft202012Validator.check_schema(schema)
        registry = Registry().with_resource("", DRAFT202012.create_resource(dict(schema)))
        for target in references(schema):
            registry.resolver().lookup(target)
    except SchemaError as error:
        said = " ".join(error.message.split())[:120]
    except Unresolvable as error:
        said = f"{error.ref} leads nowhere"[:120]
    except RecursionError:
        said = "it is nested too deeply"
    else:
        return ""
    return f"its schema is not a JSON schema ({said})"


def prefixed(server: str, tool: str) -> str:
    return _NOT_IN_NAMES.sub("_", f"{server}_{tool}")


def without_clashes(offers: Mapping[str, Offer], taken: Callable[[], Collection[str]]) -> dict[str, Offer]:
    """Leave out what has the name of a tool of ours, or of a server named before.

    Args:
        offers: By server, in the order of the settings.
        taken: Names of all other tools; ours are known.
    """
    # Also of those that are switched off: a rule about one must not fit a server's.
    owners = dict.fromkeys((*TOOLS, *taken()), "a tool of Plimsoll")
    kept: dict[str, Offer] = {}
    for server, each in offers.items():
        clash = [tool for tool in each.tools if tool.definition.name in owners]
        told = [f"{tool.own_name:.80} is left out: {owners[tool.definition.name]} is called "
                f"{tool.definition.name} already." for tool in clash]  # fmt: skip
        free = tuple(tool for tool in each.tools if tool not in clash)
        owners.update((tool.definition.name, f"a tool of {server}") for tool in free)
        kept[server] = replace(each, tools=free, left_out=(*each.left_out, *told))
    return kept


STOP_S = 2.5
"""Seconds a server has to end before it is let go of; its program is ended by then."""
RESTARTS = 3
"""Times in a row that a server which was lost is started again by itself."""
STABLE_S = 60.0
"""Seconds after which a server that was started again counts as well: what came before is forgotten."""
_PAUSE_S = 0.2
"""Seconds in front of the first of several restarts; twice as many in front of each further one."""
REVIVE_S = 15.0
"""Seconds after which an address that was given up may be tried again."""
MOST_DECLINED = 3
"""Questions in a row to which the user gives no answer; further ones are declined until the next call."""
RELIST_S = 1.0
"""Seconds between two readings of a list that changes."""
LONGEST_CALL_S = 3_600.0
"""Seconds after which a call ends whatever progress its server reports."""
_SERVER_SAID_CHARS = 300


Ask = Callable[[str, str, Mapping[str, Any]], Awaitable[dict[str, Any] | None]]
"""Given the server's name, its question and the schema of the answer, gives the answer; None for none."""
INSTRUCTION_CHARS = 2_000
"""Characters of a server's instructions that the model is told."""
MOST_LISTED = 500
"""Resources, or prompts, of one server that are offered."""
RESOURCE_BYTES = 128 * 1024
"""A longer resource is not sent along."""


class _Lost(Exception):
    """The connection is of no use any more. The message is a sentence."""


class Server:
    """Starts a server and keeps it; all methods belong to one event loop.

    One that is lost is started again by itself, a few times.

    Args:
        settings: What the user wrote.
        place: Where its program starts, with our own environment.
        changed: Called whenever its state or its list has changed.
        sign_in: How it may sign in at an address; None for not at all.
        ask: Has the user answer a question of the server; None where nobody can be asked.
    """

    def __init__(
        self,
        settings: McpServer,
        place: ProgramPlace,
        changed: Callable[["Server"], None],
        sign_in: SignIn | None = None,
        ask: Ask | None = None,
    ) -> None:
        self.settings, self._sign_in, self._ask = settings, sign_in, ask
        self._asking = self._declined = 0
        """Questions that wait for the user: no call ends for its length meanwhile."""
        self.offer = Offer()
        self.status = McpStatus(
            name=settings.name, where=settings.where, state="starting" if settings.enabled else "off"
        )
        self.settled = asyncio.Event()
        """Set once it is ready, or is not going to be."""
        self._place, self._changed = place, changed
        self._secrets = secrets_of(settings, place.env)
        self._connection: Connection | None = None
        self._stop = asyncio.Event()
        self._again = asyncio.Event()
        """The connection is lost, or a list has changed: the task that keeps it has to look."""
        self._ended = ""
        """Why the program of the last connection was gone before it was left."""
        self._lost = ""
        """Why the connection is of no use any more, as a sentence."""
        self._task: asyncio.Task[None] | None = None
        self._restarts, self._since, self._was_ready = 0, 0.0, False

    @property
    def ready(self) -> bool:
        """Whether it can be called; a program that has ended meanwhile is noticed here."""
        if self.status.state == "ready" and self._connection is not None and self._connection.is_lost():
            self._lose(self._connection.ended or "its address can no longer be reached")
        return self.status.state == "ready"

    @property
    def may_revive(self) -> bool:
        """Whether it was given up a while ago, and may have come back."""
        gone = self.status.state == "failed" and self._was_ready and bool(self.settings.url)
        return gone and monotonic() - self._since > REVIVE_S

    @property
    def _start_s(self) -> float:
        return self.settings.timeout + (self._sign_in.wait_s if self._sign_in is not None else 0.0)

    def start(self) -> None:
        """Begin to connect, unless that was done or it is switched off."""
        if not self.settings.enabled:
            self.settled.set()
        elif self._task is None:
            self._task = asyncio.create_task(self._live(), name=f"mcp-{self.settings.name}")

    def revive(self) -> None:
        """Try a server again that was given up."""
        self._restarts, self._lost = 0, ""
        self.settled.clear()
        self.status = replace(self.status, state="starting")
        self._task = asyncio.create_task(self._live(), name=f"mcp-{self.settings.name}")

    async def stop(self) -> None:
        """End the connection, and the program with all its children."""
        self._stop.set()
        self._again.set()
        self.settled.set()
        if self.status.state in ("starting", "ready"):
            self.offer = Offer()
            self.status = replace(self.status, state="stopped", left_out=())
            self._changed(self)
        if self._task is None:
            return
        _, late = await asyncio.wait([self._task], timeout=STOP_S)
        for task in late:
            task.cancel()
            await asyncio.wait([task], timeout=STOP_S)

    async def call(self, own_name: str, args: dict[str, Any]) -> Any:
        """Call a tool; what a lost connection has not sent is sent again on the next one.

        Args:
            own_name: As the server calls it.
            args: Its arguments.

        Raises:
            CallFailed: if there is no result, for whatever reason.
        """
        for retry in (True, False):
            connection = self._connection
            if not self.ready or connection is None:
                raise CallFailed(
                    f"The MCP server {self.settings.name} is not running. {self.status.error}".strip()
                )
            try:
                return await self._call(connection, own_name, args)
            except CallFailed:
                raise
            except Exception as error:  # whatever a foreign server makes the client raise
                told = await self._why(connection, error)
                if not (retry and connection.is_unsent(error)):
                    raise CallFailed(told) from error
            await self.settled.wait()
        raise AssertionError

    async def _call(self, connection: Connection, own_name: str, args: dict[str, Any]) -> Any:
        """Call a tool, for as long as it may take. Raises ``CallFailed``, and whatever the client raises."""
        begun = heard = monotonic()
        self._declined = 0

        def progressed(_text: str) -> None:
            nonlocal heard
            heard = monotonic()

        calling = asyncio.ensure_future(connection.call(own_name, args, progressed))
        stopping = asyncio.ensure_future(self._stop.wait())
        limit = self.settings.timeout
        try:
            while (left := min(heard + limit, begun + max(limit, LONGEST_CALL_S)) - monotonic()) > 0:
                done, _ = await asyncio.wait(
                    [calling, stopping], timeout=left, return_when=asyncio.FIRST_COMPLETED
                )
                if calling in done:
                    return calling.result()
                if stopping in done:
                    break
                if self._asking:
                    heard = monotonic()
        finally:
            for task in (calling, stopping):
                task.cancel()
            await asyncio.gather(calling, stopping, return_exceptions=True)
        why = f"did not answer within {limit:g} seconds"
        if self._stop.is_set():
            why = "was stopped"
        raise CallFailed(self._note(f"The MCP server {self.settings.name} {why}."))

    async def _why(self, connection: Connection, error: Exception) -> str:
        """What to tell of a failed call; also finds out whether the connection is lost with it."""
        for _ in range(10):  # The end of the pipe may be seen before the reason is written.
            if connection.ended or "closed" not in str(error).lower() or self.settings.url:
                break
            await asyncio.sleep(0.05)
        if connection.is_lost(error):
            if connection is self._connection:
                self._lose(f"in the middle of a call {connection.ended or _words(error)}")
            why = connection.ended or self._safe(_sentence(error)).rstrip(".")
            return f"The MCP server {self.settings.name} is gone: {why}."
        self._note(_sentence(error))
        return self._safe(_words(error))

    def _note(self, text: str) -> str:
        """Keep what went wrong last; the server goes on."""
        self.status = replace(self.status, error=self._safe(text))
        return self._safe(text)

    def _lose(self, why: str) -> None:
        """Have a connection that is of no use any more replaced, or given up."""
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
        """Connect, and connect again when the connection is lost, until it is stopped or given up."""
        while (trouble := await self._connect()) is not None and not self._stop.is_set():
            if not self._was_ready or self._restarts >= RESTARTS:
                tried = f" It was started again {count(self._restarts, 'time')}." if self._restarts else ""
                self._fail(f"{trouble}{tried}")
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _PAUSE_S * 2**self._restarts)
            self._restarts += 1
            self.status = replace(self.status, restarts=self.status.restarts + 1)
        self.settled.set()

    async def _connect(self) -> str | None:
        """Connect once, and stay connected.

        Returns:
            Why there is no connection any more, as sentences; None where it is not to be tried again.
        """
        self._again.clear()
        connection: Connection | None = None
        try:
            await asyncio.to_thread(load_client)
            headers = (*self.settings.headers_env, *self.settings.given_headers)
            named = any(name.lower() == "authorization" for name in headers)
            # The user may be asked to sign in at an address where no header does it for them.
            sign_in = self._sign_in if self.settings.url and not named else None
            auth = sign_in.client(self.settings.url) if sign_in is not None else None
            callbacks = Callbacks(
                changed=lambda _what: self._again.set(),
                flooded=lambda: self._lose("It sends notifications without end"),
                elicit=None if self._ask is None else self._elicit,
            )
            connection = self._connection = Connection(
                self.settings, self._place, callbacks, auth, self._start_s
            )
            await self._serve(connection)
        except (ClientMissing, MissingVariable, NotTrusted) as error:
            self._fail(str(error))
        except _Lost as lost:
            return str(lost)
        except Exception as error:  # whatever a foreign program makes the client raise
            if self._sign_in is not None and self._sign_in.is_needed:
                self._fail(
                    f"It needs you to sign in: plimsoll mcp login {self.settings.name}, or f6 in /mcp."
                )
                return None
            why = f"It could not be started: {_sentence(error)}"
            if isinstance(error, TimeoutError) or "timed out" in str(error).lower():
                why = f"It did not answer within {self.settings.timeout:g} seconds."
            elif self._ended:
                why = f"It could not be started: {self._ended}."
            elif isinstance(error, CallFailed):
                why = str(error)
            if connection is not None and connection.said:
                why += f" It said: {connection.said[-_SERVER_SAID_CHARS:]}"
            return why
        finally:
            if connection is not None:
                connection.close()
        return None

    async def _serve(self, connection: Connection) -> None:
        """Keep a connection until the server is stopped. Raises ``_Lost``, and whatever the client raises."""
        opening = asyncio.create_task(connection.open())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait(
                [opening, stopping], timeout=self._start_s, return_when=asyncio.FIRST_COMPLETED
            )
            if not opening.done():
                if self._stop.is_set():
                    return
                raise TimeoutError
            opening.result()
            await self._list(connection)
            self._since, self._was_ready = monotonic(), True
            listed = monotonic()
            while not self._stop.is_set():
                await self._again.wait()
                if not self._lost and not self._stop.is_set():
                    # One that changes all the time is not read all the time.
                    await asyncio.sleep(max(0.0, listed + RELIST_S - monotonic()))
                self._again.clear()
                listed = monotonic()
                if self._lost:
                    lost, self._lost = self._lost, ""
                    raise _Lost(lost)
                if not self._stop.is_set():
                    await self._list(connection)
        finally:
            for task in (opening, stopping):
                task.cancel()
            entered = (await asyncio.gather(opening, return_exceptions=True))[0]
            await asyncio.gather(stopping, return_exceptions=True)
            self._ended = connection.ended  # before it is ended by us
            if not isinstance(entered, BaseException):
                with suppress(Exception):  # it is going anyway
                    await connection.leave()

    async def _list(self, connection: Connection) -> None:
        """Read the server's list, at the start and whenever it says that it has changed."""
        async with asyncio.timeout(self.settings.timeout):
            listing = await connection.tools()
        if self._stop.is_set() or self._lost:
            return
        resources, prompts = await self._other_lists(connection)
        # Off the loop, which goes on while schemas are checked.
        made = await asyncio.to_thread(offer, self.settings.name, listing.tools, self.settings.tools)
        self.offer = replace(made, left_out=(*listing.malformed, *made.left_out))
        # What went wrong before it was started again stays to be read.
        error = self.status.error if self.status.restarts else ""
        said = plain_text(connection.instructions).strip() if self.settings.instructions else ""
        self.status = replace(
            self.status,
            state="ready",
            error=error,
            left_out=self.offer.left_out,
            resources=resources,
            prompts=prompts,
            instructions=said if len(said) <= INSTRUCTION_CHARS else f"{said[:INSTRUCTION_CHARS]}…",
        )
        self.settled.set()
        self._changed(self)

    async def _other_lists(
        self, connection: Connection
    ) -> tuple[tuple[McpResource, ...], tuple[McpPrompt, ...]]:
        """What it has beside tools; a list that cannot be read is none, and the tools stay."""
        name = self.settings.name
        resources, prompts = tuple[McpResource, ...](), tuple[McpPrompt, ...]()
        with suppress(Exception):  # whatever a foreign server makes the client raise
            async with asyncio.timeout(self.settings.timeout):
                resources = tuple(
                    McpResource(server=name, uri=str(each.uri), about=each.description or each.name or "")
                    for each in list(await connection.resources())[:MOST_LISTED]
                )
        with suppress(Exception):  # the same
            async with asyncio.timeout(self.settings.timeout):
                prompts = tuple(
                    McpPrompt(
                        server=name,
                        name=each.name,
                        about=each.description or "",
                        arguments=tuple(
                            one.name if one.required else f"[{one.name}]" for one in each.arguments or ()
                        ),
                    )
                    for each in list(await connection.prompts())[:MOST_LISTED]
                    if _PROMPT_NAME.fullmatch(each.name)
                )
        return resources, prompts

    async def read(self, uri: str) -> str | bytes:
        """A resource: text, or a file as it is. Raises ``CallFailed``."""
        pieces = await self._asked(lambda connection: connection.read(uri))
        if sum(len(piece) for piece in pieces) > RESOURCE_BYTES * (40 if len(pieces) == 1 else 1):
            raise CallFailed(f"it is larger than {RESOURCE_BYTES >> 10} KB")
        if len(pieces) == 1 and isinstance(pieces[0], bytes):
            return pieces[0]
        if any(isinstance(piece, bytes) for piece in pieces):
            raise CallFailed("it contains several files")
        text = "\n\n".join(piece for piece in pieces if isinstance(piece, str))
        if len(text) > RESOURCE_BYTES:
            raise CallFailed(f"it is larger than {RESOURCE_BYTES >> 10} KB")
        return text

    async def prompt(self, name: str, values: dict[str, str]) -> str:
        """The text of one of its prompts. Raises ``CallFailed``."""
        return await self._asked(lambda connection: connection.prompt(name, values))

    async def _asked(self, question: Callable[[Connection], Awaitable[T]]) -> T:
        """Ask something that is no call of a tool. Raises ``CallFailed``."""
        connection = self._connection
        if not self.ready or connection is None:
            raise CallFailed(f"the MCP server {self.settings.name} is not running")
        try:
            async with asyncio.timeout(self.settings.timeout):
                return await question(connection)
        except TimeoutError:
            raise CallFailed(f"{self.settings.name} did not answer in time") from None
        except Exception as error:  # whatever a foreign server makes the client raise
            raise CallFailed((await self._why(connection, error)).rstrip(".")) from error

    async def _elicit(self, message: str, _type: object, params: Any, _context: object) -> Any:
        """Put a question of the server to the user."""
        from mcp_types import ElicitResult

        schema = getattr(params, "requested_schema", None)
        if self._ask is None or not isinstance(schema, dict):
            # To be sent to some address is no question that is answered here.
            return ElicitResult(action="decline")
        if self._declined >= MOST_DECLINED:
            self._note(f"The MCP server {self.settings.name} asks again and again: it is declined unasked.")
            return ElicitResult(action="decline")
        self._asking += 1
        try:
            answer = await self._ask(self.settings.name, message, schema)
        finally:
            self._asking -= 1
        self._declined = self._declined + 1 if answer is None else 0
        return ElicitResult(action="decline" if answer is None else "accept", content=answer)

    def _fail(self, why: str) -> None:
        if self._stop.is_set():
            # It was asked to end: what it makes of that is no failure.
            return
        self.offer = Offer()
        self._since = monotonic()
        self.status = self.status.failed(self._safe(why))
        self.settled.set()
        self._changed(self)

    def _safe(self, text: str) -> str:
        """Without the values of variables that the settings name."""
        for value in self._secrets:
            text = text.replace(value, "(hidden)")
        return text


def _words(error: BaseException) -> str:
    """An error's own words, as they are."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return str(error) or type(error).__name__


def _sentence(error: BaseException) -> str:
    """An error's own words in one line, at most a few hundred characters."""
    text = " ".join(_words(error).split())[:500]
    return text if text.endswith((".", "!", "?")) else f"{text}."
