"""Commands mcp/add, mcp/remove, mcp/enable and mcp/disable: change the server file.

Each changes only its part of the text, so that hand-written parts stay as they are. `undo` restores the old text.
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
Words = Annotated[list[str], Meta(description="The arguments of the program", max_length=500)]
Texts = dict[str, str]
Paths = list[Annotated[str, Meta(min_length=1, max_length=4_096)]]
Patterns = list[Annotated[str, Meta(min_length=1, max_length=256)]]


_LONGEST_ID = 31
_ID = re.compile(rf"[a-z][a-z0-9_-]{{0,{_LONGEST_ID - 1}}}")

State = Literal["added", "removed", "enabled", "disabled"]


class Changed(TypedDict):
    id: str
    now: State
    file: Annotated[str, Meta(description="The server file")]
    changed: Annotated[bool, Meta(description="Whether the file changed; a change can be undone")]
    notes: Annotated[list[str], Meta(description="Notes for the person who changes the server")]


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
            "add the reference file server for the notes",
            {
                "id": "notes",
                "command": "npx",
                "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/notes"],
                "read": ["/srv/notes"],
                "network": True,
            },
        ),
        Example("add a remote server", {"id": "search", "url": "https://search.example/mcp"}),
    ],
    humans_only=True,
    house_wide=True,
    secret=("env", "headers", "auth"),
)
async def add(
    ctx: Context,
    id: Id,
    name: Annotated[str, Meta(description="The displayed name; the id by default", max_length=100)] = "",
    command: Annotated[str, Meta(description="The program to start", max_length=4_096)] = "",
    args: Words = [],  # noqa: B006 - never changed
    env: Annotated[Texts, Meta(description="Environment variables; write secrets as ${NAME}")] = {},  # noqa: B006
    url: Annotated[str, Meta(description="The URL of a remote server", max_length=4_096)] = "",
    headers: Annotated[Texts, Meta(description="Extra headers for each request")] = {},  # noqa: B006
    auth: Annotated[dict[str, str] | None, Meta(description="How Doorward authenticates at the URL")] = None,
    read: Annotated[Paths, Meta(description="Absolute paths that its process may read")] = [],  # noqa: B006
    write: Annotated[Paths, Meta(description="Absolute paths that its process may change")] = [],  # noqa: B006
    network: Annotated[bool, Meta(description="Whether its process may use the network")] = False,
    tier: Annotated[
        Literal["information", "visual", "code", "application", "system"], Meta(description="The tier of its tools")
    ] = "system",
    tools: Annotated[Patterns, Meta(description="Offer only these tools; all by default")] = [],  # noqa: B006
    auto_approve: Annotated[Patterns, Meta(description="Tools whose calls need no approval")] = [],  # noqa: B006
) -> Changed:
    """Add an upstream MCP server. Calls of its tools need approval, except for tools in autoApprove."""
    sandbox = {"read": read, "write": write, "network": network}
    address = {"url": url, "headers": headers, "auth": auth}
    terms = {"tier": tier, "tools": tools, "auto_approve": auto_approve}
    entry = _entry({"name": name, "command": command, "args": args, "env": env, **address, **sandbox, **terms})
    _check(id)
    changed = await change(ctx, lambda text: editing.added(text, id, entry))
    return _changed(ctx, id, "added", changed, [*_notes(ctx, entry), *_problems(ctx, id)])


@add.shows_effect
async def add_effect(ctx: Context, id: str, **given: Any) -> dict[str, Any]:
    """Show the entry without secrets, and notes on what it may lack."""
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
    examples=[Example("remove the notes server", {"id": "notes"})],
    humans_only=True,
    house_wide=True,
)
async def remove(ctx: Context, id: Id) -> Changed:
    """Remove an upstream MCP server. It is stopped, and its tools are no longer available."""
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
    examples=[Example("enable the notes server", {"id": "notes"})],
    humans_only=True,
    house_wide=True,
)
async def enable(ctx: Context, id: Id) -> Changed:
    """Enable an upstream MCP server."""
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
    examples=[Example("disable the notes server for now", {"id": "notes"})],
    humans_only=True,
    house_wide=True,
)
async def disable(ctx: Context, id: Id) -> Changed:
    """Disable an upstream MCP server. It is stopped; its entry stays, but its tools are unavailable."""
    changed = await change(ctx, lambda text: editing.switched(text, id, False))
    return _changed(ctx, id, "disabled", changed, [])


def _changed(ctx: Context, id: str, now: State, changed: bool, notes: list[str]) -> Changed:
    if not changed:
        notes = [f"It was already {now}.", *notes]
    return {"id": id, "now": now, "file": str(ctx.house.servers.file), "changed": changed, "notes": notes}


def _check(id: str) -> None:
    if not _ID.fullmatch(id):
        raise BadParams(
            f"A server's id is a lower-case letter, then at most {_LONGEST_ID - 1} lower-case letters, digits, hyphens"
            f" and underscores, such as {as_id(id)}; given {shortened(id)}."
        )


def _problems(ctx: Context, id: str) -> list[str]:
    return [one.problem for one in ctx.house.servers.servers.servers if one.id == id and one.problem]


def _notes(ctx: Context, entry: Mapping[str, Any]) -> list[str]:
    """Notes on what the entry seems to lack, and on secrets that stand in the file in plain text."""
    return [*reach.advice(entry, ctx.house.home, ctx.house.servers.environment), *in_plain(entry)]


def _entry(given: Mapping[str, Any]) -> dict[str, Any]:
    """The entry for the file, without empty fields and defaults."""
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
