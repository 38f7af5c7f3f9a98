"""Step 3: authorize the call by the room's recipe and the caller's own access.

`Authorizer.rule` alone decides: the list of offered commands, `explain` and the gate all use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.core.classification import Tier
from doorward.core.command import Command
from doorward.core.errors import NotPermitted
from doorward.core.model import ApprovalTerms, Call, Caller, Ruling
from doorward.core.registry import Registry
from doorward.gate.recipes.book import RecipeBook
from doorward.gate.recipes.policy import (
    Policy,
    PolicyVerdict,
    changes_access_lists,
    combine_rulings,
    find_approval_terms,
    find_guarded_change,
    is_irreversible,
)
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Rooms

_NO_SUCH_ROOM = "built-in: no such room"
_MOST_NAMED = 10
_GUARDED = "built-in: changes of files that run later need approval"
_ACCESS_LISTS = "built-in: changes of access lists need approval"
_KEEPER_ASKS = "built-in: the keeper needs approval for commands that cannot be undone"
_KEEPER_WIDENS = "built-in: the keeper needs approval for commands that can widen access"


class Authorizer:
    def __init__(self, rooms: Rooms, recipes: RecipeBook, registry: Registry, patience: float = 600.0) -> None:
        """`patience`: how many seconds a person has to approve what the keeper wants to do."""
        self._patience = patience
        self._rooms = rooms
        self._recipes = recipes
        self._registry = registry

    def rule(self, caller: Caller, room: str, command: Command) -> Ruling:
        """Whether this caller may run this command in this room, whatever its parameters, and the rule that decides."""
        return self._rule(caller, room, command, self.policy(caller, room) if room else None)

    def would_rule(self, caller: Caller, command: Command, policy: Policy) -> Ruling:
        """The ruling for a member of a room under this policy. For previews of recipes; the gate never uses it."""
        return find_general_denial(caller, command) or policy.rule_on(command)

    def _rule(self, caller: Caller, room: str, command: Command, policy: Policy | None) -> Ruling:
        denied = find_general_denial(caller, command)
        if denied is not None:
            return denied
        if not room:
            return self._outside_rooms(caller, command)
        barred = self.room_denial(caller, room)
        if barred is not None:
            return barred
        if policy is None:
            return _denied(
                f"room {room}: its recipe is missing",
                f"The recipe of room {room!r} is missing, so nothing is allowed in the room.",
            )
        return policy.rule_on(command)

    def might_run(self, caller: Caller, room: str, name: str, tier: Tier) -> bool:
        """Whether room and recipe would let this caller run a command of that name and tier."""
        if not room:
            return _acts_anywhere(caller)
        policy = self.policy(caller, room)
        return self.room_denial(caller, room) is None and policy is not None and policy.allows_name(name, tier)

    def offered(self, caller: Caller, room: str) -> list[Command]:
        """Exactly the commands that `rule` allows."""
        policy = self.policy(caller, room) if room else None
        return [command for command in self._registry if self._rule(caller, room, command, policy).allowed]

    def command(self, name: str) -> Command:
        return self._registry[name]

    def authorize(self, call: Call) -> tuple[Ruling, Policy | None]:
        """The ruling on a call with its parameters, and the policy that made it. Raises NotPermitted on denial."""
        policy = self.policy(call.caller, call.room) if call.room else None
        ruling = self._rule(call.caller, call.room, call.command, policy)
        if ruling.allowed:
            judged = (
                self._rule(call.caller, call.room, part, policy) for part, _ in call.command.parts_of(call.params)
            )
            ruling = next((one for one in judged if not one.allowed), ruling)
        if ruling.allowed and policy is not None:
            ruling = combine_rulings(ruling, policy.check_params(call.command, call.params))
        if not ruling.allowed:
            reason = self.list_rooms_in_reason(call.caller, ruling) if ruling.rule == _NO_SUCH_ROOM else ruling.reason
            raise NotPermitted(reason, rule=ruling.rule, hint=self._why(call))
        return ruling, policy

    def terms(
        self,
        caller: Caller,
        policy: Policy | None,
        command: Command,
        params: Mapping[str, Any] | None = None,
        *,
        answered: bool = False,
    ) -> ApprovalTerms | None:
        """The approval that this caller needs: by the recipe, the command, its parameters, or because it is the keeper.

        Without `params` it is the approval for every call of the command. With `answered`, a person answered for the
        whole session, which leaves only the built-in rules that no answer lifts. The keeper needs a person's approval
        for everything that cannot be undone or can widen access. Outside rooms there are no owners and admins to
        decide, so the person it acts for decides.
        """
        return find_required_terms(caller, policy, command, params, self._patience, answered=answered)

    def explain_rule(self, caller: Caller, room: str, command: Command) -> Ruling:
        """The ruling for people to read: for an unknown room it lists the rooms that exist."""
        ruling = self.rule(caller, room, command)
        if ruling.rule != _NO_SUCH_ROOM:
            return ruling
        return _denied(ruling.rule, self.list_rooms_in_reason(caller, ruling))

    def list_rooms_in_reason(self, caller: Caller, barred: Ruling) -> str:
        """Why a room is closed to a caller, and which rooms are open. `rule` runs too often to list them."""
        seen = (one.id for one in self._rooms.of_tenant(caller.tenant) if one.is_visible_to(caller))
        names = sorted(room for room in seen if self.room_denial(caller, room) is None)
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return f"{barred.reason} Your rooms: {', '.join(names[:_MOST_NAMED]) or 'none'}{more}."

    def policy(self, caller: Caller, room: str) -> Policy | None:
        found = self._rooms.get(caller.tenant, room)
        return self._recipes.policy(found.recipe) if found is not None else None

    def room_denial(self, caller: Caller, room: str) -> Ruling | None:
        """The denial when the room itself is closed to this caller, or None."""
        found = self._rooms.get(caller.tenant, room)
        if found is None or not caller.covers_room(room):
            return _denied(_NO_SUCH_ROOM, f"There is no room {room[:80]!r} that you may act in.")
        if found.archived:
            return _denied(f"room {room}: archived", f"The room {room!r} is archived. Nothing runs in it.")
        if found.membership_of(caller) is None or (caller.persona and caller.id not in found.members):
            return _denied(
                f"room {room}: members only",
                f"You are not a member of room {room!r}. Its owner can add you.",
            )
        if caller.persona and caller.on_behalf_of not in found.members:
            return _denied(
                f"room {room}: members only",
                f"{caller.on_behalf_of}, for whom you act, is no longer a member of room {room!r}.",
            )
        return None

    def require_room(self, caller: Caller, room: str) -> None:
        """Refuse a room that is closed to this caller, with the sentence that any call there would get."""
        barred = self.room_denial(caller, room)
        if barred is not None:
            raise NotPermitted(self.list_rooms_in_reason(caller, barred), rule=barred.rule)

    @staticmethod
    def _outside_rooms(caller: Caller, command: Command) -> Ruling:
        if not _acts_anywhere(caller):
            who = {"ai": "agents act", "service": "programs act"}.get(caller.kind, "this token acts")
            return _denied("built-in: agents act in rooms", f"Name a room to run {command.name}: {who} only in rooms.")
        who = "the keeper, for a person" if caller.keeper else "a person"
        return Ruling(True, f"built-in: {who} with {caller.access.label} access")

    @staticmethod
    def _why(call: Call) -> str:
        return f"To see the rule: doorward explain --room {call.room[:80]} {call.command.name}" if call.room else ""


def find_general_denial(caller: Caller, command: Command) -> Ruling | None:
    """The denial that applies in every room and under every recipe, or None."""
    facts = command.facts
    proposes = facts.proposable and caller.kind == "ai"  # such a call always waits for a person with the access
    if facts.humans_only and caller.kind != "human":
        return _denied("built-in: only people", f"Only a person may run {command.name}. You are {caller.kind_label}.")
    if facts.widens_access and not caller.acts_as_person and not proposes:
        reason = f"{command.name} can widen what somebody may do. Only people and their keeper may run it."
        return _denied("built-in: only people widen access", f"{reason} You are {caller.kind_label}.")
    if facts.runs_agent and (caller.keeper or caller.persona):
        reason = f"Personas and the keeper cannot call {command.name}. Run the commands you need."
        return _denied("built-in: personas and the keeper cannot call the keeper", reason)
    if command.withheld:
        return _denied("built-in: withheld", command.withheld)
    if facts.server_wide and caller.tenant != LOCAL:
        return _denied(
            "built-in: only the tenant of the server",
            f"{command.name} concerns the whole server. Only members of the tenant {LOCAL!r} may run it.",
        )
    if caller.access < facts.access and not proposes:
        return _denied(
            f"access: {command.name} needs {facts.access.label}",
            f"{command.name} needs {facts.access.label} access. You have {caller.access.label}.",
        )
    return None


def find_required_terms(
    caller: Caller,
    policy: Policy | None,
    command: Command,
    params: Mapping[str, Any] | None,
    patience: float,
    *,
    answered: bool = False,
) -> ApprovalTerms | None:
    """See `Authorizer.terms`. `patience` is how many seconds a person has to approve what the keeper wants."""
    asked = None
    if not answered or command.facts.widens_access:
        asked = find_approval_terms(policy, command, caller.kind, params)
    for part, given in command.parts_of(params) if params is not None else ():
        more = find_required_terms(caller, policy, part, given, patience, answered=answered)
        if asked is None or more is None:
            asked = asked or more
        elif (set(asked.approvers), asked.quorum) != (set(more.approvers), more.quorum):
            # One decision is for all parts.
            reason = f"{command.name} changes files that need different approvals. Change them one by one."
            raise NotPermitted(reason, rule="built-in: one call, one kind of approval")
    if asked is None and params is not None and caller.kind != "human":
        in_draft = policy is not None and policy.uses_drafts  # there the review asks, about all changes at once
        if not in_draft and find_guarded_change(command, params) is not None:
            asked = ApprovalTerms(rule=_GUARDED)
        elif changes_access_lists(command, params):
            asked = ApprovalTerms(rule=_ACCESS_LISTS)
    if not caller.keeper:
        return asked
    if asked is None and (is_irreversible(command) or command.facts.widens_access):
        rule = _KEEPER_WIDENS if command.facts.widens_access else _KEEPER_ASKS
        asked = ApprovalTerms(timeout_seconds=patience, rule=rule)
    if asked is not None and policy is None:
        return ApprovalTerms(patience, approvers=(caller.on_behalf_of,), rule=asked.rule)
    return asked


def judge_call(caller: Caller, policy: Policy, command: Command, params: Mapping[str, Any]) -> PolicyVerdict:
    """What the gate would decide about a call in a room under this policy, for a member; the gate never uses it."""
    ruling = find_general_denial(caller, command) or policy.rule_on_call(command, params)
    if not ruling.allowed:
        return PolicyVerdict("refused", ruling.rule, ruling.reason)
    terms = find_required_terms(caller, policy, command, params, ApprovalTerms().timeout_seconds)
    if terms is not None:
        return PolicyVerdict("approval", terms.rule or policy.approval_rule(command))
    return PolicyVerdict("allowed", policy.exemption(command, params) or ruling.rule)


def _acts_anywhere(caller: Caller) -> bool:
    """Whether the caller may act outside rooms: people, and the keeper on behalf of a person."""
    return caller.acts_as_person and caller.rooms is None


def _denied(rule: str, reason: str) -> Ruling:
    return Ruling(False, rule, reason)
