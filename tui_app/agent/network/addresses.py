"""Addresses of model servers, as users paste them: with and without version, or with a whole path."""

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
"""What a whole path ends in, after its version."""
SDK_VERSIONS = MappingProxyType({ANTHROPIC: ("/v1",), GOOGLE: ("/v1", "/v1beta")})
"""The versions of protocols whose SDK puts one before its paths, that one first."""
_WRONG_PATH = frozenset({404, 405})


@frozen
class ServerAddress:
    """Where the paths of a protocol begin."""

    root: str
    versions: tuple[str, ...]
    """What may come between the root and a path, the most likely first; the server knows which."""

    @property
    def url(self) -> str:
        return self.root + self.versions[0]


def server_address(
    base_url: str, protocol: str = OPENAI_CHAT, path_prefix: str | None = None
) -> ServerAddress:
    """Read an address as it was pasted.

    Args:
        base_url: The address, also with a version or the whole path of a request after it.
        protocol: One of ``providers.PROTOCOLS``.
        path_prefix: What the user has set as version; None where nothing is set.
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
    # Most servers have a version, but a path before it is often the whole of it.
    return ServerAddress(root, ("", "/v1") if urlsplit(root).path else ("/v1", ""))


def address_of(endpoint: Endpoint) -> ServerAddress:
    return server_address(endpoint.base_url, endpoint.protocol, endpoint.path_prefix)


class VersionFinder(httpx2.Auth):
    """Sends requests under the version that the server knows, and keeps to the one that it answered.

    The one hook that may send a request again under another path.
    """

    def __init__(self, address: ServerAddress, sent: str | None = None) -> None:
        self._path = urlsplit(address.root).path
        self._sent = address.versions[0] if sent is None else sent
        """The version in the requests that come here."""
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
            # What the likeliest path says is the reason to be told: the model may be unknown there.
            likeliest = self._path + self._versions[0]
            request.url = request.url.copy_with(path=likeliest + path.removeprefix(start))
            yield request


def is_loopback(url: str) -> bool:
    """Whether an address names this machine."""
    try:
        return is_this_machine(urlsplit(url).hostname or "")
    except ValueError:
        return False


def same_server(one: str, other: str) -> bool:
    """Whether two addresses lead to the same server, however they were pasted."""
    return _place(one) == _place(other)


def _place(url: str) -> tuple[str, int | None, str]:
    """Host, port and path of an address; this machine has many names."""
    try:
        parts = urlsplit(server_address(url).root)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return url, None, ""
    host = "localhost" if is_loopback(url) else parts.hostname or ""
    return host, port, parts.path
