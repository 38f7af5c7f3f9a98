"""Commands of the review of a draft: draft/submit, draft/review, draft/hunks and draft/merge."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Annotated, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands import draft_review as review
from doorward.commands import workspace_changes
from doorward.commands.context import Context
from doorward.commands.draft import DraftId, Paths
from doorward.commands.draft_files import FileFacts, choose, list_files, read_hunks, select
from doorward.commands.draft_review import ConflictFacts, DifferenceFacts, IgnoredFacts, LastRunFacts, find_draft
from doorward.commands.draft_submission import (
    DraftMerge,
    ReviewedMerge,
    Submission,
    check_may_end,
    check_version,
    decode_effect,
    describe_merge,
    encode_submission,
    end_submissions,
    find_submission,
    make_version,
)
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, Undo
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import BadParams, Conflict
from doorward.gate.drafts import Draft
from doorward.sandbox.draft_changes import DraftDifference
from doorward.sandbox.safefs.guarded_paths import find_repository

family = Family("draft", category="files")

_SECONDS = 60
_LONGEST_REASON = 400
_MOST_FILES = 5_000
_MOST_NAMED = 50

ApprovalId = Annotated[
    str, Meta(description="A draft/submit that waits, by its ticket: the difference as it was submitted", max_length=64)
]


class GitFacts(TypedDict):
    files: Annotated[int, Meta(description="How many of git's own files change")]
    moves: Annotated[list[str], Meta(description="Which branches move")]
    repositories: Annotated[list[str], Meta(description="The folders of these files, for `paths` of draft/merge")]


class DraftReview(TypedDict):
    draft: str
    agent: str
    submitted: Annotated[bool, Meta(description="Whether this is the difference that was submitted, not the present")]
    version: Annotated[str, Meta(description="For draft/merge, which merges nothing if the difference changed")]
    files: list[FileFacts]
    moreFiles: Annotated[int, Meta(description="How many more files change that are not listed")]
    conflicts: Annotated[list[ConflictFacts], Meta(description="Paths that cannot be merged until they are resolved")]
    ignored: Annotated[IgnoredFacts, Meta(description="Paths that .gitignore names; they stay in the draft")]
    git: GitFacts
    notes: Annotated[list[str], Meta(description="What a merge never applies, and why a merge may not be undoable")]
    lastRun: NotRequired[Annotated[LastRunFacts, Meta(description="The last test or build in the draft")]]


class HunkFacts(TypedDict):
    number: int
    linesAdded: int
    linesRemoved: int
    text: Annotated[str, Meta(description="A part of the hunk in unified format, with its heading")]
    next: Annotated[int | None, Meta(description="The `offset` of the rest of this hunk; null at its end")]


class DraftHunks(TypedDict):
    version: str
    path: str
    hunks: list[HunkFacts]


@family.command(
    "submit",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=2,
    timeout=_SECONDS,
    undo=Undo(workspace_changes.KIND),
    examples=[Example("hand in the work for review", {"message": "Parse dates with time zones; all tests pass"})],
    related=["draft/status", "draft/diff", "draft/update"],
)
async def submit(
    ctx: Context,
    message: Annotated[str, Meta(description="What the change is and how it was tested", max_length=2_000)] = "",
) -> DraftMerge:
    """Submit your draft for review. A person sees the whole difference; once approved, it is merged into the workspace.

    The person may merge only a part: then `left` and `reason` say what stays in the draft, and why. The workspace
    changes all at once, and `undo` reverts it. The draft stays open for more work.
    """
    effect = await asyncio.to_thread(decode_effect, ctx.effect)
    if isinstance(effect, ReviewedMerge):
        return effect.result
    draft = find_draft(ctx, "")
    submitted = effect.mergeable if isinstance(effect, Submission) and effect.draft == draft.id else None
    if submitted is None:
        found = await review.read(ctx, draft)
        _check_mergeable(found)
        raise Conflict("Nobody saw this difference, so nothing was merged.", hint="Call draft/submit again.")
    if not submitted.changes.items:
        raise Conflict("The draft changes nothing, so there is nothing to merge.")
    await review.merge(ctx, draft, submitted.changes, submitted.merged)
    merged: DraftMerge = {"draft": draft.id, "merged": len(submitted.changes.items), "execution": ctx.call.id}
    await ctx.services.drafts.note_merge(draft, merged)
    return merged


submit.asks_first = submit.approves_effect = True


@submit.describes_effect
async def submit_effect(ctx: Context, message: str = "") -> DifferenceFacts:
    draft = find_draft(ctx, "")
    return review.describe(draft, await review.read(ctx, draft))


@submit.previews_effect
async def submit_preview(ctx: Context, message: str = "") -> EffectPreview:
    draft = find_draft(ctx, "")
    found = await review.read(ctx, draft)
    shown = await asyncio.to_thread(review.render, draft, found, message)
    effect, whole = await asyncio.to_thread(encode_submission, draft, found)
    note = f"It is too large to approve in one step. Merge it in parts: doorward run draft/merge --id={draft.id}.\n"
    return EffectPreview(effect, ("" if whole else note) + shown.text, shown.added, shown.removed)


@family.command(
    "review",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=_SECONDS,
    undo=READS_ONLY,
    examples=[Example("what would a merge of this draft change", {"id": "5f3a9c21"})],
    related=["draft/hunks", "draft/merge"],
    humans_only=True,
    is_status_poll=True,
)
async def review_draft(ctx: Context, id: DraftId = "", approval: ApprovalId = "") -> DraftReview:
    """List the files that a draft changes, with line counts, hunks, warnings, conflicts and the last test run."""
    draft, found, submitted = await _read_reviewed(ctx, id, approval)
    files = await asyncio.to_thread(list_files, found)
    changes = found.changes
    why = workspace_changes.explain_not_undoable(changes)
    notes = [f"It cannot be merged in one step, because {why}. Choose a part of it."] if why else []
    if changes.withheld:
        notes.append(workspace_changes.describe_withheld(changes.withheld))
    if changes.left_out:
        notes.append(f"Pipes, sockets and devices stay in the draft: {review.name_paths(changes.left_out)}.")
    reviewed: DraftReview = {
        "draft": draft.id,
        "agent": draft.caller,
        "submitted": submitted,
        "version": await asyncio.to_thread(make_version, found),
        "files": files[:_MOST_FILES],
        "moreFiles": max(0, len(files) - _MOST_FILES),
        "conflicts": [{"path": one.path, "why": one.why} for one in found.conflicts[:_MOST_FILES]],
        "ignored": {"total": len(found.ignored), "first": found.ignored[:_MOST_NAMED]},
        "git": _describe_git(found),
        "notes": notes,
    }
    if draft.last_run is not None:
        reviewed["lastRun"] = review.describe_run(draft.last_run)
    return reviewed


@family.command(
    "hunks",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=_SECONDS,
    undo=READS_ONLY,
    examples=[Example("show the hunks of one file", {"id": "5f3a9c21", "path": "src/app.py"})],
    related=["draft/review", "draft/merge"],
    humans_only=True,
    is_status_poll=True,
)
async def hunks_of_file(
    ctx: Context,
    path: Annotated[str, Meta(description="A file that the draft changes", min_length=1, max_length=4096)],
    id: DraftId = "",
    approval: ApprovalId = "",
    hunk: Annotated[int, Meta(description="Only this hunk, counted from 1; all by default", ge=0)] = 0,
    offset: Annotated[int, Meta(description="Where to start in each hunk, in characters", ge=0)] = 0,
    limit: Annotated[int, Meta(description="Maximum characters of all hunks together", ge=1, le=200_000)] = 50_000,
) -> DraftHunks:
    """Show the hunks of one file of a draft, numbered as draft/merge takes them."""
    _, found, _ = await _read_reviewed(ctx, id, approval, (path,))
    hunks = await asyncio.to_thread(read_hunks, found, path)
    if hunk > len(hunks):
        raise BadParams(f"{path!r} has hunks 1 to {len(hunks)}; given {hunk}.")
    shown: list[HunkFacts] = []
    for number, one in enumerate(hunks, 1):
        if hunk in (0, number):
            text, next = _cut(one.text, offset, limit)
            limit -= len(text)
            shown.append(
                {"number": number, "linesAdded": one.added, "linesRemoved": one.removed, "text": text, "next": next}
            )
    return {"version": await asyncio.to_thread(make_version, found), "path": path, "hunks": shown}


@family.command(
    "merge",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=2,
    timeout=_SECONDS,
    undo=Undo(workspace_changes.KIND),
    examples=[
        Example("merge one file of a draft", {"id": "5f3a9c21", "paths": ["src/app.py"]}),
        Example("merge two hunks of a file", {"id": "5f3a9c21", "hunks": {"src/app.py": [1, 3]}}),
    ],
    related=["draft/diff", "draft/drop"],
    humans_only=True,
)
async def merge(
    ctx: Context,
    id: DraftId = "",
    paths: Paths = (),
    hunks: Annotated[
        dict[str, tuple[int, ...]], Meta(description="Only these hunks of a file, counted from 1 as in its diff")
    ] = {},  # noqa: B006 - never changed
    approval: ApprovalId = "",
    version: Annotated[
        str, Meta(description="From draft/review: merge nothing if the difference is another by now", max_length=64)
    ] = "",
    reason: Annotated[
        str, Meta(description="Why the rest is not merged, for the agent to read", max_length=_LONGEST_REASON)
    ] = "",
) -> DraftMerge:
    """Merge a draft into the workspace: all of it, some files, or some hunks. The rest stays in the draft.

    If the agent has submitted the draft, its call ends, and its result says what was merged, what was left, and why.
    """
    draft, found, _ = await _read_reviewed(ctx, id, approval, (*paths, *hunks))
    if approval:
        await check_may_end(ctx, approval)
    check_version(found, version)
    if not paths and not hunks:
        _check_mergeable(found)
    selection = await asyncio.to_thread(choose, found, paths, hunks)
    changes = selection.changes
    if not changes.items:
        raise Conflict("The draft changes nothing, so there is nothing to merge.")
    own = {path: state for path, state in found.merged.items() if path not in hunks}
    await review.merge(ctx, draft, changes, own)
    merged = describe_merge(ctx, draft, selection, reason.strip())
    await ctx.services.drafts.note_merge(draft, merged)
    note = await end_submissions(ctx, draft, selection, merged)
    if note:
        merged["note"] = note
    return merged


@merge.describes_effect
async def merge_effect(
    ctx: Context,
    id: str = "",
    paths: tuple[str, ...] = (),
    hunks: dict[str, tuple[int, ...]] | None = None,
    approval: str = "",
    version: str = "",
    reason: str = "",
) -> DifferenceFacts:
    draft, found, _ = await _read_reviewed(ctx, id, approval, (*paths, *(hunks or ())))
    check_version(found, version)
    if paths or hunks:
        found = msgspec.structs.replace(found, changes=select(found, paths, hunks or {}))
    return review.describe(draft, found)


async def _read_reviewed(
    ctx: Context, id: str, approval: str, paths: Collection[str] = ()
) -> tuple[Draft, DraftDifference, bool]:
    """The draft that a person reviews, and its difference: the present one, or as it was submitted, which is True."""
    if not approval:
        draft = find_draft(ctx, id)
        return draft, await review.read(ctx, draft, paths), False
    submission = await find_submission(ctx, approval)
    draft = find_draft(ctx, submission.draft)
    if id and id != draft.id:
        raise BadParams(f"The approval {approval} is about the draft {draft.id}; given {id[:40]!r}.")
    if submission.difference is None:
        return draft, await review.read(ctx, draft, paths), False
    return draft, submission.difference, True


def _cut(text: str, offset: int, limit: int) -> tuple[str, int | None]:
    """A part of a text, to the end of a line where possible, and where the rest starts."""
    end = offset + limit
    if end >= len(text):
        return text[offset:], None
    end = text.rfind("\n", offset, end) + 1 or end
    return text[offset:end], end


def _describe_git(found: DraftDifference) -> GitFacts:
    inside = [one.path for one in found.changes.items if find_repository(one.path)]
    repositories = sorted({find_repository(path) for path in inside})
    return {"files": len(inside), "moves": review.describe_moved_refs(found.changes), "repositories": repositories}


def _check_mergeable(found: DraftDifference) -> None:
    if found.conflicts:
        named = "; ".join(f"{one.path}: {one.why}" for one in found.conflicts[:10])
        raise Conflict(
            f"The workspace changed meanwhile, so the draft cannot be merged. {named}.",
            hint="draft/update brings the changes into the draft; resolve the markers and submit again.",
        )
