"""Writes the pages that are made from the code: docs/SETTINGS.md, docs/COMMANDS.md and docs/OUTCOMES.md."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from doorward import errors, settings
from doorward.cli.report import EXIT_CODES, UNUSABLE
from doorward.command import Command, Undo
from doorward.commands import FAMILIES
from doorward.doors.line import results as line
from doorward.doors.mcp import http as mcp_http
from doorward.doors.mcp import results as mcp
from doorward.doors.mcp.versions import Era
from doorward.doors.rest.governed import answered
from doorward.doors.statuses import HTTP_STATUS
from doorward.facts import Tier
from doorward.model import Outcome
from doorward.wire.frames import WireError

HERE = Path(__file__).parent
NOTICE = "<!-- Written by docs/generate.py from the code; change the code, then run `make docs`. -->"


def pages() -> dict[str, str]:
    """Each generated page by its file's name."""
    return {"SETTINGS.md": settings_page(), "COMMANDS.md": commands_page(), "OUTCOMES.md": outcomes_page()}


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
        lines += _settings_lines(table.name, table.type)
    return "\n".join(lines) + "\n"


def _settings_lines(name: str, table: type) -> Iterator[str]:
    """One table of settings, and below it those that it holds by a name of the reader's own."""
    sentences = _attribute_docstrings(table)
    yield from ("", f"## [{name}]", "", "| setting | type | default | what it is |", "|---|---|---|---|")
    inner = []
    for field in msgspec.structs.fields(table):
        yield f"| `{field.name}` | {_type_words(field.type)} | `{_toml(field)}` | {sentences[field.name]} |"
        if (
            get_origin(field.type) is dict
            and isinstance(each := get_args(field.type)[1], type)
            and issubclass(each, msgspec.Struct)
        ):
            inner.append((f"{name}.{field.name}.NAME", each))
    for below, each in inner:
        yield from _settings_lines(below, each)


def commands_page() -> str:
    lines = [
        "# Commands",
        NOTICE,
        "",
        "Every command passes the same gate, whoever asks. `doorward run NAME --parameter=value` runs one, and "
        "`doorward explain --room ROOM NAME` says whether it is allowed there. With `--as=me --room=` you act for "
        "yourself and outside rooms; the examples do so where the recipe of the first room would refuse an agent. "
        "Parameters that are not marked required may be left out. `help/describe` shows the JSON Schema of what each "
        "takes and gives.",
    ]
    for area, commands in _by_area().items():
        lines += ["", f"## {area}"]
        for command in commands:
            lines += ["", *_command_lines(command)]
    return "\n".join(lines) + "\n"


def _by_area() -> dict[str, list[Command]]:
    """Areas and commands by the alphabet; commands of one word stand under their own name.

    The words of the session shell are in SHELL.md.
    """
    found: dict[str, list[Command]] = {}
    commands = (one for family in FAMILIES for one in family.commands if not one.unlisted)
    for command in sorted(commands, key=lambda one: one.name):
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
    if command.returns is not None:
        yield ""
        yield _result_line(command.returns)
    yield ""
    yield "```sh"
    for example in facts.examples:
        words = " ".join([command.name, *(_argument(key, value) for key, value in example.params.items())])
        yield f"doorward run {'--as=me --room= ' if _is_for_people(command) else ''}{words}  # {example.says}"
    yield "```"


def _result_line(returns: dict[str, Any]) -> str:
    """What a command gives back, by the names of its fields."""
    named, fields = returns.get("$defs", {}), returns.get("properties", {})
    if not fields:
        return f"Gives an object. {returns.get('description', '')}".rstrip(". ") + "."
    always = [name for name in fields if name in returns.get("required", [])]
    words = ", ".join(_field_words(name, fields[name], named) for name in always)
    sometimes = ", ".join(_field_words(name, fields[name], named) for name in fields if name not in always)
    return f"Gives {words}{'; ' if words and sometimes else ''}{f'where it applies {sometimes}' if sometimes else ''}."


def _field_words(name: str, spec: dict[str, Any], named: dict[str, Any]) -> str:
    """A field of a result; a list of objects with the names of theirs."""
    inner = named.get(spec.get("items", {}).get("$ref", "").rpartition("/")[2], {}).get("properties", {})
    return f"`{name}` (each with {', '.join(inner)})" if inner else f"`{name}`"


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
    return _cell(_schema_words(schema)) if not components else "tables by name"


