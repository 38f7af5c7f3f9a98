"""The command mcp/import: add servers from the configuration files of MCP clients, with inferred grants."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, NamedTuple, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.servers.family import family
from doorward.commands.servers.server_file import (
    KIND,
    change_file,
    check_text,
    decode_text,
    describe_entry,
    describe_error,
)
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Undo, shorten
from doorward.core.errors import BadParams
from doorward.upstream import inferred_grants, server_entry
from doorward.upstream.client_conversion import convert_entry
from doorward.upstream.server_file import BadServerFile
from doorward.upstream.variables import find_variable_names

_KEPT_ID_LENGTH = 27
"""The number of characters of an id that stay when a number is appended."""


class ClientFile(TypedDict):
    """One file of a client. The names are keys, so that the ledger can show them and redact the rest."""

    file: Annotated[str, Meta(description="The path of the client's file", max_length=4_096)]
    client: Annotated[str, Meta(description="The client, such as cursor; empty if unknown", max_length=40)]
    servers: Annotated[dict[str, dict[str, Any]], Meta(description="The entries of the client's file, by server name")]


class _ClientServer(NamedTuple):
    name: str
    entry: dict[str, Any]
    client: str
    file: str


class ImportedServer(TypedDict):
    id: str
    name: str
    file: Annotated[str, Meta(description="The client's file that it comes from")]
    entry: Annotated[dict[str, Any], Meta(description="Its entry; variables and headers by name only")]
    reads: Annotated[list[str], Meta(description="Paths its process may read, besides the system's programs")]
    writes: Annotated[list[str], Meta(description="Paths its process may change, besides its own folder")]
    network: Annotated[bool, Meta(description="Whether its process may use the network, or it is remote")]
    variables: Annotated[list[str], Meta(description="Variables it gets from Doorward's environment")]
    notes: Annotated[list[str], Meta(description="Notes for the person who imports it")]


class SkippedServer(TypedDict):
    name: str
    file: str
    why: str


class ImportResult(TypedDict):
    items: Annotated[list[ImportedServer], Meta(description="The added servers, with their grants")]
    skipped: Annotated[list[SkippedServer], Meta(description="The servers that were not added, and why")]
    file: Annotated[str, Meta(description="The server file")]


@family.command(
    "import",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=20,
    undo=Undo(KIND),
    examples=[
        Example(
            "import the time server of another client",
            {
                "names": ["time"],
                "sources": [
                    {
                        "file": "claude_desktop_config.json",
                        "client": "claude-desktop",
                        "servers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}},
                    }
                ],
            },
        )
    ],
    related=["mcp/add"],
    humans_only=True,
    server_wide=True,
    secret=("sources",),
    widens_access=True,
)
async def import_(
    ctx: Context,
    sources: Annotated[list[ClientFile], Meta(description="The files of clients with their servers", max_length=100)],
    names: Annotated[list[str], Meta(description="The servers to import; empty for all", max_length=1_000)] = [],  # noqa: B006
) -> ImportResult:
    """Import servers from the files of MCP clients. Existing servers stay unchanged.

    An imported server may read only the paths in its arguments, until you grant more. Calls of its tools need approval.
    """
    plan = _ImportPlan(ctx, sources, names)
    await change_file(ctx, plan.add_to)
    return plan.result()


@import_.describes_effect
async def import_effect(ctx: Context, sources: list[ClientFile], names: list[str] | None = None) -> ImportResult:
    plan = _ImportPlan(ctx, sources, names or [])
    check_text(ctx, plan.add_to(decode_text(await ctx.services.servers.text())))
    return plan.result()


class _ImportPlan:
    def __init__(self, ctx: Context, sources: list[ClientFile], names: list[str]) -> None:
        self._ctx = ctx
        given = [
            _ClientServer(name, entry, source["client"], source["file"])
            for source in sources
            for name, entry in source["servers"].items()
        ]
        known = {one.name for one in given}
        for name in names:
            if name not in known:
                there = ", ".join(sorted(known)) or "none"
                raise BadParams(f"There is no server {shorten(name)} to import. Servers: {there}.")
        self._given = [one for one in given if not names or one.name in names]
        self._items: list[ImportedServer] = []
        self._skipped: list[SkippedServer] = []

    def add_to(self, text: str | None) -> str | None:
        """Add all servers that can be added to the text."""
        self._items, self._skipped = [], []
        before = set(server_entry.list_ids(text))
        taken: dict[str, dict[str, Any]] = {}
        for one in self._given:
            found = convert_entry(one.name, one.entry, client=one.client, file=one.file)
            entry, notes = self._with_grants(found.entry)
            why = found.skipped
            id = found.id
            if not why and id in before:
                why = f"a server {id} already exists and stays unchanged"
            elif not why and entry in taken.values():
                why = f"it is the same as {next(key for key, held in taken.items() if held == entry)}, which is added"
            elif not why and id in taken:
                id = _free_id(id, {*before, *taken})
                notes = [*notes, f"another server in this import is named {found.id}, so this one becomes {id}"]
            try:
                problem = "" if why else self._problem(id, entry)
            except BadServerFile as error:
                why = describe_error(error)
            if why:
                self._skipped.append({"name": one.name, "file": one.file, "why": why})
                continue
            text = server_entry.add_server(text, id, entry)
            taken[id] = entry
            lacks = [problem] if problem else []
            self._items.append(_describe_import(id, one, entry, [*found.notes, *notes, *lacks]))
        return text

    def result(self) -> ImportResult:
        return {"items": self._items, "skipped": self._skipped, "file": str(self._ctx.services.servers.file)}

    def _problem(self, id: str, entry: dict[str, Any]) -> str:
        """What an entry lacks to be usable. Raise BadServerFile if it is invalid.

        Each entry is checked alone, so that a bad entry does not affect the others.
        """
        (alone,) = self._ctx.services.servers.parse(server_entry.add_server(None, id, entry).encode()).servers
        return alone.lacks

    def _with_grants(self, entry: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        if "command" not in entry:
            return entry, inferred_grants.check_url(entry.get("url", ""))
        home, environment = self._ctx.services.home, self._ctx.services.servers.environment
        absent = inferred_grants.check_program(entry, environment)
        if "sandbox" in entry:
            return entry, absent
        found = inferred_grants.infer_grants(entry, home, environment)
        sandbox = {"read": list(found.read), "network": found.network}
        return {**entry, "sandbox": {key: value for key, value in sandbox.items() if value}}, [*absent, *found.notes]


def _free_id(id: str, taken: set[str]) -> str:
    """The id with the first free number appended."""
    return next(other for number in itertools.count(2) if (other := f"{id[:_KEPT_ID_LENGTH]}-{number}") not in taken)


def _describe_import(id: str, given: _ClientServer, entry: dict[str, Any], notes: list[str]) -> ImportedServer:
    sandbox = entry.get("sandbox", {})
    return {
        "id": id,
        "name": given.name,
        "file": given.file,
        "entry": describe_entry(entry),
        "reads": sandbox.get("read", []),
        "writes": sandbox.get("write", []),
        "network": sandbox.get("network", False) or "url" in entry,
        "variables": list(dict.fromkeys(find_variable_names(entry))),
        "notes": notes,
    }
