"""What a draft changes: its difference from the workspace as it is now, merged by three ways where both changed."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path

import msgspec

from doorward.core.three_way import merge_text
from doorward.sandbox.draft_bases import read_base
from doorward.sandbox.ignored_paths import IgnoredPaths, read_first
from doorward.sandbox.overlay_changes import OverlayChange, OverlayChanges, read_changes
from doorward.sandbox.safefs.guarded_paths import find_repository
from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS
from doorward.sandbox.safefs.snapshot import Snapshot, digest_or_empty

MOST_PATHS = 20_000
"""Changed paths that are read at once, so that reading takes seconds and not minutes."""
MARKERS = ("workspace", "draft")
"""The names of the two sides in conflict markers."""
_LATEST_WINS = frozenset(("COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "MERGE_MSG", "AUTO_MERGE"))
"""Files in which git keeps only the last of something."""


class DraftConflict(msgspec.Struct, frozen=True):
    """A path that was changed in the draft and in the workspace, in ways that cannot be merged."""

    path: str
    why: str
    before: Snapshot | None
    """The workspace's version."""
    after: Snapshot | None
    """The draft's version."""
    base: Snapshot | None = None


class DraftDifference(msgspec.Struct, frozen=True):
    changes: OverlayChanges
    """The changes that a merge makes in the workspace."""
    conflicts: list[DraftConflict]
    merged: dict[str, Snapshot]
    """The draft's own version of each path that was changed on both sides and is merged by lines."""

    @property
    def ignored(self) -> list[str]:
        """Paths that .gitignore names. They stay in the draft."""
        return self.changes.skipped


def read_difference(folder: str, workspace: str, room: int, only: Sequence[str] = ()) -> DraftDifference:
    """Read what a draft changes, or with `only` what it changes in these paths. This call blocks.

    At most `room` bytes of new content and `MOST_PATHS` paths are read; TooManyChanges is raised over these limits.
    """
    upper_path, bases = f"{folder}/upper", f"{folder}/bases"
    ignored = IgnoredPaths(read_first([upper_path, workspace]))
    upper = os.open(upper_path, FOLDER_FLAGS)
    try:
        raw = read_changes(
            upper,
            Path(workspace),
            room,
            None,
            lambda path, is_folder: not _concerns(only, path) or ignored.matches(path, is_folder),
            MOST_PATHS,
        )
    finally:
        os.close(upper)
    items: list[OverlayChange] = []
    conflicts: list[DraftConflict] = []
    merged: dict[str, Snapshot] = {}
    for one in raw.items:
        base = read_base(bases, one.path, workspace, one.before)
        found = _merge(one, base)
        if isinstance(found, DraftConflict):
            conflicts.append(found)
        elif found is not None:
            items.append(found)
            if found is not one and one.after is not None:
                merged[one.path] = one.after
    skipped = [path for path in raw.skipped if _concerns(only, path)]
    return DraftDifference(msgspec.structs.replace(raw, items=items, skipped=skipped), conflicts, merged)


def _concerns(only: Sequence[str], path: str) -> bool:
    """Whether a path is one of those to read, in one of them, or a folder around one."""
    return not only or any(f"{path}/".startswith(f"{one}/") or f"{one}/".startswith(f"{path}/") for one in only)


def _merge(one: OverlayChange, base: Snapshot | None) -> OverlayChange | DraftConflict | None:
    """The change to apply; None if the draft changes nothing here, and a conflict if both sides changed it."""
    now, draft = one.before, one.after
    if _same(now, draft) or (base is not None and draft is not None and _same(base, draft)):
        return None
    if now is None and base is not None:
        return DraftConflict(one.path, "it was deleted in the workspace and changed in the draft", now, draft, base)
    if now is None or _same(now, base) or _is_folder(now) or _is_folder(draft):
        return one
    if base is None:
        if now.kind == "symlink":  # symlinks have no base; the newer one is shown in the difference
            return one
        what = "it was deleted in the draft and" if draft is None else "it was created on both sides, or"
        return DraftConflict(one.path, f"{what} changed in the workspace at the same time", now, draft)
    if draft is None:
        return DraftConflict(one.path, "it was changed in the workspace and deleted in the draft", now, draft, base)
    return _merge_content(one, base, now, draft)


def _merge_content(one: OverlayChange, base: Snapshot, now: Snapshot, draft: Snapshot) -> OverlayChange | DraftConflict:
    in_repository = find_repository(one.path)
    name = one.path[len(in_repository) + 1 :] if in_repository else ""
    if name in _LATEST_WINS or (name == "index" and _staged(now.content) == _staged(base.content)):
        return one
    if in_repository and not name.startswith("logs/"):
        return DraftConflict(one.path, "git changed it on both sides", now, draft, base)
    if now.kind == draft.kind == "file" and None not in (now.content, draft.content, base.content):
        merge = merge_text(base.content or b"", now.content or b"", draft.content or b"", MARKERS)
        if merge is not None and not merge.conflicts:
            mode = draft.mode if draft.mode != base.mode else now.mode
            after = Snapshot("file", mode, merge.text, len(merge.text), "", draft.modified)
            return OverlayChange(one.path, now, after)
        if merge is not None:
            places = "one place" if merge.conflicts == 1 else f"{merge.conflicts} places"
            return DraftConflict(one.path, f"both sides changed the same lines in {places}", now, draft, base)
    return DraftConflict(one.path, "both sides changed it, and it is not text", now, draft, base)


def _same(first: Snapshot | None, second: Snapshot | None) -> bool:
    return digest_or_empty(first) == digest_or_empty(second)


def _is_folder(state: Snapshot | None) -> bool:
    return state is not None and state.kind == "folder"


def _staged(index: bytes | None) -> list[tuple[bytes, int, bytes]] | bytes | None:
    """What a git index stages: hash, mode and path of each entry. The index itself if its format is another."""
    if index is None or index[:4] != b"DIRC" or len(index) < 12 or index[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return index
    (count,), at, found = struct.unpack(">I", index[8:12]), 12, []
    for _ in range(count):
        if at + 62 > len(index):
            return index
        (mode,), (flags,) = struct.unpack(">I", index[at + 24 : at + 28]), struct.unpack(">H", index[at + 60 : at + 62])
        start = at + (64 if flags & 0x4000 else 62)
        end = index.find(b"\0", start)
        if end < 0:
            return index
        found.append((index[at + 40 : at + 60], mode | (flags & 0x3000) << 16, index[start:end]))
        at += (end - at + 8) & ~7
    return found
