"""Commands draft/*: drafts of a room's workspace, which agents change and people merge."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands import draft_review as review
from doorward.commands.context import Context, Listing, make_listing
from doorward.commands.draft_review import DifferenceFacts
from doorward.commands.workspace_changes import KIND
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family, NoUndo, Undo
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.gate.drafts import Draft
from doorward.sandbox.draft_changes import DraftDifference
from doorward.sandbox.overlay_changes import OverlayChanges
from doorward.sandbox.safefs.snapshot import Snapshot

family = Family("draft", category="files")

_LARGEST_EFFECT = 64_000_000
_SECONDS = 60

DraftId = Annotated[str, Meta(description="The draft's id; your own current draft by default", max_length=40)]
Paths = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=4096)], ...],
    Meta(description="Only these files or folders; everything by default", max_length=1_000),
]


class DraftFacts(TypedDict):
    id: str
    name: str
    agent: str
    onBehalfOf: str
    workspace: str
    created: str
    bytes: Annotated[int, Meta(description="Its size on disk when it was last measured")]
    mostBytes: int
    current: Annotated[bool, Meta(description="Whether this call works in it")]


class DraftStatus(DraftFacts, DifferenceFacts):
    pass


class DraftDiff(TypedDict):
    draft: str
    diff: str
    linesAdded: int
    linesRemoved: int


class DraftMerge(TypedDict):
    draft: str
    merged: Annotated[int, Meta(description="How many paths changed in the workspace")]
    execution: Annotated[str, Meta(description="For undo")]


class DraftUpdate(TypedDict):
    draft: str
    marked: Annotated[list[str], Meta(description="Paths that have both versions now, with markers")]
    resolved: list[str]
    left: Annotated[list[str], Meta(description="Paths that are not text; keep one version")]


class DraftDrop(TypedDict):
    draft: str
    dropped: bool


class _Reviewed(msgspec.Struct, frozen=True):
    """What people approve: a draft and its changes."""

    draft: str
    changes: OverlayChanges
    merged: dict[str, Snapshot]


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("which drafts are open in this room", {})],
    related=["draft/status", "draft/diff"],
    is_status_poll=True,
)
async def list_drafts(ctx: Context) -> Listing[DraftFacts]:
    """List the open drafts of this room, with their agents."""
    found = ctx.services.drafts.list_room(ctx.caller.tenant, ctx.call.room)
    return make_listing([_describe(ctx, draft) for draft in found])


@family.command(
    "status",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=_SECONDS,
    undo=READS_ONLY,
    examples=[Example("what did I change in my draft", {})],
    related=["draft/diff", "draft/submit"],
)
async def status(ctx: Context, id: DraftId = "") -> DraftStatus:
    """Show what a draft changes: files, conflicts with the workspace, and the last test run."""
    draft = _find(ctx, id)
    return {**_describe(ctx, draft), **review.describe(draft, await review.read(ctx, draft))}


@family.command(
    "diff",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=_SECONDS,
    undo=READS_ONLY,
    examples=[Example("show the difference of one file", {"paths": ["src/app.py"]})],
    related=["draft/status", "draft/submit"],
)
async def diff(ctx: Context, id: DraftId = "", paths: Paths = ()) -> DraftDiff:
    """Show the difference between a draft and the workspace, with conflicts and what would run later."""
    draft = _find(ctx, id)
    found = await review.read(ctx, draft, paths)
    if paths:
        found = msgspec.structs.replace(found, changes=review.select(found, paths, {}))
    shown = await asyncio.to_thread(review.render, draft, found)
    return {"draft": draft.id, "diff": shown.text, "linesAdded": shown.added, "linesRemoved": shown.removed}


@family.command(
    "submit",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=2,
    timeout=_SECONDS,
    undo=Undo(KIND),
    examples=[Example("hand in the work for review", {"message": "Parse dates with time zones; all tests pass"})],
    related=["draft/status", "draft/diff", "draft/update"],
)
async def submit(
    ctx: Context,
    message: Annotated[str, Meta(description="What the change is and how it was tested", max_length=2_000)] = "",
) -> DraftMerge:
    """Submit your draft for review. A person sees the whole difference; once approved, it is merged into the workspace.

    The workspace changes all at once, and `undo` reverts it. The draft stays open for more work.
    """
    draft = _find(ctx, "")
    reviewed = msgspec.msgpack.decode(ctx.effect, type=_Reviewed) if ctx.effect else None
    if reviewed is None or reviewed.draft != draft.id:
        found = await review.read(ctx, draft)
        _check_mergeable(found)
        raise Conflict("Nobody saw this difference, so nothing was merged.", hint="Call draft/submit again.")
    if not reviewed.changes.items:
        raise Conflict("The draft changes nothing, so there is nothing to merge.")
    await review.merge(ctx, draft, reviewed.changes, reviewed.merged)
    return {"draft": draft.id, "merged": len(reviewed.changes.items), "execution": ctx.call.id}


submit.asks_first = submit.approves_effect = True


@submit.describes_effect
async def submit_effect(ctx: Context, message: str = "") -> DifferenceFacts:
    draft = _find(ctx, "")
    return review.describe(draft, await review.read(ctx, draft))


@submit.previews_effect
async def submit_preview(ctx: Context, message: str = "") -> EffectPreview:
    draft = _find(ctx, "")
    found = await review.read(ctx, draft)
    shown = await asyncio.to_thread(review.render, draft, found, message)
    effect = None if found.conflicts else msgspec.msgpack.encode(_Reviewed(draft.id, found.changes, found.merged))
    if effect is not None and len(effect) > _LARGEST_EFFECT:
        text = f"It is too large to approve in one step. Merge it in parts: doorward run draft/merge --id={draft.id}.\n"
        return EffectPreview(None, text + shown.text, shown.added, shown.removed)
    return EffectPreview(effect, shown.text, shown.added, shown.removed)


@family.command(
    "merge",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=2,
    timeout=_SECONDS,
    undo=Undo(KIND),
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
) -> DraftMerge:
    """Merge a draft into the workspace: all of it, some files, or some hunks. The rest stays in the draft."""
    draft = _find(ctx, id)
    found = await review.read(ctx, draft, (*paths, *hunks))
    changes = review.select(found, paths, hunks) if paths or hunks else found.changes
    if not paths and not hunks:
        _check_mergeable(found)
    if not changes.items:
        raise Conflict("The draft changes nothing, so there is nothing to merge.")
    own = {path: state for path, state in found.merged.items() if path not in hunks}
    await review.merge(ctx, draft, changes, own)
    return {"draft": draft.id, "merged": len(changes.items), "execution": ctx.call.id}


@merge.describes_effect
async def merge_effect(
    ctx: Context, id: str = "", paths: tuple[str, ...] = (), hunks: dict[str, tuple[int, ...]] | None = None
) -> DifferenceFacts:
    draft = _find(ctx, id)
    found = await review.read(ctx, draft, (*paths, *(hunks or ())))
    if paths or hunks:
        found = msgspec.structs.replace(found, changes=review.select(found, paths, hunks or {}))
    return review.describe(draft, found)


@family.command(
    "update",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=2,
    timeout=_SECONDS,
    undo=NoUndo("The draft's own version of the file is replaced; the workspace stays as it is."),
    examples=[
        Example("bring conflicting changes of the workspace into the draft", {}),
        Example("keep the draft's version of a file", {"path": "logo.png", "keep": "draft"}),
    ],
    related=["draft/status", "draft/submit"],
)
async def update(
    ctx: Context,
    id: DraftId = "",
    path: Annotated[str, Meta(description="One conflicting path; all of them by default", max_length=4096)] = "",
    keep: Annotated[
        Literal["", "draft", "workspace"], Meta(description="Whose version to keep; by default both, with markers")
    ] = "",
) -> DraftUpdate:
    """Resolve conflicts in a draft after the workspace changed: both versions with markers, or one of them."""
    draft = _find(ctx, id)
    found = await review.read(ctx, draft)
    conflicts = [one for one in found.conflicts if not path or one.path == path]
    if path and not conflicts:
        valid = ", ".join(one.path for one in found.conflicts) or "none"
        raise BadParams(f"There is no conflict in {path!r}; valid: {valid}.")
    root = await ctx.services.drafts.mount(draft)
    marked, resolved, left = await asyncio.to_thread(review.resolve_conflicts, draft, root, conflicts, keep)
    return {"draft": draft.id, "marked": marked, "resolved": resolved, "left": left}


@family.command(
    "open",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.SAFE,
    cost=1,
    timeout=_SECONDS,
    undo=NoUndo("Drop the draft instead: draft/drop."),
    examples=[Example("start another task beside this one", {"name": "time zones"})],
    related=["draft/list", "draft/drop"],
)
async def open_draft(
    ctx: Context,
    name: Annotated[str, Meta(description="A name for a new draft", max_length=100)] = "",
    id: Annotated[str, Meta(description="An open draft of yours to go on with", max_length=40)] = "",
) -> DraftFacts:
    """Open another draft, or go on with an open one. This session works in it from now on."""
    drafts = ctx.services.drafts
    if not drafts.uses_drafts(ctx.caller.tenant, ctx.call.room) or ctx.caller.kind == "human":
        raise Conflict("There are no drafts for you here: only agents have them, where the recipe says so.")
    if id:
        draft = _find(ctx, id)
        drafts.switch(draft, ctx.call.session)
    else:
        draft = drafts.open_another(ctx.caller, ctx.call.room, ctx.call.session, name)
        await drafts.mount(draft)
    return _describe(ctx, draft)


@family.command(
    "drop",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=_SECONDS,
    undo=NoUndo("The draft and everything in it is deleted; the workspace stays as it is."),
    examples=[Example("give up this work", {"id": "5f3a9c21"})],
    related=["draft/list", "draft/status"],
)
async def drop(ctx: Context, id: DraftId = "") -> DraftDrop:
    """Delete a draft with everything in it. The workspace stays as it is."""
    draft = _find(ctx, id)
    await ctx.services.drafts.drop(draft)
    return {"draft": draft.id, "dropped": True}


def _find(ctx: Context, id: str) -> Draft:
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


def _describe(ctx: Context, draft: Draft) -> DraftFacts:
    return {
        "id": draft.id,
        "name": draft.name,
        "agent": draft.caller,
        "onBehalfOf": draft.behalf,
        "workspace": draft.workspace,
        "created": to_iso(draft.created_at),
        "bytes": draft.size.bytes,
        "mostBytes": ctx.services.settings.sandbox.draft_bytes,
        "current": draft.id == ctx.call.draft,
    }


def _check_mergeable(found: DraftDifference) -> None:
    if found.conflicts:
        named = "; ".join(f"{one.path}: {one.why}" for one in found.conflicts[:10])
        raise Conflict(
            f"The workspace changed meanwhile, so the draft cannot be merged. {named}.",
            hint="draft/update brings the changes into the draft; resolve the markers and submit again.",
        )
