"""Read the profiles of all collections of a caller. Collections that have not changed are not read again."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from doorward.core.errors import DoorwardError
from doorward.store import attached_databases, managed_collections
from doorward.store.collection_catalogue import CollectionCatalogue
from doorward.store.collection_links import CollectionScan, link_collections
from doorward.store.collection_profiles import CollectionProfile
from doorward.store.collection_scans import outline, scan_collection
from doorward.store.collections import Collection
from doorward.store.managed_collections import ManagedCollection
from doorward.store.read_connections import limit_time, open_reader
from doorward.store.scope import Scope
from doorward.store.system_collections import SYSTEM

log = logging.getLogger(__name__)

MOST_COLLECTIONS = 200
_MOST_SECONDS = 5.0
"""The time for all collections together. Those that it does not suffice for are outlined."""
_SYSTEM_SECONDS = 0.5
"""The time for one of Doorward's own collections."""
_MOST_VALUES = 300_000
"""The values to keep of all collections of one caller."""
_LEAST_VALUES = 1_000
_MOST_WEIGHT = 600_000
"""The values that the cache holds."""
_SETTLED = 1.0
"""Seconds after which the time stamp of a file tells whether it has changed."""

_Key = tuple[Scope, str, int]
_Stamp = tuple[object, ...]


class ProfileCache:
    """Scans by scope and collection, each with a stamp of all that it depends on. The least used is dropped first."""

    def __init__(self) -> None:
        self._scans: OrderedDict[_Key, tuple[_Stamp, CollectionScan]] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def get(self, key: _Key, stamp: _Stamp) -> CollectionScan | None:
        with self._lock:
            kept = self._scans.get(key)
            if kept is None or kept[0] != stamp:
                return None
            self._scans.move_to_end(key)
            return kept[1]

    def put(self, key: _Key, stamp: _Stamp, scan: CollectionScan) -> None:
        with self._lock:
            replaced = self._scans.pop(key, None)
            self._weight += scan.weight - (replaced[1].weight if replaced is not None else 0)
            self._scans[key] = stamp, scan
            while self._weight > _MOST_WEIGHT:
                _, (_, dropped) = self._scans.popitem(last=False)
                self._weight -= dropped.weight


def profile_all(
    catalogue: CollectionCatalogue, cache: ProfileCache, is_wanted: Callable[[str], bool]
) -> tuple[CollectionProfile, ...]:
    """The profiles of the wanted collections of a caller: its own, then Doorward's, then the attached ones. Blocks."""
    return link_collections(list(_ProfileReader(catalogue, cache, is_wanted).read()))


class _ProfileReader:
    def __init__(self, catalogue: CollectionCatalogue, cache: ProfileCache, is_wanted: Callable[[str], bool]) -> None:
        self._catalogue = catalogue
        self._cache = cache
        self._is_wanted = is_wanted
        self._end = time.monotonic() + _MOST_SECONDS
        self._left = MOST_COLLECTIONS

    def read(self) -> Iterator[CollectionScan]:
        catalogue = self._catalogue
        with open_reader(catalogue.internal_source, _MOST_SECONDS, catalogue.secrets) as db:
            db.execute("BEGIN")  # the stamps and the rows are of one moment
            managed = managed_collections.definitions(db, catalogue.scope.tenant)
            stamps = dict(self._stamp_managed(db, managed))
            yield from self._scan_each(db, managed, stamps)
            yield from self._scan_each(db, list(SYSTEM.values()), {})
        for database in catalogue.databases:
            try:
                yield from self._read_attached(database)
            except DoorwardError as error:
                log.info("the database %s cannot be profiled: %s", database, error.message)

    def _read_attached(self, database: str) -> Iterator[CollectionScan]:
        source = self._catalogue.source(database)
        stamp = _stamp_file(source.path)
        with open_reader(source, _MOST_SECONDS, self._catalogue.secrets) as db:
            tables = list(attached_databases.tables(db, database).values())
            yield from self._scan_each(db, tables, {one.name: stamp for one in tables} if stamp else {})

    def _stamp_managed(
        self, db: sqlite3.Connection, managed: Sequence[ManagedCollection]
    ) -> Iterator[tuple[str, _Stamp]]:
        rows = db.execute(
            "SELECT collection, count(*), sum(version), max(updated_at) FROM records WHERE tenant = ? GROUP BY 1",
            (self._catalogue.scope.tenant,),
        )
        states = {name: state for name, *state in rows}
        for one in managed:
            yield one.name, (one.version, one.schema, *states.get(one.name, ()))

    def _scan_each(
        self, db: sqlite3.Connection, collections: Sequence[Collection], stamps: dict[str, _Stamp]
    ) -> Iterator[CollectionScan]:
        wanted = [one for one in collections if self._is_wanted(one.name)][: self._left]
        self._left -= len(wanted)
        budget = max(_LEAST_VALUES, _MOST_VALUES // max(1, len(wanted)))
        for collection in wanted:
            stamp = stamps.get(collection.name)
            key = self._catalogue.scope, collection.name, budget
            known = self._cache.get(key, stamp) if stamp is not None else None
            scan = known or self._scan(db, collection, budget)
            if known is None and stamp is not None and not scan.profile.more:
                self._cache.put(key, stamp, scan)
            yield scan

    def _scan(self, db: sqlite3.Connection, collection: Collection, budget: int) -> CollectionScan:
        left = self._end - time.monotonic()
        if left <= 0:
            return outline(collection)
        limit_time(db, min(left, _SYSTEM_SECONDS) if collection.kind == "system" else left)
        try:
            return scan_collection(db, collection, self._catalogue.scope, budget)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_INTERRUPT:
                raise
            return outline(collection)


def _stamp_file(path: Path) -> _Stamp:
    """A stamp of a database file and its log; empty while it was changed so recently that the times tell nothing."""
    found = []
    for name in (path.name, f"{path.name}-wal", f"{path.name}-journal"):
        try:
            status = path.with_name(name).stat()
        except OSError:
            continue
        if time.time() - status.st_mtime < _SETTLED:
            return ()
        found.append((name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)
