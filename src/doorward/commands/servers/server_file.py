"""Commands mcp/add, mcp/remove, mcp/enable and mcp/disable: change the server file, with undo."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from doorward.commands.context import Context, Services
from doorward.commands.servers.family import family
from doorward.config import files
from doorward.core import redact
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Undo, shorten
from doorward.core.errors import BadParams, Conflict, DoorwardError
from doorward.store import before_images
from doorward.store.before_images import BeforeImage
from doorward.store.sqlite import Statement
from doorward.upstream import inferred_grants, server_entry
from doorward.upstream.packages import installation
from doorward.upstream.server_entry import make_id
from doorward.upstream.server_file import BadServerFile
from doorward.upstream.variables import describe_plain_secrets, find_secrets_in_words

log = logging.getLogger(__name__)

_PLACE = re.compile(r"(?:servers\[\d+\]|mcpServers(?:\.\w+|\[[^]]*\]))\.?")
KIND = "servers"
"""The kind of the before-images. Each holds the whole text of the file."""


async def change_file(ctx: Context, edit: Callable[[str | None], str | None]) -> bool:
    """Change the text of the file, store the old text, and put the new one in force. True if the text changed."""
    book = ctx.services.servers
    async with book.change_lock:
        before = await book.text()
        after = check_text(ctx, edit(decode_text(before)))
        if after != before:
            await ctx.store.write(_before_image(ctx, before, after))
            await book.save(before, after)
    return after != before


def check_text(ctx: Context, text: str | None) -> bytes | None:
    """Validate and encode the new text, so that a command never leaves an invalid file behind."""
    if text is None:
        return None
    after = text.encode()
    try:
        ctx.services.servers.parse(after)
    except BadServerFile as error:
        raise BadParams(f"{describe_error(error)}.", hint=error.hint) from error
    return after


def describe_error(error: BadServerFile) -> str:
    """The error of one entry as a clause: the field, without the position of the entry in the file."""
    field = _PLACE.sub("", error.field)
    return f"{field}: {error.reason.rstrip('.')}" if field else error.reason.rstrip(".")


def decode_text(text: bytes | None) -> str | None:
    return text.decode() if text is not None else None


def describe_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Describe an entry without secrets: of variables, headers and credentials it has only the names."""
    hidden = find_secrets_in_words(tuple(entry.get("args", ())))
    shown = dict(entry)
    if "args" in entry:
        shown["args"] = [redact.text(word, hidden) for word in entry["args"]]
    if "url" in entry:
        shown["url"] = redact.text(entry["url"]).partition("?")[0]
    for key in ("env", "headers"):
        if key in entry:
            shown[key] = sorted(entry[key])
    if "auth" in entry:
        shown["auth"] = entry["auth"].get("type", "")
    return shown


