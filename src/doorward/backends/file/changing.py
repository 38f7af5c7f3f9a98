"""Change files atomically: store the before-image, then replace the file in one step, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from doorward.backends.context import Context
from doorward.backends.file.shapes import Sizes
from doorward.backends.file.text import digest, unified
from doorward.backends.uninterrupted import to_the_end
from doorward.beneath import Root
from doorward.command import Command, Foreseen
from doorward.errors import BadParams, Conflict, DoorwardError, Unrecorded
from doorward.store import before_images
from doorward.store.sqlite import Statement

KIND = "file"

Make = Callable[[bytes | None], bytes | None]
"""Maps the present content of a file to its new content, or raises an error. None means that there is no file."""

_locks: weakref.WeakValueDictionary[tuple[str, str], asyncio.Lock] = weakref.WeakValueDictionary()


class Change(NamedTuple):
    path: str
    before: bytes | None
    after: bytes | None
    digest: str
    """The digest of the new content; empty when the file is deleted."""

    @property
    def real(self) -> bool:
        return self.before != self.after


async def change(
    ctx: Context, makes: Mapping[str, Make], *, parents: bool, then: Statement | None = None
) -> list[Change]:
    """Change files with undo. `then` is stored after all changes are made.

    A cancellation takes effect only after the change: nothing is left half done.
    """
    loop = asyncio.get_running_loop()

    def store(*statements: Statement) -> None:
        asyncio.run_coroutine_threadsafe(ctx.store.write(*statements), loop).result()

    def work() -> list[Change]:
        with Root(ctx.workspace) as root, contextlib.ExitStack() as stack:
            changes, staged = [], []
            for path, make in makes.items():
                present = root.find(path, ctx.house.settings.files.largest_file)
                one = _changed(ctx, path, make, present.data if present else None)
                changes.append(one)
                if one.real:
                    ready = root.stage(path, one.after, present=present.mark if present else None, parents=parents)
                    staged.append(stack.enter_context(ready))
            kept = [_kept(ctx, n, one) for n, one in enumerate(one for one in changes if one.real)]
            if kept:
                store(*kept)
            for ready in staged:
                ready.commit()
        if kept and then is not None:
            try:
                store(then)
            except DoorwardError as error:
                raise Unrecorded(f"The files were changed, but the change could not be recorded: {error}") from error
        return changes

    async with held(ctx.workspace, makes):
        return await to_the_end(work)


async def preview(ctx: Context, path: str, make: Make, *, parents: bool) -> dict[str, Any]:
    """Describe what `change` would do to one file, for a dry run."""

    def work() -> dict[str, Any]:
        with Root(ctx.workspace) as root:
            present = root.find(path, ctx.house.settings.files.largest_file)
            folder = path.rpartition("/")[0]
            if not parents and folder:
                root.entry(folder, follow=True)
        one = _changed(ctx, path, make, present.data if present else None)
        return {**sizes(one), "digestBefore": digest(one.before), "diff": unified(path, one.before, one.after)}

    return await asyncio.to_thread(work)


def foreseen_by_effect(command: Command) -> None:
    """Let people approve the diff of the command's effect. The approval is void once the file changes."""
    effect = command.effect
    if effect is None:
        raise TypeError(f"{command.name} has no effect function")

    @command.foresees
    async def foresee(ctx: Context, **params: Any) -> Foreseen:
        shown = await effect(ctx, **params)
        return Foreseen(msgspec.json.encode({shown["path"]: shown["digestBefore"]}), shown["diff"])


def expected(make: Make, path: str, seen: str | None) -> Make:
    """Wrap `make` so that it runs only if the file is as the caller last saw it."""

    def checked(present: bytes | None) -> bytes | None:
        if seen is not None and digest(present) != seen:
            now = f"its SHA-256 is {digest(present)}" if present is not None else "it does not exist"
            was = f"SHA-256 {seen}" if seen else "no file"
            raise Conflict(
                f"The file {path!r} has changed since you read it: expected {was}, but {now}. Read it again."
            )
        return make(present)

    return checked


def sizes(one: Change) -> Sizes:
    return {
        "path": one.path,
        "created": one.before is None and one.after is not None,
        "changed": one.real,
        "bytesBefore": None if one.before is None else len(one.before),
        "bytesAfter": None if one.after is None else len(one.after),
    }


def _changed(ctx: Context, path: str, make: Make, before: bytes | None) -> Change:
    approved = None if ctx.effect is None else msgspec.json.decode(ctx.effect)
    if approved is not None and approved.get(path) != digest(before):
        raise Conflict(
            f"The file {path!r} has changed since its new content was approved. Nothing was changed.",
            hint="Run the call again without the ticket.",
        )
    after = make(before)
    largest = ctx.house.settings.files.largest_file
    if after is not None and len(after) > largest:
        raise BadParams(
            f"The file {path!r} would have {len(after)} bytes; "
            f"at most {largest} are allowed (setting files.largest_file)."
        )
    return Change(path, before, after, digest(after))


def _kept(ctx: Context, n: int, one: Change) -> Statement:
    return before_images.keep(
        ctx.call,
        kind=KIND,
        target=one.path,
        before=one.before,
        after=one.digest,
        at=ctx.house.clock.now(),
        n=n,
    )


@contextlib.asynccontextmanager
async def held(workspace: Path, paths: Iterable[str]) -> AsyncIterator[None]:
    """Lock files, so that only one change of a file runs at a time.

    The lock key is the last path segment: through symlinked folders a file can have several paths, but only one last
    segment.
    """
    async with contextlib.AsyncExitStack() as stack:
        for name in sorted({path.rpartition("/")[2] for path in paths}):
            lock = _locks.setdefault((str(workspace), name), asyncio.Lock())
            await stack.enter_async_context(lock)
        yield
