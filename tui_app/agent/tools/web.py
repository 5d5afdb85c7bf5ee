"""Fetching one web page: GET only, bounded in time and size, and never from this machine's own networks.

A name is resolved once, every address it has is looked at, and the connection goes to one of these very
addresses: what the name means a moment later makes no difference. So does each redirection.
"""

import asyncio
import codecs
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import httpx2
from pydantic_ai import RunContext, ToolDenied

from tui_app.agent.approvals.action import Action, Gate
from tui_app.agent.approvals.hosts import ascii_host
from tui_app.agent.tools.addresses import is_public
from tui_app.agent.tools.html_text import text_of_html
from tui_app.agent.tools.output import readable
from tui_app.agent.tools.working import told
from tui_app.agent.tools.workspace import ToolProblem

MAX_BYTES = 2_000_000
TIMEOUT_S = 20.0
MAX_REDIRECTS = 5
LONGEST_URL = 8_000
"""Characters."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXTUAL = ("text/", "application/json", "application/xml", "application/xhtml", "application/javascript")
_NOT_OF_PAGES = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
"""Codecs that Python counts among those of texts."""
Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Addresses of a host, as text."""


@dataclass(frozen=True, slots=True)
class WebTool:
    """Fetching pages."""

    gate: Gate
    private: bool = False
    """Whether addresses of this machine and its networks may be asked as well."""
    resolve: Resolver | None = None

    async def web_fetch(self, ctx: RunContext[Any], url: str) -> str | ToolDenied:
        """Fetch a web page and return its text.

        Args:
            ctx: The run.
            url: An http or https address.
        """
        with told():
            parts = _parts(url)
            action = Action(
                tool=ctx.tool_name or "web_fetch",
                kind="address",
                subject=url,
                # Letters of other scripts can look like those of another host.
                note="GET" if url.isascii() else f"GET from {parts.hostname}",
                call=ctx.tool_call_id or "",
            )
            if declined := await self.gate(action):
                return ToolDenied(declined)
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    return await self._fetched(url)
            except TimeoutError as error:
                raise ToolProblem(f"{url:.200} did not answer within {TIMEOUT_S:g} s.") from error
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise ToolProblem(f"{url:.200} cannot be fetched: {type(error).__name__}.") from error

    async def _fetched(self, url: str) -> str:
        home = _parts(url).hostname
        async with httpx2.AsyncClient(trust_env=False, follow_redirects=False) as client:
            for _ in range(MAX_REDIRECTS + 1):
                parts = _parts(url)
                if parts.hostname != home:
                    raise ToolProblem(f"It leads to another host: fetch {url:.500} if that is what you want.")
                address = await self._address(parts)
                async with client.stream("GET", _pinned(parts, address), **_as_named(parts)) as answer:
                    if answer.status_code not in _REDIRECTS or "location" not in answer.headers:
                        return await _text(url, answer)
                    url = _led_to(url, answer.headers["location"])
        raise ToolProblem(f"{url:.200} leads on more than {MAX_REDIRECTS} times.")

    async def _address(self, parts: SplitResult) -> str:
        """The address to connect to.

        Raises:
            ToolProblem: if one of the host's addresses must not be asked.
        """
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        try:
            found = await (self.resolve or _resolve)(host, port)
        except (OSError, UnicodeError) as error:
            raise ToolProblem(f"There is no host {host:.200}.") from error
        for address in found:
            if not self.private and not is_public(address):
                raise ToolProblem(f"{host:.200} is an address of this machine or its networks: not fetched.")
        return found[0]


async def _resolve(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _parts(url: str) -> SplitResult:
    """The parts of an address, the host as it is asked for in the network.

    Raises:
        ToolProblem: if it cannot be fetched.
    """
    try:
        parts = urlsplit(url)
        host, port = ascii_host(parts.hostname or ""), parts.port
        valid = parts.scheme in ("http", "https") and bool(host) and port != 0 and "@" not in parts.netloc
    except ValueError:
        valid = False
    if not valid or not url.isprintable() or " " in url or len(url) > LONGEST_URL:
        raise ToolProblem(
            "Give an http or https address, without user name and password, "
            f"of at most {LONGEST_URL:,} characters."
        )
    return parts._replace(netloc=_netloc(host, port))


def _led_to(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise ToolProblem(f"{url:.200} leads to {location!r:.200}, which is no address.") from error


def _netloc(host: str, port: int | None) -> str:
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{port}" if port else host


def _pinned(parts: SplitResult, address: str) -> str:
    return parts._replace(netloc=_netloc(address, parts.port), fragment="").geturl()


def _as_named(parts: SplitResult) -> dict[str, Any]:
    """What tells the server, and its certificate's check, the name that was asked for."""
    return {
        "headers": {"Host": parts.netloc, "Accept": "text/html, text/*, application/json;q=0.9"},
        "extensions": {"sni_hostname": parts.hostname},
    }


async def _text(url: str, answer: httpx2.Response) -> str:
    kind = answer.headers.get("content-type", "text/plain").lower()
    if not kind.startswith(_TEXTUAL):
        raise ToolProblem(f"{url:.200} is {kind:.60} and no text.")
    data = bytearray()
    cut = False
    async for piece in answer.aiter_bytes():
        data += piece[: MAX_BYTES - len(data)]
        if cut := len(data) >= MAX_BYTES:
            break
    text = _decoded(bytes(data), answer)
    # Off the loop: an interruption and the limit of time come through meanwhile.
    text = await asyncio.to_thread(text_of_html if "html" in kind else readable, text)
    note = f"\n[only the first {MAX_BYTES:,} bytes were read]" if cut else ""
    return f"{url} answered {answer.status_code}\n\n{text}{note}"


def _decoded(data: bytes, answer: httpx2.Response) -> str:
    """Read bytes as the server says, or as UTF-8 where it names nothing that texts are written in."""
    with suppress(LookupError, ValueError):
        name = answer.charset_encoding or "utf-8"
        if codecs.lookup(name).name not in _NOT_OF_PAGES:
            return data.decode(name, "replace")
    return data.decode("utf-8", "replace")
