"""`doorward bench`: measure this machine against Doorward's targets."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable

import click
import msgspec

from doorward.bench import lines, suite
from doorward.cli.asking import json_option

_COLOURS = {"pass": "green", "tolerated": "yellow", "miss": "red"}
_WIDTHS = (max(len(line.says) for line in lines.LINES), 12, max(len(line.target) for line in lines.LINES))


@click.command("bench")
@click.option("--full", is_flag=True, help="Also what takes minutes: a ledger and a lifetime of a million calls.")
@json_option
def command(full: bool, as_json: bool) -> None:
    """Measure Doorward on this machine and print each number beside its target. Your own home is not touched."""
    results = suite.run(full)
    if as_json:
        found = {line.key: value for line, value in results if value is not None}
        everything = {"items": lines.report(found), "sandbox": suite.sandbox()}
        click.echo(msgspec.json.format(msgspec.json.encode(everything), indent=2).decode())
    else:
        show(results, suite.sandbox())


def show(results: Iterable[tuple[lines.Line, float | None]], sandbox: str) -> None:
    """One line for each number, as soon as it is known."""
    click.echo(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )
    click.echo(f"the sandbox is {sandbox}\n")
    click.echo(click.style(_row("what", "measured", "target", ""), bold=True))
    for line, value in results:
        click.echo(_shown(line, value))


def _shown(line: lines.Line, value: float | None) -> str:
    verdict = line.verdict(value)
    if value is None:
        why = "only with --full" if line.key in suite.ONLY_FULL else "not possible here"
        if line.needs:
            why = f"{line.needs} not installed: make bench does it"
        return _row(line.says, "–", line.target, click.style(why, dim=True))
    colour = _COLOURS.get(verdict)
    shown = click.style(verdict, fg=colour, bold=verdict == "miss") if colour else verdict
    return _row(line.says, f"{lines.number(value)} {line.unit}", line.target, shown).rstrip()


def _row(says: str, measured: str, target: str, verdict: str) -> str:
    first, second, third = _WIDTHS
    return f"{says:<{first}}  {measured:>{second}}  {target:>{third}}  {verdict}"
