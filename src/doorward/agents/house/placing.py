"""Where a session is. To the house model every path is one from there, and the commands for files take theirs from the
top of the workspace: paths are put in their place on the way out, and seen from there (`viewing`) on the way in.

Programs need none of this, since the keeper runs them in the folder of the session.
"""

from __future__ import annotations

import posixpath
import re

import msgspec

from doorward.agents.house.plan import Step, Unknown

_TOP = "/workspace"
_PATHS = ("path", "source", "target")
_HERE = frozenset({"file/list", "file/search", "vfs/list", "vfs/find", "vfs/tree"})
"""Commands that look at the whole workspace unless they are told where."""
_WHOLE = re.compile(r"\bworkspace\b", re.IGNORECASE)
"""Whoever speaks of the workspace means it, wherever they are."""
_ELSEWHERE = (
    "I do not know which file that is: the session is in a folder that holds no files of the workspace. Say the whole"
    " path, such as /workspace/notes.txt."
)


def outward(step: Step, folder: str | None, question: str) -> Step:
    """A step as it is asked for by a session in this folder of the workspace; None: it is somewhere else."""
    area = step.command.partition("/")[0]
    if folder == "" or area not in ("file", "vfs") or _WHOLE.search(question):
        return step
    params = dict(step.params)
    if step.command in _HERE:
        params.setdefault("path", "." if area == "file" else _TOP)
    for name in _PATHS:
        path = params.get(name)
        if not isinstance(path, str) or (area == "vfs" and path != _TOP and not path.startswith(f"{_TOP}/")):
            continue
        if folder is None:
            raise Unknown(_ELSEWHERE)
        params[name] = _moved(path, folder)
    return msgspec.structs.replace(step, params=params)


def _moved(path: str, folder: str) -> str:
    here = posixpath.join(_TOP, folder)
    if path == here or path.startswith(f"{here}/"):
        return path  # as it came from a result
    if path == _TOP or path.startswith(f"{_TOP}/"):
        return posixpath.normpath(posixpath.join(here, path[len(_TOP) + 1 :]))
    return posixpath.normpath(posixpath.join(folder, path))
