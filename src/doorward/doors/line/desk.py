"""The methods of the line door: initialize, list_tools, call_tool, get_execution_status and cancel_execution.

Every call runs through `Gate.handle`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec

from doorward import __version__, redact
from doorward.backends.context import Services
from doorward.clock import iso
from doorward.command import Command
from doorward.doors.line import frames, results, tools
from doorward.doors.line.auditing import AuditLog
from doorward.doors.line.client import DOOR, Client, Visitor
from doorward.doors.line.frames import Asked, BadLine, Id
from doorward.doors.line.ids import Ids
from doorward.doors.line.pending import NOTIFY, Notify, Pending
from doorward.doors.line.results import Style
from doorward.doors.line.rooms import ClientRooms
from doorward.errors import DEFECT, Broken, Cancelled, DoorwardError, Withdrawn
from doorward.gate.gate import Gate
from doorward.model import Caller, Outcome, Request

log = logging.getLogger(__name__)

_CALL = ("tool", "args", "ticket", "notify", "summary", "dry_run", "cache")
_CALL_KINDS = {"tool": str, "args": dict, "ticket": str, "summary": bool, "dry_run": bool, "cache": bool}
_EXECUTION = "execution"
_SUGGEST = "help/suggest"
_MOST_SHOWN = 20_000
"""Characters of partial output in the status of an execution."""


class Desk:
    """The methods, and the state that outlives connections. There is one instance for the door."""

    def __init__(self, gate: Gate, services: Services, audit: AuditLog | None) -> None:
        self._gate = gate
        self._services = services
        self._settings = services.settings.line
        self._tools = tools.Tools(services.registry)
        self._ids = Ids()
        self._rooms = ClientRooms(gate, self._settings.room)
        self._audit = audit

    def client(self, visitor: Visitor, asked: Asked, room: str = "") -> Client:
        """The client that sent a request. The gate decides later what it may do, but an invalid token refuses the
        connection at once, before its next line is read."""
        client = visitor.client(asked, room)
        if not asked.token:
            return client
        try:
            caller = self._gate.caller(client.credential)
        except DoorwardError:
            visitor.refuse()
            return client
        return client if client.room else msgspec.structs.replace(client, room=self._rooms.meant(caller))

    def initialize(self, visitor: Visitor, asked: Asked) -> tuple[bytes, Notify]:
        """Set the client of the connection, and describe the server and its limits."""
        params = asked.params
        frames.known(params, asked.id, "initialize", ("token", "room", "notify", "client"))
        room = frames.fields(params, asked.id, {"room": str}).get("room", "")
        notify = _notify(params, asked.id, "slow")
        client = self.client(visitor, asked, room)
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
            "tools": len(self._offered(caller, client.room)),
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
        return frames.response(asked.id, result), notify

    def list_tools(self, client: Client, asked: Asked) -> bytes:
        frames.known(asked.params, asked.id, "list_tools", ())
        caller = self._gate.caller(client.credential)
        self._rooms.check(caller, client.room)
        offered = self._offered(caller, client.room)
        return frames.response(asked.id, self._tools.listed(offered))

    def _offered(self, caller: Caller, room: str) -> list[Command]:
        """The commands that a list of tools shows to the caller."""
        return [command for command in self._gate.offered(caller, room) if not command.unlisted]

    def pending(self, client: Client, asked: Asked, notify: Notify) -> Pending:
        """A call that has not started."""
        params, id = asked.params, asked.id
        frames.known(params, id, "call_tool", _CALL)
        given = frames.fields(params, id, _CALL_KINDS)
        name, ticket = given.get("tool", ""), given.get("ticket", "")
        if not name and not ticket:
            raise BadLine(
                'call_tool needs a `tool`, such as {"tool":"pwd","args":{}}, or a `ticket`; '
                f"given {'an empty name' if params.get('tool') == '' else ', '.join(params) or 'nothing'}.",
                id,
            )
        args = given.get("args", None if ticket else {})
        command = self._tools.find(name) if name else None
        if command is not None and args:
            args = self._translated(client, command, args)
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
        )
        most = self._services.settings.limits.result_characters
        style = Style(most, given.get("summary", self._settings.summaries))
        made = Pending(id, name, client, request, style, _notify(params, id, notify))
        self._ids.open(made)
        return made

    async def run(self, pending: Pending) -> bytes:
        """Run a call through the gate. Returns its last notifications and its answer, as lines."""
        loop = asyncio.get_running_loop()
        pending.began = loop.time()
        execution = ""
        try:
            outcome = await self._gate.handle(pending.request, pending.hear)
            execution = outcome.call
            if pending.out_of_time and outcome.code in ("cancelled", "withdrawn"):
                outcome = self._out_of_time(outcome)
        except asyncio.CancelledError:
            execution = pending.execution
            if not self._withdrawn(pending):
                raise
            if execution:
                return frames.refusal(pending.id, Cancelled(f"{pending.tool} was cancelled."))
            return frames.refusal(
                pending.id, Withdrawn(f"{pending.tool} was cancelled before it started. Nothing ran.")
            )
        except Exception:
            log.exception("a request failed with a defect")
            return frames.refusal(pending.id, Broken(DEFECT))
        finally:
            self._ids.close(pending, execution)
        if not pending.tool and outcome.command in self._services.registry:
            pending.tool = self._tools.name(self._services.registry[outcome.command])
        if self._audit is not None:
            self._audit.write(self._audited(pending, outcome, loop.time() - pending.began))
        if outcome.status == "done" and outcome.command == _SUGGEST and not outcome.dry_run:
            outcome = self._suggested(outcome)
        news = pending.last_news(outcome, loop.time())
        return news + results.answer(pending.id, pending.tool, outcome, pending.style)

    def _suggested(self, outcome: Outcome) -> Outcome:
        """A suggestion with this door's tool names; its text begins with the suggested line."""
        said, known = dict(outcome.result), self._services.registry
        others = [self._shown(name) for name in said["alternatives"]]
        if said["command"] in known:
            tool = self._tools.name(known[said["command"]])
            line = tool + said["suggestion"].removeprefix(said["command"])
            said |= {"suggestion": line, "tool": tool, "args": said["params"], "alternatives": others}
        parts = [said["suggestion"], said["explanation"], f"Alternatives: {', '.join(others)}." if others else ""]
        return msgspec.structs.replace(outcome, result=said, text="\n".join(filter(None, parts)))

    def stop_in_time(self, pending: Pending) -> None:
        """Cancel a call that has reached this door's time limit."""
        execution = self._services.executions.get(pending.execution) if pending.execution else None
        if execution is not None and not pending.out_of_time:
            pending.out_of_time = True
            execution.cancel(f"the line door's limit of {self._settings.call_seconds:g} s for a call")

    def note(self, asked: Asked) -> None:
        """Log a request, with its arguments redacted as in the ledger and without its token."""
        params = redact.params(asked.params)
        tool, args = asked.params.get("tool"), asked.params.get("args")
        if isinstance(tool, str) and isinstance(args, dict):
            command = self._tools.find(tool)
            if command is not None:
                params["args"] = redact.params(tools.arguments(command, args), command.secret)
        token = " with a token" if asked.token else ""
        log.info("line door: %s %s %s%s", asked.id, asked.method, params, token)

    def forget(self, pending: Pending) -> None:
        """Forget a call that never reached the gate."""
        self._ids.close(pending, "")

    async def status(self, client: Client, asked: Asked) -> bytes:
        found = self._meant(client, asked)
        if isinstance(found, Pending) and not found.execution:
            return frames.response(
                asked.id, {"execution_id": str(found.id), "tool": found.tool, "status": "queued", "elapsed_time": 0.0}
            )
        execution = found.execution if isinstance(found, Pending) else found
        outcome = await self._ask(client, "execution/status", execution)
        if outcome.status != "done":
            return self._refused(asked.id, "get_execution_status", outcome)
        said = outcome.result
        result = {
            "execution_id": said["execution"],
            "tool": self._shown(said["command"]),
            "status": said["state"],
            "elapsed_time": said["seconds"],
            "started_at": said["startedAt"],
            "partial_output": "",
            "fraction": said.get("fraction"),
            "message": said.get("message", ""),
            "code": said.get("code", ""),
        }
        if "stdoutBytes" in said:
            written = await self._ask(client, "execution/output", execution, stream="output", length=_MOST_SHOWN)
            if written.status == "done":
                result["partial_output"] = written.result["text"]
                result["output_characters"] = written.result["total"]
        return frames.response(asked.id, {key: value for key, value in result.items() if value is not None})

    async def cancel(self, client: Client, asked: Asked) -> bytes:
        found = self._meant(client, asked)
        if isinstance(found, Pending) and not found.execution:
            found.withdrawn = True
            if found.task is not None:
                found.task.cancel()
            result = {"execution_id": str(found.id), "tool": found.tool, "status": "cancelled", "success": True}
            return frames.response(asked.id, result | {"message": f"{found.tool} was cancelled before it started."})
        execution = found.execution if isinstance(found, Pending) else found
        outcome = await self._ask(client, "execution/cancel", execution)
        if outcome.status != "done":
            return self._refused(asked.id, "cancel_execution", outcome)
        said = outcome.result
        tool = self._shown(said["command"])
        message = f"{tool} was cancelled." if said["ended"] else f"{tool} is being cancelled but has not ended yet."
        result = {"execution_id": said["execution"], "tool": tool, "status": said["state"], "success": said["ended"]}
        return frames.response(asked.id, result | {"message": message})

    async def _ask(self, client: Client, command: str, execution: str, **more: Any) -> Outcome:
        """Run a command about a call, in a session of its own, because the calls may use up the client's session."""
        return await self._gate.handle(
            Request(
                command=command,
                credential=client.credential,
                door=DOOR,
                room=client.room,
                params={_EXECUTION: execution, **more},
                session=f"{client.session}:about",
            )
        )

    def _meant(self, client: Client, asked: Asked) -> Pending | str:
        frames.known(asked.params, asked.id, asked.method, ("execution_id",))
        given = asked.params.get("execution_id")
        if type(given) is not int and (not isinstance(given, str) or not 0 < len(given) <= frames.LONGEST_ID):
            raise BadLine(
                f"{asked.method} needs an `execution_id` from a result, or the id of one of your requests; "
                f"given {frames.kind(given) if 'execution_id' in asked.params else 'none'}.",
                asked.id,
            )
        return self._ids.find(client.session, given)

    def _translated(self, client: Client, command: Command, args: dict[str, Any]) -> dict[str, Any]:
        found = tools.arguments(command, args)
        if _EXECUTION in found and command.name.startswith(f"{_EXECUTION}/"):
            found[_EXECUTION] = self._ids.execution(client.session, found[_EXECUTION])
        return found

    def _withdrawn(self, pending: Pending) -> bool:
        """Whether the task was cancelled for this call only."""
        return pending.withdrawn and pending.task is not None and pending.task.uncancel() == 0

    def _out_of_time(self, outcome: Outcome) -> Outcome:
        """The outcome of a call that reached this door's time limit, with its output so far."""
        seconds = self._settings.call_seconds
        message = (
            f"{outcome.command} was cancelled after {seconds:g} s, the time limit for calls through the line door."
        )
        stopped = msgspec.structs.replace(outcome, code="timed_out", message=message, retry="later")
        execution = self._services.executions.get(outcome.call)
        if execution is None or execution.written is None:
            return stopped
        streams = {"stdout": execution.written.text("stdout"), "stderr": execution.written.text("stderr")}
        return msgspec.structs.replace(stopped, result={"exitCode": None, "seconds": seconds, **streams})

    def _refused(self, id: Id, method: str, outcome: Outcome) -> bytes:
        return frames.error(id, results.refusal(method, outcome, Style(_MOST_SHOWN, summaries=False)))

    def _shown(self, command: str) -> str:
        known = self._services.registry
        return self._tools.name(known[command]) if command in known else command

    def _audited(self, pending: Pending, outcome: Outcome, seconds: float) -> dict[str, Any]:
        command = self._tools.find(pending.tool or outcome.command)
        largest = self._services.settings.ledger.largest_value
        given = pending.request.params or {}
        exit_code = outcome.result.get("exitCode") if isinstance(outcome.result, dict) else None
        return {
            "timestamp": iso(self._services.clock.now()),
            "client": pending.client.session.removeprefix(f"{DOOR}:"),
            "address": pending.client.address,
            "room": pending.client.room,
            "tool": redact.text(pending.tool[:200]),
            "arguments": redact.params(given, command.secret if command is not None else (), largest=largest),
            "execution_id": outcome.call,
            "result": {"status": outcome.status, "code": outcome.code, "exit_code": exit_code},
            "seconds": round(seconds, 6),
        }


def _notify(params: dict[str, Any], id: Id, otherwise: Notify) -> Notify:
    given = params.get("notify", otherwise)
    if given not in NOTIFY:
        raise BadLine(f"`notify` must be one of {', '.join(NOTIFY)}; given {frames.told(given)}.", id)
    return NOTIFY[NOTIFY.index(given)]
