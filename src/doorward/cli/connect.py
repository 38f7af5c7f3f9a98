"""`doorward connect`: add Doorward to the configuration of an MCP client, or remove it."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from doorward.cli import local_client as runner
from doorward.cli.clients import config_edit as changes
from doorward.cli.clients import registry, toml_config
from doorward.cli.clients.config_edit import ConfigEdit
from doorward.cli.clients.hook_config import CLIENT_HOOKS
from doorward.cli.clients.program import find_program
from doorward.cli.clients.registry import CLIENTS, GENERIC, HttpEntry, McpClientConfig, Scope, StdioEntry
from doorward.config.home import Home
from doorward.config.settings import find_home_folder, load_settings
from doorward.core.errors import BadParams, DoorwardError, NotFound, Unusable
from doorward.core.escape_invisible import escape_invisible
from doorward.doors.http.ports import reachable_host
from doorward.doors.terminal.messages import TerminalRequest
from doorward.rooms.project_rooms import find_room_of
from doorward.upstream.client_files import TOKEN_VARIABLE, ClientMachine

_CONNECT_SECONDS = 1.0
"""Seconds to wait for a connection to the server."""
_MAX_URL_CHARS = 300


def running_url(home: Home) -> str:
    """Return the URL of the running server, such as `http://127.0.0.1:8642`, or an empty string.

    A killed server leaves its address file behind, so the address is tested.
    """
    try:
        with open(home.address, encoding="ascii") as file:
            said = file.read(_MAX_URL_CHARS).strip()
        parts = urlsplit(said)
        if parts.scheme != "http" or parts.hostname is None or parts.port is None or parts.path:
            return ""
        socket.create_connection((parts.hostname, parts.port), _CONNECT_SECONDS).close()
    except (OSError, ValueError):
        return ""
    return said


def configured_url(home: Home) -> str:
    """Return the server's URL from the settings; empty when they allow any free port."""
    server = load_settings(home.settings).server
    host = reachable_host(server.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{server.port}" if server.port else ""


def find_server_url(home: Home) -> str:
    """Return the running or the configured URL, to recognise our own entries; empty when neither is known."""
    try:
        return running_url(home) or configured_url(home)
    except DoorwardError:
        return ""


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_ROOM = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_EXIT_NOT_DONE = 1
_OUR_NAME, _FIRST_ROOM = "doorward", "general"
_CHOICES = [*(client.id for client in CLIENTS), GENERIC]


@click.command("connect")
@click.argument("client", metavar="[CLIENT]", type=click.Choice(_CHOICES), required=False)
@click.option(
    "--room",
    default=None,
    help=f"Room the client's agent acts in. By default {_FIRST_ROOM}; with --scope project, the project's own room.",
)
@click.option("--name", default=_OUR_NAME, show_default=True, help="Name of the entry.")
@click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="Configure all your projects, or only the project that this folder is in.",
)
@click.option(
    "--http", is_flag=True, help=f"Connect to the running server by its URL, with the token in {TOKEN_VARIABLE}."
)
@click.option("--with-token", is_flag=True, help=f"With --http: write the token from {TOKEN_VARIABLE} into the file.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--remove", is_flag=True, help="Remove the entry.")
@click.option("--print", "only_print", is_flag=True, help="Print the entry without writing it.")
@click.pass_context
def command(
    ctx: click.Context,
    client: str | None,
    room: str | None,
    name: str,
    scope: Scope,
    http: bool,
    with_token: bool,
    yes: bool,
    remove: bool,
    only_print: bool,
) -> None:
    """Add Doorward to an MCP client on this machine. Without CLIENT, list the clients and their state.

    CLIENT is claude-code, claude-desktop, cursor, vscode, codex, gemini, or generic for any other. You see the change
    and confirm it before it is written. A backup of the file is kept beside it.
    """
    _check_name("--name", name, _NAME, "letters, digits, dashes and underscores")
    if room is not None:
        _check_name("--room", room, _ROOM, "lower-case letters, digits, dashes and underscores")
    if with_token and not http:
        raise click.UsageError("--with-token needs --http; over stdio, the client needs no token.")
    machine, home = ClientMachine.current(), Home(find_home_folder())
    if client is None:
        if remove or yes or only_print or http:
            raise click.UsageError("These options need a CLIENT; `doorward connect` alone lists the clients.")
        _list_clients(machine, find_server_url(home))
        return
    if client == GENERIC and remove:
        click.echo("Nothing to remove: for other clients Doorward only prints the entry; remove it where you put it.")
        return
    rooms, problem = ([], "") if remove and scope == "user" else _list_rooms(home)
    if scope == "project":
        machine, room = _enter_project(machine, rooms, room, quiet=bool(remove or problem))
    room = room or _FIRST_ROOM
    if remove:
        chosen = registry.find_client(client)
        change = changes.plan_removal(chosen, chosen.file(scope, machine), name, find_server_url(home))
        ctx.exit(_apply_edit(change, chosen, None, yes))
    way = _http_entry(home, room, with_token) if http else _stdio_entry(room)
    if not problem:
        _check_room(rooms, room)
    elif room != _FIRST_ROOM or home.database.exists():
        click.echo(f"The room {room!r} was not checked: {problem}", err=True)
    if client == GENERIC:
        _print_generic_entry(name, way)
        return
    chosen = registry.find_client(client)
    file = chosen.file(scope, machine)
    if only_print:
        _print_entry(chosen, file, name, way)
        return
    change = changes.plan_connect(chosen, file, name, chosen.entry(way), find_server_url(home))
    ctx.exit(_apply_edit(change, chosen, way, yes))


