"""The classification of commands and callers: tiers, effects, safety levels, access levels, roles."""

from __future__ import annotations

import enum


class Tier(enum.StrEnum):
    """The kind of power a command has. Recipes grant whole tiers."""

    INFORMATION = "information"
    VISUAL = "visual"
    CODE = "code"
    APPLICATION = "application"
    SYSTEM = "system"


class Effects(enum.Flag):
    """What a command may do."""

    READ = enum.auto()
    WRITE = enum.auto()
    DESTROY = enum.auto()
    OPEN_WORLD = enum.auto()

    @property
    def names(self) -> list[str]:
        return [str(one.name).lower().replace("_", "-") for one in self]


class Safety(enum.StrEnum):
    SAFE = "safe"
    CAUTION = "caution"
    DANGEROUS = "dangerous"


class Access(enum.IntEnum):
    """The access level of a person or token. Each level includes the lower ones."""

    READ = 1
    EDIT = 2
    FULL = 3
    ROOT = 4

    @property
    def label(self) -> str:
        return self.name.lower()


class Role(enum.StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
