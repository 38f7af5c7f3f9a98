"""Keeps the last check that ran in a draft, to be shown beside the difference when a person reviews it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from doorward.commands.context import Context
from doorward.gate.drafts import DraftRun
from doorward.sandbox.program import SandboxResult

_LONGEST_COMMAND = 200
_LONGEST_OUTPUT = 4_000
_CHECKS = re.compile(r"\b(\w*tests?|check|lint|build|ruff|mypy|tsc|tox|nox|jest|vitest|mocha|ctest|make|cargo|go)\b")
"""Programs that test or build something. A later `ls` does not replace their output."""


async def note_run(ctx: Context, argv: Sequence[str], ended: SandboxResult) -> None:
    """Keep the end of a check. Other programs are kept only as long as there was none."""
    command = argv[-1] if argv[0] == "bash" and argv[-2:-1] == ("-c",) else shlex.join(argv)
    draft = ctx.services.drafts.get(ctx.call.draft)
    if draft.last_run is not None and not _CHECKS.search(command):
        return
    output = (ended.stdout + ended.stderr)[-_LONGEST_OUTPUT:].decode("utf-8", "replace")
    shown = command if len(command) <= _LONGEST_COMMAND else f"{command[:_LONGEST_COMMAND]}…"
    await ctx.services.drafts.note_run(draft, DraftRun(shown, ended.exit_code, output, ctx.services.clock.now()))
