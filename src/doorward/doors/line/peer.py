"""Who is at the other end of a connection from this machine, as the kernel's table of connections tells it."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from pathlib import Path

Address = tuple[str, int]
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _ACCOUNT, _INODE = 1, 2, 7, 9


def account(peer: Address, ours: Address, tables: tuple[Path, ...] = TABLES) -> int | None:
    """The account whose process holds the other end; None when it is not of this machine, or cannot be told.

    An end that its process has closed is nobody's any more: the kernel shows it as root's, and so it counts as unknown.
    """
    wanted = (_plain(peer), _plain(ours))
    for fields in _entries(tables):
        if fields[_INODE] != "0" and (_read(fields[_LOCAL]), _read(fields[_REMOTE])) == wanted:
            return int(fields[_ACCOUNT])
    return None


def _entries(tables: tuple[Path, ...]) -> Iterator[list[str]]:
    for table in tables:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:  # no such table: then nobody is found in it
            continue
        yield from (fields for fields in map(str.split, lines) if len(fields) > _INODE)


def _plain(address: Address) -> tuple[str, int]:
    host = ipaddress.ip_address(address[0].partition("%")[0])
    mapped = getattr(host, "ipv4_mapped", None)
    return str(mapped or host), address[1]


def _read(text: str) -> tuple[str, int]:
    """An address as the table has it: words of 32 bits in the machine's own order, and the port."""
    host, _, port = text.partition(":")
    words = [int(host[n : n + 8], 16).to_bytes(4, sys.byteorder) for n in range(0, len(host), 8)]
    return _plain((str(ipaddress.ip_address(b"".join(words))), int(port, 16)))
