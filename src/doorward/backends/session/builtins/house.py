"""Built-ins for the server: status, log, audit, approvals, recipes, MCP servers, personas, models."""

from __future__ import annotations

import json
from typing import Any

from doorward import __version__
from doorward.backends.ai import moment
from doorward.backends.session.builtins.builtin import ASKS, LOOKS, Kind, builtin
from doorward.backends.session.builtins.options import Options, Usage
from doorward.backends.session.builtins.showing import as_json, shown
from doorward.backends.session.builtins.speaking import Speaker
from doorward.clock import iso
from doorward.command import NoUndo
from doorward.facts import Effects, Safety, Tier

_GROUP = "Server"
_SOME = "01k9x2m4q7ab3cde"
_DECIDES = Kind(
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    safety=Safety.DANGEROUS,
    undo=NoUndo("an approval can be used immediately"),
)


@builtin("status", "[--json]", group=_GROUP, kind=ASKS, options={"--json": "Print everything as JSON"})
async def status(speaker: Speaker, options: Options) -> None:
    """Print the state of the server and its problems."""
    told = await speaker.ask("system/status")
    if "--json" in options:
        speaker.say(as_json(told))
        return
    hour = told["lastHour"]
    speaker.line(f"Doorward {told['version']} is {told['state']}; sandbox {told['sandbox']}.")
    speaker.line(
        f"{told['running']} running, {told['approvalsWaiting']} waiting for approval, {told['rooms']} rooms,"
        f" {told['commands']} commands."
    )
    speaker.line(f"In the last hour: {', '.join(f'{count} {what}' for what, count in hour.items())}.")
    for problem in told["problems"]:
        speaker.line(f"- {shown(problem)}")
    if told["problems"]:
        speaker.ends(1)


@builtin("version", "", group=_GROUP)
async def version(speaker: Speaker, options: Options) -> None:
    """Print the version of Doorward."""
    speaker.line(__version__)


@builtin(
    "log",
    "[-n number] [-e] [pattern]",
    ["-n", "5"],
    group=_GROUP,
    options={"-n NUMBER": "Number of lines; default 20", "-e --errors": "Only errors"},
)
async def log(speaker: Speaker, options: Options) -> None:
    """Print the last lines of Doorward's log, newest last; the pattern is a regular expression."""
    if len(options.words) > 1:
        raise Usage("it takes one pattern")
    given = await speaker.ask(
        "debug/logs",
        tailLines=options.number("-n", 20, least=1, most=5_000),
        includeErrorsOnly="-e" in options,
        filterPattern=options.words[0] if options.words else "",
    )
    for line in given["items"]:
        speaker.line(json.dumps(line, ensure_ascii=False))


@builtin("approvals", "[-a]", group=_GROUP, kind=ASKS, options={"-a": "Include decided ones"})
async def approvals(speaker: Speaker, options: Options) -> None:
    """List the calls that wait for approval."""
    given = await speaker.ask("approval/list", pending="-a" not in options)
    speaker.table(given["items"], ["id", "state", "room", "caller", "command", "params", "expiresAt"])


@builtin("approve", "ticket", [_SOME], group=_GROUP, kind=_DECIDES, says="let it run")
async def approve(speaker: Speaker, options: Options) -> None:
    """Approve a waiting call; only people can."""
    await _decided(speaker, options, "approval/approve")


@builtin("deny", "ticket", [_SOME], group=_GROUP, kind=_DECIDES, says="do not let it run")
async def deny(speaker: Speaker, options: Options) -> None:
    """Deny a waiting call; only people can."""
    await _decided(speaker, options, "approval/deny")


@builtin("recipes", "[id]", ["admin"], group=_GROUP)
async def recipes(speaker: Speaker, options: Options) -> None:
    """List the recipes for rooms, or print one as JSON."""
    if options.words:
        speaker.say(as_json((await speaker.ask("recipe/show", id=options.words[0]))["recipe"]))
        return
    speaker.table((await speaker.ask("recipe/list"))["items"], ["id", "name", "description"])


@builtin(
    "audit",
    "[-n number] [-s since] [-c command] [--failed]",
    ["-n", "5"],
    group=_GROUP,
    options={
        "-n NUMBER": "Number of entries; default 20",
        "-s SINCE": "Since a time, or an age such as 2h",
        "-c COMMAND": "Only this command",
        "--failed": "Only failed and refused calls",
    },
)
async def audit(speaker: Speaker, options: Options) -> None:
    """Print the recorded calls with caller, command and outcome, newest first."""
    where: dict[str, Any] = {"command": options.values["-c"]} if "-c" in options else {}
    where |= {"at": {"$gte": _since(speaker, options.values["-s"])}} if "-s" in options else {}
    where |= {"status": {"$in": ["failed", "refused"]}} if "--failed" in options else {}
    most = options.number("-n", 20, least=1, most=1_000)
    given = await speaker.ask("data/list", collection="executions", filter=where, orderBy="-at", limit=most)
    speaker.table(given["items"], ["at", "caller", "room", "command", "status", "code", "id"])


@builtin("servers", "", group=_GROUP)
async def servers(speaker: Speaker, options: Options) -> None:
    """List the upstream MCP servers and their states."""
    speaker.table((await speaker.ask("mcp/servers"))["items"], ["id", "state", "tools", "problem"])


@builtin("personas", "", group=_GROUP)
async def personas(speaker: Speaker, options: Options) -> None:
    """List the personas of this server."""
    speaker.table((await speaker.ask("persona/list"))["items"], ["id", "name", "model", "access", "rooms"])


@builtin("models", "", group=_GROUP, kind=LOOKS)
async def models(speaker: Speaker, options: Options) -> None:
    """List the available models."""
    speaker.table((await speaker.ask("model/list"))["items"])


async def _decided(speaker: Speaker, options: Options, command: str) -> None:
    if len(options.words) != 1:
        raise Usage("it takes one ticket")
    done = await speaker.ask(command, id=options.words[0])
    speaker.line(f"{done['id']}: {done['command']} is {done['state']}")


def _since(speaker: Speaker, text: str) -> str:
    return iso(moment(text, speaker.ctx.house.clock.now()) / 1_000_000)
