"""Keeps git's configuration and hooks out of the reach of programs.

The next git that a person runs outside the sandbox would start whatever a program wrote there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from doorward.commands.programs.git import parse_keys
from doorward.core.errors import DoorwardError
from doorward.sandbox.overlay_changes import OverlayChange, OverlayChanges
from doorward.sandbox.safefs.guarded_paths import find_repository, holds_data_only, is_guarded
from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS
from doorward.sandbox.safefs.snapshot import Snapshot, digest_or_empty, restore, take_snapshot

GuardedPaths = dict[str, Snapshot]
"""The guarded paths of a workspace: files, symlinks and the folders of hooks."""

_LARGEST = 1_000_000
_NEW_KEYS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks",
    "extensions": "objectformat refstorage",
    "remote": "url fetch",
    "branch": "remote merge",
}
"""Keys that git writes into the configuration of a new repository or clone. None of them starts a program."""


def withhold_guarded(changes: OverlayChanges) -> OverlayChanges:
    """The changes without those to guarded paths, which are listed in `withheld`."""
    gone = {one.path for one in changes.items if one.after is None}
    withheld = {one.path for one in changes.items if _is_forbidden(one, gone)}
    if not withheld:
        return changes
    for one in reversed(changes.items):  # a folder stays if something in it does
        if one.after is None and any(path.startswith(f"{one.path}/") for path in withheld):
            withheld.add(one.path)
    kept = [one for one in changes.items if one.path not in withheld and not _is_in_replaced(one.path, withheld)]
    return msgspec.structs.replace(changes, items=kept, withheld=sorted(withheld))


def find_guarded(workspace: Path) -> GuardedPaths:
    """Find the guarded paths of a workspace and what is there. This call blocks."""
    found: GuardedPaths = {}
    root = os.open(workspace, FOLDER_FLAGS)
    try:
        for folder, folders, files, _ in os.fwalk(".", dir_fd=root):
            here = folder.removeprefix(".").removeprefix("/")
            folders[:] = [name for name in folders if not holds_data_only(_join(here, name))]
            for path in (_join(here, name) for name in (*files, *folders)):
                if is_guarded(path):
                    state = take_snapshot(root, path, _LARGEST)
                    if state is not None and (state.kind != "folder" or path != find_repository(path)):
                        found[path] = state
    finally:
        os.close(root)
    return found


def restore_guarded(workspace: Path, before: Mapping[str, Snapshot]) -> list[str]:
    """Restore the guarded paths that a program changed in place, and return them. This call blocks."""
    after = find_guarded(workspace)
    changed = []
    root = os.open(workspace, FOLDER_FLAGS)
    try:
        for path in sorted({*before, *after}):
            old, new = before.get(path), after.get(path)
            if digest_or_empty(old) == digest_or_empty(new) or (old is None and _is_harmless(path, new)):
                continue
            if new is None and take_snapshot(root, find_repository(path), 0) is None:
                continue  # the repository was removed as a whole
            changed.append(path)
            try:
                restore(root, path, old)
            except (DoorwardError, ValueError):  # it was too large to keep, or the disk is full
                with contextlib.suppress(DoorwardError):  # a folder with content, which git cannot use
                    restore(root, path, None)
    finally:
        os.close(root)
    return changed


def _is_forbidden(one: OverlayChange, gone: set[str]) -> bool:
    if not is_guarded(one.path):
        return False
    if one.after is None:
        return find_repository(one.path) not in gone
    if one.after.kind == "folder":
        return one.before is not None and one.before.kind != "folder"
    return one.before is not None or not _is_harmless(one.path, one.after)


def _is_in_replaced(path: str, withheld: set[str]) -> bool:
    """Whether a path is in a repository that the program replaced by a file or symlink."""
    return find_repository(path) in withheld


def _is_harmless(path: str, state: Snapshot | None) -> bool:
    """Whether this may be new: a folder, or the configuration of a new repository with harmless settings only."""
    if state is not None and state.kind == "folder":
        return True
    if state is None or state.kind != "file" or state.content is None or path.rpartition("/")[2] != "config":
        return False
    try:
        return all(map(_is_new_key, parse_keys(state.content)))
    except ValueError:
        return False


def _is_new_key(key: str) -> bool:
    section, _, rest = key.partition(".")
    return rest.rpartition(".")[2] in _NEW_KEYS.get(section, "").split()


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
