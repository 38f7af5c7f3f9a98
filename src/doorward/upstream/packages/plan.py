"""The plan of an installation: the exact packages with their hashes. Exactly what people approved is installed."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from doorward.core.command import shorten
from doorward.core.errors import BadParams, CommandFailed

RegistryType = Literal["npm", "pypi"]

_NAMES = {
    "pypi": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"),
    "npm": re.compile(r"(?:@[A-Za-z0-9~-][A-Za-z0-9._~-]{0,100}/)?[A-Za-z0-9~][A-Za-z0-9._~-]{0,150}"),
}
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,99}")


class PackageChoice(msgspec.Struct, frozen=True):
    """The package that somebody wants, not resolved yet."""

    registry_type: RegistryType
    name: str
    version: str = ""
    """The exact version; empty for the newest."""

    def check(self) -> None:
        """Raise BadParams if the name or the version could mean anything but a package of the registry."""
        if not _NAMES[self.registry_type].fullmatch(self.name):
            raise BadParams(f"{shorten(self.name)} is not the name of a package on {self.registry_type}.")
        if self.version and not _VERSION.fullmatch(self.version):
            raise BadParams(f"A version is one exact version, such as 1.2.3; given {shorten(self.version)}.")

    def __str__(self) -> str:
        return f"{self.name} {self.version}".rstrip()


class PinnedPackage(msgspec.Struct, frozen=True):
    name: str
    version: str
    hash: str
    """As the registry's tools write it: `sha256:…` for PyPI, `sha512-…` for npm."""
    has_scripts: bool = False
    """Whether it wants to run scripts when it is installed. They never run."""

    def check(self, registry_type: RegistryType) -> None:
        """Raise CommandFailed if a registry gave a name or version that could mean anything else, such as a path."""
        try:
            PackageChoice(registry_type, self.name, self.version).check()
        except BadParams as error:
            raise CommandFailed(f"The registry gave a package that is not valid: {error.message}") from error


class InstallPlan(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    registry_type: RegistryType
    registry: str
    """The address that it comes from, without a password."""
    package: PinnedPackage
    """The server itself."""
    packages: tuple[PinnedPackage, ...]
    """All packages, with the server's own."""
    files: Mapping[str, str]
    """The files from which the package manager installs exactly these packages, by name."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(msgspec.msgpack.encode(self)).hexdigest()[:32]

    def fits(self, id: str, choice: PackageChoice) -> bool:
        """Whether this is a plan for this package under this id."""
        wanted = (id, choice.registry_type, choice.name.lower())
        same = wanted == (self.id, self.registry_type, self.package.name.lower())
        return same and choice.version in ("", self.package.version)


def find_similar_name(name: str, known: Mapping[str, str]) -> str:
    """The known package whose name this one resembles without being it; empty for none."""
    if name in known:
        return ""
    return next(iter(difflib.get_close_matches(name, known, 1, 0.9)), "")
