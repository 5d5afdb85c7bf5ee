"""One spelling for every name of a host: rules and requests are compared in it."""

import ipaddress
import re
import socket
import unicodedata
from encodings import idna

_DOTS = re.compile("[.\u3002\uff0e\uff61]")
_NUMBERS = re.compile(r"(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+)){0,3}")


def plain_host(host: str) -> str:
    """A host, or a pattern of hosts, in lower case and in the letters that people read.

    Full-width letters, signs that are not seen, the dot at the end, the ASCII form of other scripts and
    unusual ways to write an address make no difference to where a name leads, so they make none here.
    """
    name = ".".join(_plain_label(label) for label in _DOTS.split(host.removesuffix("."))).removesuffix(".")
    try:
        if _NUMBERS.fullmatch(name):
            return socket.inet_ntoa(socket.inet_aton(name))
        return ipaddress.ip_address(name).compressed
    except (OSError, ValueError):
        return name


def ascii_host(host: str) -> str:
    """The same host as it is asked for in the network.

    Raises:
        UnicodeError: if no host can have such a name.
    """
    name = plain_host(host)
    return name if name.isascii() else name.encode("idna").decode("ascii")


def _plain_label(label: str) -> str:
    try:
        return idna.nameprep(idna.ToUnicode(label.lower())).casefold()
    except UnicodeError:
        return unicodedata.normalize("NFKC", label).casefold()
