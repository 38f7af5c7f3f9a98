"""`doorward data`: read collections."""

from __future__ import annotations

from typing import Any

import click

from doorward.cli.local_client import json_option, run_as_owner
from doorward.core import strictjson


class JsonText(click.ParamType[Any]):
    """An option whose value is strict JSON."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return strictjson.loads(value)
        except strictjson.NotJson as error:
            self.fail(f"{error}; given {value[:80]!r}", param, ctx)


FILTER = click.option(
    "--filter", "filter_", type=JsonText(), help='Filter as JSON, such as \'{"name": {"$contains": "gen"}}\'.'
)


@click.group("data")
def command() -> None:
    """Read collections of data, as yourself."""


@command.command()
@click.argument("collection", required=False)
@json_option
def describe(collection: str | None, as_json: bool) -> None:
    """List the collections, or describe the fields of one."""
    run_as_owner("data/describe", as_json, collection=collection)


@command.command("list")
@click.argument("collection")
@FILTER
@click.option("--order-by", help="Field to sort by, such as name, or -createdAt for newest first.")
@click.option("--limit", type=int, help="Maximum number of records.")
@json_option
def list_(collection: str, filter_: Any, order_by: str | None, limit: int | None, as_json: bool) -> None:
    """List the records of a collection."""
    run_as_owner("data/list", as_json, collection=collection, filter=filter_, orderBy=order_by, limit=limit)


@command.command()
@click.argument("collection")
@click.argument("id")
@json_option
def read(collection: str, id: str, as_json: bool) -> None:
    """Show one record."""
    run_as_owner("data/read", as_json, collection=collection, id=id)


@command.command()
@click.argument("collection")
@FILTER
@json_option
def count(collection: str, filter_: Any, as_json: bool) -> None:
    """Count the records of a collection."""
    run_as_owner("data/count", as_json, collection=collection, filter=filter_)


@command.command()
@click.argument("sql")
@click.option("--database", help="One of your own databases. By default, Doorward's collections.")
@json_option
def query(sql: str, database: str | None, as_json: bool) -> None:
    """Run one read-only SELECT statement."""
    run_as_owner("data/query", as_json, sql=sql, database=database)
