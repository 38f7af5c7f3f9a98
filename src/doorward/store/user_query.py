"""A caller's own SELECT. The database itself restricts it to the rows the caller may see.

The database is attached read-only under a random name for this one query, and the caller sees only temporary views of
its collections. SQLite tells its authorizer in which view or common table expression a column is read. The rows of a
view are read inside an expression that also has a random name, and tables may be read nowhere else. The authorizer
alone is not enough: SQLite does not call it for the columns of a JOIN … USING. But a join must name its table, and
without the random name every plain table name refers to a view.
"""

from __future__ import annotations

import secrets as chance
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import msgspec

from doorward.config.settings import DataSettings
from doorward.core.command import shorten
from doorward.core.errors import BadParams, CommandFailed, DoorwardError
from doorward.store import attached_databases, managed_collections, sql_functions, user_query_functions, values
from doorward.store.collection_catalogue import CollectionCatalogue
from doorward.store.collections import Collection
from doorward.store.read_connections import Source, describe_error, limit_time
from doorward.store.scope import ScopeSql, quoted
from doorward.store.system_collections import SYSTEM

LONGEST_SQL = 100_000
MOST_PARAMS = 1_000

_SCHEMA_TABLES = frozenset(("sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"))
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: user_query_functions.LARGEST_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: LONGEST_SQL,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 1,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: MOST_PARAMS,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class QueryResult(msgspec.Struct, frozen=True):
    columns: list[str]
    items: list[dict[str, Any]]
    more: bool
    """Whether the limits cut off rows."""


def run(catalogue: CollectionCatalogue, database: str, sql: str, params: Sequence[Any], limit: int) -> QueryResult:
    """Run one SELECT. Blocks; call it on a thread."""
    if "\x00" in sql or len(sql) > LONGEST_SQL:
        raise BadParams(f"sql must be one SELECT of at most {LONGEST_SQL} characters without NUL; given {len(sql)}.")
    bound = [values.scalar(one, f"params[{n}]") for n, one in enumerate(params)]
    source = catalogue.internal_source if database == attached_databases.HOUSE else catalogue.source(database)
    settings = catalogue.settings
    with _build_sealed(catalogue, source) as (db, names):
        try:
            found = db.execute(sql, bound)
            if found.description is None:
                raise BadParams(f"sql must be one SELECT; given {shorten(sql)}.")
            columns = _distinct([column[0] for column in found.description])
            return _fetch(found, columns, min(limit, settings.query_rows), settings.query_bytes)
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
            raise _explain_error(error, source, settings, names) from error


def _fetch(found: sqlite3.Cursor, columns: list[str], limit: int, most_bytes: int) -> QueryResult:
    items: list[dict[str, Any]] = []
    room = most_bytes
    for row in found:
        room -= sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if room < 0 and not items:
            raise CommandFailed(f"The first row alone is larger than {most_bytes} bytes; select less of it.")
        if room < 0 or len(items) == limit:
            return QueryResult(columns, items, more=True)
        items.append(dict(zip(columns, map(values.render_value, row), strict=True)))
    return QueryResult(columns, items, more=False)


@contextmanager
def _build_sealed(catalogue: CollectionCatalogue, source: Source) -> Iterator[tuple[sqlite3.Connection, list[str]]]:
    """A connection that can read only the caller's views, and the names of these views."""
    seconds = catalogue.settings.query_seconds
    secret = chance.token_hex(16)
    try:
        with closing(sqlite3.connect(":memory:", uri=True, isolation_level=None, timeout=min(seconds, 5))) as db:
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            db.execute("ATTACH ? AS ?", (source.uri("ro"), f"house_{secret}"))
            sql_functions.install(db, catalogue.secrets)
            user_query_functions.install(db)
            limit_time(db, seconds)
            # One snapshot from here on: a table created later has no view in front of it, and is not visible either.
            db.execute("BEGIN")
            # Allows views to hide SQLite's own tables (sqlite_stat1) too, and allows deleting the SQL text of views.
            db.execute("PRAGMA writable_schema = ON")
            views = _build(db, catalogue, source, secret)
            # SQLite creates a built-in virtual table on first use, and that is a schema change. These two are created
            # here; any other then fails at the authorizer, even in a JOIN … USING.
            db.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").fetchall()
            # The views work without their SQL text, and the text would reveal the random names.
            db.execute("DELETE FROM temp.sqlite_temp_master")
            db.execute("PRAGMA writable_schema = OFF")
            db.execute("PRAGMA query_only = ON")
            for limit, value in _LIMITS.items():
                db.setlimit(limit, value)
            db.set_authorizer(_authorizer(frozenset(views), secret))
            yield db, views
    except sqlite3.Error as error:
        raise describe_error(error, source, seconds) from error


