"""What a client asks for, step by step, without a server: when it asks again, when it does not, and what it shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from played import DONE, DROPPED, REFUSED, SLOW, Played, problem, reply, run

from doorward.client import Client, Parked
from doorward.client.effects import MAX_EVENT_BYTES, EventChannel, NoResponse, Reply
from doorward.core.errors import (
    BadParams,
    Conflict,
    LedgerUnavailable,
    Looping,
    NotAuthenticated,
    NotFound,
    NotPermitted,
    TooFast,
    Unreachable,
)
from doorward.core.wire.sse import HEARTBEAT, EventTooLarge, SseEvent, SseParser
from json_texts import FORBIDDEN


@pytest.fixture(scope="module")
def client() -> Client:
    return Client("http://127.0.0.1:9", token="its-token", room="general")


def test_a_call_carries_the_token_the_room_and_a_key(client: Client) -> None:
    played = Played(run(client, path="."), reply(200, DONE))
    (send,) = played.sent
    assert (send.method, send.path) == ("POST", "/api/run")
    assert send.headers["Authorization"] == "Bearer its-token"
    assert len(send.headers["Idempotency-Key"]) >= 20
    assert json.loads(send.body or b"") == {
        "command": "shell/ls",
        "params": {"path": "."},
        "room": "general",
        "cache": False,
    }
    assert played.result.result == {"a": 1}


@pytest.mark.parametrize("answer", [REFUSED, DROPPED])
def test_a_call_that_got_no_answer_is_made_again_under_the_same_key(client: Client, answer: NoResponse) -> None:
    played = Played(run(client), answer, answer, reply(200, DONE))
    assert played.result.done
    assert len(set(played.keys)) == 1
    assert played.waited == [0.2, 0.4]


@pytest.mark.parametrize("code", ["too_fast", "overloaded", "ledger_unavailable"])
def test_a_call_that_a_limit_refused_is_made_again_when_the_server_says_so(client: Client, code: str) -> None:
    status = 429 if code == "too_fast" else 503
    played = Played(run(client), problem(status, code, retryAfter=2), reply(200, DONE))
    assert (played.result.done, played.waited) == (True, [2.0])
    assert len(set(played.keys)) == 2, "the refusal may be remembered under the first key"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(429, "too_fast", retryAfter=60), TooFast),
        (problem(429, "looping", retryAfter=2), Looping),
        (problem(503, "ledger_unavailable"), LedgerUnavailable),
        (problem(403, "not_permitted", rule="recipe x", hint="Ask."), NotPermitted),
        (problem(409, "conflict"), Conflict),
        (problem(404, "not_found"), NotFound),
        (problem(400, "bad_params"), BadParams),
        (problem(401, "not_authenticated"), NotAuthenticated),
        (SLOW, Unreachable),
    ],
    ids=str,
)
def test_what_asking_again_would_not_help_is_raised_at_once(client: Client, answer: Any, kind: type) -> None:
    played = Played(run(client), answer)
    assert type(played.error) is kind
    assert played.waited == []


def test_no_call_is_made_more_often_than_the_client_may(client: Client) -> None:
    played = Played(run(client), REFUSED, REFUSED, REFUSED, REFUSED)
    assert isinstance(played.error, Unreachable)
    assert "http://127.0.0.1:9" in played.error.message
    assert "doorward up" in played.error.hint
    patient = Client("http://127.0.0.1:9", token="t", retries=0)
    assert isinstance(Played(run(patient), REFUSED).error, Unreachable)


def test_without_check_a_refusal_is_an_outcome(client: Client) -> None:
    played = Played(run(client, check=False), problem(403, "not_permitted", rule="recipe x", call="c1"))
    assert (played.result.status, played.result.code, played.result.rule) == ("refused", "not_permitted", "recipe x")
    assert played.result.message == "It is not_permitted."
    assert played.result.text == "Command failed: It is not_permitted."


def test_a_request_that_never_was_a_call_is_raised_even_without_check(client: Client) -> None:
    answer = reply(413, {"title": "t", "status": 413, "detail": "Too large.", "code": "too_large"})
    assert isinstance(Played(run(client, check=False), answer).error, BadParams)


def test_a_parked_call_is_raised_with_its_ticket(client: Client) -> None:
    parked = {**DONE, "status": "parked", "code": "approval_needed", "ticket": "1m7gxw9dfxgnxm43", "message": "Waits."}
    played = Played(run(client), reply(202, parked))
    assert isinstance(played.error, Parked)
    assert played.error.ticket == "1m7gxw9dfxgnxm43"
    assert Played(run(client, check=False), reply(202, parked)).result.parked


def test_errors_keep_what_the_server_said(client: Client) -> None:
    played = Played(run(client), problem(429, "too_fast", retryAfter=60, rule="per minute", hint="Wait."))
    error = played.error
    assert error is not None
    assert (error.message, error.hint, error.rule, error.retry_after) == ("It is too_fast.", "Wait.", "per minute", 60)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (302, b"", "redirects to http://elsewhere.example/"),
        (502, b"<html>Bad gateway</html>", "Bad gateway"),
        (200, b"<html>A login page</html>", "not from Doorward"),
        (200, b"[]", "not in Doorward's format"),
        *((200, text, "not") for text in FORBIDDEN),
    ],
)
def test_an_answer_that_is_not_doorwards_is_said_to_be_none(
    client: Client, status: int, body: bytes, said: str
) -> None:
    headers = {"location": "http://elsewhere.example/"} if status == 302 else {}
    played = Played(run(client), Reply(status, {"content-type": "text/html", **headers}, body))
    assert isinstance(played.error, Unreachable)
    assert said in played.error.message
    assert len(played.sent) == 1, "a redirect is not followed"


def test_a_client_without_a_token_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOORWARD_TOKEN", raising=False)
    played = Played(run(Client("http://127.0.0.1:9")))
    assert isinstance(played.error, NotAuthenticated)
    assert "doorward token create" in played.error.hint


GIVEN = {"accessToken": "first", "refreshToken": "r1", "expiresIn": 900}
RENEWED = {"accessToken": "second", "refreshToken": "r2", "expiresIn": 900}


class TestLogin:
    @pytest.fixture
    def person(self) -> Client:
        made = Client("http://127.0.0.1:9", token="")
        Played(Client.login.flow(made, "acme", "ada", "a long pass phrase"), reply(200, GIVEN))
        return made

    def test_an_access_token_that_has_ended_is_renewed_once_and_the_call_made_again(self, person: Client) -> None:
        played = Played(run(person), problem(401, "not_authenticated"), reply(200, RENEWED), reply(200, DONE))
        assert [send.path for send in played.sent] == ["/api/run", "/api/auth/refresh", "/api/run"]
        assert json.loads(played.sent[1].body or b"") == {"refreshToken": "r1"}
        assert "Authorization" not in played.sent[1].headers
        assert played.sent[2].headers["Authorization"] == "Bearer second"
        again = Played(run(person), reply(200, DONE))
        assert again.sent[0].headers["Authorization"] == "Bearer second"

    def test_a_login_that_cannot_be_renewed_has_ended(self, person: Client) -> None:
        played = Played(run(person), problem(401, "not_authenticated"), problem(401, "not_authenticated"))
        assert isinstance(played.error, NotAuthenticated)
        assert "login(" in played.error.hint
        assert isinstance(Played(run(person)).error, NotAuthenticated), "it is not tried with an old token"

    def test_a_login_that_has_ended_does_not_turn_into_the_token_from_before(self) -> None:
        made = Client("http://127.0.0.1:9", token="an-agents")
        Played(Client.login.flow(made, "acme", "ada", "a long pass phrase"), reply(200, GIVEN))
        Played(run(made), problem(401, "not_authenticated"), problem(401, "not_authenticated"))
        assert isinstance(Played(run(made)).error, NotAuthenticated)
        assert "logged out" in repr(made)
        Played(Client.logout.flow(made))
        assert Played(run(made), reply(200, DONE)).sent[0].headers["Authorization"] == "Bearer an-agents"

    def test_what_is_printed_of_its_parts_holds_no_token(self, person: Client) -> None:
        played = Played(run(person), reply(200, DONE))
        assert "first" not in repr(played.sent) + repr(vars(person)) + repr(person)

    def test_an_answer_that_is_no_login_is_said_to_be_none(self) -> None:
        made = Client("http://127.0.0.1:9", token="")
        played = Played(Client.login.flow(made, "acme", "ada", "a long pass phrase"), reply(200, {"ok": True}))
        assert isinstance(played.error, Unreachable)

    def test_a_refresh_token_is_never_shown_twice_when_the_answer_was_lost(self, person: Client) -> None:
        played = Played(run(person), problem(401, "not_authenticated"), DROPPED)
        assert isinstance(played.error, Unreachable)

    def test_an_access_token_is_renewed_before_its_end(self) -> None:
        made = Client("http://127.0.0.1:9", token="")
        short = {**GIVEN, "expiresIn": 0}
        Played(Client.login.flow(made, "acme", "ada", "a long pass phrase"), reply(200, short))
        played = Played(run(made), reply(200, RENEWED), reply(200, DONE))
        assert [send.path for send in played.sent] == ["/api/auth/refresh", "/api/run"]

    def test_a_password_is_in_the_body_alone_and_is_not_kept(self) -> None:
        made = Client("http://127.0.0.1:9", token="")
        played = Played(Client.login.flow(made, "acme", "ada", "a long pass phrase"), reply(200, GIVEN))
        (send,) = played.sent
        assert "pass phrase" not in f"{send.path} {dict(send.query)} {dict(send.headers)}"
        assert "pass phrase" not in repr(vars(made))

    def test_logging_out_ends_it_on_the_server_too(self, person: Client) -> None:
        played = Played(Client.logout.flow(person), reply(200, {}))
        assert json.loads(played.sent[0].body or b"") == {"refreshToken": "r1"}
        assert isinstance(Played(run(person)).error, NotAuthenticated)


class TestEvents:
    READY = SseEvent("ready", b'{"next": "e-1", "missed": false}', "e-1")
    SAID = SseEvent("chat:message-received", b'{"id": "e-2", "at": "now", "data": {"room": "general"}}', "e-2")

    def test_a_dropped_connection_is_opened_again_where_it_was(self, client: Client) -> None:
        played = Played(
            Client.events.flow(client, only="chat"),
            *(EventChannel(), self.READY, HEARTBEAT, self.SAID, DROPPED),
            *(EventChannel(), self.READY, None),
            *(EventChannel(), SseEvent("end", b"{}"), problem(401, "not_authenticated")),
        )
        assert [one.name for one in played.emitted] == ["ready", "chat:message-received", "ready"]
        assert played.emitted[1].data == {"room": "general"}
        assert dict(played.sent[0].query) == {"room": "general", "only": "chat"}
        resumed = [send.headers.get("Last-Event-ID") for send in played.sent]
        assert resumed == [None, "e-2", "e-1", "e-1"]
        assert isinstance(played.error, NotAuthenticated), "whoever may not listen any more is told"

    def test_a_server_that_is_started_anew_is_waited_for(self, client: Client) -> None:
        refusals = [REFUSED] * 4
        played = Played(
            Client.events.flow(client),
            *(
                EventChannel(),
                self.READY,
                DROPPED,
                *refusals,
                *refusals,
                EventChannel(),
                self.READY,
                DROPPED,
                *refusals * 12,
            ),
        )
        assert [one.name for one in played.emitted] == ["ready", "ready"]
        assert 30 < sum(played.waited) < 90
        assert isinstance(played.error, Unreachable)

    def test_a_stream_that_breaks_says_why(self, client: Client) -> None:
        broken = SseEvent("error", b'{"type": "error", "code": "too_fast", "detail": "Too fast.", "hint": ""}')
        assert isinstance(Played(Client.events.flow(client), EventChannel(), broken).error, TooFast)
        lost = Played(Client.stream.flow(client, "shell/ls"), EventChannel(), None)
        assert isinstance(lost.error, Unreachable)
        assert "doorward audit tail" in lost.error.hint

    def test_a_streamed_call_is_made_once_and_without_a_key(self, client: Client) -> None:
        played = Played(Client.stream.flow(client, "shell/ls"), DROPPED)
        assert isinstance(played.error, Unreachable)
        assert "Idempotency-Key" not in played.sent[0].headers


@pytest.mark.parametrize(
    "pieces",
    [
        [b"event: a\nid: 1\ndata: {}\n\n: waiting\n\nevent: b\ndata: x\ndata: y\n\n"],
        [b"event: a\r\nid: 1\r\nda", b"ta: {}\r\n\r", b"\n: waiting\r\n\r\nevent: b\r\ndata: x\r\ndata:y\r\n\r\n"],
        [bytes([byte]) for byte in b"event: a\nid: 1\ndata: {}\n\n: waiting\n\nevent: b\ndata: x\ndata: y\n\n"],
    ],
)
def test_events_are_read_in_whatever_pieces_they_come(pieces: list[bytes]) -> None:
    reader = SseParser(MAX_EVENT_BYTES)
    found = [event for piece in pieces for event in reader.feed(piece)]
    assert found == [SseEvent("a", b"{}", "1"), HEARTBEAT, SseEvent("b", b"x\ny", "1")]


def test_an_event_without_an_end_is_not_kept_for_ever() -> None:
    reader = SseParser(MAX_EVENT_BYTES)
    assert list(reader.feed(b"data: " + b"x" * (MAX_EVENT_BYTES - 10))) == []
    with pytest.raises(EventTooLarge):
        list(reader.feed(b"x" * 10))


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: Client.room.flow(client, ""),
        lambda client: Client.execution.flow(client, ".."),
        lambda client: Client.describe.flow(client, "../tokens"),
        lambda client: Client.describe.flow(client, "a//b"),
    ],
)
def test_a_name_that_names_nothing_is_refused(client: Client, ask: Callable[[Client], Any]) -> None:
    assert isinstance(Played(ask(client)).error, BadParams)


def test_a_name_cannot_lead_to_another_resource(client: Client) -> None:
    played = Played(Client.approve.flow(client, "../tokens?x=#"), reply(200, {}))
    assert played.sent[0].path == "/api/approvals/..%2Ftokens%3Fx%3D%23/approve"


def test_a_parameter_given_twice_is_refused(client: Client) -> None:
    assert isinstance(Played(run(client, params={"path": "."}, path="..")).error, BadParams)


def test_what_is_no_json_is_refused_before_anything_is_sent(client: Client) -> None:
    assert isinstance(Played(run(client, path=object())).error, BadParams)
