"""Terminal view of models."""

from __future__ import annotations

import os
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from doorward.cli import report
from doorward.cli.servers_view import format_labelled
from doorward.core.escape_invisible import escape_invisible

_BAR = 30
_UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K"))


def show_models(result: dict[str, Any]) -> None:
    items = result["items"]
    _print_table("In the settings", [one for one in items if one["configured"]])
    _print_table("Found on this machine", [one for one in items if not one["configured"]])
    keys = [one for one in result["keys"] if not one["configured"]]
    for one in keys:
        click.echo(
            f"{one['variable']} is set. To use its models: doorward models use {one['provider']}:NAME-OF-THE-MODEL"
        )
    for one in items:
        if one["problem"]:
            click.echo(format_labelled(f"{one['name']}:", one["problem"]), err=True)
    for note in result["notes"]:
        click.echo(format_labelled("Note:", note), err=True)
    report.print_note(f"The default is {result['default']}; {_describe_keeper(result)}.")
    file = next((one["where"] for one in items if not one["name"]), "")
    if file:
        report.print_note(f"To add a file: doorward models add {_shorten_home(file)}")
    report.print_note("To test a model: doorward models test NAME. To make it the default: doorward models use NAME.")


def _describe_keeper(result: dict[str, Any]) -> str:
    if result["keeper"] in ("", "default"):
        return (
            "the keeper uses it" if result["keeper"] else "the keeper uses the house model, or OpenAI if its key is set"
        )
    return f"the keeper uses {escape_invisible(result['keeper'], lines=False)}"


def _print_table(title: str, items: list[dict[str, Any]]) -> None:
    if not items:
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("", title, "where", "size", "parameters", "context", "$ per 1M tokens"):
        table.add_column(column, overflow="fold", no_wrap=column in ("", "size", "parameters", "context"))
    for one in items:
        table.add_row(
            "*" if one["isDefault"] else "",
            Text(escape_invisible(one["name"] or "(file)", lines=False)),
            Text(_shorten_home(one["where"])),
            format_bytes(one["bytes"]),
            format_count(one["parameters"]),
            format_count(one["context"], 1_024 if one["context"] and one["context"] % 1_024 == 0 else 1_000),
            _format_price(one["price"]),
        )
    console = Console(highlight=False)
    console.print(table)
    console.print()


def show_trial(result: dict[str, Any]) -> None:
    for one in result["checks"]:
        word = click.style("right", fg="green") if one["right"] else click.style("wrong", fg="red", bold=True)
        tokens = one["inputTokens"] is not None and f", {one['inputTokens']} + {one['outputTokens']} tokens"
        click.echo(f"{word}  {one['check']}  ({one['seconds']:.1f} s{tokens or ''})")
        click.echo(format_labelled("      It said:", one["said"] or "nothing", indent=6))
        if one["problem"]:
            click.echo(format_labelled("      Problem:", one["problem"], indent=6))
    if not result["answers"]:
        click.echo(format_labelled(f"{result['model']} does not answer:", result["said"]), err=True)
        return
    right = sum(one["right"] for one in result["checks"])
    cost = f" It cost ${result['dollars']:.4f}." if result["dollars"] else ""
    click.echo(f"{result['model']}: {right} of {len(result['checks'])} right.{cost}")


def show_use(result: dict[str, Any]) -> None:
    click.echo(f"The default model is {result['model']} now; it was {result['was']}.")
    for note in result["notes"]:
        click.echo(format_labelled("Note:", note))
    report.print_note(f"Changed {', '.join(result['changed'])} in {result['file']}.")


def show_addition(result: dict[str, Any]) -> None:
    facts = [format_bytes(result["bytes"]), f"context {result['context']} tokens"]
    if result["parameters"]:
        facts.insert(1, f"{format_count(result['parameters'])} parameters")
    click.echo(f"Added {result['model']}: {_shorten_home(result['file'])} ({', '.join(facts)}).")
    if result["sha256"]:
        click.echo(f"sha256 {result['sha256']}")
    for note in result["notes"]:
        click.echo(format_labelled("Note:", note))
    report.print_note(f"To test it: doorward models test {result['model']}")


def format_bar(fraction: float, message: str, seconds: float, first: float) -> str:
    """Format a progress bar, with the time left if it can be estimated."""
    full = round(_BAR * fraction)
    done = fraction - first
    left = f"  {seconds * (1 - fraction) / done:.0f} s left" if seconds > 1 and done > 0 and fraction < 1 else ""
    return f"[{'#' * full}{'.' * (_BAR - full)}] {fraction:4.0%}  {escape_invisible(message, lines=False)}{left}"


def format_bytes(count: int | None) -> str:
    if not count:
        return "–"
    if count >= 10**9:
        return f"{count / 10**9:.1f} GB"
    return f"{count / 10**6:.0f} MB" if count >= 10**6 else f"{count / 10**3:.0f} kB"


def format_count(count: int | None, thousand: int = 1_000) -> str:
    """Format a count with a letter, such as 1.5B; thousands of a context may be 1,024."""
    if not count:
        return "–"
    if thousand != 1_000:
        return f"{count // thousand}K"
    unit, letter = next(((unit, letter) for unit, letter in _UNITS if count >= unit), (1, ""))
    return f"{count / unit:.1f}".removesuffix(".0") + letter


def _format_price(price: dict[str, float] | None) -> str:
    if price is None:
        return "not known"
    return "free" if not price["input"] and not price["output"] else f"{price['input']:g} in, {price['output']:g} out"


def _shorten_home(path: str) -> str:
    home = os.path.expanduser("~")
    path = escape_invisible(path, lines=False)
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
