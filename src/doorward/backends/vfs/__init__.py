"""The virtual file tree and its commands vfs/*: workspace files, records, executions and server state in one tree.

Every read and every change is an inner call of the command that does the same without the tree.
"""

from __future__ import annotations

from doorward.backends.vfs import changing, finding, reading
from doorward.backends.vfs.family import family

__all__ = ["changing", "family", "finding", "reading"]
