"""The server's event feed, and waiting in it for the decision about an approval."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import Any

import msgspec

from doorward.client import responses
from doorward.client.effects import CloseChannel, EventChannel, Flow, NextEvent, NoResponse, Pause, Send
from doorward.client.outcome import Outcome, attach_ticket
from doorward.client.session import STREAM_TIMEOUT, ClientSession, build_request
from doorward.core.errors import DoorwardError, NotAuthenticated, OutOfEnergy, TooFast, Unreachable
from doorward.core.wire.sse import SseEvent

_FIRST_RECONNECT_PAUSE = 0.2
_EVENTS, _RUN = "/api/events", "/api/run"
_DECIDED, _HELD = "approval:decided", "approval:held"
_MIN_TIMEOUT = 0.05
_MAX_REOPENINGS, _LONGEST_PAUSE = 12, 5.0
_FIRST_POLL, _MAX_POLL_PAUSE = 0.5, 10.0
HEARTBEAT_SECONDS = 15.0
"""Seconds between two heartbeats of the server."""
_LATE_TOLERANCE = 1.0
"""Seconds by which the end of a wait may be noticed late, to save a call."""
_OLDEST_CURSOR = "0"
"""Cursor before all events that the server still has. A decision may come before the client listens for it."""


class EventFeed:
    """The server's events, from now on or after a cursor. After a dropped connection it resumes."""

    def __init__(self, session: ClientSession, room: str, only: str = "", *, after: str = "") -> None:
        self._session = session
        self._query = {"room": room or None, "only": only or None}
        self._channel: EventChannel | None = None
        self._last = after

    def open(self, silence: float = STREAM_TIMEOUT, *, until: float | None = None) -> Flow[None]:
        """Open or reopen the feed; `silence` is the longest time without any data."""
        if self._channel is not None:
            yield CloseChannel(self._channel)
        resume = {"Last-Event-ID": self._last} if self._last else {}
        send = Send(method="GET", path=_EVENTS, query=self._query, headers=resume, timeout=silence, listen=True)
        answer = yield from self._session._ask(send, until)
        self._channel = answer if isinstance(answer, EventChannel) else responses.raise_no_stream(answer)

    def reopen(self) -> Flow[None]:
        """Reopen the feed after a drop, retrying for about a minute in case the server restarts."""
        for attempt in range(_MAX_REOPENINGS):
            yield Pause(min(_FIRST_RECONNECT_PAUSE * 2**attempt, _LONGEST_PAUSE))
            try:
                return (yield from self.open())
            except Unreachable:
                if attempt == _MAX_REOPENINGS - 1:
                    raise

    def next(self) -> Flow[SseEvent | None]:
        """Return the next event or heartbeat; None when the connection dropped or the server ended it."""
        if self._channel is None:
            raise TypeError("the feed must be opened before it is read")
        try:
            event: SseEvent | None = yield NextEvent(self._channel)
        except NoResponse:
            return None
        if event is not None and event.id:
            self._last = event.id
        return None if event is not None and event.name == "end" else event


