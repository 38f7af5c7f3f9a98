"""Commands file/*: read and change the files of a workspace, with undo. Safe path access is in `sandbox.safefs`."""

from __future__ import annotations

from doorward.backends.file import deleting, editing, history, listing, reading, searching, writing
from doorward.backends.file.family import family

__all__ = ["deleting", "editing", "family", "history", "listing", "reading", "searching", "writing"]
