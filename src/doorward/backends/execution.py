"""execution/*: what became of a call."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from doorward.backends.context import Context
from doorward.command import READS_ONLY, Example, Family
from doorward.errors import NotFound
from doorward.facts import Access, Effects, Safety, Tier
from doorward.store import results

family = Family("execution", category="history")


@family.command(
    "output",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("read on where it was cut", {"execution": "01k9x2m4q7ab3cde", "offset": 30_000})],
)
async def output(
    ctx: Context,
    execution: Annotated[str, Meta(description="The execution whose result was cut", max_length=64)],
    offset: Annotated[int, Meta(description="The first character to show", ge=0)] = 0,
    length: Annotated[int, Meta(description="How many characters to show", ge=1, le=25_000)] = 20_000,
) -> dict[str, Any]:
    """Read the rest of a result that was too long to show whole. Only your own results can be read."""
    found = await results.find(ctx.store, ctx.caller.tenant, execution)
    if found is None or not ctx.caller.identities & {found["caller"], found["behalf"]}:
        raise NotFound(
            f"There is no kept result of an execution {execution!r} of yours; "
            f"long results are kept for {ctx.house.settings.limits.result_hours:g} hours."
        )
    body = found["body"]
    return {
        "text": body[offset : offset + length],
        "offset": offset,
        "total": len(body),
        "next": offset + length if offset + length < len(body) else None,
    }