def _toml(field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return "{}" if value == {} else json.dumps(value)


def outcomes_page() -> str:
    lines = [
        "# Outcomes",
        NOTICE,
        "",
        "Every request ends in one of four ways: it was **done**, it was **refused** (nothing ran), it **failed** (it "
        "started), or it is **parked** (a person must approve it). The code says why. `retry` says whether trying "
        "again helps: never, after the request or the setting is changed, or later; where a limit says when, every "
        "door passes that on. Each door answers in its own way:",
        "",
        "- **terminal**: the exit code of `doorward run`; 2 is a wrong command line, and "
        f"{UNUSABLE} an installation that cannot be used as it is (`unusable`).",
        "- **socket**: the HTTP status on the owner's socket. A streamed answer is always 200, and its last line is "
        "the outcome.",
        "- **REST**: the HTTP status, and whether the body is the outcome or problem details (RFC 9457).",
        "- **MCP**: a tool's result, one with `isError`, or an error with its JSON-RPC code. Over HTTP the status "
        "comes first, for 2026-07-28 and for the versions with sessions; stdio has none.",
        "- **line**: a `response` or an `error` line.",
        "",
        "| code | outcome | retry | terminal | socket | REST | MCP 2026-07-28 | MCP 2025-11-25 | MCP stdio | line "
        "| what it means |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    meanings = _meanings()
    for sample in samples():
        cells = [
            f"`{sample.code}`",
            sample.status,
            sample.retry.replace("_", " ") if sample.status != "done" else "",
            str(EXIT_CODES[sample.status]),
            str(HTTP_STATUS[sample.code]),
            _rest_cell(sample),
            *_mcp_cells(sample),
            json.loads(line.answer(1, "x", sample, line.Style(1_000, False)))["type"],
            meanings[sample.code],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def samples() -> Iterator[Outcome]:
    """One outcome for every code that there is."""
    common: dict[str, Any] = {"call": "c1", "command": "data/list", "text": "Result: x."}
    for code in ("ok", "cached", "dry_run"):
        flags = {"cached": code == "cached", "dry_run": code == "dry_run"}
        yield Outcome(status="done", code=code, message="", result={"items": []}, **flags, **common)
    asked = {"ticket": "t1", "shown": "data/list", "caller": "bot", "kind": "ai", "expiresAt": "2030-01-01T00:00:00Z"}
    yield Outcome(
        status="parked", code="approval_needed", message="It waits.", ticket="t1", retry="later", result=asked, **common
    )
    for leaf in errors.leaves():
        if leaf is not errors.Unusable:
            yield Outcome(
                status="failed" if issubclass(leaf, errors.Failed) else "refused",
                code=leaf.code,
                message="It is so.",
                retry=leaf.retry,
                effect=leaf.effect,
                retry_after=2.5 if leaf.retry == "later" else None,
                **common,
            )


def _rest_cell(outcome: Outcome) -> str:
    response = answered(outcome, whole=True)
    return f"{response.status_code} {'problem' if response.media_type == 'application/problem+json' else 'outcome'}"


def _mcp_cells(outcome: Outcome) -> list[str]:
    """Over HTTP in the newer era, over HTTP with sessions, and over stdio."""
    try:
        if outcome.code == errors.NotAuthenticated.code:
            raise mcp.refusal(errors.NotAuthenticated(outcome.message))
        if outcome.code == errors.UnknownCommand.code:
            raise mcp.unknown_tool(outcome)
        result = json.loads(mcp.tool_result(Era.STATELESS, outcome))
        told = "isError" if result.get("isError") else "result"
        return [f"200 {told}", f"200 {told}", told]
    except WireError as error:
        told = f"error {error.code}"
        if outcome.code == errors.NotAuthenticated.code:
            return [f"401 {told}", f"401 {told}", told]
        return [f"{mcp_http.STATUS.get(error.code, 200)} {told}", f"200 {told}", told]


def _meanings() -> dict[str, str]:
    """What each code means, as the tree of errors says it."""
    found = {
        "ok": "it was done",
        "cached": "the answer of a moment ago, which was asked for",
        "dry_run": "nothing was executed; this is what would be",
        "approval_needed": "a person must say yes first; the ticket resumes it then",
    }
    told = dict(re.findall(r"[├└]── (\w+) {2,}(.+)", errors.__doc__ or ""))
    return found | {leaf.code: told[leaf.__name__] for leaf in errors.leaves()}


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
