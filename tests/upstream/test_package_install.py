"""Installed is exactly what a person approved, in a folder that the server cannot change; after any fault nothing is
left."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from package_house import PackageHouse, package_house
from package_registry import PackageRegistry

from doorward.commands.expired_data import delete_expired
from doorward.gate.executions.notices import Notice, ProgressNotice, StartedNotice
from doorward_process import Doorward

CLOCK = {"package": "clock", "registryType": "pypi"}
SECRET = "the-key-of-the-clock"


@pytest.fixture
async def registry() -> AsyncIterator[PackageRegistry]:
    async with PackageRegistry.opened() as registry:
        registry.put_wheel("clock")
        yield registry


@pytest.fixture
async def house(registry: PackageRegistry, tmp_path: Path) -> AsyncIterator[PackageHouse]:
    async with package_house(tmp_path, registry) as house:
        yield house


async def test_a_person_confirms_a_plan_and_the_tools_of_its_server_are_commands(house: PackageHouse) -> None:
    house.registry.list_server("org.example/clock", "Tells the time of the village.", "clock")
    asked = await house.ask("mcp/install", {"server": "org.example/clock"})
    assert (asked.code, asked.result["package"]) == ("not_approved", "clock")
    assert house.is_untouched()

    fractions: list[float | None] = []
    plan = await house.plan(server="org.example/clock")
    assert plan["plan"] == asked.result["plan"]

    def watch(notice: Notice) -> None:
        if isinstance(notice, ProgressNotice):
            fractions.append(notice.fraction)

    given = {"server": "org.example/clock", "plan": plan["plan"]}
    outcome = await house.ask("mcp/install", given, watch=watch)
    assert outcome.status == "done", (outcome.message, outcome.hint)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)
    found = outcome.result
    assert (found["state"], found["tools"], found["hash"]) == ("ready", ["look", "change"], plan["hash"])
    assert house.entries()["clock"]["args"] == [f"{found['folder']}/packages/bin/clock"]

    called = await house.ask("mcp/clock/change", {})
    assert called.result.content[0]["text"] == "Read-only file system", "a server cannot change its own packages"

    await house.done("undo", execution=outcome.call)
    assert house.entries() == {}
    assert house.exists(found["folder"]), "the undo can be undone"


async def test_an_agent_waits_for_a_person_who_sees_all_of_it(house: PackageHouse) -> None:
    await house.room()
    params = {**CLOCK, "env": {"CLOCK_KEY": SECRET}, "args": ["--loud"], "network": True}
    waits = await house.ask("mcp/install", params, by="helper", room="shop")
    assert (waits.status, house.installed()) == ("parked", [])
    shown = (await house.done("approval/show", id=waits.ticket))["difference"]
    digest = (await house.plan(**CLOCK))["hash"]
    for text in ("clock 1.0", digest, house.registry.url, "CLOCK_KEY", "--loud", "network    yes", "does not know"):
        assert text in shown
    assert SECRET not in shown
    early = await house.ask("mcp/install", params, by="helper", room="shop", ticket=waits.ticket)
    assert early.code == "not_approved"
    await house.done("approval/approve", id=waits.ticket)
    ran = await house.ask("mcp/install", params, by="helper", room="shop", ticket=waits.ticket)
    assert ran.status == "done", ran.message
    assert ran.result["hash"] == digest


async def test_what_cannot_be_planned_is_refused_and_nobody_is_asked(house: PackageHouse) -> None:
    await house.room()
    for params, said in (
        ({"package": "no-such-clock", "registryType": "pypi"}, "There is no package no-such-clock"),
        ({"package": "no-such-clock", "registryType": "npm"}, "There is no package no-such-clock"),
        ({"server": "org.example/nothing"}, "There is no server 'org.example/nothing'"),
        ({"server": "tme"}, "Similar names: time"),
        ({**CLOCK, "env": {"LD_PRELOAD": "/tmp/x.so"}}, "env cannot have LD_PRELOAD"),
        ({"package": "../../etc", "registryType": "pypi"}, "is not the name of a package"),
        ({"package": "clock; rm -r /", "registryType": "npm"}, "is not the name of a package"),
        ({"package": "--ignore-scripts=false", "registryType": "npm"}, "is not the name of a package"),
    ):
        refused = await house.ask("mcp/install", params, by="helper", room="shop")
        assert (refused.status, said in refused.message) == ("refused", True), refused.message
    assert house.is_untouched()


@pytest.mark.parametrize("kind", ["pypi", "npm"])
async def test_another_file_than_the_promised_one_is_refused(house: PackageHouse, kind: str) -> None:
    house.registry.put_tarball("clock")
    params = {"package": "clock", "registryType": kind}
    plan = await house.plan(**params)
    house.registry.put_wheel("clock", mode="other")
    house.registry.put_tarball("clock", description="other")
    refused = await house.ask("mcp/install", {**params, "plan": plan["plan"]})
    assert (refused.code, "a hash differs" in refused.message) == ("conflict", True), refused.message
    assert house.is_untouched()


async def test_a_plan_that_nobody_saw_is_not_installed(house: PackageHouse) -> None:
    refused = await house.ask("mcp/install", {**CLOCK, "plan": "0" * 32})
    assert refused.code == "conflict"
    other = (await house.plan(**CLOCK, id="other"))["plan"]
    refused = await house.ask("mcp/install", {**CLOCK, "plan": other})
    assert refused.code == "conflict", "it is a plan for another id"
    assert house.is_untouched()


async def test_install_scripts_of_a_package_do_not_run(house: PackageHouse, tmp_path: Path) -> None:
    scripts = {"scripts": {"postinstall": "echo ran > ../../ran; echo ran > ran"}}
    house.registry.put_tarball("bell", **scripts)
    plan = await house.plan(package="bell", registryType="npm")
    assert any("Install scripts of bell do not run" in one for one in plan["warnings"])
    outcome = await house.install(package="bell", registryType="npm")
    assert (outcome.status, outcome.result["tools"]) == ("done", ["look"]), outcome.message
    assert not [name for _, _, names in os.walk(house.path / "servers-installed") for name in names if name == "ran"]


async def test_an_installation_that_hangs_is_stopped(registry: PackageRegistry, tmp_path: Path) -> None:
    async with package_house(tmp_path, registry) as house:
        plan = await house.plan(**CLOCK)
    registry.held = {"/files/"}
    async with package_house(tmp_path, registry, install_seconds=2.0) as house:
        stopped = await house.ask("mcp/install", {**CLOCK, "plan": plan["plan"]})
        assert (stopped.code, "install_seconds" in stopped.message) == ("timed_out", True), stopped.message
        assert house.is_untouched()


async def test_a_cancelled_installation_leaves_nothing_and_can_be_repeated(house: PackageHouse) -> None:
    plan = await house.plan(**CLOCK)
    house.registry.held = {"/files/"}
    started: asyncio.Queue[str] = asyncio.Queue()

    def watch(notice: Notice) -> None:
        if isinstance(notice, StartedNotice):
            started.put_nowait(notice.execution)

    held = asyncio.create_task(house.registry.wait_held())
    running = asyncio.create_task(house.ask("mcp/install", {**CLOCK, "plan": plan["plan"]}, watch=watch))
    await held
    second = await house.ask("mcp/install", {**CLOCK, "plan": plan["plan"]})
    assert (second.code, "is being installed already" in second.message) == ("conflict", True)
    await house.done("execution/cancel", execution=await started.get())
    assert (await running).code == "cancelled"
    assert house.is_untouched()
    house.registry.held = set()
    assert (await house.ask("mcp/install", {**CLOCK, "plan": plan["plan"]})).status == "done"


async def test_packages_beyond_the_size_limit_are_not_installed(registry: PackageRegistry, tmp_path: Path) -> None:
    registry.put_wheel("clock", padding=3_000_000)
    async with package_house(tmp_path, registry, max_bytes=1_000_000) as house:
        refused = await house.install(**CLOCK)
        assert (refused.status, "max_bytes" in refused.message) == ("failed", True), refused.message
        assert house.is_untouched()


@pytest.mark.parametrize(
    ("mode", "said"), [("dies", "no such luck"), ("silent", "within 30 seconds"), ("no tools", "lists no tools")]
)
async def test_a_server_that_does_not_work_is_removed_again(house: PackageHouse, mode: str, said: str) -> None:
    house.registry.put_wheel("clock", mode=mode)
    failed = await house.install(**CLOCK)
    assert (failed.code, said in failed.message) == ("command_failed", True), failed.message
    assert house.is_untouched()


async def test_only_the_package_registries_are_reached(house: PackageHouse) -> None:
    async with PackageRegistry.opened() as elsewhere:
        elsewhere.wheels = house.registry.wheels
        house.registry.elsewhere = elsewhere.url
        refused = await house.ask("mcp/install", CLOCK, dry_run=True)
        assert elsewhere.asked == []
        assert "may not reach" in str(refused), refused


async def test_an_installation_that_is_killed_leaves_nothing(registry: PackageRegistry, tmp_path: Path) -> None:
    async with package_house(tmp_path, registry) as house:
        plan = (await house.plan(**CLOCK))["plan"]
        (house.path / "doorward.toml").write_text(
            f'[upstream.packages]\nregistry = ""\npython_index = "{registry.url}/simple"\n'
        )
    registry.held = {"/files/"}
    held = asyncio.create_task(registry.wait_held())
    words = ("--as=me", "--room=", "mcp/install", "--package=clock", "--registryType=pypi", f"--plan={plan}")
    program = Doorward(tmp_path / "home").started("run", *words)
    try:
        await held
    finally:
        program.kill()
        program.communicate()
    assert (tmp_path / "home/servers-installed/.installing-clock").is_dir()
    registry.release.set()
    async with package_house(tmp_path, registry) as house:
        assert house.is_untouched()


async def test_what_killed_installations_left_is_removed_at_the_next_start(
    registry: PackageRegistry, tmp_path: Path
) -> None:
    async with package_house(tmp_path, registry) as house:
        kept = (await house.install(**CLOCK)).result["folder"]
        root = house.path / "servers-installed"
    for left in (".installing-bell", ".installing-bell-plan-x1", "bell/1.0"):
        (root / left).mkdir(parents=True)
        (root / left / "file").write_text("half")
    async with package_house(tmp_path, registry) as house:
        assert house.installed() == ["servers-installed/clock", "servers/clock"]
        assert (await house.ask("mcp/clock/look", {"depth": 3})).status == "done"
        assert house.exists(kept)


async def test_a_removed_server_comes_back_with_undo_until_that_expires(
    registry: PackageRegistry, tmp_path: Path, clock: Any
) -> None:
    async with package_house(tmp_path, registry, clock) as house:
        services = house.house.services
        folder = (await house.install(**CLOCK)).result["folder"]
        removed = await house.ask("mcp/remove", {"id": "clock"})
        await delete_expired(services)
        await house.done("undo", execution=removed.call)
        assert (await house.ask("mcp/clock/look", {"depth": 3})).status == "done"
        await house.done("mcp/remove", id="clock")
        again = (await house.install(**CLOCK)).result["folder"]
        assert again == f"{folder}-2"
        clock.advance(services.settings.limits.undo_days * 86_400 + 1)
        await delete_expired(services)
        assert (house.exists(folder), house.exists(again)) == (False, True)
