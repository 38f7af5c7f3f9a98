"""Decides whether programs of the owner's account may connect without a token."""

from __future__ import annotations

import logging

from doorward.commands.context import Services
from doorward.core.events import ServersLoaded

log = logging.getLogger(__name__)

_LOOSE = "programs may reach the network or run unconfined"
_NETWORKED = "an MCP server that Doorward starts may use the network"
_REACHED = "a program of a room reached a port of this machine, which the room's recipe lists"


class TokenlessAccess:
    """Access without a token, as the settings and the running programs allow it.

    A sandboxed program with network access could connect here as a process of the owner's account. So a token is
    required while programs may use the network or run unconfined, and while an MCP server may use the network: from
    the moment that the servers file says so until the last process of that server has ended. The proxy of a room
    connects as this process, so a token is also required once it reached a port of this machine.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._open = services.settings.line.open
        sandbox = services.settings.sandbox
        self._loose = sandbox.network or sandbox.allow_unconfined
        self._known = services.servers.servers
        self._networked = self._known.networked_ids
        self._logged = ""

    @property
    def is_allowed(self) -> bool:
        return self._open and not self.refusal_reason

    @property
    def refusal_reason(self) -> str:
        """Why a token is required although `line.open` is set, as a clause; else empty."""
        if not self._open:
            return ""
        if self._loose:
            return _LOOSE
        sandbox = self._services.sandbox
        if self._servers or sandbox.has_networked_programs:
            return _NETWORKED
        return _REACHED if sandbox.reached_loopback else ""

    @property
    def warning(self) -> str:
        """A warning for people; empty when the door follows its settings."""
        why = self.refusal_reason
        if not why:
            return ""
        which = f" ({', '.join(self._servers[:10])})" if why == _NETWORKED and self._servers else ""
        return f"The line door requires a token because {why}{which}."

    def log_change(self, _: ServersLoaded | None = None) -> None:
        """Log the current state if it differs from the one logged last."""
        warning = self.warning
        if warning == self._logged:
            return
        log.warning("%s", warning or "Programs of this account may use the line door without a token again.")
        self._logged = warning

    @property
    def _servers(self) -> tuple[str, ...]:
        """The ids of servers with network access, cached until the servers file is read again."""
        now = self._services.servers.servers
        if now is not self._known:
            self._known, self._networked = now, now.networked_ids
        return self._networked
