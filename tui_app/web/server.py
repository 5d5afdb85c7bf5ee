"""Serves the screen to browsers, one program for each open page, and decides who may use it."""

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
    """What becomes of a request."""

    SERVE = auto()
    SIGN_IN = auto()
    """The token is right: set the cookie and show the address without it."""
    WRONG_HOST = auto()
    WRONG_ORIGIN = auto()
    NO_TOKEN = auto()


@frozen(kw_only=True)
class Gate:
    """What is asked of every request.

    Args:
        host: Address or name that the server listens on.
        port: Its port.
        token: What the first visit must bring; empty lets everybody in who reaches the server.
    """

    host: str
    port: int
    token: str

    @property
    def cookie(self) -> str:
        """Name of the cookie; one for each port, because browsers do not keep ports apart."""
        return f"plimsoll-{self.port}"

    @property
    def room(self) -> str:
        """Path below which the cookie is sent, as hard to guess as the token; empty without a token."""
        return f"/{sha256(f'room of {self.token}'.encode()).hexdigest()[:32]}" if self.token else ""

    @property
    def address(self) -> str:
        """Address that the user opens in the browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def judge(
        self, headers: Mapping[str, str], query: Mapping[str, str], cookies: Mapping[str, str]
    ) -> Answer:
        """Decide about one request.

        Args:
            headers: Case-insensitive.
            query: Of its address.
            cookies: As the browser sent them.
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
        """Whether a Host header names the address we serve; any address of ours where we serve them all."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        # Nothing but a host with its port: no user in front, no path behind.
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
    """A token that cannot be guessed: 32 letters, digits, dashes and underscores."""
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_any(host: str) -> bool:
    """Whether an address stands for all of this machine's."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _same(one: str, other: str) -> bool:
    # What is no UTF-8 comes as half surrogates.
    return secrets.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())


SOCKET = "/ws"
STATIC = "/static"
_OWN = Path(__file__).parent
"""Where the page is, with its style and its script."""
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
"""Headers of every answer: nothing from elsewhere is loaded, and no other page may frame this one."""


def page(host: str, font_size: int, room: str = "") -> str:
    """The page for one visit.

    Args:
        host: The Host header that the browser sent; the web socket goes to the same address.
        room: The path below which all is.
        font_size: Pixels.
    """
    return _PAGE.format(socket=escape(f"ws://{host}{room}{SOCKET}", quote=True), size=font_size)


REFUSALS = {
    Answer.WRONG_HOST: "Plimsoll is not served under this name. Use the address that plimsoll serve printed.",
    Answer.WRONG_ORIGIN: "Another page tried to reach Plimsoll; that is refused.",
    Answer.NO_TOKEN: "The address lacks its token, or has an old one. Use what plimsoll serve printed.",
}
FONT_SIZES = range(6, 49)
"""Pixels a page may ask for with ``?fontsize=``."""
_USUAL_SIZE = 16
HEAD_S = 10.0
"""Seconds that a connection may take to send the head of a request, or to stay without one."""
_MOST_WAITING = 100
COOKIE_S = 30 * 24 * 3600
"""A browser stays signed in so long, in seconds; a new start of the server makes a new token."""


class Connections:
    """Those that nothing has asked for yet: a browser says what it wants at once, others are closed."""

    def __init__(self) -> None:
        self._waiting: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def wait_for_head(self, connection: web.RequestHandler) -> None:
        """Close a connection that sends no whole head in time, and the oldest of too many."""
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
    """Put the web application together.

    Args:
        gate: Who may use it.
        command: What starts the screen of one page.
        connections: Those that wait for their request.
    """
    statics = Path(textual_serve.__file__).parent / "static"
    pages: set[web.WebSocketResponse] = set()

    async def index(request: web.Request) -> web.Response:
        wanted = request.query.get("fontsize", "")
        size = int(wanted) if wanted.isdecimal() and len(wanted) < 4 else _USUAL_SIZE
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
    """Serve until cancelled; then the programs of all open pages are ended.

    Args:
        gate: Who may use it, and the address to listen on.
        command: What starts the screen of one page.
        ready: Called once the server listens.

    Raises:
        OSError: if the address cannot be listened on.
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
