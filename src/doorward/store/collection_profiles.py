"""Profiles of collections (stand-in until the real module is merged)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from doorward.store.collections import FieldKind


class FieldProfile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: FieldKind
    dates: bool = False
    values: tuple[Any, ...] = ()
    complete: bool = False
    missing: int = 0
    least: Any = None
    most: Any = None
    links: str = ""
    links_by: str = ""


class CollectionProfile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: Literal["system", "managed", "attached"]
    key: str
    label: str = ""
    count: int
    fields: tuple[FieldProfile, ...]
