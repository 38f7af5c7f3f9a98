"""Virtual files as the session shell itself reads and writes them: for redirects, input and patterns of names.

Each access is a call inside the running one, by the commands of virtual files.
"""

from __future__ import annotations

from typing import Any

from doorward.backends.context import Context
from doorward.backends.session.called import Called, StageFault, called
from doorward.backends.session.exit_codes import WRONG_USE
from doorward.model import Outcome

MOST = 1_000_000
"""How many characters a file may have that is read for a stage, as much as a stage may be given."""
_LINES = 1_000_000


async def read(ctx: Context, path: str) -> str:
    """The whole of a virtual file, as text."""
    outcome = await _ask(ctx, "vfs/read", {"path": path, "limit": _LINES})
    _must(outcome, path)
    if outcome.result["cut"] or len(outcome.result["content"]) > MOST:
        raise StageFault(f"{path} is too large to be read as input; at most {MOST} characters are", 1)
    return str(outcome.result["content"])


async def write(ctx: Context, name: str, path: str, content: str, *, append: bool) -> Called:
    """Write what a stage printed into a virtual file."""
    command = "vfs/append" if append else "vfs/write"
    outcome = await _ask(ctx, command, {"path": path, "content": content})
    made = called(name, outcome)
    made.stdout = ""
    return made


async def names(ctx: Context, folder: str, *, recursive: bool, hidden: bool, most: int) -> list[tuple[str, bool]]:
    """The paths in a folder and whether each is a folder itself. None where there is no such folder."""
    outcome = await _ask(
        ctx, "vfs/list", {"path": folder, "recursive": recursive, "hidden": hidden, "limit": min(most, 10_000)}
    )
    if outcome.code == "not_found":
        return []
    _must(outcome, folder)
    if outcome.result["cut"]:
        raise StageFault(f"{folder} holds more names than a pattern is compared with ({most}); use find", 1)
    return [(one["path"], one["kind"] == "folder") for one in outcome.result["items"]]


async def _ask(ctx: Context, command: str, params: dict[str, Any]) -> Outcome:
    before, ctx.execution.hears = ctx.execution.hears, frozenset()
    try:
        return await ctx.house.ask(ctx.call, command, params)
    finally:
        ctx.execution.hears = before


def _must(outcome: Outcome, path: str) -> None:
    if outcome.status == "done":
        return
    if outcome.code == "not_found":
        raise StageFault(f"{path}: No such file or directory", 1)
    made = called(path, outcome)
    raise StageFault(f"{path}: {outcome.message}", 1 if made.exit_code == WRONG_USE else made.exit_code, made.ticket)
