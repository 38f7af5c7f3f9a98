"""Recipes as files: what is read, what is refused, and how the refusal reads (R2.1 to R2.4)."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from recipe_samples import text

from doorward.config.json_folder import shipped_files
from doorward.core.classification import Tier
from doorward.core.errors import Unusable
from doorward.gate.recipes.recipe import AiCommands, ApprovalRule, BadRecipe, Recipe, Visual, is_recipe_id, parse_recipe
from doorward.gate.recipes.schema import PUBLISHED

FULL = {
    "enabled": True,
    "whitelist": ["data/list", "help/*"],
    "blacklist": ["*"],
    "tiers": ["information", "system"],
    "requireApproval": {"bash": True, "file/*": {"timeoutSeconds": 5, "approvers": ["owner", "ada"], "quorum": 2}},
    "maxCommandsPerResponse": 1,
    "maxCommandsPerMinute": 2,
    "maxActionsPerSecond": 0.5,
    "visual": {"screenshotOnly": True, "noClicks": True},
    "timeoutSeconds": 9,
    "parameterRules": {"data/*": {"collection": {"enum": ["rooms"]}}},
}


def commands_of(recipe: Recipe) -> AiCommands:
    assert recipe.strategy.ai_commands is not None
    return recipe.strategy.ai_commands


def refusal(body: bytes, file: str = "sample.json") -> BadRecipe:
    with pytest.raises(BadRecipe) as caught:
        parse_recipe(body, file)
    return caught.value


def test_every_field_is_read() -> None:
    recipe = parse_recipe(text(FULL, description="For tests."), "sample.json")
    assert (recipe.recipe_id, recipe.display_name, recipe.description) == ("sample", "Sample", "For tests.")
    assert commands_of(recipe) == AiCommands(
        enabled=True,
        whitelist=("data/list", "help/*"),
        blacklist=("*",),
        tiers=(Tier.INFORMATION, Tier.SYSTEM),
        require_approval={"bash": True, "file/*": ApprovalRule(5, ("owner", "ada"), 2)},
        max_commands_per_response=1,
        max_commands_per_minute=2,
        max_actions_per_second=0.5,
        visual=Visual(screenshot_only=True, no_clicks=True),
        timeout_seconds=9,
        parameter_rules={"data/*": {"collection": {"enum": ["rooms"]}}},
    )


def test_the_defaults_are_those_of_the_specification() -> None:
    """R2.2"""
    commands = commands_of(parse_recipe(text({}), "sample.json"))
    assert not commands.enabled
    assert (commands.max_commands_per_response, commands.max_commands_per_minute) == (3, 10)
    assert commands.max_actions_per_second is None


def test_the_defaults_in_the_schema_are_those_of_the_types() -> None:
    stated = {
        key: spec["default"]
        for key, spec in PUBLISHED["$defs"]["aiCommands"]["properties"].items()
        if "default" in spec
    }
    defaults = AiCommands()
    assert stated == {
        "enabled": defaults.enabled,
        "maxCommandsPerResponse": defaults.max_commands_per_response,
        "maxCommandsPerMinute": defaults.max_commands_per_minute,
    }


def test_a_recipe_without_commands_is_a_recipe() -> None:
    assert parse_recipe(text(None), "sample.json").strategy.ai_commands is None


def test_a_whole_number_may_be_written_with_a_point() -> None:
    commands = commands_of(parse_recipe(text({"maxCommandsPerMinute": 7.0}), "sample.json"))
    assert commands.max_commands_per_minute == 7
    assert isinstance(commands.max_commands_per_minute, int)


def test_the_file_may_be_given_with_its_folder() -> None:
    assert parse_recipe(text({}), "/somewhere/sample.json").recipe_id == "sample"


AI = "strategy.aiCommands"


@pytest.mark.parametrize(
    ("ai_commands", "field", "words"),
    [
        ({"whitlist": []}, f"{AI}.whitlist", ["'whitlist' is unknown", "did you mean 'whitelist'?", "blacklist"]),
        ({"zzz": 1}, f"{AI}.zzz", ["'zzz' is unknown", "valid: enabled, whitelist"]),
        ({"enabled": "yes"}, f"{AI}.enabled", ["'yes'", "boolean"]),
        ({"enabled": 1}, f"{AI}.enabled", ["boolean"]),
        ({"enabled": None}, f"{AI}.enabled", ["null", "boolean"]),
        ({"whitelist": "data/list"}, f"{AI}.whitelist", ["'data/list'", "array"]),
        ({"whitelist": ["a", "b", "data*"]}, f"{AI}.whitelist[2]", ["'data*'", "such as data/list", "data/*", "* for"]),
        ({"blacklist": ["*/list"]}, f"{AI}.blacklist[0]", ["'*/list'"]),
        ({"blacklist": ["Data/Delete"]}, f"{AI}.blacklist[0]", ["'Data/Delete'"]),
        ({"blacklist": ["data/"]}, f"{AI}.blacklist[0]", ["'data/'"]),
        ({"blacklist": ["data/*\n"]}, f"{AI}.blacklist[0]", [r"'data/*\n'"]),
        ({"blacklist": [" data/*"]}, f"{AI}.blacklist[0]", ["' data/*'"]),
        ({"blacklist": ["data/**"]}, f"{AI}.blacklist[0]", ["'data/**'"]),
        ({"blacklist": ["a/b/c/*"]}, f"{AI}.blacklist[0]", ["'a/b/c/*'"]),
        ({"blacklist": [""]}, f"{AI}.blacklist[0]", ["''"]),
        ({"blacklist": [7]}, f"{AI}.blacklist[0]", ["7", "string"]),
        ({"tiers": ["game"]}, f"{AI}.tiers[0]", ["'game' is not one of information", "'application'"]),
        ({"tiers": ["informations"]}, f"{AI}.tiers[0]", ["did you mean 'information'?"]),
        ({"tiers": ["code", "code"]}, f"{AI}.tiers", ["non-unique"]),
        ({"requireApproval": {"data*": True}}, f"{AI}.requireApproval['data*']", ["'data*'", "such as data/list"]),
        ({"requireApproval": {"bash": False}}, f"{AI}.requireApproval.bash", ["false", "leave the entry out"]),
        ({"requireApproval": {"bash": "yes"}}, f"{AI}.requireApproval.bash", ["'yes'", "true, or an object"]),
        ({"requireApproval": {"bash": {"quorom": 1}}}, f"{AI}.requireApproval.bash.quorom", ["'quorum'"]),
        ({"requireApproval": {"bash": {"quorum": 0}}}, f"{AI}.requireApproval.bash.quorum", ["0", "minimum of 1"]),
        ({"requireApproval": {"bash": {"timeoutSeconds": 0}}}, f"{AI}.requireApproval.bash.timeoutSeconds", ["0"]),
        ({"requireApproval": {"bash": {"approvers": []}}}, f"{AI}.requireApproval.bash.approvers", ["[]"]),
        ({"requireApproval": {"bash": {"approvers": ["a b"]}}}, f"{AI}.requireApproval.bash.approvers[0]", ["'a b'"]),
        (
            {"requireApproval": {"bash": {"approvers": ["ada", "bob"], "quorum": 3}}},
            f"{AI}.requireApproval.bash.quorum",
            ["2 named approvers", "3 approvals", "at most 2"],
        ),
        ({"maxCommandsPerMinute": 0}, f"{AI}.maxCommandsPerMinute", ["0", "minimum of 1"]),
        ({"maxCommandsPerMinute": 2.5}, f"{AI}.maxCommandsPerMinute", ["2.5", "integer"]),
        ({"maxCommandsPerMinute": True}, f"{AI}.maxCommandsPerMinute", ["true", "integer"]),
        ({"maxCommandsPerResponse": 1e300}, f"{AI}.maxCommandsPerResponse", ["maximum"]),
        ({"maxActionsPerSecond": 0}, f"{AI}.maxActionsPerSecond", ["0"]),
        ({"timeoutSeconds": 86401}, f"{AI}.timeoutSeconds", ["86401", "86400"]),
        ({"visual": {"noClick": True}}, f"{AI}.visual.noClick", ["did you mean 'noClicks'?"]),
        ({"visual": True}, f"{AI}.visual", ["object"]),
        ({"parameterRules": {"data*": {"a": {"const": 1}}}}, f"{AI}.parameterRules['data*']", ["such as data/list"]),
        ({"parameterRules": {"bash": {}}}, f"{AI}.parameterRules.bash", ["{}"]),
        (
            {"parameterRules": {"bash": {"a b": {"const": 1}}}},
            f"{AI}.parameterRules.bash['a b']",
            ["name of a parameter"],
        ),
        ({"parameterRules": {"bash": {"a": {}}}}, f"{AI}.parameterRules.bash.a", ["{}"]),
        ({"parameterRules": {"bash": {"a": {"emun": [1]}}}}, f"{AI}.parameterRules.bash.a.emun", ["'enum'"]),
        ({"parameterRules": {"bash": {"a": {"$ref": "#"}}}}, f"{AI}.parameterRules.bash.a['$ref']", ["unknown"]),
        ({"parameterRules": {"bash": {"a": {"type": "text"}}}}, f"{AI}.parameterRules.bash.a.type", ["string"]),
        ({"parameterRules": {"bash": {"a": {"pattern": "("}}}}, f"{AI}.parameterRules.bash.a.pattern", ["'('"]),
        (
            {"parameterRules": {"bash": {"a": {"items": {"pattern": "(?=a)"}}}}},
            f"{AI}.parameterRules.bash.a.items.pattern",
            ["'(?=a)'", "look-around"],
        ),
        (
            {"parameterRules": {"bash": {"a": {"glob": "[a]"}}}},
            f"{AI}.parameterRules.bash.a.glob",
            ["only *, ** and ?"],
        ),
        ({"parameterRules": {"bash": {"a": {"glob": ["a", "../b"]}}}}, f"{AI}.parameterRules.bash.a.glob[1]", ["'..'"]),
        ({"parameterRules": {"bash": {"a": {"glob": "a**"}}}}, f"{AI}.parameterRules.bash.a.glob", ["stand alone"]),
        (
            {"parameterRules": {"bash": {"a": {"type": "array", "pattern": "x"}}}},
            f"{AI}.parameterRules.bash.a.pattern",
            ["does not apply to values of type array", "valid with type string"],
        ),
    ],
)
def test_a_fault_is_named_with_file_field_and_reason(ai_commands: dict[str, Any], field: str, words: list[str]) -> None:
    """R2.1"""
    fault = refusal(text(ai_commands))
    assert fault.field == field
    assert fault.message.startswith(f"The recipe sample.json is not valid at {field}: ")
    for word in words:
        assert word in fault.reason
    assert len(fault.message) < 600
    assert fault.message.endswith((".", "?"))


@pytest.mark.parametrize(
    ("change", "field", "word"),
    [
        ({"recipeId": "Sample"}, "recipeId", "'Sample'"),
        ({"recipeId": "../sample"}, "recipeId", "'../sample'"),
        ({"recipeId": "sample\n"}, "recipeId", r"'sample\n'"),
        ({"recipeId": "other"}, "recipeId", "'sample'; given 'other'"),
        ({"displayName": ""}, "displayName", "''"),
        ({"displayName": "a\x1b[2Jb"}, "displayName", r"\x1b"),
        ({"displayName": "a\u202eb"}, "displayName", r"\u202e"),
        ({"description": "x" * 501}, "description", "longer than 500"),
        ({"strategy": []}, "strategy", "object"),
        ({"strategy": {"aicommands": {}}}, "strategy.aicommands", "did you mean 'aiCommands'?"),
        ({"strategy": {"conversationPattern": "A B"}}, "strategy.conversationPattern", "'A B'"),
        ({"extra": 1}, "extra", "'extra' is unknown"),
        ({"phrases": [{"says": "ship {a}{b}", "command": "x"}]}, "phrases[0].says", "two slots are adjacent"),
        ({"phrases": [{"says": "{a} b " * 9, "command": "x"}]}, "phrases[0].says", "9 slots; valid: at most 8"),
        ({"x y" * 2000: 1}, "['x yx", "is unknown"),
    ],
)
def test_faults_outside_the_commands_are_named_too(change: dict[str, Any], field: str, word: str) -> None:
    fault = refusal(json.dumps({**json.loads(text({})), **change}).encode())
    assert fault.field.startswith(field)
    assert word in fault.reason
    assert len(fault.message) < 600


@pytest.mark.parametrize("key", ["recipeId", "displayName", "strategy"])
def test_a_missing_key_is_named(key: str) -> None:
    body = json.loads(text({}))
    del body[key]
    fault = refusal(json.dumps(body).encode())
    assert fault.field == key
    assert "missing" in fault.reason


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (text({})[:-1], "not valid JSON at line 1"),
        (b"\xff\xfe", "not UTF-8"),
        (b"\xef\xbb\xbf" + text({}), "not valid JSON"),
        (text({}) + b"\x00", "not valid JSON"),
        (text({}).replace(b"Sample", b"Sam\x00ple"), "not valid JSON"),
        (text({"maxCommandsPerMinute": float("nan")}), "NaN is not a JSON number"),
        (text({}).replace(b"{", b'{"recipeId": "other", ', 1), "'recipeId' appears twice"),
        (b"[" * 1000 + b"]" * 1000, "nests too deeply"),
        (b'{"strategy":' * 1000 + b"1" + b"}" * 1000, "nests too deeply"),
        (text({"maxCommandsPerMinute": 10**400}), "too large"),
        (text({}, description="\ud800"), "surrogate"),
        (text({}, description="x" * 1_000_000), "the limit is 1000000"),
        (b"null", "object"),
        (b"[]", "object"),
        (b'"sample"', "object"),
    ],
)
def test_what_is_not_strict_json_is_refused(body: bytes, word: str) -> None:
    fault = refusal(body)
    assert word in fault.reason
    assert fault.field == ""
    assert fault.message.startswith("The recipe sample.json is not valid: ")


def test_a_bad_recipe_is_an_unusable_installation_not_a_refused_call() -> None:
    assert isinstance(refusal(b""), Unusable)


@pytest.mark.parametrize(
    ("recipe_id", "valid"),
    [("a", True), ("research-chat", True), ("a" * 63, True), ("a" * 64, False), ("", False), ("1a", False)]
    + [(bad, False) for bad in ["a/b", "..", "a\n", "A", "a_b", "-a", "ä"]],
)
def test_recipe_ids_are_fit_to_be_file_names(recipe_id: str, valid: bool) -> None:
    assert is_recipe_id(recipe_id) is valid
    fits = jsonschema_rs.is_valid(PUBLISHED["properties"]["recipeId"], recipe_id)
    assert fits is valid


def test_the_published_schema_is_a_schema() -> None:
    jsonschema_rs.meta.validate(PUBLISHED)
    assert PUBLISHED["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def objects_in(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [one for item in schema for one in objects_in(item)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(one for item in schema.values() for one in objects_in(item))]


def test_the_published_schema_describes_every_field_and_refuses_unknown_keys() -> None:
    for schema in objects_in(PUBLISHED):
        if isinstance(schema.get("properties"), dict) and "type" in schema:
            assert schema["additionalProperties"] is False
            for key, spec in schema["properties"].items():
                assert spec["description"].endswith("."), key
    for name, spec in PUBLISHED["$defs"].items():
        assert spec["description"], name


def test_the_tiers_in_the_schema_are_the_tiers() -> None:
    assert PUBLISHED["$defs"]["aiCommands"]["properties"]["tiers"]["items"]["enum"] == list(Tier)


def test_nine_recipes_ship_and_each_is_valid_and_described() -> None:
    """R2.5"""
    assert set(shipped_files("doorward.gate.recipes")) == {
        "research-chat",
        "support",
        "casual-chat",
        "admin",
        "assistant",
        "code-collaboration",
        "coding",
        "game-playing",
        "read-only-research",
    }
    for recipe_id, body in shipped_files("doorward.gate.recipes").items():
        recipe = parse_recipe(body, f"{recipe_id}.json")
        assert recipe.display_name
        assert recipe.description.endswith(".")
        assert recipe.description.count(".") == 1