def _build(db: sqlite3.Connection, catalogue: CollectionCatalogue, source: Source, secret: str) -> list[str]:
    """Create the views. Returns their names."""
    schema = f"house_{secret}"
    scope = f"temp.scope_{secret}"
    found = catalogue.scope.values()
    db.execute(f"CREATE TEMP TABLE scope_{secret} ({', '.join(found)})")
    db.execute(f"INSERT INTO {scope} VALUES (:tenant, :identities, :level, :rooms)", found)
    names = ScopeSql(schema, *(f"(SELECT {column} FROM {scope})" for column in found))
    views: dict[str, Collection] = {}
    if source.name == attached_databases.HOUSE:
        views.update(SYSTEM)
        views.update({one.name: one for one in managed_collections.definitions(db, catalogue.scope.tenant, schema)})
    else:
        views.update(attached_databases.tables(db, source.name, schema))
    for name, collection in views.items():
        db.execute(
            f"CREATE TEMP VIEW {quoted(name)} AS WITH {secret_name(secret)} AS ({collection.view(names)})"
            f" SELECT * FROM {secret_name(secret)}"
        )
    taken = {name.lower() for name in views}
    for (name,) in db.execute(f"SELECT name FROM {schema}.sqlite_master WHERE type IN ('table', 'view')").fetchall():
        if name.lower() not in taken:
            db.execute(f"CREATE TEMP VIEW {quoted(name)} AS SELECT NULL AS {secret_name(secret)} WHERE FALSE")
    return list(views)


def secret_name(secret: str) -> str:
    return f"rows_{secret}"


def _authorizer(views: frozenset[str], secret: str) -> Callable[..., int]:
    inside = secret_name(secret)
    schema = f"house_{secret}"

    def authorize(action: int, first: str | None, second: str | None, where: str | None, context: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            allowed = second in user_query_functions.ALLOWED or context == inside
            return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
        if action != sqlite3.SQLITE_READ or first is None or first.lower() in _SCHEMA_TABLES:
            return sqlite3.SQLITE_DENY
        # No column: a view's rows are only counted. SQLite gives no context then, but only a view names this schema.
        if context == inside or (where == schema and second == ""):
            return sqlite3.SQLITE_OK
        if where in (schema, "main"):
            own = where == "main" and first.lower() in user_query_functions.TABLES
            return sqlite3.SQLITE_OK if own else sqlite3.SQLITE_DENY
        # SQLite names no database if a table is only counted, and reports names of expressions as tables too.
        return sqlite3.SQLITE_OK if where in ("temp", None) and first != f"scope_{secret}" else sqlite3.SQLITE_DENY

    return authorize


def _explain_error(error: Exception, source: Source, settings: DataSettings, views: list[str]) -> DoorwardError:
    """A SQLite error as BadParams if the caller's statement caused it, otherwise as a database error."""
    if isinstance(error, sqlite3.Error):
        other = describe_error(error, source, settings.query_seconds)
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code not in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_RANGE):
            return other
    why = str(error).rstrip(".")
    return BadParams(
        f"The query was refused: {why}; give one SELECT over {', '.join(views[:60]) or 'no table'}.",
        hint="You can read only these views, write nothing and call only common functions.",
    )


def _distinct(names: list[str]) -> list[str]:
    """Make column names unique, so that no value of a record is lost."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return result
