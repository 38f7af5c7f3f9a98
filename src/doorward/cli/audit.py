"""`doorward audit`: read, export and verify the ledger. Reading needs no server and no lock."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from doorward.cli import report
from doorward.cli.local_client import json_option
from doorward.config.home import Home, HomeLock
from doorward.config.settings import find_home_folder
from doorward.core.errors import NotFound, Unusable
from doorward.core.escape_invisible import to_storable
from doorward.store.ledger import queries as sql
from doorward.store.ledger.checkpoints import LedgerPaths
from doorward.store.ledger.record import COLUMNS, Record, origin_of, record_from_row
from doorward.store.ledger.segments import read_segment
from doorward.store.ledger.verification import verify
from doorward.store.sqlite import open_for_reading
from doorward.store.storage_errors import unusable


@click.group("audit")
def command() -> None:
    """Read, export and verify the ledger: the record of every request."""


@command.command()
@click.option(
    "-n", "--lines", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Number of records."
)
@click.option("-f", "--follow", is_flag=True, help="Show new records as they are written, until Ctrl-C.")
@json_option
def tail(lines: int, follow: bool, as_json: bool) -> None:
    """Show the newest records."""
    with _open_ledger() as db:
        records = [_decode_record(row) for row in sql.newest(db, lines)]
        _print_records(records, as_json)
        while follow:
            time.sleep(0.3)
            last = records[-1].seq if records else 0
            newer = [_decode_record(row) for row in sql.newest(db, 1_000, after=last)]
            records = newer or records
            _print_records(newer, as_json)


@command.command()
@click.argument("which", metavar="EXECUTION|NUMBER")
@json_option
def show(which: str, as_json: bool) -> None:
    """Show the records of an execution, or one record by its number."""
    with _open_ledger() as db:
        rows = (
            sql.by_seq(db, int(which)) if which.isdecimal() and len(which) < 16 else sql.of_call(db, to_storable(which))
        )
    if not rows:
        raise NotFound(f"There is no record {which!r}; give an execution's id or a record's number.")
    for row in rows:
        shown = _record_fields(_decode_record(row))
        if as_json or not sys.stdout.isatty():
            click.echo(msgspec.json.encode(shown).decode())
        else:
            report.show_result(shown)
            click.echo()


@command.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of standard output.",
)
def export(output: Path | None) -> None:
    """Export every record as one line of JSON, archived records included."""
    paths = LedgerPaths.of(find_home_folder())
    with _open_ledger() as db, click.open_file(str(output or "-"), "w") as out:
        for segment in sql.segments(db):
            if segment["deleted"]:
                which = f"{segment['first']} to {segment['last']}"
                click.echo(f"The archived records {which} were deleted by the setting ledger.keep_days.", err=True)
                continue
            for row in read_segment(paths.segments / Path(segment["file"]).name):
                out.write(_encode_row(row))
        for row in sql.rows(db):
            out.write(_encode_row(row))


@command.command("verify")
@json_option
@click.pass_context
def verify_(ctx: click.Context, as_json: bool) -> None:
    """Check that no record was changed, removed, reordered or truncated."""
    with _open_ledger():
        pass
    found = verify(LedgerPaths.of(find_home_folder()), Home(find_home_folder()).load_key())
    if as_json or not sys.stdout.isatty():
        click.echo(msgspec.json.encode(found).decode())
    elif not found.broken:
        good = click.style("verified", fg="green", bold=True)
        click.echo(
            f"{good}  {found.records} records, {found.checkpoints} checkpoints, {found.segments} archived segments"
        )
        for deleted in found.deleted:
            click.echo(f"deleted   {deleted}, by the setting ledger.keep_days")
    if found.broken:
        report.print_error("failed", "tampered", f"The ledger does not verify: {found.broken}.")
    ctx.exit(1 if found.broken else 0)


@command.command()
@click.option(
    "--keep",
    type=click.IntRange(0),
    default=100_000,
    show_default=True,
    help="Number of records to keep in the database.",
)
def rotate(keep: int) -> None:
    """Move old records to an archive file that still verifies.

    A running server rotates by itself, so this needs the server to be stopped.
    """
    from doorward.app import open_house  # noqa: PLC0415 - the other subcommands only read

    home = Home(find_home_folder())

    async def move() -> Path | None:
        async with open_house(home) as house:
            return await house.ledger_maintainer.rotate(keep)

    with HomeLock(home) as lock:
        if not lock.take():
            raise lock.busy_error()
        file = asyncio.run(move())
    click.echo(f"Moved to {file}." if file else "Nothing to move.")


@contextlib.contextmanager
def _open_ledger() -> Iterator[sqlite3.Connection]:
    home = Home(find_home_folder())
    if not home.database.exists():
        raise Unusable(f"There is no ledger in {home.path} yet.", hint="Create one with: doorward init")
    with contextlib.closing(open_for_reading(home.database)) as db:
        try:
            yield db
        except sqlite3.Error as error:
            raise unusable(error, home.database) from error


def _decode_record(row: tuple[Any, ...]) -> Record:
    try:
        return record_from_row(row)
    except msgspec.ValidationError as error:
        raise Unusable(f"Record {row[0]} is damaged: {error}.", hint="See: doorward audit verify") from error


def _encode_row(row: tuple[Any, ...]) -> str:
    """Encode a row exactly as stored, so that an export of a damaged ledger shows the damage."""
    return msgspec.json.encode(dict(zip(COLUMNS, row, strict=True))).decode() + "\n"


def _record_fields(record: Record) -> dict[str, object]:
    return {**record.as_dict(), "time": _format_time(record)}


def _print_records(records: list[Record], as_json: bool) -> None:
    if as_json or not sys.stdout.isatty():
        for record in records:
            click.echo(msgspec.json.encode(_record_fields(record)).decode())
        return
    colours = {"done": "green", "started": "cyan", "parked": "yellow", "expired": "yellow"}
    for record in records:
        entry = record.entry
        status = click.style(f"{entry.status:8}", fg=colours.get(entry.status, "red"))
        who = f"{entry.caller}{f' for {entry.behalf}' if entry.behalf else ''}"
        where = f" in {entry.room}" if entry.room else ""
        code = f" ({entry.code})" if entry.code not in ("", "ok") else ""
        line = f"{record.seq:>6} {_format_time(record)} {status} {entry.command}{code}  {who}{where}  {entry.call}"
        click.echo(f"{line} {origin_of(entry.note)}".rstrip())


def _format_time(record: Record) -> str:
    return datetime.fromtimestamp(record.entry.at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
