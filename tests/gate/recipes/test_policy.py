"""The permission decision and what else a recipe says about a command (R2.2, R2.3, R2.5, R2.6)."""

from __future__ import annotations

from pathlib import Path

import pytest
from recipe_samples import command, policy, text

from doorward.config.json_folder import shipped_files
from doorward.core.classification import Tier
from doorward.core.model import ApprovalTerms
from doorward.gate.recipes.policy import Policy, PolicyLimits, decide_permission
from doorward.gate.recipes.recipe import parse_recipe

LIST = command("data/list")
DELETE = command("data/delete", Tier.CODE)
CLICK = command("ui/click", Tier.VISUAL)
SCREENSHOT = command("screenshot", Tier.VISUAL)


def ship(recipe_id: str) -> Policy:
    return Policy(parse_recipe(shipped_files("doorward.gate.recipes")[recipe_id], f"{recipe_id}.json"))


@pytest.mark.parametrize("ai_commands", [None, {}, {"enabled": False}, {"whitelist": ["*"], "tiers": list(Tier)}])
def test_without_enabled_true_no_command_is_allowed(ai_commands: dict[str, object] | None) -> None:
    ruling = Policy(parse_recipe(text(ai_commands), "sample.json")).rule_on(LIST)
    assert not ruling.allowed
    assert ruling.rule == "recipe sample: commands are disabled"
    assert 'does not set "enabled": true' in ruling.reason
    assert "data/list" in ruling.reason


def test_the_blacklist_comes_before_whitelist_and_tier() -> None:
    ruling = policy(enabled=True, whitelist=["data/delete"], tiers=["code"], blacklist=["data/delete"]).rule_on(DELETE)
    assert not ruling.allowed
    assert ruling.rule == 'recipe sample: blacklist "data/delete"'
    assert ruling.reason.startswith("data/delete is on the blacklist")


def test_whitelist_and_tiers_add_up() -> None:
    both = policy("sum", enabled=True, whitelist=["data/delete"], tiers=["information"])
    assert both.rule_on(DELETE).rule == 'recipe sum: whitelist "data/delete"'
    assert both.rule_on(LIST).rule == 'recipe sum: tier "information"'
    assert both.rule_on(DELETE).allowed
    assert both.rule_on(LIST).allowed
    assert not both.rule_on(CLICK).allowed


def test_what_nothing_allows_is_denied_and_the_refusal_says_what_is_valid() -> None:
    ruling = policy(enabled=True, whitelist=["data/list", "help/*"], tiers=["information"]).rule_on(DELETE)
    assert not ruling.allowed
    assert ruling.rule == "recipe sample: nothing allows it"
    assert ruling.reason == (
        "data/delete (tier code) is not allowed by this room's recipe;"
        " valid: data/list, help/*; commands of the tiers information."
    )


def test_a_refusal_does_not_offer_what_the_blacklist_takes_away() -> None:
    ruling = policy(enabled=True, whitelist=["user/add", "data/list"], blacklist=["user/*"]).rule_on(DELETE)
    assert "valid: data/list." in ruling.reason


def test_a_refusal_lists_only_the_first_of_many_patterns() -> None:
    ruling = policy(enabled=True, whitelist=[f"a/v{number}" for number in range(100)]).rule_on(DELETE)
    assert "a/v7 and 92 more" in ruling.reason


def test_an_enabled_recipe_that_allows_nothing_says_so() -> None:
    assert "valid: no command." in policy(enabled=True).rule_on(LIST).reason


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("data/*", "data/list", True),
        ("data/*", "data/deep/list", True),
        ("data/*", "database/list", False),
        ("data/*", "data", False),
        ("data/list", "data/list", True),
        ("data/list", "data/lists", False),
        ("bash", "bash", True),
        ("bash", "bash/run", False),
        ("*", "bash", True),
        ("*", "data/deep/list", True),
    ],
)
def test_patterns_are_exact_area_or_everything(pattern: str, name: str, matches: bool) -> None:
    assert policy(enabled=True, whitelist=[pattern]).rule_on(command(name)).allowed is matches
    assert policy(enabled=True, whitelist=["*"], blacklist=[pattern]).rule_on(command(name)).allowed is not matches


def test_screenshot_only_leaves_screenshot_of_the_visual_tier() -> None:
    eyes = policy(enabled=True, whitelist=["*"], visual={"screenshotOnly": True})
    assert eyes.rule_on(SCREENSHOT).allowed
    assert eyes.rule_on(LIST).allowed
    assert not eyes.rule_on(CLICK).allowed
    assert eyes.rule_on(CLICK).rule == "recipe sample: visual.screenshotOnly"


@pytest.mark.parametrize("name", ["ui/click", "ui/drag", "browser/click"])
@pytest.mark.parametrize("tier", list(Tier))
def test_no_clicks_denies_clicks_of_every_tier(name: str, tier: Tier) -> None:
    hands_off = policy(enabled=True, whitelist=["*", name], tiers=list(Tier), visual={"noClicks": True})
    assert not hands_off.rule_on(command(name, tier)).allowed
    assert hands_off.rule_on(command("ui/type", tier)).allowed


def test_visual_restrictions_allow_nothing_by_themselves() -> None:
    assert not policy(enabled=True, visual={"screenshotOnly": True}).rule_on(SCREENSHOT).allowed


def test_a_command_that_changes_its_tier_is_judged_anew() -> None:
    readers = policy(enabled=True, tiers=["information"])
    assert readers.rule_on(command("x/y", Tier.INFORMATION)).allowed
    assert not readers.rule_on(command("x/y", Tier.SYSTEM)).allowed


