"""Parse `commands.json`, with full entries and with short ones whose details are derived."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import re2

from doorward import strictjson
from doorward.catalogue import derive
from doorward.catalogue.entry import RESERVED, Entry, Parameter, Sample, Type
from doorward.catalogue.schema import first_fault
from doorward.command import shortened
from doorward.edited.published import Fault, field
from doorward.edited.slots import slot_faults
from doorward.errors import Unusable
from doorward.facts import Effects, Safety, Tier

LARGEST = 4_000_000
"""Maximum size of a catalogue, in bytes."""

_EFFECTS = {"read": Effects.READ, "write": Effects.WRITE, "destroy": Effects.DESTROY}
_SAMPLES: dict[Type, Any] = {"path": ".", "text": "text", "flag": True}
_encode = msgspec.json.Encoder(order="sorted").encode


class BadCatalogue(Unusable):
    """An invalid catalogue; the message names the file, the field and the reason."""

    def __init__(self, file: str, field: str, reason: str) -> None:
        where = f" at {field}" if field else ""
        stop = "" if reason.endswith((".", "?")) else "."
        super().__init__(
            f"The catalogue {file} is not valid{where}: {reason}{stop}",
            hint="The published commands.schema.json describes every field.",
        )
        self.file = file
        self.field = field
        self.reason = reason


@functools.lru_cache(maxsize=4)
def parse(text: bytes, file: str) -> tuple[Entry, ...]:
    """Parse and validate a catalogue; `file` is its name in errors. Results are cached."""
    if not text.strip():
        raise BadCatalogue(file, "", 'the file is empty; valid: {"commands": [...]} or a list')
    try:
        value = strictjson.loads(text, max_bytes=LARGEST)
    except strictjson.NotJson as error:
        raise BadCatalogue(file, "", str(error)) from error
    bare = isinstance(value, list)
    whole = {"commands": value} if bare else value
    fault = first_fault(whole)
    if fault is not None:
        raise BadCatalogue(file, field(fault.path[1:] if bare else fault.path), fault.reason)
    entries, known = [], set()
    for place, raw in enumerate(whole["commands"]):
        path: tuple[str | int, ...] = (place,) if bare else ("commands", place)
        entry = _entry(raw)
        deeper = next(_deeper_faults(entry, path), None)
        if deeper is None and entry.name in known:
            deeper = Fault((*path, "name"), f"{shortened(entry.name)} is already used; each command needs its own name")
        if deeper is not None:
            raise BadCatalogue(file, deeper.field, f"{deeper.reason} (command {entry.name})")
        known.add(entry.name)
        entries.append(entry)
    return tuple(entries)


def _entry(raw: Mapping[str, Any]) -> Entry:
    effects = _together(raw.get("effects", ["read"]))
    arguments = tuple(_arguments(raw))
    summary = raw["summary"].strip()
    said = raw.get("description", "").strip()
    options = tuple(_option(one) for one in raw.get("options", ()) if one.get("short") or one.get("long"))
    samples = raw.get("examples") or [{"says": summary, "params": _sample((*options, *arguments))}]
    return Entry(
        name=raw["name"],
        program=raw.get("program", raw["name"]),
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
        safety=Safety(raw["safety"]) if "safety" in raw else _safety(effects),
        cost=float(raw.get("cost", 1 if effects is Effects.READ else 2)),
        network=raw.get("network", False),
        memory_bytes=int(raw["memoryBytes"]) if "memoryBytes" in raw else None,
        timeout_seconds=float(raw["timeoutSeconds"]) if "timeoutSeconds" in raw else None,
        examples=tuple(Sample(one["says"], one["params"]) for one in samples),
        aliases=tuple(raw.get("aliases", ())),
        related=tuple(raw.get("related", ())),
        version=hashlib.sha256(_encode(raw)).hexdigest(),
    )


def _together(words: list[str]) -> Effects:
    found = Effects.READ
    for word in words:
        found |= _EFFECTS[word]
    return found


def _safety(effects: Effects) -> Safety:
    if effects & Effects.DESTROY:
        return Safety.DANGEROUS
    return Safety.CAUTION if effects & Effects.WRITE else Safety.SAFE


def _option(raw: Mapping[str, Any]) -> Parameter:
    short = _dashed(raw.get("short") or "", "-")
    long = _dashed(raw.get("long") or "", "--")
    argument = raw.get("arg") or ""
    kind: Type = raw.get("type") or (derive.type_of(argument) if argument else "flag")
    return _parameter(
        raw,
        name=raw.get("name") or derive.parameter_name(long or short),
        kind=kind,
        short=short,
        long=long,
        many=raw.get("repeat", False),
        required=raw.get("required", False),
        spelled=raw.get("spelled") or ("equals" if long.startswith("--") else "separate"),
    )


def _dashed(text: str, dashes: str) -> str:
    return text if not text or text.startswith("-") else dashes + text


def _arguments(raw: Mapping[str, Any]) -> Iterator[Parameter]:
    if "arguments" in raw:
        for one in raw["arguments"]:
            yield _parameter(
                one,
                name=one["name"],
                kind=one.get("type") or derive.type_of(one["name"]),
                many=one.get("list", False),
                required=one.get("required", False),
                after_dashes=one.get("afterDashes", False),
            )
        return
    told = {
        derive.parameter_name(one["arg"]): one
        for one in raw.get("options", ())
        if one.get("arg") and not one.get("short") and not one.get("long")
    }
    shown = derive.places(raw.get("usage", ""))
    for place in shown:
        one = told.pop(place.name, {})
        yield _parameter(one, place.name, derive.type_of(place.name), many=place.many, required=place.required)
    for name, one in told.items():
        # Without a place in the usage line, brackets around its name or a default make it optional.
        optional = one["arg"].startswith("[") or "default" in one
        yield _parameter(one, name, derive.type_of(name), many="..." in one["arg"], required=not optional)


def _parameter(raw: Mapping[str, Any], name: str, kind: Type, **more: Any) -> Parameter:
    return Parameter(
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


def _sample(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """Valid sample parameters, for an entry without an example."""
    found = {}
    for one in parameters:
        if not one.required:
            continue
        value = _SAMPLES.get(one.type)
        if one.type == "choice":
            value = one.choices[0] if one.choices else ""
        elif value is None:
            value = int(one.minimum if one.minimum is not None else 1)
        found[one.name] = [value] if one.many else value
    return found


def _deeper_faults(entry: Entry, path: tuple[str | int, ...]) -> Iterator[Fault]:
    """The faults that a schema cannot express, in an entry that fits the schema."""
    names: set[str] = set()
    spellings: set[str] = set()
    for one in entry.parameters:
        here = (*path, "options" if one.is_option else "arguments")
        if not one.name or not one.name[0].isalpha():
            yield Fault(here, f"{one.spelling} needs a name that begins with a letter; given {one.name!r}")
        if one.name in RESERVED:
            yield Fault(here, f"the name {one.name!r} is reserved: every command has {', '.join(sorted(RESERVED))}")
        if one.name in names:
            yield Fault(here, f"two parameters are named {one.name!r}; each needs its own name")
        names.add(one.name)
        for spelling in filter(None, (one.short, one.long)):
            if spelling in spellings:
                yield Fault(here, f"two options are spelled {spelling!r}; each needs its own spelling")
            spellings.add(spelling)
        yield from _parameter_faults(one, here)
    yield from _order_faults(entry, (*path, "arguments"))
    for number, sample in enumerate(entry.examples):
        yield from slot_faults(sample.says, (*path, "examples", number, "says"))
    if entry.tier is Tier.INFORMATION and entry.writes:
        yield Fault(
            (*path, "tier"),
            "the tier information is for commands that only read; valid: code, or effects without write",
        )


def _parameter_faults(one: Parameter, here: tuple[str | int, ...]) -> Iterator[Fault]:
    if one.type == "choice" and not one.choices:
        yield Fault(here, f"{one.spelling} is a choice without choices; valid: at least one word in choices")
    if one.type == "flag" and not one.is_option:
        yield Fault(here, f"{one.spelling} is a flag but not an option; valid: an option with short or long")
    if one.type == "flag" and (one.many or one.required or one.default is not None):
        yield Fault(here, f"{one.spelling} is a flag; flags take no repeat, required or default")
    if one.pattern:
        try:
            re2.compile(one.pattern)
        except re2.error as error:
            yield Fault(here, f"the pattern of {one.spelling} is not a regular expression: {error}")
    if one.short and len(one.short) != 2:
        yield Fault(here, f"{one.short!r} is not a short option; valid: a dash and one letter or digit")
    if one.long and len(one.long.lstrip("-")) < 2:
        yield Fault(here, f"{one.long!r} is not a long option; valid: one or two dashes and at least two characters")


def _order_faults(entry: Entry, here: tuple[str | int, ...]) -> Iterator[Fault]:
    if sum(one.many for one in entry.arguments) > 1:
        yield Fault(here, "two arguments are lists, so words cannot be assigned to them; valid: one list")
    behind = [one.after_dashes for one in entry.arguments]
    if behind != sorted(behind):
        yield Fault(here, "an argument with afterDashes comes before one without; valid: arguments with it last")
