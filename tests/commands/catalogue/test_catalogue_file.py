"""commands.json: what is valid, what is derived, and what a refusal says (R6.1)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorward.commands.catalogue import parser
from doorward.commands.catalogue.parser import PUBLISHED_SCHEMA, BadCatalogue, parse_catalogue
from doorward.commands.catalogue.watched_catalogue import shipped_catalogue
from doorward.commands.programs import CatalogueCommand, build_commands
from doorward.config.settings import Settings
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.errors import BadParams
from json_texts import FORBIDDEN


def read(*entries: dict[str, Any], bare: bool = False) -> list[CatalogueCommand]:
    value: Any = list(entries) if bare else {"commands": list(entries)}
    made, _ = build_commands(parse_catalogue(json.dumps(value).encode(), "commands.json"), Settings())
    return [one for one in made if isinstance(one, CatalogueCommand)]


def argv(command: CatalogueCommand, **params: Any) -> list[str]:
    return list(command.task(params).argv)


SEED_CD = {
    "name": "goto",
    "summary": "Change directory",
    "description": "Change the current working directory",
    "usage": "goto [directory]",
    "options": [{"arg": "directory", "help": "Target directory"}],
}
SEED_HEAD = {
    "name": "top",
    "program": "head",
    "summary": "Print the beginning of files",
    "usage": "top [-n count] [-q] <file>...",
    "options": [
        {"short": "-n", "long": "--lines", "arg": "count", "help": "How many lines"},
        {"short": "q", "long": None, "arg": None, "help": "Without names"},
        {"short": "-v", "arg": "", "help": "With names"},
    ],
}


@pytest.mark.parametrize("bare", [False, True])
def test_an_entry_of_the_old_style_works(bare: bool) -> None:
    goto, top = read(SEED_CD, SEED_HEAD, bare=bare)
    assert goto.schema["properties"]["directory"] == {
        "type": "string",
        "minLength": 1,
        "maxLength": 4096,
        "description": "Target directory",
    }
    assert argv(goto) == ["goto"]
    assert argv(goto, directory="src") == ["goto", "src"]
    assert top.schema["properties"]["lines"]["type"] == "integer"
    assert top.schema["properties"]["q"]["type"] == "boolean"
    assert argv(top, file=["a", "b"], lines=2, q=True) == ["head", "--lines=2", "-q", "a", "b"]
    assert argv(top, arguments=["-qn2", "a"]) == ["head", "--lines=2", "-q", "a"]
    with pytest.raises(BadParams, match="Missing parameter 'file'") as refusal:
        top.check({})
    assert "--file=<array>" in refusal.value.hint
    assert "[--file=<array>]" not in refusal.value.hint
    assert "Change the current working directory" in goto.description


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("path", "path"),
        ("directory", "path"),
        ("file", "path"),
        ("FILE", "path"),
        ("files", "path"),
        ("sourceFile", "path"),
        ("output-dir", "path"),
        ("count", "integer"),
        ("number", "integer"),
        ("size", "integer"),
        ("lines", "integer"),
        ("NUM", "integer"),
        ("flag", "flag"),
        ("pattern", "text"),
        ("text", "text"),
        ("profile", "text"),
        ("recount", "text"),
    ],
)
def test_types_come_from_the_names_of_arguments(name: str, type_: str) -> None:
    assert parser.infer_type(name) == type_


@pytest.mark.parametrize(
    ("usage", "places"),
    [
        ("cd [directory]", [("directory", False, False)]),
        ("cat <file>...", [("file", True, True)]),
        ("cat [file...]", [("file", False, True)]),
        ("cp [-r] <source>... <destination>", [("source", True, True), ("destination", True, False)]),
        ("head [-n <count>] [<file>]", [("file", False, False)]),
        ("ls [options] [path]", [("path", False, False)]),
        ("grep [OPTIONS]... <search-text> [file]...", [("searchText", True, False), ("file", False, True)]),
        ("pwd", []),
        ("", []),
    ],
)
def test_arguments_come_from_the_usage_line(usage: str, places: list[tuple[str, bool, bool]]) -> None:
    assert [tuple(place) for place in parser.parse_usage(usage)] == places


def test_what_an_entry_leaves_out_is_on_the_safe_side() -> None:
    (command,) = read({"name": "x", "summary": "X."})
    facts = command.facts
    assert (facts.tier, facts.effects, facts.safety) == (Tier.CODE, Effects.READ, Safety.SAFE)
    assert not command.task({}).writes
    assert not command.task({}).network
    assert command.task({}).exit_codes == (0,)


def test_effects_decide_over_rights_and_files() -> None:
    reads, writes, destroys = read(
        {"name": "r", "summary": "R."},
        {"name": "w", "summary": "W.", "effects": ["write"]},
        {"name": "d", "summary": "D.", "effects": ["read", "write", "destroy"]},
    )
    assert [one.facts.access for one in (reads, writes, destroys)] == [Access.READ, Access.EDIT, Access.FULL]
    assert [one.facts.safety for one in (reads, writes, destroys)] == [Safety.SAFE, Safety.CAUTION, Safety.DANGEROUS]
    assert [one.task({}).writes for one in (reads, writes, destroys)] == [False, True, True]


def test_explicit_fields_sharpen_what_is_derived() -> None:
    (command,) = read(
        {
            "name": "x",
            "program": "prog",
            "prefix": ["sub", "--safe"],
            "summary": "X.",
            "options": [
                {"long": "--level", "arg": "level", "type": "integer", "minimum": 1, "maximum": 9, "default": 5},
                {"short": "-k", "arg": "key", "repeat": True, "spelled": "attached"},
                {"long": "-name", "arg": "pattern"},
                {"long": "--mode", "arg": "mode", "choices": ["a", "b"]},
            ],
            "arguments": [
                {"name": "text", "type": "text", "pattern": "^[a-z]+$", "required": True, "afterDashes": True}
            ],
            "timeoutSeconds": 3,
            "memoryBytes": 2_000_000_000,
            "exitCodes": [0, 3],
            "examples": [{"says": "so", "params": {"text": "so"}}],
        }
    )
    assert argv(command, text="a") == ["prog", "sub", "--safe", "--level=5", "--", "a"]
    assert argv(command, text="a", k=["1", "2"], name="*", mode="b", level=9)[3:] == [
        "--level=9",
        "-k1",
        "-k2",
        "-name",
        "*",
        "--mode=b",
        "--",
        "a",
    ]
    for wrong in ({"level": 0}, {"level": 10}, {"level": "5"}, {"mode": "c"}, {"text": "A"}, {"k": "1"}, {"z": 1}):
        with pytest.raises(BadParams):
            command.check({"text": "a", **wrong})
    task = command.task({"text": "a"})
    assert (task.seconds, task.memory_bytes, task.exit_codes) == (3.0, 2_000_000_000, (0, 3))


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        ({"name": "Bad Name"}, "commands[0].name", "small letters"),
        ({"name": "../x"}, "commands[0].name", "is not valid"),
        ({"summary": ""}, "commands[0].summary", "is not valid"),
        ({"summary": None}, "commands[0].summary", ""),
        ({"program": "/bin/sh"}, "commands[0].program", "a path in the workspace such as .venv/bin/pytest"),
        ({"program": "../bin/sh"}, "commands[0].program", "a path in the workspace"),
        ({"program": "bin/../../sh"}, "commands[0].program", "a path in the workspace"),
        ({"profile": "full"}, "commands[0].profile", "is not one of tool, build"),
        ({"optoins": []}, "commands[0].optoins", "did you mean 'options'"),
        ({"effects": ["run"]}, "commands[0].effects[0]", "is not one of read, write, destroy"),
        ({"tier": "root"}, "commands[0].tier", "is not one of"),
        ({"tier": "information", "effects": ["write"]}, "commands[0].tier", "only read"),
        (
            {"examples": [{"says": "x", "params": {}}, {"says": "ship {a}{b}", "params": {}}]},
            "commands[0].examples[1].says",
            "two slots are adjacent",
        ),
        ({"examples": [{"says": "{a} " * 9, "params": {}}]}, "commands[0].examples[0].says", "it has 9 slots"),
        ({"timeoutSeconds": 0}, "commands[0].timeoutSeconds", ""),
        ({"exitCodes": [256]}, "commands[0].exitCodes[0]", ""),
        ({"options": [{"long": "--a b"}]}, "commands[0].options[0].long", "is not valid"),
        ({"options": [{"short": "-ab"}]}, "commands[0].options[0].short", "is not valid"),
        (
            {"options": [{"long": "--xx"}, {"long": "--xx", "name": "y"}]},
            "commands[0].options",
            "two options are spelled",
        ),
        ({"options": [{"long": "--xx"}, {"long": "--yy", "name": "xx"}]}, "commands[0].options", "two parameters"),
        ({"options": [{"long": "--arguments"}]}, "commands[0].options", "is reserved"),
        ({"options": [{"short": "-1"}]}, "commands[0].options", "needs a name"),
        ({"options": [{"long": "--xx", "type": "choice", "arg": "x"}]}, "commands[0].options", "without choices"),
        (
            {"options": [{"long": "--xx", "arg": "x", "pattern": "("}]},
            "commands[0].options",
            "not a regular expression",
        ),
        ({"options": [{"long": "--xx", "required": True}]}, "commands[0].options", "is a flag"),
        ({"arguments": [{"name": "x", "type": "flag"}]}, "commands[0].arguments", "is a flag"),
        (
            {"arguments": [{"name": "x", "list": True}, {"name": "y", "list": True}]},
            "commands[0].arguments",
            "two arguments are lists",
        ),
        (
            {"arguments": [{"name": "x", "afterDashes": True}, {"name": "y"}]},
            "commands[0].arguments",
            "arguments with it last",
        ),
    ],
)
def test_a_bad_entry_is_refused_with_file_field_and_reason(change: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(BadCatalogue) as caught:
        parse_catalogue(json.dumps({"commands": [{"name": "x", "summary": "X.", **change}]}).encode(), "mine.json")
    assert caught.value.field == field
    assert reason in caught.value.message
    assert caught.value.message.startswith("The catalogue mine.json is not valid at ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "empty"),
        (b"{", "not valid JSON"),
        (b'{"commands": [', "not valid JSON"),
        (b"\xff", "not UTF-8"),
        (b'{"commands": [], "commands": []}', "appears twice"),
        (b'"x"', "'x'"),
        (b'{"commands": {}}', "at commands: "),
        (b'{"command": []}', "is unknown"),
        (b'[{"name": "x"}]', "summary"),
    ],
)
def test_a_bad_file_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(BadCatalogue, match=reason):
        parse_catalogue(text, "commands.json")


@pytest.mark.parametrize("forbidden", FORBIDDEN)
def test_what_json_forbids_is_refused(forbidden: Any) -> None:
    text = forbidden if isinstance(forbidden, bytes) else str(forbidden).encode("utf-8", "surrogatepass")
    with pytest.raises(BadCatalogue):
        parse_catalogue(text, "commands.json")


def test_two_commands_of_one_name_are_refused() -> None:
    with pytest.raises(BadCatalogue, match="is already used"):
        read({"name": "x", "summary": "X."}, {"name": "x", "summary": "Y."})


def test_an_example_that_does_not_fit_is_refused() -> None:
    with pytest.raises(TypeError, match="example 'so' does not fit"):
        read({"name": "x", "summary": "X.", "examples": [{"says": "so", "params": {"y": 1}}]})


def test_a_changed_definition_has_another_version() -> None:
    (one,) = read({"name": "x", "summary": "X."})
    (same,) = read({"summary": "X.", "name": "x"})
    (other,) = read({"name": "x", "summary": "X.", "prefix": ["y"]})
    assert one.version == same.version != other.version


def test_the_shipped_catalogue_is_complete() -> None:
    entries = parse_catalogue(shipped_catalogue(), "commands.json")
    assert len(entries) >= 45
    assert {"files", "text", "search", "system", "git"} <= {entry.category for entry in entries}
    assert all(entry.tier is Tier.CODE for entry in entries)
    assert not any(entry.network for entry in entries)
    for entry in entries:
        assert entry.examples
        assert all(one.help.strip() for one in entry.parameters)
        if entry.program == "git":
            assert entry.prefix
            assert not entry.prefix[0].startswith("-")


def test_a_default_is_given_once_even_for_a_list() -> None:
    (command,) = read({"name": "x", "summary": "X.", "arguments": [{"name": "words", "list": True, "default": "main"}]})
    assert argv(command) == ["x", "main"]
    assert argv(command, words=["a", "b"]) == ["x", "a", "b"]
    assert argv(command, words=[]) == ["x"]


def test_arguments_and_parameters_by_name_are_not_mixed() -> None:
    (command,) = read({"name": "x", "summary": "X.", "options": [{"short": "-l", "name": "long"}]})
    with pytest.raises(BadParams, match="either arguments or the parameters by name"):
        command.check({"arguments": ["-l"], "long": True})


def test_every_field_of_the_schema_has_a_sentence() -> None:
    for part in ("command", "option", "argument"):
        for name, spec in PUBLISHED_SCHEMA["$defs"][part]["properties"].items():
            described = spec if "description" in spec else PUBLISHED_SCHEMA["$defs"][spec["$ref"].rpartition("/")[2]]
            assert described["description"].endswith("."), name
