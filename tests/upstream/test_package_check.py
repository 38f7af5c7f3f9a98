"""A test of a server calls its read-only tools, and no others, through the gate, with arguments that fit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from package_house import PackageHouse, package_house
from package_registry import PackageRegistry

from doorward.core.validation import validator
from doorward.upstream.sample_arguments import make_arguments

CLOCK = {"package": "clock", "registryType": "pypi"}


@pytest.fixture
async def registry() -> AsyncIterator[PackageRegistry]:
    async with PackageRegistry.opened() as registry:
        registry.put_wheel("clock")
        yield registry


@pytest.fixture
async def house(registry: PackageRegistry, tmp_path: Path) -> AsyncIterator[PackageHouse]:
    async with package_house(tmp_path, registry) as house:
        yield house


async def nested_calls(house: PackageHouse) -> list[str]:
    rows = await house.house.services.store.read(
        "SELECT command FROM ledger WHERE phase = 'start' AND command LIKE 'mcp/clock/%' ORDER BY seq"
    )
    return [row["command"] for row in rows]


async def test_read_only_tools_are_called_through_the_gate_and_others_never(house: PackageHouse) -> None:
    await house.install(**CLOCK)
    plain = await house.done("mcp/test", server="clock")
    assert (plain["ok"], plain["tools"], plain["calls"]) == (True, ["look", "change"], [])
    tested = await house.done("mcp/test", server="clock", calls=True)
    (call,) = tested["calls"]
    assert (call["tool"], call["result"], call["arguments"]) == ("look", "ok", {"depth": 3})
    assert call["latencyMs"] >= 0
    assert await nested_calls(house) == ["mcp/clock/look"]

    await house.room()
    agent = await house.ask("mcp/test", {"server": "clock", "calls": True}, by="helper", room="shop")
    (call,) = agent.result["calls"]
    assert (call["result"], call["problem"], agent.result["log"]) == ("skipped", "the call needs approval", [])
    assert (await house.done("approval/list"))["items"] == []
    assert await nested_calls(house) == ["mcp/clock/look"]


async def test_a_server_that_dies_in_its_test_is_reported(house: PackageHouse) -> None:
    house.registry.put_wheel("clock", mode="dies when called")
    await house.install(**CLOCK)
    tested = await house.done("mcp/test", server="clock", calls=True)
    (call,) = tested["calls"]
    assert (tested["ok"], call["result"]) == (False, "failed")
    assert "out of order" in call["problem"]
    assert "1 of 1 tools failed" in tested["problem"]


async def test_only_people_with_root_access_test_a_disabled_server(house: PackageHouse) -> None:
    await house.install(**CLOCK)
    await house.room()
    await house.done("mcp/disable", id="clock")
    refused = await house.ask("mcp/test", {"server": "clock"}, by="helper", room="shop")
    assert refused.code == "not_permitted"
    assert (await house.done("mcp/test", server="clock"))["ok"]


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({"enum": ["x", "y"]}, "x"),
        ({"type": "integer", "default": 7}, 7),
        ({"examples": ["Tokyo"]}, "Tokyo"),
        ({"type": ["null", "boolean"]}, False),
        ({"type": "number", "exclusiveMinimum": 1}, 2),
        ({"type": "integer", "maximum": -4}, -4),
        ({"type": "integer", "minimum": 3, "multipleOf": 5}, 5),
        ({"type": "string", "minLength": 6}, "testxx"),
        ({"type": "string", "format": "date"}, "2026-01-01"),
        ({"$ref": "#/$defs/one"}, 1),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"type": "array", "minItems": 2, "items": {"type": "object", "required": ["b"]}}, [{"b": "test"}] * 2),
    ],
)
def test_sample_arguments_fit_the_schema(schema: dict[str, Any], made: Any) -> None:
    whole = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": schema, "more": {}},
        "$defs": {"one": {"const": 1}},
    }
    assert make_arguments(whole) == {"a": made}
    assert validator(whole).is_valid({"a": made})
