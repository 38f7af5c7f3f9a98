"""The facts a command is declared with and a caller is judged by."""

from __future__ import annotations

import enum


class Tier(enum.StrEnum):
    """What kind of power a command has; recipes grant whole tiers."""

    INFORMATION = "information"
    VISUAL = "visual"
    CODE = "code"
    APPLICATION = "application"
    SYSTEM = "system"


class Effects(enum.Flag):
    """What a command may do to the world."""

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
    """How far a person's or token's rights reach; each level includes those below."""

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
