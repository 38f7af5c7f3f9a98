"""Apply the changes that a program made in a copy-on-write view to the workspace, with undo."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from doorward.commands.context import Context
from doorward.commands.file.changes import lock_files, run_uninterrupted
from doorward.commands.file.text import Diff, unified_diff
from doorward.core.command import Family
from doorward.core.effect_preview import LONGEST_PREVIEW
from doorward.core.errors import CommandFailed, Conflict, DoorwardError
from doorward.core.escape_invisible import escape_invisible
from doorward.sandbox.overlay_changes import OverlayChange, OverlayChanges, explain_execution
from doorward.sandbox.safefs import is_guarded
from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS
from doorward.sandbox.safefs.snapshot import (
    Snapshot,
    digest_or_empty,
    list_names,
    restore,
    set_folder_mode,
    take_snapshot,
)
from doorward.store import before_images
from doorward.store.before_images import BeforeImage
from doorward.store.sqlite import Statement, Store

KIND = "tree"
_MOST_KEPT = 5_000
_MOST_NAMED = 50
_LARGEST = 1 << 30

family = Family("tree", category="files")


class _Step(NamedTuple):
    """Bring one path into `state`, if its current digest is one of `expected`."""

    path: str
    expected: tuple[str, ...]
    state: Snapshot | None
    largest: int
    """The number of bytes to read at most. A larger file cannot be the expected one."""


def explain_not_undoable(changes: OverlayChanges) -> str:
    """Why the changes cannot be undone; empty if they can."""
    if len(changes.items) > _MOST_KEPT:
        return f"it changed more than {_MOST_KEPT} paths"
    lost = next((one for one in changes.items if one.before is not None and one.before.content is None), None)
    return "" if lost is None else f"the old content of {escape_invisible(lost.path, lines=False)} cannot be stored"


async def apply_changes(ctx: Context, changes: OverlayChanges, workspace: Path | None = None) -> None:
    """Apply these changes to the workspace, or none of them if one of the paths has changed in the meantime.

    `workspace` is given when it is not the folder that the call works in.
    """
    steps = [_Step(one.path, (digest_or_empty(one.before),), one.after, _size(one.before)) for one in changes.items]
    await _take_steps(ctx, steps, keeps=not explain_not_undoable(changes), place=changes.place, workspace=workspace)


def describe_changes(changes: OverlayChanges) -> dict[str, Any]:
    """Describe the changes for a result: their number and the first paths."""
    groups: dict[str, list[str]] = {"created": [], "changed": [], "deleted": []}
    for one in changes.items:
        groups[change_word(one)].append(one.path)
    shown: dict[str, Any] = {word: paths[:_MOST_NAMED] for word, paths in groups.items() if paths}
    shown["total"] = len(changes.items)
    why = explain_not_undoable(changes)
    if why:
        shown["undo"] = f"no: {why}"
    if changes.left_out:
        shown["leftOut"] = changes.left_out[:_MOST_NAMED]
    if changes.withheld:
        shown["withheld"] = describe_withheld(changes.withheld)
    return shown


def describe_withheld(paths: Sequence[str]) -> str:
    """Describe the changes to guarded paths, which are not applied."""
    named = ", ".join(escape_invisible(path, lines=False) for path in paths[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    if all(map(is_guarded, paths)):
        return (
            f"Programs cannot change git's configuration and hooks, so these changes were not applied: {named}{more}."
        )
    return (
        "Your own tools would run what these files say, so a program's changes of them need approval and were not "
        f"applied: {named}{more}. Change them with file/write or file/edit, which ask for approval."
    )


def list_later_executions(changes: OverlayChanges) -> list[str]:
    """Say for each change what would run later because of it."""
    found = ((one.path, explain_execution(one.path, one.before, one.after)) for one in changes.items)
    return [f"{escape_invisible(path, lines=False)}: {why}" for path, why in found if why]


def render_changes(changes: OverlayChanges) -> Diff:
    """Render the changes as a diff, for the person who decides an approval."""
    why = explain_not_undoable(changes)
    texts = [f"This cannot be undone: {why}."] if why else []
    if changes.withheld:
        texts.append(describe_withheld(changes.withheld))
    later = list_later_executions(changes)
    if later:
        texts.append("\n".join(["It changes files that your own tools run later:", *later]))
    size = added = removed = left_out = 0
    for one in changes.items:
        diff = _render_change(one)
        added, removed = added + diff.added, removed + diff.removed
        if size > LONGEST_PREVIEW:
            left_out += 1
            continue
        texts.append(diff.text)
        size += len(diff.text)
    if left_out:
        texts.append(f"… {left_out} more paths are not shown.")
    return Diff("\n".join(texts), added, removed)


async def revert_interrupted(store: Store, tenant: str, workspace: str, call: str) -> list[str]:
    """Put back what an interrupted call changed. Returns the paths that changed since and stay as they are."""
    images = await before_images.of_call(store, tenant, call)
    left: list[str] = []

    def work() -> None:
        root = os.open(workspace, FOLDER_FLAGS)
        try:
            for image in reversed(images):
                step = _reverse_step(image)
                if digest_or_empty(take_snapshot(root, step.path, step.largest)) in step.expected:
                    restore(root, step.path, step.state)
                else:
                    left.append(step.path)
        finally:
            os.close(root)

    await asyncio.to_thread(work)
    if images:
        await store.write(before_images.mark_undone(call, call))
    return left


@family.undoer(KIND)
async def undo_changes(ctx: Context, images: Sequence[BeforeImage]) -> dict[str, Any]:
    """Restore what a program replaced, in reverse order."""
    steps = [_reverse_step(image) for image in reversed(images)]
    # Mark it undone only after everything is restored: after a crash before that, it can be undone again.
    await _take_steps(ctx, steps, keeps=True, then=[before_images.mark_undone(images[0].call, ctx.call.id)])
    return {"paths": [image.target for image in images], "execution": ctx.call.id}


async def _take_steps(
    ctx: Context,
    steps: Sequence[_Step],
    *,
    keeps: bool,
    then: Sequence[Statement] = (),
    place: tuple[int, int] | None = None,
    workspace: Path | None = None,
) -> None:
    """Take all the steps, or none. Before-images are stored first. A cancellation takes effect after all steps."""
    loop = asyncio.get_running_loop()
    folder_path = workspace or ctx.workspace

    def store(statements: Sequence[Statement]) -> None:
        if statements:
            asyncio.run_coroutine_threadsafe(ctx.store.write(*statements), loop).result()

    def work() -> None:
        root = os.open(folder_path, FOLDER_FLAGS)
        try:
            folder = os.fstat(root)
            if place is not None and place != (folder.st_dev, folder.st_ino):
                raise Conflict("The workspace is a different folder now. Nothing was changed.")
            present = [_check_step(root, step) for step in steps]
            _check_folders_empty(root, steps, present)
            if keeps:
                pairs = zip(present, steps, strict=True)
                store([_before_image(ctx, n, before, step, workspace) for n, (before, step) in enumerate(pairs)])
            _put_all(root, steps, present)
            store(then)
        finally:
            os.close(root)

    async with lock_files(folder_path, [step.path for step in steps]):
        await run_uninterrupted(work)


def _put_all(root: int, steps: Sequence[_Step], present: Sequence[Snapshot | None]) -> None:
    """Put everything in place. If a step fails, put the earlier ones back."""
    done: list[tuple[str, Snapshot | None]] = []
    try:
        for step, before in zip(steps, present, strict=True):
            done.append((step.path, before))
            restore(root, step.path, step.state)
        _close_folders(root, ((step.path, step.state) for step in steps))
    except DoorwardError as error:
        left = _put_back(root, done)
        rest = f" These could not be restored: {', '.join(map(repr, left[:10]))}. Try `undo`." if left else ""
        what = "Only some paths were changed" if left else "Nothing was changed"
        raise CommandFailed(f"{what}: {error.message}{rest}", hint=error.hint) from error


def _put_back(root: int, done: list[tuple[str, Snapshot | None]]) -> list[str]:
    left = []
    for path, before in reversed(done):
        try:
            restore(root, path, before)
        except (DoorwardError, ValueError):
            left.append(path)
    with contextlib.suppress(DoorwardError):
        _close_folders(root, done)
    return left


def _close_folders(root: int, made: Iterable[tuple[str, Snapshot | None]]) -> None:
    for path, state in made:
        if state is not None and state.kind == "folder":
            set_folder_mode(root, path, state.mode)


def _check_folders_empty(root: int, steps: Sequence[_Step], present: Sequence[Snapshot | None]) -> None:
    """Check that folders to be removed contain nothing else."""
    going = {step.path for step in steps if step.state is None}
    for step, before in zip(steps, present, strict=True):
        if before is None or before.kind != "folder" or (step.state is not None and step.state.kind == "folder"):
            continue
        more = [name for name in list_names(root, step.path) if f"{step.path}/{name}" not in going]
        if more:
            raise Conflict(
                f"The workspace has changed: {step.path + '/' + more[0]!r} is new. Nothing was changed.",
                hint="Run the command again; its changes are previewed again.",
            )


def _check_step(root: int, step: _Step) -> Snapshot | None:
    """The present state of a path, which must be the one that the change started from."""
    present = take_snapshot(root, step.path, step.largest)
    if digest_or_empty(present) not in step.expected:
        raise Conflict(
            f"The workspace has changed: {step.path!r} is different now. Nothing was changed.",
            hint="Run the command again; its changes are previewed again.",
        )
    if step.state is not None and step.state.content is None:
        raise Conflict(f"The old content of {step.path!r} was too large to store, so it cannot be restored.")
    return present


def _before_image(ctx: Context, n: int, before: Snapshot | None, step: _Step, workspace: Path | None) -> Statement:
    return before_images.store_image(
        ctx.call,
        kind=KIND,
        target=step.path,
        before=None if before is None else msgspec.msgpack.encode(before),
        after=digest_or_empty(step.state),
        at=ctx.services.clock.now(),
        n=n,
        workspace=str(workspace or ""),
    )


def _reverse_step(image: BeforeImage) -> _Step:
    before = None if image.before is None else msgspec.msgpack.decode(image.before, type=Snapshot)
    return _Step(image.target, (image.after, digest_or_empty(before)), before, _LARGEST)


def _size(before: Snapshot | None) -> int:
    return 0 if before is None or before.content is None else len(before.content)


def change_word(one: OverlayChange) -> Literal["created", "changed", "deleted"]:
    if one.before is None:
        return "created"
    return "deleted" if one.after is None else "changed"


def describe_change(one: OverlayChange, *, has_text: bool) -> str:
    """Say what changes besides the text of a file, in words that can follow its path; empty for nothing."""
    before, after = one.before, one.after
    if before is None or after is None or before.kind != after.kind or before.kind == "symlink":
        return f"{_describe_state(before)} becomes {_describe_state(after)}"
    if before.mode != after.mode:
        return f"permissions {before.mode:o} become {after.mode:o}"
    if digest_or_empty(before) == digest_or_empty(after):
        return "only its modification time changes"
    return "" if has_text else f"a binary file of {before.size} bytes becomes one of {after.size} bytes"


def _render_change(one: OverlayChange) -> Diff:
    before, after, path = one.before, one.after, escape_invisible(one.path, lines=False)
    note = describe_change(one, has_text=True)
    lines = [f"{path}: {note}."] if note else []
    old, new = _file_content(before), _file_content(after)
    diff = unified_diff(path, old, new) if old != new else Diff("")
    return Diff("\n".join([*lines, diff.text] if diff.text else lines), diff.added, diff.removed)


def _describe_state(state: Snapshot | None) -> str:
    if state is None:
        return "nothing"
    if state.kind == "symlink":
        return f"a symlink to {os.fsdecode(state.content or b'')!r}"
    if state.kind == "file":
        return f"a file of {state.size} bytes with permissions {state.mode:o}"
    return f"a folder with permissions {state.mode:o}" if state.kind == "folder" else "a pipe, socket or device"


def _file_content(state: Snapshot | None) -> bytes | None:
    return state.content if state is not None and state.kind == "file" else None
