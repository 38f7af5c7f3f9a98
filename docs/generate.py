"""Writes the pages that are made from the code: docs/SETTINGS.md and docs/COMMANDS.md."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from doorward import settings
from doorward.app import FAMILIES
from doorward.command import Command, Undo
from doorward.facts import Tier

HERE = Path(__file__).parent
NOTICE = "<!-- Written by docs/generate.py from the code; change the code, then run `make docs`. -->"


def pages() -> dict[str, str]:
    """Each generated page by its file's name."""
    return {"SETTINGS.md": settings_page(), "COMMANDS.md": commands_page()}


def settings_page() -> str:
    lines = [
        "# Settings",
        NOTICE,
        "",
        "Doorward reads `doorward.toml` in its home folder (`DOORWARD_HOME`, or `~/.doorward`) when it starts. Without "
        "the file every setting has its default. An unknown name or a value that does not fit is refused, and the "
        "message says which.",
        "",
        "```toml",
        "[server]",
        "port = 8642",
        "",
        "[data.databases]",
        'shop = "sqlite:///srv/shop/orders.db"',
        "```",
    ]
    for table in msgspec.structs.fields(settings.Settings):
        sentences = _attribute_docstrings(table.type)
        lines += ["", f"## [{table.name}]", "", "| setting | type | default | what it is |", "|---|---|---|---|"]
        lines += [
            f"| `{field.name}` | {_type_words(field.type)} | `{_toml(field)}` | {sentences[field.name]} |"
            for field in msgspec.structs.fields(table.type)
        ]
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    lines = [
        "# Commands",
        NOTICE,
        "",
        "Every command passes the same gate, whoever asks. `doorward run NAME --parameter=value` runs one, and "
        "`doorward explain --room ROOM NAME` says whether it is allowed there. With `--as=me --room=` you act for "
        "yourself and outside rooms; the examples do so where the recipe of the first room would refuse an agent. "
        "Parameters that are not marked required may be left out.",
    ]
    for area, commands in _by_area().items():
        lines += ["", f"## {area}"]
        for command in commands:
            lines += ["", *_command_lines(command)]
    return "\n".join(lines) + "\n"


def _by_area() -> dict[str, list[Command]]:
    """Areas and commands by the alphabet; commands of one word stand under their own name."""
    found: dict[str, list[Command]] = {}
    for command in sorted((one for family in FAMILIES for one in family.commands), key=lambda one: one.name):
        found.setdefault(command.name.partition("/")[0], []).append(command)
    return found


def _command_lines(command: Command) -> Iterator[str]:
    facts = command.facts
    yield f"### {command.name}"
    yield ""
    yield command.description
    yield ""
    who = "people only, " if facts.humans_only else ""
    who += "of the house's own tenant only, " if facts.house_wide else ""
    yield (
        f"Tier **{facts.tier}**, effects **{', '.join(facts.effects.names)}**, access **{facts.access.label}**, "
        f"safety **{facts.safety}**, {who}cost {facts.cost:g}, at most {facts.timeout:g} s."
    )
    yield f"Undo: {'yes' if isinstance(facts.undo, Undo) else f'no, {facts.undo.why}'}."
    if command.schema["properties"]:
        yield ""
        yield "| parameter | type | default | what it is |"
        yield "|---|---|---|---|"
        for name, spec in command.schema["properties"].items():
            default = "required" if name in command.schema.get("required", []) else f"`{json.dumps(spec['default'])}`"
            yield f"| `{name}` | {_cell(_schema_words(spec))} | {_cell(default)} | {_cell(spec['description'])} |"
    yield ""
    yield "```sh"
    for example in facts.examples:
        words = " ".join([command.name, *(_argument(key, value) for key, value in example.params.items())])
        yield f"doorward run {'--as=me --room= ' if _is_for_people(command) else ''}{words}  # {example.says}"
    yield "```"


def _is_for_people(command: Command) -> bool:
    """Whether the first room's recipe leaves it to people, who then act for themselves and outside rooms."""
    return command.facts.humans_only or command.facts.tier is Tier.SYSTEM


def _argument(key: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    plain = bool(text) and all(char.isalnum() or char in "-_./:" for char in text)
    return f"--{key}={text}" if plain else f"--{key}={_quoted(text)}"


def _quoted(text: str) -> str:
    if "\n" in text:
        return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    return "'" + text.replace("'", "'\\''") + "'"


def _schema_words(spec: dict[str, Any]) -> str:
    """What a parameter's schema accepts, in a few words."""
    if "enum" in spec:
        return ", ".join("null" if value is None else str(value) for value in spec["enum"])
    if "anyOf" in spec:
        return " or ".join(_schema_words(one) for one in spec["anyOf"])
    words = str(spec.get("type", "any"))
    if words == "array" and "type" in spec.get("items", {}):
        words = f"list of {spec['items']['type']}"
    low, high = spec.get("minimum", spec.get("exclusiveMinimum")), spec.get("maximum")
    if low is not None or high is not None:
        above = "above " if "exclusiveMinimum" in spec else ""
        words += (
            f" ({above}{_number(low)} to {_number(high)})" if high is not None else f" ({above}{_number(low)} or more)"
        )
    return words


def _number(value: float | None) -> str:
    return "any" if value is None else f"{value:,}".removesuffix(".0")


def _type_words(kind: Any) -> str:
    (schema,), components = msgspec.json.schema_components([kind])
    return _cell(_schema_words(schema if not components else {}))


def _toml(field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return "{}" if value == {} else json.dumps(value)


def _attribute_docstrings(struct: type) -> dict[str, str]:
    """The sentence below each field of a class, which Python itself does not keep."""
    (body,) = ast.parse(inspect.getsource(struct)).body
    if not isinstance(body, ast.ClassDef):
        raise TypeError(f"{struct.__name__} is not a class")
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            found[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for name, text in pages().items():
        (HERE / name).write_text(text)
