"""R7.3: one read-only SELECT, held by the database to the caller's own rows and to its limits."""

from __future__ import annotations

import functools
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doorward.config.settings import DataSettings
from doorward.core.classification import Access
from doorward.core.errors import BadParams, CommandFailed, NotFound, TimedOut, Unreachable
from doorward.store import user_query
from doorward.store.collection_catalogue import CollectionCatalogue
from doorward.store.scope import Scope
from doorward.store.sqlite import Store

FOREIGN = "theirs-4f1c"


@functools.cache
def _filled() -> bytes:
    """A database of such a house: made once, since it takes longer than what most of these tests ask of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "doorward.db"
        Store(path, b"k" * 32).close()
        db = sqlite3.connect(path)
        for tenant, mark in (("local", "ours"), ("other", FOREIGN)):
            db.execute("INSERT INTO rooms VALUES (?, ?, ?, 'support', 0, 1, 1.0, '', 0, '')", (tenant, mark, mark))
            db.execute("INSERT INTO users VALUES (?, ?, ?, 'human', 4, 1, 1.0)", (tenant, mark, mark))
            db.execute(
                "INSERT INTO tokens VALUES (?, ?, ?, 'n', 'human', 4, NULL, 1.0, 2.0, NULL)", (mark, tenant, mark)
            )
            db.execute("INSERT INTO collections VALUES (?, 'notes', ?, 1, 1.0)", (tenant, '{"properties":{"t":{}}}'))
            db.execute(
                "INSERT INTO records VALUES (?, 'notes', ?, ?, 1, 1.0, 1.0, '')", (tenant, mark, f'{{"t":"{mark}"}}')
            )
            db.execute(
                "INSERT INTO records VALUES (?, 'notes', ?, ?, 1, 1.0, 1.0, '')",
                (tenant, f"hidden-{mark}", f'{{"t":"{FOREIGN}","access_deny":["ada"]}}'),
            )
        db.execute("INSERT INTO keepsakes VALUES ('k', ?)", (FOREIGN,))
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        return path.read_bytes()


class Desk:
    """Asks queries of a house that holds rows of two tenants."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.path = folder / "doorward.db"
        if not self.path.exists():
            self.path.write_bytes(_filled())
        self.settings = settings
        self.folder = folder

    def ask(self, sql: str, *params: Any, database: str = "house", limit: int = 1_000, tenant: str = "local") -> Any:
        scope = Scope(tenant, frozenset({"ada"}), Access.ROOT)
        catalogue = CollectionCatalogue(self.folder, self.path, DataSettings(**self.settings), scope, {})
        return user_query.run(catalogue, database, sql, params, limit)

    def rows(self, sql: str, *params: Any, **more: Any) -> list[tuple[Any, ...]]:
        return [tuple(item.values()) for item in self.ask(sql, *params, **more).items]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    before = desk.path.read_bytes()
    yield desk
    assert desk.path.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} <= {"doorward.db", "doorward.db-wal", "doorward.db-shm"}


def test_a_select_sees_the_callers_rows(desk: Desk) -> None:
    assert desk.rows("SELECT id, name FROM rooms") == [("ours", "ours")]
    assert desk.rows("SELECT id, t, version, createdBy, _body FROM notes") == [("ours", "ours", 1, "", '{"t":"ours"}')]
    assert desk.rows("SELECT r.id FROM rooms r JOIN users u ON u.id = r.id WHERE r.id = ?", "ours") == [("ours",)]
    ours = ("recipes", "messages", "executions", "approvals", "audit", "servers", "mcp_servers", "jobs", "nodes")
    for name in (*ours, "mcp_tool_invocations"):
        assert desk.rows(f"SELECT count(*) FROM {name}") == [(0,)]
    assert desk.rows("SELECT id FROM rooms", tenant="other") == [(FOREIGN,)]
    assert desk.rows("SELECT id FROM rooms", tenant="nobody") == []


def test_common_sql_works(desk: Desk) -> None:
    assert desk.rows("WITH x AS (SELECT id FROM rooms) SELECT upper(id), row_number() OVER (ORDER BY id) FROM x") == [
        ("OURS", 1)
    ]
    assert desk.rows("SELECT value FROM json_each('[1, 2]')") == [(1,), (2,)]
    assert desk.rows("SELECT value FROM json_tree('[7]') WHERE type = 'integer'") == [(7,)]
    assert desk.rows("VALUES (1), (2)") == [(1,), (2,)]
    assert desk.rows("SELECT 1 UNION SELECT 2 ORDER BY 1 DESC;") == [(2,), (1,)]
    assert desk.rows(
        "SELECT instr('abc', 'c'), replace('aa', 'a', 'b'), trim('xax', 'x'), ltrim(' a'), 'ab' LIKE 'A_'"
    ) == [(3, "bb", "a", "a", 1)]
    assert desk.rows("SELECT 'abc' REGEXP '^a.c$', instr(x'0102', x'02'), instr(NULL, 'a')") == [(1, 2, None)]
    assert desk.rows(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT sum(i) FROM n"
    ) == [(6,)]
    assert desk.rows("SELECT (SELECT count(*) FROM rooms), EXISTS (SELECT 1 FROM users)") == [(1, 1)]


