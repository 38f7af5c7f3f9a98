"""Run git without letting a repository start other programs.

Three defences, each sufficient alone: the repository's configuration may hold only harmless keys; keys that start
programs are overridden by the environment; and git finds no program to start, not even itself, on its PATH. Behind
them is the sandbox.
"""

from __future__ import annotations

import posixpath
from pathlib import Path

from doorward.backends.shell import gitconfig
from doorward.beneath import Root
from doorward.errors import CommandFailed, NotFound

PROGRAM = "git"
_LARGEST_CONFIG = 1_000_000
_NOWHERE = "/nonexistent"

_OVERRIDES = {
    "safe.directory": "*",
    "safe.bareRepository": "explicit",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "false",
    "core.alternateRefsCommand": "false",
    "sequence.editor": "false",
    "credential.helper": "",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "init.templateDir": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "all",
    "status.submoduleSummary": "false",
    "advice.detachedHead": "false",
    "init.defaultBranch": "main",
}
"""These override the repository's configuration."""

_ENVIRONMENT = {
    "PATH": _NOWHERE,
    "GIT_EXEC_PATH": _NOWHERE,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_AUTHOR_NAME": "Doorward",
    "GIT_AUTHOR_EMAIL": "doorward@localhost",
    "GIT_COMMITTER_NAME": "Doorward",
    "GIT_COMMITTER_EMAIL": "doorward@localhost",
}


def guarded(workspace: Path, folder: str, caller: str, *, makes_one: bool) -> dict[str, str]:
    """Check the repository of a folder, and return the environment for git there. This call blocks.

    Without a repository, only `git init` can run (`makes_one`).
    """
    with Root(workspace) as root:
        found = _repository(root, folder)
        if found is not None:
            _check(root, found)
    if found is None and not makes_one:
        raise NotFound(
            f"There is no git repository at {folder!r} or above it in the workspace. Create one with shell/git_init."
        )
    environment = {**_ENVIRONMENT, "GIT_AUTHOR_NAME": caller, "GIT_CONFIG_COUNT": str(len(_OVERRIDES))}
    for number, (key, value) in enumerate(_OVERRIDES.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    if found is not None and not makes_one:
        # Set explicitly, so that git uses the repository that was checked and does not search for another.
        tree = posixpath.relpath(found, folder)
        environment["GIT_DIR"] = f"{tree}/.git"
        environment["GIT_WORK_TREE"] = tree
    return environment


def _repository(root: Root, folder: str) -> str | None:
    """The nearest folder with a repository, from `folder` up to the workspace."""
    place = folder
    while True:
        try:
            kind = root.entry(_join(place, ".git")).kind
        except NotFound:
            if place == ".":
                return None
            place = posixpath.dirname(place) or "."
            continue
        if kind != "folder":
            raise CommandFailed(
                f"{_join(place, '.git')} is a {kind} and leads elsewhere. git runs only in a repository whose .git is"
                " a folder in the workspace."
            )
        return place


def _check(root: Root, place: str) -> None:
    git = _join(place, ".git")
    if _has(root, f"{git}/commondir"):
        raise CommandFailed(f"{git}/commondir leads to another repository. Use a separate repository.")
    for name in ("config", "config.worktree"):
        file = f"{git}/{name}"
        content = root.find(file, _LARGEST_CONFIG)
        if content is None:
            continue
        try:
            strange = [key for key in gitconfig.keys(content.data) if not gitconfig.is_harmless(key)]
        except ValueError as error:
            raise CommandFailed(f"{file} cannot be parsed reliably, so git is not run: {error}.") from error
        if strange:
            raise CommandFailed(
                f"The repository's configuration has {', '.join(strange[:5])}, which may start programs or lead"
                f" elsewhere, so git is not run. Remove it from {file}.",
            )


def _has(root: Root, path: str) -> bool:
    try:
        root.entry(path)
    except NotFound:
        return False
    return True


def _join(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"
