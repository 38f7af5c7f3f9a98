"""The command debug/logs: the end of Doorward's log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec
import re2
from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family
from doorward.core.errors import BadParams
from doorward.core.logs import LOG_FILE
from doorward.core.strictjson import DECODE_ERRORS
from doorward.store.rooms import DIRECT

family = Family("debug", category="observing")

_MOST_READ = 4_000_000
_DIRECT_PREFIX = DIRECT.encode()


class LogTail(TypedDict):
    items: Annotated[list[dict[str, Any]], Meta(description="The lines, newest last")]
    matched: Annotated[int, Meta(description="The number of matching lines, including those not shown")]


@family.command(
    "logs",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[
        Example("the last errors", {"includeErrorsOnly": True, "tailLines": 10}),
        Example("log lines about recipes", {"filterPattern": "recipe"}),
    ],
    related=["system/status"],
    server_wide=True,
)
async def logs(
    ctx: Context,
    tail_lines: Annotated[int, Meta(description="Number of lines from the end", ge=1, le=5_000)] = 50,
    include_errors_only: Annotated[bool, Meta(description="Only errors, no warnings or notices")] = False,
    filter_pattern: Annotated[
        str, Meta(description="Only lines that match this regular expression", max_length=500)
    ] = "",
) -> LogTail:
    """Show the end of Doorward's log, newest last.

    Lines that name a direct room of other people are left out. The log never contains secrets.
    """
    try:
        pattern = re2.compile(filter_pattern) if filter_pattern else None
    except re2.error as error:
        raise BadParams(f"filterPattern is not a regular expression: {error}; given {filter_pattern!r}.") from error
    rooms = ctx.services.rooms.of_tenant(ctx.caller.tenant)
    private = [one.id.encode() for one in rooms if one.direct and not one.is_visible_to(ctx.caller)]
    lines = await asyncio.to_thread(_read_tail, ctx.services.home / LOG_FILE, private)
    kept = [line for line in lines if not include_errors_only or line.get("level") in ("ERROR", "CRITICAL")]
    if pattern is not None:
        kept = [line for line in kept if pattern.search(msgspec.json.encode(line).decode())]
    return {"items": kept[-tail_lines:], "matched": len(kept)}


def _read_tail(file: Path, private: Sequence[bytes]) -> list[dict[str, Any]]:
    """Read the last few megabytes, without lines that name a private room. Wrap a line that is not JSON."""
    try:
        with file.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _MOST_READ))
            text = stream.read(_MOST_READ)
    except FileNotFoundError:
        return []
    lines = text.split(b"\n")[:-1]
    whole = lines if size <= _MOST_READ else lines[1:]
    return [
        _parse_line(line) for line in whole if _DIRECT_PREFIX not in line or not any(name in line for name in private)
    ]


def _parse_line(line: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except DECODE_ERRORS:
        return {"message": line.decode(errors="replace")}
