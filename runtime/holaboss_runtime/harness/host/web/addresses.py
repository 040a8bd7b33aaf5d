"""Which addresses of the internet a tool may reach: public ones. Names are resolved once, and that answer is used.

Nothing on this machine or in its network is reached on behalf of a model: neither by address, nor by a name that means
one, nor by a name that means something else the second time it is asked for.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_CARRIERS = (  # IPv6 addresses that stand for an IPv4 one, and where in their 16 bytes it is
    (ipaddress.IPv6Network("64:ff9b::/96"), 12),
    (ipaddress.IPv6Network("2002::/16"), 2),
)
_CLOSED = (
    ipaddress.ip_network("100.64.0.0/10"),
    ipaddress.ip_network("192.0.0.0/24"),
    ipaddress.ip_network("198.18.0.0/15"),
    ipaddress.ip_network("168.63.129.16/32"),  # a cloud's own service under a public address
    ipaddress.ip_network("::/96"),
    ipaddress.ip_network("64:ff9b:1::/48"),
    ipaddress.ip_network("2001::/32"),  # an IPv4 address hides in it, in disguise
    ipaddress.ip_network("fec0::/10"),
)
RESOLVE_S = 10.0
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


class AddressError(Exception):
    """A host cannot be reached, or must not be; the message is a sentence for the model."""


def is_public(address: Address, *, loopback: bool = False) -> bool:
    """With `loopback`, this machine's own addresses count as well."""
    if loopback and address.is_loopback:
        return True
    if isinstance(address, ipaddress.IPv6Address):
        if (mapped := address.ipv4_mapped) is not None:
            return is_public(mapped)
        for network, at in _CARRIERS:
            if address in network:
                return is_public(ipaddress.IPv4Address(address.packed[at : at + 4]))
    if any(address.version == network.version and address in network for network in _CLOSED):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


async def resolve(host: str, port: int, *, loopback: bool = False) -> Address:
    """The address to connect to. Raises `AddressError`, also when only one of several answers is not public."""
    if _is_odd_number(host):
        raise AddressError(f"{host[:200]!r} is not a way to write an address.")
    try:
        async with asyncio.timeout(RESOLVE_S):
            answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError) as error:
        raise AddressError(f"There is no host {host[:200]!r}.") from error
    addresses = [ipaddress.ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers]
    if not addresses:
        raise AddressError(f"There is no host {host[:200]!r}.")
    if not all(is_public(address, loopback=loopback) for address in addresses):
        raise AddressError(f"{host[:200]!r} is on this machine or in its own network, which is not reached.")
    return addresses[0]


def _is_odd_number(host: str) -> bool:
    """Whether the system would read a number as an address that nobody would recognise as one (`2130706433`)."""
    if not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False
