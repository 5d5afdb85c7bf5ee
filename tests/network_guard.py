"""A guard that lets tests connect only to loopback."""

import errno
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

Attempts = list[str]
"""The refused addresses."""


def is_local(host: object) -> bool:
    """Whether a host is loopback or the wildcard address (as for a server's own port)."""
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def guarded_connect(original: Callable[..., Any], attempts: Attempts) -> Callable[..., Any]:
    """Wrap ``socket.connect`` or ``connect_ex`` to refuse all addresses except loopback."""

    def connect(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not is_local(address[0]):
            attempts.append(f"{address[0]}:{address[1]}")
            raise OSError(errno.ENETUNREACH, "tests reach nothing but loopback")
        return original(self, address)

    return connect


def guarded_getaddrinfo(original: Callable[..., Any], attempts: Attempts) -> Callable[..., Any]:
    """Wrap ``socket.getaddrinfo`` to refuse all names except this machine's."""

    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        if not is_local(host):
            attempts.append(str(host))
            raise socket.gaierror(socket.EAI_NONAME, "tests look up no names")
        return original(host, *args, **options)

    return getaddrinfo
