"""Finding commands and running them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.client import replies
from doorward.client.flows import Channel, Emit, Emitting, Flow, Send
from doorward.client.operation import operation, streaming
from doorward.client.outcome import Notice, Outcome
from doorward.client.paths import Page, part
from doorward.client.session import SILENCE, Session, encoded, lost, posted
from doorward.client.waiting import Watch, is_pending
from doorward.errors import BadParams

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
        """Run a command, with its parameters by name: `run("file/read", path="notes.txt")`.

        A parameter that has the name of one of this method's own goes into `params`. With `wait`, a call that a person
        must approve is resumed when they say yes within so many seconds. With `check=False` nothing is raised for what
        is refused, fails or is parked: the outcome says it.
        """
        body = {**self._body(command, room, params, named), "cache": cache}
        return (yield from self._run(body, check, wait))

    @operation
    def resume(
        self, ticket: str, /, *, room: str | None = None, check: bool = True, wait: float = 0.0
    ) -> Flow[Outcome]:
        """Run what was parked with this ticket, once a person has said yes. Every check is made again."""
        return (yield from self._run({"ticket": ticket, "room": self._in(room)}, check, wait))

    @operation
    def dry_run(
        self, command: str, /, *, room: str | None = None, params: Mapping[str, Any] | None = None, **named: Any
    ) -> Flow[dict[str, Any]]:
        """What would be decided and done: the rule, the cost, the approval it needs and, where known, the effect."""
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
        """Run a command and iterate over what it says meanwhile; its outcome comes last. Leaving early cancels it."""
        body = encoded(self._body(command, room, params, named))
        answer = yield from self._ask(Send(method="POST", path=_RUN, body=body, listen=True, timeout=SILENCE))
        said: Notice | Outcome | None = None if isinstance(answer, Channel) else replies.outcome(answer)
        while isinstance(answer, Channel) and not isinstance(said, Outcome):
            if said is not None:
                yield Emit(said)
            event = yield from self._next(answer)
            if event is None:
                raise lost(self._url.url, "it ended too early")
            said = replies.notice(event)
        if isinstance(said, Outcome):
            yield Emit(_checked(said, check))

    @operation
    def explain(self, command: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Whether a command would be allowed, and which rule decides. Nothing runs, and nothing is written."""
        return dict((yield from self._post("/api/explain", {"command": command, "room": self._in(room)})))

    @operation
    def commands(
        self, *, search: str | None = None, room: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Flow[Page]:
        """The commands that may be run here: all by name, or those that fit a search, best first."""
        query = {"search": search, "room": self._in(room), "limit": limit, "cursor": cursor}
        return Page.of((yield from self._get("/api/commands", **query)))

    @operation
    def describe(self, command: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Everything about a command: parameters, effects, examples, undo."""
        return dict((yield from self._get(f"/api/commands/{part(command, deep=True)}", room=self._in(room))))

    def _body(
        self, command: str, room: str | None, params: Mapping[str, Any] | None, named: Mapping[str, Any]
    ) -> dict[str, Any]:
        twice = set(params or {}) & set(named)
        if twice:
            raise BadParams(f"{command}: given both by name and in params: {', '.join(sorted(twice))}.")
        return {"command": command, "params": {**(params or {}), **named}, "room": self._in(room)}

    def _run(self, body: dict[str, Any], check: bool, wait: float) -> Flow[Outcome]:
        """The outcome, after people had `wait` seconds to decide where they must."""
        if wait <= 0:
            outcome = replies.outcome((yield from self._ask(posted(_RUN, body))))
            return _checked(outcome, check)
        watch = Watch(self, body["room"], wait)
        yield from watch.open()
        question = outcome = replies.outcome((yield from self._ask(posted(_RUN, body))))
        ticket = question.ticket or body.get("ticket", "")
        while outcome.parked or is_pending(outcome):
            if not (yield from watch.decided(ticket, question.result)):
                return _checked(question, check)
            again = {"ticket": ticket, "room": body["room"]}
            outcome = replies.outcome((yield from self._ask(posted(_RUN, again))))
        return _checked(outcome, check)


def _checked(outcome: Outcome, check: bool) -> Outcome:
    error = outcome.error()
    if check and error is not None:
        raise error
    return outcome
