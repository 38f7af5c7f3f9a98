"""Both kinds of client against a real server."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
import trustme
from cutting import cutter

from doorward.client import AsyncClient, Client, Output, Parked, Started
from doorward.client.effects import Reply
from doorward.client.session import build_request
from doorward.core.errors import (
    BadParams,
    Conflict,
    NotApproved,
    NotAuthenticated,
    NotFound,
    NotPermitted,
    TooFast,
    UnknownCommand,
    Unreachable,
)

Make = Callable[..., Any]


def test_who_one_is(client: Make) -> None:
    assert client().me() == {
        "tenant": "local",
        "id": "helper",
        "kind": "ai",
        "access": "edit",
        "onBehalfOf": "owner",
        "rooms": ["general"],
    }


def test_a_command_runs_and_gives_its_outcome(client: Make, served: Any) -> None:
    done = client(served.free, "free").run("shell/echo", params={"text": ["one", "door"]})
    assert (done.status, done.command, done.result["stdout"]) == ("done", "shell/echo", "one door\n")


def test_what_is_refused_is_raised_as_what_it_is(client: Make) -> None:
    agent = client()
    with pytest.raises(NotPermitted, match="tier system") as refusal:
        agent.run("system/status")
    assert "code-collaboration" in refusal.value.rule
    with pytest.raises(UnknownCommand, match="no/such"):
        agent.run("no/such")
    with pytest.raises(BadParams, match="Unknown parameter 'pth'"):
        agent.run("file/read", pth="a")
    refused = agent.run("system/status", check=False)
    assert (refused.status, refused.code, refused.retry) == ("refused", "not_permitted", "never")


def test_a_token_that_is_none_is_refused(client: Make) -> None:
    with pytest.raises(NotAuthenticated):
        client("no-token").run("shell/ls")


def test_what_failed_shows_what_there_is_to_show(client: Make, served: Any) -> None:
    failed = client(served.free, "free").run("shell/ls", paths=["not-there"], check=False)
    assert (failed.status, failed.code) == ("failed", "command_failed")
    assert "not-there" in failed.result["stderr"]


def test_a_dry_run_and_an_explanation_run_nothing(client: Make) -> None:
    agent = client()
    shown = agent.dry_run("file/write", path="dry.txt", content="x")
    assert shown["effect"]["created"] is True
    assert shown["approval"]["quorum"] == 1
    assert agent.explain("system/status")["decision"] == "refused"
    with pytest.raises(NotFound):
        agent.run("file/read", path="dry.txt")


def test_commands_are_found_listed_in_pages_and_described(client: Make) -> None:
    agent = client()
    assert "file/read" in [found["name"] for found in agent.commands(search="read a file")]
    first = agent.commands(limit=3)
    second = agent.commands(limit=3, cursor=first.next)
    assert len(first) == len(second) == 3
    assert first[-1]["name"] < second[0]["name"]
    assert first.total > 50
    assert agent.describe("file/read")["schema"]["required"] == ["path"]


class TestApprovals:
    def test_what_waits_for_a_person_is_raised_with_its_ticket_and_resumed_with_it(
        self, client: Make, served: Any, flavour: Any
    ) -> None:
        agent, person = client(), client(served.person, "")
        with pytest.raises(Parked) as parked:
            agent.run("file/write", path=f"{flavour.name}.txt", content="Hello.")
        ticket = parked.value.ticket
        assert ticket in [one["id"] for one in person.approvals(pending=True)]
        assert "+Hello." in person.approval(ticket)["difference"]
        with pytest.raises(NotApproved, match="still waiting"):
            agent.resume(ticket)
        assert person.approve(ticket)["state"] == "approved"
        assert agent.resume(ticket).result["created"] is True
        with pytest.raises(Conflict):
            person.deny(ticket)

    def test_an_agent_cannot_approve(self, client: Make) -> None:
        agent = client()
        parked = agent.run("file/write", path="never.txt", content="x", check=False)
        with pytest.raises(NotPermitted):
            agent.approve(parked.ticket)

    @pytest.mark.parametrize("verdict", ["approve", "deny"])
    @pytest.mark.parametrize("room", ["general", "desk"])
    def test_a_call_can_wait_for_what_a_person_decides(
        self, client: Make, served: Any, flavour: Any, room: str, verdict: str
    ) -> None:
        name = f"{flavour.name}-{verdict}-{room}"
        agent = client(client(served.person, "").create_token(name, rooms=[room])["token"], room)
        with Client(served.url, token=served.person) as person, person.events(only="approval:requested") as events:
            assert next(events).name == "ready"
            decider = threading.Thread(target=_decide, args=(person, events, verdict))
            decider.start()
            outcome = agent.run("file/write", path=f"{name}.txt", content="x", wait=30, check=False)
            decider.join()
        if verdict == "approve":
            assert outcome.result["path"] == f"{name}.txt"
        else:
            assert (outcome.code, outcome.status) == ("not_approved", "refused")

    def test_a_wait_ends_with_the_question_still_open(self, client: Make) -> None:
        agent = client()
        with pytest.raises(Parked) as parked:
            agent.run("file/write", path="open.txt", content="x", wait=0.2)
        with pytest.raises(NotApproved, match="still waiting"):
            agent.resume(parked.value.ticket, wait=0.1)

    def test_what_a_limit_keeps_from_running_is_resumed_with_the_ticket_of_the_error(
        self, client: Make, served: Any, flavour: Any
    ) -> None:
        person, name = client(served.person, ""), f"scarce-{flavour.name}"
        token = _room_with(person, name, requireApproval={"file/write": True}, maxCommandsPerMinute=2)
        with Client(served.url, token=served.person) as decider, decider.events(only="approval:requested") as events:
            assert next(events).name == "ready"
            deciding = threading.Thread(target=_decide, args=(decider, events, "approve"))
            deciding.start()
            with pytest.raises(TooFast) as refusal:
                client(token, name).run("file/write", path="scarce.txt", content="x", wait=20)
            deciding.join()
        assert f"resume('{refusal.value.ticket}')" in refusal.value.hint  # type: ignore[attr-defined]
        _room_with(person, name, requireApproval={"file/write": True}, maxCommandsPerMinute=3)
        assert client(token, name).resume(refusal.value.ticket).done  # type: ignore[attr-defined]


def _room_with(person: Any, name: str, **limits: Any) -> str:
    """A room whose recipe has these limits, and a program's token for it."""
    commands = {"enabled": True, "whitelist": ["file/write", "event/list", "shell/pwd"], **limits}
    recipe = {"recipeId": name, "displayName": name, "description": "Limits.", "strategy": {"aiCommands": commands}}
    person.put_recipe(name, recipe)
    if name not in [one["room"] for one in person.rooms()]:
        person.create_room(name, recipe=name)
    return str(person.create_token(name, kind="service", access="edit", rooms=[name])["token"])


