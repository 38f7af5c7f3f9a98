"""`python -m bench`: measure Doorward on this machine and print each number beside its target."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable

import click
import msgspec

from bench import lines, suite

_COLOURS = {"pass": "green", "tolerated": "yellow", "miss": "red"}
_WIDTHS = (max(len(line.says) for line in lines.LINES), 12, max(len(line.target) for line in lines.LINES))


@click.command("bench")
@click.option("--short", is_flag=True, help="Leave out the measurements that take minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(short: bool, as_json: bool) -> None:
    """Measure Doorward on this machine and print each number beside its target.

    Uses a temporary home folder.
    """
    results = suite.run(not short)
    if as_json:
        found = {line.key: value for line, value in results if value is not None}
        everything = {"items": lines.report(found), "sandbox": suite.sandbox()}
        click.echo(msgspec.json.format(msgspec.json.encode(everything), indent=2).decode())
    else:
        show(results, suite.sandbox())


def show(results: Iterable[tuple[lines.Line, float | None]], sandbox: str) -> None:
    """Print one line per measurement, as soon as it is done."""
    click.echo(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )
    click.echo(f"sandbox: {sandbox}\n")
    click.echo(click.style(_row("measurement", "measured", "target", ""), bold=True))
    for line, value in results:
        click.echo(_render_line(line, value))


def _render_line(line: lines.Line, value: float | None) -> str:
    verdict = line.verdict(value)
    if value is None:
        why = "left out by --short" if line.key in suite.ONLY_FULL else "not possible here"
        if line.needs:
            why = f"{line.needs} is not installed; `make bench` installs it"
        if line.named_by:
            why = f"{line.named_by} does not name {line.needs}"
        return _row(line.says, "–", line.target, click.style(why, dim=True))
    colour = _COLOURS.get(verdict)
    shown = click.style(verdict, fg=colour, bold=verdict == "miss") if colour else verdict
    return _row(line.says, f"{lines.number(value)} {line.unit}", line.target, shown).rstrip()


def _row(says: str, measured: str, target: str, verdict: str) -> str:
    first, second, third = _WIDTHS
    return f"{says:<{first}}  {measured:>{second}}  {target:>{third}}  {verdict}"


if __name__ == "__main__":
    command(prog_name="python -m bench")
