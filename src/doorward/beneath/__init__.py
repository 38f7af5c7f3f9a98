"""Files beneath one folder, opened by the kernel's own rule (openat2), so that no name, symlink or swap leads outside.

Checking a path first and opening it afterwards loses to whoever renames in between; here the kernel resolves and
opens in one step, and everything after that goes through descriptors.
"""

from __future__ import annotations

from doorward.beneath.paths import normal
from doorward.beneath.root import Content, Root
from doorward.beneath.staged import Staged
from doorward.beneath.status import Entry, Kind, Mark
from doorward.beneath.walk import Walk

__all__ = ["Content", "Entry", "Kind", "Mark", "Root", "Staged", "Walk", "normal"]
