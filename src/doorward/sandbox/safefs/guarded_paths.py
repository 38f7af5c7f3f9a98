"""Guarded paths: files that make a person's own tools run something later, outside the sandbox.

`GUARDED_PATHS` is the one list of them. Its patterns match at any depth and in any case.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from doorward.core.escape_invisible import escape_invisible

GuardLevel = Literal["read-only", "ask"]
"""`read-only`: no program changes it. `ask`: a person approves the change. Agents' file commands ask for both."""

ContentCheck = Callable[[bytes | None, bytes | None], str]
"""Maps the old and new content to the sentence that says what runs later; empty when the change adds nothing."""

_REPOSITORY = ".git"
_DATA = ("objects", "refs", "logs")
"""Folders that git never reads settings from. Names in them, such as that of a branch, are free."""
_GIT_DATA = tuple(f"{_REPOSITORY}/{name}/**" for name in _DATA)
_INSTALLED = frozenset(("node_modules", "site-packages"))
"""Folders of installed packages. Tools do not read the settings of those packages from there."""
_PROGRAM_ATTRIBUTES = ("filter=", "diff=", "merge=")
_PACKAGE_KEYS = ("scripts", "husky", "gitHooks", "simple-git-hooks", "lint-staged")
_MOST_NAMED = 8
_LONGEST_NAME = 60


class GuardedPath(NamedTuple):
    """One row of the list: which paths, how strictly, and what runs them, as a sentence about the file."""

    pattern: str
    level: GuardLevel
    runs: str
    unless: tuple[str, ...] = ()
    """Patterns of paths that are free all the same."""
    check: ContentCheck | None = None
    """Decides by the content. Without it, every change counts."""


def _check_attributes(before: bytes | None, after: bytes | None) -> str:
    """Whether a .gitattributes file assigns filters, diff or merge drivers that it did not assign before."""
    new = _program_lines(after) - _program_lines(before)
    return _ATTRIBUTES if new else ""


def _program_lines(content: bytes | None) -> set[str]:
    lines = (content or b"").decode("utf-8", "replace").splitlines()
    return {line.strip() for line in lines if any(word in line for word in _PROGRAM_ATTRIBUTES)}


def _check_package(before: bytes | None, after: bytes | None) -> str:
    """Name the scripts of a package.json that are new or different."""
    new, old = _package_scripts(after), _package_scripts(before)
    if new is None:
        return "npm may run scripts from it, and it is not valid JSON, so they cannot be compared."
    changed = [name for name, line in new.items() if (old or {}).get(name) != line]
    if not changed:
        return ""
    named = ", ".join(escape_invisible(name, lines=False)[:_LONGEST_NAME] for name in changed[:_MOST_NAMED])
    more = f" and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
    return f"npm runs the scripts that it changes ({named}{more}) when you install, test or start the package."


def _package_scripts(content: bytes | None) -> Mapping[str, Any] | None:
    """Every script by its name; None when the content cannot be read."""
    if content is None:
        return {}
    try:
        package = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(package, dict):
        return {}
    found: dict[str, Any] = {}
    for key in _PACKAGE_KEYS:
        value = package.get(key)
        if isinstance(value, dict):
            found.update({name if key == "scripts" else f"{key}.{name}": line for name, line in value.items()})
        elif value is not None:
            found[key] = value
    return found


_ATTRIBUTES = "git runs the filters, diff and merge drivers that it assigns, at your next checkout, add or diff."
_GIT_SETTINGS = "git runs the programs that it names, such as fsmonitor, at your next git command here."
_HOOK_MANAGER = "git runs its commands as hooks at your next commit, merge or push."
_SHELL = "your shell runs it when it starts."
_EDITOR_TASKS = "your editor runs the tasks and programs that it names."
_CLIENT = "your AI client takes hooks, permissions and MCP servers, which it starts, from it."
_INSTALLER = "your package manager takes from it which programs it runs."

