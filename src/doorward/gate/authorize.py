"""Step 3: does this room's recipe, and the caller's own access, allow it.

`Authorizer.rule` is the only judge: what a caller is offered, what `explain` says and what the gate does all ask it.
"""

from __future__ import annotations

from doorward.command import Command
from doorward.errors import NotPermitted
from doorward.facts import Tier
from doorward.model import ApprovalTerms, Call, Caller, Ruling
from doorward.recipes.book import RecipeBook
from doorward.recipes.policy import Policy, not_to_be_taken_back, terms
from doorward.registry import Registry
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Rooms

_NO_SUCH_ROOM = "house: no such room"
_MOST_NAMED = 10
_KEEPER_ASKS = "house: what the keeper wants that cannot be taken back asks first"


class Authorizer:
    def __init__(self, rooms: Rooms, recipes: RecipeBook, registry: Registry, patience: float = 600.0) -> None:
        """`patience` is for how many seconds a person can say yes to what the keeper wants."""
        self._patience = patience
        self._rooms = rooms
        self._recipes = recipes
        self._registry = registry

    def rule(self, caller: Caller, room: str, command: Command) -> Ruling:
        """Whether this caller may ever run that command in that room, and which rule says so."""
        return self._rule(caller, room, command, self.policy(caller, room) if room else None)

    def would_rule(self, caller: Caller, command: Command, policy: Policy) -> Ruling:
        """What `rule` would say of a member of a room that this policy governs. The gate itself never asks this."""
        return self._anywhere(caller, command) or policy.rule(command)

    def _rule(self, caller: Caller, room: str, command: Command, policy: Policy | None) -> Ruling:
        denied = self._anywhere(caller, command)
        if denied is not None:
            return denied
        if not room:
            return self._outside_rooms(caller, command)
        barred = self.barred(caller, room)
        if barred is not None:
            return barred
        if policy is None:
            return _denied(
                f"room {room}: its recipe is missing",
                f"The recipe of room {room!r} is not there, so nothing is allowed in it.",
            )
        return policy.rule(command)

    @staticmethod
    def _anywhere(caller: Caller, command: Command) -> Ruling | None:
        """The denial that no room and no recipe can lift, else None."""
        facts = command.facts
        if facts.humans_only and caller.kind != "human":
            return _denied("house: only people", f"Only a person may run {command.name}; you act as {caller.as_whom}.")
        if facts.thinks and (caller.keeper or caller.persona):
            reason = f"{command.name} is for those who do not think here themselves; run the commands that you need."
            return _denied("house: who thinks here does not ask the keeper", reason)
        if command.withheld:
            return _denied("house: withheld", command.withheld)
        if facts.house_wide and caller.tenant != LOCAL:
            return _denied(
                "house: its own tenant", f"{command.name} concerns the whole house; only its owners may run it."
            )
        if caller.access < facts.access:
            return _denied(
                f"access: {command.name} needs {facts.access.label}",
                f"{command.name} needs {facts.access.label} access; you have {caller.access.label}.",
            )
        return None

    def might(self, caller: Caller, room: str, name: str, tier: Tier) -> bool:
        """Whether this caller might run a command of that name and tier there, as far as room and recipe say."""
        if not room:
            return _acts_anywhere(caller)
        policy = self.policy(caller, room)
        return self.barred(caller, room) is None and policy is not None and policy.names(name, tier)

    def offered(self, caller: Caller, room: str) -> list[Command]:
        """Exactly the commands that `rule` allows."""
        policy = self.policy(caller, room) if room else None
        return [command for command in self._registry if self._rule(caller, room, command, policy).allowed]

    def command(self, name: str) -> Command:
        return self._registry[name]

    def authorize(self, call: Call) -> tuple[Ruling, Policy | None]:
        """The ruling on one call with its parameters, and the policy that it stands on; a denial is raised."""
        policy = self.policy(call.caller, call.room) if call.room else None
        ruling = self._rule(call.caller, call.room, call.command, policy)
        if ruling.allowed and policy is not None:
            narrowed = policy.check_params(call.command, call.params)
            ruling = ruling if narrowed.allowed else narrowed
        if not ruling.allowed:
            reason = self.with_rooms(call.caller, ruling) if ruling.rule == _NO_SUCH_ROOM else ruling.reason
            raise NotPermitted(reason, rule=ruling.rule, hint=self._why(call))
        return ruling, policy

    def terms(self, caller: Caller, policy: Policy | None, command: Command) -> ApprovalTerms | None:
        """The approval that this caller needs for the command, by the recipe, by the command itself, or as the keeper.

        What the keeper wants that cannot be taken back, nobody foresaw, so a person sees it first, wherever that is.
        Outside rooms there are no owners and admins to decide, and whoever it acts for does.
        """
        asked = terms(policy, command, caller.kind)
        if not caller.keeper:
            return asked
        if asked is None and not_to_be_taken_back(command):
            asked = ApprovalTerms(timeout_seconds=self._patience, rule=_KEEPER_ASKS)
        if asked is not None and policy is None:
            return ApprovalTerms(self._patience, approvers=(caller.on_behalf_of,), rule=_KEEPER_ASKS)
        return asked

    def ruled(self, caller: Caller, room: str, command: Command) -> Ruling:
        """The decision about a command as people read it: of a room that is not there, it says which are."""
        ruling = self.rule(caller, room, command)
        if ruling.rule != _NO_SUCH_ROOM:
            return ruling
        return _denied(ruling.rule, self.with_rooms(caller, ruling))

    def with_rooms(self, caller: Caller, barred: Ruling) -> str:
        """Why a room is closed to a caller, and which are not. `rule` does without: it is asked for each command."""
        seen = (one.id for one in self._rooms.of(caller.tenant) if one.seen_by(caller))
        names = sorted(room for room in seen if self.barred(caller, room) is None)
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return f"{barred.reason.rstrip('.')}; yours: {', '.join(names[:_MOST_NAMED]) or 'none'}{more}."

    def policy(self, caller: Caller, room: str) -> Policy | None:
        found = self._rooms.get(caller.tenant, room)
        return self._recipes.policy(found.recipe) if found is not None else None

    def barred(self, caller: Caller, room: str) -> Ruling | None:
        """The ruling when the room itself is closed to this caller, else None."""
        found = self._rooms.get(caller.tenant, room)
        if found is None or not caller.reaches(room):
            return _denied(_NO_SUCH_ROOM, f"There is no room {room[:80]!r} that you may act in.")
        if found.archived:
            return _denied(f"room {room}: archived", f"The room {room!r} is archived; nothing runs in it.")
        if found.member(caller) is None or (caller.persona and caller.id not in found.members):
            return _denied(
                f"room {room}: members only",
                f"You are not a member of room {room!r}; its owner can add you.",
            )
        if caller.persona and caller.on_behalf_of not in found.members:
            return _denied(
                f"room {room}: members only",
                f"{caller.on_behalf_of}, for whom you act, is not a member of room {room!r} any more.",
            )
        return None

    @staticmethod
    def _outside_rooms(caller: Caller, command: Command) -> Ruling:
        if not _acts_anywhere(caller):
            who = {"ai": "agents act", "service": "programs act"}.get(caller.kind, "this token acts")
            return _denied("house: agents act in rooms", f"Name a room to run {command.name}: {who} only in rooms.")
        who = "the keeper, for a person" if caller.keeper else "a person"
        return Ruling(True, f"house: {who} with {caller.access.label} access")

    @staticmethod
    def _why(call: Call) -> str:
        return f"To see the rule: doorward explain --room {call.room[:80]} {call.command.name}" if call.room else ""


def _acts_anywhere(caller: Caller) -> bool:
    """Whether it acts outside rooms: people do, and the keeper where it acts for one."""
    return caller.personal and caller.rooms is None


def _denied(rule: str, reason: str) -> Ruling:
    return Ruling(False, rule, reason)
