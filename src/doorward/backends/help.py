"""help/*: find the command for a purpose, and learn how to use it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple, TypedDict
from weakref import WeakKeyDictionary

from msgspec import Meta

from doorward.backends.context import Context, Listing
from doorward.command import READS_ONLY, Command, Example, Family, Undo, shortened
from doorward.errors import BadParams, NotFound, NotPermitted, UnknownCommand
from doorward.facts import Access, Effects, Safety, Tier
from doorward.rooms.people import LOCAL

family = Family("help", category="help")

_WORDS = re.compile(r"[a-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST_NAMED = 30
_FEW, _MANY = 5, 100
"""How many are shown unless somebody says how many: of what was searched for, and of a whole namespace."""
_STOP = frozenset(
    {"a", "an", "the", "of", "in", "on", "for", "to", "is", "are", "was", "be", "i", "me", "my", "we", "what", "which"}
    | {"who", "how", "do", "does", "did", "can", "show", "give", "with", "and", "or", "all"}
)


class Found(TypedDict):
    command: str
    summary: str
    usage: Annotated[str, Meta(description="Its parameters on one line")]
    score: Annotated[float, Meta(description="How well it fits; more is better")]


class Finds(Listing[Found]):
    total: Annotated[int, Meta(description="How many there are in all")]
    next: Annotated[int | None, Meta(description="The offset of the next page; null when there is none")]


class Use(TypedDict):
    says: Annotated[str, Meta(description="What somebody wants")]
    params: Annotated[dict[str, Any], Meta(description="The parameters that give it")]


class Described(TypedDict):
    name: str
    summary: str
    description: str
    usage: Annotated[str, Meta(description="Its parameters on one line")]
    category: str
    tier: Tier
    effects: list[str]
    access: Annotated[str, Meta(description="How far a caller's access must reach")]
    safety: Safety
    cost: float
    timeoutSeconds: float
    undo: Annotated[str, Meta(description="yes, or no and why")]
    humansOnly: bool
    houseWide: bool
    examples: list[Use]
    related: list[str]
    secret: Annotated[list[str], Meta(description="Parameters whose values are in no record")]
    schema: Annotated[dict[str, Any], Meta(description="The JSON Schema of its parameters")]
    returns: Annotated[dict[str, Any] | None, Meta(description="The JSON Schema of its result, if it declares one")]


@family.command(
    "search",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[
        Example("how do I read a file", {"query": "read a file"}),
        Example("which commands are there for files", {"namespace": "file"}),
    ],
    related=["help/describe"],
)
async def search(
    ctx: Context,
    query: Annotated[str, Meta(description="What you want to do, in a few words", max_length=500)] = "",
    limit: Annotated[
        int, Meta(description="At most so many; 0 stands for 5, and for 100 without a query", ge=0, le=100)
    ] = 0,
    namespace: Annotated[
        str,
        Meta(description="Only what is in here, such as mcp/github; then all of it without a query", max_length=100),
    ] = "",
    offset: Annotated[int, Meta(description="Leave out so many: `next` of the page before", ge=0, le=1_000_000)] = 0,
) -> Finds:
    """Find commands for a purpose among those you may run here, best first."""
    wanted, within = words(query), namespace.strip("/")
    if not query.strip() and not within:
        raise BadParams("help/search: say what you want to do as query, or name a namespace; both are empty.")
    offered = ctx.house.offered(ctx.caller, ctx.call.room)
    among = [one for one in offered if not within or one.name.startswith(f"{within}/")]
    if within and not among:
        raise NotFound(f"There is no namespace {shortened(namespace)} for you here; {_namespaces(offered)}.")
    scored = [(score(wanted, command) if query.strip() else 1.0, command) for command in among]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].name))
    end = offset + (limit or (_FEW if query.strip() else _MANY))
    return {
        "items": [
            {"command": command.name, "summary": command.summary, "usage": command.usage, "score": round(points, 3)}
            for points, command in best[offset:end]
        ],
        "total": len(best),
        "next": end if end < len(best) else None,
    }


@family.command(
    "describe",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("how is data/list used", {"command": "data/list"})],
    related=["help/search"],
)
async def describe(
    ctx: Context, command: Annotated[str, Meta(description="The command's name", min_length=1, max_length=200)]
) -> Described:
    """Show everything about a command you may run here: parameters, effects, examples, undo."""
    offered = [one.name for one in ctx.house.offered(ctx.caller, ctx.call.room)]
    inside = [name for name in offered if name.startswith(f"{command.strip('/')}/")]
    if inside and command not in ctx.house.registry:
        raise UnknownCommand(
            f"{command.strip('/')} is no command but a namespace of {len(inside)}: {', '.join(inside[:_MOST_NAMED])}"
            f"{', …' if len(inside) > _MOST_NAMED else ''}.",
            hint=f"Search in it: help/search --namespace={command.strip('/')}",
        )
    found = ctx.house.registry.resolve(command, offered, private=ctx.caller.tenant == LOCAL)
    ruling = ctx.may(found.name)
    if not ruling.allowed:
        raise NotPermitted(ruling.reason, rule=ruling.rule)
    return described(found)


def described(command: Command) -> Described:
    """A command's declaration as data."""
    facts = command.facts
    return {
        "name": command.name,
        "summary": command.summary,
        "description": command.description,
        "usage": command.usage,
        "category": command.category,
        "tier": facts.tier,
        "effects": facts.effects.names,
        "access": facts.access.label,
        "safety": facts.safety,
        "cost": facts.cost,
        "timeoutSeconds": facts.timeout,
        "undo": "yes" if isinstance(facts.undo, Undo) else f"no: {facts.undo.why}",
        "humansOnly": facts.humans_only,
        "houseWide": facts.house_wide,
        "examples": [{"says": one.says, "params": dict(one.params)} for one in facts.examples],
        "related": list(facts.related),
        "secret": sorted(command.secret),
        "schema": command.schema,
        "returns": command.returns,
    }