class ApprovalWait:
    """Waits for the decision about a parked call, then resumes it.

    The room's limits count every request, so waiting makes few. It listens to the server's events, which costs one
    call, and tries the ticket when the decision arrives or the approval expires. A caller who may not listen polls the
    ticket instead, with increasing pauses.
    """

    def __init__(self, session: ClientSession, room: str, ticket: str, asked: Outcome, seconds: float) -> None:
        """`asked` is the outcome of the call so far."""
        self._session = session
        self._resume_body = {"ticket": ticket, "room": room}
        self._ticket = ticket
        self._first_outcome = asked
        self._feed = EventFeed(session, room, f"{_DECIDED},{_HELD}", after=_OLDEST_CURSOR)
        self._listens = True
        self._opened = self._near_end = False
        self._polls = self._drops = 0
        now = time.monotonic()
        self._end = now + seconds
        self._expires = now + _seconds_until_expiry(asked.result)

    def wait(self) -> Flow[Outcome]:
        """Return the final outcome, or the pending one when the time is up."""
        outcome = self._first_outcome
        try:
            if outcome.is_rate_limited() and self._session._should_wait(outcome.retry_after or 0.0, 0, self._end):
                yield Pause(outcome.retry_after or 0.0)
                outcome = yield from self._try_ticket()
            question = outcome
            while outcome.parked or _is_pending(outcome):
                if not (yield from self._wait_until_due()):
                    return question
                outcome = yield from self._try_ticket()
        except DoorwardError as error:
            attach_ticket(error, self._ticket)
            raise
        if outcome.is_rate_limited() or (outcome.status == "refused" and outcome.retry != "never"):
            return msgspec.structs.replace(outcome, ticket=self._ticket)
        return outcome

    def _try_ticket(self) -> Flow[Outcome]:
        """Try the ticket. Waits for rate limits while there is time, because it may be approved already."""
        return responses.decode_outcome(
            (yield from self._session._ask(build_request(_RUN, self._resume_body), self._end))
        )

    def _wait_until_due(self) -> Flow[bool]:
        """Wait until the ticket should be tried; False when the time is up and nothing is decided."""
        while (left := self._end - time.monotonic()) > 0:
            until = min(self._end, self._expires)
            if not self._listens or time.monotonic() >= until:
                yield Pause(min(_back_off(_FIRST_POLL, self._polls), left))
                self._polls += 1
                return True
            if not self._opened or self._may_miss_end(until):
                yield from self._listen(until)
                continue
            event = yield from self._feed.next()
            if event is None:
                self._opened = False
                yield Pause(min(_back_off(_FIRST_RECONNECT_PAUSE, self._drops), max(until - time.monotonic(), 0.0)))
                self._drops += 1
            elif event.name == _HELD:
                self._note_hold(responses.decode_event(event).data)
            elif event.name == _DECIDED and _is_final_decision(responses.decode_event(event).data, self._ticket):
                return True
        return False

    def _note_hold(self, said: dict[str, Any]) -> None:
        """Wait longer once a person looks at the approval."""
        if said.get("approval") == self._ticket:
            self._expires = time.monotonic() + max(0.0, said["expires_at"] - time.time())
            self._near_end = False

    def _may_miss_end(self, until: float) -> bool:
        """Whether the time may end before the next heartbeat, so that it would be noticed too late.

        A channel's timeout is set when it is opened, so the channel is reopened once near the end.
        """
        return not self._near_end and until - time.monotonic() < HEARTBEAT_SECONDS - _LATE_TOLERANCE

    def _listen(self, until: float) -> Flow[None]:
        """Open the feed with a timeout at `until`."""
        left = max(until - time.monotonic(), _MIN_TIMEOUT)
        self._near_end = left < HEARTBEAT_SECONDS
        try:
            yield from self._feed.open(min(left, STREAM_TIMEOUT), until=0.0)
        except NotAuthenticated:
            raise
        except Unreachable:
            if time.monotonic() < until:  # otherwise the time was up before the server answered
                raise
        except (TooFast, OutOfEnergy) as limit:
            if limit.retry_after is None:
                self._listens = False
            else:  # polling would be refused too
                yield Pause(min(limit.retry_after, max(self._end - time.monotonic(), 0.0)))
        except DoorwardError:
            self._listens = False
        else:
            self._opened = True


def _back_off(first: float, times: int) -> float:
    """Return an exponential back-off, up to a maximum."""
    return float(min(first * 2 ** min(times, 10), _MAX_POLL_PAUSE))


def _is_pending(outcome: Outcome) -> bool:
    """Whether a ticket was refused only because it is not decided yet."""
    return outcome.code == "not_approved" and outcome.retry_after is not None


def _is_final_decision(said: dict[str, Any], ticket: str) -> bool:
    """Whether an event is the final decision about the ticket. With several approvers, earlier ones are not final."""
    return said.get("approval") == ticket and said.get("state") != "pending"


def _seconds_until_expiry(question: Any) -> float:
    """Return the seconds until the approval expires, by this machine's clock; infinite if the server gives none."""
    try:
        return max(0.0, (datetime.fromisoformat(question["expiresAt"]) - datetime.now(UTC)).total_seconds())
    except (TypeError, KeyError, ValueError):
        return math.inf
