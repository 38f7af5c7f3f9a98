"""The command file/delete."""

from __future__ import annotations

from typing import Any

from doorward.backends.context import Context
from doorward.backends.file.changing import KIND, Make, change, expected, foreseen_by_effect, preview
from doorward.backends.file.family import Digest, FilePath, family
from doorward.backends.file.shapes import Deleted
from doorward.beneath import normal
from doorward.command import Example, Undo
from doorward.errors import NotFound
from doorward.facts import Access, Effects, Safety, Tier


@family.command(
    "delete",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=2,
    timeout=30,
    undo=Undo(KIND),
    examples=[Example("remove the old draft", {"path": "drafts/old.md"})],
    related=["file/undo", "file/history"],
    reveals="file/read",
)
async def delete(ctx: Context, path: FilePath, expected_digest: Digest = None) -> Deleted:
    """Delete a file. To restore it, run file/undo with the execution id of this call."""
    name = normal(path, file=True)
    (done,) = await change(ctx, {name: expected(_removed(name), name, expected_digest)}, parents=False)
    return {"path": name, "deleted": True, "bytesBefore": len(done.before or b""), "execution": ctx.call.id}


@delete.shows_effect
async def show_delete(ctx: Context, path: FilePath, expected_digest: Digest = None) -> dict[str, Any]:
    name = normal(path, file=True)
    return await preview(ctx, name, expected(_removed(name), name, expected_digest), parents=False)


foreseen_by_effect(delete)


def _removed(path: str) -> Make:
    def make(present: bytes | None) -> None:
        if present is None:
            raise NotFound(f"There is no file {path!r} in the workspace. file/list shows the files.")

    return make
