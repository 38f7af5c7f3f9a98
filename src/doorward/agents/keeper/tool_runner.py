"""Run the keeper's tool calls, each as a call inside its own, and report the results."""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from doorward.agents import tool_results
from doorward.agents.calls.parsed import ParsedCall
from doorward.agents.keeper.tools import (
    FileRead,
    FileWrite,
    NamedCommand,
    ShellLine,
    ToolName,
    as_tool_call,
    interpret_call,
)
from doorward.agents.tool_results import describe_outcome
from doorward.commands.agent_services import KeeperToolCall
from doorward.commands.catalogue.entry import FOLDER_PARAMETER
from doorward.commands.context import Context
from doorward.commands.programs.catalogue_command import CatalogueCommand
from doorward.core import redact
from doorward.core.argtext import convert_args
from doorward.core.command import Command
from doorward.core.errors import BadParams, DoorwardError, Refused
from doorward.core.escape_invisible import escape_invisible, to_storable
from doorward.core.model import Outcome, Status
from doorward.gate.approval import Approval
from doorward.gate.executions.notices import Notice, StepNotice
from doorward.rooms.people import LOCAL
from doorward.shell import interpreter
from doorward.shell.results import REFUSED, UNKNOWN_COMMAND, ScriptResult
from doorward.shell.secret_values import hide_secrets, redact_secrets, secrets_in_text
from doorward.shell.session import ShellSession
from doorward.shell.stages import workspace_path
from doorward.shell.vfs.paths import normalize_path
from doorward.store import approvals

_MAX_NAME = 100


