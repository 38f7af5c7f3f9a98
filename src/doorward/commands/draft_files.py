"""The files and hunks of a draft's difference: a list for the person who reviews it, and the part that they choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands import workspace_changes
from doorward.commands.draft_review import name_paths, outside_git
from doorward.commands.file.text import Diff, count_hunks, is_text, list_hunks, select_hunks
from doorward.core.errors import BadParams
from doorward.sandbox.draft_changes import DraftDifference
from doorward.sandbox.overlay_changes import OverlayChange, OverlayChanges, explain_execution
from doorward.sandbox.safefs.snapshot import Snapshot

_MOST_NAMED = 50


class FileFacts(TypedDict):
    path: str
    change: Literal["created", "changed", "deleted"]
    linesAdded: int
    linesRemoved: int
    hunks: Annotated[int, Meta(description="How many hunks its diff has; 0 if it has no text to compare")]
    note: NotRequired[Annotated[str, Meta(description="What changes besides the lines, such as permissions")]]
    later: NotRequired[Annotated[str, Meta(description="What your own tools would run because of it")]]
    mergedByLines: NotRequired[Annotated[bool, Meta(description="Whether the workspace changed it too")]]


class LeftFacts(TypedDict):
    path: str
    hunks: NotRequired[Annotated[list[int], Meta(description="The hunks that were left, if others were merged")]]


class Selection(msgspec.Struct, frozen=True):
    """A chosen part of a difference, and what is left of it."""

    changes: OverlayChanges
    summary: str
    """How much of the whole is chosen, to end a sentence about the merge."""
    merged: list[str]
    """The first paths that are merged, whole or in part."""
    left: list[LeftFacts]
    """The first paths that are not merged, or not wholly."""


def list_files(found: DraftDifference) -> list[FileFacts]:
    """Describe the changed files in the order of their paths. Folders are listed if nothing in them is."""
    return [_describe_file(one, found) for one in sorted(_list_choices(found), key=lambda one: one.path)]


def read_hunks(found: DraftDifference, path: str) -> list[Diff]:
    """The hunks of one file; none if it has no text to compare."""
    one = next((one for one in found.changes.items if one.path == path), None)
    if one is None:
        raise _unknown_path(found, path)
    texts = _find_texts(one)
    return list_hunks(*texts) if texts is not None else []


def select(found: DraftDifference, paths: Iterable[str], hunks: Mapping[str, Sequence[int]]) -> OverlayChanges:
    """The chosen part of a difference: files, folders with everything in them, or single hunks of files.

    Folders follow their content: a new one is made with the first path in it, a deleted one goes with the last.
    """
    items = {one.path: one for one in found.changes.items}
    parents = {parent for path in items for parent in _parents(path)}
    wanted = set(paths)
    for path in (*wanted, *hunks):
        if path not in items and path not in parents:
            raise _unknown_path(found, path)
    chosen: dict[str, OverlayChange] = {}
    for path, one in items.items():
        if path in hunks:
            chosen[path] = _with_hunks(one, hunks[path])
        elif path in wanted or any(parent in wanted for parent in _parents(path)):
            chosen[path] = one
    inside = Counter(parent for path in items for parent in _parents(path))
    taken = Counter(parent for path in chosen for parent in _parents(path))
    for path, one in items.items():  # removals are listed with the innermost first
        if path not in chosen and one.after is None and inside[path] and inside[path] == taken[path]:
            chosen[path] = one
            taken.update(_parents(path))
    needed = {parent for path in chosen for parent in _parents(path)}
    kept = [
        chosen.get(path) or one
        for path, one in items.items()
        if path in chosen or (path in needed and one.after is not None and one.after.kind == "folder")
    ]
    return msgspec.structs.replace(found.changes, items=kept)


def choose(found: DraftDifference, paths: Sequence[str], hunks: Mapping[str, Sequence[int]]) -> Selection:
    """Choose a part of a difference, or all of it if none is named, and describe both parts. This call blocks."""
    whole = not paths and not hunks
    changes = found.changes if whole else select(found, paths, hunks)
    taken = {one.path for one in changes.items}
    files = list_files(found)
    left: list[LeftFacts] = []
    merged: list[str] = []
    chosen_hunks = 0
    for one in files:
        path, numbers = one["path"], range(1, one["hunks"] + 1)
        rest = [n for n in numbers if path in hunks and n not in hunks[path]]
        if path not in taken:
            left.append({"path": path})
            continue
        merged.append(path)
        chosen_hunks += len(numbers) - len(rest)
        if rest:
            left.append({"path": path, "hunks": rest})
    left += [{"path": one.path} for one in found.conflicts]
    total, all_hunks = len(files) + len(found.conflicts), sum(one["hunks"] for one in files)
    in_hunks = f" ({chosen_hunks} of {_count(all_hunks, 'hunk')})" if chosen_hunks < all_hunks else ""
    part = f"{len(merged)} of {_count(total, 'file')}{in_hunks}; the rest stays in the draft."
    summary = part if left else f"all {_count(total, 'file')}."
    return Selection(changes, summary, merged[:_MOST_NAMED], left[:_MOST_NAMED])


def _list_choices(found: DraftDifference) -> list[OverlayChange]:
    items = outside_git(found.changes)
    parents = {parent for one in items for parent in _parents(one.path)}
    return [one for one in items if one.path not in parents or not _is_folder(one)]


def _describe_file(one: OverlayChange, found: DraftDifference) -> FileFacts:
    texts = _find_texts(one)
    hunks = list_hunks(*texts) if texts is not None else []
    facts: FileFacts = {
        "path": one.path,
        "change": workspace_changes.change_word(one),
        "linesAdded": sum(hunk.added for hunk in hunks),
        "linesRemoved": sum(hunk.removed for hunk in hunks),
        "hunks": len(hunks),
    }
    note = workspace_changes.describe_change(one, has_text=bool(hunks))
    if note and not _is_plain(one, hunks):
        facts["note"] = note
    later = explain_execution(one.path, one.before, one.after)
    if later:
        facts["later"] = later
    if one.path in found.merged:
        facts["mergedByLines"] = True
    return facts


def _is_plain(one: OverlayChange, hunks: list[Diff]) -> bool:
    """Whether the hunks say everything: a text file is new or gone, and it is no program."""
    state = one.after if one.before is None else one.before if one.after is None else None
    return bool(hunks) and state is not None and not state.mode & 0o111


def _find_texts(one: OverlayChange) -> tuple[bytes, bytes] | None:
    """Both versions of a file, if they are text and differ; an absent one is empty."""
    before = _content(one.before)
    after = _content(one.after)
    if before is None or after is None or before == after or not (is_text(before) and is_text(after)):
        return None
    return before, after


def _content(state: Snapshot | None) -> bytes | None:
    """The bytes of a file, nothing for anything else; None if they were too large to keep."""
    return state.content if state is not None and state.kind == "file" else b""


def _with_hunks(one: OverlayChange, numbers: Sequence[int]) -> OverlayChange:
    texts = _find_texts(one)
    if texts is None or one.after is None or one.after.kind != "file":
        raise BadParams(f"{one.path!r} has no hunks to choose from. Choose the whole path.")
    most = count_hunks(*texts)
    if not numbers:
        raise BadParams(f"No hunk of {one.path!r} is chosen. Choose some of 1 to {most}, or leave the path out.")
    for number in numbers:
        if not 1 <= number <= most:
            raise BadParams(f"{one.path!r} has hunks 1 to {most}; given {number}.")
    content = select_hunks(*texts, set(numbers))
    return OverlayChange(
        one.path, one.before, Snapshot("file", one.after.mode, content, len(content), "", one.after.modified)
    )


def _unknown_path(found: DraftDifference, path: str) -> BadParams:
    valid = name_paths([one.path for one in outside_git(found.changes)]) or "none"
    return BadParams(f"The draft does not change {path[:200]!r}; valid: {valid}.")


def _is_folder(one: OverlayChange) -> bool:
    states = [state for state in (one.before, one.after) if state is not None]
    return all(state.kind == "folder" for state in states)


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
