"""The methods of the line door: initialize, list_tools, call_tool, get_execution_status and cancel_execution.

Every call runs through `Gate.handle`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec

from doorward import __version__
from doorward.commands.context import Services
from doorward.core import redact
from doorward.core.clock import to_iso
from doorward.core.command import Command
from doorward.core.errors import DEFECT, Broken, Cancelled, DoorwardError, Withdrawn
from doorward.core.model import Caller, Outcome, Request
from doorward.doors.line import frames, results, tools
from doorward.doors.line.audit_log import AuditLog
from doorward.doors.line.client import DOOR, ClientRooms, LineClient, PeerIdentity
from doorward.doors.line.frames import BadLine, Id, LineRequest
from doorward.doors.line.pending_calls import NOTIFY_LEVELS, CallIds, NotifyLevel, PendingCall
from doorward.doors.line.results import ResultStyle
from doorward.gate.gate import Gate

log = logging.getLogger(__name__)

_CALL_PARAMETERS = ("tool", "args", "ticket", "notify", "summary", "dry_run", "cache")
_CALL_TYPES = {"tool": str, "args": dict, "ticket": str, "summary": bool, "dry_run": bool, "cache": bool}
_EXECUTION = "execution"
_SUGGEST = "help/suggest"
_MAX_PARTIAL_OUTPUT = 20_000
"""Characters of partial output in the status of an execution."""


class LineMethods:
    """The methods, and the state that outlives connections. There is one instance for the door."""

    def __init__(self, gate: Gate, services: Services, audit: AuditLog | None) -> None:
        self._gate = gate
        self._services = services
        self._settings = services.settings.line
        self._tools = tools.LineTools(services.registry)
        self._ids = CallIds()
        self._rooms = ClientRooms(gate, self._settings.room)
        self._audit = audit

    def identify(self, visitor: PeerIdentity, asked: LineRequest, room: str = "") -> LineClient:
        """The client that sent a request. The gate decides later what it may do, but an invalid token refuses the
        connection at once, before its next line is read."""
        client = visitor.identify(asked, room)
        if not asked.token:
            return client
        try:
            caller = self._gate.caller(client.credential)
        except DoorwardError:
            visitor.refuse()
            return client
        return client if client.room else msgspec.structs.replace(client, room=self._rooms.default_room(caller))

    def initialize(self, visitor: PeerIdentity, asked: LineRequest) -> tuple[bytes, NotifyLevel]:
        """Set the client of the connection, and describe the server and its limits."""
        params = asked.params
        frames.refuse_unknown(params, asked.id, "initialize", ("token", "room", "notify", "client"))
        room = frames.check_fields(params, asked.id, {"room": str}).get("room", "")
        notify = _parse_notify(params, asked.id, "slow")
        client = self.identify(visitor, asked, room)
        caller = self._gate.caller(client.credential)
        self._rooms.check(caller, client.room)
        visitor.remember(client)
        limits, line = self._services.settings.limits, self._settings
        result = {
            "server": "Doorward",
            "version": __version__,
            "client": {
                "id": caller.id,
                "kind": caller.kind,
                "on_behalf_of": caller.on_behalf_of,
                "tenant": caller.tenant,
                "room": client.room,
            },
            "tools": len(self._listed_commands(caller, client.room)),
            "methods": frames.METHODS,
            "notify": notify,
            "limits": {
                "calls": line.calls,
                "calls_seconds": line.calls_seconds,
                "running": limits.running,
                "queued": limits.queued,
                "request_bytes": line.request_bytes,
                "idle_seconds": line.idle_seconds,
                "call_seconds": line.call_seconds,
            },
        }
        return frames.encode_response(asked.id, result), notify

    def list_tools(self, client: LineClient, asked: LineRequest) -> bytes:
        frames.refuse_unknown(asked.params, asked.id, "list_tools", ())
        caller = self._gate.caller(client.credential)
        self._rooms.check(caller, client.room)
        offered = self._listed_commands(caller, client.room)
        return frames.encode_response(asked.id, self._tools.encode_list(offered))

    def _listed_commands(self, caller: Caller, room: str) -> list[Command]:
        """The commands that a list of tools shows to the caller."""
        return [command for command in self._gate.offered(caller, room) if not command.unlisted]

    def prepare_call(self, client: LineClient, asked: LineRequest, notify: NotifyLevel) -> PendingCall:
        """A call that has not started."""
        params, id = asked.params, asked.id
        frames.refuse_unknown(params, id, "call_tool", _CALL_PARAMETERS)
        given = frames.check_fields(params, id, _CALL_TYPES)
        name, ticket = given.get("tool", ""), given.get("ticket", "")
        if not name and not ticket:
            raise BadLine(
                'call_tool needs a `tool`, such as {"tool":"pwd","args":{}}, or a `ticket`; '
                f"given {'an empty name' if params.get('tool') == '' else ', '.join(params) or 'nothing'}.",
                id,
            )
        args = given.get("args", None if ticket else {})
        command = self._tools.find_command(name) if name else None
        if command is not None and args:
            args = self._translate_args(client, command, args)
        request = Request(
            command=name,
            credential=client.credential,
            door=DOOR,
            room=client.room,
            params=args,
            ticket=ticket,
            session=client.session,
            dry_run=given.get("dry_run", False),
            cache=given.get("cache", False),
            address=client.address,
        )
        most = self._services.settings.limits.result_characters
        style = ResultStyle(most, given.get("summary", self._settings.summaries))
        made = PendingCall(id, name, client, request, style, _parse_notify(params, id, notify))
        self._ids.add(made)
        return made

    async def run_call(self, pending: PendingCall) -> bytes:
        """Run a call through the gate. Returns its last notifications and its answer, as lines."""
        loop = asyncio.get_running_loop()
        pending.began = loop.time()
        execution = ""
        try:
            outcome = await self._gate.handle(pending.request, pending.on_notice)
            execution = outcome.call
            if pending.out_of_time and outcome.code in ("cancelled", "withdrawn"):
                outcome = self._overdue_outcome(outcome)
        except asyncio.CancelledError:
            execution = pending.execution
            if not self._is_withdrawn(pending):
                raise
            if execution:
                return frames.encode_refusal(pending.id, Cancelled(f"{pending.tool} was cancelled."))
            return frames.encode_refusal(
                pending.id, Withdrawn(f"{pending.tool} was cancelled before it started. Nothing ran.")
            )
        except Exception:
            log.exception("a request failed with a defect")
            return frames.encode_refusal(pending.id, Broken(DEFECT))
        finally:
            self._ids.remove(pending, execution)
        if not pending.tool and outcome.command in self._services.registry:
            pending.tool = self._tools.tool_name(self._services.registry[outcome.command])
        if self._audit is not None:
            self._audit.write(self._audit_entry(pending, outcome, loop.time() - pending.began))
        if outcome.status == "done" and outcome.command == _SUGGEST and not outcome.dry_run:
            outcome = self._rename_suggestion(outcome)
        news = pending.final_notifications(outcome, loop.time())
        return news + results.encode_answer(pending.id, pending.tool, outcome, pending.style)

    def _rename_suggestion(self, outcome: Outcome) -> Outcome:
        """A suggestion with this door's tool names; its text begins with the suggested line."""
        said, known = dict(outcome.result), self._services.registry
        others = [self._tool_name(name) for name in said["alternatives"]]
        if said["command"] in known:
            tool = self._tools.tool_name(known[said["command"]])
            line = tool + said["suggestion"].removeprefix(said["command"])
            said |= {"suggestion": line, "tool": tool, "args": said["params"], "alternatives": others}
        parts = [said["suggestion"], said["explanation"], f"Alternatives: {', '.join(others)}." if others else ""]
        return msgspec.structs.replace(outcome, result=said, text="\n".join(filter(None, parts)))

    def stop_overdue(self, pending: PendingCall) -> None:
        """Cancel a call that has reached this door's time limit."""
        execution = self._services.executions.get(pending.execution) if pending.execution else None
        if execution is not None and not pending.out_of_time:
            pending.out_of_time = True
            execution.cancel(f"the line door's limit of {self._settings.call_seconds:g} s for a call")

    def log_request(self, asked: LineRequest) -> None:
        """Log a request, with its arguments redacted as in the ledger and without its token."""
        params = redact.params(asked.params)
        tool, args = asked.params.get("tool"), asked.params.get("args")
        if isinstance(tool, str) and isinstance(args, dict):
            command = self._tools.find_command(tool)
            if command is not None:
                params["args"] = redact.params(tools.translate_arguments(command, args), command.secret)
        token = " with a token" if asked.token else ""
        log.info("line door: %s %s %s%s", asked.id, asked.method, params, token)

    def forget_call(self, pending: PendingCall) -> None:
        """Forget a call that never reached the gate."""
        self._ids.remove(pending, "")

    async def status(self, client: LineClient, asked: LineRequest) -> bytes:
        found = self._find_call(client, asked)
        if isinstance(found, PendingCall) and not found.execution:
            return frames.encode_response(
                asked.id, {"execution_id": str(found.id), "tool": found.tool, "status": "queued", "elapsed_time": 0.0}
            )
        execution = found.execution if isinstance(found, PendingCall) else found
        outcome = await self._run_command(client, "execution/status", execution)
        if outcome.status != "done":
            return self._encode_refusal(asked.id, "get_execution_status", outcome)
        said = outcome.result
        result = {
            "execution_id": said["execution"],
            "tool": self._tool_name(said["command"]),
            "status": said["state"],
            "elapsed_time": said["seconds"],
            "started_at": said["startedAt"],
            "partial_output": "",
            "fraction": said.get("fraction"),
            "message": said.get("message", ""),
            "code": said.get("code", ""),
        }
        if "stdoutBytes" in said:
            written = await self._run_command(
                client, "execution/output", execution, stream="output", length=_MAX_PARTIAL_OUTPUT
            )
            if written.status == "done":
                result["partial_output"] = written.result["text"]
                result["output_characters"] = written.result["total"]
        return frames.encode_response(asked.id, {key: value for key, value in result.items() if value is not None})

    async def cancel(self, client: LineClient, asked: LineRequest) -> bytes:
        found = self._find_call(client, asked)
        if isinstance(found, PendingCall) and not found.execution:
            found.withdrawn = True
            if found.task is not None:
                found.task.cancel()
            result = {"execution_id": str(found.id), "tool": found.tool, "status": "cancelled", "success": True}
            return frames.encode_response(
                asked.id, result | {"message": f"{found.tool} was cancelled before it started."}
            )
        execution = found.execution if isinstance(found, PendingCall) else found
        outcome = await self._run_command(client, "execution/cancel", execution)
        if outcome.status != "done":
            return self._encode_refusal(asked.id, "cancel_execution", outcome)
        said = outcome.result
        tool = self._tool_name(said["command"])
        message = f"{tool} was cancelled." if said["ended"] else f"{tool} is being cancelled but has not ended yet."
        result = {"execution_id": said["execution"], "tool": tool, "status": said["state"], "success": said["ended"]}
        return frames.encode_response(asked.id, result | {"message": message})

    async def _run_command(self, client: LineClient, command: str, execution: str, **more: Any) -> Outcome:
        """Run a command about a call, in a session of its own, because the calls may use up the client's session."""
        return await self._gate.handle(
            Request(
                command=command,
                credential=client.credential,
                door=DOOR,
                room=client.room,
                params={_EXECUTION: execution, **more},
                session=f"{client.session}:about",
                address=client.address,
            )
        )

    def _find_call(self, client: LineClient, asked: LineRequest) -> PendingCall | str:
        frames.refuse_unknown(asked.params, asked.id, asked.method, ("execution_id",))
        given = asked.params.get("execution_id")
        if type(given) is not int and (not isinstance(given, str) or not 0 < len(given) <= frames.MAX_ID_LENGTH):
            raise BadLine(
                f"{asked.method} needs an `execution_id` from a result, or the id of one of your requests; "
                f"given {frames.describe_type(given) if 'execution_id' in asked.params else 'none'}.",
                asked.id,
            )
        return self._ids.find(client.session, given)

    def _translate_args(self, client: LineClient, command: Command, args: dict[str, Any]) -> dict[str, Any]:
        found = tools.translate_arguments(command, args)
        if _EXECUTION in found and command.name.startswith(f"{_EXECUTION}/"):
            found[_EXECUTION] = self._ids.resolve_execution(client.session, found[_EXECUTION])
        return found

    def _is_withdrawn(self, pending: PendingCall) -> bool:
        """Whether the task was cancelled for this call only."""
        return pending.withdrawn and pending.task is not None and pending.task.uncancel() == 0

    def _overdue_outcome(self, outcome: Outcome) -> Outcome:
        """The outcome of a call that reached this door's time limit, with its output so far."""
        seconds = self._settings.call_seconds
        message = (
            f"{outcome.command} was cancelled after {seconds:g} s, the time limit for calls through the line door."
        )
        stopped = msgspec.structs.replace(outcome, code="timed_out", message=message, retry="later")
        execution = self._services.executions.get(outcome.call)
        if execution is None or execution.output is None:
            return stopped
        streams = {"stdout": execution.output.text("stdout"), "stderr": execution.output.text("stderr")}
        return msgspec.structs.replace(stopped, result={"exitCode": None, "seconds": seconds, **streams})

    def _encode_refusal(self, id: Id, method: str, outcome: Outcome) -> bytes:
        return frames.encode_error(
            id, results.error_body(method, outcome, ResultStyle(_MAX_PARTIAL_OUTPUT, summaries=False))
        )

    def _tool_name(self, command: str) -> str:
        known = self._services.registry
        return self._tools.tool_name(known[command]) if command in known else command

    def _audit_entry(self, pending: PendingCall, outcome: Outcome, seconds: float) -> dict[str, Any]:
        command = self._tools.find_command(pending.tool or outcome.command)
        largest = self._services.settings.ledger.largest_value
        given = pending.request.params or {}
        exit_code = outcome.result.get("exitCode") if isinstance(outcome.result, dict) else None
        return {
            "timestamp": to_iso(self._services.clock.now()),
            "client": pending.client.session.removeprefix(f"{DOOR}:"),
            "address": pending.client.address,
            "room": pending.client.room,
            "tool": redact.text(pending.tool[:200]),
            "arguments": redact.params(given, command.secret if command is not None else (), largest=largest),
            "execution_id": outcome.call,
            "result": {"status": outcome.status, "code": outcome.code, "exit_code": exit_code},
            "seconds": round(seconds, 6),
        }


def _parse_notify(params: dict[str, Any], id: Id, otherwise: NotifyLevel) -> NotifyLevel:
    given = params.get("notify", otherwise)
    if given not in NOTIFY_LEVELS:
        raise BadLine(f"`notify` must be one of {', '.join(NOTIFY_LEVELS)}; given {frames.describe_value(given)}.", id)
    return NOTIFY_LEVELS[NOTIFY_LEVELS.index(given)]
