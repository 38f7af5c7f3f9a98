"""`doorward run`: run one governed command."""

from __future__ import annotations

import shutil
import sys
import time

import click
import msgspec
from click.shell_completion import CompletionItem

from doorward.calltext import read_line
from doorward.cli import client, completing, report, servers_shown
from doorward.cli.following import STOPPED
from doorward.cli.live import Live
from doorward.doors.local import Ask
from doorward.model import Outcome

DEFAULT_ROOM = "general"
DEFAULT_AGENT = "terminal"
_VIEWS = {
    name: view
    for command, view in (("servers", servers_shown.servers), ("tools", servers_shown.tools))
    for name in (f"mcp/{command}", f"mcp_{command}")
}
_FLAGS = ("--json", "--dry-run", "--wait", "--cache")


class RunCommand(click.Command):
    """Parses options before the governed command's name as our own; after it, only the flags in `_FLAGS`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = next(
            (n for n, arg in enumerate(args) if "=" not in arg and not arg.startswith("-") and _free(args, n)), None
        )
        if place is None:
            return super().parse_args(ctx, args)
        ours, theirs = args[: place + 1], args[place + 1 :]
        end = theirs.index("--") if "--" in theirs else len(theirs)
        flags = [arg for arg in theirs[:end] if arg in _FLAGS]
        ctx.obj = [arg for arg in theirs[:end] if arg not in _FLAGS] + theirs[end:]
        if "--help" in ctx.obj[:end]:
            return super().parse_args(ctx, ["--help"])
        return super().parse_args(ctx, [*flags, *ours])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [*completing.parameters(ctx.params["name"], incomplete), *super().shell_complete(ctx, incomplete)]


def _free(args: list[str], place: int) -> bool:
    """Whether this argument is not the value of the option before it."""
    return place == 0 or args[place - 1] not in ("--room", "--as", "--token", "--ticket")


@click.command("run", cls=RunCommand)
@click.argument("name", metavar="COMMAND [ARGUMENT]...", default="", shell_complete=completing.commands)
@click.option(
    "--room", default=DEFAULT_ROOM, show_default=True, help="Room to act in, under its recipe; empty for none."
)
@click.option(
    "--as",
    "agent",
    default=DEFAULT_AGENT,
    show_default=True,
    help="Agent that acts on your behalf; `me` for yourself.",
)
@click.option("--token", default="", envvar="DOORWARD_TOKEN", help="Use the identity of this token.")
@click.option("--ticket", default="", help="Resume a call after its approval.")
@click.option("--wait", is_flag=True, help="If the call needs approval, wait for the decision.")
@click.option("--dry-run", is_flag=True, help="Show the decision, the cost and the effect; execute nothing.")
@click.option("--cache", is_flag=True, help="For safe reads, accept a cached result up to a minute old.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole outcome as JSON (the default in a pipe).")
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    room: str,
    agent: str,
    token: str,
    ticket: str,
    wait: bool,
    dry_run: bool,
    cache: bool,
    as_json: bool,
) -> None:
    """Run COMMAND, followed by its --key=value parameters or by the arguments of a program.

    \b
    doorward run data/list --collection=rooms --filter='{"name": {"$contains": "gen"}}'
    doorward run --room general file/read --path=notes.txt
    doorward run --dry-run file/write --path=notes.txt --content="hello"
    doorward run shell/ls -la src
    doorward run bash --command='make test'

    On a terminal, output appears as it is written, and Ctrl-C cancels the execution.
    """
    given = ctx.obj or []
    if " " in name.strip() or name.startswith("EXECUTE:"):
        name, pairs = read_line(" ".join([name, *given]))
        given = [f"--{key}" if value is None else f"--{key}={value}" for key, value in pairs]
    if not name and not ticket:
        raise click.UsageError("Name a command, such as data/list, or resume one with --ticket.")
    ask = Ask(
        command=name,
        words=given if name else None,
        room=room,
        speak_as="" if agent == "me" else agent,
        token=token,
        ticket=ticket,
        dry_run=dry_run,
        cache=cache,
    )
    live = Live(as_json)
    outcome = client.follow(ask, live)
    if outcome.status == "parked":
        outcome = _decided(ask, outcome, live, wait, as_json)
    code = _shown(name, outcome, as_json, live.told)
    if outcome.status == "parked":
        _say_how_to_go_on(outcome)
    ctx.exit(STOPPED if live.stopping and outcome.code in ("cancelled", "withdrawn") else code)


def _shown(name: str, outcome: Outcome, as_json: bool, told: bool) -> int:
    """Print an outcome. Results too wide for a table use the view of their own subcommand."""
    view = _VIEWS.get(name)
    if view is None or as_json or outcome.status != "done" or not sys.stdout.isatty() or "items" not in outcome.result:
        return report.show(outcome, as_json, told=told)
    view(outcome.result)
    return 0


def _decided(ask: Ask, outcome: Outcome, live: Live, wait: bool, as_json: bool) -> Outcome:
    """At a terminal, ask the person to decide. Otherwise wait for the decision with --wait, or leave it pending."""
    resumed = msgspec.structs.replace(ask, ticket=outcome.ticket)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    if at_terminal and not wait and not ask.token and outcome.result["kind"] != "human":
        report.note(f"{outcome.message} It would run exactly:")
        click.echo(f"  {outcome.result['shown']}")
        _show_difference(outcome.ticket)
        verdict = "approve" if click.confirm("Approve, as yourself?", default=False) else "deny"
        decided = client.run(Ask(command=f"approval/{verdict}", params={"id": outcome.ticket}))
        return client.follow(resumed, live) if decided.status == "done" else decided
    if not wait:
        return outcome
    report.note(f"Waiting for approval: doorward approvals approve {outcome.ticket}")
    while _state(outcome.ticket) == "pending":
        time.sleep(1.0)
    return client.follow(resumed, live)


def _show_difference(ticket: str) -> None:
    """Print what the call would change, if known. For an MCP tool, only its server's own description is known."""
    shown = client.run(Ask(command="approval/show", params={"id": ticket}))
    difference = shown.result.get("difference") if shown.status == "done" else ""
    if difference and shown.result["command"].startswith("mcp/"):
        report.note("About this tool:")
        width = shutil.get_terminal_size().columns - 1
        for line in difference.splitlines():
            click.echo(click.wrap_text(line, width, initial_indent="  ", subsequent_indent="  "))
    elif difference:
        report.note("It would change:")
        click.echo("\n".join(f"  {line}" for line in difference.rstrip("\n").splitlines()))


def _say_how_to_go_on(outcome: Outcome) -> None:
    by_hand = outcome.result["kind"] == "human"
    who = "Another person approves" if by_hand else "A person approves"
    report.note(
        f"{who} with: doorward approvals approve {outcome.ticket}\n"
        f"Then resume with: doorward run --as={'me' if by_hand else outcome.result['caller']} --ticket={outcome.ticket}"
    )
    if by_hand:
        report.note("You cannot approve your own request. Outside rooms (--room=), your own access decides.")


def _state(ticket: str) -> str:
    shown = client.run(Ask(command="approval/show", params={"id": ticket}))
    return str(shown.result["state"]) if shown.status == "done" else "gone"
