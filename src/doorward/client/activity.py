"""Observation operations of the client: executions, the ledger and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from doorward.client import responses
from doorward.client.approval_wait import EventFeed
from doorward.client.descriptors import operation, stream_operation
from doorward.client.effects import Emit, EmittingFlow, Flow
from doorward.client.encoding import Page, quote_part
from doorward.client.outcome import ServerEvent
from doorward.client.session import ClientSession
from doorward.core.wire.sse import HEARTBEAT

OutputStream = Literal["result", "output", "stdout", "stderr"]


class ActivityOperations(ClientSession):
    @operation
    def executions(self, *, live: bool = False, limit: int = 50, after: int = 0, room: str | None = None) -> Flow[Page]:
        """List your executions: queued and running ones first, then ended ones, newest first."""
        query = {"live": live, "limit": limit, "after": after, "room": self._resolve_room(room)}
        return Page.of((yield from self._get("/api/executions", **query)))

    @operation
    def execution(self, execution: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Show the state of an execution."""
        return dict((yield from self._get(f"/api/executions/{quote_part(execution)}", room=self._resolve_room(room))))

    @operation
    def output(
        self,
        execution: str,
        /,
        *,
        stream: OutputStream | None = None,
        offset: int = 0,
        length: int | None = None,
        room: str | None = None,
    ) -> Flow[dict[str, Any]]:
        """Read a page of an execution's output, or of a result that was truncated; `next` is the next offset."""
        query = {"stream": stream, "offset": offset, "length": length, "room": self._resolve_room(room)}
        return dict((yield from self._get(f"/api/executions/{quote_part(execution)}/output", **query)))

    @operation
    def cancel(self, execution: str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Cancel an execution and every process it started."""
        path = f"/api/executions/{quote_part(execution)}/cancel"
        return dict((yield from self._post(path, {}, room=self._resolve_room(room))))

    @operation
    def audit(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        room: str | None = None,
    ) -> Flow[Page]:
        """List the ledger records you may see, newest first.

        `filters` are those of the server: command, caller, call, inRoom, door, status, code, since and until.
        """
        query = {**(filters or {}), "limit": limit, "cursor": cursor, "room": self._resolve_room(room)}
        return Page.of((yield from self._get("/api/audit", **query)))

    @operation
    def record(self, number: int | str, /, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Show one ledger record by its number."""
        return dict((yield from self._get(f"/api/audit/{quote_part(str(number))}", room=self._resolve_room(room))))

    @operation
    def verify(self, *, room: str | None = None) -> Flow[dict[str, Any]]:
        """Check that no ledger record was changed, removed, reordered or truncated."""
        return dict((yield from self._get("/api/audit/verify", room=self._resolve_room(room))))

    @stream_operation
    def events(self, *, only: str = "", room: str | None = None) -> EmittingFlow[ServerEvent]:
        """Iterate over the server events you may see, from now on, without end.

        The first event is `ready`. After a dropped connection, the stream resumes and `ready` comes again. If its data
        has `missed`, the server no longer has all the events in between.
        """
        feed = EventFeed(self, self._resolve_room(room), only)
        yield from feed.open()
        while True:
            event = yield from feed.next()
            if event is None:
                yield from feed.reopen()
            elif event != HEARTBEAT:
                yield Emit(responses.decode_event(event))
