"""Built-ins for executions: jobs, ps, kill, wait, output, undo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorward.core.classification import Effects, Safety, Tier
from doorward.core.command import NoUndo
from doorward.core.errors import DoorwardError
from doorward.core.model import KEEPER
from doorward.shell.builtins.builtin import READ_ONLY, WRITES, BuiltinFacts, builtin
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun
from doorward.store.before_images import RecordedChange, open_changes

_GROUP = "Executions"
_EXAMPLE_ID = "01k9x2m4q7ab3cde"
_FIELDS = ("execution", "state", "seconds", "command", "summary", "room", "startedAt")
_STOPS = BuiltinFacts(
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    safety=Safety.CAUTION,
    undo=NoUndo("a stopped execution can only be run again"),
)
_MOST_CHANGES = 10
_MOST_NAMES = 5
_WAITS = BuiltinFacts(timeout=600)


@builtin("jobs", "", group=_GROUP)
async def jobs(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List your executions that are waiting or running."""
    _print_executions(speaker, (await speaker.call("execution/list", live=True))["items"])


@builtin(
    "ps", "[-a] [-n number]", group=_GROUP, options={"-a": "Include ended ones", "-n NUMBER": "Maximum; default 20"}
)
async def ps(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List your running executions; with -a also the newest ended ones."""
    how: dict[str, Any] = {"limit": options.number("-n", 20, least=1, most=200)} if "-a" in options else {"live": True}
    _print_executions(speaker, (await speaker.call("execution/list", **how))["items"])


@builtin("kill", "execution…", [_EXAMPLE_ID], group=_GROUP, kind=_STOPS, says="stop it")
async def kill(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Cancel your executions, with all processes they started."""
    for id in _execution_ids(options):
        try:
            await speaker.call("execution/cancel", execution=id)
        except DoorwardError as error:
            speaker.report_error(error)


@builtin("wait", "execution…", [_EXAMPLE_ID], group=_GROUP, kind=_WAITS, says="wait until it has ended")
async def wait(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Wait until your executions have ended, and print their states."""
    for id in _execution_ids(options):
        facts = await speaker.call("execution/status", execution=id)
        found = speaker.ctx.services.executions.get(id)
        if found is not None and not found.has_ended and not found.encloses(speaker.ctx.execution):
            await found.wait_closed()
            facts = await speaker.call("execution/status", execution=id)
        speaker.write_line(f"{id} {facts['state']}")
        if facts["state"] != "completed":
            speaker.set_exit_code(1)


@builtin("output", "execution", [_EXAMPLE_ID], group=_GROUP, kind=READ_ONLY, says="what has it written")
async def output(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the output or result of one of your executions, as far as it is kept."""
    (id,) = _execution_ids(options, most=1)
    offset: int | None = 0
    while offset is not None:
        piece = await speaker.call("execution/output", execution=id, offset=offset)
        speaker.write(piece["text"])
        offset = piece["next"] if piece["text"] else None


@builtin(
    "undo",
    "[-l] [execution…]",
    [_EXAMPLE_ID],
    group=_GROUP,
    kind=WRITES,
    options={"-l --list": "Only list the newest changes that can be undone"},
    says="take back what it changed",
)
async def undo(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Undo the changes of executions, in the order given; without arguments, your last change here."""
    if options.words and "-l" not in options:
        for id in _execution_ids(options):
            done = await speaker.call("undo", execution=id)
            speaker.write_line(f"{id}: {done['command']} was undone")
        return
    if options.words:
        raise UsageError("-l takes no execution")
    made = await _find_undoable(speaker)
    if not made:
        speaker.write_error("you have no changes here that can be undone")
    elif "-l" in options or speaker.ctx.caller.keeper:  # it works in several sessions, so it must name one
        rows = [{"execution": one.call, "command": one.command, "changed": ", ".join(one.targets)} for one in made]
        speaker.write_table(rows)
        speaker.write_note("undo EXECUTION undoes one of these")
    else:
        last = made[0]
        await speaker.call("undo", execution=last.call)
        speaker.write_line(f"{last.call}: {last.command} of {_join_targets(last.targets)} was undone")


async def _find_undoable(speaker: BuiltinRun) -> list[RecordedChange]:
    """The caller's newest changes in this room, or outside rooms.

    For a person they include what the keeper changed for them in this session.
    """
    caller, room, store = speaker.ctx.caller, speaker.ctx.call.room, speaker.ctx.store
    made = await open_changes(store, caller.tenant, (caller.id, caller.on_behalf_of), room, limit=_MOST_CHANGES)
    if caller.kind == "human":
        by, requests = (KEEPER, caller.id), speaker.session.requests
        made += await open_changes(store, caller.tenant, by, room, requests=requests, limit=_MOST_CHANGES)
    return sorted(made, key=lambda one: one.call, reverse=True)[:_MOST_CHANGES]  # ids sort by time


def _join_targets(targets: Sequence[str]) -> str:
    more = len(targets) - _MOST_NAMES
    return ", ".join([*targets[:_MOST_NAMES], *([f"{more} more"] if more > 0 else [])])


def _execution_ids(options: BuiltinOptions, most: int = 100) -> list[str]:
    if not 1 <= len(options.words) <= most:
        raise UsageError("an execution is missing" if not options.words else f"at most {most} are valid")
    return [word.removeprefix("/proc/") for word in options.words]


def _print_executions(speaker: BuiltinRun, items: list[Any]) -> None:
    """Print executions as a table, without the running line itself."""
    own = speaker.ctx.services.executions
    rows = []
    for one in items:
        found = own.get(one["execution"])
        if found is None or not found.encloses(speaker.ctx.execution):
            rows.append({name: one.get(name) for name in _FIELDS if one.get(name) not in (None, "")})
    speaker.write_table(rows, [name for name in _FIELDS if any(name in row for row in rows)])
