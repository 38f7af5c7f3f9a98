"""mcp/import: take servers over from the files of MCP clients, with what each may reach decided and said."""

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
"""How much of an id stays when a number is put behind it."""


class Source(TypedDict):
    """One file of a client. Names are keys here, so that the record can tell them and hide the rest."""

    file: Annotated[str, Meta(description="The file that these come from", max_length=4_096)]
    client: Annotated[str, Meta(description="The client, such as cursor; empty when that is not known", max_length=40)]
    servers: Annotated[dict[str, dict[str, Any]], Meta(description="Name to entry, as the client's file has it")]


class _Given(NamedTuple):
    name: str
    entry: dict[str, Any]
    client: str
    file: str


class Planned(TypedDict):
    id: str
    name: str
    file: Annotated[str, Meta(description="The client's file that it comes from")]
    entry: Annotated[dict[str, Any], Meta(description="Its entry here; of variables and headers only the names")]
    reads: Annotated[list[str], Meta(description="What its process may read beside the system's programs")]
    writes: Annotated[list[str], Meta(description="What its process may change beside a folder of its own")]
    network: Annotated[bool, Meta(description="Whether its process may use the network, or it is there itself")]
    variables: Annotated[list[str], Meta(description="Variables whose values it is given from where Doorward runs")]
    notes: Annotated[list[str], Meta(description="What a person should know before saying yes")]


class Skipped(TypedDict):
    name: str
    file: str
    why: str


class Imported(TypedDict):
    items: Annotated[list[Planned], Meta(description="What is added, with what each may reach")]
    skipped: Annotated[list[Skipped], Meta(description="What is not, and why")]
    file: Annotated[str, Meta(description="The file that has them")]


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
            "take over the time server of another client",
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
    sources: Annotated[list[Source], Meta(description="The servers as clients have them", max_length=100)],
    names: Annotated[list[str], Meta(description="Which of them; empty for all", max_length=1_000)] = [],  # noqa: B006
) -> Imported:
    """Add servers from the files of MCP clients. None that is there already is touched.

    Each may read what its arguments name, and nothing else, until somebody says otherwise; its tools need approval.
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
                raise BadParams(f"There is no server {shortened(name)} to import; there are: {there}.")
        self._given = [one for one in given if not names or one.name in names]
        self._items: list[Planned] = []
        self._skipped: list[Skipped] = []

    def added(self, text: str | None) -> str | None:
        """The text with all of them that can be added."""
        self._items, self._skipped = [], []
        before = set(editing.ids(text))
        taken: dict[str, dict[str, Any]] = {}
        for one in self._given:
            found = as_ours(one.name, one.entry, client=one.client, file=one.file)
            entry, notes = self._within_reach(found.entry)
            why = found.skipped
            id = found.id
            if not why and id in before:
                why = f"there is a server {id} already, which stays as it is"
            elif not why and entry in taken.values():
                why = f"it is the same as {next(key for key, held in taken.items() if held == entry)}, which is added"
            elif not why and id in taken:
                id = _another(id, {*before, *taken})
                notes = [*notes, f"another server in this import is called {found.id}, so this one is {id}"]
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
        """What an entry lacks to be used; BadServers says what is wrong with it by our own rules.

        Each is looked at by itself, so that one bad entry does not spoil the others.
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
    """The same id with the first number behind it that nobody has."""
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
