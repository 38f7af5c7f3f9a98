"""The time machine: what was decided in the past is decided again, under another policy, by the same functions.

The record holds each decision with its parameters, secrets hidden and long values cut. Whatever a rule would have to
see of what is not there any more cannot be told, and is said to be so instead of being guessed.

Only what the recipe decided is decided again. Whoever was refused for another reason (too fast, no energy, not a
member, parameters that fit no schema) is counted and left out: nobody knows what the recipe would have been asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

import msgspec

from doorward import redact, strictjson
from doorward.command import Command
from doorward.errors import NotPermitted
from doorward.facts import Tier
from doorward.model import Kind
from doorward.recipes.policy import Policy
from doorward.recipes.verdict import Decision, verdict

MOST_GROUPS = 500
_MOST_CALLERS = 20
_TIERS = frozenset(Tier)


class Past(NamedTuple):
    """One record, as far as a decision can be read from it; the fields are columns of the ledger."""

    seq: int
    at: int
    call: str
    caller: str
    kind: str
    behalf: str
    room: str
    command: str
    tier: str
    params: str
    rule: str
    approval: str
    status: str
    code: str
    phase: str


class Group:
    """Calls that would be decided otherwise in the same way."""

    def __init__(self, command: str, was: Decision, before: str, would: str, rule: str) -> None:
        self.command = command
        self.was = was
        self.before = before
        self.would = would
        self.rule = rule
        self.count = 0
        self.callers: set[str] = set()
        self.more_callers = False
        self.rooms: set[str] = set()
        self.first = self.last = 0
        self.examples: list[Past] = []

    def add(self, past: Past, examples: int) -> None:
        self.count += 1
        self.first = min(self.first or past.at, past.at)
        self.last = max(self.last, past.at)
        self.rooms.add(past.room)
        if past.caller not in self.callers:
            if len(self.callers) < _MOST_CALLERS:
                self.callers.add(past.caller)
            else:
                self.more_callers = True
        if len(self.examples) < examples:
            self.examples.append(past)


class _Ruled(msgspec.Struct, frozen=True):
    """What is known of all records that look alike: why they are left out, or how they were and would be decided."""

    left_out: str = ""
    was: Decision = "allowed"
    would: str = ""
    rule: str = ""
    command: Command | None = None
    """Set where the parameters must be looked at, each time anew."""


class Replay:
    """Goes over records once and keeps groups of them, so that a million need no more room than a few."""

    def __init__(self, policy: Policy, find: Callable[[str], Command | None], examples: int = 3) -> None:
        self._policy = policy
        self._find = find
        self._examples = examples
        self._ruled: dict[tuple[str, str, str, str, str, bool, str], _Ruled] = {}
        self._groups: dict[tuple[str, str, str, str, str], Group] = {}
        self.looked_at = 0
        """How many decisions were decided again."""
        self.same = 0
        self.flipped = 0
        self.untold = 0
        self.beyond = 0
        """How many flips belong to groups that there was no more room for."""
        self.left_out: Counter[str] = Counter()

    def add(self, records: Iterable[Past]) -> None:
        for past in records:
            self._add(past)

    def groups(self) -> list[Group]:
        """What flips, the most frequent first, and behind it what cannot be told."""
        return sorted(self._groups.values(), key=lambda one: (one.would == "unknown", -one.count, one.command))

    def _add(self, past: Past) -> None:
        key = (past.command, past.tier, past.kind, past.status, past.code, bool(past.approval), past.rule)
        ruled = self._ruled.get(key)
        if ruled is None:
            if len(self._ruled) >= 20_000:  # rules of recipes that were edited without end
                self._ruled.clear()
            ruled = self._ruled[key] = self._rule(past)
        if ruled.left_out:
            self.left_out[ruled.left_out] += 1
            return
        self.looked_at += 1
        would, rule = ruled.would, ruled.rule
        if ruled.command is not None:
            would, rule = self._narrowed(ruled.command, past)
        if would == ruled.was:
            self.same += 1
            return
        if would == "unknown":
            self.untold += 1
        else:
            self.flipped += 1
        self._group(past, ruled.was, would, rule)

    def _group(self, past: Past, was: Decision, would: str, rule: str) -> None:
        key = (past.command, was, past.rule, would, rule)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= MOST_GROUPS:
                self.beyond += 1
                return
            group = self._groups[key] = Group(past.command, was, past.rule, would, rule)
        group.add(past, self._examples)

    def _rule(self, past: Past) -> _Ruled:
        was = decided(past)
        if isinstance(was, _LeftOut):
            return _Ruled(left_out=was.why)
        command = self._find(past.command)
        if command is None:
            return self._absent(past, was)
        if self._policy.narrowed(command):
            return _Ruled(was=was, command=command)
        told = verdict(self._policy, command, cast(Kind, past.kind), self._policy.rule(command))
        return _Ruled(was=was, would=told.decision, rule=told.rule)

    def _absent(self, past: Past, was: Decision) -> _Ruled:
        """A command that is not there now. Its name and tier may be enough to refuse it, and are never more."""
        if past.tier in _TIERS and not self._policy.names(past.command, Tier(past.tier)):
            return _Ruled(was=was, would="refused", rule=f"recipe {self._policy.recipe.recipe_id}: it is not allowed")
        return _Ruled(was=was, would="unknown", rule="the command is not there now, so its rules cannot be looked at")

    def _narrowed(self, command: Command, past: Past) -> tuple[str, str]:
        params = _params(command, past)
        looked_at = self._policy.narrowed(command)
        if params is None:
            unknown, given = looked_at, {}
        else:
            unknown = frozenset(name for name in looked_at if name in params and not redact.is_whole(params[name]))
            given = params
        ruling = self._policy.judge(command, given, unknown)
        if ruling.allowed and unknown:
            names = ", ".join(sorted(unknown))
            return "unknown", f"a rule looks at {names}, and the record does not hold all of that"
        told = verdict(self._policy, command, cast(Kind, past.kind), ruling)
        return told.decision, told.rule


class _LeftOut(msgspec.Struct, frozen=True):
    why: str


def decided(past: Past) -> Decision | _LeftOut:
    """What was decided then, or why that was no decision of a recipe."""
    if past.phase == "end":
        return _LeftOut("the end of a call that is counted by its start")
    if past.code == "dry_run":
        return _LeftOut("dry_run")
    if past.status == "parked":
        return "approval"
    if past.status == "refused":
        if past.code == NotPermitted.code and past.rule.startswith("recipe "):
            return "refused"
        return _LeftOut("refused whatever a recipe says" if past.code == NotPermitted.code else past.code)
    if past.approval:
        return _LeftOut("resumed")
    return "allowed"


def _params(command: Command, past: Past) -> dict[str, Any] | None:
    """The parameters as they were recorded, or None when the record has only their names or their size."""
    try:
        given = strictjson.loads(past.params)
    except strictjson.NotJson:
        return None
    if not isinstance(given, dict):
        return None
    known = command.schema.get("properties", {})
    stands_in = given.keys() in ({"keys", "characters"}, {"unreadable"}) and not given.keys() & known.keys()
    return None if stands_in or "…" in given else given
