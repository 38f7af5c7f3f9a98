"""Commands process/*: long-running programs of a room, such as development servers and watchers."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

import msgspec
from msgspec import Meta

from doorward.commands.catalogue.arguments import normalize_folder
from doorward.commands.context import Context
from doorward.commands.execution import is_room_admin
from doorward.commands.programs import runner
from doorward.commands.programs.bash import Script, check_script
from doorward.commands.programs.family import StartFolder
from doorward.commands.programs.git_protection import find_guarded, find_new_guarded
from doorward.commands.programs.network_questions import NetworkQuestions
from doorward.commands.programs.room_network import find_network
from doorward.core import redact
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.core.ids import new_id
from doorward.gate.processes import ProcessRecord, RoomProcess
from doorward.sandbox.port_forwarder import LINK_SECONDS
from doorward.sandbox.program import OnOutput
from doorward.sandbox.resident_program import ResidentProgram
from doorward.sandbox.safefs.guarded_paths import find_repository

family = Family("process", category="shell")

ProcessId = Annotated[str, Meta(description="The process's id, from process/start or process/list", max_length=64)]
_LONGEST_SHOWN = 200
_MOST_TAIL = 2_000
_MOST_READ_ONLY = 500
_INIT = (
    'trap : TERM; bash --noprofile --norc -c "$1" & child=$!; '
    'while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done; exit "$code"'
)
"""The first process of the namespace: it reaps orphans, and the signals that end its child do not end it first."""


class ProcessFacts(TypedDict):
    """A long-running program. Unknown fields are omitted."""

    id: str
    name: str
    command: Annotated[str, Meta(description="Its script, shortened, with secrets redacted")]
    folder: str
    room: str
    caller: str
    state: Literal["running", "ended"]
    startedAt: str
    seconds: Annotated[float, Meta(description="How long it has run, or ran")]
    ports: NotRequired[Annotated[list[int], Meta(description="The TCP ports on which it listens, in the room only")]]
    end: NotRequired[Annotated[str, Meta(description="How it ended")]]
    exitCode: NotRequired[int]
    note: NotRequired[str]
    network: NotRequired[Annotated[str, Meta(description="Why it has less network than the room's recipe says")]]


class ProcessListing(TypedDict):
    items: list[ProcessFacts]


class ProcessLogs(TypedDict):
    id: str
    state: Literal["running", "ended"]
    text: Annotated[str, Meta(description="Standard output and standard error, in order")]
    next: Annotated[int, Meta(description="The `since` value that continues here")]
    missed: NotRequired[Annotated[int, Meta(description="Bytes that were written since then but are no longer kept")]]


class OpenedPort(TypedDict):
    url: Annotated[str, Meta(description="The link, which works once")]
    port: int
    seconds: Annotated[float, Meta(description="How long the link can be used")]


@family.command(
    "start",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=5,
    timeout=60,
    undo=NoUndo("what a running program changes cannot be undone; process/stop ends it"),
    examples=[
        Example("start the dev server", {"command": "npm run dev", "name": "web"}),
        Example("serve the files over http", {"command": "python3 -m http.server 8000"}),
    ],
    related=["process/logs", "process/stop", "bash"],
)
async def start(
    ctx: Context,
    command: Script,
    folder: StartFolder = ".",
    name: Annotated[str, Meta(description="A short name for it", max_length=64)] = "",
) -> ProcessFacts:
    """Start a long-running program in the room's sandbox, such as a development server or a watcher.

    The answer comes at once. The room's other programs reach its ports on localhost; nothing else does. It writes
    directly to the workspace, and git's folders are read-only for it. It runs until it ends, until process/stop, or
    until Doorward stops.
    """
    room = _require_room(ctx)
    task = _make_task(command, folder)
    network = await find_network(ctx, wanted=False, shares=True)
    profile, program = runner.prepare(ctx, task, network)
    guarded = {} if ctx.call.draft else await asyncio.to_thread(find_guarded, Path(profile.workspace))
    folders = sorted({find_repository(path) for path in guarded} - {""})[:_MOST_READ_ONLY]
    program = msgspec.structs.replace(program, resident=True, read_only=tuple(folders))

    forget = ctx.services.keep_program(ctx.call)

    async def launch(on_output: OnOutput) -> ResidentProgram:
        questions = NetworkQuestions(ctx, task.argv, lambda line: on_output("stderr", f"[doorward: {line}]\n".encode()))
        asking = msgspec.structs.replace(program, ask_to_connect=questions.ask)
        return await ctx.services.sandbox.start(profile, asking, on_output)

    async def inspect() -> str:
        forget()
        if ctx.call.draft:
            return ""  # what it writes there is reviewed before it leaves the draft
        new = await asyncio.to_thread(find_new_guarded, Path(profile.workspace), guarded, folders)
        named = ", ".join(new[:10])
        return f"While it ran, these paths appeared, which decide what git runs: {named}. Check them." if new else ""

    record = ProcessRecord(
        id=new_id(),
        tenant=ctx.caller.tenant,
        room=room,
        caller=ctx.caller.id,
        behalf=ctx.caller.on_behalf_of,
        name=name or command.split()[0][:64],
        command=redact.text(command)[:_LONGEST_SHOWN],
        folder=task.folder,
        started_at=ctx.services.clock.now(),
    )
    try:
        started = await ctx.services.processes.start(record, launch, inspect)
    except BaseException:
        forget()
        raise
    shown = await _describe(ctx, started)
    if network.note:
        shown["network"] = network.note
    return shown


start.equivalent = "bash"


start.checks(partial(check_script, "process/start"))


@start.describes_effect
async def start_effect(ctx: Context, command: str, folder: str = ".", name: str = "") -> dict[str, Any]:
    return {**await runner.describe_task(ctx, _make_task(command, folder)), "room": _require_room(ctx)}


@family.command(
    "list",
    tier=Tier.CODE,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[Example("which dev servers run", {"running": True})],
    related=["process/logs", "process/start"],
    is_status_poll=True,
)
async def list_processes(
    ctx: Context, running: Annotated[bool, Meta(description="Leave out those that ended")] = False
) -> ProcessListing:
    """List the long-running programs of this room, newest first, with their state and their ports.

    Outside rooms, those of all your rooms are listed.
    """
    found = [one for one in ctx.services.processes if _may_see(ctx, one) and (one.is_running or not running)]
    if ctx.call.room:
        found = [one for one in found if one.record.room == ctx.call.room]
    return {"items": [await _describe(ctx, one) for one in reversed(found)]}


@family.command(
    "logs",
    tier=Tier.CODE,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[
        Example("its last lines", {"id": "01k9x2m4q7ab3cde", "tail": 20}),
        Example("what it wrote since then", {"id": "01k9x2m4q7ab3cde", "since": 4_200}),
    ],
    related=["process/list", "process/stop"],
    is_status_poll=True,
)
async def logs(
    ctx: Context,
    id: ProcessId,
    tail: Annotated[int, Meta(description="Maximum number of lines, the last ones", ge=1, le=_MOST_TAIL)] = 100,
    since: Annotated[int, Meta(description="Only output after this position, which is `next` of an answer", ge=0)] = 0,
) -> ProcessLogs:
    """Read the output of a long-running program of this room. The last 256 KiB are kept while Doorward runs."""
    found = _find(ctx, id)
    log = found.log
    lines = log.read(since).decode("utf-8", "backslashreplace").splitlines(keepends=True)
    shown: ProcessLogs = {
        "id": id,
        "state": "running" if found.is_running else "ended",
        "text": "".join(lines[-tail:]),
        "next": log.total,
    }
    if since and since < log.first:
        shown["missed"] = log.first - since
    return shown


@family.command(
    "stop",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=30,
    undo=NoUndo("a stopped program does not continue; start it again"),
    examples=[Example("stop the dev server", {"id": "01k9x2m4q7ab3cde"})],
    related=["process/list", "process/start"],
)
async def stop(ctx: Context, id: ProcessId) -> ProcessFacts:
    """Stop a long-running program and every process it started: SIGTERM first, SIGKILL after 3 seconds.

    Its caller may stop it, the person it acts for, and people who own or administer the room.
    """
    found = _find_stoppable(ctx, id)
    await ctx.services.processes.stop(found, ctx.caller.id)
    return await _describe(ctx, found)


@stop.describes_effect
async def stop_effect(ctx: Context, id: str) -> dict[str, Any]:
    return {"wouldStop": id, "name": _find_stoppable(ctx, id).record.name}


@family.command(
    "open",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=30,
    undo=NoUndo("the port closes when the program ends"),
    examples=[
        Example("look at the dev server in my browser", {"id": "01k9x2m4q7ab3cde"}),
        Example("open its second port", {"id": "01k9x2m4q7ab3cde", "port": 5173}),
    ],
    related=["process/list", "process/stop"],
    humans_only=True,
)
async def open_port(
    ctx: Context,
    id: ProcessId,
    port: Annotated[int, Meta(description="The port; 0 for the only one on which it listens", ge=0, le=65_535)] = 0,
) -> OpenedPort:
    """Open a port of a long-running program in your browser, on the machine on which Doorward runs.

    The link works once, within a minute. The browser that opens it may use the port until the program ends.
    """
    found = _find(ctx, id)
    ports = await found.list_ports()
    if not ports or (port and port not in ports) or (not port and len(ports) > 1):
        listed = ", ".join(map(str, ports)) or "none"
        raise Conflict(f"Give a port on which process {id} listens; valid: {listed}; given {port or 'none'}.")
    port = port or ports[0]
    room = (found.record.tenant, found.record.room)
    link = await found.open_port(port, partial(ctx.services.sandbox.open_port, f"p{id}-{port}", room, port))
    return {"url": link, "port": port, "seconds": LINK_SECONDS}


def _make_task(command: str, folder: str) -> runner.ProgramTask:
    argv = ("bash", "--noprofile", "--norc", "-c", _INIT, "process", command)
    return runner.ProgramTask(argv=argv, folder=normalize_folder(folder), writes=True, live=True, shares_loopback=True)


def _require_room(ctx: Context) -> str:
    if not ctx.call.room:
        raise BadParams("process/start runs in a room, and this call names none.", hint="Name a room, such as general.")
    return ctx.call.room


def _find(ctx: Context, id: str) -> RoomProcess:
    found = ctx.services.processes.get(id)
    if found is None or not _may_see(ctx, found):
        raise NotFound(f"There is no process {id!r} in your rooms.", hint="List them: process/list")
    return found


def _find_stoppable(ctx: Context, id: str) -> RoomProcess:
    found = _find(ctx, id)
    record, caller = found.record, ctx.caller
    if not caller.owns(record.caller, record.behalf) and not is_room_admin(ctx, record.room):
        raise NotPermitted(
            f"Process {id} belongs to {record.caller}. Its caller, the person it acts for, and people who own or "
            "administer the room may stop it."
        )
    if not found.is_running:
        raise Conflict(f"Process {id} has ended already: {record.end}.")
    return found


def _may_see(ctx: Context, one: RoomProcess) -> bool:
    """Whether the caller is a member of the room of a process. A call in that room shows it too."""
    record, caller = one.record, ctx.caller
    if record.tenant != caller.tenant or not caller.covers_room(record.room):
        return False
    room = ctx.services.rooms.get(record.tenant, record.room)
    if room is None:
        return caller.owns(record.caller, record.behalf)
    return ctx.call.room == record.room or not caller.identities.isdisjoint(room.members)


async def _describe(ctx: Context, one: RoomProcess) -> ProcessFacts:
    record = one.record
    until = ctx.services.clock.now() if record.ended_at is None else record.ended_at
    shown = {
        "id": record.id,
        "name": record.name,
        "command": record.command,
        "folder": record.folder,
        "room": record.room,
        "caller": record.caller,
        "state": "running" if one.is_running else "ended",
        "startedAt": to_iso(record.started_at),
        "seconds": round(max(0.0, until - record.started_at), 3),
        "ports": await one.list_ports() or None,
        "end": "" if one.is_running else record.end,
        "exitCode": record.exit_code,
        "note": record.note,
    }
    return cast("ProcessFacts", {key: value for key, value in shown.items() if value not in (None, "")})
