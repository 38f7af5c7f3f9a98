"""Run the keeper's tool calls, each as a call inside its own, and report the results."""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from doorward import redact
from doorward.agents import data
from doorward.agents.calls.wanted import Wanted
from doorward.agents.keeper.own_tools import Line, Name, Named, Reads, Writes, called, meant
from doorward.agents.outcomes import told
from doorward.approvals.approvals import Approval
from doorward.backends.context import Context
from doorward.backends.keeper_desk import ToolCall
from doorward.backends.session import interpreter
from doorward.backends.session.exit_codes import REFUSED, UNKNOWN
from doorward.backends.session.programs import in_workspace
from doorward.backends.session.said import Said
from doorward.backends.session.secret_values import hushed, in_text, without
from doorward.backends.session.session import Session
from doorward.backends.shell.catalogue_command import CatalogueCommand
from doorward.backends.vfs.paths import absolute
from doorward.calltext import typed
from doorward.catalogue.entry import FOLDER
from doorward.command import Command
from doorward.errors import BadParams, DoorwardError, Refused
from doorward.executions.notices import Notice, Step
from doorward.model import Outcome, Status
from doorward.rooms.people import LOCAL
from doorward.visible import storable, visible

_LONGEST_NAME = 100


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one tool call, run or not."""

    call: ToolCall
    told: str
    """The result text for the model."""
    code: str = ""
    message: str = ""
    part: bool = False
    """Whether only a part of the tool call waits for approval, such as one command of a line."""


class Hands:
    """Runs tool calls inside one call of agent/ask, in a session of the keeper's own."""

    def __init__(self, ctx: Context, session: Session) -> None:
        self._ctx = ctx
        self._session = session
        self._doing: tuple[Name, dict[str, Any]] | None = None
        """The tool call that is running."""
        self._parked: list[Step] = []
        """Calls, at any depth inside the last tool call, that wait for approval."""

    @contextlib.contextmanager
    def at_work(self) -> Iterator[Hands]:
        """Watch for calls inside this one that have to wait for approval."""
        leave = self._ctx.execution.follow(self._heard)
        try:
            yield self
        finally:
            leave()

    def answering(self, response: str) -> None:
        """Start a new answer of the model. Recipes limit the calls per answer."""
        call = msgspec.structs.replace(self._ctx.call, response=response)
        self._ctx = msgspec.structs.replace(self._ctx, call=call)

    async def do(self, wanted: Wanted) -> Done:
        """Run a tool call and return its result, whatever it is. Only errors that end the whole request are raised."""
        try:
            what = meant(wanted)
            doing = self._line(what.text) if isinstance(what, Line) else self._command(*self._asked_for(what, wanted))
        except BadParams as fault:
            return self._never_made(wanted, fault)
        return await doing

    def tells_how_it_stands(self, wanted: Wanted) -> bool:
        """Whether a call is a status query, which makes sense to repeat."""
        try:
            what = meant(wanted)
        except BadParams:
            return False
        name = what.text.partition(" ")[0] if isinstance(what, Line) else what.name if isinstance(what, Named) else ""
        command = self._found(name) if name else None
        return command is not None and command.facts.tells_how_it_stands

    async def resume(self, approval: Approval, params: Mapping[str, Any]) -> Done:
        """Run an approved call. Every check runs again, and the approval is used up."""
        return await self._command(approval.command, params, approval.id)

    def stopped(self) -> list[ToolCall]:
        """Return the tool call that was interrupted by the time limit; it may have had effects."""
        if self._doing is None:
            return []
        tool, given = self._doing
        return [self._ended(tool, given, "Interrupted by the time limit.", "failed", "", "")]

    def _heard(self, notice: Notice) -> None:
        if isinstance(notice, Step) and notice.kind == "waits":
            self._parked.append(notice)

    def _asked_for(self, what: Named | Reads | Writes, wanted: Wanted) -> tuple[str, Mapping[str, Any]]:
        """Return the command name and parameters of a tool call, with the command's own name if it is known."""
        if isinstance(what, Reads):
            return self._file("read"), {"path": self._path(what.path, self._file("read"))}
        if isinstance(what, Writes):
            name = self._file("write")
            return name, {"path": self._path(what.path, name), "content": what.content}
        command = self._found(what.name)
        if command is None:
            return what.name, what.params  # the gate refuses it and suggests similar names
        params = what.params
        if wanted.args is not None:
            with contextlib.suppress(BadParams):  # the gate reports what is wrong
                params = typed(command, wanted.args)
        return command.name, self._placed(command, params)

    def _placed(self, command: Command, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add the session's folder to a program's parameters, unless one is given."""
        if not isinstance(command, CatalogueCommand) or FOLDER in params or FOLDER not in command.arguments:
            return params
        here = in_workspace(self._session.cwd, self._session)
        if here is None and any(one.type == "path" for one in command.entry.parameters):
            raise BadParams(
                f"{command.name} works only on files in the workspace; the session's folder is {self._session.cwd}."
            )
        return params if here in (None, ".") else {**params, FOLDER: here}

    def _file(self, verb: str) -> str:
        """Return the file command: of the whole tree, or of the workspace if the recipe allows only that."""
        whole = f"vfs/{verb}"
        registry, caller = self._ctx.house.registry, self._ctx.caller.thinking()
        if whole in registry and self._ctx.house.rules_on(caller, self._ctx.call.room, registry[whole]).allowed:
            return whole
        return f"file/{verb}"

    def _path(self, path: str, command: str) -> str:
        """Resolve a path from the session's folder."""
        if command.startswith("vfs/"):
            return path if path.startswith(("/", "~")) else posixpath.join(self._session.cwd, path)
        whole = absolute(path, self._session.cwd, self._session.home)
        below = in_workspace(whole, self._session)
        if below is None:
            raise BadParams(f"{whole} is outside the workspace. Only files in the workspace can be used here.")
        return below

    def _found(self, name: str) -> Command | None:
        try:
            private = self._ctx.caller.tenant == LOCAL
            return self._ctx.house.registry.resolve(name, (), private=private)
        except Refused:
            return None

    async def _command(self, name: str, params: Mapping[str, Any], ticket: str = "") -> Done:
        command = self._found(name)
        secret = command.secret if command is not None else ()
        shown = redact.params(params, secret, self._session.secrets, largest=100_000)
        if command is not None:
            tool, given = called(command.name, shown)
        else:
            tool, given = "run_command", {"command": _named(name), "params": shown}
        self._starts(tool, given)
        outcome = await self._ctx.house.ask(hushed(self._ctx, self._session).call, name, params, ticket)
        waits = outcome.ticket if outcome.status == "parked" else self._waits()
        status: Status = "parked" if waits else outcome.status
        output = self._shown(outcome.message if outcome.status == "parked" else outcome.text)
        call = self._ended(tool, given, output, status, outcome.call, waits)
        return Done(
            call=call,
            told=self._shown(_with_ticket(outcome, waits)),
            code=outcome.code,
            message=self._shown(outcome.message),
            part=bool(waits) and outcome.status != "parked",
        )

    async def _line(self, text: str) -> Done:
        given = {"command": redact.text(without(text, [*self._session.secrets, *in_text(text)]))}
        self._starts("run_command", given)
        said = await interpreter.run(self._ctx, self._session, text, typed=False)
        waits = self._waits()
        status = _status(said, waits)
        printed = "\n".join(filter(None, (said.stdout.rstrip("\n"), said.stderr.rstrip("\n"))))
        output = self._cut(self._shown(printed))
        last = said.steps[-1] if said.steps else None
        execution = last["call"] if last is not None else ""
        call = self._ended("run_command", given, output, status, execution or self._ctx.call.id, waits)
        code = last.get("code", "") if last is not None else ""
        if waits:
            return Done(
                call=call,
                told=_WAITING,
                code="approval_needed",
                message="A call in this line waits for approval.",
                part=True,
            )
        told_ = f"run_command: {status} (exit code {said.exit_code}).\n{data.marked(output)}"
        message = said.stderr.strip().rpartition("\n")[2] or f"The line ended with exit code {said.exit_code}."
        return Done(call=call, told=told_, code=code, message=self._shown(message))

    def _never_made(self, wanted: Wanted, fault: DoorwardError) -> Done:
        given = {"command": _named(wanted.name)}
        self._starts("run_command", given)
        call = self._ended("run_command", given, fault.message, "refused", "", "")
        return Done(call=call, told=f"It was not made: {fault.message}", code=fault.code, message=fault.message)

    def _starts(self, tool: Name, given: dict[str, Any]) -> None:
        self._parked.clear()
        self._doing = tool, given
        self._ctx.execution.step("tool_started", {"name": tool, "input": given})

    def _ended(
        self, tool: Name, given: dict[str, Any], output: str, status: Status, execution: str, ticket: str
    ) -> ToolCall:
        call: ToolCall = {
            "name": tool,
            "input": given,
            "output": storable(output),
            "status": status,
            "execution": execution,
        }
        if ticket:
            call["ticket"] = ticket
        self._doing = None
        self._ctx.execution.step("tool_finished", dict(call))
        return call

    def _waits(self) -> str:
        """Return the ticket of a call inside the last tool call that waits for approval, or an empty text."""
        return str(self._parked[0].data["ticket"]) if self._parked else ""

    def _shown(self, text: str) -> str:
        """Redact the session's secret variables; no model sees them."""
        return without(text, self._session.secrets)

    def _cut(self, text: str) -> str:
        most = self._ctx.house.settings.limits.result_characters
        return text if len(text) <= most else f"{text[:most]}\n[cut: {most} of {len(text)} characters shown]"


_WAITING = "It waits for a person's approval. You get the result when a person has decided."


def _with_ticket(outcome: Outcome, waits: str) -> str:
    """Return the result text for the model. A call with a waiting call inside it counts as waiting."""
    return _WAITING if waits and outcome.status != "parked" else told(outcome)


def _status(said: Said, waits: str) -> Status:
    if waits:
        return "parked"
    if said.exit_code == 0:
        return "done"
    return "refused" if said.exit_code in (REFUSED, UNKNOWN) else "failed"


def _named(name: str) -> str:
    return visible(storable(name[:_LONGEST_NAME]), lines=False)
