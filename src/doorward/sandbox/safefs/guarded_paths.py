"""Guarded paths: the files of a git repository that decide which programs git runs for a person outside the sandbox."""

from __future__ import annotations

_REPOSITORY = ".git"
_SETTINGS = frozenset(("config", "config.worktree", "commondir"))
"""Git's configuration, and the file that makes git read the configuration of another folder."""
_HOOKS = "hooks"
_DATA = frozenset(("objects", "refs", "logs"))
"""Folders that git never reads settings from. Names in them, such as that of a branch, are free."""


def is_guarded(path: str) -> bool:
    """Whether git would read its configuration here, follow a link to it, or run a hook. The path is relative."""
    names = path.lower().split("/")
    return any(name == _REPOSITORY and _is_guarded_inside(names[n + 1 :]) for n, name in enumerate(names))


def find_repository(path: str) -> str:
    """The innermost `.git` on the way to a path; empty if there is none."""
    names = path.split("/")
    places = [n for n, name in enumerate(names) if name.lower() == _REPOSITORY]
    return "/".join(names[: places[-1] + 1]) if places else ""


def holds_data_only(path: str) -> bool:
    """Whether a folder of a repository holds data only, so that no guarded path can be in it."""
    repository = find_repository(path)
    return bool(repository) and path[len(repository) + 1 :].lower() in _DATA


def _is_guarded_inside(names: list[str]) -> bool:
    if not names:
        return True  # .git itself, which as a file or symlink leads elsewhere
    if names[0] in _DATA:
        return False
    if _HOOKS in names[:-1]:
        return not names[-1].endswith(".sample")  # examples that git never runs
    return names[-1] == _HOOKS or not _SETTINGS.isdisjoint(names)
