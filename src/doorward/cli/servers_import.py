"""`doorward servers import`: show what would be added and what each server may access, confirm, then import."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import click

from doorward.cli import local_client, report
from doorward.cli.servers_view import format_labelled, format_undo_hint
from doorward.core.errors import NotFound
from doorward.core.escape_invisible import escape_invisible
from doorward.doors.terminal.messages import TerminalRequest
from doorward.upstream.client_files import CLIENT_CONFIG_FILES, ClientMachine
from doorward.upstream.client_import import FoundServer, find_in_clients, find_in_file

_EXIT_NOT_DONE = 1
_INDENT = 14
_LIMITS = ("timeoutSeconds", "startSeconds", "pingSeconds", "memoryMb", "processes")


def run_import(file: Path | None, only: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Run the import and return the exit code."""
    as_json = as_json or not sys.stdout.isatty()
    found = _find_servers(file)
    params = {"sources": _group_by_file(found), "names": list(only) or sorted({one.name for one in found})}
    planned = local_client.run(TerminalRequest(command="mcp/import", params=params, dry_run=True))
    if planned.status != "done":
        return report.show_outcome(planned, as_json)
    plan = planned.result.get("effect")
    if not isinstance(plan, dict) or "items" not in plan:
        failed = plan if isinstance(plan, dict) else {"wouldFail": planned.result["reason"], "code": "not_permitted"}
        report.print_error("refused", failed["code"], failed["wouldFail"])
        return report.EXIT_CODES["refused"]
    if as_json and not (yes and plan["items"]):
        if plan["items"]:
            click.echo("Nothing was written: not a terminal, so you cannot confirm. Add --yes to import.", err=True)
        return max(report.show_outcome(planned, as_json), _EXIT_NOT_DONE if plan["items"] else 0)
    if not as_json:
        _show_plan(plan)
    if not plan["items"]:
        click.echo("Nothing to add.")
        return 0
    if not yes and not _confirm(len(plan["items"])):
        return _EXIT_NOT_DONE
    outcome = local_client.run(TerminalRequest(command="mcp/import", params=params))
    if outcome.status != "done" or as_json:
        return report.show_outcome(outcome, as_json)
    ids = [one["id"] for one in outcome.result["items"]]
    click.echo(f"Added {', '.join(ids)} to {outcome.result['file']}.")
    click.echo(f"To test one: doorward servers test {ids[0]}")
    report.print_note(format_undo_hint(outcome))
    return 0


def _find_servers(file: Path | None) -> list[FoundServer]:
    if file is not None:
        return find_in_file(Path(os.path.abspath(file)), _identify_client(file))
    found, problems = find_in_clients(ClientMachine.current(), projects=True)
    for problem in problems:
        click.echo(escape_invisible(problem), err=True)
    if not found:
        raise NotFound(
            "No servers were found in the MCP clients on this machine.",
            hint="Give a client's configuration file: doorward servers import FILE",
        )
    return found


def _group_by_file(found: list[FoundServer]) -> list[dict[str, Any]]:
    """Group the servers by file, as mcp/import takes them. A file with one name in two projects appears twice."""
    sources: list[dict[str, Any]] = []
    for one in found:
        open_ = next((each for each in sources if each["file"] == one.file and one.name not in each["servers"]), None)
        if open_ is None:
            open_ = {"file": one.file, "client": one.client, "servers": {}}
            sources.append(open_)
        open_["servers"][one.name] = one.entry
    return sources


def _identify_client(file: Path) -> str:
    """Return the id of the client that keeps its configuration at this path, or an empty string."""
    here = Path(os.path.abspath(file))
    machine = ClientMachine.current()
    for one in CLIENT_CONFIG_FILES:
        tail = [place.parts[-2:] for place in one.files(machine)]
        if here in one.files(machine) or here.parts[-2:] in tail:
            return one.id
    return ""


def _show_plan(plan: dict[str, Any]) -> None:
    for one in plan["items"]:
        entry = one["entry"]
        start = entry.get("url") or " ".join([entry["command"], *entry.get("args", [])])
        click.echo(f"{click.style(one['id'], bold=True)}  {escape_invisible(start, lines=False)}")
        _print_field("from", one["file"])
        if "command" in entry:
            _print_field("reads", ", ".join(one["reads"]) or "nothing")
            _print_field("writes", ", ".join(one["writes"]) or "nothing")
            _print_field("network", "yes" if one["network"] else "no")
        for key in ("env", "headers", "auth", "cwd", "tools", "denyTools"):
            if entry.get(key):
                _print_field(key, ", ".join(entry[key]) if isinstance(entry[key], list) else str(entry[key]))
        if one["variables"]:
            _print_field("variables", ", ".join(f"${{{name}}}" for name in one["variables"]))
        limits = {**entry, **entry.get("sandbox", {})}
        if said := [f"{key} {limits[key]:g}" for key in _LIMITS if key in limits]:
            _print_field("limits", ", ".join(said))
        for text in one["notes"]:
            _print_field("note", text, fg="yellow")
    for one in plan["skipped"]:
        click.echo(format_labelled(escape_invisible(one["name"], lines=False), f"not added: {one['why']}"))
    if plan["items"]:
        click.echo("Every call of their tools by an agent needs your approval.")


def _print_field(word: str, text: str, **style: Any) -> None:
    """Print a label and its text, wrapped beside it."""
    width = max(30, shutil.get_terminal_size().columns - _INDENT)
    lines = textwrap.wrap(escape_invisible(text, lines=False), width, break_on_hyphens=False) or [""]
    head = f"    {word:<{_INDENT - 4}}"
    click.echo(click.style(head, **style) + f"\n{' ' * _INDENT}".join(lines))


def _confirm(count: int) -> bool:
    if not sys.stdin.isatty():
        click.echo("Nothing was written: not a terminal, so you cannot confirm. Add --yes to import.", err=True)
        return False
    what = "this server" if count == 1 else f"these {count} servers"
    if click.confirm(f"Add {what}?", default=False):
        return True
    click.echo("Nothing was written.")
    return False
