"""A room whose recipe says `ask`: a program that connects to a host waits until a person answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from room_house import make_room, run, write_recipe
from web_host import Host, answer_names

from doorward.config import settings
from doorward.core.errors import Overloaded
from doorward.core.events import ApprovalRequested
from doorward.core.model import Credential, Outcome, Request
from doorward.gate.executions.notices import ProgressNotice
from doorward.sandbox.proxy_access import ProxyAccess
from waiting import AT_LEISURE, until

pytestmark = pytest.mark.anyio

NAMES = {"files.example.org": "127.0.0.1", "other.example.org": "127.0.0.1", "inner.example.org": "10.1.2.3"}
LOCAL = settings.Settings(upstream=settings.UpstreamSettings(private_addresses=("127.0.0.1",)))


class Unlimited:
    """A program without limits and output."""

    def hide(self, *secrets: str) -> None:
        pass

    def pause(self) -> None:
        pass

    def resume(self) -> None:
        pass


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_names(monkeypatch, NAMES)


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with Host.opened() as found:
        yield found


class Asking:
    """A room that asks, its agent's programs, and the person who answers."""

    def __init__(self, driver: Any, host: Host) -> None:
        self.driver = driver
        self.url = f"http://files.example.org:{host.port}/"
        self.tickets: asyncio.Queue[str] = asyncio.Queue()
        self.progress: list[str] = []
        driver.house.services.events.subscribe(lambda one: self.tickets.put_nowait(one.approval), ApprovalRequested)

    def start(self, script: str, credential: Credential | None = None, session: str = "s1") -> asyncio.Task[Outcome]:
        request = Request(
            command="bash",
            credential=credential or Credential(owner=True, speak_as="helper"),
            door="test",
            room="web",
            params={"command": script},
            session=session,
        )
        return asyncio.create_task(self.driver.house.gate.handle(request, self._note))

    def _note(self, notice: Any) -> None:
        if isinstance(notice, ProgressNotice):
            self.progress.append(notice.message)

    async def ticket(self) -> str:
        return await asyncio.wait_for(self.tickets.get(), 60)

    async def show(self, ticket: str) -> dict[str, Any]:
        return (await self.driver.owner("approval/show", id=ticket)).result

    async def approve(self, ticket: str, **how: Any) -> None:
        await self.driver.owner("approval/approve", id=ticket, **how)


@pytest.fixture
async def asking(opened: Any, host: Host) -> AsyncIterator[Asking]:
    async with opened(changes=LOCAL) as driver:
        await make_room(driver, "web", "ask")
        yield Asking(driver, host)


async def test_an_approved_program_reaches_the_host_until_it_ends_and_the_next_one_asks_again(
    asking: Asking, host: Host
) -> None:
    twice = asking.start(f"curl -sS {asking.url} & curl -sS {asking.url}; wait; curl -sS {asking.url}")
    ticket = await asking.ticket()
    shown = await asking.show(ticket)
    assert shown["command"] == "network/connect"
    assert shown["params"]["host"] == "files.example.org"
    assert re.fullmatch(rf"bash: curl .* wants to reach files\.example\.org:{host.port}\.", shown["difference"])
    assert f"waits for approval to reach files.example.org:{host.port}" in asking.progress[-1]
    assert host.requests == []
    await asking.approve(ticket)
    done = await asyncio.wait_for(twice, 60)
    assert (done.status, done.result["stdout"]) == ("done", "from the host\n" * 3), done
    assert asking.tickets.empty()
    ledger = [one for one in await asking.driver.ledger() if one["command"] == "network/connect"]
    assert [one["status"] for one in ledger] == ["parked", "started", "done"]
    assert "curl" in ledger[0]["params"]
    again = asking.start(f"curl -sS {asking.url}")
    assert await asking.ticket() != ticket
    again.cancel()
    await asyncio.wait([again])


async def test_an_answer_for_the_session_or_always_covers_later_programs(asking: Asking) -> None:
    get = f"curl -sS {asking.url}"
    first = asking.start(get)
    await asking.approve(await asking.ticket(), scope="session")
    assert (await first).result["stdout"] == "from the host\n"
    assert (await asking.start(f"{get}; true")).result["stdout"] == "from the host\n"
    other_session = asking.start(get, session="s2")
    ticket = await asking.ticket()
    rule = (await asking.driver.owner("approval/rules", id=ticket)).result["items"][0]["text"]
    assert rule.startswith('network/connect where host is "files.example.org" and port is')
    await asking.approve(ticket, scope="always")
    assert (await other_session).result["stdout"] == "from the host\n"
    somebody = Credential(owner=True, speak_as="another")
    assert (await asking.start(f"{get}; true", somebody, "s3")).result["stdout"] == "from the host\n"
    assert asking.tickets.empty()
    elsewhere = asking.start(get.replace("files.", "other."))
    assert (await asking.show(await asking.ticket()))["params"]["host"] == "other.example.org"
    elsewhere.cancel()
    await asyncio.wait([elsewhere])


