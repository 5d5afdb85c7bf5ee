"""Which addresses belong to the open internet, and which to this machine and its networks."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_LOCAL = tuple(
    ip_network(each)
    # Site-local, translation within a network, documentation, segment routing: Python calls them global.
    for each in ("fec0::/10", "64:ff9b:1::/48", "3fff::/20", "5f00::/16")
)
_OLD_AT_THE_END = tuple(ip_network(each) for each in ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96"))
"""Addresses of the new kind whose last 32 bits are one of the old."""


def is_public(address: str) -> bool:
    """Whether an address is one of the open internet, and so is every one that is written in it."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(
        each.is_global and not each.is_multicast and not any(each in network for network in _LOCAL)
        for each in (ip, *_embedded(ip))
    )


def _embedded(ip: IPv4Address | IPv6Address) -> Iterator[IPv4Address]:
    """Addresses of the old kind written as one of the new: where what is sent there may come out."""
    if isinstance(ip, IPv4Address):
        return
    yield from (each for each in (ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())) if each is not None)
    if any(ip in network for network in _OLD_AT_THE_END):
        yield IPv4Address(int(ip) & 0xFFFFFFFF)
