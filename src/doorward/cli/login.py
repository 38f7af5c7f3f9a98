"""`doorward login`: print a one-time link that logs a browser in to the console."""

from __future__ import annotations

import html
import os
import sys
import tempfile
import time
import webbrowser
from pathlib import Path

import click
import msgspec

from doorward.cli import local_client, report
from doorward.config.home import Home
from doorward.config.settings import find_home_folder, load_settings
from doorward.core.errors import Unreachable
from doorward.doors.http.public_address import parse_public_url
from doorward.doors.terminal.messages import TerminalRequest

_TO_LOAD = 10.0
"""Seconds for the browser to load the redirect page before it is deleted."""
_PAGE = """\
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={0}">
<title>Doorward</title>
<p><a href="{0}">Continue to Doorward</a></p>
"""


@click.command("login")
@click.option("--open", "opens", is_flag=True, help="Also open the link in this machine's browser.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(opens: bool, as_json: bool) -> None:
    """Print a link that logs one browser in to the console as you. It works once and expires soon."""
    address = _running()
    outcome = local_client.run(TerminalRequest(command="user/link"))
    if outcome.status != "done":
        click.get_current_context().exit(report.show_outcome(outcome, as_json))
    link = f"{address}{outcome.result['path']}"
    if as_json:
        told = {"link": link, "expiresAt": outcome.result["expiresAt"]}
        click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
    else:
        click.echo(link)
        if sys.stdout.isatty():
            report.print_note(f"It works once, until {outcome.result['expiresAt']}.")
    if opens and not _open_in_browser(link):
        report.print_note("No browser could be opened here; open the link yourself.")


def _open_in_browser(link: str) -> bool:
    """Open the link in a browser, through a temporary page that only the owner can read.

    Every user of the machine can read the arguments of a process, so the link must not be one.
    """
    descriptor, name = tempfile.mkstemp(prefix="login-", suffix=".html", dir=find_home_folder())
    page = Path(name)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(_PAGE.format(html.escape(link)))
        found = webbrowser.open(page.as_uri())
        if found:
            time.sleep(_TO_LOAD)
        return found
    finally:
        page.unlink(missing_ok=True)


def _running() -> str:
    """Return the URL of the running server, its public one if it has one. Raises without a server."""
    home = Home(find_home_folder())
    sock = local_client.connect(home)
    try:
        address = home.address.read_text().strip() if sock is not None else ""
    except OSError:
        address = ""
    finally:
        if sock is not None:
            sock.close()
    if not address:
        raise Unreachable(
            f"No server is running for the home folder {home.path}.",
            hint="Start it with: doorward up",
        )
    return parse_public_url(load_settings(home.settings).server.public_url) or address
