"""Addresses of model servers, as users paste them: with or without a version, or with a whole path."""

import re
from collections.abc import AsyncGenerator, Sequence
from types import MappingProxyType
from urllib.parse import urlsplit

import httpx2

from tui_app.providers import ANTHROPIC, GOOGLE, OPENAI_CHAT
from tui_app.records import frozen
from tui_app.settings import Endpoint
from tui_app.system.hosts import is_this_machine

_VERSION = re.compile(r"/v\d[\w.-]*$")
_REQUEST = re.compile(
    r"/(chat/completions|completions|responses|messages(/count_tokens)?|models(/[^/?]+)?)/?(\?.*)?$"
)
"""Ends of whole paths, after the version."""
SDK_VERSIONS = MappingProxyType({ANTHROPIC: ("/v1",), GOOGLE: ("/v1", "/v1beta")})
"""Versions of protocols whose SDK adds one to its paths; the first is the one it adds."""
_WRONG_PATH = frozenset({404, 405})


@frozen
class ServerAddress:
    """The start of a protocol's paths on a server."""

    root: str
    versions: tuple[str, ...]
    """Possible parts between the root and a path, the most likely first."""

    @property
    def url(self) -> str:
        return self.root + self.versions[0]


def server_address(
    base_url: str, protocol: str = OPENAI_CHAT, path_prefix: str | None = None
) -> ServerAddress:
    """Parse an address as the user pasted it.

    Args:
        base_url: The address, optionally with a version or the whole path of a request.
        protocol: One of ``providers.PROTOCOLS``.
        path_prefix: The version in the user's settings; None if there is none.
    """
    base = _REQUEST.sub("", base_url).rstrip("/")
    named = _VERSION.search(base)
    root = base[: named.start()] if named else base
    if path_prefix is not None:
        return ServerAddress(root, (f"/{path_prefix.strip('/')}".rstrip("/"),))
    if named:
        return ServerAddress(root, (named[0],))
    if protocol in SDK_VERSIONS:
        return ServerAddress(root, SDK_VERSIONS[protocol])
    # Most servers have a version, but an address with a path is often complete.
    return ServerAddress(root, ("", "/v1") if urlsplit(root).path else ("/v1", ""))


def address_of(endpoint: Endpoint) -> ServerAddress:
    return server_address(endpoint.base_url, endpoint.protocol, endpoint.path_prefix)


class VersionFinder(httpx2.Auth):
    """Finds the version that the server accepts, and keeps using it.

    The only hook that may send a request again under another path.
    """

    def __init__(self, address: ServerAddress, sent: str | None = None) -> None:
        self._path = urlsplit(address.root).path
        self._sent = address.versions[0] if sent is None else sent
        """The version in the requests that arrive here."""
        self._versions: Sequence[str] = address.versions

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        start, path = self._path + self._sent, request.url.path
        if not path.startswith(f"{start}/"):
            yield request
            return
        for version in self._versions:
            request.url = request.url.copy_with(path=self._path + version + path.removeprefix(start))
            if (yield request).status_code not in _WRONG_PATH:
                self._versions = (version,)
                return
        if len(self._versions) > 1:
            # Report the error of the most likely path: there, the model may simply be unknown.
            likeliest = self._path + self._versions[0]
            request.url = request.url.copy_with(path=likeliest + path.removeprefix(start))
            yield request


def is_loopback(url: str) -> bool:
    """Whether an address refers to this machine."""
    try:
        return is_this_machine(urlsplit(url).hostname or "")
    except ValueError:
        return False


def same_server(one: str, other: str) -> bool:
    """Whether two addresses refer to the same server, however they were pasted."""
    return _place(one) == _place(other)


def _place(url: str) -> tuple[str, int | None, str]:
    """Host, port and path of an address, with one name for this machine."""
    try:
        parts = urlsplit(server_address(url).root)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return url, None, ""
    host = "localhost" if is_loopback(url) else parts.hostname or ""
    return host, port, parts.path
