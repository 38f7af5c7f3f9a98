"""Listening to the server's events, and waiting among them for what a person decides."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import Any

import msgspec

from doorward.client import replies
from doorward.client.eventstream import Event
from doorward.client.flows import Channel, Close, Flow, Next, NoAnswer, Pause, Send
from doorward.client.outcome import Outcome, with_ticket
from doorward.client.session import SILENCE, Session, posted
from doorward.errors import DoorwardError, NotAuthenticated, OutOfEnergy, TooFast, Unreachable

_AFTER_A_DROP = 0.2
_EVENTS, _RUN = "/api/events", "/api/run"
_DECIDED = "approval:decided"
_SHORTEST = 0.05
_REOPENINGS, _LONGEST_PAUSE = 12, 5.0
_FIRST_LOOK, _BETWEEN_LOOKS = 0.5, 10.0
SIGNS = 15.0
"""Seconds after which a server that has nothing to tell gives a sign of life."""
_LATE = 1.0
"""Seconds by which the end of a wait may be noticed late, where being in time would cost a call."""
_ALL = "0"
"""The place behind which all events are that the server still has. A decision may come before one listens for it."""


class Feed:
    """The server's events, from now on or behind another. After a drop it is opened again where it was."""

    def __init__(self, session: Session, room: str, only: str = "", *, after: str = "") -> None:
        self._session = session
        self._query = {"room": room or None, "only": only or None}
        self._channel: Channel | None = None
        self._last = after

    def open(self, silence: float = SILENCE, *, until: float | None = None) -> Flow[None]:
        """Open it, or open it again; `silence` is for how long nothing at all may come."""
        if self._channel is not None:
            yield Close(self._channel)
        resume = {"Last-Event-ID": self._last} if self._last else {}
        send = Send(method="GET", path=_EVENTS, query=self._query, headers=resume, timeout=silence, listen=True)
        answer = yield from self._session._ask(send, until)
        self._channel = answer if isinstance(answer, Channel) else replies.no_channel(answer)

    def reopen(self) -> Flow[None]:
        """Open it again after a drop. A server that is started anew is given a minute."""
        for attempt in range(_REOPENINGS):
            yield Pause(min(_AFTER_A_DROP * 2**attempt, _LONGEST_PAUSE))
            try:
                return (yield from self.open())
            except Unreachable:
                if attempt == _REOPENINGS - 1:
                    raise

    def next(self) -> Flow[Event | None]:
        """The next event, or a sign of life; None when the connection dropped, or the server wants it made anew."""
        if self._channel is None:
            raise TypeError("a feed is opened before it is read")
        try:
            event: Event | None = yield Next(self._channel)
        except NoAnswer:
            return None
        if event is not None and event.id:
            self._last = event.id
        return None if event is not None and event.name == "end" else event


class Watch:
    """Waits until people decided about a call that was parked, and resumes it then.

    The limits of the caller's room count everything it asks, so waiting asks for little. It listens to the server's
    events, which costs one call when it begins, and comes back with the ticket when it is told of the decision, or when
    the time to decide is over. Not everybody may listen; whoever may not comes back every now and then instead, ever
    more rarely, and is told each time that nobody decided yet.
    """

    def __init__(self, session: Session, room: str, ticket: str, asked: Outcome, seconds: float) -> None:
        """`asked` is what came of the call so far."""
        self._session = session
        self._again = {"ticket": ticket, "room": room}
        self._ticket = ticket
        self._asked = asked
        self._feed = Feed(session, room, _DECIDED, after=_ALL)
        self._listens = True
        self._opened = self._closely = False
        self._looks = self._drops = 0
        now = time.monotonic()
        self._end = now + seconds
        self._expires = now + _open_for(asked.result)

    def outcome(self) -> Flow[Outcome]:
        """How it ended; what was asked is still open when the time is up before that."""
        outcome = self._asked
        try:
            if outcome.limited() and self._session._waits_for(outcome.retry_after or 0.0, 0, self._end):
                yield Pause(outcome.retry_after or 0.0)
                outcome = yield from self._resumed()
            question = outcome
            while outcome.parked or _is_pending(outcome):
                if not (yield from self._due()):
                    return question
                outcome = yield from self._resumed()
        except DoorwardError as error:
            with_ticket(error, self._ticket)
            raise
        if outcome.limited() or (outcome.status == "refused" and outcome.retry != "never"):
            return msgspec.structs.replace(outcome, ticket=self._ticket)
        return outcome

    def _resumed(self) -> Flow[Outcome]:
        """What the ticket gives now. A limit is waited for as long as there is time: people may have said yes."""
        return replies.outcome((yield from self._session._ask(posted(_RUN, self._again), self._end)))

    def _due(self) -> Flow[bool]:
        """Whether it is time to come back with the ticket; False when the time is up, and the question still open."""
        until = min(self._end, self._expires)
        while (left := self._end - time.monotonic()) > 0:
            if not self._listens or time.monotonic() >= until:
                yield Pause(min(_growing(_FIRST_LOOK, self._looks), left))
                self._looks += 1
                return True
            if not self._opened or self._blind(until):
                yield from self._listen(until)
                continue
            event = yield from self._feed.next()
            if event is None:
                self._opened = False
                yield Pause(min(_growing(_AFTER_A_DROP, self._drops), max(until - time.monotonic(), 0.0)))
                self._drops += 1
            elif event.name == _DECIDED and _is_answer(replies.happened(event).data, self._ticket):
                return True
        return False

    def _blind(self, until: float) -> bool:
        """Whether nothing may come before the time is up, so that the end would be noticed too late.

        For how long a channel may be silent is set when it is opened, and so it is opened once more near the end.
        """
        return not self._closely and until - time.monotonic() < SIGNS - _LATE

    def _listen(self, until: float) -> Flow[None]:
        """Listen until then, unless something comes."""
        left = max(until - time.monotonic(), _SHORTEST)
        self._closely = left < SIGNS
        try:
            yield from self._feed.open(min(left, SILENCE), until=0.0)
        except NotAuthenticated:
            raise
        except Unreachable:
            if time.monotonic() < until:  # else the time was up before the server could answer
                raise
        except (TooFast, OutOfEnergy) as limit:
            if limit.retry_after is None:
                self._listens = False
            else:  # a look would be refused as well
                yield Pause(min(limit.retry_after, max(self._end - time.monotonic(), 0.0)))
        except DoorwardError:
            self._listens = False
        else:
            self._opened = True


def _growing(first: float, times: int) -> float:
    """Twice as long each time, up to what is long enough."""
    return float(min(first * 2 ** min(times, 10), _BETWEEN_LOOKS))


def _is_pending(outcome: Outcome) -> bool:
    """Whether a ticket was refused only because nobody decided about it yet."""
    return outcome.code == "not_approved" and outcome.retry_after is not None


def _is_answer(said: dict[str, Any], ticket: str) -> bool:
    """Whether this is the decision about it; one of several people who must say yes has not decided it yet."""
    return said.get("approval") == ticket and said.get("state") != "pending"


def _open_for(question: Any) -> float:
    """For how many more seconds people can answer, by this machine's clock; for ever if the server does not say."""
    try:
        return max(0.0, (datetime.fromisoformat(question["expiresAt"]) - datetime.now(UTC)).total_seconds())
    except (TypeError, KeyError, ValueError):
        return math.inf
