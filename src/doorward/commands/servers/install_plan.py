"""What mcp/install would install, for the people who decide: packages, hashes, and what the server may access."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.servers.server_file import describe_entry
from doorward.upstream.packages.known_servers import FoundServer, list_known_packages
from doorward.upstream.packages.plan import InstallPlan, PackageChoice, find_similar_name
from doorward.upstream.variables import describe_plain_secrets

_MOST_LISTED = 300


class PackageFacts(TypedDict):
    name: str
    version: str
    hash: str


class PlanFacts(TypedDict):
    id: str
    plan: Annotated[str, Meta(description="The digest of the plan; give it as `plan` to install exactly this")]
    registryType: str
    registry: Annotated[str, Meta(description="The address that the packages come from")]
    package: str
    version: str
    hash: Annotated[str, Meta(description="The hash of the server's own package")]
    packages: Annotated[list[PackageFacts], Meta(description="All packages, with the server's own")]
    entry: Annotated[dict[str, Any], Meta(description="Its entry; variables by name only, without the command")]
    reads: Annotated[list[str], Meta(description="Paths its process may read, besides its own packages")]
    writes: Annotated[list[str], Meta(description="Paths its process may change, besides its own folder")]
    network: Annotated[bool, Meta(description="Whether its process may use the network")]
    variables: Annotated[list[str], Meta(description="The environment variables that it gets, by name")]
    warnings: list[str]


class InstallWish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to install, complete with its entry."""

    id: str
    choice: PackageChoice
    known: FoundServer | None
    entry: dict[str, Any]


def find_warnings(wish: InstallWish, plan: InstallPlan) -> list[str]:
    known = list_known_packages()
    found = []
    if plan.package.name not in known:
        found.append(f"Doorward does not know the package {plan.package.name}. Check its name and who publishes it.")
        if similar := find_similar_name(plan.package.name, known):
            found.append(f"Its name is almost that of {similar}, which is another package.")
    scripts = [one.name for one in plan.packages if one.has_scripts]
    if scripts:
        found.append(f"Install scripts of {', '.join(scripts[:5])} do not run; what they would set up is missing.")
    given = wish.entry.get("env", {})
    read = wish.known.variables if wish.known is not None else ()
    lacking = [one.name for one in read if one.required and one.name not in given]
    if lacking:
        found.append(f"It needs variables that env does not have: {', '.join(lacking)}.")
    if wish.entry.get("sandbox", {}).get("network"):
        found.append("It may use the network, also to reach services of this machine.")
    if wish.known is None or wish.known.network is None:
        found.append("Whether it needs the network is not known. If its tools fail, install it with network.")
    return [*found, *describe_plain_secrets(wish.entry)]


def describe_plan(wish: InstallWish, plan: InstallPlan) -> PlanFacts:
    sandbox = wish.entry.get("sandbox", {})
    return {
        "id": wish.id,
        "plan": plan.digest,
        "registryType": plan.registry_type,
        "registry": plan.registry,
        "package": plan.package.name,
        "version": plan.package.version,
        "hash": plan.package.hash,
        "packages": [{"name": one.name, "version": one.version, "hash": one.hash} for one in plan.packages],
        "entry": describe_entry(wish.entry),
        "reads": sandbox.get("read", []),
        "writes": sandbox.get("write", []),
        "network": sandbox.get("network", False),
        "variables": sorted(wish.entry.get("env", {})),
        "warnings": find_warnings(wish, plan),
    }


def render_plan(facts: PlanFacts) -> str:
    """The plan for the people who decide."""
    lines = [
        f"Install the MCP server {facts['id']} from {facts['registryType']}, and start it.",
        f"package    {facts['package']} {facts['version']}",
        f"hash       {facts['hash']}",
        f"registry   {facts['registry']}",
        f"plan       {facts['plan']}",
        f"arguments  {' '.join(facts['entry'].get('args', [])) or 'none'}",
        f"variables  {', '.join(facts['variables']) or 'none'}",
        f"reads      {', '.join(facts['reads']) or 'only its own packages'}",
        f"writes     {', '.join(facts['writes']) or 'only its own folder'}",
        f"network    {'yes' if facts['network'] else 'no'}",
        *(f"warning    {one}" for one in facts["warnings"]),
        f"All {len(facts['packages'])} packages:",
        *(f"  {one['name']} {one['version']} {one['hash']}" for one in facts["packages"][:_MOST_LISTED]),
    ]
    if len(facts["packages"]) > _MOST_LISTED:
        lines.append(f"  and {len(facts['packages']) - _MOST_LISTED} more")
    return "\n".join(lines) + "\n"
