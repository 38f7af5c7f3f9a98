"""Servers from PyPI: resolved and installed by pip, as wheels only, so that no code of a package runs meanwhile."""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import Any

from doorward.core.errors import CommandFailed, Conflict, SandboxUnavailable
from doorward.sandbox import view
from doorward.upstream.packages.package_manager import PackageError, PackageManager, read_json
from doorward.upstream.packages.plan import InstallPlan, PackageChoice, PinnedPackage

_REPORT, _REQUIREMENTS, _PACKAGES = "report.json", "requirements.txt", "packages"
_MISSING = re.compile(r"No matching distribution found|Could not find a version that satisfies")
_OTHER_HASH = re.compile(r"DO NOT MATCH THE HASHES")
_HASH = re.compile(r"[0-9a-f]{64}")
_URL = re.compile(r"https?://[!-~]+")
_SEPARATORS = re.compile(r"[-_.]+")
_QUIET = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--retries=2", "--timeout=30")


async def make_plan(manager: PackageManager, folder: Path, id: str, choice: PackageChoice) -> InstallPlan:
    """Resolve a package and everything it needs to wheels with their hashes."""
    wanted = f"{choice.name}=={choice.version}" if choice.version else choice.name
    options = ("--dry-run", "--ignore-installed", "--only-binary=:all:", f"--report={_REPORT}")
    await _run_pip(manager, folder, choice, (*options, f"--index-url={manager.addresses.python_index}", wanted))
    report = read_json(folder / _REPORT)
    lines, pinned = [], []
    for one in report["install"]:
        package = _pin(one)
        pinned.append(package)
        lines.append(f"{package.name} @ {one['download_info']['url']} --hash={package.hash}\n")
    own = next(one for one in pinned if _normalize(one.name) == _normalize(choice.name))
    return InstallPlan(
        id=id,
        registry_type="pypi",
        registry=manager.addresses.shown("pypi"),
        package=own,
        packages=tuple(pinned),
        files={_REQUIREMENTS: "".join(lines)},
    )


async def install(manager: PackageManager, folder: Path, plan: InstallPlan) -> None:
    """Install exactly the wheels of the plan into the folder."""
    choice = PackageChoice("pypi", plan.package.name, plan.package.version)
    options = ("--require-hashes", "--no-deps", "--only-binary=:all:", f"--target={_PACKAGES}")
    try:
        await _run_pip(manager, folder, choice, (*options, f"--requirement={_REQUIREMENTS}"))
    except PackageError as error:
        if not _OTHER_HASH.search(error.said):
            raise
        raise Conflict(
            f"The registry now has other files for {choice} or a package it needs than the ones that were promised:"
            " a hash differs. Nothing was installed.",
            hint="Make a new plan, and look at the package before you approve it.",
        ) from error


def find_program(staged: Path, folder: Path, plan: InstallPlan) -> dict[str, Any]:
    """The command of the installed server for its entry. `staged` is where it is now, `folder` where it will be."""
    script = _find_script(staged / _PACKAGES, plan.package.name)
    return {
        "command": view.find_python()[0],
        "args": [str(folder / _PACKAGES / "bin" / script)],
        "env": {"PYTHONPATH": str(folder / _PACKAGES), "PYTHONDONTWRITEBYTECODE": "1"},
    }


def _find_script(packages: Path, name: str) -> str:
    """The program that has the package's name, or else its only one."""
    scripts: list[str] = []
    for info in packages.glob("*.dist-info"):
        if _normalize(info.name.partition("-")[0]) == _normalize(name) and (info / "entry_points.txt").exists():
            parser = configparser.RawConfigParser(delimiters=("=",))
            parser.optionxform = str  # type: ignore[method-assign, assignment]
            parser.read_string((info / "entry_points.txt").read_text("utf-8"))
            scripts = list(parser["console_scripts"]) if parser.has_section("console_scripts") else []
    scripts = [one for one in scripts if "/" not in one and (packages / "bin" / one).is_file()]
    found = [one for one in scripts if _normalize(one) == _normalize(name)] or scripts
    if len(found) != 1:
        has = f"several programs: {', '.join(found)}" if found else "no program"
        raise CommandFailed(f"The package {name} has {has}, so it cannot be started as a server.")
    return found[0]


async def _run_pip(manager: PackageManager, folder: Path, choice: PackageChoice, words: tuple[str, ...]) -> None:
    python = view.find_python()[0]
    try:
        await manager.run(folder, (python, "-m", "pip", "install", *_QUIET, *words))
    except PackageError as error:
        if "No module named pip" in error.said:
            raise SandboxUnavailable(
                f"pip is not installed for {python}, so packages of PyPI cannot be installed.",
                hint="Install it, for example: apt install python3-pip",
            ) from error
        raise error.explain(str(choice), manager.addresses.shown("pypi"), _MISSING) from error


def _pin(reported: dict[str, Any]) -> PinnedPackage:
    hashes = reported["download_info"].get("archive_info", {}).get("hashes", {})
    name, version = reported["metadata"]["name"], reported["metadata"]["version"]
    url = reported["download_info"]["url"]
    if not _HASH.fullmatch(str(hashes.get("sha256"))) or not _URL.fullmatch(url):
        raise CommandFailed(f"The index has no sha256 hash for {name} {version}, so it cannot be pinned.")
    pinned = PinnedPackage(name, version, f"sha256:{hashes['sha256']}")
    pinned.check("pypi")
    return pinned


def _normalize(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()
