"""`doorward protect`: make a coding client's own tools ask the gate before they run, or stop that."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from doorward.cli import local_client
from doorward.cli.clients import hook_config
from doorward.cli.clients.canaries import CanaryResult, ask_codex, run_canaries
from doorward.cli.clients.config_edit import ConfigEdit
from doorward.cli.clients.hook_config import CLIENT_HOOKS, ClientHooks
from doorward.cli.clients.program import find_program
from doorward.cli.clients.registry import Scope
from doorward.config.settings import find_home_folder
from doorward.core.errors import BadParams, NotFound
from doorward.core.escape_invisible import escape_invisible
from doorward.doors.hooks.answers import REPLACED_TOOLS
from doorward.doors.terminal.messages import TerminalRequest
from doorward.upstream.client_files import ClientMachine

_EXIT_NOT_DONE = 1
_SCOPES: tuple[Scope, ...] = ("project", "user")
_QUESTIONS = {
    "its shell": "native/shell",
    "its edits": "native/edit",
    "its reads": "native/read",
    "its other tools": "native/tool",
}
_DECISIONS = {"allowed": "allowed", "approval": "allowed once a person approves", "refused": "refused"}


@click.command("protect")
@click.argument("client", metavar="[CLIENT]", type=click.Choice([one.id for one in CLIENT_HOOKS]), required=False)
@click.option(
    "--scope",
    type=click.Choice(_SCOPES),
    default="project",
    show_default=True,
    help="Protect the project in this folder, or all your projects.",
)
@click.option("--room", default="", help="Room whose recipe decides. By default, the room of this folder.")
@click.option(
    "--mode",
    type=click.Choice(["judge", "sandbox"]),
    default="judge",
    show_default=True,
    help="The recipe decides on each call; or each shell call runs in the sandbox instead.",
)
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--remove", is_flag=True, help="Remove the hook.")
@click.option("--verify", is_flag=True, help="Prove the protection with made-up calls, without a model.")
@click.pass_context
def command(
    ctx: click.Context,
    client: str | None,
    scope: Scope,
    room: str,
    mode: str,
    yes: bool,
    remove: bool,
    verify: bool,
) -> None:
    """Make the own tools of a coding client ask the gate before they run. Without CLIENT, list the clients.

    CLIENT is claude-code, codex, gemini, cursor or vscode. Its hooks then send every shell call, edit and read to the
    gate, which decides by the room's recipe and records the call. The shipped recipes for coding allow reads in the
    workspace and refuse the client's own shell and edits in favour of Doorward's tools. To let the client run them
    itself, put native/shell or native/edit on the recipe's whitelist. If Doorward is not running, every call is
    blocked.
    """
    machine = ClientMachine.current()
    if verify:
        chosen = [hook_config.find_client_hooks(client)] if client else list(CLIENT_HOOKS)
        ctx.exit(_verify(chosen, machine, named=client is not None))
    if client is None:
        if remove or yes or room:
            raise click.UsageError("These options need a CLIENT; `doorward protect` alone lists the clients.")
        for one in CLIENT_HOOKS:
            click.echo(f"{one.id:<12} {escape_invisible(_describe_state(one, machine), lines=False)}")
        return
    found = hook_config.find_client_hooks(client)
    file = found.file(scope, machine)
    if remove:
        ctx.exit(_apply_edit(hook_config.plan_removal(found, file), found, yes, remove=True))
    if mode == "sandbox" and client not in REPLACED_TOOLS:
        raise BadParams(
            f"A hook of {found.title} cannot replace a shell call completely, so --mode sandbox is not available.",
            hint=f"Omit --mode. It works with {', '.join(REPLACED_TOOLS)}.",
        )
    room = _find_room(room, machine.folder)
    line = hook_config.hook_command_line(_hook_words(client, room, mode))
    code = _apply_edit(hook_config.plan_protection(found, file, line), found, yes, remove=False)
    if code == 0 and scope == "project" and found.shared:
        click.echo(f"{file} names programs of this machine. Do not commit it.")
    if code == 0:
        _print_state(found, room, mode)
    ctx.exit(code)


def _hook_words(client: str, room: str, mode: str) -> str:
    program, *words = find_program()
    isolated = ["-I"] if words[:1] == ["-m"] else []  # a module in the project must not take the place of Doorward
    options = [f"--room={room}", *([f"--mode={mode}"] if mode != "judge" else []), f"--home={find_home_folder()}"]
    return shlex.join([program, *isolated, *words, "hook", client, *options])


def _find_room(named: str, folder: Path) -> str:
    """The named room, or the one whose workspace holds this folder."""
    listed = local_client.run(TerminalRequest(command="room/list"))
    if listed.status != "done":
        raise NotFound(listed.message, hint=listed.hint)
    rooms: dict[str, str] = {one["room"]: one["workspace"] for one in listed.result["items"] if not one["archived"]}
    if named:
        if named not in rooms:
            raise NotFound(f"There is no room {named!r}; valid: {', '.join(rooms)}.")
        return named
    real = folder.resolve()
    fitting = [room for room, place in rooms.items() if place and real.is_relative_to(Path(place).resolve())]
    if not fitting:
        raise NotFound(
            f"No room has the workspace {folder}, so the gate would refuse every file in it.",
            hint="Make this folder a room's workspace, or name a room with --room ROOM.",
        )
    return max(fitting, key=lambda room: len(rooms[room]))


def _apply_edit(change: ConfigEdit, client: ClientHooks, yes: bool, *, remove: bool) -> int:
    """Show the change, ask for confirmation, and write it."""
    if change.is_empty:
        click.echo(f"Nothing to change: {client.title} is {'not ' if remove else ''}protected in {change.file}.")
        return 0
    click.echo(escape_invisible(change.render_diff()))
    if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo("Nothing was written: not a terminal, so you cannot confirm. Add --yes to write.", err=True)
        return _EXIT_NOT_DONE
    if not yes and not click.confirm("Make this change?", default=False):
        click.echo("Nothing was written.")
        return _EXIT_NOT_DONE
    copy = change.write()
    click.echo(f"{'Removed' if change.after is None else 'Wrote'} {change.file}.")
    if copy is not None:
        click.echo(f"Backup: {copy}")
    if not remove:
        click.echo(client.then)
    return 0


def _print_state(client: ClientHooks, room: str, mode: str) -> None:
    """Print what the recipe decides now, and what no hook can close."""
    click.echo(f"\nIn room {room}, the gate decides on {client.title}:")
    for what, name in _QUESTIONS.items():
        if mode == "sandbox" and name == "native/shell":
            click.echo(f"  {what:<16} replaced by Doorward's bash, in the sandbox")
            continue
        said = local_client.explain(TerminalRequest(command=name, room=room, speak_as=client.id))
        click.echo(f"  {what:<16} {_DECISIONS[said['decision']]} ({said['rule']})")
    _print_open(client)
    click.echo(f"\nProve it with: doorward protect {client.id} --verify")


def _print_open(client: ClientHooks) -> None:
    click.echo("\nThis stays outside the gate:")
    for sentence in client.open:
        click.echo(f"  {sentence.format(title=client.title)}")


def _describe_state(client: ClientHooks, machine: ClientMachine) -> str:
    files = dict.fromkeys(str(file) for file, _ in _list_installed(client, machine))
    if files:
        return f"protected in {', '.join(files)}"
    if _find_program(client):
        return f"installed, not protected; protect it with: doorward protect {client.id}"
    return "not installed"


def _list_installed(client: ClientHooks, machine: ClientMachine) -> list[tuple[Path, str]]:
    """The files that hold Doorward's hook, each with its command line."""
    files = [client.file(scope, machine) for scope in _SCOPES]
    found = [(file, line) for file in files for line in hook_config.find_installed_lines(client, file)]
    return list(dict.fromkeys(found))


