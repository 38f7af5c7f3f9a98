"""Finds a program on PATH, together with its installation and its interpreter."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import msgspec

from doorward.core.errors import CommandFailed
from doorward.sandbox import view
from doorward.sandbox.grants import Grants, is_beneath

_BINARIES = frozenset(("bin", "sbin", "shims"))
"""Folders of executables; the installation is the parent folder."""
_STORES = ("/nix/store", "/gnu/store")
"""Package stores that are readable for everybody and whose packages depend on each other."""
_PACKAGES = "/node_modules/"
"""Node packages depend on each other, so the whole folder is granted."""
_USER_PREFIX = ".local"
"""A prefix in a home folder that holds programs and, beside them, the data of other programs."""
_USER_PREFIX_FOLDERS = ("bin", "lib", "lib64", "libexec")
_MOST_LINKS = 20
_MOST_INTERPRETERS = 4
_FIRST_LINES = 1_024
_AS_SHELL = re.compile(rb"^'''exec' (?:\"([^\"]+)\"|(\S+)) ")
"""The second line of a script whose interpreter path is too long for a #! line."""


class ProgramLocation(msgspec.Struct, frozen=True):
    program: str
    """Its absolute path. Symlinks are kept, because some programs look at the path they were started by."""
    path: str
    """The PATH for the program, which includes its own folder."""


def find_program(name: str, wanted_path: str, grants: Grants) -> ProgramLocation:
    """Look a program up on `wanted_path`, or on Doorward's own PATH, and grant read access to its code."""
    outside = wanted_path or os.environ.get("PATH", os.defpath)
    program = _which(name, outside)
    folders: list[str] = []
    for _ in range(_MOST_INTERPRETERS):
        folders.append(os.path.dirname(program))
        _grant_code(program, grants)
        interpreter = _find_interpreter(program, os.pathsep.join((*folders, outside)))
        if not interpreter:
            break
        program = interpreter
    seen = dict.fromkeys((*folders, *(wanted_path or view.PATH).split(os.pathsep)))
    return ProgramLocation(_which(name, outside), os.pathsep.join(folder for folder in seen if folder))


def _which(name: str, path: str) -> str:
    if not name:
        raise CommandFailed("The command is empty; valid: a program name or an absolute path.")
    if "/" in name and not name.startswith("/"):
        raise CommandFailed(f"The command {name!r} is a relative path; valid: a program name or an absolute path.")
    # A relative PATH entry would depend on the folder that Doorward was started in.
    absolute = [folder for folder in path.split(os.pathsep) if folder.startswith("/")]
    found = shutil.which(name, path=os.pathsep.join(absolute))
    if found is not None:
        return os.path.normpath(found)
    if name.startswith("/"):
        why = "is not executable" if os.path.exists(name) else "does not exist"
        raise CommandFailed(f"The program {name} {why}.")
    raise CommandFailed(
        f"The program {name!r} was not found; looked in {', '.join(absolute) or 'no folder'}.",
        hint="Install it, or give its absolute path as the command.",
    )


def _grant_code(program: str, grants: Grants) -> None:
    """Grant read access to a program and its installation, under every name that leads to it."""
    for hop in _symlink_chain(program):
        if _is_system_path(hop):
            continue
        for folders in _grant_choices(hop):
            if all(_is_system_path(folder) or grants.add_code(folder) for folder in folders):
                break
        else:
            raise CommandFailed(f"The program {hop} cannot be run: it is not visible inside the sandbox.")


def _grant_choices(program: str) -> list[list[str]]:
    """List the sets of folders that could be granted for one program, the best first."""
    folder = os.path.dirname(program)
    above = os.path.dirname(folder)
    for store in _STORES:
        if is_beneath(program, store):
            return [[store]]
    choices = [[folder], [program]]
    before, packages, _ = program.partition(_PACKAGES)
    if packages:
        return [[before + packages.rstrip("/")], *choices]
    if is_beneath(_home_folder(), os.path.realpath(folder)):
        return [[program]]
    if os.path.basename(folder) not in _BINARIES or is_beneath(_home_folder(), os.path.realpath(above)):
        return choices
    if os.path.basename(above) == _USER_PREFIX:
        parts = [f"{above}/{name}" for name in _USER_PREFIX_FOLDERS]
        return [[part for part in parts if os.path.isdir(part)], *choices]
    return [[above], *choices]


def _symlink_chain(program: str) -> list[str]:
    """List the program and each target of its symlinks, up to its real path."""
    hops = [program]
    while len(hops) < _MOST_LINKS and os.path.islink(hops[-1]):
        hops.append(os.path.normpath(os.path.join(os.path.dirname(hops[-1]), os.readlink(hops[-1]))))
    real = os.path.realpath(program)
    return hops if real in hops else [*hops, real]


def _find_interpreter(program: str, path: str) -> str:
    """Find the interpreter of a script; empty when the program is not a script or has no interpreter here."""
    try:
        with open(program, "rb") as file:
            first, _, rest = file.read(_FIRST_LINES).partition(b"\n")
    except OSError:
        return ""
    if not first.startswith(b"#!"):
        return ""
    words = first[2:].decode(errors="replace").split()
    if (named := _AS_SHELL.match(rest)) is not None:
        words = [(named[1] or named[2]).decode(errors="replace")]
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return (shutil.which(words[0], path=path) or "") if words else ""


def _is_system_path(path: str) -> bool:
    places = (
        *view.list_system_folders(),
        *(link for link, _ in view.list_system_links()),
        *view.list_etc_files(network=False),
    )
    return any(is_beneath(path, place) for place in places)


def _home_folder() -> str:
    """The home folder of the account that runs Doorward."""
    return os.path.realpath(Path.home())
