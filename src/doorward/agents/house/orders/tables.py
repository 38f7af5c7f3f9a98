"""Collections as an order names them: their nouns, fields and values."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from doorward.agents.house import sentences, words
from doorward.agents.house.dates import find_spans
from doorward.agents.house.plan import Step, Unknown
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.store.collection_profiles import CollectionProfile, FieldProfile

OWN_FIELDS = frozenset(("id", "version", "createdAt", "updatedAt", "createdBy", "updatedBy"))
"""Fields that the house fills itself."""
_LABELS = ("name", "title", "label", "subject", "hostname", "model", "description")
_GENERIC = frozenset(words.stem(one) for one in ("number", "address", "date", "is", "on", "at", "the", "its", "id"))
_YES = frozenset(("true", "yes", "on", "1", "y"))
_NO = frozenset(("false", "no", "off", "0", "n"))
_UNIT = re.compile(r"^[€$£]\s*|\s*(?:[€$£]|euros?|eur|dollars?|usd|pounds?|pieces|pcs)$", re.IGNORECASE)
_MAX_VALUES = 20


class Table:
    """A collection whose records people change."""

    def __init__(self, profile: CollectionProfile, *, complete: bool) -> None:
        self.profile = profile
        self.name = profile.name
        self.key = profile.key
        self.complete = complete
        """Whether the values of its fields were looked at."""
        own = words.name_words(profile.name.rpartition(".")[2])
        self.noun = tuple(words.singular(one) for one in own)
        self.one = " ".join((*own[:-1], words.singular(own[-1]))) if own else profile.name
        self.many = " ".join((*own[:-1], words.plural(words.singular(own[-1])))) if own else profile.name
        self.fields = {one.name: one for one in profile.fields if one.name not in OWN_FIELDS and one.name != self.key}
        self.label = profile.label or next(
            (one for last in _LABELS for one in self.fields if words.name_words(one)[-1:] == (last,)), ""
        )

    def find_field(self, said: str) -> str:
        """Return the one field that these words name; empty if there is none, or more than one."""
        stems = frozenset(words.stem(one) for one in words.name_words(said))
        named = {one: frozenset(words.stem(part) for part in words.name_words(one)) for one in self.fields}
        core = (stems - _GENERIC) or stems
        for fits in (
            lambda own: own == stems,
            lambda own: _alike(own, stems),
            lambda own: _alike((own - _GENERIC) or own, core),
            lambda own: core <= own or own <= core,
        ):
            found = [one for one, own in named.items() if stems and own and fits(own)]
            if found:
                return found[0] if len(found) == 1 else ""
        return ""

    def find_value(self, said: str) -> tuple[str, Any] | None:
        """Return the one field that holds a value, or is a yes or no of that name, and the value."""
        found: list[tuple[str, Any]] = []
        stems = frozenset(words.stem(one) for one in words.name_words(said)) - _GENERIC
        for field in self.fields.values():
            found += [(field.name, one) for one in field.values if isinstance(one, str) and one.lower() == said.lower()]
            own = frozenset(words.stem(one) for one in words.name_words(field.name)) - _GENERIC
            if field.kind == "boolean" and stems:
                yes = _alike(own, stems) or any(_alike({one}, stems) for one in own)
                no = said.lower()[:2] in ("in", "un") and own == {words.stem(said.lower()[2:])}
                found += [(field.name, yes)] if yes or no else []
        return found[0] if len(found) == 1 else None

    def coerce(self, context: RequestContext, name: str, text: str) -> Any:
        """Return a value as its field takes it. Raises Unknown."""
        field, text = self.fields[name], text.strip()
        if field.kind == "number":
            bare = _UNIT.sub("", text).replace(",", "")
            if not re.fullmatch(r"[+-]?\d+(?:\.\d+)?", bare):
                raise Unknown(f"I did nothing: {sentences.name(text)} is no number, and {name} holds numbers.")
            return float(bare) if "." in bare else int(bare)
        if field.kind == "boolean":
            if text.lower() not in _YES | _NO:
                raise Unknown(f"I did nothing: {name} is yes or no, and {sentences.name(text)} is neither.")
            return text.lower() in _YES
        if field.kind == "time" or field.dates:
            return _read_day(context, text) or text
        same = [one for one in field.values if isinstance(one, str) and one.lower() == text.lower()]
        if len(same) == 1:
            return same[0]
        near = [
            one for one in field.values if isinstance(one, str) and words.is_one_slip_away(text.lower(), one.lower())
        ]
        if near and field.complete and len(field.values) <= _MAX_VALUES:
            raise Unknown(f"I did nothing: I do not know whether you mean {sentences.name(near[0])}. Say it again.")
        return text

    def to_id(self, text: str) -> str | int:
        kind = next((one.kind for one in self.profile.fields if one.name == self.key), "text")
        return int(text) if text.isdigit() and kind == "number" else text


def _alike(own: frozenset[str] | set[str], said: frozenset[str]) -> bool:
    """Whether each word of one means the same as a word of the other."""
    return all(words.same_words(one) & said for one in own) and all(words.same_words(one) & own for one in said)


def _read_day(context: RequestContext, text: str) -> str:
    request = Request(text)
    spans = find_spans(request, datetime.fromtimestamp(context.now, context.zone))
    whole = len(spans) == 1 and len(spans[0].places) == len(request)
    return spans[0].first_day if whole and spans[0].first_day == spans[0].last_day else ""


def known_tables(context: RequestContext) -> list[Table]:
    """Return the collections whose profiles the conversation holds."""
    return [Table(one, complete=True) for one in context.conversation.data if one.kind != "system"]


def load_tables(context: RequestContext) -> Generator[list[Step], list[ToolResult], list[Table]]:
    """Return the collections whose records can be changed; they are looked up if no profiles are known."""
    if context.conversation.data:
        return known_tables(context)
    if "data/describe" not in context.tools:
        return []
    (got,) = yield [Step("data/describe", lookup=True)]
    return [Table(_profile(one), complete=False) for one in got.items if _is_changeable(one)]


def _is_changeable(one: Any) -> bool:
    return isinstance(one, dict) and one.get("kind") in ("managed", "attached") and isinstance(one.get("fields"), dict)


def complete_table(context: RequestContext, table: Table) -> Generator[list[Step], list[ToolResult], Table]:
    """Return a collection with the values that its schema allows."""
    if table.complete or "data/describe" not in context.tools:
        return table
    (got,) = yield [Step("data/describe", {"collection": table.name}, lookup=True)]
    value = got.value if isinstance(got.value, dict) else {}
    schema = value.get("schema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    fields = tuple(_with_values(one, properties) for one in table.profile.fields)
    return Table(msgspec.structs.replace(table.profile, fields=fields), complete=True)


def _with_values(field: FieldProfile, properties: Any) -> FieldProfile:
    spec = properties.get(field.name) if isinstance(properties, dict) else None
    allowed = spec.get("enum") if isinstance(spec, dict) else None
    return msgspec.structs.replace(field, values=tuple(allowed), complete=True) if isinstance(allowed, list) else field


def _profile(one: dict[str, Any]) -> CollectionProfile:
    fields = tuple(FieldProfile(name=name, kind=kind) for name, kind in one["fields"].items())
    return CollectionProfile(
        name=str(one["collection"]), kind=one["kind"], key=str(one.get("key") or "id"), count=0, fields=fields
    )


def split_noun(said: str, tables: Sequence[Table]) -> tuple[Table | None, str, str]:
    """Return the collection that a text begins with, the noun as it was said, and the rest of the text."""
    whole = said.strip()
    said = re.sub(r"^(?:(?:the|my|our|this|that|a|an|record|entry|of)\s+)+", "", whole, flags=re.IGNORECASE)
    parts = said.split()
    for size in (3, 2, 1):
        named = tuple(words.singular(one.lower().rstrip(":,")) for one in parts[:size])
        for table in tables:
            if len(named) == size and (named == table.noun or (size == 1 and _is_synonym(named[0], table, tables))):
                return (
                    table,
                    " ".join(parts[:size]).rstrip(":,"),
                    said.split(None, size)[size] if len(parts) > size else "",
                )
    if len(parts) == 2 and any(map(str.isdigit, parts[0])):
        behind, noun, _ = split_noun(parts[1], tables)
        if behind is not None:
            return behind, noun, parts[0]
    return None, "", re.sub(r"^(?:the|my|our)\s+", "", whole)


def _is_synonym(said: str, table: Table, tables: Sequence[Table]) -> bool:
    """Whether a word means this collection and no other one."""
    alike = words.same_words(words.stem(said))
    means = [one for one in tables if len(one.noun) == 1 and len(alike) > 1 and words.stem(one.noun[0]) in alike]
    return means == [table]


def is_only_noun(said: str, tables: Sequence[Table]) -> bool:
    """Whether a text names a collection and no record of it, such as `the loan`."""
    table, noun, rest = split_noun(said, tables)
    return table is not None and not rest and not is_plural(noun)


def is_plural(noun: str) -> bool:
    last = noun.split()[-1].lower() if noun else ""
    return words.singular(last) != last
