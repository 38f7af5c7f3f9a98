"""Submitted drafts: the difference that waits for a person, and what the agent reads once a person merged it."""

from __future__ import annotations

import hashlib
from typing import Annotated, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.draft_files import LeftFacts, Selection
from doorward.core.errors import Conflict, NotFound
from doorward.gate.approval import Approval
from doorward.gate.drafts import Draft
from doorward.sandbox.draft_changes import DraftDifference
from doorward.sandbox.safefs.snapshot import digest_or_empty

SUBMIT = "draft/submit"
_LARGEST_EFFECT = 64_000_000
_MOST_WAITING = 200
"""Approvals among which the submissions of a draft are looked for."""


class Submission(msgspec.Struct, frozen=True, tag=True):
    """What people approve: a draft and its difference. None: it is too large to approve as a whole."""

    draft: str
    difference: DraftDifference | None

    @property
    def mergeable(self) -> DraftDifference | None:
        """The difference, if an approval can merge all of it."""
        return None if self.difference is None or self.difference.conflicts else self.difference


class DraftMerge(TypedDict):
    draft: str
    merged: Annotated[int, Meta(description="How many paths changed in the workspace")]
    execution: Annotated[str, Meta(description="For undo")]
    summary: NotRequired[Annotated[str, Meta(description="What a person merged with draft/merge, in one sentence")]]
    mergedPaths: NotRequired[Annotated[list[str], Meta(description="The first paths that were merged")]]
    left: NotRequired[
        Annotated[list[LeftFacts], Meta(description="The first paths that stay in the draft, whole or in part")]
    ]
    reason: NotRequired[Annotated[str, Meta(description="Why the rest was not merged, in the words of the person")]]
    note: NotRequired[Annotated[str, Meta(description="What became of the agent's call, if it could not be ended")]]


class ReviewedMerge(msgspec.Struct, frozen=True, tag=True):
    """What became of a submission: a person merged all of it or a part with draft/merge."""

    result: DraftMerge


def encode_submission(draft: Draft, found: DraftDifference) -> tuple[bytes, bool]:
    """The effect that people approve, and whether it holds the whole difference."""
    bare = [msgspec.structs.replace(one, before=None, after=None, base=None) for one in found.conflicts]
    effect = msgspec.msgpack.encode(Submission(draft.id, msgspec.structs.replace(found, conflicts=bare)))
    if len(effect) <= _LARGEST_EFFECT:
        return effect, True
    return msgspec.msgpack.encode(Submission(draft.id, None)), False


def decode_effect(effect: bytes | None) -> Submission | ReviewedMerge | None:
    if effect is None:
        return None
    return msgspec.msgpack.decode(effect, type=Submission | ReviewedMerge)


async def find_submission(ctx: Context, id: str) -> Submission:
    """Find a submission of this room that is not decided yet, by its approval."""
    approvals = ctx.services.approvals
    approval = await approvals.find(ctx.caller.tenant, id)
    if approval.room != ctx.call.room or approval.command != SUBMIT:
        raise NotFound(f"There is no submitted draft {id[:64]!r} in this room. `doorward approvals list` lists them.")
    effect = decode_effect(await approvals.effect(approval))
    if approval.state != "pending" or not isinstance(effect, Submission):
        raise Conflict(f"The submission {id} is {approval.state_text}. Its difference is not kept after that.")
    return effect


async def check_may_end(ctx: Context, id: str) -> None:
    """Refuse to answer a submission that waits for somebody else, or for several people."""
    approval = await ctx.services.approvals.find_pending(ctx.caller, id)
    if approval.quorum > 1:
        raise Conflict(
            f"This submission needs {approval.quorum} approvals, so one person cannot merge a part of it.",
            hint="Approve all of it, or deny it with a reason.",
        )


async def _list_waiting(ctx: Context, draft: Draft) -> list[Approval]:
    """The submissions of a draft that wait for this person alone."""
    approvals, found = ctx.services.approvals, []
    for one in await approvals.newest(draft.tenant, _MOST_WAITING):
        asked = (one.state, one.command, one.room, one.caller, one.behalf)
        if asked != ("pending", SUBMIT, draft.room, draft.caller, draft.behalf):
            continue
        if one.quorum > 1 or not approvals.may_decide(ctx.caller, one):
            continue
        effect = decode_effect(await approvals.effect(one))
        if isinstance(effect, Submission) and effect.draft == draft.id:
            found.append(one)
    return found


def describe_merge(ctx: Context, draft: Draft, selection: Selection, reason: str) -> DraftMerge:
    """What this call merged, what it left in the draft, and why."""
    described: DraftMerge = {
        "draft": draft.id,
        "merged": len(selection.changes.items),
        "execution": ctx.call.id,
        "summary": f"{ctx.caller.id} merged {selection.summary}",
        "mergedPaths": selection.merged,
    }
    if selection.left:
        described["left"] = selection.left
    if reason:
        described["reason"] = reason
    return described


async def end_submissions(ctx: Context, draft: Draft, selection: Selection, merge: DraftMerge) -> str:
    """End the waiting submissions of a draft that this call merged: they end with what was merged and left.

    Returns a sentence about those that somebody else decided in the meantime.
    """
    late = ""
    effect = msgspec.msgpack.encode(ReviewedMerge(merge))
    words = f"Merged {selection.summary}"
    if "reason" in merge:
        words += f" Reason: {merge['reason']}"
    for one in await _list_waiting(ctx, draft):
        try:
            await ctx.services.approvals.decide(ctx.caller, one.id, "approve", words, effect=effect)
        except Conflict as error:
            late = f"The submission {one.id} was not ended: {error.message}"
    return late


def make_version(found: DraftDifference) -> str:
    """A short hash of a difference, which tells whether it is the one that a person looked at."""
    hash = hashlib.blake2b(digest_size=12)
    for one in found.changes.items:
        hash.update(f"{one.path}\0{digest_or_empty(one.before)}\0{digest_or_empty(one.after)}\n".encode())
    for conflict in found.conflicts:
        hash.update(f"!{conflict.path}\0{conflict.why}\n".encode())
    return hash.hexdigest()


def check_version(found: DraftDifference, version: str) -> None:
    if version and version != make_version(found):
        raise Conflict(
            "The draft or the workspace has changed since you looked at the difference. Nothing was merged.",
            hint="Look at the difference again.",
        )
