"""Parses `commands.json`, with full entries and with short ones whose details are derived."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, NamedTuple

import msgspec
import re2

from doorward.commands.catalogue.entry import (
    RESERVED,
    CatalogueEntry,
    CatalogueExample,
    CatalogueParameter,
    ParameterType,
)
from doorward.config.files import BadFile
from doorward.config.published_schema import PublishedSchema, SchemaFault, find_slot_faults, format_path
from doorward.core import names, strictjson
from doorward.core.classification import Effects, Safety, Tier
from doorward.core.command import shorten

_SCHEMA = PublishedSchema(resources.files(__package__).joinpath("commands.schema.json").read_bytes())
PUBLISHED_SCHEMA = _SCHEMA.schema
find_first_fault = _SCHEMA.first_fault


_PATHS = frozenset(
    {"path", "directory", "dir", "file", "filename", "folder", "source", "destination", "dest", "src", "dst"}
)
_INTEGERS = frozenset({"count", "number", "num", "size", "line", "byte", "depth", "width", "n"})
_FLAGS = frozenset({"flag", "enable"})
_WORD = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*")
_GROUP = re.compile(r"(?:\[(?P<optional>[^\[\]]*)\]|<(?P<required>[^<>]*)>)(?P<dots>\.{3})?")
_OPTIONS = frozenset({"option", "options", "flags", "opts"})


class UsageArgument(NamedTuple):
    """An argument found in a usage line."""

    name: str
    required: bool
    many: bool


def infer_type(name: str) -> ParameterType:
    """The type that an argument's name suggests; text by default."""
    words = {word.lower().removesuffix("s") for word in _WORD.findall(name)} | {name.lower()}
    if words & _PATHS:
        return "path"
    if words & _INTEGERS:
        return "integer"
    return "flag" if words & _FLAGS else "text"


def infer_parameter_name(text: str) -> str:
    """The parameter name for a spelling: `--max-depth` is maxDepth, `<file>...` is file."""
    bare = text.strip("<>[]. \t").lstrip("-")
    return names.to_camel(re.sub(r"[^A-Za-z0-9]+", "_", bare).strip("_"))


def parse_usage(usage: str) -> list[UsageArgument]:
    """The arguments in a usage line: `<x>` is required, `[x]` is optional, and dots mean a list."""
    found = []
    for group in _GROUP.finditer(usage):
        inner = (group["optional"] or group["required"] or "").strip()
        many = bool(group["dots"]) or inner.endswith("...")
        name = infer_parameter_name(inner)
        if inner.startswith("-") or not name or name.lower() in _OPTIONS:
            continue
        found.append(UsageArgument(name, group["required"] is not None, many))
    return found


MAX_CATALOGUE_BYTES = 4_000_000
"""Maximum size of a catalogue, in bytes."""

_EFFECTS_BY_NAME = {"read": Effects.READ, "write": Effects.WRITE, "destroy": Effects.DESTROY}
_SAMPLE_VALUES: dict[ParameterType, Any] = {"path": ".", "text": "text", "flag": True}
_encode = msgspec.json.Encoder(order="sorted").encode


class BadCatalogue(BadFile):
    """An invalid catalogue; the message names the file, the field and the reason."""

    noun = "catalogue"
    default_hint = "The published commands.schema.json describes every field."


@functools.lru_cache(maxsize=4)
def parse_catalogue(text: bytes, file: str) -> tuple[CatalogueEntry, ...]:
    """Parse and validate a catalogue; `file` is its name in errors. Results are cached."""
    if not text.strip():
        raise BadCatalogue(file, "", 'the file is empty; valid: {"commands": [...]} or a list')
    try:
        value = strictjson.loads(text, max_bytes=MAX_CATALOGUE_BYTES)
    except strictjson.NotJson as error:
        raise BadCatalogue(file, "", str(error)) from error
    bare = isinstance(value, list)
    whole = {"commands": value} if bare else value
    fault = find_first_fault(whole)
    if fault is not None:
        raise BadCatalogue(file, format_path(fault.path[1:] if bare else fault.path), fault.reason)
    entries, known = [], set()
    for place, raw in enumerate(whole["commands"]):
        path: tuple[str | int, ...] = (place,) if bare else ("commands", place)
        entry = _parse_entry(raw)
        deeper = next(_find_entry_faults(entry, path), None)
        if deeper is None and entry.name in known:
            deeper = SchemaFault(
                (*path, "name"), f"{shorten(entry.name)} is already used; each command needs its own name"
            )
        if deeper is not None:
            raise BadCatalogue(file, deeper.field, f"{deeper.reason} (command {entry.name})")
        known.add(entry.name)
        entries.append(entry)
    return tuple(entries)