def _apply_edit(change: ConfigEdit, client: McpClientConfig, way: StdioEntry | HttpEntry | None, yes: bool) -> int:
    """Show the change, ask for confirmation, and write it. `way` is None to remove the entry."""
    token, remove = way.token if isinstance(way, HttpEntry) else "", way is None
    if change.is_empty:
        click.echo(f"Nothing to change: {client.title} is {'not ' if remove else ''}connected in {change.file}.")
        return 0
    click.echo(escape_invisible(change.render_diff(token)))
    if token:
        click.echo("The token is written in plain text; anyone who can read the file can use it.", err=True)
    if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo("Nothing was written: not a terminal, so you cannot confirm. Add --yes to write.", err=True)
        return _EXIT_NOT_DONE
    if not yes and not click.confirm("Make this change?", default=False):
        click.echo("Nothing was written.")
        return _EXIT_NOT_DONE
    copy = change.write(0o600 if token else 0o666)
    click.echo(f"{'Removed' if change.after is None else 'Wrote'} {change.file}.")
    if copy is not None:
        click.echo(f"Backup: {copy}")
    if not remove:
        if isinstance(way, HttpEntry) and not token:
            click.echo(
                f"{client.title} reads the token from {TOKEN_VARIABLE}; create one with: doorward token create NAME"
            )
        click.echo(client.then)
        _print_own_tools(client)
    return 0


def _print_own_tools(client: McpClientConfig) -> None:
    """Print which tools of the client do not pass the gate, for a client that has some."""
    own = next((hooks.own for hooks in CLIENT_HOOKS if hooks.id == client.id), "")
    if own:
        click.echo(f"{client.title}'s own tools stay outside the gate: {own}.")
        click.echo(f"To make them ask the gate: doorward protect {client.id}")


def _list_clients(machine: ClientMachine, server: str) -> None:
    """Print each client: whether it is installed, and whether it is connected under any name."""
    for client in CLIENTS:
        click.echo(f"{client.id:<15} {escape_invisible(_describe_state(client, machine, server), lines=False)}")
    click.echo(f"{GENERIC:<15} any other client: doorward connect {GENERIC} prints the entry")


def _describe_state(client: McpClientConfig, machine: ClientMachine, server: str) -> str:
    connected, unusable = [], []
    for file in client.place.files(machine):
        try:
            names = changes.find_our_entries(client, file, server)
        except Unusable as error:
            unusable.append(error.message)
            continue
        if names:
            connected.append(f"{file}{'' if names == [_OUR_NAME] else f' as {_join_names(names)}'}")
    states = [f"connected in {', '.join(connected)}"] if connected else []
    if states or unusable:
        return " ".join([*states, *unusable])
    if _is_installed(client, machine):
        return f"installed; connect it with: doorward connect {client.id}"
    return "not installed"


