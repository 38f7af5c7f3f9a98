"""Plans for what went wrong: calls that failed or were refused, and those that people denied or did not decide."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.counting import counted
from doorward.agents.house.knowledge import Intent
from doorward.agents.house.plan import Around, NotOffered, Step, Steps, Telling, items
from doorward.agents.house.slots import within
from doorward.agents.house.telling import Asked, Got
from doorward.agents.house.telling.quoting import name as quoted_name

_REFUSED = re.compile(
    r"\b(?:refus|reject|denied|deny|denial|blocked|turned down|not allowed|not approved)", re.IGNORECASE
)
_EXPIRED = re.compile(r"\bexpire[ds]?\b", re.IGNORECASE)
_FAILED = re.compile(r"\bfail", re.IGNORECASE)
_DECIDED = ("denied", "expired")
"""How a call ends that waited for a person and was not approved."""


def plan(around: Around, intent: Intent, asked: Asked) -> Steps:
    """What failed or was refused, with the reasons that the ledger has."""
    span, who, text = around.slots.span(), around.slots.get("person"), around.slots.said.text.lower()
    states = _states(text, count=asked.count)
    common: dict[str, Any] = {}
    if who:
        common["$or"] = [{"caller": who}, {"onBehalfOf": who}]
        asked = msgspec.structs.replace(asked, condition_says=f"by {quoted_name(who)}")
    where = {"status": {"$in": states}, "phase": {"$ne": "start"}, **common}
    if span is not None:
        where["at"] = within(span)
    if states == ["failed"] and asked.count and not asked.why and "data/count" in around.tools:
        got = yield [Step("data/count", {"collection": "audit", "filter": where})]
        return Telling(msgspec.structs.replace(asked, noun=("failed command", "failed commands")), tuple(got))
    if "data/list" not in around.tools:
        raise NotOffered("data/list")
    limit = asked.limit or (1 if _asks_for_last(text) else 20)
    step = Step("data/list", {"collection": "audit", "filter": where, "orderBy": "-at", "limit": limit})
    (listed,) = yield [step]
    if not asked.limit and limit > 1:
        listed = yield from counted(around, step, listed)
    decided = [one for one in states if one in _DECIDED]
    if decided and not any(one.get("status") in _DECIDED for one in items(listed) if isinstance(one, dict)):
        waited: dict[str, Any] = {"state": {"$in": decided}, **common}
        if span is not None:
            waited["createdAt"] = within(span)
        params = {"collection": "approvals", "filter": waited, "orderBy": "-createdAt", "limit": limit}
        (approvals,) = yield [Step("data/list", params)]
        listed = _joined(listed, approvals, limit)
    return Telling(msgspec.structs.replace(asked, noun=_nouns(states), why=True), (listed,))


def _states(text: str, *, count: bool) -> list[str]:
    """The statuses that a request is about."""
    refused, failed = _REFUSED.search(text) is not None, _FAILED.search(text) is not None
    if _EXPIRED.search(text) and not refused:
        return ["expired"]
    if refused and not failed:
        return ["refused", *_DECIDED]
    if failed and not refused:
        return ["failed"] if count else ["failed", "refused"]
    return ["failed", "refused", *_DECIDED]


def _asks_for_last(text: str) -> bool:
    several = re.search(r"\b(?:commands|calls|failures|errors)\b", text)
    return several is None and knowledge.form("answering: the last one").search(text) is not None


def _joined(listed: Got, approvals: Got, limit: int) -> Got:
    """The calls of the ledger and those that an approval stopped, newest first."""
    stopped = [
        {**one, "status": one.get("state"), "at": one.get("decidedAt") or one.get("expiresAt")}
        for one in items(approvals)
        if isinstance(one, dict)
    ]
    if not stopped or not isinstance(listed.value, dict):
        return listed
    found = listed.value.get("found")
    whole = {"found": found + len(stopped)} if isinstance(found, int) else {}
    both = sorted([*items(listed), *stopped], key=lambda one: str(one.get("at")), reverse=True)
    return msgspec.structs.replace(listed, value={**listed.value, "items": both[:limit], **whole})


def _nouns(states: list[str]) -> tuple[str, str]:
    if states == ["expired"]:
        return ("expired command", "expired commands")
    if "failed" not in states:
        return ("refused command", "refused commands")
    return ("failed or refused command", "failed or refused commands")
