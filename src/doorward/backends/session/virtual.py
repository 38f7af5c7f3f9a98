"""Access of the session shell to virtual files, for redirects, input and file name patterns.

Each access is an inner call of a vfs/* command.
"""

from __future__ import annotations

from typing import Any

from doorward.backends.context import Context
from doorward.backends.session.called import Called, StageFault, called
from doorward.backends.session.exit_codes import WRONG_USE
from doorward.model import Outcome

MOST = 1_000_000
"""Maximum characters of a file that is read as input, the same as the maximum input of a stage."""
_LINES = 1_000_000


async def read(ctx: Context, path: str) -> str:
    """Read a whole virtual file as text."""
    outcome = await _ask(ctx, "vfs/read", {"path": path, "limit": _LINES})
    _must(outcome, path)
    if outcome.result["cut"] or len(outcome.result["content"]) > MOST:
        raise StageFault(f"{path} is too large to be read as input; the maximum is {MOST} characters", 1)
    return str(outcome.result["content"])


async def write(ctx: Context, name: str, path: str, content: str, *, append: bool) -> Called:
    """Write the output of a stage into a virtual file."""
    command = "vfs/append" if append else "vfs/write"
    outcome = await _ask(ctx, command, {"path": path, "content": content})
    made = called(name, outcome)
    made.stdout = ""
    return made


async def names(ctx: Context, folder: str, *, recursive: bool, hidden: bool, most: int) -> list[tuple[str, bool]]:
    """List the paths in a folder and whether each is a folder; an empty list when the folder does not exist."""
    outcome = await _ask(
        ctx, "vfs/list", {"path": folder, "recursive": recursive, "hidden": hidden, "limit": min(most, 10_000)}
    )
    if outcome.code == "not_found":
        return []
    _must(outcome, folder)
    if outcome.result["cut"]:
        raise StageFault(f"{folder} has more than {most} names, the maximum for a pattern; use find", 1)
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
