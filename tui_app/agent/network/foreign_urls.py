"""Requests to untrusted addresses.

A name is resolved once, all its addresses are checked, and the connection goes to one of exactly these, so
that a later change of the name makes no difference.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

import httpx2

from tui_app.agent.network.network import http_client
from tui_app.system.hosts import ascii_host, within

LONGEST_URL = 8_000
"""Characters."""
_LOCAL = tuple(
    ip_network(each)
    # Site-local, translation within a network, documentation, segment routing: Python considers them global.
    for each in ("fec0::/10", "64:ff9b:1::/48", "3fff::/20", "5f00::/16")
)


@asynccontextmanager
async def pinned_request(
    method: str,
    parts: SplitResult,
    address: str,
    *,
    headers: Mapping[str, str],
    content: bytes | None = None,
    timeout_s: float,
) -> AsyncIterator[httpx2.Response]:
    """Send a request to one of a host name's addresses; redirects are not followed.

    Args:
        method: Of the request.
        parts: The web address, see ``url_parts``.
        address: The IP address to connect to.
        headers: Of the request, without the host.
        content: Of the request.
        timeout_s: Seconds for each step.
    """
    pinned = parts._replace(netloc=_netloc(address, parts.port), fragment="").geturl()
    async with (
        http_client(timeout=timeout_s) as client,
        client.stream(
            method,
            pinned,
            headers=httpx2.Headers(headers) | {"host": parts.netloc},
            content=content,
            # The server, and the check of its certificate, get the original name.
            extensions={"sni_hostname": parts.hostname},
        ) as answer,
    ):
        yield answer


def url_parts(url: str) -> SplitResult | None:
    """The parts of a web address, with the host in its network form; None if it is invalid."""
    try:
        parts = urlsplit(url)
        host, port = ascii_host(parts.hostname or ""), parts.port
    except ValueError:
        return None
    valid = parts.scheme in ("http", "https") and bool(host) and port != 0 and "@" not in parts.netloc
    if not valid or not url.isprintable() or " " in url or len(url) > LONGEST_URL:
        return None
    return parts._replace(netloc=_netloc(host, port))


async def addresses_of(host: str) -> list[str]:
    """The addresses of a host name. Raises ``OSError`` and ``UnicodeError``."""
    with suppress(ValueError):
        return [str(ip_address(host))]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """Whether an address, and every address embedded in it, is public."""
    try:
        found = [ip_address(each.partition("%")[0]) for each in within(address)]
    except ValueError:
        return False
    return all(
        each.is_global and not each.is_multicast and not any(each in network for network in _LOCAL)
        for each in found
    )


def _netloc(host: str, port: int | None) -> str:
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{port}" if port else host
