"""Budgets: the most energy, tokens or dollars that a conversation, an agent or a room may cost.

Without a budget there is no limit. A budget above 0 stops the work when as much is spent. A budget of 0 allows exactly
one last answer: the charge of the next model answer uses it up. Budgets count everything that was ever charged, so a
conversation goes on when its budget is raised above what it has spent.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import msgspec

from doorward.core.command import shorten
from doorward.core.errors import BadParams
from doorward.store import energy as sql
from doorward.store.sqlite import Store

BudgetScope = Literal["conversation", "agent", "room"]
BudgetUnit = Literal["energy", "tokens", "dollars"]


class Spent(msgspec.Struct, frozen=True):
    """The sums of charges. They are exactly rounded, whatever the order of the charges."""

    energy: float
    tokens: int
    dollars: float


class Budget(msgspec.Struct, frozen=True):
    scope: BudgetScope
    id: str
    """An agent, a room, or a conversation as `agent@room`."""
    unit: BudgetUnit
    amount: float
    spent: float
    left: float
    last_chance_used: bool = False
    """Whether the one answer that a budget of 0 allows was given."""


class BudgetState(msgspec.Struct, frozen=True):
    """Whether a conversation may cost more."""

    allowed: bool
    last_chance: bool = False
    """Whether the next answer is the last one."""
    reason: str = ""
    """A sentence that says what the budget allows; empty if nothing is limited now."""
    budget: Budget | None = None
    """The budget that decides."""


_UNLIMITED = BudgetState(allowed=True)


class EnergyBudgets:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._claims: dict[tuple[str, str, str, str], str] = {}
        """The conversation that may use the last chance of a budget which several share."""

    async def put(self, tenant: str, scope: str, id: str, unit: str, amount: float | None) -> None:
        """Set a budget, or remove it with None. A budget of 0 that is set again allows one more answer."""
        _check_choice("scope", scope, get_args(BudgetScope))
        _check_choice("unit", unit, get_args(BudgetUnit))
        _check_id(scope, id)
        if amount is not None:
            _check_amount(amount)
        statement = (
            sql.delete_budget(tenant, scope, id, unit)
            if amount is None
            else sql.put_budget(tenant, scope, id, unit, float(amount))
        )
        await self._store.write(statement)
        self._claims.pop((tenant, scope, id, unit), None)

    async def list(self, tenant: str, scope: str, id: str) -> list[Budget]:
        return [await self._budget(tenant, row) for row in await sql.budgets(self._store, tenant, scope, id)]

    async def check(self, tenant: str, agent: str, room: str) -> BudgetState:
        """Check all budgets of a conversation. While one conversation uses a shared last chance, others must stop."""
        conversation = f"{agent}@{room}"
        state = _UNLIMITED
        for row in await sql.budgets_of(self._store, tenant, agent, room):
            budget = await self._budget(tenant, row)
            name = f"The {budget.unit} budget of {_describe(budget, agent, room)}"
            if budget.amount > 0:
                if budget.left <= 0:
                    spent = f"{name} is used up: {budget.spent:g} of {budget.amount:g} is spent."
                    return BudgetState(allowed=False, reason=spent, budget=budget)
                continue
            if budget.last_chance_used:
                return BudgetState(allowed=False, reason=f"{name} is 0, and its last answer was given.", budget=budget)
            holder = self._claims.setdefault((tenant, budget.scope, budget.id, budget.unit), conversation)
            if holder != conversation:
                return BudgetState(
                    allowed=False, reason=f"{name} is 0, and {holder} gives its last answer.", budget=budget
                )
            state = BudgetState(
                allowed=True, last_chance=True, reason=f"{name} is 0: the next answer is the last one.", budget=budget
            )
        return state

    async def spent(self, tenant: str, agent: str, room: str) -> Spent:
        return Spent(*await sql.totals(self._store, tenant, agent, room))

    async def _budget(self, tenant: str, row: dict[str, Any]) -> Budget:
        scope, id, amount = row["scope"], row["id"], row["amount"]
        agent, _, room = id.partition("@")
        spent = await self.spent(
            tenant,
            "" if scope == "room" else agent if scope == "conversation" else id,
            id if scope == "room" else room if scope == "conversation" else "",
        )
        used = float(getattr(spent, row["unit"]))
        left = max(0.0, amount - used)
        return Budget(scope, id, row["unit"], amount, used, left, bool(row["last_chance_used"]))


def _describe(budget: Budget, agent: str, room: str) -> str:
    return f"{agent} in {room}" if budget.scope == "conversation" else f"{budget.scope} {budget.id}"


def _check_choice(name: str, given: object, valid: tuple[str, ...]) -> None:
    if given not in valid:
        raise BadParams(f"{name} must be one of {', '.join(valid)}; given {shorten(repr(given))}.")


def _check_id(scope: str, id: str) -> None:
    agent, _, room = id.partition("@")
    if not id or (scope == "conversation" and not (agent and room)):
        valid = "an agent and its room as agent@room" if scope == "conversation" else f"the id of the {scope}"
        raise BadParams(f"The id of a budget for a {scope} is {valid}; given {shorten(repr(id))}.")


def _check_amount(given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given) or given < 0:
        raise BadParams(
            "A budget is a number: 0 for one last answer, or the most that may be spent, above 0; null removes it; "
            f"given {shorten(repr(given))}."
        )
