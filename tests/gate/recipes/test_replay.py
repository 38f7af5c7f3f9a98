"""The time machine decides again by the same functions, and says where the record does not hold enough (R2.7)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from recipe_samples import WORDS, command, policy

from doorward.core.classification import Tier
from doorward.core.command import Command
from doorward.gate.recipes import replay
from doorward.gate.recipes.policy import Policy
from doorward.gate.recipes.replay import RecordedDecision, Replay

READ = command("data/read")
WRITE = command("file/write", Tier.CODE)
for known in (READ, WRITE):
    known.schema = {**WORDS, "properties": {"path": {}, "token": {}}}
KNOWN: dict[str, Command] = {one.name: one for one in (READ, WRITE)}
ALLOWED = {"status": "done", "code": "ok", "rule": 'recipe old: tier "code"'}
REFUSED = {"status": "refused", "code": "not_permitted", "rule": "recipe old: nothing allows it"}
ASKED = {"status": "parked", "code": "approval_needed", "rule": "recipe: requireApproval", "approval": "a1"}


def past(name: str = "file/write", params: Any = None, **more: Any) -> RecordedDecision:
    """A call of an agent that was let through, unless said otherwise."""
    given = {
        "seq": 1,
        "at": 5,
        "call": "c1",
        "caller": "helper",
        "kind": "ai",
        "behalf": "",
        "room": "general",
        "command": name,
        "tier": "code",
        "params": params if isinstance(params, str) else json.dumps(params or {}),
        "approval": "",
        "phase": "whole",
        **ALLOWED,
        **more,
    }
    return RecordedDecision(**given)


def replayed(under: Policy, *records: RecordedDecision, examples: int = 3) -> Replay:
    found = Replay(under, KNOWN.get, examples)
    found.add(records)
    return found


def told(found: Replay) -> list[tuple[str, str, str, int]]:
    return [(one.command, one.was, one.would, one.count) for one in found.groups()]


OPEN = policy(enabled=True, whitelist=["*"])
SHUT = policy(enabled=False)
ASKING = policy(enabled=True, whitelist=["*"], requireApproval={"file/*": True})
NARROW = policy(enabled=True, whitelist=["*"], parameterRules={"file/write": {"path": {"glob": "notes/**"}}})


@pytest.mark.parametrize(
    ("under", "was", "flip"),
    [
        (OPEN, ALLOWED, []),
        (OPEN, REFUSED, [("file/write", "refused", "allowed", 1)]),
        (OPEN, ASKED, [("file/write", "approval", "allowed", 1)]),
        (SHUT, ALLOWED, [("file/write", "allowed", "refused", 1)]),
        (SHUT, REFUSED, []),
        (SHUT, ASKED, [("file/write", "approval", "refused", 1)]),
        (ASKING, ALLOWED, [("file/write", "allowed", "approval", 1)]),
        (ASKING, REFUSED, [("file/write", "refused", "approval", 1)]),
        (ASKING, ASKED, []),
    ],
)
def test_each_decision_is_compared_with_what_the_new_recipe_says(under, was, flip):
    found = replayed(under, past(**was))
    assert told(found) == flip
    assert (found.replayed, found.flipped, found.same) == (1, len(flip), 1 - len(flip))


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"status": "refused", "code": "too_fast", "rule": ""}, "too_fast"),
        ({"status": "refused", "code": "bad_params", "rule": ""}, "bad_params"),
        ({**REFUSED, "rule": "room general: members only"}, "refused independently of recipes"),
        ({"code": "dry_run"}, "dry_run"),
        ({"approval": "a1"}, "resumed"),
        ({"phase": "end"}, "the end of a call that is counted by its start"),
    ],
)
def test_what_no_recipe_decided_is_left_out_and_counted(record, why):
    found = replayed(SHUT, past(**record))
    assert (dict(found.skipped), found.replayed, found.groups()) == ({why: 1}, 0, [])


def test_a_parameter_rule_looks_at_each_call():
    found = replayed(
        NARROW, past(params={"path": "notes/a"}), past(params={"path": "src/a"}), past(params={"path": "src/b"}), past()
    )
    (group,) = found.groups()
    assert (group.would, group.count, found.same) == ("refused", 3, 1)
    assert group.rule == 'recipe sample: parameter rule "file/write" on path'


@pytest.mark.parametrize(
    "params",
    [
        {"path": "notes/[redacted]"},
        {"path": "[4000 characters, sha256 0123456789abcdef]"},
        {"path": "[3000 items]"},
        {"path": {"…": "[12 more]"}},
        {"keys": ["path", "content"], "characters": 9000},
        {"unreadable": "{'path': ...}"},
        "no JSON at all",
    ],
)
def test_what_a_rule_cannot_see_any_more_cannot_be_told(params):
    found = replayed(NARROW, past(params=params))
    assert told(found) == [("file/write", "allowed", "unknown", 1)]
    assert (found.unknown, found.flipped) == (1, 0)
    assert "path" in found.groups()[0].rule


def test_a_hidden_value_that_no_rule_looks_at_does_not_matter():
    found = replayed(NARROW, past(params={"path": "notes/a", "token": "[redacted]"}))
    assert (found.same, found.unknown) == (1, 0)


def test_one_refused_value_is_enough_whatever_another_was():
    both = policy(
        enabled=True,
        whitelist=["*"],
        parameterRules={"file/write": {"path": {"glob": "notes/**"}, "token": {"pattern": "^t"}}},
    )
    found = replayed(both, past(params={"path": "src/a", "token": "[redacted]"}))
    assert told(found) == [("file/write", "allowed", "refused", 1)]


def test_a_command_that_is_gone_is_refused_by_its_name_and_never_allowed_by_it():
    found = replayed(OPEN, past("mcp/far/away"))
    assert told(found) == [("mcp/far/away", "allowed", "unknown", 1)]
    assert told(replayed(SHUT, past("mcp/far/away"))) == [("mcp/far/away", "allowed", "refused", 1)]


def test_a_command_that_asks_first_asks_agents_and_not_people():
    asking = command("mcp/far/tool")
    asking.asks_first = True
    found = Replay(OPEN, {asking.name: asking}.get)
    found.add([past(asking.name, **ASKED), past(asking.name, kind="human", **REFUSED)])
    assert told(found) == [("mcp/far/tool", "refused", "allowed", 1)]
    assert found.same == 1


def test_calls_that_flip_alike_stand_together_with_who_when_and_a_few_examples():
    records = [past(seq=n, at=100 + n, caller=f"agent-{n % 3}", call=f"c{n}") for n in range(10)]
    (group,) = replayed(SHUT, *records, examples=2).groups()
    assert (group.count, group.first, group.last, len(group.examples)) == (10, 100, 109, 2)
    assert (sorted(group.callers), group.more_callers) == (["agent-0", "agent-1", "agent-2"], False)


def test_very_many_kinds_of_flips_are_counted_where_they_can_no_longer_be_listed(monkeypatch):
    monkeypatch.setattr(replay, "MAX_GROUPS", 3)
    found = replayed(SHUT, *(past(f"area/verb{n}") for n in range(5)), *(past("area/verb0") for _ in range(2)))
    assert (len(found.groups()), found.flipped, found.ungrouped) == (3, 7, 2)


def test_very_many_callers_are_no_longer_named():
    (group,) = replayed(SHUT, *(past(caller=f"agent-{n}") for n in range(50))).groups()
    assert (len(group.callers), group.more_callers, group.count) == (20, True, 50)
