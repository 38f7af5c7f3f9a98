"""`doorward up`: start the server on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import shlex
import shutil
import socket
import sys
from collections.abc import AsyncIterator

import click
import msgspec

from doorward.app import House, open_house
from doorward.cli.background_tasks import run_background_tasks
from doorward.cli.models_line import add_models_line
from doorward.config.home import Home, HomeLock, bind_private_socket
from doorward.config.settings import Settings, find_home_folder, load_settings
from doorward.core.errors import DoorwardError, Overloaded
from doorward.doors.http.applications import HttpApplications
from doorward.doors.http.host_guard import wildcard_host_warning
from doorward.doors.http.ports import listen, reachable_host
from doorward.doors.http.public_address import parse_public_url
from doorward.doors.http.server import raise_file_limit, serve, stop_on_signals, tune_garbage_collection
from doorward.doors.line.door import open_line_door
from doorward.doors.line.environment import apply_environment
from doorward.doors.line.tokenless_access import TokenlessAccess
from doorward.doors.mcp.stdio.handshake import take_over
from doorward.doors.mcp.stdio.host import StdioHost
from doorward.rooms.people import LOCAL, OWNER


@click.command("up")
@click.option("--host", default=None, help="Address to listen on. By default, as in the settings.")
@click.option("--port", type=click.IntRange(0, 65_535), default=None, help="Port to listen on; 0 for any free port.")
def command(host: str | None, port: int | None) -> None:
    """Start the Doorward server on this machine. Ctrl-C stops it cleanly."""
    home = Home(find_home_folder())
    home.create()
    with HomeLock(home) as lock:
        if not take_over(home, lock):
            raise _in_use_error(home, lock)
        configured = load_settings(home.settings)
        given = {name: value for name, value in (("host", host or None), ("port", port)) if value is not None}
        server = msgspec.structs.replace(configured.server, **given)
        line = apply_environment(configured.line, os.environ)
        asyncio.run(_run_server(home, msgspec.structs.replace(configured, server=server, line=line)))


def _in_use_error(home: Home, lock: HomeLock) -> Overloaded:
    """Return the error for a home folder that is in use, with the URL of its server if one is running."""
    busy = lock.busy_error()
    with contextlib.suppress(OSError):
        busy.hint = (
            f"Doorward is already running: {home.address.read_text().strip()}. For a login link: doorward login. To "
            "stop it: Ctrl-C in its terminal. To run a second server, set DOORWARD_HOME to another home folder."
        )
    return busy


async def _run_server(home: Home, settings: Settings) -> None:
    stopping = asyncio.Event()
    stop_on_signals(stopping)
    most, scarce = raise_file_limit(settings.server.connections)
    for warning in (scarce, wildcard_host_warning(settings.server)):
        if warning:
            click.echo(click.style(warning, fg="yellow", bold=True), err=True)
    async with open_house(home, changes=settings, stop=stopping.set) as house:
        await add_models_line(house)
        with (
            contextlib.closing(_open_socket(house)) as public,
            contextlib.closing(bind_private_socket(home.socket)) as private,
        ):
            try:
                server = HttpApplications(house.gate, house.services)
                clients = StdioHost(home, house.gate, house.services, server.mcp)
                async with run_background_tasks(house), clients, _open_line_door(house) as also:
                    host, port = reachable_host(public.getsockname()[0]), public.getsockname()[1]
                    tune_garbage_collection()
                    await serve(
                        server, public, private, stopping, lambda: _print_welcome(house, host, port, also), most
                    )
            finally:
                home.address.unlink(missing_ok=True)
                home.socket.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # the terminal may be gone
        click.echo("Doorward has stopped.")


def _open_socket(house: House) -> socket.socket:
    """Open the listening socket. If that fails, say that the home folder was created nevertheless."""
    try:
        return listen(house.settings.server.host, house.settings.server.port)
    except DoorwardError:
        if house.setup_lines:
            click.echo(f"The home folder was created: {house.home.path}", err=True)
        raise


@contextlib.asynccontextmanager
async def _open_line_door(house: House) -> AsyncIterator[str]:
    """Open the line door if the settings enable it, and yield a line about it for the welcome text."""
    line = house.settings.line
    if not line.enabled:
        yield ""
        return
    async with open_line_door(house.gate, house.services) as (host, port):
        if not line.certificate and not ipaddress.ip_address(host).is_loopback:
            warning = f"The line door on {host} is not encrypted: tokens can be read in transit. Set line.certificate."
            click.echo(click.style(warning, fg="yellow", bold=True), err=True)
        if warning := TokenlessAccess(house.services).warning:
            click.echo(click.style(warning, fg="yellow", bold=True), err=True)
        yield f"line door listening on {host} port {port}, room {line.room}{', with TLS' if line.certificate else ''}"


def _print_welcome(house: House, host: str, port: int, also: str) -> None:
    where = f"[{host}]" if ":" in host else host
    public = parse_public_url(house.settings.server.public_url)
    house.home.address.write_text(f"http://{where}:{port}\n")
    program = "doorward" if shutil.which("doorward") else sys.argv[0]
    home = f"DOORWARD_HOME={shlex.quote(str(house.home.path))}" if os.environ.get("DOORWARD_HOME") else ""
    login = f"{home} {program} login".strip()
    lines = [*(f"  {line}" for line in house.setup_lines), ""] if house.setup_lines else []
    if house.setup_lines:
        lines.insert(0, "Created the home folder:")
    if house.recovered:
        lines.append(f"{house.recovered} calls were interrupted when Doorward last stopped; the ledger lists them.")
    if _is_logged():
        lines += [f"For a login link: {login}", ""]
    else:
        minutes = f"{house.settings.console.link_minutes:.0f}"
        lines += [
            f"Open this link to log in: {_make_login_link(house, public or f'http://{where}:{port}')}",
            f"  (it works once, within {minutes} minutes; for another: {login})",
            "",
        ]
    lines += [
        f"Doorward is up: http://{where}:{port}",
        f"  health   http://{where}:{port}/health",
        f"  metrics  http://{where}:{port}/metrics",
        f"  REST     http://{where}:{port}/docs",
        f"  MCP      http://{where}:{port}/mcp",
        f"  home     {house.home.path}",
        *([f"  {also}"] if also else []),
        "",
        "In another terminal:",
        *([f"  export {home}"] if home else []),
        f"  {program} chat",
        f"  {program} run data/list --collection=rooms",
        f"  {program} run shell/ls -la",
        f"  {program} explain --room general file/write",
        f"  {program} audit tail",
        f"  {program} connect",
        "",
        "Ctrl-C stops it.",
    ]
    for problem in house.services.recipes.problems.values():
        lines.append(f"A recipe is not valid; its last valid version stays in force: {problem}")
    if house.services.catalogue.problem:
        lines.append(f"The program catalogue cannot be used: {house.services.catalogue.problem}")
    if house.services.servers.problem:
        lines.append(f"{house.services.servers.problem} {house.services.servers.consequence}")
    click.echo("\n".join(lines))


def _is_logged() -> bool:
    """Whether a service manager logs our output. Others may read that log, and a login link is for one person.

    Some desktop terminals are services themselves and set these variables too, so a terminal is checked first.
    """
    return not sys.stdout.isatty() and any(os.environ.get(name) for name in ("INVOCATION_ID", "JOURNAL_STREAM"))


def _make_login_link(house: House, address: str) -> str:
    """Return a login link for the console. The code is in the fragment, which browsers never send."""
    return f"{address}/console/#login={house.services.browsers.create_link(LOCAL, OWNER)}"
