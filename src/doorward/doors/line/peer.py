"""The account at the other end of a local connection, from the kernel's connection table."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from pathlib import Path

Address = tuple[str, int]
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _ACCOUNT, _INODE = 1, 2, 7, 9


def account(peer: Address, ours: Address, tables: tuple[Path, ...] = TABLES) -> int | None:
    """The user id of the process at the other end; None when it is on another machine or unknown.

    A socket that its process has closed counts as unknown, because the kernel shows it as root's.
    """
    wanted = (_normalize(peer), _normalize(ours))
    for fields in _entries(tables):
        if fields[_INODE] != "0" and (_parse_address(fields[_LOCAL]), _parse_address(fields[_REMOTE])) == wanted:
            return int(fields[_ACCOUNT])
    return None


def _entries(tables: tuple[Path, ...]) -> Iterator[list[str]]:
    for table in tables:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:  # this machine has no such table
            continue
        yield from (fields for fields in map(str.split, lines) if len(fields) > _INODE)


def _normalize(address: Address) -> tuple[str, int]:
    host = ipaddress.ip_address(address[0].partition("%")[0])
    mapped = getattr(host, "ipv4_mapped", None)
    return str(mapped or host), address[1]


def _parse_address(text: str) -> tuple[str, int]:
    """Parse an address of the table: 32-bit words in the machine's byte order, and the port."""
    host, _, port = text.partition(":")
    words = [int(host[n : n + 8], 16).to_bytes(4, sys.byteorder) for n in range(0, len(host), 8)]
    return _normalize((str(ipaddress.ip_address(b"".join(words))), int(port, 16)))
