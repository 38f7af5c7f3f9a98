"""Finds servers in the configuration files of other MCP clients."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from doorward.config import files
from doorward.config.jsonc import UnreadableText, parse_jsonc
from doorward.core.errors import Unusable
from doorward.upstream.client_conversion import DOORWARD_CLIENT, convert_entry
from doorward.upstream.client_files import CLIENT_CONFIG_FILES, ClientMachine
from doorward.upstream.config import ServersConfig
from doorward.upstream.server_entry import make_id

_LARGEST = 64 * 1024 * 1024
_CONTAINERS = ("mcpServers", "context_servers", "mcp_servers", "servers")
_TRANSPORTS = ("command", "url", "httpUrl", "serverUrl")


class FoundServer(msgspec.Struct, frozen=True, kw_only=True):
    """One server in a client's file."""

    name: str
    entry: dict[str, Any]
    """The entry as it is in the client's file."""
    file: str
    client: str = ""
    """The id of the client, if Doorward knows it."""


def find_in_file(file: Path, client: str = "") -> list[FoundServer]:
    """Find the servers in a file of any client; raises Unusable when it cannot be read or contains none."""
    try:
        text = files.read_file(file, _LARGEST).decode()
        whole = tomllib.loads(text) if file.suffix == ".toml" else parse_jsonc(text).value
    except (files.UnreadableFile, UnreadableText, tomllib.TOMLDecodeError) as error:
        raise Unusable(f"{file} cannot be imported: {str(error).rstrip('.')}.") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise Unusable(f"{file} cannot be imported: it is not UTF-8 text of JSON or TOML.") from error
    if not client and isinstance(whole, dict) and isinstance(whole.get("servers"), list):
        client = DOORWARD_CLIENT
    found = [
        FoundServer(name=name, entry=dict(entry), file=str(file), client=client)
        for name, entry in _entries(whole)
        if isinstance(entry, dict)
    ]
    if not found:
        raise Unusable(
            f"{file} names no MCP server; valid: a file with {', '.join(_CONTAINERS[:-1])} or {_CONTAINERS[-1]}."
        )
    return found


def find_in_clients(machine: ClientMachine, *, projects: bool) -> tuple[list[FoundServer], list[str]]:
    """Find the servers of all known clients on this machine, with a sentence for each unreadable file."""
    found: list[FoundServer] = []
    problems: list[str] = []
    for client in CLIENT_CONFIG_FILES:
        for file in client.files(machine) if projects else [client.user(machine)]:
            try:
                if file.is_file():
                    found += find_in_file(file, client.id)
            except Unusable as error:
                if "names no MCP server" not in error.message:
                    problems.append(error.message)
            except OSError as error:
                problems.append(f"{file} cannot be read: {error.strerror}.")
    return found, problems


def find_missing(servers: ServersConfig, machine: ClientMachine) -> list[FoundServer]:
    """Find the servers that other clients have and Doorward does not, by id, without Doorward itself."""
    known = {one.id for one in servers.servers}
    found: dict[str, FoundServer] = {}
    for one in find_in_clients(machine, projects=False)[0]:
        id = make_id(one.name)
        if id not in known and not convert_entry(one.name, one.entry, client=one.client, file=one.file).is_doorward:
            found.setdefault(id, one)
    return list(found.values())


def _entries(whole: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(whole, dict):
        return
    for container in _CONTAINERS:
        yield from _iterate_named(whole.get(container))
    nested = whole.get("mcp")
    if isinstance(nested, dict):
        yield from _iterate_named(nested.get("servers"))
    projects = whole.get("projects")
    for project in projects.values() if isinstance(projects, dict) else ():
        if isinstance(project, dict):
            yield from _iterate_named(project.get("mcpServers"))
    if whole and all(isinstance(one, dict) and any(key in one for key in _TRANSPORTS) for one in whole.values()):
        yield from whole.items()


def _iterate_named(held: Any) -> Iterator[tuple[str, Any]]:
    """Read a map from name to server or, as in Doorward's own file, a list of servers with ids."""
    if isinstance(held, Mapping):
        yield from held.items()
    for one in held if isinstance(held, list) else ():
        if isinstance(one, dict) and isinstance(one.get("id"), str):
            yield one["id"], {key: value for key, value in one.items() if key != "id"}
