"""The command mcp/install: install a server from a package registry, exactly as a person approved it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.servers.family import family
from doorward.commands.servers.install_plan import InstallWish, PlanFacts, describe_plan, find_warnings, render_plan
from doorward.commands.servers.server_file import (
    KIND,
    Paths,
    Texts,
    Words,
    change_file,
    check_id,
    check_text,
    decode_text,
)
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Undo, shorten
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import BadParams, CommandFailed, Conflict, NotApproved, NotFound
from doorward.upstream import server_entry
from doorward.upstream.config import ServerConfig
from doorward.upstream.packages.installation import Staging
from doorward.upstream.packages.installer import Installer
from doorward.upstream.packages.known_servers import FoundServer, find_known, suggest_names
from doorward.upstream.packages.plan import InstallPlan, PackageChoice
from doorward.upstream.packages.server_registry import ServerRegistry

_SECONDS = 1_800
_PREVIEW_SECONDS = 300.0
_LOADER_VARIABLES = (
    *("PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "NODE_OPTIONS", "NODE_PATH"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT"),
)
"""Variables that make an installed program run other code. Approvers do not see the values of variables."""


class InstalledServer(TypedDict):
    id: str
    registryType: str
    package: str
    version: str
    hash: str
    packages: Annotated[int, Meta(description="The number of installed packages")]
    folder: Annotated[str, Meta(description="Where they are; the server may read them and cannot change them")]
    file: Annotated[str, Meta(description="The server file")]
    state: Annotated[str, Meta(description="starting, ready, waiting, broken, stopped or disabled")]
    problem: Annotated[str, Meta(description="The current problem; empty if there is none")]
    tools: Annotated[list[str], Meta(description="The tools that it offers")]
    warnings: list[str]


@family.command(
    "install",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE | Effects.OPEN_WORLD,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=10,
    timeout=_SECONDS,
    undo=Undo(KIND),
    examples=[
        Example("install the time server", {"server": "time"}),
        Example(
            "install a package of npm under a name of its own",
            {"package": "@modelcontextprotocol/server-memory", "registryType": "npm", "id": "notes"},
        ),
    ],
    related=["mcp/search", "mcp/test", "mcp/remove"],
    server_wide=True,
    secret=("env",),
    widens_access=True,
    proposable=True,
)
async def install(
    ctx: Context,
    server: Annotated[str, Meta(description="A server by its name in mcp/search", max_length=200)] = "",
    package: Annotated[str, Meta(description="Or a package by its name", max_length=214)] = "",
    registry_type: Annotated[Literal["", "npm", "pypi"], Meta(description="Where that package is")] = "",
    version: Annotated[str, Meta(description="The exact version; the newest by default", max_length=100)] = "",
    id: Annotated[str, Meta(description="The id in the server file; made from the name by default")] = "",
    env: Annotated[Texts, Meta(description="Environment variables; write secrets as ${NAME}")] = {},  # noqa: B006
    args: Words = [],  # noqa: B006 - never changed
    read: Annotated[Paths, Meta(description="Absolute paths that its process may read")] = [],  # noqa: B006
    write: Annotated[Paths, Meta(description="Absolute paths that its process may change")] = [],  # noqa: B006
    network: Annotated[
        bool | None, Meta(description="Whether its process may use the network; by default what is known of it")
    ] = None,
    plan: Annotated[
        str, Meta(description="The digest from a dry run. People give it to confirm what they saw", max_length=64)
    ] = "",
) -> InstalledServer:
    """Install an MCP server from npm or PyPI, pinned by hash, and start it. A person must approve what is installed.

    Scripts of packages do not run, and only the package registries are reached. Make a dry run to see the plan. If the
    server does not start, everything is removed again.
    """
    given = _collect(server, package, registry_type, version, id, env, args, read, write, network)
    wish = await _make_wish(ctx, given)
    ctx.execution.progress(0.0, f"preparing {wish.choice}")
    async with Staging(ctx.services.home, wish.id) as staging:
        agreed = await _find_agreed_plan(ctx, wish, plan)
        installer = _make_installer(ctx)
        folder, program = await installer.install(staging, agreed, ctx.execution.progress)
        ctx.execution.progress(0.8, "starting the server")
        entry = _complete_entry(wish.entry, program)
        config = _parse_entry(ctx, wish.id, entry)
        await _check_start(ctx, config)
        ctx.execution.progress(0.9, "adding it to the server file")
        await _add_entry(ctx, staging, wish.id, entry)
    upstream = ctx.services.upstreams.get(wish.id)
    if config.enabled:
        await upstream.start_and_wait()
        ctx.services.upstreams.refresh()
    ctx.execution.progress(1.0, f"{wish.id} is {upstream.state}")
    return {
        "id": wish.id,
        "registryType": agreed.registry_type,
        "package": agreed.package.name,
        "version": agreed.package.version,
        "hash": agreed.package.hash,
        "packages": len(agreed.packages),
        "folder": str(folder),
        "file": str(ctx.services.servers.file),
        "state": upstream.state,
        "problem": upstream.problem,
        "tools": [offer.definition.name for offer in ctx.services.upstreams.offers_of(wish.id)],
        "warnings": find_warnings(wish, agreed),
    }


install.approves_effect = install.needs_preview = True
install.preview_seconds = _PREVIEW_SECONDS


@install.describes_effect
async def install_effect(ctx: Context, plan: str = "", **given: Any) -> PlanFacts:
    """Resolve the packages, and show what would be installed and what it may access."""
    wish = await _make_wish(ctx, _fill(given))
    return describe_plan(wish, await _make_installer(ctx).make_plan(wish.id, wish.choice))


@install.previews_effect
async def install_preview(ctx: Context, plan: str = "", **given: Any) -> EffectPreview:
    wish = await _make_wish(ctx, _fill(given))
    made = await _make_installer(ctx).make_plan(wish.id, wish.choice)
    return EffectPreview(msgspec.msgpack.encode(made), render_plan(describe_plan(wish, made)))


async def _find_agreed_plan(ctx: Context, wish: InstallWish, confirmed: str) -> InstallPlan:
    """The plan that a person approved, or one made now whose digest the person gives. Nothing else is installed."""
    if ctx.effect is not None:
        approved = msgspec.msgpack.decode(ctx.effect, type=InstallPlan)
        if confirmed and confirmed != approved.digest:
            raise Conflict(
                f"The approved plan is {approved.digest}; given {shorten(confirmed)}. Nothing was installed."
            )
        return approved
    if ctx.caller.kind != "human":
        raise NotApproved("Nobody saw what would be installed, so nothing was installed.", hint="Run the call again.")
    installer = _make_installer(ctx)
    shown = await installer.load_plan(confirmed)
    if shown is not None and shown.fits(wish.id, wish.choice):
        return shown
    ctx.execution.progress(0.1, f"resolving {wish.choice}")
    made = await installer.make_plan(wish.id, wish.choice)
    if confirmed == made.digest:
        return made
    facts = describe_plan(wish, made)
    what = f"{made.package.name} {made.package.version} ({made.package.hash}) from {made.registry}"
    if confirmed:
        raise Conflict(
            f"There is no such plan any more. Now it is {made.digest}: {what}. Given {shorten(confirmed)}. Nothing was"
            " installed.",
            hint="Look at the new plan, and give its digest.",
            result=facts,
        )
    raise NotApproved(
        f"Confirm what would be installed: {what}, with {len(made.packages)} packages in all. Nothing was installed.",
        hint=f"A dry run shows the whole plan. To install exactly this, run it again with --plan={made.digest}",
        result=facts,
    )


async def _make_wish(ctx: Context, given: Mapping[str, Any]) -> InstallWish:
    known, choice = await _choose_package(ctx, given)
    name = known.name if known is not None else choice.name
    id = given["id"] or server_entry.make_id(name.rpartition("/")[2])
    check_id(id)
    if known is not None and known.arguments and not given["args"]:
        raise BadParams(f"The server {known.name} needs args: {known.arguments}.")
    for variable in given["env"]:
        if variable.upper() in _LOADER_VARIABLES:
            raise BadParams(f"env cannot have {variable}: it changes which program runs, and nobody approved that.")
    network = given["network"]
    if network is None:
        network = known is not None and known.network is True
    sandbox = {"read": list(given["read"]), "write": list(given["write"]), "network": network}
    entry: dict[str, Any] = {
        "name": name,
        "args": list(given["args"]),
        "env": {**_default_variables(ctx, id, known), **given["env"]},
        "sandbox": {key: value for key, value in sandbox.items() if value},
    }
    wish = InstallWish(id=id, choice=choice, known=known, entry={key: value for key, value in entry.items() if value})
    text = decode_text(await ctx.services.servers.text())
    check_text(ctx, server_entry.add_server(text, id, {**wish.entry, "command": "/usr/bin/true"}))
    return wish


def _default_variables(ctx: Context, id: str, known: FoundServer | None) -> dict[str, str]:
    """The variables that a known server needs to work here, such as a file that it may change."""
    folder = str(ctx.services.home / "servers" / id)
    variables = known.variables if known is not None and known.source == "known" else ()
    return {one.name: one.value.replace("{folder}", folder) for one in variables if one.value}


async def _choose_package(ctx: Context, given: Mapping[str, Any]) -> tuple[FoundServer | None, PackageChoice]:
    server, package, kind, version = (given[key] for key in ("server", "package", "registry_type", "version"))
    if bool(server) == bool(package) or bool(package) != bool(kind):
        raise BadParams("Give either a server, or a package with its registryType: npm or pypi.")
    if package:
        known = find_known(package)
        known = known if known is not None and (known.registry_type, known.package) == (kind, package) else None
        choice = PackageChoice(kind, package, version)
        choice.check()
        return known, choice
    found = find_known(server) or await ServerRegistry.of(ctx.services.settings).find(server)
    if found is None:
        close = suggest_names(server)
        near = f" Similar names: {', '.join(close)}." if close else ""
        raise NotFound(f"There is no server {shorten(server)} to install.{near}", hint="mcp/search finds servers.")
    if not found.registry_type:
        how = f"It is remote: add it with mcp/add and the url {found.url}." if found.url else "It has no package."
        raise BadParams(f"The server {shorten(found.name)} cannot be installed from npm or PyPI. {how}")
    choice = PackageChoice(found.registry_type, found.package, version or found.version)
    choice.check()
    return found, choice


def _complete_entry(entry: Mapping[str, Any], program: Mapping[str, Any]) -> dict[str, Any]:
    """The entry with the program that was installed. The variables of the program come first."""
    whole = {"name": entry["name"], "command": program["command"]}
    whole["args"] = [*program["args"], *entry.get("args", ())]
    if env := {**program.get("env", {}), **entry.get("env", {})}:
        whole["env"] = env
    return whole | {key: value for key, value in entry.items() if key not in whole}


def _parse_entry(ctx: Context, id: str, entry: Mapping[str, Any]) -> ServerConfig:
    text = server_entry.add_server(None, id, entry)
    (config,) = ctx.services.servers.parse(text.encode()).servers
    return config


async def _add_entry(ctx: Context, staging: Staging, id: str, entry: Mapping[str, Any]) -> None:
    """Add the entry. A cancellation waits until the file is written or not, so that no entry lacks its packages."""
    adding = asyncio.ensure_future(change_file(ctx, lambda text: server_entry.add_server(text, id, entry)))
    try:
        await asyncio.shield(adding)
    except asyncio.CancelledError:
        await asyncio.wait([adding])
        if adding.exception() is None:
            staging.keep()
        raise


async def _check_start(ctx: Context, config: ServerConfig) -> None:
    """Start the server once before it is added. A server whose variables are not set yet is added without."""
    if config.lacks:
        return
    own = ctx.services.home / "servers" / config.id
    was_there = own.exists()
    try:
        tried = await ctx.services.upstreams.test(config)
        if not tried.ok or not tried.tools:
            why = tried.problem or f"The server {config.id} lists no tools."
            raise CommandFailed(
                f"It was installed, but does not work, so it was removed again. {why}",
                hint="Its output: " + " / ".join(tried.log[-3:]) if tried.log else "",
            )
    except BaseException:
        if not was_there:
            await asyncio.to_thread(shutil.rmtree, own, ignore_errors=True)
        raise


def _make_installer(ctx: Context) -> Installer:
    services = ctx.services
    return Installer(services.home, services.sandbox, services.settings, services.servers.environment)


def _fill(given: Mapping[str, Any]) -> dict[str, Any]:
    defaults = _collect("", "", "", "", "", {}, [], [], [], None)
    return {**defaults, **given}


def _collect(*values: Any) -> dict[str, Any]:
    names = ("server", "package", "registry_type", "version", "id", "env", "args", "read", "write", "network")
    return dict(zip(names, values, strict=True))
