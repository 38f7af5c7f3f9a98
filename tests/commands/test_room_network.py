"""The network of a room: its programs share a loopback, and reach listed hosts through a proxy and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from room_house import make_room, run, say, write_recipe
from web_host import Host, answer_names

from doorward.config import settings
from doorward.core.host_rules import find_rule, parse_rule
from doorward.core.model import Credential, Request
from doorward.doors.line.tokenless_access import TokenlessAccess
from doorward.gate.executions.notices import OutputNotice
from doorward.gate.recipes.recipe import BadRecipe, parse_recipe
from waiting import until

pytestmark = pytest.mark.anyio

NAMES = {"files.example.org": "127.0.0.1", "deep.files.example.org": "127.0.0.1", "inner.example.org": "10.1.2.3"}
LOCAL = settings.Settings(upstream=settings.UpstreamSettings(private_addresses=("127.0.0.1",)))


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with Host.opened() as found:
        yield found


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_names(monkeypatch, NAMES)


async def test_a_listed_host_is_reached_and_others_are_refused_with_the_rule(opened: Any, host: Host) -> None:
    async with opened(changes=LOCAL) as driver:
        await make_room(driver, "web", [f"files.example.org:{host.port}", f"*.files.example.org:{host.port}"])
        url = f"http://files.example.org:{host.port}/a?b=c"
        assert await say(driver, "web", f"curl -sS {url}") == "from the host\n"
        assert host.requests[-1].startswith(f"GET /a?b=c HTTP/1.1\r\nHost: files.example.org:{host.port}\r\n")
        assert await say(driver, "web", f"curl -sS --proxytunnel {url}") == "from the host\n"
        assert await say(driver, "web", f"curl -sS http://deep.files.example.org:{host.port}/") == "from the host\n"
        before = len(host.requests)
        other_port = await say(driver, "web", "curl -sS http://files.example.org/")
        assert "Doorward refused files.example.org:80: the recipe of this room (strategy.sandbox.network)" in other_port
        assert f"lists files.example.org:{host.port}, *.files.example.org:{host.port}." in other_port
        assert 'A person can add the host there, or change it to "ask".' in other_port
        get = f"curl -sS --proxytunnel http://inner.example.org:{host.port}/"
        outcome = await run(driver, "web", "bash", command=get)
        assert outcome.code == "command_failed"
        (refused,) = outcome.result["refusedHosts"]
        assert refused.startswith(f"inner.example.org:{host.port}: the recipe of this room")
        assert len(host.requests) == before


async def test_a_listed_name_that_leads_to_a_private_address_is_refused(opened: Any, host: Host) -> None:
    async with opened() as driver:  # no private network is allowed by the settings
        hosts = ["inner.example.org", f"files.example.org:{host.port}", f"127.0.0.1:{host.port}"]
        await make_room(driver, "web", hosts)
        refused = await say(driver, "web", "curl -sS http://inner.example.org/")
        assert "'inner.example.org' resolves to the address 10.1.2.3, which is not on the public Internet" in refused
        refused = await say(driver, "web", f"curl -sS http://files.example.org:{host.port}/")
        assert "resolves to the address 127.0.0.1" in refused
        assert host.requests == []
        # An address that the recipe itself names is meant.
        assert await say(driver, "web", f"curl -sS --noproxy '' http://127.0.0.1:{host.port}/") == "from the host\n"
        access = TokenlessAccess(driver.house.services)
        assert not access.is_allowed
        assert "a program of a room reached a port of this machine" in access.warning


@contextlib.contextmanager
def listeners() -> Iterator[dict[str, socket.socket]]:
    """Sockets outside, on each kind of address by which a program might leave."""
    with contextlib.ExitStack() as stack:
        made = {
            "tcp": socket.create_server(("127.0.0.1", 0)),
            "tcp6": socket.create_server(("::1", 0), family=socket.AF_INET6),
            "udp": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            "unix": socket.socket(socket.AF_UNIX),
        }
        for one in made.values():
            stack.enter_context(one)
            one.setblocking(False)
        made["udp"].bind(("127.0.0.1", 0))
        made["unix"].bind(f"\0room-network-{made['tcp'].getsockname()[1]}")
        made["unix"].listen()
        yield made


_ATTEMPTS = """
import json, socket, sys
for kind, where in json.loads(sys.argv[1]):
    family = {"tcp": socket.AF_INET, "tcp6": socket.AF_INET6, "udp": socket.AF_INET, "unix": socket.AF_UNIX}[kind]
    with socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM) as sock:
        sock.settimeout(60)
        try:
            sock.connect(where if isinstance(where, str) else tuple(where))
            sock.send(b"out")
            print(kind, where, "sent")
        except OSError as error:
            print(kind, type(error).__name__)
try:
    print(socket.getaddrinfo("files.example.org", 80))
except OSError as error:
    print("names", type(error).__name__)
