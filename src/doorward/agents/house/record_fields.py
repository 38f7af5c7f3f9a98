"""The fields that the words of a request mean, and the words around them."""

from __future__ import annotations

from doorward.agents.house.lexicon import Meaning
from doorward.agents.house.record_clues import Scale, record_words, state_of
from doorward.agents.house.record_items import Item, RecordItems
from doorward.agents.house.record_query import Path
from doorward.agents.house.words import name_words, plural, same_words, singular, stem
from doorward.store.collection_profiles import FieldProfile

META_FIELDS = frozenset(("id", "version", "createdAt", "updatedAt", "createdBy", "updatedBy"))
_FIRST_YEAR = 1000
_YEARS = frozenset(stem(one) for one in ("year", "built", "founded", "born", "vintage"))


class RecordFields(RecordItems):
    """Finds fields by the words that name them, by their kind, and by the scale of an adjective."""

    def _field_path(self, item: Item) -> tuple[Path, FieldProfile, float] | None:
        """Return the field that words mean, by the shortest way to it."""
        ways = []
        for one in item.of_kind("field"):
            if one.field in META_FIELDS and one.field != "id":
                continue
            how = self._reach(one)
            field = self.lexicon.field(one.collection, one.field)
            if how is None or how[0] != "own" or field is None:
                continue
            if how[1] and one.weight < 0.8 and field.dates:
                continue
            ways.append(((1.0 - one.weight) + 0.25 * len(how[1]), (*how[1], one.field), field, one.weight))
        owner = self._owner_behind(item) or self._owner_before(item)
        ways = [way for way in ways if self._collection_of(way[1]) == owner] or ways
        if not ways:
            return None
        ways.sort(key=lambda way: way[0])
        return ways[0][1:]

    def _is_date(self, meaning: Meaning) -> bool:
        field = self.lexicon.field(meaning.collection, meaning.field)
        return field is not None and field.dates

    def _owner_behind(self, item: Item) -> str:
        """Return the collection of `level of the member`; empty if no noun follows with `of`."""
        behind = next((one for one in self.items if one.first >= item.behind), None)
        if behind is None or not behind.of_kind("collection"):
            return ""
        between = [one.lower for one in self.request.tokens[item.behind : behind.first]]
        return max(behind.of_kind("collection"), key=lambda one: one.weight).collection if between[:1] == ["of"] else ""

    def _owner_before(self, item: Item) -> str:
        """Return the collection of the noun right before a field: `member level`."""
        before = next((one for one in self.items if one.behind == item.first), None)
        nouns = before.of_kind("collection") if before is not None and not before.of_kind("value") else []
        return max(nouns, key=lambda one: one.weight).collection if nouns else ""

    def _collection_of(self, path: Path) -> str:
        collection = self.target
        for link in path[:-1]:
            field = self.lexicon.field(collection, link)
            collection = field.links if field else collection
        return collection

    def _labelled(self, path: Path) -> Path:
        field = self.lexicon.field(self._collection_of(path), path[-1])
        if field is None or field.links not in self.lexicon.collections:
            return path
        target = self.lexicon.profile(field.links)
        return (*path, target.label) if target.label and target.label != field.links_by else path

    def _is_number(self, path: Path) -> bool:
        field = self.lexicon.field(self._collection_of(path), path[-1])
        return field is not None and field.kind == "number"

    def _scaled(self, scale: Scale) -> list[str]:
        """Return the fields of the target that a scale measures."""
        numbers = [one for one in self.profile.fields if one.kind == "number" and one.name not in META_FIELDS]
        if "@number" in scale.fields:
            return [one.name for one in numbers]
        if "@next" in scale.fields:
            dated = sorted((one.name for one in self.profile.fields if one.dates), key=self._is_ahead)
            return dated[:1]
        if "@date" in scale.fields:
            years = [one.name for one in numbers if _YEARS & _stems(one.name) and (one.least or 0) > _FIRST_YEAR]
            days = [one for one in self.profile.fields if one.dates]
            past = years or [one.name for one in days if not self._is_ahead(one.name)]
            return past or ([] if days else [one.name for one in self.profile.fields if one.name == "createdAt"])
        known = {each for one in scale.fields for each in same_words(one)}
        exact = [one.name for one in numbers if {stem(word) for word in name_words(one.name)} & scale.fields]
        return exact or [one.name for one in numbers if {stem(word) for word in name_words(one.name)} & known]

    def _is_ahead(self, field: str) -> bool:
        """Whether a date tells until when something holds or is due."""
        return bool(_stems(field) & {stem(one) for one in record_words().due.split()})

    def _enums(self) -> list[str]:
        """Return the fields of the target with few values that repeat."""
        return [
            one.name
            for one in self.profile.fields
            if one.kind == "text" and one.complete and not one.links and 1 < len(one.values) <= 0.4 * self.profile.count
        ]

    def _is_enum_value(self, item: Item) -> bool:
        """Whether an item is one of the few values of a field."""
        for one in item.of_kind("value"):
            profile, field = self.lexicon.profile(one.collection), self.lexicon.field(one.collection, one.field)
            if field is not None and one.field != profile.label and 1 < len(field.values) <= 0.6 * profile.count:
                return True
        return False

    def _overdue_fields(self) -> tuple[str, list[str]] | None:
        """Return the date until which something is due, and the flag that tells that it is done."""
        due = {each for one in record_words().overdue.split() for each in same_words(stem(one))}
        dates = [one.name for one in self.profile.fields if one.dates and _stems(one.name) & due]
        dates = dates or [one.name for one in self.profile.fields if one.dates and self._is_ahead(one.name)]
        flags = [one.name for one in self.profile.fields if one.kind == "boolean" and self._tells_done(one.name)]
        return (dates[0], flags) if len(dates) == 1 and len(flags) <= 1 else None

    def _tells_done(self, flag: str) -> bool:
        return any(state_of(word, frozenset(_stems(flag))) is False for word in ("outstanding", "open", "missed"))

    def _money_field(self, collection: str) -> str:
        """Return the only field of an amount of money, or else the only price; empty if there are several."""
        fields = [one.name for one in self.lexicon.profile(collection).fields if one.kind == "number"]
        for words in record_words().money.split("|"):
            found = [one for one in fields if _stems(one) & {stem(word) for word in words.split()}]
            if found:
                return found[0] if len(found) == 1 else ""
        return ""

    def _phone(self) -> Path | None:
        known = {stem(one) for one in ("phone", "telephone", "mobile", "cell")}
        found = [one.name for one in self.profile.fields if {stem(word) for word in name_words(one.name)} & known]
        return (found[0],) if len(found) == 1 else None

    def _only_date(self) -> Path | None:
        dated = [one.name for one in self.profile.fields if one.dates]
        return (dated[0],) if len(dated) == 1 else None

    def _is_link_to(self, meaning: Meaning, nouns: list[Meaning]) -> bool:
        """Whether a field is the link to a collection of the same name: `client_id` beside `clients`."""
        field = self.lexicon.field(meaning.collection, meaning.field) if meaning.kind == "field" else None
        return field is not None and any(one.collection == field.links for one in nouns)

    def _prefers_noun(self, item: Item) -> bool:
        """Whether words that name a collection and something else mean the collection."""
        nouns = item.of_kind("collection")
        exact = any(one.weight == 1 for one in item.of_kind("value"))
        if not nouns or (exact and all(one.weight < 1 for one in nouns)):
            return False
        spelt = plural(self.request.tokens[item.behind - 1].lower) == self.request.tokens[item.behind - 1].lower
        least = 0.7 if self.target not in self.mentioned else 1.0 if spelt else 2.0
        if any(one.collection == self.target and one.weight >= least for one in nouns):
            return True
        others = [one for one in (*item.of_kind("field"), *item.of_kind("value")) if not self._is_link_to(one, nouns)]
        return max(one.weight for one in nouns) > max((one.weight for one in others), default=0.0)

    def _names_linked(self, at: int, field: FieldProfile) -> bool:
        """Whether a link is only named beside its target: `loans of the member Anna`."""
        near = self.items[at + 1 : at + 2]
        return any(one.of_kind("value") for one in near)

    def _is_asked_field(self, at: int) -> bool:
        first = self.items[at].first
        return any(one.lower in ("what", "what's", "whats") for one in self.request.tokens[:first]) and not any(
            one.of_kind("collection") for one in self.items
        )

    def _names_value(self, at: int, field: FieldProfile) -> bool:
        """Whether a value of the field stands beside it: `category lighting`, `on the gold tier`."""
        behind = [item for item in self.items[at + 1 : at + 3] if not item.is_clue("group", "filler", "with")]
        near = [*self.items[max(0, at - 1) : at], *behind[:1]]
        return any(one.field == field.name for item in near for one in item.of_kind("value"))

    def _names_span(self, at: int, field: FieldProfile) -> bool:
        if not field.dates and field.kind != "time":
            return False
        near = [*self.items[max(0, at - 2) : at], *self.items[at + 1 : at + 3]]
        return any(one.span >= 0 for one in near)

    def _names_comparison(self, at: int) -> bool:
        near = [*self.items[max(0, at - 1) : at], *self.items[at + 1 : at + 2]]
        return any(one.comparison is not None for one in near)

    def _is_date_with_span(self, at: int, item: Item) -> bool:
        """Whether a word that could be a state names the date of a period: `opened yesterday`."""
        found = self._field_path(item) if item.of_kind("field") else None
        if found is None:
            return False
        return found[1].kind != "boolean" and (not found[1].dates or self._names_span(at, found[1]))

    def _is_agent(self, at: int) -> bool:
        """Whether `by` names who did it: `loans by members`, not `loans by member`."""
        noun = self.request.tokens[self.items[at].behind - 1].lower
        return self.request.tokens[self.items[at].first - 1].lower == "by" and singular(noun) != noun

    def _is_field_of(self, at: int, collection: str) -> bool:
        """Whether the next item is a field of a collection, right behind it."""
        if at >= len(self.items) or self.items[at].first != self.items[at - 1].behind:
            return False
        return any(one.collection == collection for one in self.items[at].of_kind("field"))

    def _ranks(self, at: int) -> bool:
        """Whether records are ranked by how many of these refer to them: `the most loans`, `busiest by visits`."""
        before = self.items[:at]
        return any(one.is_clue("most", "least", "often", "limit") is not None for one in before)

    def _is_asked_noun(self, at: int) -> bool:
        """Whether `which book` asks for the link of the records: `which book was the latest loan about`."""
        first = self.items[at].first
        return any(one.lower in ("which", "what") for one in self.request.tokens[max(0, first - 2) : first])

    def _joins_values(self, at: int) -> bool:
        near = [*self.items[max(0, at - 2) : at], *self.items[at + 1 : at + 3]]
        return sum(bool(one.of_kind("value")) for one in near) >= 2


def _stems(field: str) -> set[str]:
    return {stem(word) for word in name_words(field)}
