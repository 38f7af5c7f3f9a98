"""Waiting for people, and for limits: what it costs the caller, and that what was approved is never lost."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from played import DONE, DROPPED, REFUSED, SLOW, Clock, Later, Played, problem, reply, run

from doorward.client import Client, Parked, Started, approval_wait, session
from doorward.client.effects import EventChannel
from doorward.core.errors import Looping, NotApproved, NotAuthenticated, NotPermitted, TooFast, Unreachable
from doorward.core.wire.sse import HEARTBEAT, SseEvent
from doorward.doors.rest import sse

TICKET = "1m7gxw9dfxgnxm43"
READY = SseEvent("ready", b'{"next": "e-1", "missed": true}', "e-1")
OPENED = (EventChannel(), READY)
RUN, EVENTS = "/api/run", "/api/events"


def decided(state: str, ticket: str = TICKET) -> SseEvent:
    return SseEvent("approval:decided", json.dumps({"data": {"approval": ticket, "state": state}}).encode(), "e-2")


def parked(seconds: float = 300.0) -> Any:
    until = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
    waits = {"status": "parked", "code": "approval_needed", "ticket": TICKET, "message": "Waits."}
    return reply(202, {**DONE, **waits, "result": {"expiresAt": until}})


def too_fast(seconds: float) -> Any:
    return problem(429, "too_fast", retryAfter=seconds, retry="later")


APPROVED = decided("approved")
RAN = reply(200, DONE)
PENDING = problem(403, "not_approved", retryAfter=2, retry="later")
EXPIRED = problem(403, "not_approved")
MAY_NOT_LISTEN = problem(403, "not_permitted")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(session, "time", made)
    monkeypatch.setattr(approval_wait, "time", made)
    return made


@pytest.fixture
def client() -> Client:
    return Client("http://127.0.0.1:9", token="its-token", room="general")


class TestPeople:
    def test_a_call_that_nobody_must_approve_costs_one_call(self, client: Client, clock: Clock) -> None:
        assert Played(run(client, wait=60), RAN, clock=clock).paths == [RUN]

    def test_waiting_costs_one_call_beside_the_question_and_its_answer(self, client: Client, clock: Clock) -> None:
        others = decided("approved", "somebody-elses")
        signs = [Later(15, HEARTBEAT)] * 6
        played = Played(run(client, wait=120), parked(), *OPENED, *signs, others, Later(9, APPROVED), RAN, clock=clock)
        assert played.result.done
        assert played.paths == [RUN, EVENTS, RUN]
        assert json.loads(played.sent[2].body or b"") == {"ticket": TICKET, "room": "general"}

    def test_a_decision_that_came_before_it_listened_is_told_all_the_same(self, client: Client, clock: Clock) -> None:
        played = Played(run(client, wait=60), parked(), EventChannel(), READY, APPROVED, RAN, clock=clock)
        assert played.sent[1].headers["Last-Event-ID"] == "0"

    def test_one_yes_of_several_is_no_decision(self, client: Client, clock: Clock) -> None:
        answers = (parked(), *OPENED, decided("pending"), APPROVED, RAN)
        assert Played(run(client, wait=60), *answers, clock=clock).paths == [RUN, EVENTS, RUN]

    @pytest.mark.parametrize("wait", [0.2, 10, 15, 30, 60])
    def test_a_wait_ends_in_time_and_for_whole_signs_without_listening_again(
        self, client: Client, clock: Clock, wait: float
    ) -> None:
        signs = [Later(15, HEARTBEAT)] * int(wait // 15)
        silent = [] if signs else [Later(wait, SLOW)]
        played = Played(run(client, wait=wait), parked(), *OPENED, *signs, *silent, clock=clock)
        assert isinstance(played.error, Parked)
        assert played.error.ticket == TICKET
        assert played.paths == [RUN, EVENTS]
        assert played.sent[1].timeout == pytest.approx(min(wait, 60))

    def test_a_wait_that_would_end_between_two_signs_listens_once_more_near_its_end(
        self, client: Client, clock: Clock
    ) -> None:
        answers = (parked(), *OPENED, Later(15, HEARTBEAT), *OPENED, Later(5, SLOW))
        played = Played(run(client, wait=20), *answers, clock=clock)
        assert isinstance(played.error, Parked)
        assert (played.paths, played.sent[2].timeout) == ([RUN, EVENTS, EVENTS], 5)

    def test_the_server_gives_signs_of_life_as_often_as_the_client_thinks(self) -> None:
        assert approval_wait.HEARTBEAT_SECONDS == sse.KEEP_ALIVE

    def test_when_nobody_decided_in_time_one_look_tells_so(self, client: Client, clock: Clock) -> None:
        played = Played(run(client, wait=60), parked(10), *OPENED, Later(10, SLOW), EXPIRED, clock=clock)
        assert isinstance(played.error, NotApproved)
        assert played.paths == [RUN, EVENTS, RUN]

    def test_whoever_may_not_listen_looks_ever_more_rarely(self, client: Client, clock: Clock) -> None:
        played = Played(run(client, wait=60), parked(), MAY_NOT_LISTEN, *[PENDING] * 10, clock=clock)
        assert isinstance(played.error, Parked)
        assert played.waited == [0.5, 1, 2, 4, 8, 10, 10, 10, 10, 4.5]

    def test_people_may_take_hours(self, client: Client, clock: Clock) -> None:
        looks = [PENDING] * 1100
        played = Played(run(client, wait=20_000), parked(), MAY_NOT_LISTEN, *looks, RAN, clock=clock)
        assert played.result.done
        assert max(played.waited) == 10

    def test_a_dropped_feed_is_opened_again_where_it_was_and_not_in_a_hurry(self, client: Client, clock: Clock) -> None:
        drops = [one for _ in range(4) for one in (DROPPED, *OPENED)]
        played = Played(run(client, wait=60), parked(), *OPENED, *drops, APPROVED, RAN, clock=clock)
        assert played.result.done
        assert played.waited == [0.2, 0.4, 0.8, 1.6]
        assert played.sent[2].headers["Last-Event-ID"] == "e-1"

    def test_a_server_that_is_slower_than_the_wait_is_not_said_to_be_gone(self, client: Client, clock: Clock) -> None:
        assert isinstance(Played(run(client, wait=0.1), parked(), Later(0.1, SLOW), clock=clock).error, Parked)


class TestLimits:
    def test_a_limit_at_the_resume_is_waited_for_while_there_is_time(self, client: Client, clock: Clock) -> None:
        answers = (parked(), *OPENED, Later(3, APPROVED), too_fast(40), too_fast(0.5), RAN)
        played = Played(run(client, wait=60), *answers, clock=clock)
        assert played.result.done
        assert played.waited == [40, 0.5]
        assert played.paths == [RUN, EVENTS, RUN, RUN, RUN]

    def test_a_client_that_never_asks_again_waits_for_it_too(self, clock: Clock) -> None:
        once = Client("http://127.0.0.1:9", token="t", room="general", retries=0)
        assert Played(run(once, wait=60), parked(), *OPENED, APPROVED, too_fast(40), RAN, clock=clock).result.done

    def test_a_limit_that_lasts_longer_is_raised_with_the_ticket(self, client: Client, clock: Clock) -> None:
        answers = (parked(), *OPENED, Later(3, APPROVED), too_fast(58))
        played = Played(run(client, wait=60), *answers, clock=clock)
        error: Any = played.error
        assert isinstance(error, TooFast)
        assert (error.ticket, error.retry_after, error.retry) == (TICKET, 58, "later")
        assert f"resume('{TICKET}')" in error.hint
        assert played.waited == []

    def test_without_check_the_outcome_has_the_ticket(self, client: Client, clock: Clock) -> None:
        answers = (parked(), *OPENED, APPROVED, too_fast(61))
        played = Played(run(client, wait=60, check=False), *answers, clock=clock)
        assert (played.result.code, played.result.ticket) == ("too_fast", TICKET)

    @pytest.mark.parametrize(
        ("answers", "kind"),
        [
            ([*OPENED, APPROVED, problem(429, "looping", retryAfter=2, retry="later")], Looping),
            ([*OPENED, APPROVED, *[DROPPED] * 4], Unreachable),
            ([*OPENED, APPROVED, problem(401, "not_authenticated", retry="after_fix")], NotAuthenticated),
            ([*OPENED, DROPPED, *[REFUSED] * 4], Unreachable),
        ],
    )
    def test_whatever_else_keeps_it_from_running_has_the_ticket_too(
        self, client: Client, clock: Clock, answers: list[Any], kind: type
    ) -> None:
        error: Any = Played(run(client, wait=60), parked(), *answers, clock=clock).error
        assert isinstance(error, kind)
        assert error.ticket == TICKET

    @pytest.mark.parametrize("answer", [EXPIRED, problem(403, "not_permitted")])
    def test_a_no_has_no_ticket_since_there_is_nothing_to_resume(
        self, client: Client, clock: Clock, answer: Any
    ) -> None:
        error = Played(run(client, wait=60), parked(), *OPENED, decided("denied"), answer, clock=clock).error
        assert isinstance(error, NotApproved | NotPermitted)
        assert not hasattr(error, "ticket")

    def test_a_limit_that_keeps_one_from_listening_is_waited_for_and_not_looked_past(
        self, client: Client, clock: Clock
    ) -> None:
        played = Played(run(client, wait=60), parked(), too_fast(20), *OPENED, APPROVED, RAN, clock=clock)
        assert (played.paths, played.waited) == ([RUN, EVENTS, EVENTS, RUN], [20])
        over = Played(run(client, wait=60), parked(), too_fast(90), clock=clock)
        assert isinstance(over.error, Parked)
        assert over.waited == [60]

    def test_a_resume_that_waits_outlasts_a_limit(self, client: Client, clock: Clock) -> None:
        played = Played(Client.resume.flow(client, TICKET, wait=60), too_fast(40), RAN, clock=clock)
        assert (played.result.done, played.waited) == (True, [40])
        late = Played(Client.resume.flow(client, TICKET, wait=30), too_fast(40), clock=clock)
        assert isinstance(late.error, TooFast)


class TestStreams:
    STARTED = SseEvent("started", b'{"type": "started", "execution": "x1", "command": "shell/ls"}')
    ENDED = SseEvent("outcome", json.dumps({"outcome": DONE}).encode())

    def refused(self, seconds: float, code: str = "too_fast") -> SseEvent:
        said = {"status": "refused", "code": code, "message": "Too fast.", "retry": "later", "retryAfter": seconds}
        return SseEvent("outcome", json.dumps({"outcome": said}).encode())

    def test_a_short_limit_is_waited_for_as_by_a_call(self, client: Client) -> None:
        answers = (EventChannel(), self.refused(3), EventChannel(), HEARTBEAT, self.STARTED, self.ENDED)
        played = Played(Client.stream.flow(client, "shell/ls"), *answers)
        assert played.waited == [3]
        assert isinstance(played.emitted[0], Started)
        assert played.emitted[1].done

    @pytest.mark.parametrize(("seconds", "code", "kind"), [(11, "too_fast", TooFast), (3, "looping", Looping)])
    def test_a_long_limit_and_a_loop_are_told_at_once(
        self, client: Client, seconds: float, code: str, kind: type
    ) -> None:
        played = Played(Client.stream.flow(client, "shell/ls"), EventChannel(), self.refused(seconds, code))
        assert isinstance(played.error, kind)

    def test_it_is_not_waited_for_more_often_than_the_client_may(self, client: Client) -> None:
        answers = [one for _ in range(4) for one in (EventChannel(), self.refused(1))]
        played = Played(Client.stream.flow(client, "shell/ls", check=False), *answers)
        assert (played.emitted[0].code, played.waited) == ("too_fast", [1, 1, 1])
