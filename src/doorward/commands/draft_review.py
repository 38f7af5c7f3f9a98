"""The review of a draft: its difference as people and agents see it, and the merge into the workspace."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict, cast

import msgspec
from msgspec import Meta

from doorward.commands import workspace_changes
from doorward.commands.context import Context
from doorward.commands.file.text import Diff
from doorward.commands.programs.family import ChangeSummary
from doorward.commands.programs.git_protection import withhold_guarded
from doorward.core.clock import to_iso
from doorward.core.errors import BadParams, CommandFailed, Conflict, DoorwardError, NotFound, NotPermitted
from doorward.core.escape_invisible import escape_invisible
from doorward.core.three_way import merge_text
from doorward.gate.drafts import Draft, DraftRun, Drafts
from doorward.sandbox.draft_bases import renew_base
from doorward.sandbox.draft_changes import MARKERS, MOST_PATHS, DraftConflict, DraftDifference, read_difference
from doorward.sandbox.overlay_changes import CHANGE_ERRORS, OverlayChange, OverlayChanges, TooManyChanges
from doorward.sandbox.safefs.guarded_paths import find_repository
from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS
from doorward.sandbox.safefs.snapshot import Snapshot, restore
from doorward.store import drafts as sql
from doorward.store.sqlite import Store

log = logging.getLogger(__name__)

_MOST_NAMED = 50
_MOST_BYTES = 256 * 1024 * 1024
"""Bytes of new content that one merge can take."""


async def read(ctx: Context, draft: Draft, paths: Collection[str] = ()) -> DraftDifference:
    """What the draft changes in the workspace as it is now, without what a merge never applies.

    Of a draft that changes too much to be read at once, only the part in `paths` is read.
    """
    await ctx.services.drafts.settle(draft)
    try:
        try:
            return await asyncio.to_thread(_read, draft)
        except TooManyChanges:
            if not paths:
                raise
        return await asyncio.to_thread(_read, draft, tuple(paths))
    except TooManyChanges as error:
        raise CommandFailed(
            f"The draft {draft.id} changes more than {MOST_PATHS:,} paths or {_MOST_BYTES:,} bytes outside ignored "
            "paths, too many to review at once.",
            hint="Review and merge it in parts, with paths. Name build output in .gitignore: it stays in the draft.",
        ) from error
    except UnicodeEncodeError as error:
        raise CommandFailed(f"The draft has a file whose name is not UTF-8 text, {error.object!a}.") from error
    except Conflict:
        raise
    except CHANGE_ERRORS as error:
        cause = error.message if isinstance(error, DoorwardError) else str(error)
        raise CommandFailed(
            f"The changes of the draft {draft.id} cannot be read: {cause.rstrip('.')}.",
            hint="If a program made something unreadable, make it readable with chmod in the draft, or delete it.",
        ) from error


def find_draft(ctx: Context, id: str) -> Draft:
    """The draft of this room that the caller means; agents have only their own."""
    drafts, tenant, room = ctx.services.drafts, ctx.caller.tenant, ctx.call.room
    if id:
        draft = drafts.find(tenant, room, id)
        if ctx.caller.kind != "human" and not draft.belongs_to(ctx.caller):
            raise NotPermitted(
                f"The draft {id} belongs to another agent.", rule="built-in: agents use their own drafts"
            )
        return draft
    if ctx.call.draft:
        return drafts.get(ctx.call.draft)
    here = drafts.list_room(tenant, room)
    if ctx.caller.kind == "human" and len(here) == 1:
        return here[0]
    if ctx.caller.kind == "human" and here:
        raise BadParams(f"Name a draft with id; valid: {', '.join(one.id for one in here)}.")
    raise NotFound("No draft is open here. An agent's first change opens one, where the recipe says so.")


def _read(draft: Draft, only: Sequence[str] = ()) -> DraftDifference:
    if not os.path.isdir(draft.workspace):
        raise Conflict(
            f"The workspace {draft.workspace} does not exist any more. The draft {draft.id} is kept.",
            hint="Put the folder back, or drop the draft.",
        )
    found = read_difference(draft.folder, draft.workspace, _MOST_BYTES, only)
    return msgspec.structs.replace(found, changes=withhold_guarded(found.changes))


class ConflictFacts(TypedDict):
    path: str
    why: str


class IgnoredFacts(TypedDict):
    total: int
    first: list[str]


class LastRunFacts(TypedDict):
    command: str
    exitCode: int | None
    output: Annotated[str, Meta(description="The end of its output")]
    at: str


class DifferenceFacts(TypedDict):
    changes: Annotated[ChangeSummary, Meta(description="The changes outside of git's own files")]
    conflicts: Annotated[list[ConflictFacts], Meta(description="Paths that cannot be merged until they are resolved")]
    mergedByLines: Annotated[list[str], Meta(description="Paths that the workspace changed too, and that are merged")]
    ignored: Annotated[IgnoredFacts, Meta(description="Paths that .gitignore names; they stay in the draft")]
    gitFiles: Annotated[int, Meta(description="How many of git's own files change")]
    lastRun: NotRequired[Annotated[LastRunFacts, Meta(description="The last test or build in the draft")]]


def describe(draft: Draft, found: DraftDifference) -> DifferenceFacts:
    """Describe the difference for a result: counts, first paths, conflicts and what stays in the draft."""
    files = outside_git(found.changes)
    shown = workspace_changes.describe_changes(msgspec.structs.replace(found.changes, items=files))
    described: DifferenceFacts = {
        "changes": cast("ChangeSummary", shown),
        "conflicts": [{"path": one.path, "why": one.why} for one in found.conflicts[:_MOST_NAMED]],
        "mergedByLines": list(found.merged)[:_MOST_NAMED],
        "ignored": {"total": len(found.ignored), "first": found.ignored[:_MOST_NAMED]},
        "gitFiles": len(found.changes.items) - len(files),
    }
    if draft.last_run is not None:
        described["lastRun"] = describe_run(draft.last_run)
    return described


def describe_run(run: DraftRun) -> LastRunFacts:
    return {"command": run.command, "exitCode": run.exit_code, "output": run.output, "at": to_iso(run.at)}


def render(draft: Draft, found: DraftDifference, message: str = "") -> Diff:
    """Render the whole review for the person who decides."""
    changes = found.changes
    parts = [f"What it is: {escape_invisible(message, lines=False)}"] if message else []
    if found.conflicts:
        named = "\n".join(f"  {escape_invisible(one.path, lines=False)}: {one.why}" for one in found.conflicts)
        parts.append(f"It cannot be merged, because the workspace changed meanwhile:\n{named}")
    if draft.last_run is not None:
        run = draft.last_run
        how = f"exit code {run.exit_code}" if run.exit_code is not None else "no exit code"
        quoted = "\n".join(f"  | {escape_invisible(line, lines=False)}" for line in run.output.splitlines())
        parts.append(f"Last check, {escape_invisible(run.command, lines=False)}: {how}.\n{quoted}".rstrip())
    if found.merged:
        parts.append(f"Merged with changes that were made meanwhile: {name_paths(list(found.merged))}.")
    diff = workspace_changes.render_changes(msgspec.structs.replace(changes, items=outside_git(changes)))
    moved = describe_moved_refs(changes)
    if moved:
        parts.append(f"Git: {'; '.join(moved)}.")
    if found.ignored:
        parts.append(f"Ignored by .gitignore, stays in the draft: {name_paths(found.ignored)}.")
    parts.append(diff.text or "It changes no file.")
    return Diff("\n".join(parts), diff.added, diff.removed)


async def merge(ctx: Context, draft: Draft, changes: OverlayChanges, own: Mapping[str, Snapshot]) -> None:
    """Apply changes of a draft to the workspace, all of them or none. After a crash, none.

    `own` are the draft's own versions of paths that are merged by lines.
    """
    why = workspace_changes.explain_not_undoable(changes)
    if why:
        raise CommandFailed(
            f"The draft cannot be merged in one step: {why}.", hint="Merge it in parts: draft/merge --paths."
        )
    await ctx.store.write(sql.set_merging(draft.id, ctx.call.id))
    try:
        await workspace_changes.apply_changes(ctx, changes, Path(draft.workspace))
    finally:
        await ctx.store.write(sql.set_merging(draft.id, ""))
    await asyncio.to_thread(_renew_bases, draft, changes.items, own)
    await ctx.services.drafts.show_workspace(draft)


async def revert_interrupted(drafts: Drafts, store: Store) -> None:
    """Put back what interrupted merges changed in the workspace. Their drafts stay open."""
    for draft in drafts.list_interrupted():
        try:
            left = await workspace_changes.revert_interrupted(store, draft.tenant, draft.workspace, draft.merging)
        except (OSError, DoorwardError) as error:
            log.warning("the interrupted merge of draft %s cannot be reverted now: %s", draft.id, error)
            continue
        log.warning(
            "the merge of draft %s was interrupted; the workspace is as before%s",
            draft.id,
            f", except for {', '.join(left)}, which changed since" if left else "",
        )
        await drafts.end_merge(draft)


def resolve_conflicts(
    draft: Draft, root: str, conflicts: list[DraftConflict], keep: str
) -> tuple[list[str], list[str], list[str]]:
    """Resolve conflicts in the mounted draft: with markers, or by keeping one version."""
    marked: list[str] = []
    resolved: list[str] = []
    left: list[str] = []
    top = os.open(root, FOLDER_FLAGS)
    try:
        for one in conflicts:
            if keep == "workspace":
                restore(top, one.path, one.before)
            elif not keep:
                merged = _merge_with_markers(one)
                if merged is None:
                    left.append(one.path)
                    continue
                restore(top, one.path, merged)
            (resolved if keep else marked).append(one.path)
            renew_base(draft.bases, one.path, one.before)
    finally:
        os.close(top)
    return marked, resolved, left


def _merge_with_markers(one: DraftConflict) -> Snapshot | None:
    if one.before is None or one.after is None or one.before.kind != "file" or one.after.kind != "file":
        return None
    base = one.base.content if one.base is not None else b""
    merge = merge_text(base or b"", one.before.content or b"", one.after.content or b"", MARKERS)
    if merge is None:
        return None
    return Snapshot("file", one.after.mode, merge.text, len(merge.text), "", one.after.modified)


def _renew_bases(draft: Draft, items: Iterable[OverlayChange], own: Mapping[str, Snapshot]) -> None:
    """Whatever the draft has beyond these versions is new: it was not merged."""
    for one in items:
        renew_base(draft.bases, one.path, own.get(one.path, one.after))


def outside_git(changes: OverlayChanges) -> list[OverlayChange]:
    """The changes of files that are not git's own."""
    return [one for one in changes.items if not find_repository(one.path)]


def describe_moved_refs(changes: OverlayChanges) -> list[str]:
    """Say which branches move, and from where to where."""
    return [_describe_ref(one) for one in changes.items if _is_ref(one.path)][:_MOST_NAMED]


def _is_ref(path: str) -> bool:
    inside = path[len(find_repository(path)) + 1 :] if find_repository(path) else ""
    return inside == "HEAD" or (inside.startswith("refs/") and not inside.endswith("/"))


def _describe_ref(one: OverlayChange) -> str:
    states = []
    for state in (one.before, one.after):
        text = (state.content or b"").decode(errors="replace").strip() if state is not None else ""
        states.append(text.removeprefix("ref: ")[:40] or "nothing")
    if one.after is not None and one.after.kind == "folder":
        return f"{one.path} is new"
    return escape_invisible(f"{one.path} moves from {states[0]} to {states[1]}", lines=False)


def name_paths(paths: Sequence[str]) -> str:
    """The first of these paths, for a sentence."""
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(escape_invisible(path, lines=False) for path in paths[:_MOST_NAMED]) + more
