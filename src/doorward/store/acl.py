"""Record access: the access lists in a record, or the caller's own level if it has none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from doorward.core.classification import Access
from doorward.core.errors import BadParams, NotPermitted
from doorward.core.model import KEEPER
from doorward.store.scope import Scope

LISTS = ("access_read", "access_edit", "access_full", "access_deny")
NONE = 0

_GRANTS = (("access_full", Access.FULL), ("access_edit", Access.EDIT), ("access_read", Access.READ))


def rights(lists: Mapping[str, Any], identities: Collection[str], level: int) -> int:
    """The caller's access level for a record with these lists; 0 if the caller must not see the record.

    A malformed list fails closed: as a grant it admits nobody, as a denial it denies everybody.
    """
    denied = _names_caller(lists.get("access_deny"))
    if denied is None or not denied.isdisjoint(identities):
        return NONE
    given = {name: value for name, _ in _GRANTS if (value := lists.get(name)) not in (None, [])}
    if not given or level >= Access.ROOT:
        return level
    for name, grants in _GRANTS:
        named = _names_caller(given.get(name))
        if named is not None and not named.isdisjoint(identities):
            return grants
    return NONE


def check_lists(data: Mapping[str, Any]) -> None:
    """Refuse access lists that are not lists of user ids, or that name the keeper, which is not a user."""
    for name in LISTS:
        value = data.get(name)
        if isinstance(value, list) and KEEPER in value:
            raise BadParams(
                f"{name} is a list of user ids, and {KEEPER!r} is not a user. "
                "It has the access of the person it acts for; name that person."
            )
        if value is not None and (not isinstance(value, list) or not all(isinstance(one, str) for one in value)):
            raise BadParams(f"{name} must be a list of user ids such as ['anna']; given {type(value).__name__}.")


def require(scope: Scope, lists: Mapping[str, Any], needed: Access, what: str) -> None:
    """Refuse unless the caller has this access level for the record. The caller can already read it."""
    held = rights(lists, scope.identities, scope.level)
    if held < needed:
        has = Access(held).label if held else "none"
        raise NotPermitted(f"This change to {what} needs {needed.label} access; yours is {has}.")


def require_restoring(scope: Scope, now: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None, what: str) -> None:
    """Refuse an undo unless the caller may change both the current record and the restored one."""
    lists = [one for one in (now, wanted) if one is not None]
    needed = Access.FULL if len(lists) == 2 and changes_lists(*lists) else Access.EDIT
    for one in lists:
        require(scope, one, needed, what)


def changes_lists(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return any((before.get(name) or []) != (after.get(name) or []) for name in LISTS)


def _names_caller(value: Any) -> frozenset[str] | None:
    if value is None:
        return frozenset()
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return frozenset(value)
    return None
