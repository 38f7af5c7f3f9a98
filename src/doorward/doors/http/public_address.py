"""The public address of a server behind a reverse proxy, and the forwarded headers of trusted proxies."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence

from doorward.core.errors import Unusable

_URL = re.compile(r"(https?)://((?:\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::[0-9]{1,5})?)/?", re.IGNORECASE | re.ASCII)


def parse_public_url(url: str) -> str:
    """The origin in the setting server.public_url, in lower case; empty when it is not set."""
    if not url:
        return ""
    match = _URL.fullmatch(url)
    if match is None:
        raise Unusable(
            f"The setting server.public_url takes an address without a path, such as `https://doorward.example`; "
            f"given {url!r}."
        )
    return f"{match[1]}://{match[2]}".lower()


class TrustedProxies:
    """The proxies whose forwarded headers are believed."""

    def __init__(self, named: Iterable[str]) -> None:
        self._networks = [_parse_network(name) for name in named]

    def client_address(self, peer: str, fields: Sequence[tuple[bytes, bytes]]) -> str:
        """The address of the client: the right-most address that is not a trusted proxy.

        Only a trusted proxy's own entry can be believed, so reading stops at the first address that is not one.
        """
        forwarded = b",".join(value for name, value in fields if name == b"x-forwarded-for").decode("latin-1")
        address = peer
        for entry in reversed(forwarded.split(",")):
            if not self.trusts(address) or not _is_address(entry.strip()):
                break
            address = entry.strip()
        return address

    def scheme(self, peer: str, fields: Sequence[tuple[bytes, bytes]], own: str) -> str:
        """The scheme that the client used, as the proxy says, or else our own."""
        if not self.trusts(peer):
            return own
        said = [value.strip().lower() for name, value in fields if name == b"x-forwarded-proto"]
        return said[-1].decode() if said and said[-1] in (b"http", b"https") else own

    def trusts(self, address: str) -> bool:
        if not self._networks or not _is_address(address):
            return False
        found = ipaddress.ip_address(address)
        found = getattr(found, "ipv4_mapped", None) or found
        return any(found in network for network in self._networks)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _parse_network(name: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(name)
    except ValueError as error:
        raise Unusable(
            f"The setting server.trusted_proxies takes addresses and networks such as `127.0.0.1` and `10.0.0.0/8`; "
            f"given {name!r}."
        ) from error
