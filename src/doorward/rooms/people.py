"""The users of each tenant and their access."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from doorward.core.classification import Access, Role
from doorward.core.clock import Clock
from doorward.core.errors import BadParams, Conflict, NotFound
from doorward.core.model import KEEPER, Kind
from doorward.rooms.accounts.revocations import Revocations
from doorward.store import users as sql
from doorward.store.ledger.record import Entry
from doorward.store.sqlite import Statement, Store

LOCAL = "local"
"""The tenant of the owner of Doorward's home folder."""
OWNER = "owner"
"""The user id of the home folder's owner."""

RESERVED = frozenset(Role)
"""Role names, which are not valid user names because a recipe's list of approvers may hold both."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,62}")


class User(msgspec.Struct, frozen=True):
    tenant: str
    id: str
    name: str
    kind: Kind
    access: Access
    active: bool = True


class People:
    """Users, in memory and written through to the store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._users: dict[tuple[str, str], User] = {}
        self._reserved: Callable[[str, str], bool] = lambda _, __: False
        self.revocations = Revocations()

    def set_reserved_check(self, reserved: Callable[[str, str], bool]) -> None:
        """Set the check for names that are taken by others than users, given tenant and id."""
        self._reserved = reserved

    async def load(self) -> None:
        rows = await sql.all_users(self._store)
        self._users = {
            (row["tenant"], row["id"]): msgspec.convert({**row, "active": bool(row["active"])}, User) for row in rows
        }

    def get(self, tenant: str, id: str) -> User | None:
        return self._users.get((tenant, id))

    def of_tenant(self, tenant: str) -> list[User]:
        return [user for user in self._users.values() if user.tenant == tenant]

    async def add(self, user: User, *also: Statement, entries: Sequence[Entry] = ()) -> None:
        self.check_new(user)
        at = self._clock.now()
        insert = sql.insert_user(user.tenant, user.id, user.name, user.kind, int(user.access), at)
        await self._store.write(insert, *also, entries=entries, then=lambda: self._put(user))

    def check_new(self, user: User) -> None:
        """Refuse a user that cannot be added."""
        for what, value in (("tenant", user.tenant), ("user", user.id)):
            if not _NAME.fullmatch(value):
                raise BadParams(
                    f"A {what} name has 1 to 63 lower-case letters, digits, dots, dashes, underscores or @; "
                    f"given {value[:80]!r}."
                )
        if user.id in RESERVED and (user.tenant, user.id) != (LOCAL, OWNER):
            raise BadParams(f"{user.id!r} is the name of a role. Choose another.")
        if user.id == KEEPER:
            raise BadParams(f"{KEEPER!r} is the name of the keeper. Choose another.")
        if (user.tenant, user.id) in self._users:
            raise Conflict(f"The user {user.id!r} already exists in this tenant.")
        if self._reserved(user.tenant, user.id):
            raise Conflict(f"{user.id!r} is the name of a persona. Choose another.")

    async def change(self, user: User, *also: Statement) -> None:
        if (user.tenant, user.id) not in self._users:
            raise NotFound(f"There is no user {user.id!r}; valid: {self._names(user.tenant)}.")
        changed = sql.change_user(user.tenant, user.id, int(user.access), user.active)

        def put() -> None:
            self._put(user)
            if not user.active:
                self.revocations.announce_user(f"the blocking of {user.id}", user.tenant, user.id)

        await self._store.write(changed, *also, then=put)

    async def remove(self, tenant: str, id: str, *also: Statement, then: Callable[[], None]) -> None:
        """Delete a user, only to undo its creation: a user who acted is deactivated. `then` runs once stored."""

        def forget() -> None:
            self._users.pop((tenant, id), None)
            then()
            self.revocations.announce_user(f"the removal of {id}", tenant, id)

        await self._store.write(sql.delete_user(tenant, id), *also, then=forget)

    def _put(self, user: User) -> None:
        self._users[user.tenant, user.id] = user

    def require(self, tenant: str, id: str) -> User:
        user = self.get(tenant, id)
        if user is None:
            raise NotFound(f"There is no user {id[:80]!r}; valid: {self._names(tenant)}.")
        return user

    def _names(self, tenant: str) -> str:
        return ", ".join(sorted(user.id for user in self.of_tenant(tenant))) or "none"
