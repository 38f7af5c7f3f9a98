"""vfs/*: one tree of virtual files over files, records, executions and the house itself.

Every look and every change is a call inside the one that wants it, by the command that shows or changes the same
thing without the tree.
"""

from __future__ import annotations

from doorward.backends.vfs import changing, finding, reading
from doorward.backends.vfs.family import family

__all__ = ["changing", "family", "finding", "reading"]
