"""One connection to an MCP server: what its program may see, what is asked of it, what it answers."""

import asyncio
import base64
import importlib
import json
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from pydantic import ValidationError
from pydantic_ai.messages import ToolReturnPart

from tui_app.agent.mcp import supervisor
from tui_app.extras import install_command
from tui_app.records import frozen
from tui_app.settings.tables import McpServer
from tui_app.text import count
from tui_app.trust import FOLDER_VARIABLE, ProgramPlace
from tui_app.version import __version__

if TYPE_CHECKING:
    from fastmcp.client.client import CallToolResult
    from fastmcp.client.elicitation import ElicitationHandler
    from fastmcp.client.transports import ClientTransport
    from httpx2 import AsyncClient, Auth, Response, Timeout

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
    named = {name: _value(value, env, server) for name, value in server.env.items()}
    return {**needed, **named, **server.given_env}


def header_values(server: McpServer, env: Mapping[str, str]) -> dict[str, str]:
    """The headers of a server's requests. Raises ``MissingVariable``."""
    named = {name: _value(f"${variable}", env, server) for name, variable in server.headers_env.items()}
    return {**named, **server.given_headers}


def secrets_of(server: McpServer, env: Mapping[str, str]) -> tuple[str, ...]:
    """Values that must not stand in anything that is shown."""
    named = [value[1:] for value in server.env.values() if value.startswith("$")]
    values = [env.get(name, "") for name in (*named, *server.headers_env.values())]
    own = [value for value in server.env.values() if not value.startswith("$")]
    own += [*server.given_env.values(), *server.given_headers.values()]
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
DESCRIPTION_CHARS = 4_000
SCHEMA_CHARS = 40_000
MOST_LISTED_TOOLS = 2_000
"""Tools of a server's list that are looked at, so that a hostile list holds nothing up."""
MOST_PARTS = 1_000
"""Parts of a result."""
FLOOD_NOTES, FLOOD_S = 5_000, 10.0
"""So many notifications in so many seconds are a flood."""
T = TypeVar("T")
_BAD_REQUEST = 400
_SESSION_HEADER = "mcp-session-id"


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
            for module in ("pydantic_ai.mcp", "fastmcp.client.client", "fastmcp.client.transports"):
                importlib.import_module(module)
    except ImportError as error:
        told = f"The client for MCP servers is not installed. Install it: {install_command('mcp')}"
        raise ClientMissing(told) from error
    for name in ("mcp", "fastmcp", "client"):
        # What a server sends that is no message would be written out as it is.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@frozen(kw_only=True)
class Callbacks:
    """What a server may tell and ask the client while it is connected."""

    changed: Callable[[str], None] = lambda _what: None
    """A list of the server is another one by now: ``tools``, ``resources`` or ``prompts``."""
    flooded: Callable[[], None] = lambda: None
    """It sends notifications without end."""
    elicit: "ElicitationHandler[Any] | None" = None
    """Answers a question of the server to the user; None where nobody can be asked."""


@frozen
class Listing:
    """What a server lists of its tools."""

    tools: Sequence[Any] = ()
    """As the protocol has them: name, description, input_schema, annotations."""
    malformed: tuple[str, ...] = ()
    """Sentences: which one is not of the protocol's form, and why."""


