"""Checks the addresses that Doorward connects to, after names are resolved (protection against SSRF).

A name can resolve to this machine, to the local network or to a cloud's metadata service. So every resolved address is
checked, and the connection goes to exactly the address that was checked. Addresses outside the public Internet are
allowed only if the operator named them: as an address in a server's entry, or as a network in the settings.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator

from doorward.core.errors import Unreachable, Unusable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[list[str]]]

SETTING = "private_addresses"
_RESOLVE_TIMEOUT = 10.0
_EMBEDDING_NETWORKS = (
    (ipaddress.IPv6Network("64:ff9b::/96"), 0),
    (ipaddress.IPv6Network("::/96"), 0),
    (ipaddress.IPv6Network("2002::/16"), 80),
)
"""IPv6 networks that embed an IPv4 address, with its offset in bits from the right."""
_METADATA = frozenset(map(ipaddress.ip_address, ("169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192")))
"""Cloud metadata services, which give out credentials. One of them looks like a public address."""
_NOT_PUBLIC = tuple(map(ipaddress.ip_network, ("64:ff9b:1::/48", "192.88.99.0/24", "fec0::/10")))
"""Translation and former site-local networks that Python considers public."""
_ISATAP = 0x00005EFE


class ForbiddenAddress(Unreachable):
    """A name resolves to an address that is not allowed; a retry does not help."""

    retry = "after_fix"


class OutboundPolicy:
    """The rules of one Doorward server."""

    def __init__(self, private: Iterable[str] = (), resolve: Resolve | None = None) -> None:
        self._networks = [_parse_network(text) for text in private]
        self._resolve = resolve or _getaddrinfo

    async def resolve(self, host: str, port: int, *, named: bool = False) -> list[str]:
        """Resolve a host to the addresses to connect to, in order. `named`: the operator wrote this host and port.

        If the operator wrote an IP address or `localhost`, private addresses are allowed. A name that merely resolves
        to a private address is not enough, because somebody else may control it.
        """
        bare = host.strip("[]").rstrip(".")
        found = await self._resolve_host(bare, port)
        if named and _is_literal(bare):
            return found
        for text in found:
            self._check(host, text)
        return found

    async def _resolve_host(self, host: str, port: int) -> list[str]:
        try:
            async with asyncio.timeout(_RESOLVE_TIMEOUT):
                found = await self._resolve(host, port)
        except TimeoutError as error:
            raise Unreachable(
                f"The name {host!r} could not be resolved within {_RESOLVE_TIMEOUT:g} seconds."
            ) from error
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or "it is not a valid host name"
            raise Unreachable(f"The name {host!r} could not be resolved: {why}.") from error
        if not found:
            raise Unreachable(f"The name {host!r} could not be resolved: it has no address.")
        return found

    def _check(self, host: str, text: str) -> None:
        address = _parse_address(text)
        for form in embedded_addresses(address):
            if is_public(form) or any(form in network for network in self._networks if network.version == form.version):
                continue
            leads = "is" if host.strip("[]") == text else "resolves to"
            inside = "" if form == address else f" embeds {form} and"
            raise ForbiddenAddress(
                f"{host!r} {leads} the address {text}, which{inside} is not on the public Internet; valid: public "
                f"addresses, and networks listed as `{SETTING}` in [upstream] of doorward.toml."
            )


def is_public(address: Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved or address in _METADATA:
        return False
    return not any(address in network for network in _NOT_PUBLIC if network.version == address.version)


def embedded_addresses(address: Address) -> Iterator[Address]:
    """An address and every IPv4 address that it embeds. All of them must be allowed."""
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    inside: list[Address] = []
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
        return
    if address.teredo is not None:
        inside += address.teredo
    number = int(address)
    if address not in (ipaddress.IPv6Address("::"), ipaddress.IPv6Address("::1")):
        inside += [
            ipaddress.IPv4Address(number >> at & 0xFFFFFFFF) for net, at in _EMBEDDING_NETWORKS if address in net
        ]
    if number >> 32 & 0xFCFFFFFF == _ISATAP:
        inside.append(ipaddress.IPv4Address(number & 0xFFFFFFFF))
    if not any(address in net for net, _ in _EMBEDDING_NETWORKS) or not inside:
        yield address
    yield from inside


def _parse_address(text: str) -> Address:
    """Parse a resolved address, without its zone."""
    return ipaddress.ip_address(text.partition("%")[0])


def _parse_network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise Unusable(
            f"The setting upstream.{SETTING} must list networks or addresses such as '10.0.0.0/8' or '127.0.0.1'; "
            f"given {text[:80]!r}."
        ) from error


def is_loopback_host(host: str) -> bool:
    """Whether a host, as written, is certainly this machine."""
    if _is_local_name(host):
        return True
    try:
        return _parse_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_literal(host: str) -> bool:
    if _is_local_name(host):
        return True
    try:
        _parse_address(host)
    except ValueError:
        return False
    return True


def _is_local_name(host: str) -> bool:
    return host.lower() == "localhost" or host.lower().endswith(".localhost")


async def _getaddrinfo(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
