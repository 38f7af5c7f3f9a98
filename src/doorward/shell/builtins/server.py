"""Built-ins for the server: status, log, audit, approvals, recipes, MCP servers, personas, models."""

from __future__ import annotations

import json
from typing import Any

from doorward import __version__
from doorward.commands.ai import parse_time
from doorward.core.classification import Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import NoUndo
from doorward.shell.builtins.builtin import READ_ONLY, READ_SYSTEM, BuiltinFacts, builtin
from doorward.shell.builtins.formatting import escape_name, format_json
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun

_GROUP = "Server"
_EXAMPLE_ID = "01k9x2m4q7ab3cde"
_DECIDES = BuiltinFacts(
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    safety=Safety.DANGEROUS,
    undo=NoUndo("an approval can be used immediately"),
)


@builtin("status", "[--json]", group=_GROUP, kind=READ_SYSTEM, options={"--json": "Print everything as JSON"})
async def status(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the state of the server and its problems."""
    told = await speaker.call("system/status")
    if "--json" in options:
        speaker.write(format_json(told))
        return
    hour = told["lastHour"]
    speaker.write_line(f"Doorward {told['version']} is {told['state']}; sandbox {told['sandbox']}.")
    speaker.write_line(
        f"{told['running']} running, {told['approvalsWaiting']} waiting for approval, {told['rooms']} rooms,"
        f" {told['commands']} commands."
    )
    speaker.write_line(f"In the last hour: {', '.join(f'{count} {what}' for what, count in hour.items())}.")
    for problem in told["problems"]:
        speaker.write_line(f"- {escape_name(problem)}")
    if told["problems"]:
        speaker.set_exit_code(1)


@builtin("version", "", group=_GROUP)
async def version(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the version of Doorward."""
    speaker.write_line(__version__)


@builtin(
    "log",
    "[-n number] [-e] [pattern]",
    ["-n", "5"],
    group=_GROUP,
    options={"-n NUMBER": "Number of lines; default 20", "-e --errors": "Only errors"},
)
async def log(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the last lines of Doorward's log, newest last; the pattern is a regular expression."""
    if len(options.words) > 1:
        raise UsageError("it takes one pattern")
    given = await speaker.call(
        "debug/logs",
        tailLines=options.number("-n", 20, least=1, most=5_000),
        includeErrorsOnly="-e" in options,
        filterPattern=options.words[0] if options.words else "",
    )
    for line in given["items"]:
        speaker.write_line(json.dumps(line, ensure_ascii=False))


@builtin("approvals", "[-a]", group=_GROUP, kind=READ_SYSTEM, options={"-a": "Include decided ones"})
async def approvals(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List the calls that wait for approval."""
    given = await speaker.call("approval/list", pending="-a" not in options)
    speaker.write_table(given["items"], ["id", "state", "room", "caller", "command", "params", "expiresAt"])


@builtin("approve", "ticket", [_EXAMPLE_ID], group=_GROUP, kind=_DECIDES, says="let it run")
async def approve(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Approve a waiting call; only people can."""
    await _decide(speaker, options, "approval/approve")


@builtin("deny", "ticket", [_EXAMPLE_ID], group=_GROUP, kind=_DECIDES, says="do not let it run")
async def deny(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Deny a waiting call; only people can."""
    await _decide(speaker, options, "approval/deny")


@builtin("recipes", "[id]", ["admin"], group=_GROUP)
async def recipes(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List the recipes for rooms, or print one as JSON."""
    if options.words:
        speaker.write(format_json((await speaker.call("recipe/show", id=options.words[0]))["recipe"]))
        return
    speaker.write_table((await speaker.call("recipe/list"))["items"], ["id", "name", "description"])


@builtin(
    "audit",
    "[-n number] [-s since] [-c command] [--failed]",
    ["-n", "5"],
    group=_GROUP,
    options={
        "-n NUMBER": "Number of entries; default 20",
        "-s SINCE": "Since a time, or an age such as 2h",
        "-c COMMAND": "Only this command",
        "--failed": "Only failed, refused, denied and expired calls",
    },
)
async def audit(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the recorded calls with caller, command and outcome, newest first."""
    where: dict[str, Any] = {"command": options.values["-c"]} if "-c" in options else {}
    where |= {"at": {"$gte": _parse_since(speaker, options.values["-s"])}} if "-s" in options else {}
    where |= {"status": {"$in": ["failed", "refused", "denied", "expired"]}} if "--failed" in options else {}
    most = options.number("-n", 20, least=1, most=1_000)
    given = await speaker.call("data/list", collection="executions", filter=where, orderBy="-at", limit=most)
    speaker.write_table(given["items"], ["at", "caller", "room", "command", "status", "code", "id"])


@builtin("servers", "", group=_GROUP)
async def servers(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List the upstream MCP servers and their states."""
    speaker.write_table((await speaker.call("mcp/servers"))["items"], ["id", "state", "tools", "problem"])


@builtin("personas", "", group=_GROUP)
async def personas(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List the personas of this server."""
    speaker.write_table((await speaker.call("persona/list"))["items"], ["id", "name", "model", "access", "rooms"])


@builtin("models", "", group=_GROUP, kind=READ_ONLY)
async def models(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List the available models."""
    speaker.write_table((await speaker.call("model/list"))["items"])


async def _decide(speaker: BuiltinRun, options: BuiltinOptions, command: str) -> None:
    if len(options.words) != 1:
        raise UsageError("it takes one ticket")
    done = await speaker.call(command, id=options.words[0])
    speaker.write_line(f"{done['id']}: {done['command']} is {done['state']}")


def _parse_since(speaker: BuiltinRun, text: str) -> str:
    return to_iso(parse_time(text, speaker.ctx.services.clock.now()) / 1_000_000)
