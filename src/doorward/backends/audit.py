"""The command audit/verify: check the integrity of the ledger."""

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
    segments: Annotated[int, Meta(description="The number of archived segment files that were read")]
    broken: Annotated[str, Meta(description="The first problem found; empty if the ledger is intact")]


@family.command(
    "verify",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.ROOT,
    safety=Safety.SAFE,
    cost=10,
    timeout=300,
    undo=READS_ONLY,
    examples=[Example("check that the ledger is intact", {})],
    related=["data/list"],
    house_wide=True,
)
async def verify_record(ctx: Context) -> Verified:
    """Verify the ledger: no record was changed, removed, reordered or cut off."""
    home = ctx.house.home
    found = await asyncio.to_thread(verify, LedgerPaths.of(home), Home(home).key())
    return {
        "verified": not found.broken,
        "records": found.records,
        "checkpoints": found.checkpoints,
        "segments": found.segments,
        "broken": found.broken,
    }
