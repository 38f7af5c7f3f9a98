"""File access confined to one folder with openat2: no name, symlink or rename can lead outside.

Checking a path and then opening it is a race. Here the kernel resolves and opens in one step, and everything after
that goes through descriptors.
"""

from __future__ import annotations

from doorward.sandbox.safefs.file_status import EntryKind, FileEntry, FileMark
from doorward.sandbox.safefs.guarded_paths import is_guarded
from doorward.sandbox.safefs.root import FolderWalk, MarkedContent, SafeRoot, normalize_path
from doorward.sandbox.safefs.staged_change import StagedChange

__all__ = [
    "EntryKind",
    "FileEntry",
    "FileMark",
    "FolderWalk",
    "MarkedContent",
    "SafeRoot",
    "StagedChange",
    "is_guarded",
    "normalize_path",
]