def _verify(clients: list[ClientHooks], machine: ClientMachine, *, named: bool) -> int:
    """Run the canaries of each protected client. Returns 0 only if at least one is protected and all of them pass."""
    failed = proven = 0
    for client in clients:
        installed = _list_installed(client, machine)
        if not installed:
            if named:
                click.echo(f"{client.title} is not protected here. Protect it with: doorward protect {client.id}")
            continue
        for file, line in installed:
            click.echo(f"{client.title}, with the hook in {file}:")
            for result in _list_results(client, line, machine.folder):
                click.echo(f"  {'proven' if result.passed else 'FAILED'}  {escape_invisible(result.text, lines=False)}")
                proven, failed = proven + result.passed, failed + (not result.passed)
        _print_unproven(client)
    if not proven and not failed and not named:
        click.echo("No client is protected in this folder or for this account. See: doorward protect")
    return 0 if proven and not failed else _EXIT_NOT_DONE


def _list_results(client: ClientHooks, line: str, folder: Path) -> Iterator[CanaryResult]:
    yield from run_canaries(client, line, folder)
    if client.id == "codex" and (program := _find_program(client)):
        yield ask_codex(program, line, folder)


def _find_program(client: ClientHooks) -> str:
    return next((found for name in client.programs if (found := shutil.which(name))), "")


def _print_unproven(client: ClientHooks) -> None:
    click.echo("  not proven:")
    why = "no session was started" if _find_program(client) else "it is not installed here"
    click.echo(f"    That {client.title} runs the hook before its tools: {why}.")
    for sentence in client.open:
        click.echo(f"    {sentence.format(title=client.title)}")
