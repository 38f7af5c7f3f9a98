"""Parameters of a command line, read by what the command's schema expects."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from doorward.core.argtext import convert_args, parse_args, parse_line
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Command, Example, Family
from doorward.core.errors import BadParams

family = Family("try", category="test")


@family.command(
    "all",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=1,
    undo=READS_ONLY,
    examples=[Example("nothing", {})],
)
async def every(
    ctx: Any,
    text: Annotated[str, Meta(description="A text")] = "",
    whole: Annotated[int, Meta(description="A whole number")] = 0,
    number: Annotated[float, Meta(description="A number")] = 0.0,
    flag: Annotated[bool, Meta(description="Yes or no")] = False,
    items: Annotated[list[str], Meta(description="A list")] = [],  # noqa: B006
    object: Annotated[dict[str, Any], Meta(description="An object")] = {},  # noqa: B006
    maybe: Annotated[str | None, Meta(description="A text or nothing")] = None,
    mixed: Annotated[str | int, Meta(description="A text or a number")] = "",
    any_thing: Annotated[Any, Meta(description="Whatever")] = None,
) -> dict[str, Any]:
    """Take a parameter of every kind."""
    return {}


COMMAND: Command = family.commands[0]


def read(*arguments: str) -> dict[str, Any]:
    return convert_args(COMMAND, parse_args(arguments))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("--text=plain", "plain"),
        ("--text=5", "5"),
        ("--text=true", "true"),
        ("--text=null", "null"),
        ("--text=", ""),
        ("--text=a=b=c", "a=b=c"),
        ('--text="quoted"', '"quoted"'),
        ('--text={"a": 1}', '{"a": 1}'),
        ("--text=--whole=5", "--whole=5"),
        ("--text=two words\nand lines", "two words\nand lines"),
        ("--whole=5", 5),
        ("--whole=-5", -5),
        ("--number=5", 5),
        ("--number=0.5", 0.5),
        ("--number=1e3", 1000.0),
        ("--flag", True),
        ("--flag=true", True),
        ("--flag=false", False),
        ('--items=["a", "b c"]', ["a", "b c"]),
        ("--items=a", ["a"]),
        ("--items=2026", ["2026"]),
        ('--object={"a": {"b": [1, null]}}', {"a": {"b": [1, None]}}),
        ("--maybe=text", "text"),
        ("--maybe=null", None),
        ('--maybe="null"', "null"),
        ("--maybe=5", "5"),
        ("--maybe=true", "true"),
        ("--mixed=5", 5),
        ('--mixed="5"', "5"),
        ("--mixed=007", "007"),
        ("--mixed=5.5", "5.5"),
        ("--mixed=null", "null"),
        ("--mixed=[1]", "[1]"),
        ("--anyThing=5", 5),
        ("--anyThing=text", "text"),
        ("--anyThing=true", True),
        ('--anyThing={"a": 1}', {"a": 1}),
        ("--anyThing={a: 1}", "{a: 1}"),
    ],
)
def test_a_value_is_what_the_command_wants_it_to_be(argument: str, value: Any) -> None:
    (given_,) = read(argument).values()
    assert given_ == value
    assert type(given_) is type(value)


@pytest.mark.parametrize(
    ("argument", "wanted"),
    [
        ("--whole=five", "integer"),
        ("--whole=", "integer"),
        ("--whole=0x10", "integer"),
        ("--whole=05", "integer"),
        ("--whole=+5", "integer"),
        ("--whole=5 6", "integer"),
        ("--whole=NaN", "integer"),
        ("--whole=99999999999999999999", "integer"),
        ("--number=1e999", "number"),
        ("--number=Infinity", "number"),
        ("--number=.5", "number"),
        ("--number=1,5", "number"),
        ("--flag=yes", "boolean"),
        ("--flag=True", "boolean"),
        ("--flag=", "boolean"),
        ("--items=a,b", "array"),
        ("--items=['a']", "array"),
        ("--object={a: 1}", "object"),
        ('--object={"a": 1, "a": 2}', "object"),
        ("--object=" + "[" * 1_000, "object"),
    ],
)
def test_a_value_that_is_something_else_is_refused_with_what_it_should_be(argument: str, wanted: str) -> None:
    with pytest.raises(BadParams) as refusal:
        read(argument)
    assert refusal.value.message.startswith("try/all: parameter ")
    assert wanted in refusal.value.message
    assert "; given " in refusal.value.message
    assert len(refusal.value.message) < 300


def test_a_parameter_nobody_declared_stays_text_for_the_schema_to_refuse() -> None:
    assert read("--approved=true", "--nope") == {"approved": "true", "nope": True}
    with pytest.raises(BadParams, match="Unknown parameter 'approved'"):
        COMMAND.check(read("--approved=true"))


def test_a_parameter_given_twice_is_refused() -> None:
    with pytest.raises(BadParams, match="'text' is given twice"):
        read("--text=a", "--text=a")


@pytest.mark.parametrize("argument", ["text", "-t", "-", "--", "", "=", "text=a", "—text=a"])
def test_an_argument_that_is_no_parameter_is_refused(argument: str) -> None:
    with pytest.raises(BadParams, match="Write parameters as --key=value; given: "):
        parse_args([argument])


@given(st.dictionaries(st.text(st.characters(exclude_characters="= \n\t\r"), min_size=1), st.text()))
def test_any_text_arrives_as_it_was_given(pairs: dict[str, str]) -> None:
    read_ = parse_args([f"--{key}={value}" for key, value in pairs.items() if key])
    assert dict(read_) == pairs


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_quoted_text_arrives_as_it_was_given_on_a_line(text: str) -> None:
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    for control in range(32):
        quoted = quoted.replace(chr(control), f"\\u{control:04x}")
    assert parse_line(f"try/all --text={quoted} --flag") == ("try/all", (("text", text), ("flag", None)))


@given(st.text("-= \"'{}[]\\ax:,\n", max_size=40))
def test_any_line_gives_a_call_or_a_sentence(line: str) -> None:
    said = ""
    try:
        parse_line(f"try/all {line}")
    except BadParams as refusal:
        said = refusal.message
    assert said == "" or said.endswith(".")


def test_a_very_long_line_is_read_in_one_pass() -> None:
    name, pairs = parse_line("try/all " + '--text="' + "\\n" * 500_000 + '" ' + "--whole=1 " * 50_000)
    assert (name, len(pairs)) == ("try/all", 50_001)


@pytest.mark.parametrize("argument", ["--text", "--whole", "--items", "--object", "--maybe"])
def test_a_name_without_a_value_is_a_yes_and_nothing_else(argument: str) -> None:
    with pytest.raises(BadParams, match=f"parameter {argument[2:]} needs a value: {argument}=…; given only its name"):
        read(argument)
