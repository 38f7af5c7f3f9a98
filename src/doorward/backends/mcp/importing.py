"""The command mcp/import: add servers from the configuration files of MCP clients, with inferred grants."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, NamedTuple, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.changing import KIND, change, checked, decoded, told, within
from doorward.backends.mcp.family import family
from doorward.command import Example, Undo, shortened
from doorward.errors import BadParams
from doorward.facts import Access, Effects, Safety, Tier
from doorward.upstream import editing, reach
from doorward.upstream.conversion import as_ours
from doorward.upstream.parse import BadServers
from doorward.upstream.variables import names_in

_ROOM = 27
"""The number of characters of an id that stay when a number is appended."""


class Source(TypedDict):
    """One file of a client. The names are keys, so that the ledger can show them and redact the rest."""

    file: Annotated[str, Meta(description="The path of the client's file", max_length=4_096)]
    client: Annotated[str, Meta(description="The client, such as cursor; empty if unknown", max_length=40)]
    servers: Annotated[dict[str, dict[str, Any]], Meta(description="The entries of the client's file, by server name")]


class _Given(NamedTuple):
    name: str
    entry: dict[str, Any]
    client: str
    file: str


class Planned(TypedDict):
    id: str
    name: str
    file: Annotated[str, Meta(description="The client's file that it comes from")]
    entry: Annotated[dict[str, Any], Meta(description="Its entry; variables and headers by name only")]
    reads: Annotated[list[str], Meta(description="Paths its process may read, besides the system's programs")]
    writes: Annotated[list[str], Meta(description="Paths its process may change, besides its own folder")]
    network: Annotated[bool, Meta(description="Whether its process may use the network, or it is remote")]
    variables: Annotated[list[str], Meta(description="Variables it gets from Doorward's environment")]
    notes: Annotated[list[str], Meta(description="Notes for the person who imports it")]


class Skipped(TypedDict):
    name: str
    file: str
    why: str


class Imported(TypedDict):
    items: Annotated[list[Planned], Meta(description="The added servers, with their grants")]
    skipped: Annotated[list[Skipped], Meta(description="The servers that were not added, and why")]
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
    house_wide=True,
    secret=("sources",),
)
async def import_(
    ctx: Context,
    sources: Annotated[list[Source], Meta(description="The files of clients with their servers", max_length=100)],
    names: Annotated[list[str], Meta(description="The servers to import; empty for all", max_length=1_000)] = [],  # noqa: B006
) -> Imported:
    """Import servers from the files of MCP clients. Existing servers stay unchanged.

    An imported server may read only the paths in its arguments, until you grant more. Calls of its tools need approval.
    """
    plan = _Plan(ctx, sources, names)
    await change(ctx, plan.added)
    return plan.told()


@import_.shows_effect
async def import_effect(ctx: Context, sources: list[Source], names: list[str] | None = None) -> Imported:
    plan = _Plan(ctx, sources, names or [])
    checked(ctx, plan.added(decoded(await ctx.house.servers.text())))
    return plan.told()


class _Plan:
    def __init__(self, ctx: Context, sources: list[Source], names: list[str]) -> None:
        self._ctx = ctx
        given = [
            _Given(name, entry, source["client"], source["file"])
            for source in sources
            for name, entry in source["servers"].items()
        ]
        known = {one.name for one in given}
        for name in names:
            if name not in known:
                there = ", ".join(sorted(known)) or "none"
                raise BadParams(f"There is no server {shortened(name)} to import. Servers: {there}.")
        self._given = [one for one in given if not names or one.name in names]
        self._items: list[Planned] = []
        self._skipped: list[Skipped] = []

    def added(self, text: str | None) -> str | None:
        """Add all servers that can be added to the text."""
        self._items, self._skipped = [], []
        before = set(editing.ids(text))
        taken: dict[str, dict[str, Any]] = {}
        for one in self._given:
            found = as_ours(one.name, one.entry, client=one.client, file=one.file)
            entry, notes = self._within_reach(found.entry)
            why = found.skipped
            id = found.id
            if not why and id in before:
                why = f"a server {id} already exists and stays unchanged"
            elif not why and entry in taken.values():
                why = f"it is the same as {next(key for key, held in taken.items() if held == entry)}, which is added"
            elif not why and id in taken:
                id = _another(id, {*before, *taken})
                notes = [*notes, f"another server in this import is named {found.id}, so this one becomes {id}"]
            try:
                problem = "" if why else self._problem(id, entry)
            except BadServers as error:
                why = within(error)
            if why:
                self._skipped.append({"name": one.name, "file": one.file, "why": why})
                continue
            text = editing.added(text, id, entry)
            taken[id] = entry
            lacks = [problem] if problem else []
            self._items.append(_planned(id, one, entry, [*found.notes, *notes, *lacks]))
        return text

    def told(self) -> Imported:
        return {"items": self._items, "skipped": self._skipped, "file": str(self._ctx.house.servers.file)}

    def _problem(self, id: str, entry: dict[str, Any]) -> str:
        """What an entry lacks to be usable. Raise BadServers if it is invalid.

        Each entry is checked alone, so that a bad entry does not affect the others.
        """
        (alone,) = self._ctx.house.servers.parsed(editing.added(None, id, entry).encode()).servers
        return alone.lacks

    def _within_reach(self, entry: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        if "command" not in entry:
            return entry, reach.about_address(entry.get("url", ""))
        home, environment = self._ctx.house.home, self._ctx.house.servers.environment
        absent = reach.about_program(entry, environment)
        if "sandbox" in entry:
            return entry, absent
        found = reach.wanted(entry, home, environment)
        sandbox = {"read": list(found.read), "network": found.network}
        return {**entry, "sandbox": {key: value for key, value in sandbox.items() if value}}, [*absent, *found.notes]


def _another(id: str, taken: set[str]) -> str:
    """The id with the first free number appended."""
    return next(other for number in itertools.count(2) if (other := f"{id[:_ROOM]}-{number}") not in taken)


def _planned(id: str, given: _Given, entry: dict[str, Any], notes: list[str]) -> Planned:
    sandbox = entry.get("sandbox", {})
    return {
        "id": id,
        "name": given.name,
        "file": given.file,
        "entry": told(entry),
        "reads": sandbox.get("read", []),
        "writes": sandbox.get("write", []),
        "network": sandbox.get("network", False) or "url" in entry,
        "variables": list(dict.fromkeys(names_in(entry))),
        "notes": notes,
    }