class ToolRun(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one tool call, run or not."""

    call: KeeperToolCall
    told: str
    """The result text for the model."""
    code: str = ""
    message: str = ""
    part: bool = False
    """Whether only a part of the tool call waits for approval, such as one command of a line."""
    outcome: Outcome | None = None
    """The outcome of a single command that did not have to wait."""
    params: Mapping[str, Any] = {}
    command: str = ""
    """The name of the command that was run; empty for a line."""
    changes: bool = True
    """Whether it may have changed something."""


class ToolRunner:
    """Runs tool calls inside one call of agent/ask, in a session of the keeper's own."""

    def __init__(self, ctx: Context, session: ShellSession) -> None:
        self._ctx = ctx
        self._session = session
        self._running: tuple[ToolName, dict[str, Any]] | None = None
        """The tool call that is running."""
        self._parked: list[StepNotice] = []
        """Calls, at any depth inside the last tool call, that wait for approval."""

    @contextlib.contextmanager
    def watch(self) -> Iterator[ToolRunner]:
        """Watch for calls inside this one that have to wait for approval."""
        leave = self._ctx.execution.follow(self._on_notice)
        try:
            yield self
        finally:
            leave()

    def start_answer(self, response: str) -> None:
        """Start a new answer of the model. Recipes limit the calls per answer."""
        call = msgspec.structs.replace(self._ctx.call, response=response)
        self._ctx = msgspec.structs.replace(self._ctx, call=call)

    async def run(self, wanted: ParsedCall) -> ToolRun:
        """Run a tool call and return its result, whatever it is. Only errors that end the whole request are raised."""
        try:
            what = interpret_call(wanted)
            doing = (
                self._run_line(what.text)
                if isinstance(what, ShellLine)
                else self._run_command(*self._resolve_call(what, wanted))
            )
        except BadParams as fault:
            return self._refuse(wanted, fault)
        return await doing

    def is_status_query(self, wanted: ParsedCall) -> bool:
        """Whether a call is a status query, which makes sense to repeat."""
        try:
            what = interpret_call(wanted)
        except BadParams:
            return False
        name = (
            what.text.partition(" ")[0]
            if isinstance(what, ShellLine)
            else what.name
            if isinstance(what, NamedCommand)
            else ""
        )
        command = self._find_command(name) if name else None
        return command is not None and command.facts.is_status_poll

    async def resume(self, approval: Approval, params: Mapping[str, Any]) -> ToolRun:
        """Run an approved call. Every check runs again, and the approval is used up."""
        return await self._run_command(approval.command, params, approval.id)

    def interrupted_calls(self) -> list[KeeperToolCall]:
        """Return the tool call that was interrupted by the time limit; it may have had effects."""
        if self._running is None:
            return []
        tool, given = self._running
        return [self._finish(tool, given, "Interrupted by the time limit.", "failed", "", "")]

    def _on_notice(self, notice: Notice) -> None:
        if isinstance(notice, StepNotice) and notice.kind == "waits":
            self._parked.append(notice)

    def _resolve_call(
        self, what: NamedCommand | FileRead | FileWrite, wanted: ParsedCall
    ) -> tuple[str, Mapping[str, Any]]:
        """Return the command name and parameters of a tool call, with the command's own name if it is known."""
        if isinstance(what, FileRead):
            return self._file_command("read"), {"path": self._resolve_path(what.path, self._file_command("read"))}
        if isinstance(what, FileWrite):
            name = self._file_command("write")
            return name, {"path": self._resolve_path(what.path, name), "content": what.content}
        command = self._find_command(what.name)
        if command is None:
            return what.name, what.params  # the gate refuses it and suggests similar names
        params = what.params
        if wanted.args is not None:
            with contextlib.suppress(BadParams):  # the gate reports what is wrong
                params = convert_args(command, wanted.args)
        return command.name, self._add_folder(command, params)

    def _add_folder(self, command: Command, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add the session's folder to a program's parameters, unless one is given."""
        if (
            not isinstance(command, CatalogueCommand)
            or FOLDER_PARAMETER in params
            or FOLDER_PARAMETER not in command.arguments
        ):
            return params
        here = workspace_path(self._session.cwd, self._session)
        if here is None and any(one.type == "path" for one in command.entry.parameters):
            raise BadParams(
                f"{command.name} works only on files in the workspace; the session's folder is {self._session.cwd}."
            )
        return params if here in (None, ".") else {**params, FOLDER_PARAMETER: here}

    def _file_command(self, verb: str) -> str:
        """Return the file command: of the whole tree, or of the workspace if the recipe allows only that."""
        whole = f"vfs/{verb}"
        registry, caller = self._ctx.services.registry, self._ctx.caller.as_keeper()
        if whole in registry and self._ctx.services.get_ruling(caller, self._ctx.call.room, registry[whole]).allowed:
            return whole
        return f"file/{verb}"

    def _resolve_path(self, path: str, command: str) -> str:
        """Resolve a path from the session's folder."""
        if command.startswith("vfs/"):
            return path if path.startswith(("/", "~")) else posixpath.join(self._session.cwd, path)
        whole = normalize_path(path, self._session.cwd, self._session.home)
        below = workspace_path(whole, self._session)
        if below is None:
            raise BadParams(f"{whole} is outside the workspace. Only files in the workspace can be used here.")
        return below

    def _find_command(self, name: str) -> Command | None:
        try:
            private = self._ctx.caller.tenant == LOCAL
            return self._ctx.services.registry.resolve(name, (), private=private)
        except Refused:
            return None

    async def _run_command(self, name: str, params: Mapping[str, Any], ticket: str = "") -> ToolRun:
        command = self._find_command(name)
        secret = command.secret if command is not None else ()
        shown = redact.params(params, secret, self._session.secrets, largest=100_000)
        if command is not None:
            tool, given = as_tool_call(command.name, shown)
        else:
            tool, given = "run_command", {"command": _visible_name(name), "params": shown}
        self._start(tool, given)
        outcome = await self._ctx.services.run_nested(hide_secrets(self._ctx, self._session).call, name, params, ticket)
        waits = outcome.ticket if outcome.status == "parked" else await self._pending_ticket()
        status: Status = "parked" if waits else outcome.status
        output = self.redact(outcome.message if outcome.status == "parked" else outcome.text)
        call = self._finish(tool, given, output, status, outcome.call, waits)
        return ToolRun(
            call=call,
            told=self.redact(_result_text(outcome, waits)),
            code=outcome.code,
            message=self.redact(outcome.message),
            part=bool(waits) and outcome.status != "parked",
            outcome=None if waits else outcome,
            params=params,
            command=outcome.command or _visible_name(name),
            changes=command is None or not command.reads_only,
        )

    async def _run_line(self, text: str) -> ToolRun:
        given = {"command": redact.text(redact_secrets(text, [*self._session.secrets, *secrets_in_text(text)]))}
        self._start("run_command", given)
        said = await interpreter.run_script(self._ctx, self._session, text, typed=False)
        waits = await self._pending_ticket()
        status = _line_status(said, waits)
        printed = "\n".join(filter(None, (said.stdout.rstrip("\n"), said.stderr.rstrip("\n"))))
        output = self._truncate(self.redact(printed))
        last = said.steps[-1] if said.steps else None
        execution = last["call"] if last is not None else ""
        call = self._finish("run_command", given, output, status, execution or self._ctx.call.id, waits)
        code = last.get("code", "") if last is not None else ""
        if waits:
            return ToolRun(
                call=call,
                told=_WAITING_RESULT,
                code="approval_needed",
                message="A call in this line waits for approval.",
                part=True,
            )
        told_ = f"run_command: {status} (exit code {said.exit_code}).\n{tool_results.mark_as_data(output)}"
        message = said.stderr.strip().rpartition("\n")[2] or f"The line ended with exit code {said.exit_code}."
        return ToolRun(call=call, told=told_, code=code, message=self.redact(message))

    def _refuse(self, wanted: ParsedCall, fault: DoorwardError) -> ToolRun:
        given = {"command": _visible_name(wanted.name)}
        self._start("run_command", given)
        call = self._finish("run_command", given, fault.message, "refused", "", "")
        return ToolRun(call=call, told=f"It was not made: {fault.message}", code=fault.code, message=fault.message)

    def _start(self, tool: ToolName, given: dict[str, Any]) -> None:
        self._parked.clear()
        self._running = tool, given
        self._ctx.execution.step("tool_started", {"name": tool, "input": given})

    def _finish(
        self, tool: ToolName, given: dict[str, Any], output: str, status: Status, execution: str, ticket: str
    ) -> KeeperToolCall:
        call: KeeperToolCall = {
            "name": tool,
            "input": given,
            "output": to_storable(output),
            "status": status,
            "execution": execution,
        }
        if ticket:
            call["ticket"] = ticket
        self._running = None
        self._ctx.execution.step("tool_finished", dict(call))
        return call

    async def _pending_ticket(self) -> str:
        """Return the ticket of the call inside the last tool call that waits for approval, or an empty text.

        If several wait, only the first goes on after its approval, so the others expire now.
        """
        if not self._parked:
            return ""
        first, *others = (str(one.data["ticket"]) for one in self._parked)
        if others:
            await approvals.expire_all_now(self._ctx.store, others, self._ctx.services.clock.now())
        return first

    def redact(self, text: str) -> str:
        """Redact the session's secret variables; no model sees them."""
        return redact_secrets(text, self._session.secrets)

    def _truncate(self, text: str) -> str:
        most = self._ctx.services.settings.limits.result_characters
        return text if len(text) <= most else f"{text[:most]}\n[cut: {most} of {len(text)} characters shown]"


_WAITING_RESULT = "It waits for a person's approval. You get the result when a person has decided."


def _result_text(outcome: Outcome, waits: str) -> str:
    """Return the result text for the model. A call with a waiting call inside it counts as waiting."""
    return _WAITING_RESULT if waits and outcome.status != "parked" else describe_outcome(outcome)


def _line_status(said: ScriptResult, waits: str) -> Status:
    if waits:
        return "parked"
    if said.exit_code == 0:
        return "done"
    return "refused" if said.exit_code in (REFUSED, UNKNOWN_COMMAND) else "failed"


def _visible_name(name: str) -> str:
    return escape_invisible(to_storable(name[:_MAX_NAME]), lines=False)
