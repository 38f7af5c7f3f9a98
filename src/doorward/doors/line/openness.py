"""Whether programs of the owner's account may come in without a token, at this moment."""

from __future__ import annotations

import logging

from doorward.backends.context import Services
from doorward.events import ServersLoaded

log = logging.getLogger(__name__)

_LOOSE = "programs may reach the network or run unconfined"
_NETWORKED = "a server that Doorward starts may use the network"


class Openness:
    """Whoever reaches the network reaches this door too, as a process of the very account that needs no token.

    So everybody needs one while programs may reach it or run unconfined, and while a server has it: from the moment
    that the file of servers says so until the last process of such a server is gone.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._open = services.settings.line.open
        sandbox = services.settings.sandbox
        self._loose = sandbox.network or sandbox.allow_unconfined
        self._known = services.servers.servers
        self._networked = self._known.networked
        self._said = ""

    @property
    def is_open(self) -> bool:
        return self._open and not self.why_shut

    @property
    def why_shut(self) -> str:
        """Why everybody needs a token although `line.open` is set, as a clause; empty when that is not so."""
        if not self._open:
            return ""
        if self._loose:
            return _LOOSE
        return _NETWORKED if self._servers or self._services.sandbox.keeps_with_network else ""

    @property
    def warning(self) -> str:
        """What people should be told of it; empty when the door is as the settings have it."""
        why = self.why_shut
        if not why:
            return ""
        which = f" ({', '.join(self._servers[:10])})" if why == _NETWORKED and self._servers else ""
        return f"The line door takes only clients that show a token, since {why}{which}."

    def say(self, _: ServersLoaded | None = None) -> None:
        """Write down what holds now, if that is not what was written last."""
        warning = self.warning
        if warning == self._said:
            return
        log.warning("%s", warning or "The line door takes programs of this account without a token again.")
        self._said = warning

    @property
    def _servers(self) -> tuple[str, ...]:
        """The ids of those with the network; the file is read far less often than a client asks."""
        now = self._services.servers.servers
        if now is not self._known:
            self._known, self._networked = now, now.networked
        return self._networked
