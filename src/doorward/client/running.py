"""Command operations of the client: find, explain and run commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.client import replies
from doorward.client.body import encoded, parameters, text
from doorward.client.flows import Channel, Close, Emit, Emitting, Flow, Pause, Send
from doorward.client.operation import operation, streaming
from doorward.client.outcome import Notice, Outcome
from doorward.client.paths import Page, part
from doorward.client.session import SILENCE, Session, lost, posted
from doorward.client.waiting import Watch

_RUN = "/api/run"


class Running(Session):
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
        body = {**self._body(command, room, params, named), "cache": cache}
        return (yield from self._run(body, check, wait))

    @operation
    def resume(
        self, ticket: str, /, *, room: str | None = None, check: bool = True, wait: float = 0.0
    ) -> Flow[Outcome]:
        """Run an approved call by its ticket. Every check is made again."""
        body = {"ticket": text(ticket, "A ticket", "1m7gxw9dfxgnxm43"), "room": self._in(room)}
        return (yield from self._run(body, check, wait))

    @operation
    def dry_run(
        self, command: str, /, *, room: str | None = None, params: Mapping[str, Any] | None = None, **named: Any
    ) -> Flow[dict[str, Any]]:
        """Show what would happen: the rule, the cost, the required approval and, if known, the effect."""
        outcome = yield from self._run({**self._body(command, room, params, named), "dryRun": True}, True, 0.0)
        return dict(outcome.result)

    @streaming
    def stream(
        self,
        command: str,
        /,
        *,
        room: str | None = None,
        params: Mapping[str, Any] | None = None,
        check: bool = True,
        **named: Any,
    ) -> Emitting[Notice | Outcome]:
        """Run a command and iterate over its notices; the outcome comes last. Leaving early cancels the call."""
        body = encoded(self._body(command, room, params, named))
        send = Send(method="POST", path=_RUN, body=body, listen=True, timeout=SILENCE)
        attempt = 0
        while True:
            answer = yield from self._ask(send)
            if not isinstance(answer, Channel):
                said: Notice | Outcome = replies.outcome(answer)
                break
            said = yield from self._told(answer)
            after = said.retry_after if isinstance(said, Outcome) and said.limited() else None
            if after is None or not self._waits_for(after, attempt):
                break
            yield Close(answer)
            yield Pause(after)
            attempt += 1
        while isinstance(answer, Channel) and not isinstance(said, Outcome):
            yield Emit(said)
            said = yield from self._told(answer)
        if isinstance(said, Outcome):
            yield Emit(_checked(said, check))

    @operation
    def explain(self, command: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Show whether a command is allowed, and which rule decides. Nothing is executed or recorded."""
        body = {"command": _name(command), "room": self._in(room)}
        return dict((yield from self._post("/api/explain", body)))

    @operation
    def commands(
        self, *, search: str | None = None, room: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Flow[Page]:
        """List the commands you may run: all by name, or those matching `search`, best first."""
        query = {"search": search, "room": self._in(room), "limit": limit, "cursor": cursor}
        return Page.of((yield from self._get("/api/commands", **query)))

    @operation
    def describe(self, command: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Describe a command: parameters, effects, examples, undo."""
        return dict((yield from self._get(f"/api/commands/{part(command, deep=True)}", room=self._in(room))))

    def _body(
        self, command: str, room: str | None, params: Mapping[str, Any] | None, named: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {"command": _name(command), "params": parameters(command, params, named), "room": self._in(room)}

    def _told(self, channel: Channel) -> Flow[Notice | Outcome]:
        """Return the next notice or outcome, skipping kinds that this version does not know."""
        while True:
            event = yield from self._next(channel)
            if event is None:
                raise lost(self._url.url, "it ended too early")
            said = replies.notice(event)
            if said is not None:
                return said

    def _run(self, body: dict[str, Any], check: bool, wait: float) -> Flow[Outcome]:
        """Return the outcome, waiting up to `wait` seconds for an approval if one is needed."""
        outcome = replies.outcome((yield from self._ask(posted(_RUN, body))))
        ticket = outcome.ticket or body.get("ticket", "")
        if ticket and wait > 0:
            outcome = yield from Watch(self, body["room"], ticket, outcome, wait).outcome()
        return _checked(outcome, check)


def _name(command: Any) -> str:
    return text(command, "A command's name", "shell/ls")


def _checked(outcome: Outcome, check: bool) -> Outcome:
    error = outcome.error()
    if check and error is not None:
        raise error
    return outcome
