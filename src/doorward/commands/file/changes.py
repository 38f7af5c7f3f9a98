"""Changes files atomically: stores the before-image, then replaces the file in one step, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from doorward.commands.context import Context
from doorward.commands.file.family import FileChangeFacts
from doorward.commands.file.text import Diff, digest, unified_diff
from doorward.core.command import Command
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import BadParams, CommandFailed, Conflict, DoorwardError, Unrecorded
from doorward.sandbox.safefs import SafeRoot, StagedChange
from doorward.sandbox.safefs.guarded_paths import find_later_execution
from doorward.store import before_images
from doorward.store.sqlite import Statement

T = TypeVar("T")


async def run_uninterrupted(work: Callable[[], T]) -> T:
    """Run `work` on a thread. A cancellation takes effect only after the work has ended."""
    future = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([future])
        if not future.cancelled():
            future.exception()
        raise


KIND = "file"

ContentFunction = Callable[[bytes | None], bytes | None]
"""Maps the present content of a file to its new content, or raises an error. None means that there is no file."""

PlanFunction = Callable[..., Awaitable["FileChange | list[FileChange]"]]
"""Computes the changes of a file command from its context and parameters: one, or a list of them."""

_locks: weakref.WeakValueDictionary[tuple[str, str], asyncio.Lock] = weakref.WeakValueDictionary()


class FileChange(NamedTuple):
    path: str
    before: bytes | None
    after: bytes | None
    digest: str
    """The digest of the new content; empty when the file is deleted."""

    @property
    def has_effect(self) -> bool:
        return self.before != self.after


async def change_files(
    ctx: Context, makes: Mapping[str, ContentFunction], *, parents: bool, then: Statement | None = None
) -> list[FileChange]:
    """Change files with undo. `then` is stored after all changes are made.

    A cancellation takes effect only after the change: nothing is left half done.
    """
    loop = asyncio.get_running_loop()

    def store(*statements: Statement) -> None:
        asyncio.run_coroutine_threadsafe(ctx.store.write(*statements), loop).result()

    def work() -> list[FileChange]:
        with SafeRoot(ctx.workspace) as root, contextlib.ExitStack() as stack:
            changes, staged = [], []
            for path, make in makes.items():
                present = root.read_existing(path, ctx.services.settings.files.largest_file)
                one = _plan_change(ctx, path, make, present.data if present else None)
                changes.append(one)
                if one.has_effect:
                    ready = root.stage(path, one.after, present=present.mark if present else None, parents=parents)
                    staged.append(stack.enter_context(ready))
            kept = [_before_image(ctx, n, one) for n, one in enumerate(one for one in changes if one.has_effect)]
            if kept:
                store(*kept)
            _commit_all(root, staged, [one for one in changes if one.has_effect])
        if kept and then is not None:
            try:
                store(then)
            except DoorwardError as error:
                raise Unrecorded(f"The files were changed, but the change could not be recorded: {error}") from error
        return changes

    async with lock_files(ctx.workspace, makes):
        return await run_uninterrupted(work)


def _commit_all(root: SafeRoot, staged: Sequence[StagedChange], changes: Sequence[FileChange]) -> None:
    """Put all the files in place. If one fails, put the earlier ones back."""
    for number, ready in enumerate(staged):
        try:
            ready.commit()
        except DoorwardError as error:
            left = [one.path for one in reversed(changes[:number]) if not _put_back(root, one)]
            if left:
                rest = f"These files could not be restored: {', '.join(map(repr, left[:10]))}. Try `undo`."
                raise CommandFailed(f"Only some files were changed: {error.message} {rest}") from error
            raise


def _put_back(root: SafeRoot, one: FileChange) -> bool:
    try:
        present = root.read_existing(one.path, len(one.after or b""))
        if (present.data if present else None) != one.after:
            return False
        with root.stage(one.path, one.before, present=present.mark if present else None, parents=True) as ready:
            ready.commit()
    except DoorwardError:
        return False
    return True


async def plan_change(ctx: Context, path: str, make: ContentFunction, *, parents: bool) -> FileChange:
    """Compute what `change_files` would do to one file."""
    (planned,) = await plan_changes(ctx, {path: make}, parents=parents)
    return planned


async def plan_changes(ctx: Context, makes: Mapping[str, ContentFunction], *, parents: bool) -> list[FileChange]:
    """Compute what `change_files` would do."""

    def work() -> list[FileChange]:
        planned = []
        with SafeRoot(ctx.workspace) as root:
            for path, make in makes.items():
                present = root.read_existing(path, ctx.services.settings.files.largest_file)
                folder = path.rpartition("/")[0]
                if not parents and folder:
                    root.stat(folder, follow=True)
                planned.append(_plan_change(ctx, path, make, present.data if present else None))
        return planned

    return await asyncio.to_thread(work)


def render_diffs(changes: Iterable[FileChange]) -> Diff:
    """Render the changes of several files as one diff."""
    diffs = [unified_diff(one.path, one.before, one.after) for one in changes]
    if len(diffs) == 1:
        return diffs[0]
    text = "".join(diff.text if diff.text.endswith("\n") else f"{diff.text}\n" for diff in diffs)
    return Diff(text, sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs))


def register_diff_preview(command: Command) -> Callable[[PlanFunction], PlanFunction]:
    """Decorator: show the diff of the planned change in a dry run, and all of it to the people who approve.

    The approval is void once the file changes.
    """

    def register(plan: PlanFunction) -> PlanFunction:
        @command.describes_effect
        async def describe(ctx: Context, **params: Any) -> dict[str, Any]:
            planned = await plan(ctx, **params)
            changes = planned if isinstance(planned, list) else [planned]
            diff = await asyncio.to_thread(render_diffs, changes)
            facts = [{**describe_sizes(one), "digestBefore": digest(one.before)} for one in changes]
            return {
                **({"files": facts} if isinstance(planned, list) else facts[0]),
                "diff": diff.shorten(),
                "linesAdded": diff.added,
                "linesRemoved": diff.removed,
            }

        @command.previews_effect
        async def preview(ctx: Context, **params: Any) -> EffectPreview:
            planned = await plan(ctx, **params)
            changes = planned if isinstance(planned, list) else [planned]
            diff = await asyncio.to_thread(render_diffs, changes)
            found = ((one.path, find_later_execution(one.path, one.before, one.after)) for one in changes)
            shown = "".join(f"{path}: {later}\n" for path, later in found if later) + diff.text
            digests = msgspec.json.encode({one.path: digest(one.before) for one in changes})
            return EffectPreview(digests, shown, diff.added, diff.removed)

        return plan

    return register


def require_digest(make: ContentFunction, path: str, seen: str | None) -> ContentFunction:
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


def describe_sizes(one: FileChange) -> FileChangeFacts:
    return {
        "path": one.path,
        "created": one.before is None and one.after is not None,
        "changed": one.has_effect,
        "bytesBefore": None if one.before is None else len(one.before),
        "bytesAfter": None if one.after is None else len(one.after),
    }


def _plan_change(ctx: Context, path: str, make: ContentFunction, before: bytes | None) -> FileChange:
    approved = None if ctx.effect is None else msgspec.json.decode(ctx.effect)
    if approved is not None and approved.get(path) != digest(before):
        raise Conflict(
            f"The file {path!r} has changed since its new content was approved. Nothing was changed.",
            hint="Run the call again without the ticket.",
        )
    after = make(before)
    largest = ctx.services.settings.files.largest_file
    if after is not None and len(after) > largest:
        raise BadParams(
            f"The file {path!r} would have {len(after)} bytes; "
            f"at most {largest} are allowed (setting files.largest_file)."
        )
    return FileChange(path, before, after, digest(after))


def _before_image(ctx: Context, n: int, one: FileChange) -> Statement:
    return before_images.store_image(
        ctx.call,
        kind=KIND,
        target=one.path,
        before=one.before,
        after=one.digest,
        at=ctx.services.clock.now(),
        n=n,
    )


@contextlib.asynccontextmanager
async def lock_files(workspace: Path, paths: Iterable[str]) -> AsyncIterator[None]:
    """Lock files, so that only one change of a file runs at a time.

    The lock key is the last path segment: through symlinked folders a file can have several paths, but only one last
    segment.
    """
    async with contextlib.AsyncExitStack() as stack:
        for name in sorted({path.rpartition("/")[2] for path in paths}):
            lock = _locks.setdefault((str(workspace), name), asyncio.Lock())
            await stack.enter_async_context(lock)
        yield
