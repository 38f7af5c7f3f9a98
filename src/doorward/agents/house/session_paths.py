"""Paths between a session and the commands: requests name files from the session's folder, commands from the workspace.

Programs need none of this, because they run in the session's folder.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Any

import msgspec

from doorward.agents.house.plan import Step, Unknown
from doorward.agents.house.results import ToolResult

_TOP = "/workspace"
_PATHS = ("path", "source", "target")
_LISTS = frozenset({"file/list", "file/search", "vfs/list", "vfs/find", "vfs/tree"})
"""Commands that look at the whole workspace unless a folder is given."""
_WORKSPACE = re.compile(r"\bworkspace\b", re.IGNORECASE)
_OUTSIDE = (
    "I do not know which file that is: the session is in a folder that holds no files of the workspace. Say the whole"
    " path, such as /workspace/notes.txt."
)


def to_workspace(step: Step, folder: str | None, request: str) -> Step:
    """Return a step with the paths that commands take, from those seen from the session's folder.

    `folder` is the session's folder below the workspace; None if the session is outside it. Raises Unknown.
    """
    area = step.command.partition("/")[0]
    if folder == "" or area not in ("file", "vfs") or _WORKSPACE.search(request):
        return step
    params = dict(step.params)
    if step.command in _LISTS:
        params.setdefault("path", "." if area == "file" else _TOP)
    for one in _PATHS:
        path = params.get(one)
        if not isinstance(path, str) or (area == "vfs" and path != _TOP and not path.startswith(f"{_TOP}/")):
            continue
        if folder is None:
            raise Unknown(_OUTSIDE)
        params[one] = _below(path, folder)
    return msgspec.structs.replace(step, params=params)


def _below(path: str, folder: str) -> str:
    here = posixpath.join(_TOP, folder)
    if path == here or path.startswith(f"{here}/"):
        return path
    if path == _TOP or path.startswith(f"{_TOP}/"):
        return posixpath.normpath(posixpath.join(here, path[len(_TOP) + 1 :]))
    return posixpath.normpath(posixpath.join(folder, path))


def from_workspace(result: ToolResult, folder: str | None) -> ToolResult:
    """Return a result with its paths as they are seen from the session's folder."""
    if not folder:
        return result
    inside = re.compile(rf"(?<![\w./~-]){re.escape(folder)}/")

    def seen(text: str) -> str:
        return "." if text == folder else inside.sub("", text)

    return msgspec.structs.replace(
        result,
        params=_each(result.params, seen),
        value=_each(result.value, seen),
        text=seen(result.text),
        message=seen(result.message),
    )


def _each(value: Any, seen: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return seen(value)
    if isinstance(value, dict):
        return {name: _each(one, seen) for name, one in value.items()}
    return [_each(one, seen) for one in value] if isinstance(value, list) else value
