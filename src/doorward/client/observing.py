"""Looking at what runs, what ran, and what happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from doorward.client import replies
from doorward.client.eventstream import SIGN_OF_LIFE
from doorward.client.flows import Emit, Emitting, Flow
from doorward.client.operation import operation, streaming
from doorward.client.outcome import Happened
from doorward.client.paths import Page, part
from doorward.client.session import Session
from doorward.client.waiting import Feed

View = Literal["result", "output", "stdout", "stderr"]


class Observing(Session):
    @operation
    def executions(self, *, live: bool = False, limit: int = 50, after: int = 0, room: str | None = None) -> Flow[Page]:
        """Your executions: those that wait or run now, then those that ended, newest first."""
        query = {"live": live, "limit": limit, "after": after, "room": self._in(room)}
        return Page.of((yield from self._get("/api/executions", **query)))

    @operation
    def execution(self, execution: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Where an execution stands."""
        return dict((yield from self._get(f"/api/executions/{part(execution)}", room=self._in(room))))

    @operation
    def output(
        self,
        execution: str,
        /,
        *,
        stream: View | None = None,
        offset: int = 0,
        length: int | None = None,
        room: str | None = None,
    ) -> Flow[dict[str, Any]]:
        """A page of what an execution wrote, or of a result that was too long to show whole; `next` reads on."""
        query = {"stream": stream, "offset": offset, "length": length, "room": self._in(room)}
        return dict((yield from self._get(f"/api/executions/{part(execution)}/output", **query)))

    @operation
    def cancel(self, execution: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Stop an execution that waits or runs, with every process it started."""
        path = f"/api/executions/{part(execution)}/cancel"
        return dict((yield from self._post(path, {}, room=self._in(room))))

    @operation
    def audit(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        room: str | None = None,
    ) -> Flow[Page]:
        """The record of what was asked, newest first, as far as you may see it.

        `filters` are those of the server: command, caller, call, inRoom, door, status, code, since and until.
        """
        query = {**(filters or {}), "limit": limit, "cursor": cursor, "room": self._in(room)}
        return Page.of((yield from self._get("/api/audit", **query)))

    @operation
    def record(self, number: int | str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """One record of the ledger, by its number."""
        return dict((yield from self._get(f"/api/audit/{part(str(number))}", room=self._in(room))))

    @operation
    def verify(self, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Whether any record of the ledger was changed, dropped, moved or cut off."""
        return dict((yield from self._get("/api/audit/verify", room=self._in(room))))

    @streaming
    def events(self, *, only: str = "", room: str | None = None) -> Emitting[Happened]:
        """What happens on the server, as far as you may see it, from now on and without an end.

        The first event is `ready`. After a dropped connection it goes on where it was, and `ready` comes again; when
        its data say `missed`, the server no longer has all that happened in between.
        """
        feed = Feed(self, self._in(room), only)
        yield from feed.open()
        while True:
            event = yield from feed.next()
            if event is None:
                yield from feed.reopen()
            elif event != SIGN_OF_LIFE:
                yield Emit(replies.happened(event))
