"""The catalogue of all collections a caller can see, in every database."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from doorward.config.settings import DataSettings
from doorward.core.command import shorten
from doorward.core.errors import DoorwardError, NotFound
from doorward.store import attached_databases, collection_queries, managed_collections
from doorward.store.collections import Collection
from doorward.store.managed_collections import ManagedCollection
from doorward.store.read_connections import Source, open_reader
from doorward.store.scope import Scope
from doorward.store.sql_functions import Secrets
from doorward.store.system_collections import SYSTEM

Result = TypeVar("Result")
Work = Callable[[sqlite3.Connection, Any], Result]

MOST_NAMES = 60
_LOOKED_AT = 50
_MOST_LOOKED_AT = 1_000_000
"""How many records, and how many bytes of them, are sampled for their fields if the schema names none."""
_KINDS = {str: "text", bool: "boolean", int: "number", float: "number"}


class CollectionCatalogue(msgspec.Struct, frozen=True):
    home: Path
    house: Path
    """The path of Doorward's own database."""
    settings: DataSettings
    scope: Scope
    secrets: Secrets

    async def read(self, collection: str, work: Callable[[sqlite3.Connection, Collection], Result]) -> Result:
        """Run `work(connection, collection)` on a thread, read-only and within the query time limit."""
        return await asyncio.to_thread(self._read, collection, work)

    async def read_internal(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `work(connection)` on a thread, read-only, on Doorward's own database."""

        def run() -> Result:
            with self._open(self.internal_source) as db:
                return work(db)

        return await asyncio.to_thread(run)

    async def describe_all(self) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self._describe_all)

    @property
    def internal_source(self) -> Source:
        return Source(attached_databases.HOUSE, self.house)

    @property
    def databases(self) -> Mapping[str, str]:
        """The attached databases by name; empty for tenants they do not belong to."""
        return self.settings.databases if self.scope.tenant == attached_databases.TENANT else {}

    def source(self, database: str) -> Source:
        """The location of a database; raises NotFound if the caller has no database of that name."""
        if database not in self.databases:
            names = ", ".join([attached_databases.HOUSE, *self.databases])
            raise NotFound(f"There is no database {shorten(database)}; there are: {names}.")
        return attached_databases.locate(database, self.databases[database], self.home, self.house)

    def not_found(self, name: str, managed: list[ManagedCollection]) -> NotFound:
        names = [*SYSTEM, *(one.name for one in managed)]
        for database in self.databases:
            names += self._table_names(database)
        rest = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        return NotFound(f"There is no collection {shorten(name)}; there are: {', '.join(names[:MOST_NAMES])}{rest}.")

    def _read(self, name: str, work: Work[Result]) -> Result:
        database, dot, table = name.partition(".")
        if dot and database in self.databases:
            with self._open(self.source(database)) as db:
                return work(db, attached_databases.find(db, database, table))
        with self._open(self.internal_source) as db:
            collection = SYSTEM.get(name) or managed_collections.find(db, self.scope.tenant, name)
            if collection is None:
                raise self.not_found(name, managed_collections.definitions(db, self.scope.tenant))
            return work(db, collection)

    def _describe_all(self) -> list[dict[str, Any]]:
        with self._open(self.internal_source) as db:
            own = [*SYSTEM.values(), *managed_collections.definitions(db, self.scope.tenant)]
            described = [self.describe(db, one) for one in own]
        for database in self.databases:
            try:
                with self._open(self.source(database)) as db:
                    described += [self.describe(db, one) for one in attached_databases.tables(db, database).values()]
            except DoorwardError as error:
                described.append({"collection": f"{database}.*", "kind": "attached", "error": error.message})
        return described

    def describe(self, db: sqlite3.Connection, collection: Collection) -> dict[str, Any]:
        fields: dict[str, str] = {field.name: field.kind for field in collection.fields}
        if isinstance(collection, ManagedCollection) and not collection.schema.get("properties"):
            fields = {**self._sample_fields(db, collection), **fields}
        return {
            "collection": collection.name,
            "kind": collection.kind,
            "key": collection.key,
            "fields": fields,
            "count": collection_queries.count(db, collection, self.scope),
        }

    def _sample_fields(self, db: sqlite3.Connection, collection: ManagedCollection) -> dict[str, str]:
        """The fields of a sample of records. Without a schema, callers cannot learn the fields in another way."""
        found: dict[str, str] = {}
        for record in collection_queries.page(
            db, collection, self.scope, limit=_LOOKED_AT, most_bytes=_MOST_LOOKED_AT
        ).items:
            for name, value in record.items():
                if len(found) < MOST_NAMES and not name.startswith("access_"):
                    found.setdefault(name, _KINDS.get(type(value), "json"))
        return found

    def _table_names(self, database: str) -> list[str]:
        try:
            with self._open(self.source(database)) as db:
                return [one.name for one in attached_databases.tables(db, database).values()]
        except DoorwardError:
            return [f"{database}.* (currently unavailable)"]

    @contextmanager
    def _open(self, source: Source) -> Iterator[sqlite3.Connection]:
        with open_reader(source, self.settings.query_seconds, self.secrets) as db:
            yield db
