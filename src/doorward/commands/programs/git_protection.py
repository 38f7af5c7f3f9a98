"""Keeps guarded paths out of the reach of programs: a person's own tools would run what a program wrote there.

Nobody's programs change git's configuration and hooks. What agents' programs change in the other guarded paths needs
a person who approved exactly that.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import msgspec

from doorward.commands.programs.git import parse_keys
from doorward.core.errors import CommandFailed, DoorwardError
from doorward.sandbox.overlay_changes import OverlayChange, OverlayChanges, explain_execution
from doorward.sandbox.safefs.guarded_paths import (
    find_guarded_path,
    find_repository,
    holds_data_only,
    is_guarded,
)
from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS, NO_SYMLINKS, open_beneath
from doorward.sandbox.safefs.snapshot import Snapshot, digest_or_empty, restore, take_snapshot

GuardedPaths = dict[str, Snapshot]
"""The guarded paths of a workspace: files, symlinks and the folders of git's hooks."""

_LARGEST = 1_000_000
_NEW_KEYS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks",
    "extensions": "objectformat refstorage",
    "remote": "url fetch",
    "branch": "remote merge",
}
"""Keys that git writes into the configuration of a new repository or clone. None of them starts a program."""


def withhold_guarded(changes: OverlayChanges, *, asks: bool = False) -> OverlayChanges:
    """The changes without those that programs may not make, which are listed in `withheld`.

    With `asks`, these are also the changes that a person must approve.
    """
    gone = {one.path for one in changes.items if one.after is None}
    withheld = {
        one.path
        for one in changes.items
        if _is_forbidden(one, gone) or (asks and explain_execution(one.path, one.before, one.after))
    }
    if not withheld:
        return changes
    withheld |= _find_moved(changes, withheld)
    kept_folders = {parent for path in withheld for parent in _list_parents(path)}
    withheld |= gone & kept_folders
    kept = [one for one in changes.items if one.path not in withheld and find_repository(one.path) not in withheld]
    return msgspec.structs.replace(changes, items=kept, withheld=sorted({*changes.withheld, *withheld}))


def _find_moved(changes: OverlayChanges, withheld: set[str]) -> set[str]:
    """The removals that may be moves to a withheld path. Without them, the content would be lost."""
    kept = {one.after.content for one in changes.items if one.path in withheld and one.after is not None}
    rows = {row for path in withheld if (row := find_guarded_path(path)) and row.level == "ask"}
    return {
        one.path
        for one in changes.items
        if one.after is None
        and one.before is not None
        and one.before.kind != "folder"
        and (one.before.content in kept or find_guarded_path(one.path) in rows)
    }


def is_writable_guarded(path: str) -> bool:
    """Whether only some changes of a guarded path count, so that a program may write to it."""
    row = find_guarded_path(path)
    return row is not None and row.check is not None


def find_guarded(workspace: Path, *, asks: bool = False, opens: bool = False) -> GuardedPaths:
    """Find the guarded paths of a workspace and what is there. This call blocks.

    With `asks`, these are also the paths whose changes a person must approve. With `opens`, folders that cannot be
    listed are made accessible, because a program may have hidden something there.
    """
    found: GuardedPaths = {}
    root = os.open(workspace, FOLDER_FLAGS)
    try:
        for path in _walk(root, opens=opens):
            if not (is_guarded(path) or (asks and find_guarded_path(path, symlink=True))):
                continue
            state = _take_any_snapshot(root, path)
            if state is None or (state.kind == "folder" and (not is_guarded(path) or path == find_repository(path))):
                continue
            if state.kind == "symlink" or find_guarded_path(path):
                found[path] = state
    finally:
        os.close(root)
    return found


def restore_guarded(workspace: Path, before: Mapping[str, Snapshot], *, asks: bool = False) -> list[str]:
    """Restore the guarded paths that a program changed in place, and return them. This call blocks."""
    after = find_guarded(workspace, asks=asks, opens=True)
    changed, failed = [], []
    root = os.open(workspace, FOLDER_FLAGS)
    try:
        for path in sorted({*before, *after}):
            old, new = before.get(path), after.get(path)
            if digest_or_empty(old) == digest_or_empty(new) or (old is None and _is_harmless(path, new)):
                continue
            if is_guarded(path):
                if new is None and take_snapshot(root, find_repository(path), 0) is None:
                    continue  # the repository was removed as a whole
            elif not explain_execution(path, old, new):
                continue
            changed.append(path)
            if not (_put_back(root, path, old) or _put_back(root, path, None)):
                failed.append(path)
    finally:
        os.close(root)
    if failed:
        named = ", ".join(map(repr, failed[:10]))
        raise CommandFailed(f"The program changed {named}, which your tools run later, and it could not be restored.")
    return changed


def find_new_guarded(workspace: Path, before: Mapping[str, Snapshot], kept: Collection[str]) -> list[str]:
    """The guarded paths that appeared or changed, except in the repositories `kept`. This call blocks."""
    try:
        after = find_guarded(workspace)
    except OSError:  # the workspace is gone
        return []
    return [
        path
        for path, state in sorted(after.items())
        if find_repository(path) not in kept
        and digest_or_empty(before.get(path)) != digest_or_empty(state)
        and not _is_harmless(path, state)
    ]


def _walk(root: int, *, opens: bool) -> Iterator[str]:
    """Yield every path that can be guarded. Symlinks are not followed."""
    waiting, opened = [""], set[str]()
    while waiting:
        here = waiting.pop()
        try:
            with (
                open_beneath(root, here or ".", FOLDER_FLAGS | os.O_NOFOLLOW, NO_SYMLINKS) as folder,
                os.scandir(folder) as entries,
            ):
                found = [(_join(here, entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries]
        except PermissionError:
            if opens and here not in opened:
                opened.add(here)
                _make_accessible(root, here)
                waiting.append(here)
            continue
        except OSError:
            continue
        for path, is_folder in found:
            yield path
            if is_folder and not holds_data_only(path):
                waiting.append(path)


def _make_accessible(root: int, folder: str) -> None:
    with contextlib.suppress(OSError):
        flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
        with open_beneath(root, folder or ".", flags, NO_SYMLINKS) as descriptor:
            os.chmod(f"/proc/self/fd/{descriptor}", 0o700)


def _take_any_snapshot(root: int, path: str) -> Snapshot | None:
    """Take a snapshot, without the content of a file that cannot be read."""
    try:
        return take_snapshot(root, path, _LARGEST)
    except DoorwardError:
        return take_snapshot(root, path, -1)


def _put_back(root: int, path: str, state: Snapshot | None) -> bool:
    for _ in range(2):
        try:
            restore(root, path, state)
        except ValueError:  # it was too large to keep
            return False
        except DoorwardError:
            _make_accessible(root, path.rpartition("/")[0])
        else:
            return True
    return False


def _list_parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _is_forbidden(one: OverlayChange, gone: set[str]) -> bool:
    if not is_guarded(one.path):
        return False
    if one.after is None:
        return find_repository(one.path) not in gone
    if one.after.kind == "folder":
        return one.before is not None and one.before.kind != "folder"
    return one.before is not None or not _is_harmless(one.path, one.after)


def _is_harmless(path: str, state: Snapshot | None) -> bool:
    """Whether this may be new: a folder, or the configuration of a new repository with harmless settings only."""
    if state is not None and state.kind == "folder":
        return True
    if state is None or state.kind != "file" or path.rpartition("/")[2] != "config":
        return False
    if state.content is None or len(state.content) > _LARGEST:
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
