"""Calls inside other calls: who makes them, and whether that caller is still authenticated."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from doorward.core.errors import NotAuthenticated
from doorward.core.model import Call, Caller, Credential, Request
from doorward.gate.authenticator import Authenticator
from doorward.gate.executions.execution import Execution
from doorward.gate.executions.registry import ExecutionRegistry
from doorward.gate.progress import Progress
from doorward.gate.throttle import Throttle


class NestedCalls:
    """Keeps the credential of each running call that makes further calls, such as the keeper or a script.

    Such a call can take long. The credential is checked again before every nested call, so that a token revoked
    meanwhile stops working.
    """

    def __init__(self, authenticator: Authenticator, executions: ExecutionRegistry, throttle: Throttle) -> None:
        self._authenticator = authenticator
        self._executions = executions
        self._throttle = throttle
        self._credentials: dict[str, Credential] = {}

    def opened(self, progress: Progress, call: Call) -> OpenExecution:
        """The execution of a call, as a context manager. It is closed however the call ends."""
        return OpenExecution(self, progress, call)

    def _open(self, progress: Progress, call: Call) -> Execution:
        facts = call.command.facts
        if progress.parent is None and (facts.runs_agent or facts.nests_calls):
            self._credentials[call.id] = progress.request.credential
        return self._executions.open(call, progress.watch, progress.parent)

    def _close(self, execution: Execution) -> None:
        call = execution.call
        self._credentials.pop(call.id, None)
        if execution.parent and call.command.facts.nests_calls and not execution.made_calls:
            self._throttle.count_without_calls(call)
        self._executions.close(execution)

    def caller(self, parent: Execution) -> Caller:
        """The caller of a call inside `parent`: its own caller or, inside agent/ask, the keeper on their behalf."""
        outer: Execution | None = parent
        while outer is not None:
            credential = self._credentials.get(outer.id)
            if credential is not None and self._authenticator.caller(credential) != outer.call.caller:
                raise NotAuthenticated("The caller's permissions have changed. Run the request again.")
            outer = outer.parent
        caller = parent.call.caller
        return caller.as_keeper() if parent.call.command.facts.runs_agent else caller


class OpenExecution:
    __slots__ = ("_calls", "_execution")

    def __init__(self, calls: NestedCalls, progress: Progress, call: Call) -> None:
        self._calls = calls
        self._execution = calls._open(progress, call)

    def __enter__(self) -> Execution:
        return self._execution

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._calls._close(self._execution)


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
