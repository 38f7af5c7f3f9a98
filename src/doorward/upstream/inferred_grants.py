"""Infers the sandbox grants that a server's process needs from its command line."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import msgspec

from doorward.sandbox.grants import NEVER_GRANTED, is_beneath
from doorward.upstream.config import ServerConfig
from doorward.upstream.variables import MalformedVariable, Variables

_DOWNLOADERS = frozenset(("npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "deno", "uvx", "uv", "pipx"))
"""Programs that download the server from a registry before they run it."""
_CONTAINERS = frozenset(("docker", "podman", "nerdctl"))
"""Programs that have a service start the server."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", *NEVER_GRANTED)
"""Paths that every process has, or that can never be granted."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a name to compare with
"""Folders in shared memory can be granted like any other."""
_SCRIPTS = frozenset((".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".rb"))
_ROOTS = ("package.json", "pyproject.toml", "Gemfile")
"""Files in the root folder of a program."""
_MAX_PARENTS = 4
"""How many parent folders of a script to search for one of them."""
_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*=")


class InferredGrants(msgspec.Struct, frozen=True, kw_only=True):
    read: tuple[str, ...] = ()
    network: bool = False
    notes: tuple[str, ...] = ()
    """Clauses that say why, and what is not included."""


def infer_grants(entry: Mapping[str, Any], home: Path, environment: Mapping[str, str]) -> InferredGrants:
    """Infer grants for an entry without a sandbox: read the paths in its arguments, and download itself."""
    look = _PathInspector(home, environment)
    read: list[str] = []
    notes: list[str] = []
    for path in look.find_paths([*entry.get("args", ()), *([entry["cwd"]] if "cwd" in entry else [])]):
        refused = look.why_not(path)
        if refused:
            notes.append(f"its arguments name {path}, which cannot be granted: {refused}")
            continue
        whole = look.find_program_folder(path)
        if (whole or path) not in read:
            read.append(whole or path)
    if read:
        notes.append(f"it may read {', '.join(read)}; to let it change files there, add them to sandbox.write")
    for name, path, folder in look.find_variable_paths(entry.get("env", {})):
        if folder:
            notes.append(f"{name} names {path}, which it may not write; to allow it, add {folder} to sandbox.write")
        elif path not in read:
            notes.append(f"{name} names {path}, which it may not read; to allow it, add it to sandbox.read")
    program = PurePosixPath(entry.get("command", "")).name
    if program in _DOWNLOADERS:
        notes.append(f"it may use the network, because {program} downloads programs")
    if program in _CONTAINERS:
        notes.append(
            f"it may use the network; {program} needs its own service, which is not reachable from the sandbox, and the"
            " containers it starts run outside the sandbox"
        )
    return InferredGrants(read=tuple(read), network=program in _DOWNLOADERS | _CONTAINERS, notes=tuple(notes))


def advise(entry: Mapping[str, Any], home: Path, environment: Mapping[str, str]) -> list[str]:
    """Clauses that say what an entry with its own sandbox seems to lack, and what to add."""
    if "command" not in entry:
        return check_url(entry.get("url", ""))
    found = infer_grants(entry, home, environment)
    look = _PathInspector(home, environment)
    sandbox = entry.get("sandbox", {})
    granted = [*sandbox.get("read", ()), *sandbox.get("write", ())]
    given = [look.expand(path) for path in granted]
    writable = [look.expand(path) for path in sandbox.get("write", ())]
    notes = check_program(entry, environment)
    for path in granted:
        refused = look.why_not(path)
        if refused:
            notes.append(f"{path} cannot be granted, so it will not start: {refused}")
        elif look.expand(path).startswith("/") and not _exists(look.expand(path)):
            notes.append(f"{path} does not exist, so it will not start")
    notes += [
        f"its arguments name {path}, which it may not read; to allow it: --read {shlex.quote(path)}"
        for path in found.read
        if not _within(look.expand(path), given)
    ]
    notes += [note for note in found.notes if "which cannot be granted: " in note]
    for name, path, folder in look.find_variable_paths(entry.get("env", {})):
        if folder and not _within(look.expand(path), writable):
            notes.append(f"{name} names {path}, which it may not write; to allow it: --write {shlex.quote(folder)}")
        elif not folder and not _within(look.expand(path), given):
            notes.append(f"{name} names {path}, which it may not read; to allow it: --read {shlex.quote(path)}")
    if found.network and not sandbox.get("network", False):
        program = PurePosixPath(entry["command"]).name
        notes.append(f"{program} downloads programs, but it may not use the network; to allow it: --network")
    return notes


def find_hidden_paths(config: ServerConfig, home: Path, environment: Mapping[str, str]) -> list[str]:
    """Sentences about paths in a server's arguments that its sandbox hides; the server only sees that they are missing.

    Values from variables are not named.
    """
    if config.transport != "stdio":
        return []
    entry = {"command": config.command, "args": config.args}
    given = [*config.sandbox.read, *config.sandbox.write]
    return [
        f"Its arguments name {path}, which is not visible inside its sandbox; to allow it, add it to sandbox.read."
        for path in infer_grants(entry, home, environment).read
        if not _within(path, given) and not any(secret in path for secret in config.secrets)
    ]


def check_program(entry: Mapping[str, Any], environment: Mapping[str, str]) -> list[str]:
    """Clauses about the server's program when it is not installed."""
    command = _PathInspector(Path("/"), environment).expand(entry["command"])
    path = entry.get("env", {}).get("PATH") or environment.get("PATH") or os.defpath
    if not command or "$" in path or shutil.which(command, path=path) is not None:
        return []
    if "/" in command:
        return [f"there is no program {entry['command']}, so it cannot start"]
    return [
        f"there is no program {entry['command']} on Doorward's PATH, so it cannot start; install it, or give its"
        " absolute path"
    ]


