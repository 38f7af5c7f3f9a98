"""Commands draft/*: drafts of a room's workspace, which agents change. draft_merge.py has those that merge them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal, NotRequired, TypedDict, cast

import msgspec
from msgspec import Meta

from doorward.commands import draft_review as review
from doorward.commands.context import Context, Listing, make_listing
from doorward.commands.draft_files import select
from doorward.commands.draft_review import DifferenceFacts, find_draft
from doorward.commands.draft_submission import DraftMerge
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import BadParams, Conflict
from doorward.gate.drafts import Draft

family = Family("draft", category="files")

_SECONDS = 60

DraftId = Annotated[str, Meta(description="The draft's id; your own current draft by default", max_length=40)]
Paths = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=4096)], ...],
    Meta(description="Only these files or folders; everything by default", max_length=5_000),
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
    lastMerge: NotRequired[Annotated[DraftMerge, Meta(description="What was merged of it last, and what was left")]]


class DraftDiff(TypedDict):
    draft: str
    diff: str
    linesAdded: int
    linesRemoved: int


class DraftUpdate(TypedDict):
    draft: str
    marked: Annotated[list[str], Meta(description="Paths that have both versions now, with markers")]
    resolved: list[str]
    left: Annotated[list[str], Meta(description="Paths that are not text; keep one version")]


class DraftDrop(TypedDict):
    draft: str
    dropped: bool


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
    """Show what a draft changes: files, conflicts with the workspace, the last test run and the last merge."""
    draft = find_draft(ctx, id)
    merged = {} if draft.last_merge is None else {"lastMerge": draft.last_merge}
    described = review.describe(draft, await review.read(ctx, draft))
    return cast("DraftStatus", {**_describe(ctx, draft), **described, **merged})


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
    draft = find_draft(ctx, id)
    found = await review.read(ctx, draft, paths)
    if paths:
        found = msgspec.structs.replace(found, changes=select(found, paths, {}))
    shown = await asyncio.to_thread(review.render, draft, found)
    return {"draft": draft.id, "diff": shown.text, "linesAdded": shown.added, "linesRemoved": shown.removed}


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
    draft = find_draft(ctx, id)
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
        draft = find_draft(ctx, id)
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
    draft = find_draft(ctx, id)
    await ctx.services.drafts.drop(draft)
    return {"draft": draft.id, "dropped": True}


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