def test_columns_of_one_name_are_all_kept(desk: Desk) -> None:
    answer = desk.ask("SELECT 1 AS a, 2 AS a, x'00ff' AS b")
    assert answer.columns == ["a", "a_2", "b"]
    assert answer.items == [{"a": 1, "a_2": 2, "b": {"$base64": "AP8="}}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; SELECT 2",
        "SELECT 1; COMMIT; DROP TABLE rooms",
        "COMMIT",
        "BEGIN",
        "ROLLBACK",
        "SAVEPOINT x",
        "RELEASE x",
        "ATTACH 'x.db' AS y",
        "DETACH main",
        "PRAGMA query_only = OFF",
        "PRAGMA database_list",
        "PRAGMA writable_schema = ON",
        "VACUUM",
        "VACUUM INTO 'out.db'",
        "ANALYZE",
        "REINDEX",
        "INSERT INTO rooms (id) VALUES (1)",
        "INSERT INTO rooms (id) VALUES (1) RETURNING id",
        "WITH x AS (SELECT 1) INSERT INTO notes SELECT * FROM x",
        "WITH x AS (SELECT 1) DELETE FROM rooms RETURNING *",
        "UPDATE rooms SET name = 'x' RETURNING name",
        "DELETE FROM rooms",
        "REPLACE INTO rooms (id) VALUES (1)",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x AS SELECT 1",
        "CREATE TEMP VIEW x AS SELECT 1",
        "CREATE TRIGGER x AFTER INSERT ON rooms BEGIN SELECT 1; END",
        "DROP VIEW rooms",
        "ALTER TABLE rooms RENAME TO x",
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT writefile('x', 'y')",
        "SELECT readfile('/etc/passwd')",
        "SELECT sqlite_compileoption_get(1)",
        "SELECT zeroblob(10)",
        "SELECT printf('%.*c', 999999999, 'x')",
        "SELECT format('%.*c', 999999999, 'x')",
        "SELECT json_patch('{}', '{}')",
        "SELECT randomblob(10)",
        "SELECT doorward_redacted('x', '{}')",
        "SELECT doorward_body_rights('{}', '[]', 4)",
        "",
        ";",
        "-- nothing",
        "SELEKT 1",
        "SELECT * FROM nowhere",
        "SELECT ?",
    ],
)
def test_anything_but_one_select_is_refused(desk: Desk, sql: str) -> None:
    with pytest.raises(BadParams, match="SELECT"):
        desk.ask(sql)


HOUSE_TABLES = ["ledger", "tokens", "members", "records", "collections", "keepsakes", "before_images", "results"]
SCHEMA_TABLES = ["sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"]
BUILT_IN = ["dbstat", "sqlite_stmt", "pragma_database_list", "pragma_table_list", "sqlite_dbpage", "fts5vocab"]


def attempts(table: str) -> list[str]:
    """Ways to read a table that is not one of the views, some of them known to pass SQLite's authorizer."""
    return [
        f"SELECT * FROM {table}",
        f"SELECT count(*) FROM {table}",
        f"SELECT EXISTS (SELECT 1 FROM {table})",
        f"SELECT 1 FROM rooms, {table}",
        f"SELECT rowid FROM {table}",
        f"WITH rooms AS (SELECT * FROM {table}) SELECT * FROM rooms",
        f"WITH audit AS (SELECT * FROM {table}) SELECT * FROM audit",
        f"SELECT * FROM (SELECT * FROM {table}) AS rooms",
        f"SELECT * FROM (SELECT * FROM {table} AS rooms) AS rooms",
        f"WITH x AS (SELECT * FROM {table}), rooms AS (SELECT * FROM x) SELECT * FROM rooms",
        f"SELECT id FROM (SELECT 'x' AS id) FULL JOIN {table} USING (id)",
        f"SELECT name FROM (SELECT 'x' AS name) FULL JOIN {table} USING (name)",
        f"SELECT tenant FROM (SELECT 'x' AS tenant) FULL JOIN {table} USING (tenant)",
        f"SELECT sql FROM (SELECT 'x' AS sql) FULL JOIN {table} USING (sql)",
        f"SELECT * FROM (SELECT 'x' AS body) NATURAL FULL JOIN {table}",
        f"SELECT count(*) FROM (SELECT '{FOREIGN}' AS id) JOIN {table} USING (id)",
        f"SELECT * FROM rooms WHERE id IN (SELECT id FROM {table})",
        f"SELECT * FROM rooms WHERE id IN {table}",
        f"SELECT max(id) OVER (PARTITION BY id) FROM {table}",
    ]


