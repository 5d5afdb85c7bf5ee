"""The web server for the screen: one program per open page, with access control."""

import asyncio
import ipaddress
import secrets
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from hashlib import sha256
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import textual_serve
from aiohttp import WSCloseCode, web
from aiohttp.typedefs import Handler

from tui_app.records import frozen
from tui_app.web.pages import GRACE_S, serve_page

LOOPBACK_NAMES = ("localhost",)


class Answer(Enum):
    """The decision about a request."""

    SERVE = auto()
    SIGN_IN = auto()
    """The token is right: set the cookie and redirect to the address without it."""
    WRONG_HOST = auto()
    WRONG_ORIGIN = auto()
    NO_TOKEN = auto()


@frozen(kw_only=True)
class Gate:
    """Access control for every request.

    Args:
        host: Address or name on which the server listens.
        port: Its port.
        token: Required at the first visit; empty allows everyone who reaches the server.
    """

    host: str
    port: int
    token: str

    @property
    def cookie(self) -> str:
        """Name of the cookie, with the port because browsers share cookies between ports."""
        return f"plimsoll-{self.port}"

    @property
    def room(self) -> str:
        """Path for which the cookie is sent, as hard to guess as the token; empty without a token."""
        return f"/{sha256(f'room of {self.token}'.encode()).hexdigest()[:32]}" if self.token else ""

    @property
    def address(self) -> str:
        """Address for the user to open in the browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def judge(
        self, headers: Mapping[str, str], query: Mapping[str, str], cookies: Mapping[str, str]
    ) -> Answer:
        """Decide about one request.

        Args:
            headers: Headers, case-insensitive.
            query: Query of the address.
            cookies: Cookies sent by the browser.
        """
        host = headers.get("Host", "")
        if not self._is_ours(host):
            return Answer.WRONG_HOST
        origin = headers.get("Origin")
        if origin is not None and origin.rpartition("://")[2] != host:
            return Answer.WRONG_ORIGIN
        if not self.token or _same(cookies.get(self.cookie, ""), self.token):
            return Answer.SERVE
        return Answer.SIGN_IN if _same(query.get("token", ""), self.token) else Answer.NO_TOKEN

    def _is_ours(self, host: str) -> bool:
        """Return whether a Host header names our address; any of this machine's if we listen on all."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        # Only a host with a port is valid, without user and path.
        if port != self.port or parts.netloc != host or "@" in host:
            return False
        if name == self.host.lower():
            return True
        if is_loopback(self.host):
            return is_loopback(name)
        if not is_any(self.host):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return is_loopback(name)
        return True


def new_token() -> str:
    """Return a token that cannot be guessed: 32 letters, digits, dashes and underscores."""
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_any(host: str) -> bool:
    """Return whether an address stands for all of this machine's addresses."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _same(one: str, other: str) -> bool:
    # Invalid UTF-8 arrives as lone surrogates.
    return secrets.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())


SOCKET = "/ws"
STATIC = "/static"
_OWN = Path(__file__).parent
"""Folder of the page, with its style and script."""
_PAGE = (_OWN / "page.html").read_text(encoding="utf-8")
SAFETY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Headers of every response: nothing external is loaded, and no other page may frame this one."""


def page(host: str, font_size: int, room: str = "") -> str:
    """Return the page for one visit.

    Args:
        host: The browser's Host header; the web socket uses the same address.
        room: The path below which everything is served.
        font_size: Pixels.
    """
    return _PAGE.format(socket=escape(f"ws://{host}{room}{SOCKET}", quote=True), size=font_size)


REFUSALS = {
    Answer.WRONG_HOST: "Plimsoll is not served under this name. Use the address that plimsoll serve printed.",
    Answer.WRONG_ORIGIN: "Another page tried to reach Plimsoll; that is refused.",
    Answer.NO_TOKEN: "The address lacks its token, or has an old one. Use what plimsoll serve printed.",
}
FONT_SIZES = range(6, 49)
"""Pixels that a page may request with ``?fontsize=``."""
_USUAL_SIZE = 16
HEAD_S = 10.0
"""Seconds within which a connection has to send a request's headers."""
_MOST_WAITING = 100
COOKIE_S = 30 * 24 * 3600
"""Seconds for which a browser stays signed in. Restarting the server makes a new token."""


