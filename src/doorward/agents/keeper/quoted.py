"""Telling a call that the keeper's model wants from one that merely stands in what it was shown.

Only calls that a model wrote into its text are asked about. A line that it gives to run_command is looked at as what it
would run, so that a command planted in a file is known again in either form.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from doorward.agents.calls.wanted import Wanted
from doorward.agents.keeper.own_tools import Line, Named, meant
from doorward.agents.quoting import NOT_MADE, Quotations
from doorward.errors import BadParams

_OURS = ("help/",)
"""Results that hold our own words: a model is meant to take a line from them."""
_THEIRS = "mcp/"
"""What the commands of other servers begin with, which describe them in words of their own."""


def why_not(quotations: Quotations, calls: Sequence[Wanted], said: Sequence[str], results: Sequence[str]) -> list[str]:
    """For each call why it is not made, or nothing: `said` is what people said, `results` what commands gave."""
    foreign = [text for text in results if _THEIRS in text or not text.startswith(_OURS)]
    reasons = quotations.why_not(map(_bare, calls), (*said, *foreign))
    shown = [" ".join(text.split()) for text in foreign]
    return [
        reason or (NOT_MADE if _stands_in(call, shown) else "") for reason, call in zip(reasons, calls, strict=True)
    ]


def of_servers(instructions: str) -> list[str]:
    """What other servers say of their commands, as far as it stands in what a model is told."""
    return [line for line in instructions.splitlines() if line.startswith(f"- {_THEIRS}")]


def _bare(wanted: Wanted) -> Wanted:
    """A call as the command that it would run, where that is a single one."""
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
    """Whether a line of more than one word stands, as it is, in what a command gave."""
    try:
        what = meant(wanted)
    except BadParams:
        return False
    if not isinstance(what, Line):
        return False
    line = " ".join(what.text.split())
    return " " in line and any(line in text for text in shown)
