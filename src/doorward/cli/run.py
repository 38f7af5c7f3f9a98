"""`doorward run`: run one governed command, and complete its name and parameters in a shell."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from typing import Any

import click
import msgspec
from click.shell_completion import CompletionItem

from doorward.cli import local_client, report, servers_view
from doorward.cli.approvals import show_and_hold
from doorward.cli.live_view import LiveView, escape_output
from doorward.cli.local_client import EXIT_INTERRUPTED, reject_empty
from doorward.cli.project import current_folder
from doorward.cli.text_wrap import terminal_width, wrap_indented
from doorward.config.home import Home
from doorward.config.settings import find_home_folder, load_settings
from doorward.core.argtext import parse_line
from doorward.core.command import Command
from doorward.core.errors import Unusable
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import HELP_COMMAND, TerminalRequest


def complete_command(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a governed command."""
    return [CompletionItem(one.name, help=one.summary) for one in _all_commands() if one.name.startswith(incomplete)]


def complete_parameter(name: str, incomplete: str) -> list[CompletionItem]:
    """Complete a parameter of a governed command."""
    found = next((one for one in _all_commands() if one.name == name), None)
    properties = found.schema["properties"] if found is not None else {}
    return [
        CompletionItem(f"--{key}=", help=spec["description"])
        for key, spec in properties.items()
        if f"--{key}=".startswith(incomplete)
    ]


def _all_commands() -> list[Command]:
    from doorward.commands.families import FAMILIES, load_plugin_families  # noqa: PLC0415 - slow to import, needed for completion only

    families = list(FAMILIES)
    # A plugin that cannot be loaded is reported when a command runs, not during completion.
    with contextlib.suppress(Unusable):
        families += load_plugin_families()
    return [*(command for family in families for command in family.commands), *_catalogue_commands()]


def _catalogue_commands() -> list[Command]:
    """Return the commands of this home's catalogue. An invalid catalogue is reported elsewhere."""
    from doorward.commands import programs  # noqa: PLC0415
    from doorward.commands.catalogue.watched_catalogue import read_catalogue  # noqa: PLC0415

    with contextlib.suppress(Unusable, TypeError):
        home = Home(find_home_folder())
        configured = load_settings(home.settings)
        made, _ = programs.build_commands(read_catalogue(home.path, configured.shell.catalogue), configured)
        return made
    return []


DEFAULT_ROOM = "general"
DEFAULT_AGENT = "terminal"
_RESULT_VIEWS = {
    name: view
    for command, view in (("servers", servers_view.show_servers), ("tools", servers_view.show_tools))
    for name in (f"mcp/{command}", f"mcp_{command}")
}
_FLAGS = ("--json", "--text", "--dry-run", "--wait", "--cache")


