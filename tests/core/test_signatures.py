"""Schemas are worked out once for functions that are alike, and only for those."""

from types import FunctionType
from typing import Annotated, Any

import pytest
from msgspec import Meta

from doorward.core.signatures import result_schema, signature_schema


def made(default: int, kind: Any = str) -> Any:
    """A function that the same text makes each time, with a default and a type of its own."""

    async def look(
        ctx: Any, words: kind, most: Annotated[int, Meta(description="At most")] = default
    ) -> dict[str, int]:
        return {"most": most}

    return look


def test_functions_of_one_text_have_their_own_defaults_and_types() -> None:
    schemas = [signature_schema(made(*given))[0]["properties"] for given in ((1,), (2,), (1, list[int]))]
    assert [one["most"]["default"] for one in schemas] == [1, 2, 1]
    assert [one["words"]["type"] for one in schemas] == ["string", "string", "array"]
    assert all(one["most"]["description"] == "At most" for one in schemas)


def test_the_same_words_in_two_modules_mean_what_they_mean_there() -> None:
    async def look(ctx: Any, words: Any) -> Any:
        return words

    found = []
    for kind in (int, str):
        same = FunctionType(look.__code__, {"__name__": f"module_of_{kind.__name__}", "Kind": kind})
        same.__annotations__ = {"words": "Kind", "return": "Kind"}
        found.append(signature_schema(same)[0]["properties"]["words"]["type"])
    assert found == ["integer", "string"]


def test_functions_that_give_the_same_share_its_schema() -> None:
    one, other = result_schema(made(1)), result_schema(made(2))
    assert one is other
    assert one is not None
    assert one["additionalProperties"] == {"type": "integer"}


def test_a_type_that_cannot_be_compared_has_a_schema_all_the_same() -> None:
    odd = Annotated[str, Meta(extra_json_schema={"examples": ["a"]})]

    async def look(ctx: Any, words: odd) -> Annotated[dict[str, str], Meta(extra_json_schema={"examples": [{}]})]:
        return {}

    schema, arguments = signature_schema(look)
    assert schema["properties"]["words"]["examples"] == ["a"]
    assert schema["required"] == ["words"]
    assert arguments == {"words": "words"}
    found = result_schema(look)
    assert found is not None
    assert found["examples"] == [{}]


def test_what_is_wrong_with_a_type_is_said_each_time() -> None:
    class Odd:
        pass

    async def look(ctx: Any, words: Odd) -> dict[str, str]:
        return {}

    for _ in range(2):
        with pytest.raises(TypeError, match="Odd"):
            signature_schema(look)