async def test_a_denial_reaches_the_program_with_its_reason_and_holds_until_it_ends(asking: Asking, host: Host) -> None:
    get = f"curl -sS {asking.url}"
    running = asking.start(f"{get}; {get}; exit 7")
    await asking.driver.owner("approval/deny", id=await asking.ticket(), reason="Use the vendored copy.")
    failed = await running
    refused = f"files.example.org:{host.port}: A person denied it: Use the vendored copy."
    assert failed.result["stdout"] == f"Doorward refused {refused}\n" * 2
    assert failed.result["refusedHosts"] == [refused]
    assert f"refused host: {refused}" in failed.text
    assert (asking.tickets.empty(), host.requests) == (True, [])


async def test_a_request_that_nobody_answers_in_time_says_so(opened: Any, host: Host) -> None:
    async with opened(changes=LOCAL) as driver:
        terms = {"network/connect": {"timeoutSeconds": 0.05}}
        await make_room(driver, "web", "ask", requireApproval=terms)
        asking = Asking(driver, host)
        done = await asking.start(f"curl -sS {asking.url}")
        assert "Nobody answered in time. Run the program again to ask again." in done.result["stdout"]


@pytest.mark.parametrize("end", ["program", "caller"])
async def test_a_question_is_withdrawn_when_its_program_ends(asking: Asking, end: str) -> None:
    made = (await asking.driver.owner("token/create", name="agent", kind="ai", rooms=["web"], access="full")).result
    script = f"curl -sS {asking.url} & until test -e {{0}}; do sleep 0.02; done"
    running = asking.start(script.format("answered"), Credential(token=made["token"]))
    ticket = await asking.ticket()
    if end == "program":
        await asking.driver.owner("execution/cancel", execution=(await _running_script(asking.driver)))
    else:
        await asking.driver.owner("token/revoke", id=made["id"])
    ended = await running
    assert (ended.status, ended.code) == ("failed", "cancelled"), ended
    assert (await asking.show(ticket))["state"] == "expired"
    last = [one for one in await asking.driver.ledger() if one["approval"] == ticket][-1]
    assert (last["status"], last["note"]) == ("expired", "The program ended before anybody decided.")
    late = await asking.driver.ask("approval/approve", by="", room="", params={"id": ticket})
    assert late.code == "conflict"


async def _running_script(driver: Any) -> str:
    found = (await driver.owner("execution/list")).result["items"]
    return str(next(one["execution"] for one in found if one["command"] == "bash"))


async def test_each_program_is_known_by_its_own_credentials(asking: Asking, host: Host) -> None:
    """Two programs of one room share the proxy; a request without the credentials of either asks for nobody."""
    allowed = asking.start(f"curl -sS {asking.url}; true one")
    first = await asking.ticket()
    denied = asking.start(f"curl -sS {asking.url}; true two")
    second = await asking.ticket()
    assert [(await asking.show(one))["params"]["program"][-3:] for one in (first, second)] == ["one", "two"]
    await asking.driver.owner("approval/deny", id=second)
    assert (await denied).result["stdout"].endswith(": A person denied it.\n")
    assert not allowed.done()
    await asking.approve(first)
    assert (await allowed).result["stdout"] == "from the host\n"
    shown = await asking.start('env; printf %s "$https_proxy" >&2')
    printed = shown.result["stdout"] + shown.result["stderr"]
    assert len(re.findall(r"http://[0-9a-f]{8}:\[redacted\]@127\.0\.0\.1:", printed)) >= 9, printed
    assert not re.search(r"[0-9a-f]{8}:[\w-]{32}", printed)
    # ${http_proxy%@*} has the user and the password; the user alone is no proof.
    forged = "u=${http_proxy#http://}; u=${u%%:*}; p=${http_proxy#*@}; curl -sS -w '%{http_code}' "
    for proxy in ('"http://$p"', '"http://$u:guess@$p"', '"http://12345678:guess@$p"'):
        done = await asking.start(f"{forged} -x {proxy} {asking.url}")
        assert "the request does not say which program it comes from. Use the proxy with" in done.result["stdout"]
        assert done.result["stdout"].endswith("407")
    assert (asking.tickets.empty(), len(host.requests)) == (True, 1)
    later = asking.start(f"curl -sS --proxy-anyauth {asking.url}")  # like git, it sends them when it is asked to
    await asking.approve(await asking.ticket())
    done = await later
    assert (done.result["stdout"], "refusedHosts" in done.result) == ("from the host\n", False)


