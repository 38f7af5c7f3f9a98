"""`doorward connect`: add Doorward to the configuration of an MCP client, or remove it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import click

from doorward.cli import client as runner
from doorward.cli.clients import address, known, tomlfile
from doorward.cli.clients import change as changes
from doorward.cli.clients.change import Change
from doorward.cli.clients.known import CLIENTS, GENERIC, Client, Http, Scope, Stdio
from doorward.doors.local import Ask
from doorward.errors import BadParams, DoorwardError, NotFound, Unusable
from doorward.home import Home
from doorward.settings import home_folder
from doorward.upstream.clientfiles import Machine
from doorward.upstream.ourselves import TOKEN
from doorward.visible import visible

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_ROOM = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_NOT_DONE = 1
_OUR_NAME, _FIRST_ROOM = "doorward", "general"
_CHOICES = [*(client.id for client in CLIENTS), GENERIC]


@click.command("connect")
@click.argument("client", metavar="[CLIENT]", type=click.Choice(_CHOICES), required=False)
@click.option("--room", default=_FIRST_ROOM, show_default=True, help="Room the client's agent acts in.")
@click.option("--name", default=_OUR_NAME, show_default=True, help="Name of the entry.")
@click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="Configure all your projects, or the one in this folder.",
)
@click.option("--http", is_flag=True, help=f"Connect to the running server by its URL, with the token in {TOKEN}.")
@click.option("--with-token", is_flag=True, help=f"With --http: write the token from {TOKEN} into the file.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--remove", is_flag=True, help="Remove the entry.")
@click.option("--print", "only_print", is_flag=True, help="Print the entry without writing it.")
@click.pass_context
def command(
    ctx: click.Context,
    client: str | None,
    room: str,
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
    _check("--name", name, _NAME, "letters, digits, dashes and underscores")
    _check("--room", room, _ROOM, "lower-case letters, digits, dashes and underscores")
    if with_token and not http:
        raise click.UsageError("--with-token needs --http; over stdio, the client needs no token.")
    machine, home = Machine.here(), Home(home_folder())
    if client is None:
        if remove or yes or only_print or http:
            raise click.UsageError("These options need a CLIENT; `doorward connect` alone lists the clients.")
        _list(machine, address.either(home))
        return
    if client == GENERIC and remove:
        click.echo("Nothing to remove: for other clients Doorward only prints the entry; remove it where you put it.")
        return
    if remove:
        chosen = known.known(client)
        change = changes.removing(chosen, chosen.file(scope, machine), name, address.either(home))
        ctx.exit(_carry_out(change, chosen, None, yes))
    way = _http(home, room, with_token) if http else _stdio(room)
    _check_room(home, room)
    if client == GENERIC:
        _print_generic(name, way)
        return
    chosen = known.known(client)
    file = chosen.file(scope, machine)
    if only_print:
        _print(chosen, file, name, way)
        return
    change = changes.connecting(chosen, file, name, chosen.entry(way), address.either(home))
    ctx.exit(_carry_out(change, chosen, way, yes))


def _carry_out(change: Change, client: Client, way: Stdio | Http | None, yes: bool) -> int:
    """Show the change, ask for confirmation, and write it. `way` is None to remove the entry."""
    token, remove = way.token if isinstance(way, Http) else "", way is None
    if change.nothing:
        click.echo(f"Nothing to change: {client.title} is {'not ' if remove else ''}connected in {change.file}.")
        return 0
    click.echo(visible(change.shown(token)))
    if token:
        click.echo("The token is written in plain text; anyone who can read the file can use it.", err=True)
    if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo("Nothing was written: not a terminal, so you cannot confirm. Add --yes to write.", err=True)
        return _NOT_DONE
    if not yes and not click.confirm("Make this change?", default=False):
        click.echo("Nothing was written.")
        return _NOT_DONE
    copy = change.make(0o600 if token else 0o666)
    click.echo(f"{'Removed' if change.after is None else 'Wrote'} {change.file}.")
    if copy is not None:
        click.echo(f"Backup: {copy}")
    if not remove:
        if isinstance(way, Http) and not token:
            click.echo(f"{client.title} reads the token from {TOKEN}; create one with: doorward token create NAME")
        click.echo(client.then)
    return 0


def _list(machine: Machine, server: str) -> None:
    """Print each client: whether it is installed, and whether it is connected under any name."""
    for client in CLIENTS:
        click.echo(f"{client.id:<15} {visible(_state(client, machine, server), lines=False)}")
    click.echo(f"{GENERIC:<15} any other client: doorward connect {GENERIC} prints the entry")


def _state(client: Client, machine: Machine, server: str) -> str:
    connected, unusable = [], []
    for file in client.place.files(machine):
        try:
            names = changes.present(client, file, server)
        except Unusable as error:
            unusable.append(error.message)
            continue
        if names:
            connected.append(f"{file}{'' if names == [_OUR_NAME] else f' as {_listed(names)}'}")
    states = [f"connected in {', '.join(connected)}"] if connected else []
    if states or unusable:
        return " ".join([*states, *unusable])
    if _is_here(client, machine):
        return f"installed; connect it with: doorward connect {client.id}"
    return "not installed"


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _is_here(client: Client, machine: Machine) -> bool:
    file = client.user(machine)
    return (
        file.exists()
        or (file.parent not in (machine.home, Path()) and file.parent.is_dir())
        or any(shutil.which(program) for program in client.programs)
    )


def _stdio(room: str) -> Stdio:
    """Return an entry that starts this same program by its absolute path."""
    folder = home_folder()
    env = {} if folder == Path.home() / ".doorward" else {"DOORWARD_HOME": str(folder)}
    program = Path(os.path.abspath(sys.argv[0]))
    if program.name == "__main__.py" or not os.access(program, os.X_OK):
        return Stdio(sys.executable, ["-m", "doorward", "mcp", "--room", room], env)
    return Stdio(str(program), ["mcp", "--room", room], env)


def _http(home: Home, room: str, with_token: bool) -> Http:
    server = address.running(home)
    if not server:
        server = address.configured(home)
        if not server:
            raise BadParams(
                "The server's URL is unknown: it is not running, and the settings let it take any free port.",
                hint="Set server.port, or start the server first: doorward up",
            )
        click.echo(f"No server is running for this home folder; using {server} from the settings.", err=True)
    token = os.environ.get(TOKEN, "") if with_token else ""
    if with_token and not token:
        raise BadParams(
            f"--with-token takes the token from {TOKEN}, which is not set.",
            hint="Create a token with: doorward token create NAME",
        )
    return Http(f"{server}/mcp/{room}", token)


def _check_room(home: Home, room: str) -> None:
    """Raise for a room that does not exist; warn when that cannot be checked."""
    if not home.database.exists():
        if room != _FIRST_ROOM:
            click.echo(f"The room {room!r} was not checked: {home.path} is not set up yet.", err=True)
        return
    try:
        listed = runner.run(Ask(command="room/list"))
        problem = "" if listed.status == "done" else listed.message
    except DoorwardError as error:
        problem = error.message
    if problem:
        click.echo(f"The room {room!r} was not checked: {problem}", err=True)
        return
    rooms = [one["room"] for one in listed.result["items"] if not one["archived"]]
    if room not in rooms:
        raise NotFound(
            f"There is no room {room!r}; valid: {', '.join(rooms)}.",
            hint=f"Create it with: doorward rooms create {room} --recipe RECIPE",
        )


def _print(client: Client, file: Path, name: str, way: Stdio | Http) -> None:
    entry = client.entry(way)
    click.echo(f"For {file}:", err=True)
    if client.toml:
        click.echo(tomlfile.set_entry("", client.container, name, entry), nl=False)
    else:
        click.echo(json.dumps({client.container: {name: entry}}, indent=2, ensure_ascii=False))


def _print_generic(name: str, way: Stdio | Http) -> None:
    entry = (
        way.entry()
        if isinstance(way, Stdio)
        else {"type": "http", "url": way.url, "headers": way.headers(f"${{{TOKEN}}}")}
    )
    click.echo(json.dumps({"mcpServers": {name: entry}}, indent=2, ensure_ascii=False))


def _check(option: str, given: str, pattern: re.Pattern[str], what: str) -> None:
    if not pattern.fullmatch(given):
        raise BadParams(f"{option} takes 1 to 63 {what}, starting with a letter or digit; given {given[:80]!r}.")