@pytest.mark.parametrize("schema", ["", "main.", "temp."])
@pytest.mark.parametrize("table", [*HOUSE_TABLES, *SCHEMA_TABLES, *BUILT_IN])
def test_nothing_behind_the_views_can_be_read(desk: Desk, table: str, schema: str) -> None:
    for sql in attempts(schema + table):
        try:
            shown = [tuple(item.values()) for item in desk.ask(sql).items]
        except (BadParams, Unreachable, CommandFailed):
            continue
        # A table's plain name finds an empty view, and SQLite's own tables are empty: only the made-up row is left.
        assert set(shown) <= {("x",), (0,), (0, 0), ("x", None)}, sql


def test_a_name_like_a_view_opens_no_base_table(desk: Desk) -> None:
    for sql in (
        "WITH rooms AS (SELECT * FROM tokens) SELECT * FROM rooms",
        "WITH rooms(a) AS (SELECT count(*) FROM ledger) SELECT * FROM rooms",
        "WITH notes AS (SELECT * FROM records) SELECT * FROM notes",
        "SELECT * FROM main.rooms",
        "SELECT * FROM house.rooms",
    ):
        try:
            told = str(desk.ask(sql))
        except BadParams as refusal:
            told = str(refusal)
        assert FOREIGN not in told, sql


def test_sqlite_would_have_told_without_the_made_up_names(desk: Desk) -> None:
    """The reason for the shape of the seal: USING reads a column without asking the authorizer."""
    db = sqlite3.connect(desk.path)
    asked: list[str | None] = []

    def authorize(action: int, first: str | None, *rest: str | None) -> int:
        asked.append(first if action == sqlite3.SQLITE_READ else None)
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_READ else sqlite3.SQLITE_OK

    db.set_authorizer(authorize)
    found = db.execute("SELECT id FROM (SELECT 'x' AS id) FULL JOIN tokens USING (id)").fetchall()
    db.close()
    assert (FOREIGN,) in found
    assert "tokens" not in asked


def test_made_up_names_are_new_for_every_query(desk: Desk) -> None:
    plans = [str(desk.rows("EXPLAIN QUERY PLAN SELECT * FROM rooms")) for _ in range(2)]
    assert plans[0] != plans[1]


def test_other_tenants_and_denied_records_are_nowhere(desk: Desk) -> None:
    for sql in (
        "SELECT * FROM rooms",
        "SELECT * FROM users WHERE 1 OR 1",
        "SELECT * FROM notes",
        "SELECT * FROM rooms WHERE 1 = 1 OR 'other' = 'other'",
        "SELECT * FROM notes LEFT JOIN rooms ON 1",
        "SELECT group_concat(id) FROM (SELECT id FROM rooms UNION ALL SELECT id FROM notes)",
    ):
        assert FOREIGN not in str(desk.ask(sql))
    assert desk.rows("SELECT count(*) FROM notes") == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT max(i) FROM n",
        "WITH d(i) AS (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) SELECT count(*) FROM d a, d b, d c, d e, d f,"
        " d g, d h, d i, d j, d k",
        "WITH RECURSIVE n(s) AS (SELECT 'x' UNION ALL SELECT substr(s || s, 1, 400000) FROM n)"
        " SELECT sum(length(s)) FROM n",
    ],
)
def test_endless_work_is_stopped_by_the_clock(tmp_path: Path, sql: str) -> None:
    desk = Desk(tmp_path, query_seconds=0.2)
    with pytest.raises(TimedOut, match=r"stopped after 0\.2 s"):
        desk.ask(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT replace(?1, 'x', 'yyyy')",
        "SELECT replace(?1, 'x', ?1)",
        "SELECT hex(?1)",
        "SELECT ?1 || ?1",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100) SELECT group_concat(?1) FROM n",
    ],
)
def test_a_value_cannot_grow_without_bound(desk: Desk, sql: str) -> None:
    with pytest.raises((CommandFailed, BadParams)):
        desk.ask(sql, "x" * 900_000)


