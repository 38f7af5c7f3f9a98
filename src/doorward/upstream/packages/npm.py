"""Servers from npm: resolved to a lock file and installed by `npm ci`, with scripts switched off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from doorward.core.errors import CommandFailed, Conflict, SandboxUnavailable
from doorward.core.host_rules import find_rule
from doorward.upstream.packages.package_manager import PackageError, PackageManager, read_json
from doorward.upstream.packages.plan import InstallPlan, PackageChoice, PinnedPackage

_PACKAGE, _LOCK, _MODULES = "package.json", "package-lock.json", "node_modules"
_MISSING = re.compile(r"\bE404\b|\bETARGET\b|\bENOVERSIONS\b")
_OTHER_HASH = re.compile(r"\bEINTEGRITY\b")
_QUIET = (
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--loglevel=error",
    "--fetch-retries=1",
)
_PORTS = {"http": 80, "https": 443}


async def make_plan(manager: PackageManager, folder: Path, id: str, choice: PackageChoice) -> InstallPlan:
    """Resolve a package and everything it needs to a lock file."""
    (folder / _PACKAGE).write_text('{"name": "doorward-server", "version": "1.0.0", "private": true}')
    wanted = f"{choice.name}@{choice.version or 'latest'}"
    await _run_npm(
        manager,
        folder,
        choice,
        ("install", "--package-lock-only", "--save-exact", "--omit-lockfile-registry-resolved=false", wanted),
    )
    lock = read_json(folder / _LOCK)
    pinned = {path: _pin(manager, path, one) for path, one in lock["packages"].items() if path}
    return InstallPlan(
        id=id,
        registry_type="npm",
        registry=manager.addresses.shown("npm"),
        package=pinned[f"{_MODULES}/{choice.name}"],
        packages=tuple(pinned.values()),
        files={name: (folder / name).read_text("utf-8") for name in (_PACKAGE, _LOCK)},
    )


async def install(manager: PackageManager, folder: Path, plan: InstallPlan) -> None:
    """Install exactly the packages of the plan into the folder."""
    choice = PackageChoice("npm", plan.package.name, plan.package.version)
    try:
        await _run_npm(manager, folder, choice, ("ci", "--omit=dev"))
    except PackageError as error:
        if not _OTHER_HASH.search(error.said):
            raise
        raise Conflict(
            f"The registry now has other files for {choice} or a package it needs than the ones that were promised:"
            " a hash differs. Nothing was installed.",
            hint="Make a new plan, and look at the package before you approve it.",
        ) from error


async def find_program(manager: PackageManager, staged: Path, folder: Path, plan: InstallPlan) -> dict[str, Any]:
    """The command of the installed server for its entry. `staged` is where it is now, `folder` where it will be."""
    script = _find_script(staged, plan.package.name)
    node = (await manager.run(staged, ("node", "--print", "process.execPath"))).strip()
    return {"command": node, "args": [str(folder / script)]}


def _find_script(staged: Path, name: str) -> Path:
    """The program that has the package's name, or else its only one, as a path in the folder."""
    about = read_json(staged / _MODULES / name / _PACKAGE)
    programs = about.get("bin", {})
    if isinstance(programs, str):
        programs = {name: programs}
    short = name.rpartition("/")[2]
    found = programs.get(short) or programs.get(name) or (next(iter(programs.values())) if len(programs) == 1 else "")
    inside = (staged / _MODULES / name / found).resolve()
    if not found or not inside.is_relative_to(staged.resolve()) or not inside.is_file():
        has = f"several programs: {', '.join(programs)}" if len(programs) > 1 else "no program"
        raise CommandFailed(f"The package {name} has {has}, so it cannot be started as a server.")
    return inside.relative_to(staged.resolve())


async def _run_npm(manager: PackageManager, folder: Path, choice: PackageChoice, words: tuple[str, ...]) -> None:
    command, *rest = words
    argv = ("npm", command, *_QUIET, f"--registry={manager.addresses.npm_registry}", *rest)
    try:
        await manager.run(folder, argv)
    except PackageError as error:
        raise error.explain(str(choice), manager.addresses.shown("npm"), _MISSING) from error
    except CommandFailed as error:
        if "is not installed" not in error.message:
            raise
        raise SandboxUnavailable(
            "npm is not installed, or not visible inside the sandbox, so packages of npm cannot be installed.",
            hint="Install Node.js with npm, for example: apt install nodejs npm",
        ) from error


def _pin(manager: PackageManager, path: str, locked: dict[str, Any]) -> PinnedPackage:
    """Pin one package of the lock file. Only files of the allowed hosts with a hash can be pinned."""
    name = locked.get("name") or path.rpartition(f"{_MODULES}/")[2]
    resolved, integrity = locked.get("resolved", ""), locked.get("integrity", "")
    parts = urlsplit(resolved)
    if parts.scheme not in _PORTS or not integrity.startswith("sha512-"):
        raise CommandFailed(
            f"The package {name} does not come from the registry with a sha512 hash, so it cannot be pinned."
        )
    if find_rule(manager.addresses.hosts.hosts, parts.hostname or "", parts.port or _PORTS[parts.scheme]) is None:
        raise CommandFailed(
            f"The package {name} comes from {parts.hostname}; allowed hosts: {manager.addresses.hosts}.",
            hint="A person can add the host to upstream.packages.hosts.",
        )
    pinned = PinnedPackage(name, str(locked.get("version", "")), integrity, bool(locked.get("hasInstallScript")))
    pinned.check("npm")
    return pinned
