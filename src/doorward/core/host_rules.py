"""Rules that name hosts: `pypi.org`, `*.npmjs.org`, `127.0.0.1:8080`. Without a port, ports 80 and 443 are meant."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

import msgspec

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PORTS = (80, 443)
_VALID = "valid: a name such as pypi.org, *.npmjs.org for all names below it, or an address; each with :port or without"


class HostRule(msgspec.Struct, frozen=True):
    text: str
    host: str
    """The name or address; without the asterisk when `below`."""
    below: bool
    """Whether it means every name below `host`, and not `host` itself."""
    ports: tuple[int, ...]

    @property
    def is_address(self) -> bool:
        return not self.below and is_address(self.host)

    def matches(self, host: str, port: int) -> bool:
        """Whether this rule names the host, which must be normalized."""
        if port not in self.ports:
            return False
        return host.endswith(f".{self.host}") if self.below else host == self.host


class HostTerms(msgspec.Struct, frozen=True):
    """The hosts that programs may reach, and whether a person is asked about others."""

    hosts: tuple[HostRule, ...] = ()
    asks: bool = False

    def __str__(self) -> str:
        listed = ", ".join(one.text for one in self.hosts[:20]) or "no hosts"
        return f"{listed} and {len(self.hosts) - 20} more" if len(self.hosts) > 20 else listed


def parse_rule(text: str) -> HostRule:
    """Parse one rule. Raises ValueError with the reason and what is valid."""
    if "/" in text:
        raise ValueError(f"it is not a host; {_VALID}")
    host, ports = _split_port(text)
    below = host.startswith("*.")
    name = normalize_host(host.removeprefix("*."))
    if _parse_address(name) is not None:
        if below:
            raise ValueError(f"an address has no names below it; {_VALID}")
        return HostRule(text, name, below, ports)
    if name == "localhost" or name.endswith(".localhost"):
        raise ValueError("localhost is the room's own loopback; for a port of this machine, list 127.0.0.1 with it")
    if not _NAME.fullmatch(name) or len(name) > 253 or name.rpartition(".")[2][:1].isdigit():
        raise ValueError(f"it is not a host; {_VALID}")
    if below and "." not in name:
        raise ValueError(f"*.{name} would be every host of {name}; {_VALID}")
    return HostRule(text, name, below, ports)


def find_rule(rules: Iterable[HostRule], host: str, port: int) -> HostRule | None:
    """The first rule that names this host and port."""
    wanted = normalize_host(host)
    return next((rule for rule in rules if rule.matches(wanted, port)), None)


def normalize_host(host: str) -> str:
    """A host in lower case, without brackets and without the dot at its end; an address in its usual form."""
    bare = host.lower().removesuffix(".")
    if bare.startswith("[") and bare.endswith("]"):
        bare = bare[1:-1]
    address = _parse_address(bare)
    return bare if address is None else str(address)


def is_address(host: str) -> bool:
    """Whether a host is an address and not a name."""
    return _parse_address(host) is not None


def _split_port(text: str) -> tuple[str, tuple[int, ...]]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]") or _parse_address(text) is not None:
        return text, _PORTS
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise ValueError(f"the port must be a number from 1 to 65535; {_VALID}")
    return host, (int(port),)


def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
