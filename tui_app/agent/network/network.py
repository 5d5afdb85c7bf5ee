"""The one HTTP client, for chat, listings of models, MCP servers and the web tool.

Requests to this machine never use a proxy; all others use the environment's. Certificates come from the
variables that other programs use too.
"""

import asyncio
import os
import re
import ssl
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from tui_app.agent.network.addresses import is_loopback
from tui_app.records import picked

CONNECT_S = 10.0
_TIMEOUT = httpx2.Timeout(600.0, connect=5.0)
_LIMITS = httpx2.Limits(max_connections=1_000, max_keepalive_connections=100)
_ADDING = ("NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE")
_REPLACING = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "AWS_CA_BUNDLE"),
)
TRUST_VARIABLES = (*_REPLACING, *_ADDING)
"""Variables with files or folders of certificates, which replace the system's or add to them."""


_NAMED = ", which names it; NO_PROXY lists hosts that need no proxy"


class NoRoute(httpx2.ConnectError):
    """A request cannot leave this machine as it is configured; the text is a sentence for the user."""

    def __init__(self, message: str, hint: str, *, passes: bool = False) -> None:
        super().__init__(message)
        self.hint = hint
        """What to do, as the start of a sentence."""
        self.passes = passes
        """Whether a retry may succeed."""


class NotHttp(httpx2.ConnectError):
    """Something answers, but not in HTTP."""


def http_client(
    headers: Mapping[str, str] | None = None,
    timeout: httpx2.Timeout | float = _TIMEOUT,
    auth: httpx2.Auth | None = None,
    *,
    always: Mapping[str, str] | None = None,
    tells_redirects: bool = False,
) -> httpx2.AsyncClient:
    """Create a client. It follows no redirects, because content and key are meant for the known address only.

    Args:
        headers: Sent unless a request has its own.
        timeout: Used unless a request has its own.
        auth: Signs requests.
        always: Headers that override those of any request, such as a gateway's.
        tells_redirects: Whether a redirect is an error.
    """

    async def put_headers(request: httpx2.Request) -> None:
        request.headers.update(always or {})

    hooks: Mapping[str, list[Callable[..., Any]]] = {
        "request": [put_headers] if always else [],
        "response": [_refuse_redirect] if tells_redirects else [],
    }
    return httpx2.AsyncClient(
        transport=Route(), trust_env=False, headers=headers, timeout=timeout, auth=auth, event_hooks=hooks
    )


async def _refuse_redirect(response: httpx2.Response) -> None:
    if response.is_redirect:
        target = response.headers.get("location") or "nowhere"
        raise NoRoute(
            f"{response.request.url.host} redirects to {target:.300} (HTTP {response.status_code}).",
            "Set the base URL to where its server really is",
        )


