"""The command recipe/diff: replay past decisions under another recipe, and list those that would change."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from doorward.commands.ai import When, parse_time
from doorward.commands.context import Context
from doorward.commands.ledger_walk import LedgerWalk
from doorward.commands.recipe import DraftText, get_policy
from doorward.commands.room import get_visible_room
from doorward.core import strictjson
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family
from doorward.core.errors import BadParams
from doorward.gate.recipes.policy import Policy, PolicyDecision
from doorward.gate.recipes.replay import RecordedDecision, Replay, ReplayGroup

family = Family("recipe", category="rooms")


class PastCallExample(TypedDict):
    """One call as it was recorded."""

    record: int
    call: str
    at: str
    caller: str
    room: str
    params: Annotated[Any, Meta(description="As recorded: secrets redacted, long values cut")]


class ChangedDecisions(TypedDict):
    """A group of calls whose decision would change in the same way and by the same rule."""

    command: str
    was: PolicyDecision
    would: Annotated[
        Literal["allowed", "approval", "refused", "unknown"],
        Meta(description="The new decision; unknown if the record lacks a value that a rule needs"),
    ]
    rule: Annotated[str, Meta(description="The rule that would decide")]
    before: Annotated[str, Meta(description="The rule that decided at the time")]
    count: int
    callers: list[str]
    moreCallers: Annotated[bool, Meta(description="Whether more callers exist than are listed")]
    rooms: list[str]
    first: str
    last: str
    examples: list[PastCallExample]


class ReplayReport(TypedDict):
    recipe: str
    rooms: list[str]
    since: str
    until: str
    items: Annotated[list[ChangedDecisions], Meta(description="Past decisions that would change, most frequent first")]
    flipped: Annotated[int, Meta(description="The number of decisions that would change")]
    same: int
    untold: Annotated[int, Meta(description="The number of decisions that cannot be determined")]
    beyond: Annotated[int, Meta(description="Changed decisions in groups that are not listed")]
    leftOut: Annotated[dict[str, int], Meta(description="Records not decided by a recipe: reason and number")]
    complete: Annotated[bool, Meta(description="Whether the whole time span was checked")]
    lookedBackTo: Annotated[str, Meta(description="All records since this time were checked")]
    says: Annotated[str, Meta(description="A summary in one sentence")]


@family.command(
    "diff",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.FULL,
    safety=Safety.SAFE,
    cost=5,
    timeout=120,
    undo=READS_ONLY,
    examples=[
        Example("replay the last week under the support recipe", {"id": "support", "inRoom": "general"}),
        Example(
            "what would be refused if nothing were allowed",
            {"text": '{"recipeId": "quiet", "displayName": "Quiet", "strategy": {}}', "inRoom": "general"},
        ),
    ],
    related=["recipe/preview", "recipe/put", "data/list"],
    humans_only=True,
    is_status_poll=True,
)
async def diff(
    ctx: Context,
    id: Annotated[str, Meta(description="The recipe's id; if omitted, the id in the text", max_length=63)] = "",
    text: DraftText = "",
    in_room: Annotated[
        str, Meta(description="Only this room; if omitted, all rooms under that recipe", max_length=63)
    ] = "",
    since: When = "7d",
    until: When = "",
    examples: Annotated[int, Meta(description="Maximum number of example calls per group", ge=0, le=20)] = 3,
    seconds: Annotated[int, Meta(description="Time limit; the newest records are checked first", ge=0, le=100)] = 30,
) -> ReplayReport:
    """Replay past decisions of a room under a new recipe, and list every decision that would change."""
    policy = get_policy(ctx, id, text)
    rooms = _select_rooms(ctx, policy, in_room)
    wall = ctx.services.clock.wall_us()  # the ledger uses the same clock
    now = wall / 1_000_000
    begin, end = parse_time(since, now), parse_time(until, now) if until else wall + 1
    if begin >= end:
        raise BadParams(f"The time span is empty: since must be before until; given {since!r} and {until or 'now'!r}.")
    replay = Replay(policy, {one.name: one for one in ctx.services.registry}.get, examples)
    walk = LedgerWalk(ctx, replay.add, rooms, (begin, end), seconds)
    await walk.run()
    return _make_report(policy, rooms, walk, replay)


def _select_rooms(ctx: Context, policy: Policy, room: str) -> list[str]:
    caller, rooms = ctx.caller, ctx.services.rooms
    if room:
        return [get_visible_room(ctx, room).id]
    under = policy.recipe.recipe_id
    return sorted(one.id for one in rooms.of_tenant(caller.tenant) if one.recipe == under and one.is_known_to(caller))


def _make_report(policy: Policy, rooms: list[str], walk: LedgerWalk, replay: Replay) -> ReplayReport:
    complete = walk.reached <= walk.span[0]
    back_to = to_iso(walk.reached / 1_000_000)
    return {
        "recipe": policy.recipe.recipe_id,
        "rooms": rooms,
        "since": to_iso(walk.span[0] / 1_000_000),
        "until": to_iso(walk.span[1] / 1_000_000),
        "items": [_describe_group(group) for group in replay.groups()],
        "flipped": replay.flipped,
        "same": replay.same,
        "untold": replay.unknown,
        "beyond": replay.ungrouped,
        "leftOut": dict(sorted(replay.skipped.items())),
        "complete": complete,
        "lookedBackTo": back_to,
        "says": _summarize(replay, rooms, "" if complete else back_to, walk.problem),
    }


def _summarize(replay: Replay, rooms: list[str], back_to: str, problem: str) -> str:
    if not rooms:
        return "None of your rooms uses this recipe, so there is nothing to replay. Name a room."
    summary = f"{replay.flipped:,} of {replay.replayed:,} decisions would change"
    if replay.unknown:
        summary += f", and {replay.unknown:,} cannot be determined"
    if problem:
        return f"{summary}. Only records since {back_to} were checked: {problem}"
    if back_to:
        return f"{summary}. Time was up: only records since {back_to} were checked."
    return f"{summary}."


def _describe_group(group: ReplayGroup) -> ChangedDecisions:
    return {
        "command": group.command,
        "was": group.was,
        "would": group.would,  # type: ignore[typeddict-item]
        "rule": group.rule,
        "before": group.before,
        "count": group.count,
        "callers": sorted(group.callers),
        "moreCallers": group.more_callers,
        "rooms": sorted(group.rooms),
        "first": to_iso(group.first / 1_000_000),
        "last": to_iso(group.last / 1_000_000),
        "examples": [_describe_example(past) for past in group.examples],
    }


def _describe_example(past: RecordedDecision) -> PastCallExample:
    try:
        params = strictjson.loads(past.params)
    except strictjson.NotJson:
        params = past.params
    return {
        "record": past.seq,
        "call": past.call,
        "at": to_iso(past.at / 1_000_000),
        "caller": past.caller,
        "room": past.room,
        "params": params,
    }
