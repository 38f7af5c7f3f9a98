"""Who may do what with one record: the lists it carries, and the caller's level where it carries none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from doorward.errors import BadParams, NotPermitted
from doorward.facts import Access
from doorward.model import KEEPER
from doorward.store.scope import Scope

LISTS = ("access_read", "access_edit", "access_full", "access_deny")
NONE = 0

_GRANTS = (("access_full", Access.FULL), ("access_edit", Access.EDIT), ("access_read", Access.READ))


def rights(lists: Mapping[str, Any], identities: Collection[str], level: int) -> int:
    """The caller's access level for a record with these lists; 0 when the record does not exist for it.

    What is no list of texts names nobody: as a grant it lets nobody in, as a denial it keeps everybody out.
    """
    denied = _named(lists.get("access_deny"))
    if denied is None or not denied.isdisjoint(identities):
        return NONE
    given = {name: value for name, _ in _GRANTS if (value := lists.get(name)) not in (None, [])}
    if not given or level >= Access.ROOT:
        return level
    for name, grants in _GRANTS:
        named = _named(given.get(name))
        if named is not None and not named.isdisjoint(identities):
            return grants
    return NONE


def check_lists(data: Mapping[str, Any]) -> None:
    """Refuse access lists that are not lists of user ids, or that name the keeper, which is no user."""
    for name in LISTS:
        value = data.get(name)
        if isinstance(value, list) and KEEPER in value:
            raise BadParams(
                f"{name} is a list of user ids, and {KEEPER!r} is none: it may what the person may whom it acts for. "
                "Name that person."
            )
        if value is not None and (not isinstance(value, list) or not all(isinstance(one, str) for one in value)):
            raise BadParams(f"{name} is a list of user ids such as ['anna']; given {type(value).__name__}.")


def require(scope: Scope, lists: Mapping[str, Any], needed: Access, what: str) -> None:
    """Refuse unless the caller has this level for a record that it can read."""
    held = rights(lists, scope.identities, scope.level)
    if held < needed:
        has = Access(held).label if held else "none"
        raise NotPermitted(f"Changing {what} this way needs {needed.label} access to it; yours is {has}.")


def require_restoring(scope: Scope, now: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None, what: str) -> None:
    """Refuse to take back what the caller could not change: the record as it is, and as it would be again."""
    lists = [one for one in (now, wanted) if one is not None]
    needed = Access.FULL if len(lists) == 2 and changes_lists(*lists) else Access.EDIT
    for one in lists:
        require(scope, one, needed, what)


def changes_lists(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return any((before.get(name) or []) != (after.get(name) or []) for name in LISTS)


def _named(value: Any) -> frozenset[str] | None:
    if value is None:
        return frozenset()
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return frozenset(value)
    return None
