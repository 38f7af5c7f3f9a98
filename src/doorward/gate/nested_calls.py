"""Calls inside other calls: who makes them, and whether that caller is still authenticated.

Also ends running calls whose caller's access has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Any

import msgspec

from doorward.core.errors import Conflict, NotAuthenticated
from doorward.core.model import Call, Caller, Credential, Request
from doorward.gate.authenticator import Authenticator
from doorward.gate.executions.execution import Execution
from doorward.gate.executions.registry import ExecutionRegistry
from doorward.gate.progress import Progress
from doorward.gate.throttle import Throttle
from doorward.rooms.accounts.revocations import Matches

log = logging.getLogger(__name__)

_CURRENT_CALL: ContextVar[str] = ContextVar("current_call", default="")
"""The id of the call that runs in this context."""


class NestedCalls:
    """Keeps the credential of each running call.

    A call that makes further calls, such as the keeper or a script, can take long. Its credential is checked again
    before every nested call, so that a token revoked meanwhile stops working.
    """

    def __init__(self, authenticator: Authenticator, executions: ExecutionRegistry, throttle: Throttle) -> None:
        self._authenticator = authenticator
        self._executions = executions
        self._throttle = throttle
        self._credentials: dict[str, Credential] = {}
        self._kept: dict[str, _KeptCall] = {}
        """The calls whose programs run on after their end."""
        authenticator.revocations.listen(self._end_revoked)

    def opened(self, progress: Progress, call: Call) -> OpenExecution:
        """The execution of a call, as a context manager. It is closed however the call ends."""
        return OpenExecution(self, progress, call)

    def _open(self, progress: Progress, call: Call) -> Execution:
        if progress.parent is None:
            self._credentials[call.id] = progress.request.credential
        return self._executions.open(call, progress.watch, progress.parent)

    def _close(self, execution: Execution) -> None:
        call = execution.call
        self._credentials.pop(call.id, None)
        if execution.parent and call.command.facts.nests_calls and not execution.made_calls:
            self._throttle.count_without_calls(call)
        self._executions.close(execution)

    def keep(self, call: Call) -> Callable[[], None]:
        """Let the program that a running call starts make calls after its end, until the returned function is called.

        Each of them is a call inside this one, by its caller, whose credential is checked again.
        """
        outermost = _find_outermost(self.find_parent(call))
        credential = self._credentials.get(outermost.id, Credential())
        self._kept[call.id] = _KeptCall(self._executions.create_unlisted(call), credential, outermost.call.caller)

        def forget() -> None:
            self._kept.pop(call.id, None)

        return forget

    def find_parent(self, call: Call) -> Execution:
        """The execution in which calls inside this one run: its own or, after its end, the kept one of its program."""
        running = self._executions.get(call.id)
        if running is not None and not running.has_ended:
            return running
        if call.id in self._kept:
            return self._kept[call.id].execution
        raise Conflict(f"{call.command.name} is not running, so nothing can run inside it.")

    def _end_revoked(self, reason: str, matches: Matches) -> None:
        """Cancel the running calls that match, except the one that ended the access itself."""
        maker = self._executions.get(_CURRENT_CALL.get())
        for execution in list(self._executions):
            credential = self._credentials.get(execution.id)
            if credential is None or (maker is not None and execution.encloses(maker)):
                continue
            if matches(credential, execution.call.caller):
                log.info("call %s (%s) is cancelled by %s", execution.id, execution.call.command.name, reason)
                execution.cancel(reason)

    def caller(self, parent: Execution) -> Caller:
        """The caller of a call inside `parent`: its own caller or, inside agent/ask, the keeper on their behalf."""
        credential, caller = self._find_source(parent)
        if self._authenticator.caller(credential) != caller:
            raise NotAuthenticated("The caller's permissions have changed. Run the request again.")
        caller = parent.call.caller
        return caller.as_keeper() if parent.call.command.facts.runs_agent else caller

    def credential(self, progress: Progress) -> Credential:
        """The credential of a request, or that of the outermost call that it is nested in."""
        return progress.request.credential if progress.parent is None else self._find_source(progress.parent)[0]

    def _find_source(self, inner: Execution) -> tuple[Credential, Caller]:
        """The credential of the outermost call around this one, and the caller that it stood for at its start."""
        outermost = _find_outermost(inner)
        kept = self._kept.get(outermost.id)
        if kept is not None and kept.execution is outermost:
            return kept.credential, kept.caller
        return self._credentials.get(outermost.id, Credential()), outermost.call.caller


class _KeptCall(msgspec.Struct, frozen=True):
    """A call whose program runs on: the execution for calls inside it, and where it came from."""

    execution: Execution
    credential: Credential
    caller: Caller


class OpenExecution:
    __slots__ = ("_calls", "_execution", "_outer")

    def __init__(self, calls: NestedCalls, progress: Progress, call: Call) -> None:
        self._calls = calls
        self._execution = calls._open(progress, call)
        self._outer = _CURRENT_CALL.set(call.id)

    def __enter__(self) -> Execution:
        return self._execution

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CURRENT_CALL.reset(self._outer)
        self._calls._close(self._execution)


def _find_outermost(execution: Execution) -> Execution:
    while execution.parent is not None:
        execution = execution.parent
    return execution


def nested_request(call: Call, command: str, params: Mapping[str, Any], ticket: str = "") -> Request:
    """The request for a call inside another: same door, room, session and response."""
    return Request(
        command=command,
        credential=Credential(),
        door=call.door,
        room=call.room,
        params=params,
        ticket=ticket,
        session=call.session,
        response=call.response,
        keeper_call=call.id if call.command.facts.runs_agent else call.keeper_call,
        known_secrets=call.known_secrets,
    )
