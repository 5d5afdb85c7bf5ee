"""Web addresses in the form that rules and requests compare: scheme, host and port, normalized.

A rule is a host (``docs.example.org``, ``*.example.org``, ``[::1]``), optionally with a port
(``localhost:8080``), a scheme (``http://example.org``) and a path (``https://example.org/docs``).
"""

import ipaddress
import posixpath
import re
import socket
import unicodedata
from collections.abc import Iterator
from encodings import idna
from fnmatch import fnmatchcase
from urllib.parse import unquote, urlsplit

from tui_app.records import frozen

DEFAULT_PORTS = {"http": 80, "https": 443}
_DOTS = re.compile("[.\u3002\uff0e\uff61]")
_NUMBERS = re.compile(r"(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+)){0,3}")
_OLD_AT_THE_END = tuple(ipaddress.ip_network(each) for each in ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96"))
"""IPv6 networks whose last 32 bits are an IPv4 address."""
_HOST = re.compile(r"[^\s/\\@#%<>^|\"'`{}$&();,=!+:\[\]]+")
_PATTERN = re.compile(
    r"(?:(?P<scheme>[a-zA-Z][\w+.-]*)://)?(?P<host>\[[^\]/]*\]|[^/:\[\]]*)(?::(?P<port>\d*))?(?P<path>/.*)?"
)
_BARE_IPV6 = re.compile(r"[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")
_WILD = frozenset("*?[")


def plain_host(host: str) -> str:
    """Normalize a host or a pattern of hosts: lower case, readable letters.

    Full-width letters, invisible characters, a final dot, the ASCII form of other scripts and unusual forms
    of addresses do not change where a name leads, so they are normalized.
    """
    name = ".".join(_plain_label(label) for label in _DOTS.split(host.removesuffix("."))).removesuffix(".")
    try:
        if _NUMBERS.fullmatch(name):
            return socket.inet_ntoa(socket.inet_aton(name))
        address = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except (OSError, ValueError):
        return name
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).compressed


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine, in any notation."""
    name = plain_host(host)
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def ascii_host(host: str) -> str:
    """Return the host in the form used by the network.

    Raises:
        UnicodeError: if it is no possible name of a host.
    """
    name = plain_host(host)
    return name if name.isascii() else name.encode("idna").decode("ascii")


def within(address: str) -> Iterator[str]:
    """Yield an address, and IPv4 addresses embedded in it, where traffic to it may arrive."""
    yield address
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return
    if isinstance(ip, ipaddress.IPv6Address):
        found = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
        if any(ip in network for network in _OLD_AT_THE_END):
            found.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
        yield from (each.compressed for each in found if each is not None)


@frozen
class Origin:
    """Scheme, host, port and path of an address."""

    scheme: str
    host: str
    port: int
    path: str = "/"

    @property
    def text(self) -> str:
        """The origin as in a rule, without its path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    def asks_same(self, other: "Origin") -> bool:
        return (self.scheme, self.host, self.port) == (other.scheme, other.host, other.port)


def origin_of(address: str) -> Origin | None:
    """Return the origin of an http or https address; None for any other text."""
    try:
        parts = urlsplit(address)
        host, port = _without_zone(plain_host(parts.hostname or "")), parts.port
    except ValueError:
        return None
    if parts.scheme not in DEFAULT_PORTS or not host or port == 0:
        return None
    return Origin(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme], parts.path or "/")


@frozen
class HostRule:
    """A rule about addresses."""

    host: str
    """A host, or a pattern as for file names."""
    scheme: str = ""
    port: int = 0
    path: str = ""

    def allows(self, origin: Origin) -> bool:
        """Match strictly, for rules that allow: without a port the scheme's default, a path as written."""
        port = self.port or DEFAULT_PORTS[origin.scheme]
        is_below = not self.path or _is_below(origin.path, self.path)
        is_plain = not self.path or _plain_path(origin.path) == origin.path.rstrip("/")
        return (
            self._concerns(origin.host)
            and self.scheme in ("", origin.scheme)
            and port == origin.port
            and is_below
            and is_plain
        )

    def concerns(self, origin: Origin) -> bool:
        """Match broadly, for other rules: without a port every port, and any embedded address."""
        port = self.port or (DEFAULT_PORTS[self.scheme] if self.scheme else origin.port)
        is_below = not self.path or _is_below(_plain_path(origin.path), _plain_path(self.path))
        hosts = any(map(self._concerns, within(origin.host)))
        return hosts and self.scheme in ("", origin.scheme) and port == origin.port and is_below

    def _concerns(self, host: str) -> bool:
        return fnmatchcase(host, self.host) if _WILD & {*self.host} else host == self.host


def parse_host_rule(text: str) -> HostRule | None:
    """Parse a rule about addresses; None for one that could never match."""
    if _BARE_IPV6.fullmatch(text):
        text = f"[{text}]"
    found = _PATTERN.fullmatch(text)
    if found is None:
        return None
    scheme, port, path = (found["scheme"] or "").lower(), found["port"], found["path"] or ""
    host = _without_zone(plain_host(found["host"]))
    is_host = bool(host) and (
        ":" in host or _HOST.fullmatch(host.replace("[", "").replace("]", "")) is not None
    )
    is_port = port is None or (port.isdigit() and 0 < int(port) < 65_536)
    if found["host"].startswith("[") and ":" not in host and not _NUMBERS.fullmatch(host):
        return None
    if not is_host or not is_port or scheme not in ("", *DEFAULT_PORTS) or ".." in host or len(host) > 253:
        return None
    return HostRule(host, scheme, int(port or 0), path if path.strip("/") else "")


def _without_zone(host: str) -> str:
    """Remove the interface from an address, which is written after a percent sign."""
    return plain_host(host.partition("%")[0]) if ":" in host and "%" in host else host


def _plain_label(label: str) -> str:
    try:
        return idna.nameprep(idna.ToUnicode(label.lower())).casefold()
    except UnicodeError:
        return unicodedata.normalize("NFKC", label).casefold()


def _plain_path(path: str) -> str:
    return posixpath.normpath(unquote(unquote(path)).replace("\\", "/").casefold()).rstrip("/")


def _is_below(path: str, folder: str) -> bool:
    folder = folder.rstrip("/")
    return path.rstrip("/") == folder or path.startswith(f"{folder}/")
