"""Making the changes that a program made on a copy-on-write view, so that they can be taken back."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from doorward.backends.context import Context
from doorward.backends.file.text import unified
from doorward.backends.uninterrupted import to_the_end
from doorward.beneath.openat2 import FOLDER
from doorward.beneath.tree import State, digest_of, put, state_at
from doorward.command import Family
from doorward.errors import Conflict
from doorward.sandbox.changes import Change, Changes
from doorward.store import before_images
from doorward.store.before_images import BeforeImage
from doorward.store.sqlite import Statement

KIND = "tree"
_MOST_KEPT = 5_000
_MOST_NAMED = 50
_LARGEST = 1 << 30
_locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

family = Family("tree", category="files")


class _Step(NamedTuple):
    """One path to be made as `state` says, provided it is as one of `expected` says."""

    path: str
    expected: tuple[str, ...]
    state: State | None
    largest: int
    """How many bytes to read of what is there: more than that is not what is expected."""


def undoable(changes: Changes) -> bool:
    """Whether all that the changes replace is kept."""
    return len(changes.items) <= _MOST_KEPT and all(
        one.before is None or one.before.content is not None for one in changes.items
    )


async def make(ctx: Context, changes: Changes) -> None:
    """Make these changes in the workspace, or none of them when one of its paths is no longer as it was."""
    steps = [_Step(one.path, (digest_of(one.before),), one.after, _size(one.before)) for one in changes.items]
    await _take(ctx, steps, keeps=undoable(changes))


def described(changes: Changes) -> dict[str, Any]:
    """The changes as a result tells them: how many, and the names of the first."""
    groups: dict[str, list[str]] = {"created": [], "changed": [], "deleted": []}
    for one in changes.items:
        groups[_word(one)].append(one.path)
    shown: dict[str, Any] = {word: paths[:_MOST_NAMED] for word, paths in groups.items() if paths}
    shown["total"] = len(changes.items)
    if changes.left_out:
        shown["leftOut"] = changes.left_out[:_MOST_NAMED]
    return shown


def difference(changes: Changes) -> str:
    """The changes as a person reads them before deciding."""
    return "\n".join(_difference(one) for one in changes.items)


@family.undoer(KIND)
async def restore(ctx: Context, images: Sequence[BeforeImage]) -> dict[str, Any]:
    """Bring back what an execution of a program replaced, in the opposite order."""
    steps = [_backwards(image) for image in reversed(images)]
    # Only once everything is back: a crash before that leaves the execution open to be undone again.
    await _take(ctx, steps, keeps=True, then=[before_images.mark_undone(images[0].call, ctx.call.id)])
    return {"paths": [image.target for image in images], "execution": ctx.call.id}


async def _take(ctx: Context, steps: Sequence[_Step], *, keeps: bool, then: Sequence[Statement] = ()) -> None:
    """Take all the steps, storing first what they replace. A call that is cancelled meanwhile ends after them."""
    loop = asyncio.get_running_loop()

    def store(statements: Sequence[Statement]) -> None:
        if statements:
            asyncio.run_coroutine_threadsafe(ctx.store.write(*statements), loop).result()

    def work() -> None:
        root = os.open(ctx.workspace, FOLDER)
        try:
            present = [_checked(root, step) for step in steps]
            if keeps:
                store(
                    [_kept(ctx, n, before, step) for n, (before, step) in enumerate(zip(present, steps, strict=True))]
                )
            for step in steps:
                put(root, step.path, step.state)
            store(then)
        finally:
            os.close(root)

    async with _locks.setdefault(ctx.call.workspace, asyncio.Lock()):
        await to_the_end(work)


def _checked(root: int, step: _Step) -> State | None:
    """What is there now, which must be what the change was made from."""
    present = state_at(root, step.path, step.largest)
    if digest_of(present) not in step.expected:
        raise Conflict(
            f"The workspace changed meanwhile: {step.path!r} is not as it was, so nothing was changed.",
            hint="Ask again; what would change is worked out anew.",
        )
    if step.state is not None and step.state.content is None:
        raise Conflict(f"What was at {step.path!r} was too much to keep, so it cannot be brought back.")
    return present


def _kept(ctx: Context, n: int, before: State | None, step: _Step) -> Statement:
    return before_images.keep(
        ctx.call,
        kind=KIND,
        target=step.path,
        before=None if before is None else msgspec.msgpack.encode(before),
        after=digest_of(step.state),
        at=ctx.house.clock.now(),
        n=n,
    )


def _backwards(image: BeforeImage) -> _Step:
    before = None if image.before is None else msgspec.msgpack.decode(image.before, type=State)
    return _Step(image.target, (image.after, digest_of(before)), before, _LARGEST)


def _size(before: State | None) -> int:
    return 0 if before is None or before.content is None else len(before.content)


def _word(one: Change) -> str:
    if one.before is None:
        return "created"
    return "deleted" if one.after is None else "changed"


def _difference(one: Change) -> str:
    before, after = one.before, one.after
    lines = []
    if before is None or after is None or before.kind != after.kind or before.kind != "file":
        lines.append(f"{one.path}: {_named(before)} becomes {_named(after)}.")
    elif before.mode != after.mode:
        lines.append(f"{one.path}: its permissions {before.mode:o} become {after.mode:o}.")
    elif digest_of(before) == digest_of(after):
        lines.append(f"{one.path}: only the time of its last change.")
    old, new = _bytes(before), _bytes(after)
    if old != new:
        lines.append(unified(one.path, old, new))
    return "\n".join(lines)


def _named(state: State | None) -> str:
    if state is None:
        return "nothing"
    if state.kind == "symlink":
        return f"a symlink to {os.fsdecode(state.content or b'')!r}"
    if state.kind == "file":
        return f"a file of {state.size} bytes"
    return "a folder" if state.kind == "folder" else "a pipe, socket or device"


def _bytes(state: State | None) -> bytes | None:
    return state.content if state is not None and state.kind == "file" else None