def _decide(person: Client, events: Any, verdict: str) -> None:
    """What somebody does who watches: wait for the question, look, decide."""
    for event in events:
        if event.name == "approval:requested":
            getattr(person, verdict)(event.data["approval"])
            return


class TestStreams:
    def test_notices_come_as_it_goes_on_and_the_outcome_last(self, client: Make, served: Any) -> None:
        program = client(served.free, "free")
        *notices, outcome = program.stream("bash", command="echo first; echo second >&2")
        assert isinstance(notices[0], Started)
        said = [(one.stream, one.text) for one in notices if isinstance(one, Output)]
        assert sorted(said) == [("stderr", "second\n"), ("stdout", "first\n")]
        assert outcome.result["exitCode"] == 0
        assert notices[0].execution == outcome.call

    def test_leaving_cancels_what_runs(self, client: Make, served: Any) -> None:
        program, person = client(served.free, "free"), client(served.person, "")
        with person.events(only="execution:ended") as events:
            assert next(events).name == "ready"
            with program.stream("bash", command="echo begun; sleep 30") as stream:
                execution = next(stream).execution
                assert next(one for one in stream if isinstance(one, Output)).text == "begun\n"
            ended = next(one for one in events if _ends(one, execution))
        assert ended.data["state"] == "cancelled"
        assert program.execution(execution)["state"] == "cancelled"

    def test_breaking_out_of_the_loop_cancels_too(self, flavour: Any, client: Make, served: Any) -> None:
        program = client(served.free, "free")
        with client(served.person, "").events(only="execution:ended") as events:
            assert next(events).name == "ready"
            execution = flavour.first(program, "bash", command="sleep 30").execution
            assert next(one for one in events if _ends(one, execution)).data["state"] == "cancelled"

    def test_a_stream_waits_for_a_short_limit_as_a_call_does(self, client: Make, served: Any, flavour: Any) -> None:
        name = f"brisk-{flavour.name}"
        token = _room_with(client(served.person, ""), name, maxActionsPerSecond=2)
        program = client(token, name)
        for _ in range(3):
            *_, outcome = program.stream("shell/pwd")
            assert outcome.done

    def test_a_stream_of_a_client_that_was_closed_ends_with_an_error_of_ours(self, client: Make, served: Any) -> None:
        program = client(served.free, "free")
        stream = program.stream("bash", command="sleep 30")
        next(stream)
        program.close()
        with pytest.raises(Unreachable, match="was closed before the response arrived"):
            list(stream)

    def test_what_is_refused_is_raised_by_a_stream_too(self, client: Make) -> None:
        with pytest.raises(NotPermitted):
            list(client().stream("system/status"))
        (refused,) = client().stream("system/status", check=False)
        assert refused.code == "not_permitted"


