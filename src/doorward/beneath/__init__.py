"""File access confined to one folder with openat2: no name, symlink or rename can lead outside.

Checking a path and then opening it is a race. Here the kernel resolves and opens in one step, and everything after
that goes through descriptors.
"""

from __future__ import annotations

from doorward.beneath.paths import normal
from doorward.beneath.root import Content, Root
from doorward.beneath.staged import Staged
from doorward.beneath.status import Entry, Kind, Mark
from doorward.beneath.walk import Walk

__all__ = ["Content", "Entry", "Kind", "Mark", "Root", "Staged", "Walk", "normal"]
