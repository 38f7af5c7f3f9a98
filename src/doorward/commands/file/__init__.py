"""Commands file/*: read and change the files of a workspace, with undo. Safe path access is in `sandbox.safefs`."""

from __future__ import annotations

from doorward.commands.file import edits, history, inspection, patch, search
from doorward.commands.file.family import family

_CONTENT = ("content", "oldString", "newString", "edits", "expectedDigest")

for _command in family.commands:
    if "path" in _command.schema["properties"]:
        _command.path_parameter = "path"
        _command.content_parameters = tuple(name for name in _CONTENT if name in _command.schema["properties"])

__all__ = ["edits", "family", "history", "inspection", "patch", "search"]
