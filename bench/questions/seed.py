"""The seeded house: opened in an empty folder and filled through its own gate, with the clock turned back."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from bench.confined import MEASURED
from bench.questions import happenings, workspace
from bench.questions.happenings import Happening
from bench.questions.turned_clock import DAY, TurnedClock, midnight
from doorward.app import House, open_house
from doorward.config.home import Home
from doorward.config.settings import LimitSettings, Settings
from doorward.core import logs
from doorward.core.clock import to_iso
from doorward.core.model import Credential, Request
from doorward.rooms.people import LOCAL

SETTINGS = Settings(
    limits=LimitSettings(running=100, queued=1_000, per_minute=1_000_000, loop_repeats=1_000_000, undo_days=90),
    sandbox=MEASURED,
)
"""Everything is asked for within a minute, and much of it several times, which is no sign of a loop here."""
LOGGED = (
    (1.7, "WARNING", "The disk is nearly full."),
    (0.5, "ERROR", "The backup could not be written: no space left."),
    (0.4, "INFO", "The backup was written."),
    (0.3, "ERROR", "The webhook of the shop did not answer within 10 s."),
    (0.2, "ERROR", "The printer in the hall is on fire."),
    (0.1, "INFO", "Somebody put the printer out."),
)


class Seeded(msgspec.Struct, frozen=True):
    house: House
    now: float
    """When it was filled: everything in it has its age from then."""
    happened: list[Happening]

    @property
    def today(self) -> float:
        return midnight(self.now)

    @property
    def workspace(self) -> Path:
        return self.house.home.workspace(self.house.settings.files.workspace, LOCAL, LOCAL).absolute()


@contextlib.asynccontextmanager
async def seeded(folder: Path) -> AsyncIterator[Seeded]:
    """A house with something in it, until the end of the block."""
    home, clock = Home(folder), TurnedClock()
    home.create()
    now = clock.now()
    _log(folder / logs.LOG_FILE, now, midnight(now))
    happened = happenings.all_of(now, midnight(now))
    clock.turn_to(now - 62 * DAY)
    async with open_house(home, clock=clock, changes=SETTINGS) as house:
        made = Seeded(house, now, happened)
        made.workspace.mkdir(parents=True, exist_ok=True)
        workspace.fill(made.workspace, now, midnight(now))
        for one in happened:
            clock.turn_to(one.at)
            await _happen(house, one)
        clock.turn_back()
        yield made


async def _happen(house: House, one: Happening) -> None:
    credential = Credential(owner=True, speak_as=one.by)
    outcome = await house.gate.handle(Request(one.command, credential, "seed", one.room, one.params))
    if outcome.status != one.status:
        raise RuntimeError(f"{one.command} was to be {one.status}, but it was {outcome.status}: {outcome.message}")


def _log(file: Path, now: float, today: float) -> None:
    """The lines of Doorward's own log, as though they had been written then."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        {
            "at": to_iso(now - age * DAY if age >= 1 else today + (now - today) * (1 - age)),
            "level": level,
            "logger": "doorward.shop",
            "message": message,
        }
        for age, level, message in LOGGED
    )
    file.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