print([line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line])
"""


async def test_there_is_no_way_around_the_proxy(opened: Any, host: Host) -> None:
    async with opened(changes=LOCAL) as driver:
        await make_room(driver, "web", [f"files.example.org:{host.port}"])
        assert await say(driver, "web", f"curl -sS http://files.example.org:{host.port}/") == "from the host\n"
        with listeners() as outside:
            where = [
                ["tcp", outside["tcp"].getsockname()],
                ["tcp6", outside["tcp6"].getsockname()[:2]],
                ["tcp", ["127.0.0.1", host.port]],
                ["tcp", ["198.51.100.1", 443]],
                ["udp", ["198.51.100.1", 53]],
                ["unix", outside["unix"].getsockname().decode()],
            ]
            (driver.house.home.path / "workspace").mkdir(exist_ok=True)
            (driver.house.home.path / "workspace" / "attempts.py").write_text(_ATTEMPTS)
            said = await say(driver, "web", f"python3 attempts.py '{json.dumps(where)}'")
            assert "sent" not in said, said
            assert "names gaierror" in said
            assert "['lo']" in said
            for one in outside.values():
                with pytest.raises(BlockingIOError):
                    one.recv(10) if one.type == socket.SOCK_DGRAM else one.accept()


async def test_programs_of_one_room_reach_each_other_and_no_others_do(driver: Any) -> None:
    await make_room(driver, "one")
    await make_room(driver, "two")
    serve = "printf yes > answer; timeout 100 python3 -u -m http.server 8080 --bind 127.0.0.1 2>&1"
    ready = asyncio.Event()

    def heard(notice: Any) -> None:
        if isinstance(notice, OutputNotice):
            ready.set()

    request = Request(
        command="bash", credential=Credential(owner=True), door="test", room="one", params={"command": serve}
    )
    serving = asyncio.create_task(driver.house.gate.handle(request, heard))
    await asyncio.wait_for(ready.wait(), 60)
    get = "curl -sS -m 20 http://localhost:8080/answer"
    assert await say(driver, "one", get) == "yes"
    assert await say(driver, "one", get, live=True) == "yes"
    for room in ("two", ""):
        assert "Couldn't connect" in await say(driver, room, get)
    serving.cancel()
    await asyncio.wait([serving])


async def test_an_edited_list_applies_to_programs_that_run(opened: Any, host: Host) -> None:
    async with opened(changes=LOCAL) as driver:
        await make_room(driver, "web", [f"files.example.org:{host.port}"])
        get = f"curl -sS http://files.example.org:{host.port}/"
        waits = f"{get}; touch first; until test -e edited; do sleep 0.02; done; {get}"
        running = asyncio.create_task(say(driver, "web", waits, live=True))
        workspace = driver.house.home.path / "workspace"
        await until(lambda: running.done() or (workspace / "first").exists())
        await write_recipe(driver, "web", ["elsewhere.example.org"])
        (workspace / "edited").touch()
        first, second = (await running).splitlines()
        assert first == "from the host"
        assert second.startswith(f"Doorward refused files.example.org:{host.port}")


async def test_nothing_reaches_the_network_before_it_is_approved(opened: Any, host: Host) -> None:
    async with opened(changes=LOCAL) as driver:
        await make_room(driver, "web", [f"files.example.org:{host.port}"], requireApproval={"bash": True})
        script = f"curl -sS http://files.example.org:{host.port}/ > got"
        waiting = await run(driver, "web", "bash", by="helper", command=script)
        assert waiting.status == "parked", waiting
        assert host.requests == []
        await driver.owner("approval/approve", id=waiting.ticket)
        done = await driver.ask("", room="web", ticket=waiting.ticket)
        assert done.status == "done", done
        assert len(host.requests) == 1


async def test_the_whole_network_needs_the_setting(driver: Any) -> None:
    await make_room(driver, "open", "all")
    done = await run(driver, "open", "bash", command="true")
    assert "the setting sandbox.network is off" in done.result["network"]


@pytest.mark.parametrize("changes", ["direct", "draft"])
async def test_the_whole_network_is_the_machines_also_in_a_draft(opened: Any, host: Host, changes: str) -> None:
    async with opened(changes=settings.Settings(sandbox=settings.SandboxSettings(network=True))) as driver:
        await write_recipe(driver, "open", "all", changes=changes)
        await driver.owner("room/create", name="open", recipe="open")
        get = f"curl -sS http://127.0.0.1:{host.port}/"
        done = await run(driver, "open", "bash", by="helper", command=get)
        assert (done.status, done.result and done.result["stdout"]) == ("done", "from the host\n"), done


BAD = {
    "https://pypi.org": "not a host",
    "pypi.org/simple": "not a host",
    "*": "not a host",
    "*.org": "would be every host of org",
    "127.1": "not a host",
    "localhost:8000": "localhost is the room's own loopback",
    "pypi.org:0": "the port must be a number from 1 to 65535",
    "pypi.org:https": "the port must be a number",
    "bücher.example": "not a host",
    "*.10.0.0.1": "an address has no names below it",
}


@pytest.mark.parametrize(("given", "why"), BAD.items())
def test_a_recipe_with_a_host_that_is_none_is_refused_with_the_reason(given: str, why: str) -> None:
    recipe = {"recipeId": "r", "displayName": "R", "strategy": {"sandbox": {"network": ["pypi.org", given]}}}
    with pytest.raises(BadRecipe) as refused:
        parse_recipe(json.dumps(recipe).encode(), "r.json")
    assert why in str(refused.value)
    assert "strategy.sandbox.network[1]" in str(refused.value)
    recipe["strategy"]["sandbox"]["network"] = {"hosts": [given], "others": "ask"}  # type: ignore[index]
    with pytest.raises(BadRecipe, match=r"strategy\.sandbox\.network\.hosts\[0\]"):
        parse_recipe(json.dumps(recipe).encode(), "r.json")


def test_a_rule_names_hosts_in_every_spelling_and_nothing_more() -> None:
    rules = [parse_rule(text) for text in ("PyPI.org", "*.npmjs.org", "[::1]:8080", "192.0.2.7:81")]
    named = [("pypi.org", 443), ("PYPI.ORG.", 80), ("a.b.npmjs.org", 443), ("::1", 8080), ("192.0.2.7", 81)]
    others = [("pypi.org", 8443), ("xpypi.org", 443), ("npmjs.org", 443), ("evilnpmjs.org", 443), ("192.0.2.7", 80)]
    assert all(find_rule(rules, *one) for one in named)
    assert not any(find_rule(rules, *one) for one in others)
