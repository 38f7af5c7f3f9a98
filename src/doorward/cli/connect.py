"""`doorward connect`: add Doorward to the configuration of an MCP client, or take it out."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import click

from doorward.cli.clients import change as changes
from doorward.cli.clients import known, tomlfile
from doorward.cli.clients.change import Change
from doorward.cli.clients.known import CLIENTS, GENERIC, TOKEN, Client, Http, Machine, Scope, Stdio
from doorward.errors import BadParams, Unusable
from doorward.home import Home
from doorward.settings import home_folder, load
from doorward.visible import visible

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_ROOM = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_NOT_DONE = 1


@click.command("connect")
@click.argument("client", type=click.Choice([*(client.id for client in CLIENTS), GENERIC]), required=False)
@click.option("--room", default="general", show_default=True, help="The room in which the client's agent acts.")
@click.option("--name", default="doorward", show_default=True, help="The name of the entry.")
@click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="For all your projects, or for the one in this folder.",
)
@click.option("--http", is_flag=True, help=f"Reach the running server by its address, with the token in {TOKEN}.")
@click.option("--with-token", is_flag=True, help=f"With --http: write the token from {TOKEN} into the file.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--remove", is_flag=True, help="Take the entry out again.")
@click.option("--print", "only_print", is_flag=True, help="Print the entry, and write nothing.")
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
    """Add Doorward to an MCP client on this machine. Without CLIENT: which there are, and which are connected.

    The change is shown first and made after you said yes. A copy of the file as it was is kept beside it.
    """
    _check("--name", name, _NAME, "letters, digits, dashes and underscores")
    _check("--room", room, _ROOM, "small letters, digits, dashes and underscores")
    if with_token and not http:
        raise click.UsageError("--with-token goes with --http; a program that the client starts needs no token.")
    machine = Machine.here()
    if client is None:
        _list(machine, name)
        return
    way = _http(room, with_token) if http else _stdio(room)
    if client == GENERIC:
        _print_generic(name, way)
        return
    chosen = known.known(client)
    file = chosen.file(scope, machine)
    if only_print:
        _print(chosen, file, name, way)
        return
    if remove:
        change = changes.removing(chosen, file, name)
    else:
        change = changes.connecting(chosen, file, name, chosen.entry(way))
    ctx.exit(_carry_out(change, chosen, way, remove, yes))


def _carry_out(change: Change, client: Client, way: Stdio | Http, remove: bool, yes: bool) -> int:
    """Show the change, ask, and make it."""
    token = way.token if isinstance(way, Http) and not remove else ""
    if change.nothing:
        click.echo(f"Nothing to change: {client.title} is {'not ' if remove else ''}connected in {change.file}.")
        return 0
    click.echo(visible(change.shown(token)))
    if token:
        click.echo("The token goes into the file as it is; whoever can read the file can use it.", err=True)
    if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo("Nothing was written: there is nobody to ask. To make this change, add --yes.", err=True)
        return _NOT_DONE
    if not yes and not click.confirm("Make this change?", default=False):
        click.echo("Nothing was written.")
        return _NOT_DONE
    copy = change.make(0o600 if token else 0o666)
    click.echo(f"{'Removed' if change.after is None else 'Wrote'} {change.file}.")
    if copy is not None:
        click.echo(f"As it was before: {copy}")
    if not remove:
        if isinstance(way, Http) and not token:
            click.echo(f"{client.title} finds the token in {TOKEN}; make one with: doorward token create NAME")
        click.echo(client.then)
    return 0


def _list(machine: Machine, name: str) -> None:
    """Each client: is it here, and does Doorward stand in its configuration."""
    for client in CLIENTS:
        files = [client.user(machine)] + ([client.project(machine)] if client.project is not None else [])
        connected = [str(file) for file in files if _is_connected(client, file, name)]
        if connected:
            state = f"connected in {', '.join(connected)}"
        elif _is_here(client, machine):
            state = f"found; connect it with: doorward connect {client.id}"
        else:
            state = "not found"
        click.echo(f"{client.id:<15} {visible(state)}")
    click.echo(f"{GENERIC:<15} any other client: doorward connect {GENERIC} prints what it needs")


def _is_connected(client: Client, file: Path, name: str) -> bool:
    try:
        return changes.present(client, file, name) is not None
    except Unusable as error:
        click.echo(visible(error.message), err=True)
        return False


def _is_here(client: Client, machine: Machine) -> bool:
    file = client.user(machine)
    return (
        file.exists()
        or (file.parent not in (machine.home, Path()) and file.parent.is_dir())
        or any(shutil.which(program) for program in client.programs)
    )


def _stdio(room: str) -> Stdio:
    """This very program, so that the client finds it from wherever it starts it."""
    folder = home_folder()
    env = {} if folder == Path.home() / ".doorward" else {"DOORWARD_HOME": str(folder)}
    program = Path(os.path.abspath(sys.argv[0]))
    if program.name == "__main__.py" or not os.access(program, os.X_OK):
        return Stdio(sys.executable, ["-m", "doorward", "mcp", "--room", room], env)
    return Stdio(str(program), ["mcp", "--room", room], env)


def _http(room: str, with_token: bool) -> Http:
    server = load(Home(home_folder()).settings).server
    if not server.port:
        raise BadParams("The server takes any free port, so it has no address to write down; set server.port.")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.host, server.host)  # noqa: S104 - named, not bound
    host = f"[{host}]" if ":" in host else host
    token = os.environ.get(TOKEN, "") if with_token else ""
    if with_token and not token:
        raise BadParams(
            f"--with-token takes the token from {TOKEN}, which is not set.",
            hint="Make a token with: doorward token create NAME",
        )
    return Http(f"http://{host}:{server.port}/mcp/{room}", token)


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
        raise BadParams(f"{option} takes 1 to 63 {what}, the first a letter or digit; given {given[:80]!r}.")
