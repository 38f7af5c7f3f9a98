"""Command operations of the client: find, explain and run commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.client import responses
from doorward.client.approval_wait import ApprovalWait
from doorward.client.descriptors import operation, stream_operation
from doorward.client.effects import CloseChannel, Emit, EmittingFlow, EventChannel, Flow, Pause, Send
from doorward.client.encoding import Page, encode_body, merge_parameters, quote_part, require_text
from doorward.client.outcome import Notice, Outcome
from doorward.client.session import STREAM_TIMEOUT, ClientSession, build_request, connection_lost_error

_RUN = "/api/run"


class CommandOperations(ClientSession):
    @operation
    def run(
        self,
        command: str,
        /,
        *,
        room: str | None = None,
        params: Mapping[str, Any] | None = None,
        cache: bool = False,
        check: bool = True,
        wait: float = 0.0,
        **named: Any,
    ) -> Flow[Outcome]:
        """Run a command with its parameters by name: `run("file/read", path="notes.txt")`.

        Use `params` for a parameter whose name clashes with an argument of this method.

        With `wait`, a call that needs approval waits up to that many seconds and is resumed once it is approved. An
        error that keeps the approved call from running has a `ticket` attribute for `resume`.

        With `check=False`, a refused, failed or waiting call raises nothing; check the outcome's status.
        """
        body = {**self._build_body(command, room, params, named), "cache": cache}
        return (yield from self._run(body, check, wait))

    @operation
    def resume(
        self, ticket: str, /, *, room: str | None = None, check: bool = True, wait: float = 0.0
    ) -> Flow[Outcome]:
        """Run an approved call by its ticket. Every check is made again."""
        body = {"ticket": require_text(ticket, "A ticket", "1m7gxw9dfxgnxm43"), "room": self._resolve_room(room)}
        return (yield from self._run(body, check, wait))

    @operation
    def dry_run(
        self, command: str, /, *, room: str | None = None, params: Mapping[str, Any] | None = None, **named: Any
    ) -> Flow[dict[str, Any]]:
        """Show what would happen: the rule, the cost, the required approval and, if known, the effect."""
        outcome = yield from self._run({**self._build_body(command, room, params, named), "dryRun": True}, True, 0.0)
        return dict(outcome.result)

    @stream_operation
    def stream(
        self,
        command: str,
        /,
        *,
        room: str | None = None,
        params: Mapping[str, Any] | None = None,
        check: bool = True,
        **named: Any,
    ) -> EmittingFlow[Notice | Outcome]:
        """Run a command and iterate over its notices; the outcome comes last. Leaving early cancels the call."""
        body = encode_body(self._build_body(command, room, params, named))
        send = Send(method="POST", path=_RUN, body=body, listen=True, timeout=STREAM_TIMEOUT)
        attempt = 0
        while True:
            answer = yield from self._ask(send)
            if not isinstance(answer, EventChannel):
                said: Notice | Outcome = responses.decode_outcome(answer)
                break
            said = yield from self._next_notice(answer)
            after = said.retry_after if isinstance(said, Outcome) and said.is_rate_limited() else None
            if after is None or not self._should_wait(after, attempt):
                break
            yield CloseChannel(answer)
            yield Pause(after)
            attempt += 1
        while isinstance(answer, EventChannel) and not isinstance(said, Outcome):
            yield Emit(said)
            said = yield from self._next_notice(answer)
        if isinstance(said, Outcome):
            yield Emit(_raise_for_outcome(said, check))

    @operation
    def explain(self, command: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Show whether a command is allowed, and which rule decides. Nothing is executed or recorded."""
        body = {"command": _check_name(command), "room": self._resolve_room(room)}
        return dict((yield from self._post("/api/explain", body)))

    @operation
    def commands(
        self, *, search: str | None = None, room: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Flow[Page]:
        """List the commands you may run: all by name, or those matching `search`, best first."""
        query = {"search": search, "room": self._resolve_room(room), "limit": limit, "cursor": cursor}
        return Page.of((yield from self._get("/api/commands", **query)))

    @operation
    def describe(self, command: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Describe a command: parameters, effects, examples, undo."""
        return dict(
            (yield from self._get(f"/api/commands/{quote_part(command, deep=True)}", room=self._resolve_room(room)))
        )

    def _build_body(
        self, command: str, room: str | None, params: Mapping[str, Any] | None, named: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            "command": _check_name(command),
            "params": merge_parameters(command, params, named),
            "room": self._resolve_room(room),
        }

    def _next_notice(self, channel: EventChannel) -> Flow[Notice | Outcome]:
        """Return the next notice or outcome, skipping kinds that this version does not know."""
        while True:
            event = yield from self._next(channel)
            if event is None:
                raise connection_lost_error(self._url.url, "it ended too early")
            said = responses.decode_notice(event)
            if said is not None:
                return said

    def _run(self, body: dict[str, Any], check: bool, wait: float) -> Flow[Outcome]:
        """Return the outcome, waiting up to `wait` seconds for an approval if one is needed."""
        outcome = responses.decode_outcome((yield from self._ask(build_request(_RUN, body))))
        ticket = outcome.ticket or body.get("ticket", "")
        if ticket and wait > 0:
            outcome = yield from ApprovalWait(self, body["room"], ticket, outcome, wait).wait()
        return _raise_for_outcome(outcome, check)


def _check_name(command: Any) -> str:
    return require_text(command, "A command's name", "shell/ls")


def _raise_for_outcome(outcome: Outcome, check: bool) -> Outcome:
    error = outcome.error()
    if check and error is not None:
        raise error
    return outcome