@family.undoer(KIND)
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous text of the file, unless it has changed since."""
    (image,) = images
    book = ctx.services.servers
    async with book.change_lock:
        now = await book.text()
        if image.target != str(book.file) or _digest(now) != image.after:
            raise Conflict(f"The file {image.target} has changed since. Nothing was undone.")
        await ctx.store.write(
            _before_image(ctx, now, image.before),
            before_images.mark_undone(image.call, ctx.call.id),
        )
        await book.save(now, image.before)
    return {"file": image.target, "now": "as before" if image.before is not None else "removed"}


async def remove_unused_installations(services: Services) -> None:
    """Remove installed packages that neither the server file nor a version of it that can be restored names."""
    finished = await asyncio.to_thread(installation.remove_unfinished, services.home)
    if not finished:
        return
    try:
        now = await services.servers.text()
    except (DoorwardError, files.UnreadableFile):  # nobody knows which packages it needs
        return
    texts = [now, *await before_images.list_texts(services.store, KIND)]
    named = [text.decode("utf-8", "replace") for text in texts if text is not None]
    for folder in await asyncio.to_thread(installation.remove_unused, finished, named):
        log.info("removed %s, which nothing uses", folder)


def _before_image(ctx: Context, before: bytes | None, after: bytes | None) -> Statement:
    now = ctx.services.clock.now()
    target = str(ctx.services.servers.file)
    return before_images.store_image(ctx.call, kind=KIND, target=target, before=before, after=_digest(after), at=now)


def _digest(text: bytes | None) -> str:
    return hashlib.sha256(text).hexdigest() if text is not None else ""


Id = Annotated[str, Meta(description="The server's id", max_length=200)]
Words = Annotated[list[str], Meta(description="The arguments of the program", max_length=500)]
Texts = dict[str, str]
Paths = list[Annotated[str, Meta(min_length=1, max_length=4_096)]]
Patterns = list[Annotated[str, Meta(min_length=1, max_length=256)]]


_LONGEST_ID = 31
_ID = re.compile(rf"[a-z][a-z0-9_-]{{0,{_LONGEST_ID - 1}}}")

ServerChange = Literal["added", "removed", "enabled", "disabled"]


class ServerChanged(TypedDict):
    id: str
    now: ServerChange
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
    server_wide=True,
    secret=("env", "headers", "auth"),
    widens_access=True,
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
) -> ServerChanged:
    """Add an upstream MCP server. Calls of its tools need approval, except for tools in autoApprove."""
    sandbox = {"read": read, "write": write, "network": network}
    address = {"url": url, "headers": headers, "auth": auth}
    terms = {"tier": tier, "tools": tools, "auto_approve": auto_approve}
    entry = _build_entry({"name": name, "command": command, "args": args, "env": env, **address, **sandbox, **terms})
    check_id(id)
    changed = await change_file(ctx, lambda text: server_entry.add_server(text, id, entry))
    return _make_result(ctx, id, "added", changed, [*_notes(ctx, entry), *_problems(ctx, id)])


@add.describes_effect
async def add_effect(ctx: Context, id: str, **given: Any) -> dict[str, Any]:
    """Show the entry without secrets, and notes on what it may lack."""
    check_id(id)
    entry = _build_entry(given)
    check_text(ctx, server_entry.add_server(decode_text(await ctx.services.servers.text()), id, entry))
    return {"id": id, "entry": describe_entry(entry), "notes": _notes(ctx, entry)}


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
    server_wide=True,
    widens_access=True,
    proposable=True,
)
async def remove(ctx: Context, id: Id) -> ServerChanged:
    """Remove an upstream MCP server. It is stopped, and its tools are no longer available."""
    changed = await change_file(ctx, lambda text: server_entry.remove_server(text, id))
    return _make_result(ctx, id, "removed", changed, [])


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
    server_wide=True,
    widens_access=True,
    proposable=True,
)
async def enable(ctx: Context, id: Id) -> ServerChanged:
    """Enable an upstream MCP server."""
    changed = await change_file(ctx, lambda text: server_entry.set_enabled(text, id, True))
    return _make_result(ctx, id, "enabled", changed, _problems(ctx, id))


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
    server_wide=True,
    proposable=True,
)
async def disable(ctx: Context, id: Id) -> ServerChanged:
    """Disable an upstream MCP server. It is stopped; its entry stays, but its tools are unavailable."""
    changed = await change_file(ctx, lambda text: server_entry.set_enabled(text, id, False))
    return _make_result(ctx, id, "disabled", changed, [])


def _make_result(ctx: Context, id: str, now: ServerChange, changed: bool, notes: list[str]) -> ServerChanged:
    if not changed:
        notes = [f"It was already {now}.", *notes]
    return {"id": id, "now": now, "file": str(ctx.services.servers.file), "changed": changed, "notes": notes}


def check_id(id: str) -> None:
    """Raise BadParams unless a server can have this id."""
    if not _ID.fullmatch(id):
        raise BadParams(
            f"A server's id is a lower-case letter, then at most {_LONGEST_ID - 1} lower-case letters, digits, hyphens"
            f" and underscores, such as {make_id(id)}; given {shorten(id)}."
        )


def _problems(ctx: Context, id: str) -> list[str]:
    return [one.problem for one in ctx.services.servers.servers.servers if one.id == id and one.problem]


def _notes(ctx: Context, entry: Mapping[str, Any]) -> list[str]:
    """Notes on what the entry seems to lack, and on secrets that stand in the file in plain text."""
    return [
        *inferred_grants.advise(entry, ctx.services.home, ctx.services.servers.environment),
        *describe_plain_secrets(entry),
    ]


def _build_entry(given: Mapping[str, Any]) -> dict[str, Any]:
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
