"""`doorward servers`: manage the MCP servers behind Doorward and the approval of their tools."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import msgspec

from doorward.cli import local_client, report, servers_import, servers_view
from doorward.cli.live_view import LiveView, escape_output
from doorward.cli.local_client import json_option, run_as_owner
from doorward.core.errors import concrete_errors
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import TerminalRequest
from doorward.gate.executions.notices import Notice, OutputNotice

TIERS = click.Choice(["information", "visual", "code", "application", "system"])
_EXIT_NOT_DONE = 1


@click.group("servers", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Manage the MCP servers behind Doorward. Without a subcommand, list them."""
    if ctx.invoked_subcommand is None:
        _list_servers(as_json=False)


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the servers with their state, tools, usage and problems."""
    _list_servers(as_json)


@command.command()
@click.argument("id")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND [ARGUMENT]...]")
@click.option("--url", help="URL of a remote server, instead of a command.")
@click.option("--name", help="Display name. By default, ID.")
@click.option("--read", multiple=True, help="Path its process may read; repeatable.")
@click.option("--write", multiple=True, help="Path its process may write; repeatable.")
@click.option("--network", is_flag=True, help="Allow its process to use the network.")
@click.option(
    "--env", multiple=True, metavar="NAME=VALUE", help="Environment variable; write a secret as 'NAME=${NAME}'."
)
@click.option("--header", multiple=True, metavar="NAME=VALUE", help="HTTP header for each request to --url.")
@click.option("--bearer", metavar="TOKEN", help="Bearer token for --url, preferably as '${NAME}'.")
@click.option("--oauth", is_flag=True, help="Log in to --url with OAuth: doorward servers login ID")
@click.option("--tier", type=TIERS, help="Tier of its tools. By default, system.")
@click.option("--tool", "tools", multiple=True, help="Offer only this tool; repeatable, may contain *.")
@click.option("--auto-approve", multiple=True, help="Allow calls of this tool without approval; repeatable.")
@click.option("--dry-run", is_flag=True, help="Show the entry and its problems; change nothing.")
@json_option
def add(id: str, program: tuple[str, ...], dry_run: bool, as_json: bool, **options: Any) -> None:
    """Add a server by its command or its URL.

    Give the command that starts it after `--`, or its address with --url.

    \b
    doorward servers add time --network -- uvx mcp-server-time
    doorward servers add notes --read ~/notes --network -- npx -y @modelcontextprotocol/server-filesystem ~/notes
    doorward servers add search --url https://search.example/mcp --bearer '${SEARCH_TOKEN}'

    Its process can access the system's programs, its own folder, and the paths given with --read and --write.
    """
    params = _build_entry(program, **options)
    outcome = local_client.run(TerminalRequest(command="mcp/add", params={"id": id, **params}, dry_run=dry_run))
    if dry_run:
        click.get_current_context().exit(report.show_outcome(outcome, as_json))
    code = _show_change(outcome, as_json)
    if outcome.status == "done" and sys.stdout.isatty() and not as_json:
        report.print_note(f"To test it: doorward servers test {id}")
    click.get_current_context().exit(code)


@command.command()
@click.argument("server")
@json_option
def remove(server: str, as_json: bool) -> None:
    """Stop a server and remove it with its tools."""
    _run_change("mcp/remove", server, as_json)


@command.command()
@click.argument("server")
@json_option
def enable(server: str, as_json: bool) -> None:
    """Enable a server."""
    _run_change("mcp/enable", server, as_json)


@command.command()
@click.argument("server")
@json_option
def disable(server: str, as_json: bool) -> None:
    """Disable a server. Its entry stays."""
    _run_change("mcp/disable", server, as_json)


@command.command()
@click.argument("server")
@json_option
def test(server: str, as_json: bool) -> None:
    """Test the connection to a server and show what it offers."""
    live = LiveView(as_json)
    outcome = local_client.follow(TerminalRequest(command="mcp/test", params={"server": server}), live)
    code = _show_outcome(outcome, as_json, servers_view.show_test_result)
    failed = outcome.status == "done" and not outcome.result["ok"]
    click.get_current_context().exit(_EXIT_NOT_DONE if failed else code)


@command.command()
@click.argument("server", default="")
@click.option("--search", default="", help="Only tools that match all of these words.")
@json_option
def tools(server: str, search: str, as_json: bool) -> None:
    """List the tools of a server, or of all servers.

    Shows the tier, the approval and the warnings of each.
    """
    outcome = local_client.run(TerminalRequest(command="mcp/tools", params={"server": server, "search": search}))
    click.get_current_context().exit(_show_outcome(outcome, as_json, servers_view.show_tools))


@command.command()
@click.argument("server")
@click.option("--lines", type=click.IntRange(1, 500), default=100, show_default=True, help="Number of lines.")
@json_option
def logs(server: str, lines: int, as_json: bool) -> None:
    """Show the log output of a server."""
    outcome = local_client.run(TerminalRequest(command="mcp/logs", params={"server": server, "lines": lines}))
    click.get_current_context().exit(_show_outcome(outcome, as_json, servers_view.show_logs))


@command.command()
@click.argument("server")
@json_option
def restart(server: str, as_json: bool) -> None:
    """Restart a server."""
    run_as_owner("mcp/restart", as_json, server=server)


@command.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("--only", multiple=True, help="Import only the server with this name; repeatable.")
@click.option("--yes", is_flag=True, help="Import without asking.")
@json_option
@click.pass_context
def import_(ctx: click.Context, file: Path | None, only: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Import servers from MCP clients.

    FILE is a client's configuration file. Without it, all known clients on this machine are searched. You see what
    would be added and what each server may access, and confirm it. Existing servers are not changed.
    """
    ctx.exit(servers_import.run_import(file, only, yes, as_json))