def rerouted(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """A copy of a library's own client that uses our proxy and certificate rules."""
    own = picked(client, "headers timeout auth event_hooks")
    return httpx2.AsyncClient(transport=Route(), trust_env=False, **own)


class Route(httpx2.AsyncBaseTransport):
    """Chooses for each request whether it uses a proxy, and which certificates are trusted."""

    def __init__(self) -> None:
        self._ways: dict[tuple[str, bool], httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # A request to an already resolved address has its host name here.
        host = request.extensions.get("sni_hostname") or request.url.host
        url = str(request.url.copy_with(host=host))
        proxy, variable = proxy_of(url)
        timeouts = request.extensions.get("timeout")
        if isinstance(timeouts, dict):
            # An SDK sets one number for all timeouts, but only answers may take long, not connecting.
            timeouts["connect"] = min(timeouts.get("connect") or CONNECT_S, CONNECT_S)
        way = await self._transport(proxy, variable, is_secure=request.url.scheme == "https")
        try:
            return await way.handle_async_request(request)
        except httpx2.ProxyError as error:
            refused = f"The proxy {_shown(proxy)} did not let the request to {host} through: {error}."
            raise NoRoute(refused, f"Check {variable}{_NAMED}") from error
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            if not proxy or tls_error(error):
                raise
            silent, start = f"The proxy {_shown(proxy)} does not answer.", f"Start it, or change {variable}"
            raise NoRoute(silent, f"{start}{_NAMED}", passes=not is_loopback(proxy)) from error
        except httpx2.RemoteProtocolError as error:
            # A connection closed without data has no cause; data that is not HTTP has one.
            if error.__cause__ is not None and (error.__cause__.__cause__ or error.__cause__.__context__):
                raise NotHttp(str(error)) from error
            raise

    async def _transport(self, proxy: str, variable: str, *, is_secure: bool) -> httpx2.AsyncHTTPTransport:
        key = proxy, is_secure
        if key not in self._ways:
            needs_trust = is_secure or proxy.startswith("https")
            trust = await asyncio.to_thread(trusted) if needs_trust else None
            try:
                # The connection to the proxy itself is unencrypted, unless its address has https.
                own = trust if proxy.startswith("https") else None
                through = httpx2.Proxy(proxy, ssl_context=own) if proxy else None
                made = httpx2.AsyncHTTPTransport(verify=trust or False, proxy=through, limits=_LIMITS)
            except (ValueError, httpx2.InvalidURL) as error:
                raise NoRoute(
                    f"{variable} names no proxy that can be used: {_shown(proxy)}.",
                    "Give it as http://HOST:PORT, https or socks5",
                ) from error
            except ImportError as error:
                raise NoRoute(
                    f"The proxy {_shown(proxy)}, which {variable} names, needs the package socksio.",
                    "Install it into the same environment, or name an HTTP proxy",
                ) from error
            # Another request may have added it while the certificates were read.
            self._ways.setdefault(key, made)
        return self._ways[key]

    async def aclose(self) -> None:
        for way in self._ways.values():
            await way.aclose()


def proxy_of(url: str) -> tuple[str, str]:
    """The proxy of a request and the variable that names it; empty if it needs none."""
    if is_loopback(url):
        return "", ""
    proxies = urllib.request.getproxies()
    parts = urlsplit(url)
    kind = parts.scheme if proxies.get(parts.scheme) else "all"
    proxy = proxies.get(kind, "")
    if not proxy or _needs_none(parts.hostname or "", parts.netloc, proxies.get("no", "")):
        return "", ""
    names = (f"{kind}_proxy", f"{kind}_proxy".upper())
    variable = next((name for name in names if os.environ.get(name)), "the settings of the system")
    return proxy if "://" in proxy else f"http://{proxy}", variable


def _needs_none(host: str, place: str, listed: str) -> bool:
    """Whether a host needs no proxy, in any of the forms in which programs list exceptions."""
    if urllib.request.proxy_bypass(place):
        return True
    for each in re.split(r"[,\s]+", listed):
        with suppress(ValueError):
            if ip_address(host) in ip_network(each.strip("[]"), strict=False):
                return True
        name = each.lower().removeprefix("*").lstrip(".")
        if each == "*" or (name and f".{host}".endswith(f".{name}")):
            return True
    return False


def _shown(proxy: str) -> str:
    """A proxy's address without its password."""
    return proxy.rpartition("@")[2].rpartition("://")[2].rstrip("/")


def tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """The TLS error that caused an error, if any."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def is_untrusted(error: BaseException) -> bool:
    return isinstance(tls_error(error), ssl.SSLCertVerificationError)


def trusted() -> ssl.SSLContext:
    """The certificates that servers are checked against.

    Raises:
        NoRoute: if a variable names a missing or unusable file.
    """
    named = {name: os.environ[name] for name in TRUST_VARIABLES if os.environ.get(name)}
    return _trusted(tuple(named.items()))


@lru_cache(maxsize=4)
def _trusted(named: tuple[tuple[str, str], ...]) -> ssl.SSLContext:
    if any(name in _REPLACING for name, _ in named):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    else:
        context = httpx2.create_ssl_context(trust_env=False)
    for name, value in named:
        for place in value.split(os.pathsep) if name.endswith("_DIR") else [value]:
            _load(context, name, Path(place).expanduser())
    return context


def _load(context: ssl.SSLContext, name: str, place: Path) -> None:
    why = "holds no certificates in PEM form"
    try:
        for file in sorted(place.iterdir()) if place.is_dir() else [place]:
            with suppress(ssl.SSLError, IsADirectoryError):
                context.load_verify_locations(cafile=file)
                why = ""
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    if why:
        hint = f"Set {name} to certificates in PEM form, or remove it"
        raise NoRoute(f"{name} names {place}, which {why}.", hint)


def named_trust() -> str:
    """The first certificate variable that is set; empty for none."""
    return next((name for name in TRUST_VARIABLES if os.environ.get(name)), "")
