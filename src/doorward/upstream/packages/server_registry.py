"""The public MCP registry, and the documents of npm and PyPI about one package. Everything in them is untrusted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from doorward.config.settings import Settings
from doorward.core import strictjson
from doorward.core.errors import DoorwardError, Unreachable
from doorward.core.escape_invisible import escape_invisible
from doorward.upstream.http_client import HttpClient, redact_url
from doorward.upstream.outbound import OutboundPolicy
from doorward.upstream.packages.addresses import PackageAddresses
from doorward.upstream.packages.known_servers import FoundServer, ServerVariable

_SECONDS = 5.0
_MAX_BYTES = 8_000_000
_PAGE = 30
_MOST_PAGES = 3
_LONGEST = 500
_TYPES = ("npm", "pypi")
_NPM_ABBREVIATED = "application/vnd.npm.install-v1+json, application/json"


class ServerRegistry:
    """A client of the MCP registry API."""

    def __init__(self, address: str, outbound: OutboundPolicy) -> None:
        self.address = address.rstrip("/")
        self._outbound = outbound

    @classmethod
    def of(cls, settings: Settings) -> ServerRegistry:
        return cls(settings.upstream.packages.registry, OutboundPolicy(settings.upstream.private_addresses))

    async def search(self, word: str) -> list[FoundServer]:
        """The servers whose name has this word, newest versions only. Raises Unreachable."""
        found: list[FoundServer] = []
        cursor = ""
        for _ in range(_MOST_PAGES):
            asked = {"search": word, "version": "latest", "limit": str(_PAGE), **({"cursor": cursor} if cursor else {})}
            page = await self._get(f"{self.address}/v0.1/servers?{urlencode(asked)}")
            found += [one for raw in _list(page, "servers") if (one := read_server(raw)) is not None]
            cursor = _text(_map(page, "metadata").get("nextCursor"))
            if not cursor:
                break
        return found

    async def find(self, name: str) -> FoundServer | None:
        """The newest version of the server with exactly this name; None if there is none, or no registry is set."""
        if not self.address or "/" not in name:
            return None
        try:
            raw = await self._get(f"{self.address}/v0.1/servers/{quote(name, safe='')}/versions/latest")
        except _NoDocument:
            return None
        found = read_server(raw)
        return found if found is not None and found.name == name else None

    async def find_version(self, addresses: PackageAddresses, registry_type: str, package: str) -> str | None:
        """The newest version of a package by its registry; None if there is no such package. Raises Unreachable."""
        try:
            if registry_type == "npm":
                url = f"{addresses.npm_registry}/{quote(package, safe='@')}"
                return _text(_map(await self._get(url, _NPM_ABBREVIATED), "dist-tags").get("latest"))
            url = f"{addresses.python_index.removesuffix('/simple')}/pypi/{quote(package, safe='')}/json"
            return _text(_map(await self._get(url), "info").get("version"))
        except _NoDocument:
            return None

    async def _get(self, url: str, accept: str = "application/json") -> Any:
        web = HttpClient(self._outbound, url)
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await web.request("GET", url, {"Accept": accept})
                body = await answer.read_all(_MAX_BYTES)
            if answer.status == 404:
                raise _NoDocument(f"{redact_url(url)} does not exist.")
            if answer.status != 200:
                raise Unreachable(f"{redact_url(url)} answered with the status {answer.status}.")
            return strictjson.loads(body, max_bytes=_MAX_BYTES)
        except TimeoutError as error:
            raise Unreachable(f"{redact_url(url)} did not answer within {_SECONDS:g} seconds.") from error
        except strictjson.NotJson as error:
            raise Unreachable(f"{redact_url(url)} did not answer with JSON.") from error
        finally:
            web.close()


class _NoDocument(DoorwardError):
    """The address has no document."""


def read_server(raw: Any) -> FoundServer | None:
    """Read one server of the registry: its first package on npm or PyPI, or else its first remote address."""
    server = _map(raw, "server") or (raw if isinstance(raw, Mapping) else {})
    name = _text(server.get("name"))
    if not name:
        return None
    known: dict[str, Any] = {"name": name, "description": _text(server.get("description")), "source": "registry"}
    for package in _list(server, "packages"):
        kind, identifier = _text(package.get("registryType")), _text(package.get("identifier"))
        transport = _text(_map(package, "transport").get("type")) or "stdio"
        if kind in _TYPES and identifier and transport == "stdio":
            return FoundServer(
                **known,
                registry_type=kind,  # type: ignore[arg-type]
                package=identifier,
                version=_text(package.get("version")),
                variables=tuple(_read_variables(package)),
            )
    for remote in _list(server, "remotes"):
        if url := _text(remote.get("url")):
            return FoundServer(**known, transport=_text(remote.get("type")) or "http", url=url, network=True)
    return FoundServer(**known)


def _read_variables(package: Mapping[str, Any]) -> Iterator[ServerVariable]:
    for one in _list(package, "environmentVariables"):
        if name := _text(one.get("name")):
            yield ServerVariable(name, one.get("isSecret") is True, one.get("isRequired") is True)


def _map(whole: Any, key: str) -> Mapping[str, Any]:
    found = whole.get(key) if isinstance(whole, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _list(whole: Any, key: str) -> list[Mapping[str, Any]]:
    found = whole.get(key) if isinstance(whole, Mapping) else None
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _text(value: Any) -> str:
    return escape_invisible(value[:_LONGEST], lines=False) if isinstance(value, str) else ""
