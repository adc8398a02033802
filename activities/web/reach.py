"""Which machines an IP address may lead to (security.md 7.1)."""

from collections.abc import Iterator
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

_METADATA: Final = [
    ip_network(each)
    for each in (
        *("169.254.0.0/16", "168.63.129.16", "100.100.100.200", "192.0.0.192"),
        *("fe80::/10", "fd00:ec2::254", "fd20:ce::254"),
    )
]
_PRIVATE: Final = [
    ip_network(each)
    for each in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1", "fc00::/7")
]
_RESERVED: Final = [
    ip_network(each)
    for each in (
        *("0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24"),
        *("203.0.113.0/24", "224.0.0.0/3", "2001::/23", "2001:db8::/32", "3fff::/20"),
    )
]
_GLOBAL: Final = ip_network("2000::/3")  # all of IPv6 that is given out
_NAT64: Final = ip_network("64:ff9b::/96")
_COMPATIBLE: Final = ip_network("::/96")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)


class Reach(StrEnum):
    """`FORBIDDEN`: metadata of clouds, other links, and what is no machine's address."""

    PUBLIC = "public"
    PRIVATE = "private"
    FORBIDDEN = "forbidden"


def reach_of(written: str) -> Reach:
    """The worst of all addresses that this one stands for."""
    found = {_reach(each) for each in _meanings(ip_address(written.partition("%")[0]))}
    return next(each for each in (Reach.FORBIDDEN, Reach.PRIVATE, Reach.PUBLIC) if each in found)


def _meanings(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address | IPv6Address]:
    """An IPv6 address may contain an IPv4 address that a gateway forwards to."""
    if isinstance(address, IPv4Address):
        yield address
        return
    last = IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped is not None or address in _NAT64:
        yield last
        return
    yield address
    if address in _COMPATIBLE and int(address) > 1:
        yield last
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        yield last


def _reach(address: IPv4Address | IPv6Address) -> Reach:
    if any(address in network for network in _METADATA):
        return Reach.FORBIDDEN
    if any(address in network for network in _PRIVATE):
        return Reach.PRIVATE
    known = isinstance(address, IPv4Address) or address in _GLOBAL
    return Reach.PUBLIC if known and not any(address in network for network in _RESERVED) else Reach.FORBIDDEN
