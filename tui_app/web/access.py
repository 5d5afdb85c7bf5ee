"""Who may use the served screen: pure decisions over a request's headers.

A foreign page can make a browser send requests to this machine, so an address of our own is not
enough: the host name must be one we serve (against DNS rebinding), a web socket must come from our own page,
and everything but the first visit needs the cookie that the token was exchanged for.
"""

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from urllib.parse import urlsplit

LOOPBACK_NAMES = ("localhost",)


class Answer(Enum):
    """What becomes of a request."""

    SERVE = auto()
    SIGN_IN = auto()
    """The token is right: set the cookie and show the address without it."""
    WRONG_HOST = auto()
    WRONG_ORIGIN = auto()
    NO_TOKEN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
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
        if origin is not None and urlsplit(origin).netloc != host:
            return Answer.WRONG_ORIGIN
        if not self.token or _same(cookies.get(self.cookie, ""), self.token):
            return Answer.SERVE
        return Answer.SIGN_IN if _same(query.get("token", ""), self.token) else Answer.NO_TOKEN

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names the address we serve; any address of ours where we serve them all."""
        parts = urlsplit(f"//{host}")
        try:
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if port != self.port:
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
    return secrets.compare_digest(one.encode(), other.encode())
