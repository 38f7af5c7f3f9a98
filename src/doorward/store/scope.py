"""The scope of a caller: the values that restrict every statement to the visible data."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from doorward.core.classification import Access
from doorward.core.errors import NotPermitted
from doorward.core.model import Caller


class Scope(msgspec.Struct, frozen=True):
    """The properties of a caller that decide which rows it sees."""

    tenant: str
    identities: frozenset[str]
    level: Access
    rooms: tuple[str, ...] | None = None

    @classmethod
    def of(cls, caller: Caller) -> Scope:
        if not caller.tenant:
            raise NotPermitted("You belong to no tenant, and data belongs to tenants; sign in first.")
        return cls(caller.tenant, caller.identities, caller.access, caller.rooms)

    def values(self) -> dict[str, Any]:
        """The values to bind, under the parameter names in `BOUND`."""
        return {
            "tenant": self.tenant,
            "identities": _encode(sorted(self.identities)),
            "level": int(self.level),
            "rooms": None if self.rooms is None else _encode(self.rooms),
        }


class ScopeSql(NamedTuple):
    """The SQL expressions for the schema of the tables and for the values of a scope."""

    schema: str
    tenant: str
    identities: str
    level: str
    rooms: str


BOUND = ScopeSql("main", ":tenant", ":identities", ":level", ":rooms")


def quoted(name: str) -> str:
    """Quote an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string literal, for view definitions, which cannot contain bound parameters."""
    return "'" + text.replace("'", "''") + "'"


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()
