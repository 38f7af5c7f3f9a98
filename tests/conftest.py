"""What tests share: a real house in a temporary folder, driven through its gate."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from doorward.app import House, open_house
from doorward.commands import families
from doorward.config.home import Home
from doorward.core.clock import Clock
from doorward.core.model import Credential, Outcome, Request
from doorward.store import migrations

_MEMORY = Path("/dev/shm")
_ENOUGH = 4 * 1024**3
_LONGEST = (
    "test_console_pages",
    "test_console_rooms",
    "test_coding_agent",
    "test_house_questions",
    "test_escapes",
    "test_bench_measures",
    "test_console_work",
    "test_sandbox_degraded",
    "test_console_rules",
    "test_stdio_house",
    "test_sandbox_faults",
    "test_client_conformance",
    "test_kill",
    "test_cli_projects",
    "test_injection",
    "test_examples",
    "test_console_many",
    "test_full_disk",
    "test_http_connections",
    "test_broken_home",
    "test_query",
    "test_tools_command",
    "test_rest_schemathesis",
    "test_real_servers",
    "test_real_clients",
    "test_python_sdk",
    "test_console_login",
    "test_console_restart",
    "test_guides",
    "test_readme_tour",
    "test_recordings",
    "test_rest_page",
    "test_project_page",
    "test_toolchains",
    "test_process_commands",
    "test_conformance",
    "test_transactions_random",
    "test_approvals",
)
"""Files that take longest, begun first, so that no processor has to wait for the last of them at the end."""


hypothesis.settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("steady")
"""Neither chance nor how busy the machine is decides whether a test passes: what fails, fails again."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests' homes in memory where there is room: two thousand of them sync a disk very often."""
    if config.option.basetemp is None and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH:
        config.option.basetemp = tempfile.mkdtemp(prefix="doorward-tests-", dir=_MEMORY)
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Collect no garbage while thousands of tests are found: there is hardly any."""
    gc.disable()


def pytest_collection_finish() -> None:
    """The tests and all that they import stay; no collection need look at them again."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not run, so that nobody takes it for passed."""
    if not os.environ.get("DOORWARD_GGUF"):
        terminalreporter.write_line(
            "not run: a real model in a file (tests/agents/models/test_local_real.py); DOORWARD_GGUF names none"
        )


@pytest.fixture(autouse=True, scope="session")
def installed_once() -> None:
    """What is installed does not change while tests run, and every house asks for it."""
    families.entry_points = functools.cache(families.entry_points)  # type: ignore[assignment]


@pytest.fixture(autouse=True, scope="session")
def migrated_once() -> None:
    """A new database is a copy of one that took every step: two thousand houses are opened, all by the same steps."""
    steps = migrations.migrate
    made = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    steps(made)

    def migrate(db: sqlite3.Connection) -> None:
        if migrations.version(db) == 0 and len(migrations.STEPS) == migrations.version(made):
            made.backup(db)
        else:
            steps(db)

    migrations.migrate = migrate


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class FakeClock(Clock):
    """A clock that moves only when told to. `jump` sets the wall clock, as somebody at the machine might."""

    def __init__(self) -> None:
        self.seconds = 1_000.0
        super().__init__()

    def steady(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


class Driver:
    """Asks a house for commands, as a door would."""

    def __init__(self, house: House, clock: FakeClock) -> None:
        self.house = house
        self.clock = clock

    async def ask(
        self, command: str, *, by: str = "helper", room: str = "general", token: str = "", **more: Any
    ) -> Outcome:
        """As the agent `by` in a room; `by=""` is the owner. `params` may be given as keyword `params`."""
        credential = Credential(token=token) if token else Credential(owner=True, speak_as=by)
        return await self.house.gate.handle(
            Request(command=command, credential=credential, door="test", room=room, **more)
        )

    async def owner(self, command: str, **params: Any) -> Outcome:
        """As the owner, outside any room."""
        outcome = await self.ask(command, by="", room="", params=params)
        assert outcome.status == "done", outcome
        return outcome

    async def token(self, name: str, **params: Any) -> str:
        made = await self.owner("token/create", name=name, **params)
        return str(made.result["token"])

    async def ledger(self) -> list[dict[str, Any]]:
        return await self.house.services.store.read("SELECT * FROM ledger ORDER BY seq")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def opened(home: Home, clock: FakeClock) -> Callable[..., contextlib.AbstractAsyncContextManager[Driver]]:
    """Opens the home as often as a test likes, with whatever `open_house` takes."""

    @contextlib.asynccontextmanager
    async def open_driver(**more: Any) -> AsyncIterator[Driver]:
        async with open_house(home, clock=clock, **more) as house:
            yield Driver(house, clock)

    return open_driver


@pytest.fixture
async def driver(opened: Callable[..., Any]) -> AsyncIterator[Driver]:
    async with opened() as driver:
        yield driver