def _ends(event: Any, execution: str) -> bool:
    return bool(event.name == "execution:ended" and event.data["execution"] == execution)


def test_events_go_on_after_the_connection_dropped(flavour: Any, client: Make, served: Any) -> None:
    person = client(served.person, "")
    with cutter(served.url) as cut, flavour.make(cut.url, token=served.person) as listener:
        with listener.events(only="chat:message-received") as events:
            assert next(events).name == "ready"
            first = person.say("general", "Before the drop.")["message"]
            assert next(events).data["message"] == first
            cut.now()
            second = person.say("general", "While nobody listened.")["message"]
            again = next(one for one in events if one.name == "ready")
            after = next(one for one in events if one.data["sender"] == "owner")
        assert again.data["missed"] is False
        assert after.data["message"] == second


def test_behind_a_proxy_that_speaks_tls_its_certificate_must_be_trusted(served: Any) -> None:
    authority, theirs, ours = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(theirs)
    authority.configure_trust(ours)
    with cutter(served.url, theirs) as proxy:
        trusting = Client(proxy.url, token=served.agent, transport=httpx2.HTTPTransport(verify=ours))
        with trusting:
            assert trusting.me()["id"] == "helper"
        with Client(proxy.url, token=served.agent, retries=0) as wary, pytest.raises(Unreachable, match="certificate"):
            wary.me()


def test_executions_are_listed_read_in_pages_and_cancelled(client: Make, served: Any) -> None:
    program = client(served.free, "free")
    with program.stream("bash", command="echo begun; sleep 30") as stream:
        execution = next(stream).execution
        assert next(one for one in stream if isinstance(one, Output)).text == "begun\n"
        assert execution in [one["execution"] for one in program.executions(live=True)]
        assert program.output(execution, length=3)["text"] == "beg"
        assert program.cancel(execution)["state"] == "cancelled"
    with pytest.raises(Conflict):
        program.cancel(execution)
    first = program.executions(limit=1)
    assert first.next
    assert program.executions(limit=1, after=first.next)[0]["execution"] != first[0]["execution"]


def test_rooms_members_and_messages(client: Make, served: Any, flavour: Any) -> None:
    person, name = client(served.person, ""), f"lab-{flavour.name}"
    assert person.create_room(name, recipe="research-chat")["recipe"] == "research-chat"
    assert name in [room["room"] for room in person.rooms()]
    assert person.set_recipe(name, "casual-chat")["recipe"] == "casual-chat"
    assert person.add_member(name, "helper")["members"]["helper"] == "member"
    assert "helper" not in person.remove_member(name, "helper")["members"]
    said = person.say(name, "Good morning.")["message"]
    heard = person.messages(name, limit=1)[0]
    assert (heard["id"], heard["sender"], heard["kind"], heard["text"]) == (said, "owner", "human", "Good morning.")
    assert person.archive_room(name)["archived"] is True
    assert person.room(name)["archived"] is True


