"""A budget for the bytes of unanswered requests that all doors hold in memory.

A sender counts as a stranger until a door has authenticated it. All strangers share one small budget, in which the
oldest gives way to the newest: a caller with a valid token is a stranger only for a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from doorward.core.errors import Overloaded, TooFast

RETRY_SECONDS = 5.0
_SMALL = 65_536
"""An account within this size may use the whole budget; a larger one leaves an eighth of it to small requests."""


class ByteBudget:
    def __init__(self, total: int, each: int, strangers: int) -> None:
        self.total = total
        self.each = each
        self.strangers = strangers
        self.held = 0
        """Bytes held now, in all."""
        self.peak = 0
        """Most bytes held at any time."""
        self._strangers_held = 0
        self._strangers: dict[ByteAccount, None] = {}
        """Accounts of strangers, oldest first."""
        self._held_by: dict[Hashable, int] = {}

    def open_account(self, give_way: Callable[[Overloaded], None]) -> ByteAccount:
        """An account for one request or connection. `give_way` is called when its bytes must be dropped."""
        return ByteAccount(self, give_way)

    def _count(self, account: ByteAccount, size: int) -> None:
        account.held += size
        self.held += size
        self.peak = max(self.peak, self.held)
        if account.caller is None:
            self._strangers_held += size
            if account.held:
                self._strangers[account] = None
            else:
                self._strangers.pop(account, None)
            return
        left = self._held_by.get(account.caller, 0) + size
        if left:
            self._held_by[account.caller] = left
        else:
            self._held_by.pop(account.caller, None)

    def _check(self, account: ByteAccount, size: int) -> None:
        """Refuse `size` further bytes of an account unless they fit, after strangers have given way."""
        if account.caller is not None and self._held_by.get(account.caller, 0) + size > self.each:
            raise TooFast(
                f"The requests that you have sent and that are not answered yet may have at most {self.each} bytes "
                "(the setting server.inflight_bytes_each). Wait for the answer to one of them.",
                retry_after=RETRY_SECONDS,
            )
        most = self.total if account.held + size <= _SMALL else self.total - self.total // 8
        while self.held + size > most or (account.caller is None and self._strangers_held + size > self.strangers):
            oldest = next(iter(self._strangers), None)
            if oldest is None or oldest is account:
                raise self._overloaded()
            oldest.release()
            oldest.give_way(self._overloaded())

    def _overloaded(self) -> Overloaded:
        return Overloaded(
            f"The unanswered requests of all clients may have at most {self.total} bytes (the setting "
            f"server.inflight_bytes), and those without valid credentials {self.strangers} bytes (the setting "
            "server.inflight_bytes_strangers). Try again in a few seconds.",
            retry_after=RETRY_SECONDS,
        )


class ByteAccount:
    """The bytes that one request, or one connection of the line door, holds."""

    __slots__ = ("_budget", "caller", "give_way", "held")

    def __init__(self, budget: ByteBudget, give_way: Callable[[Overloaded], None]) -> None:
        self._budget = budget
        self.give_way = give_way
        self.caller: Hashable | None = None
        """The authenticated caller; None for a stranger."""
        self.held = 0

    def add(self, size: int) -> None:
        """Count further bytes. Raises TooFast or Overloaded, and counts nothing, when they do not fit."""
        if size:
            self._budget._check(self, size)
            self._budget._count(self, size)

    def authenticate(self, caller: Hashable) -> None:
        """Count the bytes for this caller from now on. Raises TooFast, and drops them, when the caller has too many."""
        if caller == self.caller:
            return
        held = self.held
        self.release()
        self.caller = caller
        self.add(held)

    def hold(self, size: int) -> None:
        """Set the number of bytes held."""
        if size > self.held:
            self.add(size - self.held)
        elif size < self.held:
            self._budget._count(self, size - self.held)

    def release(self) -> None:
        """Give all bytes back."""
        if self.held:
            self._budget._count(self, -self.held)