GUARDED_PATHS: tuple[GuardedPath, ...] = (
    GuardedPath(".git", "read-only", "git reads the repository and its settings from the place that it names."),
    GuardedPath(".git/**/config/**", "read-only", _GIT_SETTINGS, unless=_GIT_DATA),
    GuardedPath(".git/**/config.worktree/**", "read-only", _GIT_SETTINGS, unless=_GIT_DATA),
    GuardedPath(
        ".git/**/commondir/**", "read-only", "git reads its settings from the folder that it names.", unless=_GIT_DATA
    ),
    GuardedPath(
        ".git/**/hooks/**",
        "read-only",
        "git runs it as a hook, for example at your next commit.",
        unless=(*_GIT_DATA, ".git/**/hooks/**/*.sample"),
    ),
    GuardedPath(".git/**/info/attributes", "ask", "", unless=_GIT_DATA, check=_check_attributes),
    GuardedPath(".gitattributes", "ask", "", check=_check_attributes),
    GuardedPath(".gitconfig", "ask", _GIT_SETTINGS),
    GuardedPath(".config/git/**", "ask", _GIT_SETTINGS),
    GuardedPath(".githooks/**", "ask", _HOOK_MANAGER),
    GuardedPath(".husky/**", "ask", _HOOK_MANAGER),
    GuardedPath(".pre-commit-config.yaml", "ask", _HOOK_MANAGER),
    GuardedPath("lefthook.yml", "ask", _HOOK_MANAGER),
    GuardedPath(".lefthook.yml", "ask", _HOOK_MANAGER),
    GuardedPath(".envrc", "ask", "direnv runs it when you enter the folder."),
    GuardedPath(".mise.toml", "ask", "mise runs the hooks that it names when you enter the folder."),
    GuardedPath("mise.toml", "ask", "mise runs the hooks that it names when you enter the folder."),
    GuardedPath(".vscode/tasks.json", "ask", _EDITOR_TASKS),
    GuardedPath(".vscode/launch.json", "ask", _EDITOR_TASKS),
    GuardedPath(".vscode/settings.json", "ask", "your editor runs the interpreters and tools that it names."),
    GuardedPath(".vscode/mcp.json", "ask", _CLIENT),
    GuardedPath("*.code-workspace", "ask", _EDITOR_TASKS),
    GuardedPath(".idea/**", "ask", _EDITOR_TASKS),
    GuardedPath(".zed/**", "ask", _EDITOR_TASKS),
    GuardedPath(".devcontainer/**", "ask", "your editor builds and starts the container that it describes."),
    GuardedPath("package.json", "ask", "", check=_check_package),
    GuardedPath(".npmrc", "ask", _INSTALLER),
    GuardedPath(".yarnrc", "ask", _INSTALLER),
    GuardedPath(".yarnrc.yml", "ask", _INSTALLER),
    GuardedPath(".pnpmfile.cjs", "ask", _INSTALLER),
    GuardedPath(".cargo/config", "ask", "cargo and your editor run the compilers and runners that it names."),
    GuardedPath(".cargo/config.toml", "ask", "cargo and your editor run the compilers and runners that it names."),
    GuardedPath(".claude/**", "ask", _CLIENT),
    GuardedPath(".claude.json", "ask", _CLIENT),
    GuardedPath(".mcp.json", "ask", _CLIENT),
    GuardedPath(".cursor/**", "ask", _CLIENT),
    GuardedPath(".gemini/**", "ask", _CLIENT),
    GuardedPath(".codex/**", "ask", _CLIENT),
    GuardedPath(".bashrc", "ask", _SHELL),
    GuardedPath(".bash_profile", "ask", _SHELL),
    GuardedPath(".bash_login", "ask", _SHELL),
    GuardedPath(".bash_logout", "ask", "your shell runs it when it ends."),
    GuardedPath(".bash_aliases", "ask", _SHELL),
    GuardedPath(".profile", "ask", _SHELL),
    GuardedPath(".zshrc", "ask", _SHELL),
    GuardedPath(".zshenv", "ask", _SHELL),
    GuardedPath(".zprofile", "ask", _SHELL),
    GuardedPath(".zlogin", "ask", _SHELL),
    GuardedPath(".zlogout", "ask", "your shell runs it when it ends."),
    GuardedPath(".config/fish/**", "ask", _SHELL),
    GuardedPath(".inputrc", "ask", "your shell takes key bindings, which can be commands, from it."),
    GuardedPath(".gdbinit", "ask", "gdb runs it when it starts in the folder."),
    GuardedPath(".vimrc", "ask", "vim runs it when it starts."),
    GuardedPath(".exrc", "ask", "vim runs it when it starts in the folder."),
    GuardedPath(".nvim.lua", "ask", "Neovim runs it when it starts in the folder."),
)


