"""One MCP server through its life: started, listed, called, ended; whatever it does, only it fails."""

import asyncio
import importlib
import json
import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.tools import ToolDefinition

from tui_app.agent.mcp import supervisor as warden
from tui_app.agent.mcp.status import McpStatus
from tui_app.extras import install_command
from tui_app.settings.tables import McpServer
from tui_app.tool_specs import TOOLS
from tui_app.trust import FOLDER_VARIABLE, NotTrusted, ProgramPlace

if TYPE_CHECKING:
    from fastmcp.client.client import CallToolResult
    from fastmcp.client.transports import ClientTransport

# What an MCP server's program may see of our environment: what it needs to run, and what is named.

NEEDED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", FOLDER_VARIABLE,
)  # fmt: skip
"""Variables without which hardly any program runs as it should; none of them holds a key."""


class MissingVariable(Exception):
    """The settings name a variable that is not set. The message is a sentence."""


def program_environment(server: McpServer, env: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a server's program.

    Args:
        server: Its settings.
        env: Our own environment.

    Raises:
        MissingVariable: if one that is named is not set.
    """
    # An empty one also takes the place of what the client library would pass on by itself.
    needed = {name: env.get(name, "") for name in NEEDED if name in env or name in ("SHELL", "TERM")}
    return {**needed, **{name: _value(value, env, server) for name, value in server.env.items()}}


def header_values(server: McpServer, env: Mapping[str, str]) -> dict[str, str]:
    """The headers of a server's requests. Raises ``MissingVariable``."""
    return {name: _value(f"${variable}", env, server) for name, variable in server.headers_env.items()}


def secrets_of(server: McpServer, env: Mapping[str, str]) -> tuple[str, ...]:
    """Values that must not stand in anything that is shown."""
    named = [value[1:] for value in server.env.values() if value.startswith("$")]
    values = [env.get(name, "") for name in (*named, *server.headers_env.values())]
    own = [value for value in server.env.values() if not value.startswith("$")]
    return tuple(value for value in (*values, *own) if len(value) >= 8)


def _value(text: str, env: Mapping[str, str], server: McpServer) -> str:
    if not text.startswith("$"):
        return text
    name = text[1:]
    if not env.get(name):
        raise MissingVariable(f"The variable {name} is not set; the settings name it for mcp.{server.name}.")
    return env[name]


# One connection to an MCP server. The client library is loaded only here, when a server is first started.

_SAID_CHARS = 2_000


class ClientMissing(Exception):
    """The optional client is not installed. The message says what to do."""


class CallFailed(Exception):
    """A call came to nothing. The message is for the model and the user."""


def load_client() -> None:
    """Import the client library; takes seconds, so call it in a thread.

    Raises:
        ClientMissing: if it is not installed.
    """
    # It would read settings for itself from a file of the folder, and write on our terminal.
    os.environ.setdefault("FASTMCP_ENV_FILE", os.devnull)
    os.environ.setdefault("FASTMCP_LOG_ENABLED", "false")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for module in ("pydantic_ai.mcp", "fastmcp.client.transports"):
                importlib.import_module(module)
    except ImportError as error:
        told = f"The client for MCP servers is not installed. Install it: {install_command('mcp')}"
        raise ClientMissing(told) from error
    for name in ("mcp", "fastmcp", "client"):
        # What a server sends that is no message would be written out as it is.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class Connection:
    """A server while it is connected; made and used on one event loop.

    Args:
        server: Its settings.
        place: Where its program starts, with our own environment.
    """

    def __init__(self, server: McpServer, place: ProgramPlace) -> None:
        from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
        from pydantic_ai.mcp import MCPToolset

        self._said: TextIO | None = None
        env = place.environment()
        transport: ClientTransport
        if server.url:
            transport = StreamableHttpTransport(server.url, headers=header_values(server, env))
        else:
            folder, inherited = place.start_folder(server.cwd), program_environment(server, env)
            args = [each.replace(f"${FOLDER_VARIABLE}", env[FOLDER_VARIABLE]) for each in server.args]
            self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - see close
            transport = StdioTransport(
                command=sys.executable,
                args=["-I", "-S", str(Path(warden.__file__)), server.command, *args],
                env=inherited,
                cwd=str(folder),
                keep_alive=False,
                log_file=self._said,
            )
        self.toolset: MCPToolset[Any] = MCPToolset(
            transport,
            id=server.name,
            init_timeout=server.timeout,
            read_timeout=server.timeout,
            tool_error_behavior="failed",
        )

    async def call(self, name: str, args: dict[str, Any]) -> Any:
        """Call a tool; its text comes back as it was sent. Raises whatever comes to the client library.

        pydantic-ai would read a text that looks like JSON, and write it anew.
        """
        async with self.toolset:
            result = await self.toolset.client.call_tool(name, args, raise_on_error=False)
        content = _content(result)
        if not result.is_error:
            return content
        told = ToolReturnPart(name, content).model_response_str(wrap_if_error=False)
        raise CallFailed(told if told.strip() else f"The tool {name} failed and says nothing.")

    @property
    def said(self) -> str:
        """The end of what the server's program has said on standard error."""
        return self._read().partition(warden.END_MARK)[0].strip()[-_SAID_CHARS:]

    @property
    def ended(self) -> str:
        """Why the server's program is gone, as part of a sentence; empty while it runs."""
        return self._read().partition(warden.END_MARK)[2].strip()

    def _read(self) -> str:
        if self._said is None or self._said.closed:
            return ""
        size = os.fstat(self._said.fileno()).st_size
        start = max(0, size - 4 * _SAID_CHARS)
        return os.pread(self._said.fileno(), size - start, start).decode("utf-8", "replace")

    def close(self) -> None:
        """Let go of what the program has said."""
        if self._said is not None:
            self._said.close()


def _content(result: "CallToolResult") -> Any:
    """What a server has answered: one text, or a list where files are among it."""
    from pydantic_ai.mcp import _map_mcp_tool_result

    pieces = [part.text if part.type == "text" else _map_mcp_tool_result(part) for part in result.content]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) < len(pieces):
        return pieces
    structured = result.structured_content
    if structured is not None and not _tell(texts, structured):
        texts.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(texts)


