"""file/*: reading and changing the files of a workspace, with everything replaced kept for undo."""

from __future__ import annotations

from doorward.backends.file import deleting, editing, history, listing, reading, searching, writing
from doorward.backends.file.family import family

__all__ = ["deleting", "editing", "family", "history", "listing", "reading", "searching", "writing"]