def words(text: str) -> set[str]:
    """The telling words of a text, each cut to its stem's beginning so that "reads" meets "reading"."""
    return {word[:5] for word in _WORDS.findall(text.lower()) if word not in _STOP}


class _Words(NamedTuple):
    """What a command is found by."""

    name: set[str]
    said: set[str]
    told: set[str]
    text: set[str]


_known: WeakKeyDictionary[Command, _Words] = WeakKeyDictionary()
"""Worked out once for each command: there may be thousands, and a search looks at all of them."""


def _words_of(command: Command) -> _Words:
    found = _known.get(command)
    if found is None:
        spelt = _HUMP.sub(" ", command.wire)  # the wire keeps capital letters, which part words
        found = _known[command] = _Words(
            words(f"{command.name} {spelt}"),
            words(" ".join(example.says for example in command.facts.examples)),
            words(f"{command.summary} {command.category}"),
            words(command.description),
        )
    return found


def score(wanted: set[str], command: Command) -> float:
    """How well a command answers: its name counts three times, its examples' words most of the rest.

    One that knows every word of several goes before all that do not.
    """
    if not wanted:
        return 0.0
    known = _words_of(command)
    points = sum(
        3 * (word in known.name)
        + 2 * (word in known.said)
        + (1.0 if word in known.told else 0.5 * (word in known.text))
        for word in wanted
    )
    knows_all = len(wanted) > 1 and all(any(word in place for place in known) for word in wanted)
    return points / (6 * len(wanted)) + knows_all


def namespaces(commands: Iterable[Command]) -> dict[str, int]:
    """The namespaces of other servers among these, and how many tools each has."""
    return dict(sorted(Counter(one.category for one in commands if "/" in one.category and not one.unlisted).items()))


def _namespaces(offered: Iterable[Command]) -> str:
    """Which there are, as a clause."""
    areas = sorted({one.name.partition("/")[0] for one in offered if "/" in one.name} | namespaces(offered).keys())
    return f"there are: {', '.join(areas[:_MOST_NAMED])}{', …' if len(areas) > _MOST_NAMED else ''}"