def test_the_second_ruling_on_a_command_is_the_first_one() -> None:
    some = policy(enabled=True, tiers=["information"])
    assert some.rule_on(LIST) is some.rule_on(LIST)


def test_a_policy_decides_as_the_bare_function_does() -> None:
    recipe = parse_recipe(shipped_files("doorward.gate.recipes")["research-chat"], "research-chat.json")
    for one in (LIST, DELETE, CLICK, SCREENSHOT):
        bare = decide_permission(recipe.strategy.ai_commands, one.name, one.facts.tier)
        named = Policy(recipe).rule_on(one)
        assert (named.allowed, named.rule, named.reason) == (
            bare.allowed,
            f"recipe research-chat: {bare.rule}",
            bare.reason,
        )


def test_what_is_offered_is_exactly_what_is_allowed() -> None:
    """R2.6"""
    names = ["data/list", "data/delete", "bash", "screenshot", "ui/click", "system/status", "help/search", "user/add"]
    commands = [command(name, tier) for name in names for tier in Tier]
    for recipe_id in shipped_files("doorward.gate.recipes"):
        one = ship(recipe_id)
        assert one.offered(commands) == [each for each in commands if one.rule_on(each).allowed]
        assert one.offered(iter(commands)) == one.offered(commands)


def test_the_most_specific_approval_decides() -> None:
    """R2.3"""
    asking = policy(
        enabled=True,
        requireApproval={
            "*": {"timeoutSeconds": 1},
            "data/*": {"approvers": ["admin"]},
            "data/delete": {"timeoutSeconds": 60, "approvers": ["owner", "ada"], "quorum": 2},
        },
    )
    assert asking.approval_terms(DELETE) == ApprovalTerms(60, ("owner", "ada"), 2, hold_seconds=0)
    assert asking.approval_terms(LIST) == ApprovalTerms(30, ("admin",), 1)
    assert asking.approval_terms(command("database/list")) == ApprovalTerms(1, (), 1, hold_seconds=0)
    assert asking.approval_terms(command("bash")) == ApprovalTerms(1, (), 1, hold_seconds=0)


def test_plain_true_asks_on_the_usual_terms_and_nothing_asks_nobody() -> None:
    asking = policy(enabled=True, requireApproval={"bash": True})
    assert asking.approval_terms(command("bash")) == ApprovalTerms(30, (), 1)
    assert asking.approval_terms(LIST) is None
    assert Policy(parse_recipe(text(None), "sample.json")).approval_terms(LIST) is None


def test_limits_come_from_the_recipe() -> None:
    assert policy().limits == PolicyLimits(3, 10, None, None)
    assert Policy(parse_recipe(text(None), "sample.json")).limits == PolicyLimits(3, 10, None, None)
    given = policy(maxCommandsPerResponse=1, maxCommandsPerMinute=2, maxActionsPerSecond=3, timeoutSeconds=4)
    assert given.limits == PolicyLimits(1, 2, 3, 4)


@pytest.mark.parametrize(
    ("recipe_id", "allowed", "denied"),
    [
        ("research-chat", ["data/query", "data/describe", "screenshot", "help/search"], ["data/create", "bash"]),
        ("support", ["ai/report", "debug/logs", "system/status", "help/describe"], ["data/list", "system/shutdown"]),
        ("casual-chat", [], ["help/search", "data/list"]),
        ("admin", ["bash", "user/add", "system/status", "data/delete"], ["system/shutdown"]),
    ],
)
def test_the_shipped_lists_are_those_of_the_specification(
    recipe_id: str, allowed: list[str], denied: list[str]
) -> None:
    """R2.5"""
    one = ship(recipe_id)
    for name in allowed:
        assert one.rule_on(command(name, Tier.SYSTEM)).allowed, name
    for name in denied:
        assert not one.rule_on(command(name)).allowed, name


@pytest.mark.parametrize(
    ("recipe_id", "tiers"),
    [
        ("code-collaboration", {Tier.INFORMATION, Tier.VISUAL, Tier.CODE}),
        ("game-playing", {Tier.INFORMATION, Tier.VISUAL, Tier.APPLICATION}),
        ("read-only-research", {Tier.INFORMATION}),
        ("research-chat", set()),
        ("casual-chat", set()),
        ("admin", set(Tier)),
    ],
)
def test_the_shipped_tiers_are_those_of_the_specification(recipe_id: str, tiers: set[Tier]) -> None:
    """R2.5"""
    one = ship(recipe_id)
    assert {tier for tier in Tier if one.rule_on(command("some/thing", tier)).allowed} == tiers


def test_the_shipped_conditions_are_those_of_the_specification() -> None:
    """R2.5"""
    code = ship("code-collaboration")
    asks = {name for name in ["file/write", "file/edit", "bash", "file/read"] if code.approval_terms(command(name))}
    assert asks == {"file/write", "file/edit", "bash"}
    assert code.limits == PolicyLimits(3, 60, None, None)
    assert ship("game-playing").limits == PolicyLimits(3, 600, 10, None)
    assert ship("admin").limits == PolicyLimits(10, 600, None, None)
    assert ship("research-chat").limits == PolicyLimits(3, 10, None, None)
    reader = ship("read-only-research")
    assert reader.rule_on(SCREENSHOT).allowed
    assert not reader.rule_on(CLICK).allowed
    assert not reader.rule_on(command("browser/click")).allowed


def test_the_shipped_files_are_all_in_the_package() -> None:
    folder = Path(parse_recipe.__code__.co_filename).parent / "shipped"
    assert {file.stem for file in folder.iterdir()} == set(shipped_files("doorward.gate.recipes"))
