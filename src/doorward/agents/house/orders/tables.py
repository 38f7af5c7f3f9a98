"""Collections as an order names them: their nouns, fields and values."""

from __future__ import annotations

import re
from typing import Any

from doorward.agents.house import sentences, words
from doorward.agents.house.plan import Unknown
from doorward.agents.house.record_fields import META_FIELDS
from doorward.agents.house.record_query import nouns
from doorward.agents.house.record_reader import RecordReader
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.store.collection_profiles import CollectionProfile

_UNIT = re.compile(r"^[€$£]\s*|\s*(?:[€$£]|euros?|eur|dollars?|usd|pounds?|pieces|pcs)$", re.IGNORECASE)
_MAX_VALUES = 20
_ARTICLES = re.compile(r"^(?:(?:the|my|our|this|that|a|an|record|entry)\s+)+", re.IGNORECASE)


class Table:
    """A collection whose records people change."""

    def __init__(self, context: RequestContext, profile: CollectionProfile) -> None:
        self.context = context
        self.profile = profile
        self.name, self.key, self.label = profile.name, profile.key, profile.label
        self.one, self.many = nouns(profile.name)
        self.fields = {one.name: one for one in profile.fields if one.name not in META_FIELDS | {profile.key}}

    def find_field(self, said: str) -> str:
        """Return the one field that these words name; empty if there is none, or more than one."""
        exact = [one for one in self.fields if words.name_words(one) == words.name_words(said)]
        if exact:
            return exact[0]
        request = Request(said)
        found: dict[str, float] = {}
        for one in self.context.lexicon.matches(request):
            known = one.meaning.collection == self.name and one.meaning.field in self.fields
            if known and one.meaning.kind == "field" and request.meaningful <= one.places:
                found[one.meaning.field] = max(one.meaning.weight, found.get(one.meaning.field, 0.0))
        best = [one for one, weight in found.items() if weight == max(found.values())]
        return best[0] if len(best) == 1 else ""

    def find_value(self, said: str) -> tuple[str, Any] | None:
        """Return the one field that holds a value, or is a yes or no of that name, and the value."""
        about = self.context.with_text(said)
        reading = RecordReader(about, self.name).read(1.0, followup=True)
        conditions = reading.query.conditions if reading is not None and not reading.query.linked else ()
        if reading is not None and len(conditions) == 1 and about.request.meaningful <= reading.explained:
            path, value = conditions[0].path, conditions[0].value
            whole = isinstance(value, bool) or (isinstance(value, str) and value.lower() == said.lower())
            if whole and len(path) == 1 and conditions[0].op == "eq" and not reading.question:
                return path[0], value
        flag = self.find_field(said)
        return (flag, True) if flag and self.fields[flag].kind == "boolean" else None

    def coerce(self, name: str, text: str) -> Any:
        """Return a value as its field takes it. Raises Unknown."""
        field, text = self.fields[name], text.strip()
        if field.kind == "number":
            bare = _UNIT.sub("", text).replace(",", "")
            if not re.fullmatch(r"[+-]?\d+(?:\.\d+)?", bare):
                raise Unknown(f"I did nothing: {sentences.name(text)} is no number, and {name} holds numbers.")
            return float(bare) if "." in bare else int(bare)
        if field.kind == "boolean":
            if text.lower() not in words.YES | words.NO:
                raise Unknown(f"I did nothing: {name} is yes or no, and {sentences.name(text)} is neither.")
            return text.lower() in words.YES
        if field.kind == "time" or field.dates:
            about = self.context.with_text(text)
            days = [one for one in about.spans if len(one.places) == len(about.request)]
            return days[0].first_day if len(days) == 1 and days[0].first_day == days[0].last_day else text
        known = [one for one in field.values if isinstance(one, str)]
        same = [one for one in known if one.lower() == text.lower()]
        if len(same) == 1:
            return same[0]
        near = [one for one in known if words.is_one_slip_away(text.lower(), one.lower())]
        if near and field.complete and len(field.values) <= _MAX_VALUES:
            raise Unknown(f"I did nothing: I do not know whether you mean {sentences.name(near[0])}. Say it again.")
        return text

    def to_id(self, text: str) -> str | int:
        kind = next((one.kind for one in self.profile.fields if one.name == self.key), "text")
        return int(text) if text.isdigit() and kind == "number" else text


class Tables:
    """The collections whose records can be changed."""

    def __init__(self, context: RequestContext) -> None:
        self.context = context
        self.all = [Table(context, one) for one in context.lexicon.collections.values()]
        self.looked: set[str] = set()
        """The collections in which a record was looked for, by their nouns."""

    def named_in(self, said: str) -> list[Table]:
        """Return the collections whose nouns stand in a text, such as `Anna Berg's loan`."""
        matches = self.context.lexicon.matches(Request(said))
        named = {one.meaning.collection for one in matches if one.meaning.kind == "collection"}
        return [one for one in self.all if one.name in named]

    def split_noun(self, said: str) -> tuple[Table | None, str, str]:
        """Return the collection that a text begins with, the noun as it was said, and the rest of the text."""
        bare = _ARTICLES.sub("", said.strip())
        request = Request(bare)
        matches = [one for one in self.context.lexicon.matches(request) if one.meaning.kind == "collection"]
        at_start = [one for one in matches if one.first == 0]
        if not at_start and len(request) == 2 and any(map(str.isdigit, request.tokens[0].text)):
            at_start = [one for one in matches if one.first == 1]  # As in `the o-5 order`.
        best = max(at_start, key=lambda one: (one.behind, one.meaning.weight), default=None)
        if best is None:
            return None, "", re.sub(r"^(?:the|my|our)\s+", "", said.strip())
        start, end = request.tokens[best.first].start, request.tokens[best.behind - 1].end
        table = next(one for one in self.all if one.name == best.meaning.collection)
        return table, bare[start:end], f"{bare[:start]}{bare[end:]}".strip(" ,:")

    def is_noun(self, said: str) -> bool:
        """Whether a text names a collection and nothing else."""
        table, _, rest = self.split_noun(said)
        return table is not None and not rest

    def is_only_noun(self, said: str) -> bool:
        """Whether a text names a collection and no record of it, such as `the loan`."""
        return self.is_noun(said) and not is_plural(self.split_noun(said)[1])


def is_plural(noun: str) -> bool:
    last = noun.split()[-1].lower() if noun else ""
    return words.singular(last) != last
