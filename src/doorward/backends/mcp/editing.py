"""mcp/add, remove, enable and disable: people change which servers there are.

Each changes the text of the file and leaves the rest of it alone, so that what people wrote there by hand stays as they
wrote it; `undo` brings the former text back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.changing import KIND, change, checked, decoded, told
from doorward.backends.mcp.family import family
from doorward.command import Example, Undo, shortened
from doorward.errors import BadParams
from doorward.facts import Access, Effects, Safety, Tier
from doorward.upstream import editing, reach
from doorward.upstream.entry import as_id
from doorward.upstream.plain import in_plain

Id = Annotated[str, Meta(description="The server's id", max_length=200)]
Words = Annotated[list[str], Meta(description="The words behind the program, one by one", max_length=500)]
Texts = dict[str, str]
Paths = list[Annotated[str, Meta(min_length=1, max_length=4_096)]]
Patterns = list[Annotated[str, Meta(min_length=1, max_length=256)]]


_LONGEST_ID = 31
_ID = re.compile(rf"[a-z][a-z0-9_-]{{0,{_LONGEST_ID - 1}}}")

State = Literal["added", "removed", "enabled", "disabled"]


class Changed(TypedDict):
    id: str
    now: State
    file: Annotated[str, Meta(description="The file that says so")]
    changed: Annotated[bool, Meta(description="Whether the file is another now, which can be undone")]
    notes: Annotated[list[str], Meta(description="What a person should know of it")]


@family.command(
    "add",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=10,
    undo=Undo(KIND),
    examples=[
        Example(
            "let AIs read the notes through the reference file server",
            {
                "id": "notes",
                "command": "npx",
                "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/notes"],
                "read": ["/srv/notes"],
                "network": True,
            },
        ),
        Example("a server on the network", {"id": "search", "url": "https://search.example/mcp"}),
    ],
    humans_only=True,
    house_wide=True,
    secret=("env", "headers", "auth"),
)
async def add(
    ctx: Context,
    id: Id,
    name: Annotated[str, Meta(description="What people call it; by default its id", max_length=100)] = "",
    command: Annotated[str, Meta(description="The program that is started", max_length=4_096)] = "",
    args: Words = [],  # noqa: B006 - never changed
    env: Annotated[Texts, Meta(description="More environment variables; write secrets as ${NAME}")] = {},  # noqa: B006
    url: Annotated[str, Meta(description="The address of a server on the network", max_length=4_096)] = "",
    headers: Annotated[Texts, Meta(description="More headers for each request")] = {},  # noqa: B006
    auth: Annotated[dict[str, str] | None, Meta(description="How Doorward shows an address who it is")] = None,
    read: Annotated[Paths, Meta(description="Absolute paths that its process may read")] = [],  # noqa: B006
    write: Annotated[Paths, Meta(description="Absolute paths that its process may change")] = [],  # noqa: B006
    network: Annotated[bool, Meta(description="Whether its process may use the network")] = False,
    tier: Annotated[
        Literal["information", "visual", "code", "application", "system"], Meta(description="The tier of its tools")
    ] = "system",
    tools: Annotated[Patterns, Meta(description="The only tools that are offered; by default all")] = [],  # noqa: B006
    auto_approve: Annotated[Patterns, Meta(description="Tools whose calls need no approval")] = [],  # noqa: B006
) -> Changed:
    """Add a server to those that Doorward connects to. Its tools need approval unless they are named here."""
    sandbox = {"read": read, "write": write, "network": network}
    address = {"url": url, "headers": headers, "auth": auth}
    terms = {"tier": tier, "tools": tools, "auto_approve": auto_approve}
    entry = _entry({"name": name, "command": command, "args": args, "env": env, **address, **sandbox, **terms})
    _check(id)
    changed = await change(ctx, lambda text: editing.added(text, id, entry))
    return _changed(ctx, id, "added", changed, [*_notes(ctx, entry), *_problems(ctx, id)])


@add.shows_effect
async def add_effect(ctx: Context, id: str, **given: Any) -> dict[str, Any]:
    """The entry without what may be secret in it, and what it would lack."""
    _check(id)
    entry = _entry(given)
    checked(ctx, editing.added(decoded(await ctx.house.servers.text()), id, entry))
    return {"id": id, "entry": told(entry), "notes": _notes(ctx, entry)}


@family.command(
    "remove",
    tier=Tier.SYSTEM,
    effects=Effects.DESTROY,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=10,
    undo=Undo(KIND),
    examples=[Example("this server is not needed any more", {"id": "notes"})],
    humans_only=True,
    house_wide=True,
)
async def remove(ctx: Context, id: Id) -> Changed:
    """Remove a server. It ends, and its tools are gone."""
    changed = await change(ctx, lambda text: editing.removed(text, id))
    return _changed(ctx, id, "removed", changed, [])


@family.command(
    "enable",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=10,
    undo=Undo(KIND),
    examples=[Example("switch the notes server on again", {"id": "notes"})],
    humans_only=True,
    house_wide=True,
)
async def enable(ctx: Context, id: Id) -> Changed:
    """Switch a server on."""
    changed = await change(ctx, lambda text: editing.switched(text, id, True))
    return _changed(ctx, id, "enabled", changed, _problems(ctx, id))


@family.command(
    "disable",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=10,
    undo=Undo(KIND),
    examples=[Example("switch the notes server off for now", {"id": "notes"})],
    humans_only=True,
    house_wide=True,
)
async def disable(ctx: Context, id: Id) -> Changed:
    """Switch a server off. It ends, its entry stays, and its tools are gone until it is enabled."""
    changed = await change(ctx, lambda text: editing.switched(text, id, False))
    return _changed(ctx, id, "disabled", changed, [])


def _changed(ctx: Context, id: str, now: State, changed: bool, notes: list[str]) -> Changed:
    if not changed:
        notes = [f"It was {now} already.", *notes]
    return {"id": id, "now": now, "file": str(ctx.house.servers.file), "changed": changed, "notes": notes}


def _check(id: str) -> None:
    if not _ID.fullmatch(id):
        raise BadParams(
            f"The id of a server is a small letter, then at most {_LONGEST_ID - 1} small letters, digits, hyphens and"
            f" underscores, such as {as_id(id)}; given {shortened(id)}."
        )


def _problems(ctx: Context, id: str) -> list[str]:
    return [one.problem for one in ctx.house.servers.servers.servers if one.id == id and one.problem]


def _notes(ctx: Context, entry: Mapping[str, Any]) -> list[str]:
    """What it seems to need and does not have, and what of it anybody with the file could read."""
    return [*reach.advice(entry, ctx.house.home, ctx.house.servers.environment), *in_plain(entry)]


def _entry(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an entry of the file, without those that say nothing."""
    sandbox = {key: given[key] for key in ("read", "write", "network") if given.get(key)}
    plain = ("name", "command", "args", "env", "url", "headers", "auth")
    found = {key: given[key] for key in plain if given.get(key)}
    if sandbox:
        found["sandbox"] = sandbox
    if given.get("tier", "system") != "system":
        found["tier"] = given["tier"]
    for key, ours in (("tools", "tools"), ("auto_approve", "autoApprove")):
        if given.get(key):
            found[ours] = given[key]
    return found
