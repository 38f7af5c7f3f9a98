"""Terminal view of `doorward recipe diff`: the decisions that would change."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec

from doorward.cli import report
from doorward.model import Outcome
from doorward.visible import visible

FLIPS = 6
"""Exit code when a decision would change or cannot be determined. No other outcome has it."""

_WORDS = {"allowed": "allowed", "approval": "needs approval", "refused": "refused", "unknown": "unknown"}
_COLOURS = {"allowed": "green", "approval": "yellow", "refused": "red", "unknown": "magenta"}


def flips(outcome: Outcome, as_json: bool) -> int:
    """Print the changed decisions and return the exit code."""
    if outcome.status != "done" or as_json or not sys.stdout.isatty():
        code = report.show(outcome, as_json)
    else:
        _print(outcome.result)
        code = 0
    flipped = outcome.status == "done" and (outcome.result["flipped"] or outcome.result["untold"])
    return FLIPS if flipped else code


def _print(result: dict[str, Any]) -> None:
    for flip in result["items"]:
        _flip(flip)
    where = ", ".join(result["rooms"]) or "no room"
    click.echo(f"{visible(result['says'])} Checked {where} since {result['since']}.")
    if result["leftOut"]:
        told = ", ".join(f"{count} {why}" for why, count in result["leftOut"].items())
        report.note(f"Not checked, because no recipe decided them: {told}.")
    if result["beyond"]:
        report.note(f"{result['beyond']} more not shown.")


def _flip(flip: dict[str, Any]) -> None:
    was, would = _WORDS[flip["was"]], click.style(_WORDS[flip["would"]], fg=_COLOURS[flip["would"]], bold=True)
    command = click.style(visible(flip["command"]), bold=True)
    times = "once" if flip["count"] == 1 else f"{flip['count']} times"
    click.echo(f"{command}  {was} -> {would}  {times}, {_callers(flip)}, last {flip['last'][:16].replace('T', ' ')}")
    click.echo(f"    rule was        {visible(flip['before'])}")
    click.echo(f"    rule would be   {visible(flip['rule'])}")
    for one in flip["examples"]:
        params = " ".join(f"{key}={_written(value)}" for key, value in (one["params"] or {}).items())
        click.echo(click.style(f"    {one['call']}  {visible(params, lines=False)[:100]}", dim=True))
    click.echo()


def _written(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _callers(flip: dict[str, Any]) -> str:
    shown = [visible(one) for one in flip["callers"][:5]]
    more = flip["moreCallers"] or len(flip["callers"]) > len(shown)
    return "by " + ", ".join(shown) + (" and others" if more else "")
