"""Access of the session shell to virtual files, for redirects, input and file name patterns.

Each access is an inner call of a vfs/* command.
"""

from __future__ import annotations

from typing import Any

from doorward.commands.context import Context
from doorward.core.model import Outcome
from doorward.shell.results import WRONG_USAGE, StageFault, StageResult, result_from_outcome

MAX_CHARACTERS = 1_000_000
"""Maximum characters of a file that is read as input, the same as the maximum input of a stage."""
_LINES = 1_000_000


async def read_virtual_file(ctx: Context, path: str) -> str:
    """Read a whole virtual file as text."""
    outcome = await _call(ctx, "vfs/read", {"path": path, "limit": _LINES})
    _check_done(outcome, path)
    if outcome.result["cut"] or len(outcome.result["content"]) > MAX_CHARACTERS:
        raise StageFault(f"{path} is too large to be read as input; the maximum is {MAX_CHARACTERS} characters", 1)
    return str(outcome.result["content"])


async def write_virtual_file(ctx: Context, name: str, path: str, content: str, *, append: bool) -> StageResult:
    """Write the output of a stage into a virtual file."""
    command = "vfs/append" if append else "vfs/write"
    outcome = await _call(ctx, command, {"path": path, "content": content})
    made = result_from_outcome(name, outcome)
    made.stdout = ""
    return made


async def list_names(ctx: Context, folder: str, *, recursive: bool, hidden: bool, most: int) -> list[tuple[str, bool]]:
    """List the paths in a folder and whether each is a folder; an empty list when the folder does not exist."""
    outcome = await _call(
        ctx, "vfs/list", {"path": folder, "recursive": recursive, "hidden": hidden, "limit": min(most, 10_000)}
    )
    if outcome.code == "not_found":
        return []
    _check_done(outcome, folder)
    if outcome.result["cut"]:
        raise StageFault(f"{folder} has more than {most} names, the maximum for a pattern; use find", 1)
    return [(one["path"], one["kind"] == "folder") for one in outcome.result["items"]]


async def _call(ctx: Context, command: str, params: dict[str, Any]) -> Outcome:
    before, ctx.execution.inherited_streams = ctx.execution.inherited_streams, frozenset()
    try:
        return await ctx.services.run_nested(ctx.call, command, params)
    finally:
        ctx.execution.inherited_streams = before


def _check_done(outcome: Outcome, path: str) -> None:
    if outcome.status == "done":
        return
    if outcome.code == "not_found":
        raise StageFault(f"{path}: No such file or directory", 1)
    made = result_from_outcome(path, outcome)
    raise StageFault(f"{path}: {outcome.message}", 1 if made.exit_code == WRONG_USAGE else made.exit_code, made.ticket)
