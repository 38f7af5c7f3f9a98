"""audit/verify: whether the record is still as it was written."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.command import READS_ONLY, Example, Family
from doorward.facts import Access, Effects, Safety, Tier
from doorward.home import Home
from doorward.ledger.paths import LedgerPaths
from doorward.ledger.verify import verify

family = Family("audit", category="history")


class Verified(TypedDict):
    verified: bool
    records: int
    checkpoints: int
    segments: Annotated[int, Meta(description="How many files of moved-out records were read")]
    broken: Annotated[str, Meta(description="What is not as it was written; empty when all is")]


@family.command(
    "verify",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.ROOT,
    safety=Safety.SAFE,
    cost=10,
    timeout=300,
    undo=READS_ONLY,
    examples=[Example("is the record as it was written", {})],
    related=["data/list"],
    house_wide=True,
)
async def verify_record(ctx: Context) -> Verified:
    """Check that no record of the whole house was changed, dropped, moved or cut off."""
    home = ctx.house.home
    found = await asyncio.to_thread(verify, LedgerPaths.of(home), Home(home).key())
    return {
        "verified": not found.broken,
        "records": found.records,
        "checkpoints": found.checkpoints,
        "segments": found.segments,
        "broken": found.broken,
    }