def _tell(texts: Sequence[str], structured: Mapping[str, Any]) -> bool:
    """Whether texts say all that structured content does; they do by the protocol, but not everywhere."""
    # Servers put what is no object into a field of that name.
    values = [structured, structured["result"]] if list(structured) == ["result"] else [structured]
    read = [_read_json(text) for text in texts]
    return any(value in (_read_json("\n".join(texts)), read, list(texts)) for value in values)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# Which tools of an MCP server the model is offered, and under which names. All a server says is foreign.

NAME_CHARS = 64
"""Characters of a tool's name that every provider takes."""
DESCRIPTION_CHARS = 4_000
SCHEMA_CHARS = 40_000
MOST_TOOLS = 128
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool: how the server calls it, and how the model does."""

    server: str
    own_name: str
    definition: ToolDefinition

    @property
    def claims_read_only(self) -> bool:
        """Whether the server says that it changes nothing; a hint, nothing to rely on."""
        return bool((self.definition.metadata or {}).get("read_only_hint"))


@dataclass(frozen=True, slots=True)
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
        elif len(json.dumps(schema)) > SCHEMA_CHARS:
            why = f"its schema is longer than {SCHEMA_CHARS:,} characters"
        elif len(tools) >= MOST_TOOLS:
            why = f"a server may bring {MOST_TOOLS} tools"
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
    return Offer(tuple(tools.values()), tuple(left_out))


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
_SERVER_SAID_CHARS = 300


class Server:
    """Starts a server and keeps it; all methods belong to one event loop.

    Args:
        settings: What the user wrote.
        place: Where its program starts, with our own environment.
        changed: Called whenever its state has changed.
    """

    def __init__(self, settings: McpServer, place: ProgramPlace, changed: Callable[["Server"], None]) -> None:
        self.settings = settings
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
        self._task: asyncio.Task[None] | None = None

    @property
    def ready(self) -> bool:
        """Whether it can be called; a program that has ended meanwhile is noticed here."""
        if self.status.state == "ready" and self._connection is not None and (why := self._connection.ended):
            self._fail(f"{why[:1].upper()}{why[1:]}.")
        return self.status.state == "ready"

    def start(self) -> None:
        """Begin to connect, unless that was done or it is switched off."""
        if not self.settings.enabled:
            self.settled.set()
        elif self._task is None:
            self._task = asyncio.create_task(self._live(), name=f"mcp-{self.settings.name}")

    async def stop(self) -> None:
        """End the connection, and the program with all its children."""
        self._stop.set()
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
        """Call a tool.

        Args:
            own_name: As the server calls it.
            args: Its arguments.

        Raises:
            CallFailed: if there is no result, for whatever reason.
        """
        connection = self._connection
        if not self.ready or connection is None:
            raise CallFailed(
                f"The MCP server {self.settings.name} is not running. {self.status.error}".strip()
            )
        calling = asyncio.ensure_future(connection.call(own_name, args))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            done, _ = await asyncio.wait(
                [calling, stopping], timeout=self.settings.timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if calling in done:
                return calling.result()
        except Exception as error:  # whatever a foreign server makes the client raise
            raise CallFailed(await self._why(connection, error)) from error
        finally:
            for task in (calling, stopping):
                task.cancel()
            await asyncio.gather(calling, stopping, return_exceptions=True)
        why = f"did not answer within {self.settings.timeout:g} seconds"
        if self._stop.is_set():
            why = "was stopped"
        raise CallFailed(self._note(f"The MCP server {self.settings.name} {why}."))

    async def _why(self, connection: Connection, error: Exception) -> str:
        """What to tell of a failed call; also finds out whether the program is gone."""
        for _ in range(10):  # The end of the pipe may be seen before the reason is written.
            if connection.ended or "closed" not in str(error).lower() or self.settings.url:
                break
            await asyncio.sleep(0.05)
        if connection.ended:
            self._fail(f"In the middle of a call {connection.ended}.")
            return f"The MCP server {self.settings.name} is gone: {connection.ended}."
        self._note(_sentence(error))
        return self._safe(_words(error))

    def _note(self, text: str) -> str:
        """Keep what went wrong last; the server goes on."""
        self.status = replace(self.status, error=self._safe(text))
        return self._safe(text)

    async def _live(self) -> None:
        try:
            await asyncio.to_thread(load_client)
            self._connection = Connection(self.settings, self._place)
            await self._serve(self._connection)
        except (ClientMissing, MissingVariable, NotTrusted) as error:
            self._fail(str(error))
        except Exception as error:  # whatever a foreign program makes the client raise
            connection = self._connection
            why = f"It could not be started: {_sentence(error)}"
            if isinstance(error, TimeoutError) or "timed out" in str(error).lower():
                why = f"It did not answer within {self.settings.timeout:g} seconds."
            elif connection is not None and connection.ended:
                why = f"It could not be started: {connection.ended}."
            if connection is not None and connection.said:
                why += f" It said: {connection.said[-_SERVER_SAID_CHARS:]}"
            self._fail(why)
        finally:
            self.settled.set()
            if self._connection is not None:
                self._connection.close()

    async def _serve(self, connection: Connection) -> None:
        opening = asyncio.create_task(connection.toolset.__aenter__())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait(
                [opening, stopping], timeout=self.settings.timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if not opening.done():
                if self._stop.is_set():
                    return
                raise TimeoutError
            opening.result()
            async with asyncio.timeout(self.settings.timeout):
                listed = await connection.toolset.list_tools()
            if self._stop.is_set():
                return
            self.offer = offer(self.settings.name, listed, self.settings.tools)
            self.status = replace(self.status, state="ready", error="", left_out=self.offer.left_out)
            self.settled.set()
            self._changed(self)
            await stopping
        finally:
            for task in (opening, stopping):
                task.cancel()
            entered = (await asyncio.gather(opening, return_exceptions=True))[0]
            await asyncio.gather(stopping, return_exceptions=True)
            if not isinstance(entered, BaseException):
                with suppress(Exception):  # it is going anyway
                    await connection.toolset.__aexit__(None, None, None)

    def _fail(self, why: str) -> None:
        if self._stop.is_set():
            # It was asked to end: what it makes of that is no failure.
            return
        self.offer = Offer()
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