@command.command()
@click.argument("server")
@click.argument("tool", default="")
@click.option("--yes", is_flag=True, help="Approve without asking.")
@json_option
@click.pass_context
def approve(ctx: click.Context, server: str, tool: str, yes: bool, as_json: bool) -> None:
    """Review and approve changed or new tools.

    Shows how a server's tools differ from the approved ones, and approves their current definitions.
    """
    as_json = as_json or not sys.stdout.isatty()
    params = {"server": server, "tool": tool}
    shown = local_client.run(TerminalRequest(command="mcp/approve", params=params, dry_run=True))
    if shown.status != "done" or "wouldFail" in shown.result["effect"]:
        ctx.exit(report.show_outcome(_failure_of_dry_run(shown), as_json))
    effect = shown.result["effect"]
    if not effect["tools"]:
        click.echo(f"No tools of {server} are waiting for approval.", err=True)
        ctx.exit(report.show_outcome(shown, as_json) if as_json else 0)
    if not as_json:
        servers_view.show_pending_tools(effect)
    if not yes and not _confirm("Approve as shown?"):
        ctx.exit(max(report.show_outcome(shown, as_json), _EXIT_NOT_DONE) if as_json else _EXIT_NOT_DONE)
    outcome = local_client.run(TerminalRequest(command="mcp/approve", params={**params, "mark": effect["mark"]}))
    if outcome.status == "done" and not as_json:
        servers_view.show_approved(outcome.result)
        ctx.exit(0)
    ctx.exit(report.show_outcome(outcome, as_json))


@command.command()
@click.argument("server")
@json_option
def login(server: str, as_json: bool) -> None:
    """Log in to a server with OAuth, such as one added with --oauth.

    Prints the URL to open in a browser, and waits until the login is complete.
    """
    live = _LoginView(as_json)
    outcome = local_client.follow(TerminalRequest(command="mcp/login", params={"server": server}), live)
    click.get_current_context().exit(report.show_outcome(outcome, as_json, told=live.output_shown))


@command.command()
@click.argument("server")
@json_option
def logout(server: str, as_json: bool) -> None:
    """Log out of a server and delete its OAuth tokens."""
    run_as_owner("mcp/logout", as_json, server=server)


