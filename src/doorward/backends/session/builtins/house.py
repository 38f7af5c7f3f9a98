"""Built-ins about the house: how it stands, its log and record, what waits, and what lives in it."""

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

_GROUP = "The house"
_SOME = "01k9x2m4q7ab3cde"
_DECIDES = Kind(
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    safety=Safety.DANGEROUS,
    undo=NoUndo("an approval can be used at once"),
)


@builtin("status", "[--json]", group=_GROUP, kind=ASKS, options={"--json": "All of it, as JSON"})
async def status(speaker: Speaker, options: Options) -> None:
    """Say how the house is doing, and what is not as it should be."""
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
    options={"-n NUMBER": "So many lines from the end; 20", "-e --errors": "Only errors"},
)
async def log(speaker: Speaker, options: Options) -> None:
    """Print the end of Doorward's log, newest last; a pattern is a regular expression."""
    if len(options.words) > 1:
        raise Usage("one pattern is valid")
    given = await speaker.ask(
        "debug/logs",
        tailLines=options.number("-n", 20, least=1, most=5_000),
        includeErrorsOnly="-e" in options,
        filterPattern=options.words[0] if options.words else "",
    )
    for line in given["items"]:
        speaker.line(json.dumps(line, ensure_ascii=False))


@builtin("approvals", "[-a]", group=_GROUP, kind=ASKS, options={"-a": "Also those that are decided"})
async def approvals(speaker: Speaker, options: Options) -> None:
    """List what waits for a person."""
    given = await speaker.ask("approval/list", pending="-a" not in options)
    speaker.table(given["items"], ["id", "state", "room", "caller", "command", "params", "expiresAt"])


@builtin("approve", "ticket", [_SOME], group=_GROUP, kind=_DECIDES, says="let it run")
async def approve(speaker: Speaker, options: Options) -> None:
    """Say yes to what waits; only a person can."""
    await _decided(speaker, options, "approval/approve")


@builtin("deny", "ticket", [_SOME], group=_GROUP, kind=_DECIDES, says="do not let it run")
async def deny(speaker: Speaker, options: Options) -> None:
    """Say no to what waits; only a person can."""
    await _decided(speaker, options, "approval/deny")


@builtin("recipes", "[id]", ["admin"], group=_GROUP)
async def recipes(speaker: Speaker, options: Options) -> None:
    """List the recipes that rooms can be governed by, or print one as JSON."""
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
        "-n NUMBER": "The newest so many; 20",
        "-s SINCE": "Since a time, or an age such as 2h",
        "-c COMMAND": "Only this command",
        "--failed": "Only what failed or was refused",
    },
)
async def audit(speaker: Speaker, options: Options) -> None:
    """Print who asked for what, when, and how it ended, newest first."""
    where: dict[str, Any] = {"command": options.values["-c"]} if "-c" in options else {}
    where |= {"at": {"$gte": _since(speaker, options.values["-s"])}} if "-s" in options else {}
    where |= {"status": {"$in": ["failed", "refused"]}} if "--failed" in options else {}
    most = options.number("-n", 20, least=1, most=1_000)
    given = await speaker.ask("data/list", collection="executions", filter=where, orderBy="-at", limit=most)
    speaker.table(given["items"], ["at", "caller", "room", "command", "status", "code", "id"])


@builtin("servers", "", group=_GROUP)
async def servers(speaker: Speaker, options: Options) -> None:
    """List the MCP servers behind this house and how they stand."""
    speaker.table((await speaker.ask("mcp/servers"))["items"], ["id", "state", "tools", "problem"])


@builtin("personas", "", group=_GROUP)
async def personas(speaker: Speaker, options: Options) -> None:
    """List the AIs that live here."""
    speaker.table((await speaker.ask("persona/list"))["items"], ["id", "name", "model", "access", "rooms"])


@builtin("models", "", group=_GROUP, kind=LOOKS)
async def models(speaker: Speaker, options: Options) -> None:
    """List what can be thought with."""
    speaker.table((await speaker.ask("model/list"))["items"])


async def _decided(speaker: Speaker, options: Options, command: str) -> None:
    if len(options.words) != 1:
        raise Usage("one ticket is valid")
    done = await speaker.ask(command, id=options.words[0])
    speaker.line(f"{done['id']}: {done['command']} is {done['state']}")


def _since(speaker: Speaker, text: str) -> str:
    return iso(moment(text, speaker.ctx.house.clock.now()) / 1_000_000)