def _parse_entry(raw: Mapping[str, Any]) -> CatalogueEntry:
    effects = _parse_effects(raw.get("effects", ["read"]))
    arguments = tuple(_parse_arguments(raw))
    summary = raw["summary"].strip()
    said = raw.get("description", "").strip()
    options = tuple(_parse_option(one) for one in raw.get("options", ()) if one.get("short") or one.get("long"))
    samples = raw.get("examples") or [{"says": summary, "params": _sample_params((*options, *arguments))}]
    program = raw.get("program", raw["name"])
    return CatalogueEntry(
        name=raw["name"],
        program=program.rpartition("/")[2],
        workspace_path=program if "/" in program else "",
        prefix=tuple(raw.get("prefix", ())),
        summary=summary,
        description=f"{summary}\n\n{said}" if said and said != summary else summary,
        category=raw.get("category", "shell"),
        options=options,
        arguments=arguments,
        options_last=raw.get("optionsLast", False),
        input=raw.get("input", False),
        exit_codes=tuple(int(code) for code in raw.get("exitCodes", (0,))),
        tier=Tier(raw.get("tier", "code")),
        effects=effects,
        safety=Safety(raw["safety"]) if "safety" in raw else _infer_safety(effects),
        cost=float(raw.get("cost", 1 if effects is Effects.READ else 2)),
        network=raw.get("network", False),
        profile=raw.get("profile", "tool"),
        memory_bytes=int(raw["memoryBytes"]) if "memoryBytes" in raw else None,
        timeout_seconds=float(raw["timeoutSeconds"]) if "timeoutSeconds" in raw else None,
        examples=tuple(CatalogueExample(one["says"], one["params"]) for one in samples),
        aliases=tuple(raw.get("aliases", ())),
        related=tuple(raw.get("related", ())),
        version=hashlib.sha256(_encode(raw)).hexdigest(),
    )


def _parse_effects(words: list[str]) -> Effects:
    found = Effects.READ
    for word in words:
        found |= _EFFECTS_BY_NAME[word]
    return found


def _infer_safety(effects: Effects) -> Safety:
    if effects & Effects.DESTROY:
        return Safety.DANGEROUS
    return Safety.CAUTION if effects & Effects.WRITE else Safety.SAFE


def _parse_option(raw: Mapping[str, Any]) -> CatalogueParameter:
    short = _add_dashes(raw.get("short") or "", "-")
    long = _add_dashes(raw.get("long") or "", "--")
    argument = raw.get("arg") or ""
    kind: ParameterType = raw.get("type") or (infer_type(argument) if argument else "flag")
    return _make_parameter(
        raw,
        name=raw.get("name") or infer_parameter_name(long or short),
        kind=kind,
        short=short,
        long=long,
        many=raw.get("repeat", False),
        required=raw.get("required", False),
        spelled=raw.get("spelled") or ("equals" if long.startswith("--") else "separate"),
    )


def _add_dashes(text: str, dashes: str) -> str:
    return text if not text or text.startswith("-") else dashes + text


def _parse_arguments(raw: Mapping[str, Any]) -> Iterator[CatalogueParameter]:
    if "arguments" in raw:
        for one in raw["arguments"]:
            yield _make_parameter(
                one,
                name=one["name"],
                kind=one.get("type") or infer_type(one["name"]),
                many=one.get("list", False),
                required=one.get("required", False),
                after_dashes=one.get("afterDashes", False),
            )
        return
    told = {
        infer_parameter_name(one["arg"]): one
        for one in raw.get("options", ())
        if one.get("arg") and not one.get("short") and not one.get("long")
    }
    shown = parse_usage(raw.get("usage", ""))
    for place in shown:
        one = told.pop(place.name, {})
        yield _make_parameter(one, place.name, infer_type(place.name), many=place.many, required=place.required)
    for name, one in told.items():
        # Without a place in the usage line, brackets around its name or a default make it optional.
        optional = one["arg"].startswith("[") or "default" in one
        yield _make_parameter(one, name, infer_type(name), many="..." in one["arg"], required=not optional)