class Connection:
    """A server while it is connected; made and used on one event loop.

    Args:
        server: Its settings.
        place: Where its program starts, with our own environment.
        callbacks: What it may tell and ask.
        auth: Signs requests to an address; None for none.
        start_s: Seconds it may take to start; 0 for what the settings say.
    """

    def __init__(
        self,
        server: McpServer,
        place: ProgramPlace,
        callbacks: Callbacks = Callbacks(),
        auth: "Auth | None" = None,
        start_s: float = 0.0,
    ) -> None:
        from fastmcp.client.client import Client
        from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
        from mcp_types import Implementation

        self._said: TextIO | None = None
        self._server, self._callbacks = server, callbacks
        self._malformed: list[str] = []
        self._listed = 0
        """Tools of the list, those that are not looked at as well."""
        self._unreadable = asyncio.Event()
        self._since, self._notes = 0.0, 0
        self._forgotten = False
        """Whether the server has refused our session in other words than the protocol's."""
        env = place.environment()
        transport: ClientTransport
        if server.url:
            transport = StreamableHttpTransport(
                server.url,
                headers=header_values(server, env),
                auth=auth,
                httpx_client_factory=self._http_client,
            )
        else:
            folder, inherited = place.start_folder(server.cwd), program_environment(server, env)
            args = [each.replace(f"${FOLDER_VARIABLE}", env[FOLDER_VARIABLE]) for each in server.args]
            self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - see close
            transport = StdioTransport(
                command=sys.executable,
                args=["-I", "-S", str(Path(supervisor.__file__)), server.command, *args],
                env=inherited,
                cwd=str(folder),
                keep_alive=False,
                log_file=self._said,
            )
        # Every wait is bounded by whoever asks: progress makes some of them longer.
        self.client: Client[Any] = Client(
            transport,
            init_timeout=start_s or server.timeout,
            message_handler=self._heard,
            elicitation_handler=callbacks.elicit,
            client_info=Implementation(name="plimsoll", version=__version__),
        )

    async def open(self) -> None:
        """Connect, and agree on the protocol. Raises whatever comes to the client library."""
        await self.client.__aenter__()  # type: ignore[no-untyped-call]
        # Nothing public sees an answer in time; without this a malformed tool takes its server along.
        dispatcher: Any = getattr(self.client.session, "_dispatcher", None)
        if not hasattr(dispatcher, "send_raw_request"):
            return
        ask = dispatcher.send_raw_request

        async def sifted(method: str, params: Any, options: Any = None) -> Any:
            answer = await ask(method, params, options)
            match method:
                case "tools/list":
                    return self._sift(answer)
                case "tools/call":
                    return _with_fewer_parts(answer)
            return answer

        # Before the library checks an answer as a whole: one malformed tool would take all others away.
        dispatcher.send_raw_request = sifted

    async def leave(self) -> None:
        """Disconnect, and end the server's program."""
        await self.client.__aexit__(None, None, None)  # type: ignore[no-untyped-call]

    @property
    def instructions(self) -> str:
        """What the server says of how it is to be used."""
        return self.client.instructions or ""

    def offers(self, what: str) -> bool:
        """Whether the server says that it has ``tools``, ``resources`` or ``prompts``."""
        return getattr(self.client.server_capabilities, what, None) is not None

    async def tools(self) -> Listing:
        """Every tool the server lists, page by page."""
        self._malformed, self._listed = [], 0
        try:
            tools = await self._or_unreadable(self.client.list_tools())
        except RuntimeError as error:
            if "pagination" not in str(error):
                raise
            raise CallFailed(f"The MCP server {self._server.name} lists its tools without end.") from error
        if (more := self._listed - MOST_LISTED_TOOLS) > 0:
            self._malformed.append(
                f"{count(more, 'more tool')} left out: a server may list at most {MOST_LISTED_TOOLS:,}."
            )
        return Listing(tools, tuple(self._malformed))

    async def resources(self) -> Sequence[Any]:
        """What the server has to read; nothing where it says that it has none."""
        offered = self.offers("resources")
        return await self._or_unreadable(self.client.list_resources()) if offered else ()

    async def prompts(self) -> Sequence[Any]:
        """The prompts that the server has ready."""
        return await self._or_unreadable(self.client.list_prompts()) if self.offers("prompts") else ()

    async def read(self, uri: str) -> Sequence[str | bytes]:
        """The pieces of a resource, each as text or as it is."""
        pieces = await self._or_unreadable(self.client.read_resource(uri))
        return [
            piece.text if hasattr(piece, "text") else base64.b64decode(piece.blob, validate=False)
            for piece in pieces
        ]

    async def prompt(self, name: str, values: dict[str, str]) -> str:
        """The text of a prompt with its arguments put in."""
        result = await self._or_unreadable(self.client.get_prompt(name, values))
        texts = []
        for message in result.messages:
            text = getattr(message.content, "text", None)
            if text is None and (resource := getattr(message.content, "resource", None)) is not None:
                text = getattr(resource, "text", None)
            said = text if text is not None else f"[{message.content.type} left out]"
            texts.append(said if message.role == "user" else f"[answer given as an example] {said}")
        return "\n\n".join(texts)

    async def call(
        self, name: str, args: dict[str, Any], progressed: Callable[[str], None] = lambda _text: None
    ) -> Any:
        """Call a tool; its text comes back as it was sent. Raises whatever comes to the client library.

        pydantic-ai would read a text that looks like JSON, and write it anew.

        Args:
            name: As the server calls it.
            args: Its arguments.
            progressed: Called with what the server says of how far it is.
        """

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            progressed(message or "")

        calling = self.client.call_tool(name, args, raise_on_error=False, progress_handler=heard)
        result = await self._or_unreadable(calling)
        content = _content(result)
        if not result.is_error:
            return content
        told = ToolReturnPart(name, content).model_response_str(wrap_if_error=False)
        raise CallFailed(told if told.strip() else f"The tool {name} failed without a message.")

    def is_lost(self, error: BaseException | None = None) -> bool:
        """Whether no further call can succeed: the program is gone, or the session at the address is."""
        # The library's own task ends where the address cannot be reached; nothing public tells of it.
        task = getattr(getattr(self.client, "_session_state", None), "session_task", None)
        gone = not self.client.is_connected() or (task is not None and task.done())
        return bool(self.ended) or gone or self._is_unknown_session(error)

    def is_unsent(self, error: BaseException) -> bool:
        """Whether a call that failed has certainly not reached a tool, so that it may be made again."""
        from httpx2 import ConnectError

        return isinstance(error, ConnectError) or self._is_unknown_session(error)

    def _is_unknown_session(self, error: BaseException | None) -> bool:
        """Whether a server does not know the session that a request named: it was started again."""
        text = str(error).lower()
        return self._forgotten or "session terminated" in text or ("404" in text and "not found" in text)

    def _http_client(
        self,
        headers: dict[str, str] | None = None,
        timeout: "Timeout | None" = None,
        auth: "Auth | None" = None,
        **_others: Any,
    ) -> "AsyncClient":
        """A client that is heard as well: of a refusal the library only tells that it was one."""
        from httpx2 import Timeout

        from tui_app.agent.network import http_client

        # A server may hold a stream open without a word.
        timeout = timeout or Timeout(30.0, read=300.0)
        client = http_client(headers=headers, timeout=timeout, auth=auth)
        client.event_hooks.setdefault("response", []).append(self._answered)
        return client

    async def _answered(self, response: "Response") -> None:
        # The protocol asks for a 404, but many servers were made after an example that answers with a 400.
        if response.status_code == _BAD_REQUEST and _SESSION_HEADER in response.request.headers:
            self._forgotten = b"session" in (await response.aread()).lower()

    @property
    def said(self) -> str:
        """The end of what the server's program has said on standard error."""
        return self._read().partition(supervisor.END_MARK)[0].strip()[-_SAID_CHARS:]

    @property
    def ended(self) -> str:
        """Why the server's program is gone, as part of a sentence; empty while it runs."""
        return self._read().partition(supervisor.END_MARK)[2].strip()

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

    async def _or_unreadable(self, answer: Awaitable[T]) -> T:
        """Wait for an answer, no longer than until one comes that cannot be read.

        Raises:
            CallFailed: then: which request it answers is not known.
        """
        self._unreadable.clear()
        asking = asyncio.ensure_future(answer)
        reading = asyncio.ensure_future(self._unreadable.wait())
        try:
            await asyncio.wait([asking, reading], return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            raise CallFailed(f"The MCP server {self._server.name} sent an answer that is nested too deeply.")
        finally:
            for each in (asking, reading):
                each.cancel()
            await asyncio.gather(asking, reading, return_exceptions=True)

    async def _heard(self, message: Any) -> None:
        if isinstance(message, Exception):
            # Other lines that are no messages are passed over: programs print them by mistake.
            if "recursion limit" in str(message):
                self._unreadable.set()
            return
        if monotonic() - self._since > FLOOD_S:
            self._since, self._notes = monotonic(), 0
        self._notes += 1
        if self._notes > FLOOD_NOTES:
            self._callbacks.flooded()
            return
        match getattr(message, "method", ""):
            case "notifications/tools/list_changed":
                self._callbacks.changed("tools")
            case "notifications/resources/list_changed":
                self._callbacks.changed("resources")
            case "notifications/prompts/list_changed":
                self._callbacks.changed("prompts")

    def _sift(self, answer: Any) -> Any:
        """Leave malformed tools out of a page of the server's list, and what form results are to have."""
        listed = answer.get("tools") if isinstance(answer, dict) else None
        if not isinstance(listed, list):
            return answer
        version = self.client.session.protocol_version or ""
        if (chosen := self._server.tools) is not None:
            listed = [each for each in listed if not isinstance(each, dict) or each.get("name") in chosen]
        known, self._listed = self._listed, self._listed + len(listed)
        listed = listed[: max(0, MOST_LISTED_TOOLS - known)]
        # The library would check each result by it, on our only loop, for as long as its patterns take.
        listed = [_bounded(tool) if isinstance(tool, dict) else tool for tool in listed]
        found = [
            (tool, _why_long(tool) or _why_malformed({**answer, "tools": [tool]}, version)) for tool in listed
        ]
        for tool, why in found:
            if why:
                name = tool.get("name") if isinstance(tool, dict) else None
                told = name if isinstance(name, str) and name.strip() else "A tool without a name"
                self._malformed.append(f"{told:.80} is left out: {why}.")
        return {**answer, "tools": [tool for tool, why in found if not why]}


def _bounded(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool without what nobody reads of it."""
    tool = {key: value for key, value in tool.items() if key not in ("outputSchema", "_meta", "icons")}
    about = tool.get("description")
    return {**tool, "description": about[:DESCRIPTION_CHARS]} if isinstance(about, str) else tool


def _why_long(tool: Any) -> str:
    """Why a tool is left out before anything is made of it; empty where it is not."""
    if not isinstance(tool, dict):
        return ""
    if len(json.dumps(tool.get("inputSchema"))) > SCHEMA_CHARS:
        return f"its schema is longer than {SCHEMA_CHARS:,} characters"
    rest = {key: value for key, value in tool.items() if key not in ("inputSchema", "description")}
    return "" if len(json.dumps(rest)) <= SCHEMA_CHARS else f"it is longer than {SCHEMA_CHARS:,} characters"


def _with_fewer_parts(answer: Any) -> Any:
    """A result of which not each of thousands of parts has to be looked at: texts in a row become one."""
    parts = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(parts, list) or len(parts) <= MOST_PARTS:
        return answer
    kept: list[Any] = []
    for is_text, group in groupby(parts, _is_text):
        same = list(group)
        kept += [_text("\n".join(each["text"] for each in same))] if is_text else same
    if (more := len(kept) - MOST_PARTS) > 0:
        kept = [*kept[:MOST_PARTS], _text(f"[{count(more, 'more part')} left out]")]
    return {**answer, "content": kept}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _why_malformed(page: dict[str, Any], version: str) -> str:
    """Why the one tool of a page is not of the protocol's form; empty where it is."""
    from mcp_types import ListToolsResult
    from mcp_types.methods import validate_server_result

    try:
        with suppress(KeyError):  # a version without a schema of its own
            validate_server_result("tools/list", version, page)
        ListToolsResult.model_validate(page, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(each) for each in first["loc"] if each not in ("tools", 0))
        return f"its {where or 'form'} does not follow the protocol ({first['msg'].lower()})"
    return ""


def _content(result: "CallToolResult") -> Any:
    """What a server has answered: one text, or a list where files are among it."""
    from tui_app.wires.library import mcp_content

    pieces = [part.text if part.type == "text" else mcp_content(part) for part in result.content]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) < len(pieces):
        return pieces
    structured = result.structured_content
    if structured is not None:
        # By the protocol texts say all of it, but not everywhere; what is no object stands in a field of it.
        values = [structured, structured["result"]] if list(structured) == ["result"] else [structured]
        told = (_read_json("\n".join(texts)), [_read_json(text) for text in texts], texts)
        if not any(value in told for value in values):
            texts.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(texts)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
