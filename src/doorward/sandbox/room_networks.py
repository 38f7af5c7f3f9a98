"""The networks of rooms: one namespace for the programs of each, with a proxy that reaches what its recipe says."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

import msgspec

from doorward.core.errors import NotPermitted
from doorward.core.host_rules import HostTerms
from doorward.sandbox import view
from doorward.sandbox.egress_proxy import EgressProxy, EgressRules
from doorward.sandbox.grants import is_beneath
from doorward.sandbox.inside.network_namespace import PROXY_PORT
from doorward.sandbox.network_namespace import NetworkNamespace
from doorward.sandbox.port_forwarder import connect_in_room
from doorward.sandbox.program import AskToConnect, RoomKey
from doorward.sandbox.proxy_access import ProxyAccess, RunningProgram
from doorward.sandbox.toolchains import WITHOUT_UPDATE_CHECKS
from doorward.sandbox.worker import WorkerGone

_FOR_PROXY = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_FOR_YARN = ("YARN_HTTP_PROXY", "YARN_HTTPS_PROXY")
_WAITING_SECONDS = 900
_WHERE_ASKED = {
    **dict.fromkeys(("PIP_DEFAULT_TIMEOUT", "UV_HTTP_TIMEOUT", "CARGO_HTTP_TIMEOUT"), str(_WAITING_SECONDS)),
    **dict.fromkeys(("YARN_HTTP_TIMEOUT", "npm_config_fetch_timeout"), str(_WAITING_SECONDS * 1000)),
    **WITHOUT_UPDATE_CHECKS,
    **dict.fromkeys(("NEXT_TELEMETRY_DISABLED", "ASTRO_TELEMETRY_DISABLED", "DOTNET_CLI_TELEMETRY_OPTOUT"), "1"),
    "DO_NOT_TRACK": "1",
    "YARN_ENABLE_TELEMETRY": "false",
    "GOTELEMETRY": "off",
}
"""Where a person may be asked about a connection, package managers wait for it, and tools make none on their own: a
test run that looks for a newer version of its tool would ask each time."""


class _RoomNetwork:
    def __init__(self, namespace: NetworkNamespace, proxy: EgressProxy) -> None:
        self.namespace = namespace
        self.proxy = proxy
        self.users = 0

    def close(self) -> None:
        self.proxy.close()
        self.namespace.close()


class RoomNetworks:
    def __init__(self, rules: EgressRules | None) -> None:
        self._terms: dict[RoomKey, HostTerms] = {}
        """The hosts of networks that belong to no room."""
        self._rules = rules and msgspec.structs.replace(
            rules, find_terms=lambda room: self._terms.get(room) or rules.find_terms(room)
        )
        self._networks: dict[RoomKey, _RoomNetwork] = {}
        self._creating = asyncio.Lock()
        self._reached_loopback = False

    @functools.cached_property
    def _trust(self) -> dict[str, str]:
        """The variables with the files of trusted certificates that programs see."""
        named = self._rules.environment if self._rules is not None else {}
        return {name: path for name, path in named.items() if _is_visible(path)}

    @property
    def reached_loopback(self) -> bool:
        """Whether a program reached a port of this machine through a proxy."""
        return self._reached_loopback or any(one.proxy.reached_loopback for one in self._networks.values())

    @contextlib.contextmanager
    def allow(self, network: RoomKey, hosts: HostTerms) -> Iterator[None]:
        """Let programs reach these hosts in a network that belongs to no room, until the context ends."""
        self._terms[network] = hosts
        try:
            yield
        finally:
            del self._terms[network]

    async def acquire(self, bwrap: str, room: RoomKey) -> tuple[NetworkNamespace, Callable[[], None]]:
        """The namespace of a room, created for its first user, and the function that gives it back."""
        async with self._creating:
            found = self._networks.get(room)
            if found is None:
                rules = self._rules or EgressRules(lambda _: HostTerms(), _resolve_nothing)
                found = _RoomNetwork(await NetworkNamespace.create(bwrap), EgressProxy(room, rules))
                self._networks[room] = found
            found.users += 1
        return found.namespace, lambda: self._release(room, found)

    @contextlib.asynccontextmanager
    async def open_proxy(
        self, room: RoomKey, ask: AskToConnect | None, program: RunningProgram
    ) -> AsyncIterator[Mapping[str, str]]:
        """The variables with which a program of the room uses its proxy, until the context ends.

        `ask` asks about hosts that the recipe does not list.
        """
        found = self._networks.get(room)
        if self._rules is None or found is None:
            yield {}
            return
        await found.proxy.listen(found.namespace.proxy)
        access = ProxyAccess(ask or _ask_nobody, program)
        found.proxy.admit(access)
        try:
            more = _WHERE_ASKED if self._rules.find_terms(room).asks else {}
            yield {**_list_proxy_variables(access), **self._trust, **more}
        finally:
            await found.proxy.dismiss(access)

    async def connect(self, room: RoomKey, port: int) -> socket.socket:
        """Connect to a port of the room's loopback. Raises OSError when no program listens there."""
        found = self._networks.get(room)
        if found is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        try:
            try:
                return await connect_in_room(await found.namespace.open_socket(socket.AF_INET), port)
            except ConnectionRefusedError:
                return await connect_in_room(await found.namespace.open_socket(socket.AF_INET6), port)
        except WorkerGone as error:
            raise OSError(errno.ENETDOWN, str(error)) from error

    def list_refused(self, room: RoomKey, since: int) -> list[str]:
        """The hosts that the room's proxy refused since this time in nanoseconds."""
        found = self._networks.get(room)
        return found.proxy.list_refused(since) if found is not None else []

    def close(self) -> None:
        for found in self._networks.values():
            found.close()
        self._networks.clear()

    def _release(self, room: RoomKey, found: _RoomNetwork) -> None:
        found.users -= 1
        if not found.users and self._networks.get(room) is found:
            del self._networks[room]
            self._reached_loopback |= found.proxy.reached_loopback
            found.close()


def _list_proxy_variables(access: ProxyAccess) -> dict[str, str]:
    proxy = f"http://{access.userinfo}@127.0.0.1:{PROXY_PORT}"
    return {
        **dict.fromkeys(_FOR_PROXY, proxy),
        **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1"),
        # Node's own fetch and Yarn do not read the variables above by themselves.
        "NODE_USE_ENV_PROXY": "1",
        **dict.fromkeys(_FOR_YARN, proxy),
    }


def _is_visible(path: str) -> bool:
    """Whether programs see this file of the system."""
    places = (*view.list_system_folders(), *view.list_etc_files(network=False))
    return any(is_beneath(os.path.realpath(path), os.path.realpath(place)) for place in places)


async def _ask_nobody(host: str, port: int) -> None:
    raise NotPermitted("This program cannot ask a person.")


async def _resolve_nothing(host: str, port: int, *, named: bool = False) -> list[str]:
    return []