class Connections:
    """Connections without a request yet. Browsers send one at once; others are closed."""

    def __init__(self) -> None:
        self._waiting: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def wait_for_head(self, connection: web.RequestHandler) -> None:
        """Close a connection without complete headers in time, and the oldest one if there are too many."""
        later = asyncio.get_running_loop().call_later(HEAD_S, self._close, connection)
        self._waiting[connection] = later
        if len(self._waiting) > _MOST_WAITING:
            self._close(next(iter(self._waiting)))

    def has_asked(self, connection: web.RequestHandler) -> None:
        if (later := self._waiting.pop(connection, None)) is not None:
            later.cancel()

    def _close(self, connection: web.RequestHandler) -> None:
        self.has_asked(connection)
        if isinstance(connection.transport, asyncio.Transport):
            connection.transport.abort()

    def close(self) -> None:
        for connection in [*self._waiting]:
            self._close(connection)


def build(gate: Gate, command: Sequence[str], connections: Connections) -> web.Application:
    """Build the web application.

    Args:
        gate: The access control.
        command: The command for the screen of one page.
        connections: The connections without a request yet.
    """
    statics = Path(textual_serve.__file__).parent / "static"
    pages: set[web.WebSocketResponse] = set()

    async def index(request: web.Request) -> web.Response:
        fontsize = request.query.get("fontsize", "")
        size = int(fontsize) if fontsize.isdecimal() and len(fontsize) < 4 else _USUAL_SIZE
        text = page(request.headers["Host"], size if size in FONT_SIZES else _USUAL_SIZE, gate.room)
        return web.Response(text=text, content_type="text/html")

    async def own_file(request: web.Request) -> web.FileResponse:
        return web.FileResponse(_OWN / request.match_info["name"])

    async def screen(request: web.Request) -> web.WebSocketResponse:
        return await serve_page(request, command, pages)

    async def close_pages(_application: web.Application) -> None:
        await asyncio.gather(*(each.close(code=WSCloseCode.GOING_AWAY) for each in pages))

    async def protect(_request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(SAFETY)

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        connections.has_asked(request.protocol)
        try:
            return await _answered(gate, request, handler)
        finally:
            if request.transport is not None:
                connections.wait_for_head(request.protocol)

    application = web.Application(middlewares=[guard])
    application.on_response_prepare.append(protect)
    application.on_shutdown.append(close_pages)
    for room in dict.fromkeys((gate.room, "")):
        application.add_routes(
            [
                web.get(f"{room}/", index),
                web.get(f"{room}/{{name:plimsoll\\.(?:css|js)}}", own_file),
                web.get(f"{room}{SOCKET}", screen),
                web.static(f"{room}{STATIC}", statics),
            ]
        )
    return application


async def _answered(gate: Gate, request: web.Request, handler: Handler) -> web.StreamResponse:
    answer = gate.judge(request.headers, request.query, request.cookies)
    if answer is Answer.SIGN_IN:
        inside = web.Response(status=302, headers={"Location": f"{gate.room}/"})
        inside.set_cookie(
            gate.cookie, gate.token, path=f"{gate.room}/", max_age=COOKIE_S, httponly=True, samesite="Lax"
        )
        return inside
    if answer is Answer.SERVE:
        return await handler(request)
    return web.Response(status=403, text=REFUSALS[answer])


async def serve(gate: Gate, command: Sequence[str], ready: Callable[[], None]) -> None:
    """Serve until cancelled, then end the programs of all open pages.

    Args:
        gate: The access control, with the address to listen on.
        command: The command for the screen of one page.
        ready: Called once the server listens.

    Raises:
        OSError: if it cannot listen on the address.
    """
    connections = Connections()
    application = build(gate, command, connections)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=2 * GRACE_S)
    await runner.setup()
    answering = runner.server
    assert answering is not None

    def connected() -> web.RequestHandler:
        connection = answering()
        connections.wait_for_head(connection)
        return connection

    try:
        listening = await asyncio.get_running_loop().create_server(connected, gate.host, gate.port)
        try:
            ready()
            await asyncio.Event().wait()
        finally:
            listening.close()
    finally:
        connections.close()
        await runner.cleanup()
