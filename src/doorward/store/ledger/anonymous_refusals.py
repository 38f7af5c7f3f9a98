"""Records of refused requests without valid credentials. Anyone can cause them, so they must not fill the ledger.

The first few of a door and an address in a minute are recorded one by one. The rest is counted, and recorded together
when the minute is over or the server stops.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import NamedTuple

import msgspec

from doorward.core.clock import Clock
from doorward.core.errors import LedgerUnavailable, TooFast
from doorward.core.escape_invisible import to_storable
from doorward.core.model import ANONYMOUS
from doorward.store.ledger.record import Entry
from doorward.store.sqlite import Store

log = logging.getLogger(__name__)

SINGLE_RECORDS = 3
"""How many refusals of a source are recorded one by one in a minute."""
_MOST_SOURCES = 32
"""How many sources are distinguished in a minute. Further ones are counted together."""
_OTHERS = "other addresses"
_COMMAND = "auth/refused"
"""The command of a summary of requests to the gate. Those of failed logins have the name of the login."""
_MINUTE = 60.0
_encode = msgspec.json.Encoder().encode


class Source(NamedTuple):
    door: str
    address: str
    attempt: str
    """What was attempted, if it was not a command: `auth/login` and its like."""


class AnonymousRefusals:
    def __init__(self, store: Store, clock: Clock, most: int) -> None:
        self._store = store
        self._clock = clock
        self._most = most
        self._until = 0.0
        self._seen: Counter[Source] = Counter()
        self._unrecorded: dict[Source, Counter[str]] = {}

    async def record(self, entry: Entry, address: str, attempt: str = "") -> None:
        """Record or count a refusal. Raises TooFast if its address has had too many in this minute."""
        await self.flush_due()
        if not self._seen:
            self._until = self._clock.steady() + _MINUTE
        source = Source(entry.door, to_storable(address[:64]), attempt)
        if source not in self._seen and len(self._seen) >= _MOST_SOURCES:
            source = Source(entry.door, _OTHERS, attempt)
        self._seen[source] += 1
        is_too_fast = self._seen[source] > self._most
        if self._seen[source] <= SINGLE_RECORDS:
            await self._store.write(entries=[entry], durable=False)
        else:
            self._unrecorded.setdefault(source, Counter())[TooFast.code if is_too_fast else entry.code] += 1
        if is_too_fast:
            wait = max(0.0, self._until - self._clock.steady())
            raise TooFast(
                f"At most {self._most} requests a minute without valid credentials. Retry in {wait:.0f} s.",
                hint="Send a valid bearer token. Create one with `doorward token create`.",
                retry_after=wait,
                rule=f"limits.anonymous_per_minute {self._most}",
            )

    async def flush_due(self) -> None:
        """Record the counts of a minute that is over."""
        if self._seen and self._clock.steady() >= self._until:
            await self.flush()

    async def flush(self) -> None:
        """Record the counts now. If the ledger cannot be written, they are stored with its next record."""
        unrecorded, self._unrecorded = self._unrecorded, {}
        self._seen.clear()
        if not unrecorded:
            return
        try:
            entries = [self._summary(source, codes) for source, codes in unrecorded.items()]
            await self._store.write(entries=entries, durable=False, owed=True)
        except LedgerUnavailable as error:
            log.warning("counts of refused requests are not recorded yet: %s", error)

    def _summary(self, source: Source, codes: Counter[str]) -> Entry:
        count = codes.total()
        return Entry(
            at=self._clock.wall_us(),
            phase="whole",
            call="",
            tenant=ANONYMOUS.tenant,
            caller=ANONYMOUS.id,
            kind=ANONYMOUS.kind,
            behalf="",
            door=source.door,
            room="",
            command=source.attempt or _COMMAND,
            tier="",
            params=_encode({"address": source.address, "count": count, "codes": codes}).decode(),
            digest="",
            rule="built-in: one record a minute for refusals without valid credentials",
            approval="",
            reserved=0.0,
            spent=0.0,
            status="refused",
            code=codes.most_common(1)[0][0],
            note=f"{count} more requests from {source.address or 'this machine'} were refused within a minute.",
            duration=0,
        )
