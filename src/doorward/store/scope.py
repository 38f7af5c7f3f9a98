"""What a caller may see of the data, as values that every statement is bound to."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from doorward.errors import NotPermitted
from doorward.facts import Access
from doorward.model import Caller


class Scope(msgspec.Struct, frozen=True):
    """The part of a caller that decides which rows exist for it."""

    tenant: str
    identities: frozenset[str]
    level: Access
    rooms: tuple[str, ...] | None = None

    @classmethod
    def of(cls, caller: Caller) -> Scope:
        if not caller.tenant:
            raise NotPermitted("Data belongs to tenants, and you belong to none; sign in first.")
        return cls(caller.tenant, caller.identities, caller.access, caller.rooms)

    def values(self) -> dict[str, Any]:
        """The values under the names that `BOUND` writes into SQL."""
        return {
            "tenant": self.tenant,
            "identities": _encode(sorted(self.identities)),
            "level": int(self.level),
            "rooms": None if self.rooms is None else _encode(self.rooms),
        }


class Names(NamedTuple):
    """How a statement writes the schema of its tables and the values of a scope."""

    schema: str
    tenant: str
    identities: str
    level: str
    rooms: str


BOUND = Names("main", ":tenant", ":identities", ":level", ":rooms")


def quoted(name: str) -> str:
    """An identifier in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL, for the definitions of views, which cannot hold bound parameters."""
    return "'" + text.replace("'", "''") + "'"


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()
