"""Replay past decisions under another policy, with the same functions that decide live calls.

The ledger holds each decision with its parameters, secrets redacted and long values cut. If a rule needs a value that
is no longer complete, the result is "unknown" instead of a guess.

Only decisions of the recipe are replayed. Calls refused for another reason (rate limit, energy, membership, invalid
parameters) are counted and left out, because they never reached the recipe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

import msgspec

from doorward.core import redact, strictjson
from doorward.core.classification import Tier
from doorward.core.command import Command
from doorward.core.errors import NotPermitted
from doorward.core.model import Kind
from doorward.gate.recipes.policy import Policy, PolicyDecision, decide_verdict, find_approval_terms

SESSION_RULE = "approval "
"""How the rule of a call begins that a person had approved for the session."""
MAX_GROUPS = 500
_MAX_CALLERS = 20
_TIERS = frozenset(Tier)
_STRICTNESS: tuple[PolicyDecision, ...] = ("allowed", "approval", "refused")


class RecordedDecision(NamedTuple):
    """The fields of a ledger record that a decision is read from; they are columns of the ledger."""

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


class ReplayGroup:
    """Calls whose decision would change in the same way."""

    def __init__(self, command: str, was: PolicyDecision, before: str, would: str, rule: str) -> None:
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
        self.examples: list[RecordedDecision] = []

    def add(self, past: RecordedDecision, examples: int) -> None:
        self.count += 1
        self.first = min(self.first or past.at, past.at)
        self.last = max(self.last, past.at)
        self.rooms.add(past.room)
        if past.caller not in self.callers:
            if len(self.callers) < _MAX_CALLERS:
                self.callers.add(past.caller)
            else:
                self.more_callers = True
        if len(self.examples) < examples:
            self.examples.append(past)


class _CachedResult(msgspec.Struct, frozen=True):
    """The cached result for similar records: why they are left out, or their old and new decision."""

    left_out: str = ""
    was: PolicyDecision = "allowed"
    would: str = ""
    rule: str = ""
    command: Command | None = None
    """Set if the parameters must be checked for each record."""


class Replay:
    """Processes records one by one and keeps only groups, so that memory does not grow with their number."""

    def __init__(self, policy: Policy, find: Callable[[str], Command | None], examples: int = 3) -> None:
        self._policy = policy
        self._find = find
        self._examples = examples
        self._cache: dict[tuple[str, str, str, str, str, bool, str], _CachedResult] = {}
        self._groups: dict[tuple[str, str, str, str, str], ReplayGroup] = {}
        self.replayed = 0
        """The number of replayed decisions."""
        self.same = 0
        self.flipped = 0
        self.unknown = 0
        self.ungrouped = 0
        """The number of changed decisions beyond the group limit."""
        self.skipped: Counter[str] = Counter()

    def add(self, records: Iterable[RecordedDecision]) -> None:
        for past in records:
            self._add(past)

    def groups(self) -> list[ReplayGroup]:
        """Return the groups of changed decisions, most frequent first, then the unknown ones."""
        return sorted(self._groups.values(), key=lambda one: (one.would == "unknown", -one.count, one.command))

    def _add(self, past: RecordedDecision) -> None:
        key = (past.command, past.tier, past.kind, past.status, past.code, bool(past.approval), past.rule)
        ruled = self._cache.get(key)
        if ruled is None:
            if len(self._cache) >= 20_000:  # many recipe edits give many rules
                self._cache.clear()
            ruled = self._cache[key] = self._evaluate(past)
        if ruled.left_out:
            self.skipped[ruled.left_out] += 1
            return
        self.replayed += 1
        would, rule = ruled.would, ruled.rule
        if ruled.command is not None:
            would, rule = self._evaluate_params(ruled.command, past)
        if would == ruled.was:
            self.same += 1
            return
        if would == "unknown":
            self.unknown += 1
        else:
            self.flipped += 1
        self._group(past, ruled.was, would, rule)

    def _group(self, past: RecordedDecision, was: PolicyDecision, would: str, rule: str) -> None:
        key = (past.command, was, past.rule, would, rule)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= MAX_GROUPS:
                self.ungrouped += 1
                return
            group = self._groups[key] = ReplayGroup(past.command, was, past.rule, would, rule)
        group.add(past, self._examples)

    def _evaluate(self, past: RecordedDecision) -> _CachedResult:
        was = past_decision(past)
        if isinstance(was, _Skipped):
            return _CachedResult(left_out=was.why)
        command = self._find(past.command)
        if command is None:
            return self._evaluate_missing(past, was)
        varies = self._policy.has_allowances(command) or command.find_parts is not None
        if self._policy.restricted_parameters(command) or varies:
            return _CachedResult(was=was, command=command)
        told = decide_verdict(self._policy, command, cast(Kind, past.kind), self._policy.rule_on(command))
        return _CachedResult(was=was, would=told.decision, rule=told.rule)

    def _evaluate_missing(self, past: RecordedDecision, was: PolicyDecision) -> _CachedResult:
        """Judge a command that no longer exists. Its name and tier may suffice to refuse it, but never to allow it."""
        if past.tier in _TIERS and not self._policy.allows_name(past.command, Tier(past.tier)):
            return _CachedResult(
                was=was, would="refused", rule=f"recipe {self._policy.recipe.recipe_id}: it is not allowed"
            )
        return _CachedResult(
            was=was, would="unknown", rule="the command no longer exists, so its rules cannot be checked"
        )

    def _evaluate_params(self, command: Command, past: RecordedDecision) -> tuple[str, str]:
        params = _recorded_params(command, past)
        if command.find_parts is not None:
            return self._evaluate_parts(command, cast(Kind, past.kind), params)
        looked_at = self._policy.restricted_parameters(command)
        if params is None:
            unknown, given = looked_at, {}
        else:
            unknown = frozenset(name for name in looked_at if name in params and not redact.is_whole(params[name]))
            given = params
        ruling = self._policy.rule_on_call(command, given, unknown)
        if ruling.allowed and unknown:
            names = ", ".join(sorted(unknown))
            return "unknown", f"a rule checks {names}, and the record does not hold the complete value"
        kind = cast(Kind, past.kind)
        if ruling.allowed and self._may_be_exempt(command, kind, params):
            return "unknown", "allowWithoutApproval checks the parameters, and the record does not hold them completely"
        told = decide_verdict(self._policy, command, kind, ruling, given)
        return told.decision, told.rule

    def _may_be_exempt(self, command: Command, kind: Kind, params: dict[str, Any] | None) -> bool:
        """Whether the recorded parameters do not tell if the recipe allows the call without approval."""
        if not self._policy.has_allowances(command) or find_approval_terms(self._policy, command, kind) is None:
            return False
        if params is None:
            return True
        cut = frozenset(name for name, value in params.items() if not redact.is_whole(value))
        maybe = self._policy.allows_without_approval(command, params, cut)
        return maybe and not self._policy.allows_without_approval(command, params)

    def _evaluate_parts(self, command: Command, kind: Kind, params: dict[str, Any] | None) -> tuple[str, str]:
        """Judge a call that is made of several. The strictest decision about one of them counts."""
        if params is None or not all(map(redact.is_whole, params.values())):
            return "unknown", "rules check the parts of the call, and the record does not hold them completely"
        calls = [(command, params), *command.parts_of(params)]
        told = [decide_verdict(self._policy, one, kind, self._policy.rule_on_call(one, given)) for one, given in calls]
        strictest = max(told, key=lambda one: _STRICTNESS.index(one.decision))
        return strictest.decision, strictest.rule


class _Skipped(msgspec.Struct, frozen=True):
    why: str


def past_decision(past: RecordedDecision) -> PolicyDecision | _Skipped:
    """Return the recorded decision, or why it was not a decision of a recipe."""
    if past.phase == "end":
        return _Skipped("the end of a call that is counted by its start")
    if past.code == "dry_run":
        return _Skipped("dry_run")
    if past.status == "parked":
        return "approval"
    if past.status == "refused":
        if past.code == NotPermitted.code and past.rule.startswith("recipe "):
            return "refused"
        return _Skipped("refused independently of recipes" if past.code == NotPermitted.code else past.code)
    if past.approval:
        return _Skipped("resumed")
    if past.rule.startswith(SESSION_RULE):
        return _Skipped("approved for the session")
    return "allowed"


def _recorded_params(command: Command, past: RecordedDecision) -> dict[str, Any] | None:
    """Return the recorded parameters, or None if the record has only their names or their size."""
    try:
        given = strictjson.loads(past.params)
    except strictjson.NotJson:
        return None
    if not isinstance(given, dict):
        return None
    known = command.schema.get("properties", {})
    stands_in = given.keys() in ({"keys", "characters"}, {"unreadable"}) and not given.keys() & known.keys()
    return None if stands_in or "…" in given else given