def test_recipes_are_read_and_put(client: Make, served: Any, flavour: Any) -> None:
    person, id = client(served.person, ""), f"mine-{flavour.name}"
    recipe = person.recipe("casual-chat")["recipe"]
    assert person.put_recipe(id, {**recipe, "recipeId": id})["now"] == "in force"
    assert id in [one["id"] for one in person.recipes()]
    with pytest.raises(BadParams):
        person.put_recipe(id, {"recipeId": id})


def test_tokens_are_made_used_and_revoked(client: Make, served: Any, flavour: Any) -> None:
    person, name = client(served.person, ""), f"short-{flavour.name}"
    made = person.create_token(name, kind="service", rooms=["free"], access="read", days=1)
    program = client(made["token"], "free")
    assert program.me()["access"] == "read"
    assert made["id"] in [one["id"] for one in person.tokens()]
    assert person.revoke_token(made["id"]) == {"revoked": made["id"]}
    with pytest.raises(NotAuthenticated):
        program.me()
    assert "owner" in [user["id"] for user in person.users()]


def test_the_record_is_read_filtered_and_verified(client: Make, served: Any) -> None:
    call = client().run("shell/pwd").call
    person = client(served.person, "")
    (record,) = person.audit(filters={"call": call, "status": "done"})
    assert (record["command"], record["door"], record["caller"]) == ("shell/pwd", "rest", "helper")
    assert person.record(record["id"])["call"] == call
    first = person.audit(limit=2)
    assert person.audit(limit=2, cursor=first.next)[0]["id"] < first[1]["id"]
    assert person.verify()["verified"] is True


def test_a_person_registers_logs_in_and_out(client: Make, flavour: Any, served: Any) -> None:
    tenant, password = f"acme-{flavour.name}", "a long pass phrase"
    invited = client(served.person, "").run("user/invite", tenant=tenant)
    with flavour.make(served.url, token="") as newcomer:
        newcomer.register(tenant, "ada", password, passcode=invited.result["passcode"])
        assert newcomer.me()["tenant"] == tenant
        newcomer.logout()
        with pytest.raises(NotAuthenticated):
            newcomer.me()
        with pytest.raises(NotAuthenticated):
            newcomer.login(tenant, "ada", "a wrong pass phrase")
        newcomer.login(tenant, "ada", password)
        assert newcomer.me()["id"] == "ada"
        assert newcomer.rooms() == []
        for _ in range(2):
            flavour.let_the_access_token_end(newcomer)
            assert flavour.at_once(newcomer.me, 8) == [newcomer.me()] * 8, "who renews at the same time renews once"


def test_a_call_that_is_given_up_is_cancelled(served: Any) -> None:
    async def give_up() -> str:
        async with (
            AsyncClient(served.url, token=served.person) as person,
            AsyncClient(served.url, token=served.free, room="free") as program,
            person.events(only="execution") as events,
        ):
            assert (await anext(events)).name == "ready"
            call = asyncio.create_task(program.run("bash", command="sleep 30"))
            execution = (await anext(events)).data["execution"]
            call.cancel()
            async for event in events:
                if _ends(event, execution):
                    return str(event.data["state"])
        return "never ended"

    assert asyncio.run(give_up()) == "cancelled"


def test_what_is_sent_twice_under_one_key_is_done_once(served: Any) -> None:
    with Client(served.url, token=served.person) as person:
        send = build_request("/api/rooms/general/messages", {"text": "Said once."})
        first, second = person._finish(person._ask(send)), person._finish(person._ask(send))
        assert isinstance(first, Reply)
        assert isinstance(second, Reply)
        assert first.body == second.body
        assert second.headers["idempotency-replayed"] == "true"
        assert [one["text"] for one in person.messages("general")].count("Said once.") == 1