class RunCommand(click.Command):
    """Parses options before the governed command's name as our own; after it, only the flags in `_FLAGS`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = next(
            (
                n
                for n, arg in enumerate(args)
                if "=" not in arg and not arg.startswith("-") and _is_not_option_value(args, n)
            ),
            None,
        )
        if place is None:
            return super().parse_args(ctx, args)
        ours, theirs = args[: place + 1], args[place + 1 :]
        end = theirs.index("--") if "--" in theirs else len(theirs)
        flags = [arg for arg in theirs[:end] if arg in _FLAGS]
        ctx.obj = [arg for arg in theirs[:end] if arg not in _FLAGS] + theirs[end:]
        return super().parse_args(ctx, [*flags, *ours])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [*complete_parameter(ctx.params["name"], incomplete), *super().shell_complete(ctx, incomplete)]


def _is_not_option_value(args: list[str], place: int) -> bool:
    """Whether this argument is not the value of the option before it."""
    return place == 0 or args[place - 1] not in ("--room", "--as", "--token", "--ticket")


@click.command("run", cls=RunCommand)
@click.argument("name", metavar="COMMAND [ARGUMENT]...", default="", shell_complete=complete_command)
@click.option(
    "--room",
    default=None,
    help=f"Room to act in, under its recipe; empty for none. By default, the room of this folder, or {DEFAULT_ROOM}.",
)
@click.option(
    "--as",
    "agent",
    default=DEFAULT_AGENT,
    show_default=True,
    callback=reject_empty,
    help="Agent that acts on your behalf; `me` for yourself.",
)
@click.option(
    "--token",
    default="",
    envvar="DOORWARD_TOKEN",
    callback=reject_empty,
    help="Use the identity of this token.",
)
@click.option("--ticket", default="", help="Resume a call after its approval.")
@click.option("--wait", is_flag=True, help="If the call needs approval, wait for the decision.")
@click.option("--dry-run", is_flag=True, help="Show the decision, the cost and the effect; change nothing.")
@click.option("--cache", is_flag=True, help="For safe reads, accept a cached result up to a minute old.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole outcome as JSON (the default in a pipe).")
@click.option("--text", "as_text", is_flag=True, help="Print text in a pipe too, as on a terminal, without colours.")
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    room: str | None,
    agent: str,
    token: str,
    ticket: str,
    wait: bool,
    dry_run: bool,
    cache: bool,
    as_json: bool,
    as_text: bool,
) -> None:
    """Run COMMAND, followed by its --key=value parameters or by the arguments of a program.

    \b
    doorward run data/list --collection=rooms --filter='{"name": {"$contains": "gen"}}'
    doorward run --room general file/read --path=notes.txt
    doorward run --dry-run file/write --path=notes.txt --content="hello"
    doorward run shell/ls -la src
    doorward run bash --command='make test'

    On a terminal, output appears as it is written, and Ctrl-C cancels the execution. COMMAND --help shows the
    parameters of a command.
    """
    if as_json and as_text:
        raise click.UsageError("--json and --text exclude each other.")
    given = ctx.obj or []
    if " " in name.strip() or name.startswith("EXECUTE:"):
        name, pairs = parse_line(" ".join([name, *given]))
        given = [f"--{key}" if value is None else f"--{key}={value}" for key, value in pairs]
    if as_json and as_text:
        raise click.UsageError("--json and --text exclude each other.")
    if not name and not ticket:
        raise click.UsageError("Name a command, such as data/list, or resume one with --ticket.")
    ask = TerminalRequest(
        command=name,
        words=given if name else None,
        room=DEFAULT_ROOM if room is None else room,
        folder=current_folder() if room is None else "",
        speak_as="" if agent == "me" else agent,
        token=token,
        ticket=ticket,
        dry_run=dry_run,
        cache=cache,
    )
    live = LiveView(as_json)
    outcome = local_client.follow(ask, live)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    if outcome.status == "parked":
        outcome = _resolve_approval(ask, outcome, live, wait, at_terminal=at_terminal)
    elif outcome.dry_run and at_terminal and not token:
        _add_trial(ask, outcome)
    code = _show_outcome(name, outcome, as_json, as_text, live.output_shown)
    if outcome.status == "parked":
        _print_next_steps(outcome)
    ctx.exit(EXIT_INTERRUPTED if live.stopping and outcome.code in ("cancelled", "withdrawn") else code)


def _show_outcome(name: str, outcome: Outcome, as_json: bool, as_text: bool, told: bool) -> int:
    """Print an outcome. Results too wide for a table use the view of their own subcommand, and help is plain text."""
    if outcome.command == HELP_COMMAND != name and outcome.status == "done" and not as_json:
        _show_help(outcome.result)
        return int(outcome.result["exitCode"])
    view = _RESULT_VIEWS.get(name)
    for_people = (as_text or sys.stdout.isatty()) and not as_json
    if view is None or not for_people or outcome.status != "done" or "items" not in outcome.result:
        return report.show_outcome(outcome, as_json, told=told, as_text=as_text)
    view(outcome.result)
    return 0


def _show_help(result: dict[str, Any]) -> None:
    for line in escape_output(result["stdout"]).splitlines():
        click.echo(wrap_indented(line, terminal_width(), 4))
    if result["stderr"]:
        click.echo(escape_output(result["stderr"]), nl=False, err=True)


def _add_trial(ask: TerminalRequest, outcome: Outcome) -> None:
    """Show the person at the terminal what a program changes, as its approval would. Its agent does not see that."""
    effect = outcome.result.get("effect")
    if not outcome.result["approval"] or not isinstance(effect, dict) or "trial" not in effect:
        return
    room = (local_client.find_room(ask.folder) if ask.folder else "") or ask.room
    shown = local_client.run(TerminalRequest(command="room/show", params={"name": room})) if room else None
    if shown is not None and (shown.status != "done" or shown.result["workspace"]):
        return  # outside the room, it would run in another folder
    own = local_client.run(msgspec.structs.replace(ask, room="", folder="", speak_as=""))
    if own.dry_run and isinstance(own.result.get("effect"), dict):
        effect["trial"] = own.result["effect"].get("trial", effect["trial"])


def _resolve_approval(
    ask: TerminalRequest, outcome: Outcome, live: LiveView, wait: bool, *, at_terminal: bool
) -> Outcome:
    """At a terminal, ask the person to decide. Otherwise wait for the decision with --wait, or leave it pending."""
    resumed = msgspec.structs.replace(ask, ticket=outcome.ticket)
    if at_terminal and not wait and not ask.token and outcome.result["kind"] != "human":
        report.print_note(f"{outcome.message} It would run exactly:")
        click.echo(f"  {outcome.result['shown']}")
        _show_difference(outcome.ticket)
        verdict = "approve" if click.confirm("Approve, as yourself?", default=False) else "deny"
        decided = local_client.run(TerminalRequest(command=f"approval/{verdict}", params={"id": outcome.ticket}))
        return local_client.follow(resumed, live) if decided.status == "done" else decided
    if not wait:
        return outcome
    report.print_note(f"Waiting for approval: doorward approvals approve {outcome.ticket}")
    while _approval_state(outcome.ticket) == "pending":
        time.sleep(1.0)
    return local_client.follow(resumed, live)


def _show_difference(ticket: str) -> None:
    """Print what the call would change, if known. For an MCP tool, only its server's own description is known."""
    shown = show_and_hold(ticket)
    difference = shown.result.get("difference") if shown.status == "done" else ""
    if difference and shown.result["command"].startswith("mcp/"):
        report.print_note("About this tool:")
        width = shutil.get_terminal_size().columns - 1
        for line in difference.splitlines():
            click.echo(click.wrap_text(line, width, initial_indent="  ", subsequent_indent="  "))
    elif difference:
        report.print_note("It would change:")
        click.echo("\n".join(f"  {line}" for line in difference.rstrip("\n").splitlines()))
        if rest := report.describe_rest(shown.result):
            report.print_note(f"  {rest}")


def _print_next_steps(outcome: Outcome) -> None:
    by_hand = outcome.result["kind"] == "human"
    who = "Another person approves" if by_hand else "A person approves"
    report.print_note(
        f"{who} with: doorward approvals approve {outcome.ticket}\n"
        f"Then resume with: doorward run --as={'me' if by_hand else outcome.result['caller']} --ticket={outcome.ticket}"
    )
    if by_hand:
        report.print_note("You cannot approve your own request. Outside rooms (--room=), your own access decides.")


def _approval_state(ticket: str) -> str:
    shown = local_client.run(TerminalRequest(command="approval/show", params={"id": ticket}))
    return str(shown.result["state"]) if shown.status == "done" else "gone"
