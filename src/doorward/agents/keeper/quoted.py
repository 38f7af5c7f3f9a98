"""Detect calls that the keeper's model only quotes from its prompt.

Only calls written in the text of an answer are checked. A run_command line is also compared as the command it would
run, so that a command planted in a file is recognised in either form.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from doorward.agents.calls.wanted import Wanted
from doorward.agents.keeper.own_tools import Line, Named, meant
from doorward.agents.quoting import NOT_MADE, Quotations
from doorward.errors import BadParams

_OURS = ("help/",)
"""Results with text of Doorward itself: models are meant to copy calls from them."""
_THEIRS = "mcp/"
"""The prefix of commands of other servers, whose descriptions come from those servers."""


def why_not(quotations: Quotations, calls: Sequence[Wanted], said: Sequence[str], results: Sequence[str]) -> list[str]:
    """Return for each call the reason not to run it, or "". `said` is text of people, `results` is command output."""
    foreign = [text for text in results if _THEIRS in text or not text.startswith(_OURS)]
    reasons = quotations.why_not(map(_bare, calls), (*said, *foreign))
    shown = [" ".join(text.split()) for text in foreign]
    return [
        reason or (NOT_MADE if _stands_in(call, shown) else "") for reason, call in zip(reasons, calls, strict=True)
    ]


def of_servers(instructions: str) -> list[str]:
    """Return the descriptions that other servers give of their commands, from the instructions of a prompt."""
    return [line for line in instructions.splitlines() if line.startswith(f"- {_THEIRS}")]


def _bare(wanted: Wanted) -> Wanted:
    """Return the command call that a tool call runs, if it is a single one."""
    try:
        what = meant(wanted)
    except BadParams:
        return wanted
    if isinstance(what, Named):
        return Wanted(name=what.name, params=what.params) if wanted.args is None else wanted
    if isinstance(what, Line):
        try:
            name, *words = shlex.split(what.text)
        except ValueError:
            return wanted
        pairs = [word.removeprefix("--").partition("=") for word in words if word.startswith("--")]
        if name and len(pairs) == len(words):
            return Wanted(name=name, args=tuple((key, value or "true") for key, _, value in pairs))
    return wanted


def _stands_in(wanted: Wanted, shown: Sequence[str]) -> bool:
    """Whether a line of more than one word appears literally in the output of a command."""
    try:
        what = meant(wanted)
    except BadParams:
        return False
    if not isinstance(what, Line):
        return False
    line = " ".join(what.text.split())
    return " " in line and any(line in text for text in shown)
