"""Which hosts a list means, and which addresses a name may lead to. Pure.

A rule is a name, `*.suffix` (names below it, not itself) or an address, each with `:port` where it is neither 80 nor
443. Addresses of this machine and of private networks are never reached through a name, whatever its owner answers;
only a rule that is such an address, or `localhost`, allows it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

WEB_PORTS = frozenset({80, 443})
_RULE = re.compile(
    r"^(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]]+)|(?P<bare>[0-9a-fA-F:.]+))(?::(?P<port>\d{1,5}))?$"
)
_NAME = re.compile(r"^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*$")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class HostRule:
    """`host` is lower case; `below` for a rule that began with `*.`; without `port` the two of the web."""

    host: str
    below: bool
    port: int | None

    def fits(self, host: str, port: int) -> bool:
        named = host.endswith(f".{self.host}") if self.below else host == self.host
        return named and (port in WEB_PORTS if self.port is None else port == self.port)


class HostList:
    """The rules that make sense; the others fit nothing."""

    def __init__(self, rules: Iterable[str]) -> None:
        self._rules = [rule for text in rules if (rule := _parsed(text)) is not None]

    def allows(self, host: str, port: int) -> bool:
        name = plain_host(host)
        return name is not None and any(rule.fits(name, port) for rule in self._rules)

    def may_connect(self, host: str, address: str) -> bool:
        """Whether an allowed host may be reached at this address."""
        if is_public(address):
            return True
        name = plain_host(host)
        if name == "localhost":
            return ipaddress.ip_address(address).is_loopback
        return name == address

    def names(self, host: str) -> bool:
        """Whether this very host is on the list, at any port."""
        return any(rule.host == host and not rule.below for rule in self._rules)


def plain_host(text: str) -> str | None:
    """A host as rules are compared: lower case, no dot at the end, punycode; None for what is not one."""
    host = text.strip().lower().removesuffix(".")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        host = host.encode("idna").decode()
    except UnicodeError:
        return None
    return host if _NAME.match(host) else None


def is_public(address: str) -> bool:
    """Whether an address is somewhere in the open internet, also when it is wrapped in another kind of address."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast


def _parsed(text: str) -> HostRule | None:
    match = _RULE.match(text.strip())
    if match is None:
        return None
    found = match["v6"] or match["name"] or match["bare"]
    host = plain_host(found.removeprefix("*."))
    port = int(match["port"]) if match["port"] else None
    return HostRule(host, found.startswith("*."), port) if host is not None and (port or 1) <= 65535 else None
