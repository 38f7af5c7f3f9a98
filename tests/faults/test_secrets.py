"""Secrets that come in with a request are in no record, log, event or listing: not even in the bytes of the files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta

from doorward.config.home import Home
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, NoUndo
from doorward.core.errors import CommandFailed
from waiting import PATIENCE

DOORWARD = Path(sys.executable).with_name("doorward")
NAMED = "zq'Plain\"Horse☂Staple"
"""A secret that looks like nothing: only the name of its parameter tells."""
SHAPED = "sk-proj-ZqShapedHorseStaple0123456789"
LONG = "ZqLong" + "horse" * 40
TRACES = ("PlainHorse", 'Plain"Horse', 'Plain\\"Horse', "Horse☂Staple", "Horse\\u2602Staple", "ZqShaped", "ZqLong")
Text = Annotated[str, Meta(description="Any text")]
SAFE_RULES = {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 100_000}


def vault() -> Family:
    family = Family("vault", category="test")
    common: dict[str, Any] = {
        "tier": Tier.CODE,
        "effects": Effects.WRITE,
        "access": Access.READ,
        "safety": Safety.SAFE,
        "cost": 1,
        "timeout": 5,
        "undo": NoUndo("a test"),
        "secret": ["pin"],
    }

    @family.command("open", examples=[Example("try", {"pin": "0000"})], **common)
    async def open_(
        ctx: Any,
        pin: Annotated[str, Meta(description="The secret", min_length=4, max_length=300)],
        how: Text = "well",
        password: Text = "",
        options: Annotated[dict[str, Any], Meta(description="More")] = {},  # noqa: B006
    ) -> dict[str, Any]:
        """Open the vault, or fail in the way that is asked for."""
        if how == "failing":
            raise CommandFailed(f"The vault does not open with {pin} or {password!r} or {json.dumps(options)}.")
        if how == "breaking":
            raise ValueError(f"the vault broke on {pin} and {password!r} and {options!r}")
        return {"opened": True}

    return family


async def everything(driver: Any, secret: str) -> None:
    """A secret comes in by every way there is, and is refused, parked, run, failed and broken."""

    async def ask(command: str, **more: Any) -> Any:
        return await driver.ask(command, by="tester", room="vault", **more)

    for how in ("well", "failing", "breaking"):
        nested = {"auth": {"apiKey": [secret]}, "note": f"use password={secret!r}"}
        outcome = await ask("vault/open", params={"pin": secret, "how": how, "password": secret, "options": nested})
        assert outcome.status == ("done" if how == "well" else "failed")
        await ask("vault/open", args=(("pin", secret), ("how", how), ("password", secret)))
    await ask("vault/open", params={"pin": secret}, dry_run=True)
    await ask("vault/open", params={"pin": secret}, cache=True)
    for wrong in (
        {"pin": [secret]},
        {"pin": secret * 20},
        {"pin": secret, "how": 5, "password": [secret]},
        {"pin": secret, "token": secret},
        {"pin": secret, "options": secret},
        {"pin": {"secret": secret}},
        {"pin": secret, "password": secret, "nope": 1},
        {"password": secret},
    ):
        assert (await ask("vault/open", params=wrong)).code == "bad_params"
    for command in ("vault/shut", "no/such", "file/write", "data/list"):
        await ask(command, params={"password": secret, "apiKey": {"deep": secret}})
        await ask(command, args=(("password", secret), ("api-key", secret)))
    await driver.ask("vault/open", by="tester", room="nowhere", params={"pin": secret})
    await driver.ask("vault/open", token=secret, params={"pin": secret})
    await driver.ask("vault/open", by="Not A Name", params={"pin": secret, "password": secret})


async def shapes(driver: Any) -> None:
    """What looks like a secret is hidden wherever it stands, in parameters nobody called secret as well."""
    for command in ("vault/open", "no/such", SHAPED, f"run {SHAPED}"):
        for params in ({"how": SHAPED}, {"how": f"with {SHAPED} inside"}, {SHAPED: 1}, {"a": [{SHAPED: [SHAPED]}]}):
            await driver.ask(command, by="tester", room="vault", params=params)
            await driver.ask(command, by="tester", room="vault", params={"pin": "12345", **params})
    await driver.ask("vault/open", by="tester", room=SHAPED, params={"pin": "12345"})
    await driver.ask("vault/open", by="tester", room="vault", ticket=SHAPED, params={"pin": "12345"})


@pytest.fixture
def open_vault(opened: Callable[..., Any]) -> Callable[..., Any]:
    return lambda: opened(families=[vault()])


async def _furnish(driver: Any, **more: Any) -> None:
    recipe = {"recipeId": "vault", "displayName": "Vault", "strategy": {"aiCommands": {**SAFE_RULES, **more}}}
    await driver.owner("recipe/put", id="vault", text=json.dumps(recipe))
    await driver.owner("room/create", name="vault", recipe="vault")


@pytest.mark.parametrize("secret", [NAMED, SHAPED, LONG], ids=["named", "shaped", "long"])
async def test_secrets_given_as_parameters_leave_no_trace(open_vault: Any, home: Home, secret: str) -> None:
    heard: list[Any] = []
    async with open_vault() as driver:
        driver.house.services.events.subscribe(heard.append)
        await _furnish(driver)
        await everything(driver, secret)
        rows = await driver.ledger()
        _is_clean(repr(rows))
        _is_clean(repr(heard))
        for command, params in (
            ("debug/logs", {}),
            ("data/list", {"collection": "audit", "limit": 500}),
            ("data/list", {"collection": "executions", "limit": 500}),
            ("ai/report", {}),
        ):
            _is_clean(repr((await driver.owner(command, **params)).result))
    assert len(rows) > 30
    assert any("[redacted]" in row["note"] for row in rows)
    _files_are_clean(home)
    _export_is_clean(home)


async def test_what_looks_like_a_secret_leaves_no_trace(open_vault: Any, home: Home) -> None:
    async with open_vault() as driver:
        await _furnish(driver)
        await shapes(driver)
        _is_clean(repr(await driver.ledger()))
    _files_are_clean(home)
    _export_is_clean(home)


@pytest.mark.parametrize("ending", ["denied", "expired", "used", "unused"])
async def test_a_secret_that_waited_for_approval_is_forgotten_when_it_can_no_longer_run(
    open_vault: Any, home: Home, ending: str
) -> None:
    """While it waits it is kept, since it is what will run; it is shown in full only to whoever decides."""
    async with open_vault() as driver:
        await _furnish(driver, requireApproval={"vault/open": True})
        params = {"pin": NAMED, "password": NAMED, "options": {"filler": "x" * 30_000, "token": NAMED}}
        parked = await driver.ask("vault/open", by="tester", room="vault", params=params)
        assert parked.status == "parked"
        _is_clean(repr(await driver.ledger()))
        _is_clean(repr((await driver.owner("approval/list")).result))
        _is_clean(repr((await driver.owner("data/list", collection="approvals")).result))
        _is_clean(repr((await driver.ask("approval/list", by="tester", room="vault", params={})).result))
        if ending in ("used", "unused"):
            await driver.owner("approval/approve", id=parked.ticket)
        if ending == "used":
            used = await driver.ask("vault/open", by="tester", room="vault", ticket=parked.ticket)
            assert used.status == "done", used
        if ending == "denied":
            await driver.owner("approval/deny", id=parked.ticket)
        driver.clock.advance(3_600)
    async with open_vault() as driver:
        _is_clean(repr((await driver.owner("approval/show", id=parked.ticket)).result))
        _is_clean(repr(await driver.house.services.store.read("SELECT * FROM approvals")))
    _files_are_clean(home)


async def test_a_token_is_shown_once_and_kept_nowhere(open_vault: Any, home: Home) -> None:
    async with open_vault() as driver:
        await _furnish(driver)
        token = await driver.token("helper")
        await driver.ask("data/list", token=token, room="vault", params={"collection": "rooms"})
        await driver.ask("no/such", token=token, params={"note": f"my token is {token}", token: token})
        await driver.ask(token, token=token[:-1] + "x")
    _files_are_clean(home, token.rpartition(".")[2], token)


def _is_clean(text: str) -> None:
    for trace in TRACES:
        where = text.find(trace)
        assert where < 0, text[max(0, where - 300) : where + 100]


def _files_are_clean(home: Home, *traces: str) -> None:
    """The bytes of everything in the home folder: the database, what it left in free pages, the log."""
    files = [file for file in home.path.rglob("*") if file.is_file()]
    assert home.database in files
    for file in files:
        content = file.read_bytes()
        for trace in traces or TRACES:
            where = content.find(trace.encode())
            assert where < 0, (file, content[max(0, where - 300) : where + 100])


def _export_is_clean(home: Home) -> None:
    environment = {**os.environ, "DOORWARD_HOME": str(home.path)}
    for arguments in (["export"], ["tail", "-n", "1000"]):
        done = subprocess.run(
            [DOORWARD, "audit", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        assert len(done.stdout.splitlines()) > 10
        _is_clean(done.stdout)
