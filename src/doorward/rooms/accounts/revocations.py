"""Tells when access ends, so that the calls that run with it end too."""

from __future__ import annotations

from collections.abc import Callable

from doorward.core.model import Caller, Credential

Matches = Callable[[Credential, Caller], bool]
"""Whether a call with this credential and caller runs with access that has ended."""
Listener = Callable[[str, Matches], None]


class Revocations:
    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Add a listener. It receives the reason, as in "cancelled by REASON", and which calls are affected."""
        self._listeners.append(listener)

    def announce(self, reason: str, matches: Matches) -> None:
        """Announce that access has ended. Access that merely expires lets running calls finish."""
        for listener in self._listeners:
            listener(reason, matches)

    def announce_user(self, reason: str, tenant: str, user: str) -> None:
        """Announce the end of all access of a user, and of those who act for them."""
        self.announce(
            reason,
            lambda _, caller: (
                caller.tenant == tenant and user in (caller.on_behalf_of, caller.id if caller.kind == "human" else "")
            ),
        )
