"""The virtual file tree and its commands vfs/*: workspace files, records, executions and server state in one tree.

Every read and every change is an inner call of the command that does the same without the tree.
"""

from __future__ import annotations

from doorward.shell.vfs import read_commands, write_commands
from doorward.shell.vfs.schema import family

__all__ = ["family", "read_commands", "write_commands"]