async def test_the_time_in_which_a_person_is_asked_does_not_count(opened: Any, host: Host) -> None:
    limits = settings.SandboxSettings(wall_seconds=4.0)
    async with opened(changes=settings.Settings(upstream=LOCAL.upstream, sandbox=limits)) as driver:
        await make_room(driver, "web", "ask", timeoutSeconds=4.5)
        asking = Asking(driver, host)
        running = asking.start(f"curl -sS {asking.url}")
        ticket = await asking.ticket()
        await asyncio.sleep(5)
        await asking.approve(ticket)
        assert (await running).result["stdout"] == "from the host\n"


async def test_a_started_process_asks_as_its_caller_who_must_still_have_access(asking: Asking, host: Host) -> None:
    await write_recipe(asking.driver, "web", "ask", changes="draft")
    made = (await asking.driver.owner("token/create", name="agent", kind="ai", rooms=["web"], access="full")).result
    told = "until (exec 3<>/dev/tcp/127.0.0.1/9999) 2>/dev/null; do sleep 0.05; done"
    script = f"curl -sS {asking.url}; {told}; curl -sS {asking.url.replace('files', 'other')}; sleep 1000"
    started = await asking.driver.ask("process/start", token=made["token"], room="web", params={"command": script})
    assert started.status == "done", started
    ticket = await asking.ticket()
    shown = await asking.show(ticket)
    assert (shown["caller"], shown["params"]["program"][:20]) == ("agent", "process/start: curl ")
    await asking.approve(ticket)
    await until(lambda: host.requests)

    async def read_log() -> str:
        return str((await run(asking.driver, "web", "process/logs", id=started.result["id"])).result["text"])

    assert f"[doorward: waits for approval to reach files.example.org:{host.port}]" in await read_log()
    await asking.driver.owner("token/revoke", id=made["id"])
    tell = "import socket; socket.create_server(('127.0.0.1', 9999)).accept()"
    assert (await run(asking.driver, "web", "bash", command=f'python3 -c "{tell}"')).status == "done"
    refused = f"Doorward refused other.example.org:{host.port}: This token is not valid"
    await until(lambda: _contains(read_log, refused), AT_LEISURE)
    assert (asking.tickets.empty(), len(host.requests)) == (True, 1)


async def _contains(read: Callable[[], Awaitable[str]], text: str) -> bool:
    return text in await read()


async def test_a_persons_own_program_is_recorded_and_not_asked_about(asking: Asking) -> None:
    done = await run(asking.driver, "web", "bash", command=f"curl -sS {asking.url}")
    assert done.result["stdout"] == "from the host\n"
    assert asking.tickets.empty()
    assert [one["status"] for one in await asking.driver.ledger() if one["command"] == "network/connect"] == [
        "started",
        "done",
    ]


async def test_an_answer_does_not_open_private_addresses(asking: Asking, host: Host) -> None:
    named = asking.start("curl -sS http://inner.example.org/")
    await asking.approve(await asking.ticket())
    assert "resolves to the address 10.1.2.3, which is not on the public" in (await named).result["stdout"]
    # Nobody is asked about an address that no answer opens.
    literal = await asking.start("curl -sS http://10.1.2.3/")
    assert "'10.1.2.3' is the address 10.1.2.3" in literal.result["stdout"]
    assert asking.tickets.empty()


async def test_listed_hosts_are_reached_without_asking_about_them(asking: Asking, host: Host) -> None:
    await write_recipe(asking.driver, "web", {"hosts": [f"files.example.org:{host.port}"], "others": "ask"})
    assert (await asking.start(f"curl -sS {asking.url}")).result["stdout"] == "from the host\n"
    other = asking.start(f"curl -sS {asking.url.replace('files', 'other')}")
    await asking.approve(await asking.ticket())
    assert (await other).result["stdout"] == "from the host\n"


async def test_one_program_asks_about_few_hosts() -> None:
    waiting = asyncio.Event()

    async def ask(host: str, port: int) -> None:
        await waiting.wait()

    access = ProxyAccess(ask, Unlimited())
    asked = [asyncio.create_task(access.ask(f"h{number}", 443)) for number in range(8)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded, match="8 questions of this program wait"):
        await access.ask("another", 443)
    waiting.set()
    await asyncio.gather(*asked)
    for number in range(40):
        await access.ask(f"h{number}", 443)
    with pytest.raises(Overloaded, match="asked about 40 hosts already"):
        await access.ask("another", 443)