def find_later_execution(path: str, before: bytes | None, after: bytes | None, *, symlink: bool = False) -> str:
    """Say what would run because of a change to this file, as a sentence about the file; empty when nothing would.

    The path is relative to the workspace. None means that there is no file. For a symlink, before or after, give its
    target as the content and set `symlink`.
    """
    row = None if before == after else find_guarded_path(path, symlink=symlink)
    if row is None:
        return ""
    if row.check is None:
        return row.runs
    return f"Tools would read it through a symlink. {describe_guard(row)}" if symlink else row.check(before, after)


def describe_guard(row: GuardedPath) -> str:
    """Say what runs such a file when its content is not known, as a sentence about the file."""
    if row.check is _check_package:
        return "npm runs its scripts when you install, test or start the package."
    if row.check is _check_attributes:
        return _ATTRIBUTES
    return row.runs


def find_guarded_path(path: str, *, symlink: bool = False) -> GuardedPath | None:
    """Find the row that a path falls under, by its name alone. A symlink also counts in place of a listed folder."""
    names = path.lower().split("/")
    if _BY_FIRST_NAME.keys().isdisjoint(names) and not names[-1].endswith(tuple(_BY_ENDING)):
        return None
    installed = not _INSTALLED.isdisjoint(names)
    for n, name in enumerate(names):
        ending = f".{name.rpartition('.')[2]}"
        for row, pattern in _BY_FIRST_NAME.get(name, []) + _BY_ENDING.get(ending, []):
            if installed and row.level == "ask":
                continue
            rest = names[n:]
            if symlink and len(rest) < len(pattern) and _matches(pattern[: len(rest)], rest):
                return row
            if _matches(pattern, rest) and not any(_matches(free.split("/"), rest) for free in row.unless):
                return row
    return None


def is_guarded(path: str) -> bool:
    """Whether no program may change this path: git's settings and hooks, or a link to them. The path is relative."""
    row = find_guarded_path(path)
    return row is not None and row.level == "read-only"


def find_repository(path: str) -> str:
    """The innermost `.git` on the way to a path; empty if there is none."""
    names = path.split("/")
    places = [n for n, name in enumerate(names) if name.lower() == _REPOSITORY]
    return "/".join(names[: places[-1] + 1]) if places else ""


def holds_data_only(path: str) -> bool:
    """Whether a folder of a repository holds data only, so that no guarded path can be in it."""
    repository = find_repository(path)
    return bool(repository) and path[len(repository) + 1 :].lower() in _DATA


def _matches(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Whether names match a pattern in which `**` stands for any number of names, also none."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return any(_matches(pattern[1:], names[n:]) for n in range(len(names) + 1))
    return bool(names) and fnmatch.fnmatchcase(names[0], pattern[0]) and _matches(pattern[1:], names[1:])


_BY_FIRST_NAME: dict[str, list[tuple[GuardedPath, tuple[str, ...]]]] = {}
_BY_ENDING: dict[str, list[tuple[GuardedPath, tuple[str, ...]]]] = {}
"""The rows whose pattern is one name that begins with a star, such as `*.code-workspace`."""
for _row in GUARDED_PATHS:
    _names = tuple(_row.pattern.split("/"))
    _group = _BY_ENDING if _names[0].startswith("*") else _BY_FIRST_NAME
    _group.setdefault(_names[0].removeprefix("*"), []).append((_row, _names))
