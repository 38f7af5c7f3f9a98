"""Interpreters, compilers and package caches of the account, outside the workspace, that build programs may read.

Only the listed folders are shown. The folders around them, where tools keep credentials, stay invisible.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from doorward.config.home import Home
from doorward.sandbox import view
from doorward.sandbox.grants import NEVER_GRANTED, is_beneath


class Toolchains(msgspec.Struct, frozen=True):
    folders: tuple[str, ...] = ()
    """Files and folders that exist and may be read."""
    path: str = view.PATH
    """The PATH of build programs."""
    environment: dict[str, str] = {}
    """Variables that tell tools where their files are, because HOME is a temporary folder."""
    caches: tuple[str, ...] = ()
    """Those of the folders into which tools write what they download. In a draft they are copy-on-write."""


class _Kind(msgspec.Struct, frozen=True):
    """The places of one version manager or language."""

    root: str
    """Its folder in the home folder of the account."""
    variable: str = ""
    """The environment variable that names another folder."""
    shown: tuple[str, ...] = ()
    """The parts that are shown; empty for the root itself."""
    programs: tuple[str, ...] = ()
    """Folders of programs; `*` stands for the newest version, or for each tool."""
    sets: tuple[tuple[str, str], ...] = ()
    """Variables to set, with a part of the root; only if that part exists."""
    sets_offline: tuple[tuple[str, str], ...] = ()
    """The same for programs without network. With it, tools need a cache they can write."""
    caches: tuple[str, ...] = ()
    """The parts into which tools write what they download."""


_KINDS = (
    _Kind(".pyenv", "PYENV_ROOT", ("versions",), ("versions/*/bin",)),
    _Kind(".local/share/uv/python", "UV_PYTHON_INSTALL_DIR", (), ("*/bin",), (("UV_PYTHON_INSTALL_DIR", ""),)),
    _Kind(".cache/uv", "UV_CACHE_DIR", ("archive-v0",)),  # beside it are clones, which may name credentials
    _Kind(".nvm", "NVM_DIR", ("versions",), ("versions/node/*/bin",)),
    _Kind(".local/share/fnm", "FNM_DIR", ("node-versions",), ("node-versions/*/installation/bin",)),
    _Kind(".volta", "VOLTA_HOME", ("tools/image",), ("tools/image/node/*/bin",)),
    _Kind(".asdf", "ASDF_DATA_DIR", ("installs",), ("installs/*/*/bin",)),
    _Kind(".local/share/mise", "MISE_DATA_DIR", ("installs",), ("installs/*/*/bin",)),
    _Kind(
        ".cargo",
        "CARGO_HOME",
        ("bin", "registry"),
        ("bin",),
        sets_offline=(("CARGO_HOME", "registry/.."),),
        caches=("registry",),
    ),
    _Kind(
        ".rustup",
        "RUSTUP_HOME",
        ("toolchains", "settings.toml", "update-hashes", "tmp"),
        sets=(("RUSTUP_HOME", "toolchains/.."),),
    ),
    _Kind("go", "GOPATH", ("bin", "pkg/mod"), ("bin",), sets_offline=(("GOMODCACHE", "pkg/mod"),), caches=("pkg/mod",)),
    _Kind(".local/share/pnpm", "PNPM_HOME", ("store", "global"), ()),
    _Kind(".bun", "BUN_INSTALL", ("bin",), ("bin",)),
    _Kind(".deno", "DENO_INSTALL", ("bin",), ("bin",)),
    _Kind(".rbenv", "RBENV_ROOT", ("versions",), ("versions/*/bin",)),
    _Kind(".sdkman", "SDKMAN_DIR", ("candidates",), ("candidates/*/*/bin",)),
)
_SINGLE = (".local/bin/uv", ".local/bin/uvx", ".local/bin/mise")
"""Programs that are shown alone: the folder around them has others, of which nothing is known."""
_MACHINE = ("/usr/local/go/bin", "/usr/lib/go/bin")
"""Folders of programs in /usr that are not on the usual PATH."""
WITHOUT_UPDATE_CHECKS = {
    "NO_UPDATE_NOTIFIER": "1",
    "npm_config_update_notifier": "false",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
"""Variables that keep tools from asking the network for newer versions of themselves."""
_HIDDEN = (*NEVER_GRANTED, "/tmp", view.LAYERS, view.WORKSPACE)
_NUMBER = re.compile(r"\d+")


def find_toolchains(doorward_home: Path, workspace: str = "", *, network: bool) -> Toolchains:
    """Find the toolchains of the account that runs Doorward. Places that could show anything else are left out."""
    home = Path(os.path.expanduser("~"))  # stays relative for an account without a home folder
    folders: list[str] = []
    programs: list[str] = []
    environment = dict(WITHOUT_UPDATE_CHECKS)
    caches: list[str] = []
    for kind in _KINDS:
        root = os.environ.get(kind.variable, "") if kind.variable else ""
        root = os.path.normpath(root) if root.startswith("/") else str(home / kind.root)
        shown = [os.path.join(root, part) if part else root for part in kind.shown or ("",)]
        usable = [place for place in shown if _is_usable(place, home, doorward_home, workspace)]
        if not usable:
            continue
        folders += usable
        caches += [place for part in kind.caches if (place := os.path.join(root, part)) in usable]
        programs += [found for pattern in kind.programs for found in _find_programs(root, pattern.split("/"))]
        for name, part in (*kind.sets, *(() if network else kind.sets_offline)):
            if os.path.isdir(os.path.join(root, part)):
                environment[name] = os.path.normpath(os.path.join(root, part))
    folders += [place for name in _SINGLE if _is_usable(place := str(home / name), home, doorward_home, workspace)]
    programs += [place for place in _MACHINE if os.path.isdir(place)]
    if any(os.path.dirname(place) == str(home / ".local/bin") for place in folders):
        programs.append(str(home / ".local/bin"))
    return Toolchains(tuple(dict.fromkeys(folders)), _order_path(programs, folders), environment, tuple(caches))


def _is_usable(place: str, home: Path, doorward_home: Path, workspace: str) -> bool:
    """Whether a place exists, and shows neither the home folder, Doorward's, the workspace nor the sandbox's own."""
    real = os.path.realpath(place)
    if not place.startswith("/") or not os.path.exists(real) or Home(doorward_home).describe_overlap(Path(real)):
        return False
    if any(is_beneath(path, hidden) for path in (place, real) for hidden in _HIDDEN):
        return False
    theirs = (workspace, os.path.realpath(workspace)) if workspace else ()
    if any(is_beneath(path, folder) for path in (place, real) for folder in theirs):
        return False  # a program could have put a symlink there
    return not is_beneath(os.path.realpath(home), real)


def _find_programs(folder: str, pattern: list[str]) -> Iterator[str]:
    """Folders of programs. Of several versions only the newest counts, so that one PATH does not mix them."""
    if not pattern:
        if os.path.isdir(folder):
            yield folder
        return
    first, *rest = pattern
    if "*" not in first:
        yield from _find_programs(os.path.join(folder, first), rest)
        return
    try:
        names = [name for name in os.listdir(folder) if name.startswith(first.rstrip("*"))]
    except OSError:
        return
    each_tool = "*" in rest
    names.sort(key=_version_key, reverse=True)
    for name in names:
        found = list(_find_programs(os.path.join(folder, name), rest))
        yield from found
        if found and not each_tool:
            return


def _version_key(name: str) -> tuple[list[int], str]:
    return [int(number) for number in _NUMBER.findall(name)], name


def _order_path(programs: list[str], folders: list[str]) -> str:
    """PATH: first what the person has on theirs, in their order, then the system, then everything else."""
    theirs = [
        folder
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        if folder in programs or any(is_beneath(folder, shown) and os.path.isdir(folder) for shown in folders)
    ]
    return os.pathsep.join(dict.fromkeys((*theirs, *view.PATH.split(os.pathsep), *programs)))