def check_url(url: str) -> list[str]:
    """Clauses about a URL that probably does not work."""
    if not urlsplit(url).path.rstrip("/").endswith("/sse"):
        return []
    return [
        "a URL that ends in /sse usually belongs to the older HTTP+SSE transport, which Doorward does not support;"
        " many such servers have another URL that ends in /mcp"
    ]


class _PathInspector:
    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self._home = os.path.realpath(home)
        self._environment = environment

    def find_paths(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the words, or option values, that are absolute paths of existing files, as written."""
        for word in words:
            option = _OPTION.match(word)
            path = word[option.end() :] if option is not None else word
            meant = self.expand(path)
            system = any(is_beneath(meant, place) for place in _SYSTEM) and not is_beneath(meant, _SHARED_MEMORY)
            if meant.startswith("/") and not system and _exists(meant):
                yield path

    def find_variable_paths(self, env: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
        """Yield variables that name a path: name, path and, when only the parent folder exists, that folder."""
        for name, text in env.items():
            if self.expand(text) == "/":
                continue
            if next(self.find_paths([text]), None) is not None:
                yield name, text, ""
            elif next(self.find_paths([folder := os.path.dirname(text)]), None) is not None and folder != "/":
                yield name, text, folder

    def expand(self, path: str) -> str:
        variables = Variables(self._environment)
        try:
            text = variables.expand(path)
        except MalformedVariable:
            return ""
        own = self._environment.get("HOME", "")
        if own and (text == "~" or text.startswith("~/")):
            text = own + text[1:]
        return "" if variables.missing else os.path.normpath(text) if text else ""

    def find_program_folder(self, path: str) -> str:
        """The root folder of the program that a script belongs to; empty for other paths."""
        script = self.expand(path)
        if os.path.splitext(script)[1] not in _SCRIPTS or not os.path.isfile(script):
            return ""
        installed, found, _ = script.partition("/node_modules/")
        folder = f"{installed}/node_modules" if found else os.path.dirname(script)
        if not found:
            above = [folder, *map(str, Path(folder).parents)][:_MAX_PARENTS]
            marked = (one for one in above if any(os.path.exists(f"{one}/{name}") for name in _ROOTS))
            folder = next(marked, folder)
        own = os.path.realpath(self._environment.get("HOME") or "/")
        return "" if is_beneath(own, os.path.realpath(folder)) or self.why_not(folder) else folder

    def why_not(self, path: str) -> str:
        real = os.path.realpath(self.expand(path))
        if is_beneath(self._home, real):
            return f"it contains Doorward's own folder {self._home}, which no program may see; grant a smaller folder"
        if is_beneath(real, self._home):
            return "it is in Doorward's own folder, which no program may see"
        return ""


def _within(path: str, places: Sequence[str]) -> bool:
    return any(is_beneath(path, one) for one in places)


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)
    except (OSError, ValueError):
        return False