def _make_parameter(raw: Mapping[str, Any], name: str, kind: ParameterType, **more: Any) -> CatalogueParameter:
    return CatalogueParameter(
        name=name,
        help=raw.get("help") or name,
        type=raw.get("type") or ("choice" if "choices" in raw else kind),
        choices=tuple(raw.get("choices", ())),
        minimum=raw.get("minimum"),
        maximum=raw.get("maximum"),
        pattern=raw.get("pattern", ""),
        default=raw.get("default"),
        dash=raw.get("dash", False),
        **more,
    )


def _sample_params(parameters: tuple[CatalogueParameter, ...]) -> dict[str, Any]:
    """Valid sample parameters, for an entry without an example."""
    found = {}
    for one in parameters:
        if not one.required:
            continue
        value = _SAMPLE_VALUES.get(one.type)
        if one.type == "choice":
            value = one.choices[0] if one.choices else ""
        elif value is None:
            value = int(one.minimum if one.minimum is not None else 1)
        found[one.name] = [value] if one.many else value
    return found


def _find_entry_faults(entry: CatalogueEntry, path: tuple[str | int, ...]) -> Iterator[SchemaFault]:
    """The faults that a schema cannot express, in an entry that fits the schema."""
    names: set[str] = set()
    spellings: set[str] = set()
    for one in entry.parameters:
        here = (*path, "options" if one.is_option else "arguments")
        if not one.name or not one.name[0].isalpha():
            yield SchemaFault(here, f"{one.spelling} needs a name that begins with a letter; given {one.name!r}")
        if one.name in RESERVED:
            yield SchemaFault(
                here, f"the name {one.name!r} is reserved: every command has {', '.join(sorted(RESERVED))}"
            )
        if one.name in names:
            yield SchemaFault(here, f"two parameters are named {one.name!r}; each needs its own name")
        names.add(one.name)
        for spelling in filter(None, (one.short, one.long)):
            if spelling in spellings:
                yield SchemaFault(here, f"two options are spelled {spelling!r}; each needs its own spelling")
            spellings.add(spelling)
        yield from _find_parameter_faults(one, here)
    yield from _find_order_faults(entry, (*path, "arguments"))
    for number, sample in enumerate(entry.examples):
        yield from find_slot_faults(sample.says, (*path, "examples", number, "says"))
    if entry.tier is Tier.INFORMATION and entry.writes:
        yield SchemaFault(
            (*path, "tier"),
            "the tier information is for commands that only read; valid: code, or effects without write",
        )


def _find_parameter_faults(one: CatalogueParameter, here: tuple[str | int, ...]) -> Iterator[SchemaFault]:
    if one.type == "choice" and not one.choices:
        yield SchemaFault(here, f"{one.spelling} is a choice without choices; valid: at least one word in choices")
    if one.type == "flag" and not one.is_option:
        yield SchemaFault(here, f"{one.spelling} is a flag but not an option; valid: an option with short or long")
    if one.type == "flag" and (one.many or one.required or one.default is not None):
        yield SchemaFault(here, f"{one.spelling} is a flag; flags take no repeat, required or default")
    if one.pattern:
        try:
            re2.compile(one.pattern)
        except re2.error as error:
            yield SchemaFault(here, f"the pattern of {one.spelling} is not a regular expression: {error}")
    if one.short and len(one.short) != 2:
        yield SchemaFault(here, f"{one.short!r} is not a short option; valid: a dash and one letter or digit")
    if one.long and len(one.long.lstrip("-")) < 2:
        yield SchemaFault(
            here, f"{one.long!r} is not a long option; valid: one or two dashes and at least two characters"
        )


def _find_order_faults(entry: CatalogueEntry, here: tuple[str | int, ...]) -> Iterator[SchemaFault]:
    if sum(one.many for one in entry.arguments) > 1:
        yield SchemaFault(here, "two arguments are lists, so words cannot be assigned to them; valid: one list")
    behind = [one.after_dashes for one in entry.arguments]
    if behind != sorted(behind):
        yield SchemaFault(here, "an argument with afterDashes comes before one without; valid: arguments with it last")
