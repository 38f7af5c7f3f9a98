"""A policy: a recipe compiled for decisions. One function decides both what is offered and what may be called."""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable, Mapping
from typing import Any, Literal

import msgspec

from doorward.core import redact
from doorward.core.classification import Effects, Tier
from doorward.core.command import Command, NoUndo, shorten
from doorward.core.errors import BadParams
from doorward.core.model import ApprovalTerms, Kind, Ruling
from doorward.gate.recipes.parameter_rules import ParameterRule
from doorward.gate.recipes.recipe import AiCommands, Allowance, ApprovalRule, Recipe
from doorward.sandbox.safefs import normalize_path
from doorward.sandbox.safefs.guarded_paths import GuardedPath, find_guarded_path
from doorward.store.acl import LISTS as ACCESS_LISTS


@functools.lru_cache(4_096)
def matching_patterns(name: str) -> tuple[str, ...]:
    """Return every pattern that matches this command, most specific first."""
    steps = name.split("/")
    return (name, *("/".join([*steps[:depth], "*"]) for depth in range(len(steps) - 1, 0, -1)), "*")


def match_pattern(patterns: Container[str], name: str) -> str | None:
    """Return the most specific of these patterns that matches the command."""
    for pattern in matching_patterns(name):
        if pattern in patterns:
            return pattern
    return None