def _join_names(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _is_installed(client: McpClientConfig, machine: ClientMachine) -> bool:
    file = client.user(machine)
    return (
        file.exists()
        or (file.parent not in (machine.home, Path()) and file.parent.is_dir())
        or any(shutil.which(program) for program in client.programs)
    )


def _stdio_entry(room: str) -> StdioEntry:
    """Return an entry that starts this same program."""
    folder = find_home_folder()
    env = {} if folder == Path.home() / ".doorward" else {"DOORWARD_HOME": str(folder)}
    program, *words = find_program()
    return StdioEntry(program, [*words, "mcp", "--room", room], env)


def _http_entry(home: Home, room: str, with_token: bool) -> HttpEntry:
    server = running_url(home)
    if not server:
        server = configured_url(home)
        if not server:
            raise BadParams(
                "The server's URL is unknown: it is not running, and the settings let it take any free port.",
                hint="Set server.port, or start the server first: doorward up",
            )
        click.echo(f"No server is running for this home folder; using {server} from the settings.", err=True)
    token = os.environ.get(TOKEN_VARIABLE, "") if with_token else ""
    if with_token and not token:
        raise BadParams(
            f"--with-token takes the token from {TOKEN_VARIABLE}, which is not set.",
            hint="Create a token with: doorward token create NAME",
        )
    return HttpEntry(f"{server}/mcp/{room}", token)


def _list_rooms(home: Home) -> tuple[list[dict[str, Any]], str]:
    """Return the open rooms, or why they are not known."""
    if not home.database.exists():
        return [], f"{home.path} is not set up yet."
    try:
        listed = runner.run(TerminalRequest(command="room/list"))
    except DoorwardError as error:
        return [], error.message
    if listed.status != "done":
        return [], listed.message
    return [one for one in listed.result["items"] if not one["archived"]], ""


def _enter_project(
    machine: ClientMachine, rooms: list[dict[str, Any]], room: str | None, *, quiet: bool
) -> tuple[ClientMachine, str | None]:
    """Return the machine with the project's top folder, and the project's room unless another was named."""
    here = str(machine.folder.resolve())
    workspaces = {one["room"]: one["workspace"] for one in rooms}
    candidates = workspaces if room is None else {room: workspaces.get(room, "")}
    inside = find_room_of(here, candidates.items())
    if inside:
        return msgspec.structs.replace(machine, folder=Path(workspaces[inside])), inside
    if room is None and not quiet:
        click.echo(
            f"This folder has no room of its own, so the agent acts in {_FIRST_ROOM}. To create one: doorward init",
            err=True,
        )
    return machine, room


def _check_room(rooms: list[dict[str, Any]], room: str) -> None:
    """Raise for a room that does not exist."""
    names = [one["room"] for one in rooms]
    if room not in names:
        raise NotFound(
            f"There is no room {room!r}; valid: {', '.join(names)}.",
            hint=f"Create it with: doorward rooms create {room} --recipe RECIPE",
        )


def _print_entry(client: McpClientConfig, file: Path, name: str, way: StdioEntry | HttpEntry) -> None:
    entry = client.entry(way)
    click.echo(f"For {file}:", err=True)
    if client.toml:
        click.echo(toml_config.set_entry("", client.container, name, entry), nl=False)
    else:
        click.echo(json.dumps({client.container: {name: entry}}, indent=2, ensure_ascii=False))


def _print_generic_entry(name: str, way: StdioEntry | HttpEntry) -> None:
    entry = (
        way.entry()
        if isinstance(way, StdioEntry)
        else {"type": "http", "url": way.url, "headers": way.headers(f"${{{TOKEN_VARIABLE}}}")}
    )
    click.echo(json.dumps({"mcpServers": {name: entry}}, indent=2, ensure_ascii=False))


def _check_name(option: str, given: str, pattern: re.Pattern[str], what: str) -> None:
    if not pattern.fullmatch(given):
        raise BadParams(f"{option} takes 1 to 63 {what}, starting with a letter or digit; given {given[:80]!r}.")