def test_searching_one_long_text_in_another_is_quick(desk: Desk) -> None:
    """SQLite's own instr, replace and trim take the product of both lengths, and nothing can interrupt them."""
    sql = "SELECT instr(?1, ?2), length(replace(?1, ?2, '')), length(trim(?1, ?2))"
    assert desk.rows(sql, "a" * 900_000, "a" * 400_000 + "b") == [(0, 900_000, 0)]


def test_an_expression_cannot_nest_without_bound(desk: Desk) -> None:
    for sql in (f"SELECT {'(' * 5_000}1{')' * 5_000}", f"SELECT 1 {'+ 1 ' * 5_000}", f"SELECT {'1,' * 500}1"):
        with pytest.raises(BadParams):
            desk.ask(sql)
    with pytest.raises(BadParams, match="100000 characters"):
        desk.ask(f"SELECT '{'x' * 100_001}'")
    with pytest.raises(BadParams, match="without NUL"):
        desk.ask("SELECT 1\x00")
    with pytest.raises(BadParams):
        desk.ask("SELECT '\ud800'")


def test_rows_and_bytes_are_limited_and_the_answer_says_so(tmp_path: Path) -> None:
    many = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT i, '{'x' * 100}' FROM n"
    answer = Desk(tmp_path, query_rows=20).ask(many)
    assert (len(answer.items), answer.more) == (20, True)
    answer = Desk(tmp_path).ask(many, limit=7)
    assert (len(answer.items), answer.more) == (7, True)
    answer = Desk(tmp_path).ask(many)
    assert (len(answer.items), answer.more) == (500, False)
    answer = Desk(tmp_path, query_bytes=1_100).ask(many)
    assert (len(answer.items), answer.more) == (10, True)
    with pytest.raises(CommandFailed, match="first row alone is larger than 50 bytes"):
        Desk(tmp_path, query_bytes=50).ask(many)


def test_parameters_are_bound(desk: Desk) -> None:
    assert desk.rows("SELECT ?, ?, ?, ?, ?", "a' OR 1=1", 5, 1.5, None, True) == [("a' OR 1=1", 5, 1.5, None, 1)]
    for wrong in ([], {}, 2**70, float("inf"), "\ud800"):
        with pytest.raises(BadParams):
            desk.ask("SELECT ?", wrong)


def test_an_attached_database_is_sealed_the_same_way(tmp_path: Path) -> None:
    shop = tmp_path / "shop.db"
    with sqlite3.connect(shop) as db:
        db.executescript(
            f"""
            CREATE TABLE orders (no INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT, access_deny TEXT);
            CREATE TABLE plain (a TEXT, b TEXT);
            INSERT INTO plain VALUES ('x', 'y');
            CREATE VIEW everything AS SELECT * FROM orders;
            CREATE VIRTUAL TABLE words USING fts5(body);
            INSERT INTO words VALUES ('{FOREIGN}');
            INSERT INTO orders (item, access_deny) VALUES ('pen', NULL), ('{FOREIGN}', '["ada"]'), ('ink', 'no json');
            CREATE INDEX by_item ON orders (item);
            ANALYZE;
            """
        )
    db.close()
    desk = Desk(tmp_path, databases={"shop": f"sqlite:///{shop}"})
    assert desk.rows("SELECT * FROM orders", database="shop") == [(1, "pen", None)]
    assert desk.rows("SELECT count(*) FROM orders", database="shop") == [(1,)]
    assert desk.rows("SELECT count(*) FROM plain", database="shop") == [(1,)]
    assert desk.rows("SELECT * FROM plain", database="shop") == [(1, "x", "y")]
    hidden = ["everything", "words", "words_content", "words_data", "sqlite_sequence", "sqlite_stat1", "sqlite_stat4"]
    for table in [*hidden, *SCHEMA_TABLES, "main.orders", "orders.orders", "house.rooms", "rooms"]:
        for sql in [*attempts(table), f"SELECT tbl FROM (SELECT 'x' AS tbl) FULL JOIN {table} USING (tbl)"]:
            try:
                shown = desk.rows(sql, database="shop")
            except (BadParams, Unreachable, CommandFailed):
                continue
            assert set(shown) <= {("x",), (0,), (0, 0), ("x", None)}, sql
    with pytest.raises(NotFound, match="no database 'shop'; there are: house"):
        desk.ask("SELECT * FROM orders", database="shop", tenant="other")
    with pytest.raises(NotFound, match="no database 'nope'; there are: house, shop"):
        desk.ask("SELECT 1", database="nope")