def find_unused(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the patterns that match none of these commands, each once: they are misspelt or not needed yet."""
    known = {pattern for name in names for pattern in matching_patterns(name)}
    return [pattern for pattern in dict.fromkeys(patterns) if pattern not in known]


SCREENSHOT = "screenshot"
CLICKS = frozenset({"ui/click", "ui/drag", "browser/click"})

OBSERVED_REFUSAL = "observe: would have been refused by "
OBSERVED_APPROVAL = "observe: would have asked by "
"""How the rule of a call begins that observe mode let through."""

_MAX_RULINGS = 20_000
_MAX_LISTED = 8
"""The most patterns that a refusal lists."""


class PolicyLimits(msgspec.Struct, frozen=True):
    """Rate and time limits; None means no limit."""

    per_response: int
    per_minute: int
    per_second: float | None
    timeout: float | None


class Policy:
    """The decisions of one recipe. It is immutable: an edited recipe gets a new policy."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._commands = recipe.strategy.ai_commands
        self.uses_drafts = recipe.strategy.changes == "draft"
        """Whether agents change a draft of the workspace, which a person reviews, instead of the workspace."""
        commands = self._commands or AiCommands()
        self.limits = PolicyLimits(
            per_response=commands.max_commands_per_response,
            per_minute=commands.max_commands_per_minute,
            per_second=commands.max_actions_per_second,
            timeout=commands.timeout_seconds,
        )
        self.observes = recipe.strategy.mode == "observe"
        """Whether it only records what it would refuse or ask."""
        self._approvals = {pattern: _to_terms(rule) for pattern, rule in commands.require_approval.items()}
        self._allowances: dict[str, list[CompiledAllowance]] = {}
        for one in commands.allow_without_approval:
            self._allowances.setdefault(one.command, []).append(CompiledAllowance(one))
        self._parameter_rules = {
            pattern: {parameter: ParameterRule(rule) for parameter, rule in by_parameter.items()}
            for pattern, by_parameter in commands.parameter_rules.items()
        }
        self._rulings: dict[tuple[str, Tier, str], Ruling] = {}
        self._no_rules = Ruling(True, self._rule_name("parameter rules"))

    def rule_on(self, command: Command) -> Ruling:
        """Whether AIs may call this command."""
        key = (command.name, command.facts.tier, command.version)
        ruling = self._rulings.get(key)
        if ruling is None:
            bare = self._decide(command)
            ruling = Ruling(bare.allowed, self._rule_name(bare.rule), bare.reason)
            if len(self._rulings) >= _MAX_RULINGS:  # commands of upstream servers may change without end
                self._rulings.clear()
            ruling = self._deny_unsatisfiable(command) or ruling if ruling.allowed else ruling
            ruling = self._rulings[key] = self._observed(ruling)
        return ruling

    def _decide(self, command: Command) -> Ruling:
        """Decide by the command's own name and, where the recipe does not name it, by its equivalent too."""
        own = decide_permission(self._commands, command.name, command.facts.tier)
        if not own.allowed or _governing_name(command, (self._commands or AiCommands()).whitelist) == command.name:
            return own
        other = decide_permission(self._commands, command.equivalent, command.facts.tier)
        if other.allowed:
            return own
        reason = f"{command.name} needs the same permission as {command.equivalent}. {other.reason}"
        return Ruling(False, other.rule, reason)

    def allows_name(self, name: str, tier: Tier) -> bool:
        """Whether AIs may call a command of this name and tier, before parameter rules."""
        return self.observes or decide_permission(self._commands, name, tier).allowed

    def _deny_unsatisfiable(self, command: Command) -> Ruling | None:
        """Deny a command that no call can satisfy: a rule requires a parameter that the command does not have."""
        for pattern in matching_patterns(_governing_name(command, self._parameter_rules)):
            for parameter in self._parameter_rules.get(pattern, {}):
                if parameter not in command.schema["properties"] and parameter not in command.part_parameters:
                    reason = f"{command.name} has no parameter {parameter!r}, but this room's recipe has a rule for it."
                    return Ruling(False, self._rule_name(f'parameter rule "{pattern}" on {parameter}'), reason)
        return None

    def offered(self, commands: Iterable[Command]) -> list[Command]:
        return [command for command in commands if self.rule_on(command).allowed]

    def rule_on_call(self, command: Command, params: Mapping[str, Any], unknown: Container[str] = ()) -> Ruling:
        """Whether AIs may call this command with these parameters. Rules on `unknown` parameters are skipped."""
        ruling = self.rule_on(command)
        if not ruling.allowed:
            return ruling
        return combine_rulings(ruling, self.check_params(command, params, unknown))

    def restricted_parameters(self, command: Command) -> frozenset[str]:
        """Return the parameters of this command that have rules."""
        if not self._parameter_rules:
            return frozenset()
        patterns = matching_patterns(_governing_name(command, self._parameter_rules))
        return frozenset(name for pattern in patterns for name in self._parameter_rules.get(pattern, {}))

    def has_allowances(self, command: Command) -> bool:
        """Whether some calls of this command need no approval although the command does."""
        return command.name in self._allowances and not command.facts.widens_access

    def check_params(self, command: Command, params: Mapping[str, Any], unknown: Container[str] = ()) -> Ruling:
        """Whether these parameters satisfy every rule of every pattern that matches the command, and of its parts."""
        parts = [] if unknown else command.parts_of(params)
        if not self._parameter_rules and not parts:
            return self._no_rules
        for pattern in matching_patterns(_governing_name(command, self._parameter_rules)):
            for parameter, rule in self._parameter_rules.get(pattern, {}).items():
                in_parts = parameter in command.part_parameters
                for given in (one for _, one in parts) if in_parts else (params,):
                    if parameter in unknown or (parameter in given and rule.allows(given[parameter])):
                        continue
                    reason = _describe_refusal(command, parameter, rule, given)
                    denial = Ruling(False, self._rule_name(f'parameter rule "{pattern}" on {parameter}'), reason)
                    return self._observed(denial)
        ruling = self._no_rules
        for part, given in parts:
            ruling = combine_rulings(ruling, self.rule_on_call(part, given))
        return ruling if not ruling.allowed or ruling.rule.startswith(OBSERVED_REFUSAL) else self._no_rules

    def _observed(self, ruling: Ruling) -> Ruling:
        """The ruling, or in observe mode the permission that records the refusal."""
        if ruling.allowed or not self.observes:
            return ruling
        return Ruling(True, f"{OBSERVED_REFUSAL}{ruling.rule}", ruling.reason)

    def approval_terms(self, command: Command) -> ApprovalTerms | None:
        """Return the approval terms of this command, or None if it needs no approval."""
        if not self._approvals:
            return None
        pattern = match_pattern(self._approvals, _governing_name(command, self._approvals))
        return None if pattern is None else self._approvals[pattern]

    def allows_without_approval(
        self, command: Command, params: Mapping[str, Any], unknown: Container[str] = ()
    ) -> bool:
        """Whether the recipe names this very call as one that needs no approval. Rules on `unknown` are skipped."""
        if not self.has_allowances(command):
            return False
        return any(one.covers(params, unknown) for one in self._allowances[command.name])

    def exemption(self, command: Command, params: Mapping[str, Any]) -> str:
        """Return why this call needs no approval of the recipe although its command does; empty if nothing exempts it.

        Observe mode asks for nothing and records that it would have.
        """
        if self.approval_terms(command) is None and not command.asks_first:
            return ""
        if self.allows_without_approval(command, params):
            return self._rule_name(f'allowWithoutApproval "{command.name}"')
        if self.observes and self.approval_terms(command) is not None:
            return f"{OBSERVED_APPROVAL}{self.approval_rule(command)}"
        return ""

    def approval_rule(self, command: Command) -> str:
        """Return the rule that requires approval of this command."""
        pattern = match_pattern(self._approvals, _governing_name(command, self._approvals))
        return _own_approval_rule(command) if pattern is None else self._rule_name(f'requireApproval "{pattern}"')

    def _rule_name(self, rule: str) -> str:
        return f"recipe {self.recipe.recipe_id}: {rule}"


def _governing_name(command: Command, patterns: Container[str]) -> str:
    """The name whose rules apply: the command's own or, where no pattern names it or its family, its equivalent's."""
    if not command.equivalent or match_pattern(patterns, command.name) not in (None, "*"):
        return command.name
    return command.equivalent


def _to_terms(rule: bool | ApprovalRule) -> ApprovalTerms:
    """The terms of an entry of requireApproval. Looking holds a request only where its time is the usual one."""
    if isinstance(rule, bool):
        return ApprovalTerms()
    timeout = ApprovalTerms().timeout_seconds if rule.timeout_seconds is None else rule.timeout_seconds
    usual_hold = ApprovalTerms().hold_seconds if rule.timeout_seconds is None else 0.0
    hold = usual_hold if rule.hold_seconds is None else rule.hold_seconds
    return ApprovalTerms(timeout, rule.approvers, rule.quorum, hold_seconds=hold)


class CompiledAllowance:
    """One entry of allowWithoutApproval: it covers a call that gives exactly its parameters, each as its rule says."""

    def __init__(self, allowance: Allowance) -> None:
        self._rules = {name: ParameterRule(rule) for name, rule in allowance.params.items()}

    def covers(self, params: Mapping[str, Any], unknown: Container[str] = ()) -> bool:
        if params.keys() != self._rules.keys():
            return False
        return all(name in unknown or rule.allows(params[name]) for name, rule in self._rules.items())


def combine_rulings(ruling: Ruling, narrowed: Ruling) -> Ruling:
    """The ruling on a command with the ruling on its parameters: the first that denies, or that would have denied."""
    if not ruling.allowed or ruling.rule.startswith(OBSERVED_REFUSAL):
        return ruling
    return narrowed if not narrowed.allowed or narrowed.rule.startswith(OBSERVED_REFUSAL) else ruling


def find_approval_terms(
    policy: Policy | None, command: Command, kind: Kind, params: Mapping[str, Any] | None = None
) -> ApprovalTerms | None:
    """Return the approval terms of a command: the recipe's or, for callers other than people, the command's own.

    With `params`, a call that the recipe allows without approval needs none.
    """
    if policy is not None and params is not None and policy.allows_without_approval(command, params):
        return None
    asked = policy.approval_terms(command) if policy is not None and not policy.observes else None
    if asked is None and command.asks_first and kind != "human":
        return ApprovalTerms(rule=_own_approval_rule(command))
    return asked


def _own_approval_rule(command: Command) -> str:
    return f"built-in: {command.name} needs approval"


def is_irreversible(command: Command) -> bool:
    """Whether a command is irreversible: it destroys, reaches the open world, or writes without an undo.

    A command that works by inner calls is not: each inner call is judged separately.
    """
    facts = command.facts
    if facts.nests_calls:
        return False
    lasting = bool(facts.effects & (Effects.DESTROY | Effects.OPEN_WORLD))
    return lasting or (bool(facts.effects & Effects.WRITE) and isinstance(facts.undo, NoUndo))


def find_guarded_change(command: Command, params: Mapping[str, Any]) -> tuple[str, GuardedPath] | None:
    """Find the guarded path that a call changes, which a person's own tools would run outside the sandbox."""
    for part, given in command.parts_of(params):
        found = find_guarded_change(part, given)
        if found is not None:
            return found
    if command.reads_only or not command.path_parameter:
        return None
    try:
        path = normalize_path(params.get(command.path_parameter, "."))
    except BadParams:  # the command refuses it
        return None
    row = find_guarded_path(path)
    return None if row is None else (path, row)


def changes_access_lists(command: Command, params: Mapping[str, Any]) -> bool:
    """Whether a call sets who may read or change a record."""
    fields = params.get("data")
    return not command.reads_only and isinstance(fields, Mapping) and not fields.keys().isdisjoint(ACCESS_LISTS)


def decide_permission(commands: AiCommands | None, name: str, tier: Tier) -> Ruling:
    """Decide permission. The result depends only on the recipe, the command's name and its tier."""
    if commands is None or not commands.enabled:
        return Ruling(
            False,
            "commands are disabled",
            f'This room\'s recipe does not set "enabled": true in strategy.aiCommands, so no command is allowed here;'
            f" given {name}.",
        )
    denied = match_pattern(commands.blacklist, name)
    if denied is not None:
        return _deny(commands, f'blacklist "{denied}"', f"{name} is on the blacklist of this room's recipe")
    if commands.visual.screenshot_only and tier is Tier.VISUAL and name != SCREENSHOT:
        fault = f"{name} is not allowed: of the visual commands, this room's recipe allows only {SCREENSHOT}"
        return _deny(commands, "visual.screenshotOnly", fault)
    if commands.visual.no_clicks and name in CLICKS:
        return _deny(commands, "visual.noClicks", f"{name} clicks, and this room's recipe forbids clicks")
    allowed = match_pattern(commands.whitelist, name)
    if allowed is not None:
        return Ruling(True, f'whitelist "{allowed}"')
    if tier in commands.tiers:
        return Ruling(True, f'tier "{tier}"')
    return _deny(commands, "nothing allows it", f"{name} (tier {tier}) is not allowed by this room's recipe")


def _deny(commands: AiCommands, rule: str, fault: str) -> Ruling:
    return Ruling(False, rule, f"{fault}; valid: {_list_allowed(commands)}.")


def _list_allowed(commands: AiCommands) -> str:
    """List what the recipe allows, without patterns that its blacklist removes completely."""
    open_ = [pattern for pattern in commands.whitelist if match_pattern(commands.blacklist, pattern) is None]
    shown = ", ".join(open_[:_MAX_LISTED])
    if len(open_) > _MAX_LISTED:
        shown += f" and {len(open_) - _MAX_LISTED} more"
    tiers = f"commands of the tiers {', '.join(commands.tiers)}" if commands.tiers else ""
    return "; ".join(filter(None, [shown, tiers])) or "no command"


def _describe_refusal(command: Command, parameter: str, rule: ParameterRule, params: Mapping[str, Any]) -> str:
    if parameter not in params:
        return f"{command.name}: parameter {parameter!r} is required here; valid: a value that fits {rule}."
    shown = redact.params({parameter: params[parameter]}, command.secret)[parameter]
    return (
        f"{command.name}: parameter {parameter!r} does not fit this room's recipe;"
        f" valid: a value that fits {rule}; given {shorten(shown)}."
    )


PolicyDecision = Literal["allowed", "approval", "refused"]


class PolicyVerdict(msgspec.Struct, frozen=True):
    """A decision with its rule and, for a refusal, the reason as a sentence."""

    decision: PolicyDecision
    rule: str
    reason: str = ""


def decide_verdict(
    policy: Policy, command: Command, kind: Kind, ruling: Ruling, params: Mapping[str, Any] | None = None
) -> PolicyVerdict:
    """Combine a ruling of this policy with its approval terms."""
    if not ruling.allowed:
        return PolicyVerdict("refused", ruling.rule, ruling.reason)
    if find_approval_terms(policy, command, kind, params) is not None:
        return PolicyVerdict("approval", policy.approval_rule(command))
    exempt = policy.exemption(command, params) if params is not None else ""
    return PolicyVerdict("allowed", exempt or ruling.rule)
