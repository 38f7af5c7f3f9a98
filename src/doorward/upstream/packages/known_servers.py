"""The servers that Doorward knows: well-known public ones, in a file that ships with it."""

from __future__ import annotations

import difflib
import functools
from importlib import resources
from typing import Literal

import msgspec

from doorward.upstream.packages.plan import RegistryType


class ServerVariable(msgspec.Struct, frozen=True, rename="camel"):
    """An environment variable that a server reads."""

    name: str
    secret: bool = False
    required: bool = True
    value: str = ""
    """The value that it gets if nobody gives one. `{folder}` is the server's own folder, the only one it may change."""


class FoundServer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A server that can be installed from a package registry, or is remote."""

    name: str
    description: str
    purposes: tuple[str, ...] = ()
    """Phrases for what people use it for."""
    registry_type: RegistryType | Literal[""] = ""
    package: str = ""
    version: str = ""
    transport: str = "stdio"
    url: str = ""
    """The address of a remote server, which is added with mcp/add."""
    variables: tuple[ServerVariable, ...] = ()
    arguments: str = ""
    """What its arguments must say; empty if it needs none."""
    network: bool | None = None
    """Whether it needs the network; None if unknown."""
    tools: tuple[str, ...] = ()
    source: Literal["known", "registry"] = "known"


class _KnownFile(msgspec.Struct, frozen=True):
    about: str
    license: str
    servers: tuple[FoundServer, ...]


@functools.cache
def load_known() -> tuple[FoundServer, ...]:
    text = resources.files(__package__).joinpath("known_servers.json").read_bytes()
    return msgspec.json.decode(text, type=_KnownFile).servers


def find_known(name: str) -> FoundServer | None:
    """The known server with this name or package."""
    wanted = name.lower()
    return next((one for one in load_known() if wanted in (one.name.lower(), one.package.lower())), None)


def list_known_packages() -> dict[str, str]:
    """The known packages, with the names of their servers."""
    return {one.package: one.name for one in load_known()}


def suggest_names(name: str) -> list[str]:
    """Known names that resemble this one."""
    names = {text: one.name for one in load_known() for text in (one.name, one.package)}
    return list(dict.fromkeys(names[one] for one in difflib.get_close_matches(name.lower(), names, 3, 0.6)))