@command.command()
def schema() -> None:
    """Print the JSON Schema of mcp-servers.json, for editors."""
    click.echo(files("doorward.upstream").joinpath("mcp-servers.schema.json").read_text(), nl=False)


class _LoginView(LiveView):
    """Shows output on standard error even with --json, because the person must see the login URL."""

    def handle_notice(self, notice: Notice) -> None:
        if isinstance(notice, OutputNotice):
            self.end_line()
            click.echo(escape_output(notice.text), nl=False, err=True)
        else:
            super().handle_notice(notice)


def _run_change(command: str, server: str, as_json: bool) -> None:
    click.get_current_context().exit(
        _show_change(local_client.run(TerminalRequest(command=command, params={"id": server})), as_json)
    )


def _show_change(outcome: Outcome, as_json: bool) -> int:
    """Print a change of the servers file and how to undo it."""
    if outcome.status != "done" or as_json or not sys.stdout.isatty():
        return report.show_outcome(outcome, as_json)
    report.show_result({key: outcome.result[key] for key in ("id", "now", "file")})
    for note in outcome.result["notes"]:
        click.echo(servers_view.format_labelled("Note:", note))
    report.print_note(
        servers_view.format_undo_hint(outcome) if outcome.result["changed"] else f"execution {outcome.call}"
    )
    return 0


def _list_servers(as_json: bool) -> None:
    outcome = local_client.run(TerminalRequest(command="mcp/servers"))
    click.get_current_context().exit(_show_outcome(outcome, as_json, servers_view.show_servers))


def _show_outcome(outcome: Outcome, as_json: bool, show: Any) -> int:
    """Print the result with `show` on a terminal, otherwise the whole outcome as JSON."""
    if outcome.status == "done" and sys.stdout.isatty() and not as_json:
        show(outcome.result)
        return 0
    return report.show_outcome(outcome, as_json)


def _failure_of_dry_run(outcome: Outcome) -> Outcome:
    """Turn a dry run that would fail into that failure."""
    if outcome.status != "done":
        return outcome
    effect = outcome.result["effect"]
    code, message = effect["code"], effect["wouldFail"]
    retry = next((one.retry for one in concrete_errors() if one.code == code), outcome.retry)
    text = f"Command failed: {message}"
    return msgspec.structs.replace(
        outcome, status="refused", code=code, message=message, text=text, retry=retry, rule="", result=None
    )


def _confirm(question: str) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo("Nothing was done: not a terminal, so you cannot confirm. Add --yes to proceed.", err=True)
        return False
    if click.confirm(question, default=False):
        return True
    click.echo("Nothing was done.")
    return False


def _build_entry(program: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Return the parameters of mcp/add from the command line."""
    if bool(program) == bool(options["url"]):
        raise click.UsageError("Give either a command after `--` or an address with --url.")
    if options["bearer"] and options["oauth"]:
        raise click.UsageError("--bearer and --oauth exclude each other; give only one.")
    found: dict[str, Any] = {
        "command": program[0] if program else None,
        "args": list(program[1:]),
        "url": options["url"],
        "name": options["name"],
        "read": [_resolve_path(path) for path in options["read"]],
        "write": [_resolve_path(path) for path in options["write"]],
        "network": options["network"],
        "env": _parse_pairs("--env", options["env"]),
        "headers": _parse_pairs("--header", options["header"]),
        "auth": {"type": "bearer", "token": options["bearer"]} if options["bearer"] else None,
        "tier": options["tier"],
        "tools": list(options["tools"]),
        "autoApprove": list(options["auto_approve"]),
    }
    if options["oauth"]:
        found["auth"] = {"type": "oauth"}
    return {key: value for key, value in found.items() if value}


def _resolve_path(path: str) -> str:
    """Resolve a path against the current folder, because the servers file takes absolute paths only."""
    return path if path.startswith(("~", "$")) else os.path.abspath(path)


def _parse_pairs(option: str, words: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise click.UsageError(f"{option} takes NAME=VALUE; the given value has no name or no equals sign.")
        found[name] = value
    return found
