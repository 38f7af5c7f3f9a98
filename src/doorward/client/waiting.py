"""Listening to the server's events, and waiting among them for what a person decides."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import Any

from doorward.client import replies
from doorward.client.eventstream import SIGN_OF_LIFE, Event
from doorward.client.flows import Channel, Close, Flow, Next, NoAnswer, Pause, Send
from doorward.client.outcome import Outcome
from doorward.client.session import SILENCE, Session
from doorward.errors import NotAuthenticated, Refused, Unreachable

_AFTER_A_DROP = 0.2
_EVENTS = "/api/events"
_DECIDED = "approval:decided"
_SHORTEST = 0.05
_REOPENINGS, _LONGEST_PAUSE = 12, 5.0
_FIRST_LOOK, _BETWEEN_LOOKS = 0.5, 2.0


class Feed:
    """The server's events, from now on. After a drop it is opened again where it was."""

    def __init__(self, session: Session, room: str, only: str = "") -> None:
        self._session = session
        self._query = {"room": room or None, "only": only or None}
        self._channel: Channel | None = None
        self._last = ""

    def open(self, silence: float = SILENCE) -> Flow[None]:
        """Open it, or open it again; `silence` is for how long nothing at all may come."""
        if self._channel is not None:
            yield Close(self._channel)
        resume = {"Last-Event-ID": self._last} if self._last else {}
        send = Send(method="GET", path=_EVENTS, query=self._query, headers=resume, timeout=silence, listen=True)
        answer = yield from self._session._ask(send)
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
    """Waits for a decision. It listens before the question is asked, so that no answer comes too early for it.

    Not everybody may listen to events, or as often as they wait. Whoever may not comes back with the ticket every now
    and then instead, and is told each time that nobody decided yet.
    """

    def __init__(self, session: Session, room: str, seconds: float) -> None:
        self._feed = Feed(session, room, _DECIDED)
        self._listens = True
        self._looks = 0
        self._end = time.monotonic() + seconds

    def open(self) -> Flow[None]:
        yield from self._reopen(self._end)

    def decided(self, ticket: str, question: Any) -> Flow[bool]:
        """Whether it is time to come back with the ticket: people decided, or a look is due.

        False when the time is up, and the question still open.
        """
        expires = time.monotonic() + _open_for(question)
        while (left := self._end - time.monotonic()) > 0:
            if not self._listens or time.monotonic() >= expires:
                yield Pause(min(_FIRST_LOOK * 2**self._looks, _BETWEEN_LOOKS, left))
                self._looks += 1
                return True
            event = yield from self._feed.next()
            if event is None:
                yield Pause(min(_AFTER_A_DROP, left))
            if event is None or event == SIGN_OF_LIFE:
                yield from self._reopen(min(self._end, expires))
            elif event.name == _DECIDED and _is_answer(replies.happened(event).data, ticket):
                return True
        return False

    def _reopen(self, end: float) -> Flow[None]:
        """Listen until then, unless something comes; a channel's time without a word is set when it is opened."""
        try:
            yield from self._feed.open(max(end - time.monotonic(), _SHORTEST))
        except NotAuthenticated:
            raise
        except Refused:
            self._listens = False


def is_pending(outcome: Outcome) -> bool:
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
