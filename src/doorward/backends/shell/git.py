"""Git without its ways to run other programs: what a repository says is looked at first, and what it could say anyway
is said otherwise by the environment.

Three locks, each of which would do: the repository's configuration holds nothing but harmless keys; keys that start
programs are overridden; and git finds no program to start, not even itself, on its PATH. Behind them is the sandbox.
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
"""In force over whatever a repository says."""

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
    """The environment for git in a folder of the workspace, once its repository has been looked at. It blocks.

    Without a repository there is nothing to do but to make one.
    """
    with Root(workspace) as root:
        found = _repository(root, folder)
        if found is not None:
            _check(root, found)
    if found is None and not makes_one:
        raise NotFound(
            f"There is no git repository at {folder!r} or above it in the workspace; shell/git_init makes one."
        )
    environment = {**_ENVIRONMENT, "GIT_AUTHOR_NAME": caller, "GIT_CONFIG_COUNT": str(len(_OVERRIDES))}
    for number, (key, value) in enumerate(_OVERRIDES.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    if found is not None and not makes_one:
        # Named outright, so that git uses the repository that was looked at and searches for no other.
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
                f"{_join(place, '.git')} is a {kind} and leads elsewhere; only a repository whose .git is a folder in"
                " the workspace is worked in."
            )
        return place


def _check(root: Root, place: str) -> None:
    git = _join(place, ".git")
    if _has(root, f"{git}/commondir"):
        raise CommandFailed(f"{git}/commondir leads to another repository; give it a repository of its own.")
    for name in ("config", "config.worktree"):
        file = f"{git}/{name}"
        content = root.find(file, _LARGEST_CONFIG)
        if content is None:
            continue
        try:
            strange = [key for key in gitconfig.keys(content.data) if not gitconfig.is_harmless(key)]
        except ValueError as error:
            raise CommandFailed(f"{file} cannot be read with certainty, so git is not run: {error}.") from error
        if strange:
            raise CommandFailed(
                f"The repository's own configuration has {', '.join(strange[:5])}, which may start programs or lead"
                f" elsewhere, so git is not run; take it out of {file}.",
            )


def _has(root: Root, path: str) -> bool:
    try:
        root.entry(path)
    except NotFound:
        return False
    return True


def _join(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"
