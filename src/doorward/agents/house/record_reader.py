"""Reads a request as one query over the records of a collection and those that they are linked to."""

from __future__ import annotations

import msgspec

from doorward.agents.house.record_clues import Clue, Scale, record_words
from doorward.agents.house.record_conditions import RecordConditions
from doorward.agents.house.record_fields import META_FIELDS
from doorward.agents.house.record_items import Item
from doorward.agents.house.record_query import Condition, LinkedCondition, Measure, Path, RecordQuery
from doorward.agents.house.words import name_words, same_words, singular, stem

_KINDS = frozenset(("kind", "type", "category", "class", "sort", "method"))


class RecordReading(msgspec.Struct, frozen=True, kw_only=True):
    query: RecordQuery
    explained: frozenset[int]
    score: float
    question: str = ""
    """A question back, if a name is ambiguous."""
    depends: bool = False
    """Whether it names neither the records nor a condition."""


class RecordReader(RecordConditions):
    """Reads a request as a query about one collection."""

    def read(self, preference: float, *, followup: bool = False) -> RecordReading | None:
        """Return the query, or None if the request says nothing about the collection. A follow-up need not name it."""
        for at, item in enumerate(self.items):
            self._interpret(at, item)
        self._read_categories()
        measure = self._choose_measure()
        if measure is None:
            return None
        of = self._measured(measure) or (self.summed if measure == "rank" else ())
        if measure in ("sum", "avg", "max", "min") and not of:
            return None
        query = RecordQuery(
            collection=self.target,
            conditions=tuple(self._merged()),
            linked=tuple(
                LinkedCondition(*key, tuple(conditions), key in self.not_linked)
                for key, conditions in self.linked.items()
            ),
            measure=measure,
            of=of,
            group=self.group,
            order=self.order,
            descending=self.descending,
            limit=self.limit,
            ranked_by=self.ranked_by,
        )
        for item in self.limits:
            if query.order or query.ranked_by[0]:
                self._explain(item)
        for at, item in self.verbs:
            if self._is_light_verb(at, query):
                self._explain(item)
        reached = self._reached(query)
        for collection, item in self.pending:
            if collection in reached:
                self._explain(item)
        if (self._says_nothing(query) and not followup) or self._contradicts(query):
            return None
        score = 0.9 * preference - 0.1 * self.cost
        depends = self.target not in self.mentioned and not query.conditions and not query.linked
        return RecordReading(
            query=query,
            explained=frozenset(self.explained),
            score=score,
            question=self.question,
            depends=depends,
        )

    def _read_categories(self) -> None:
        """Explain nouns such as `tier` beside a value, and take `bill` for the only number of the records."""
        valued = {place for item in self.items if self._is_enum_value(item) for place in (item.first - 1, item.behind)}
        categories, amounts = record_words().categories.split(), record_words().amounts.split()
        known = {each for one in amounts for each in same_words(stem(one))}
        numbers = [one.name for one in self.profile.fields if one.kind == "number" and one.name not in META_FIELDS]
        if not any({stem(word) for word in name_words(one)} & known for one in numbers):
            numbers = []
        for place, token in enumerate(self.request.tokens):
            if place in self.explained:
                continue
            word = singular(token.lower)
            if word in categories and (place in valued or (place + 1 in valued and self._is_stop(place + 1))):
                self.explained.add(place)
            elif word in _KINDS and (clue := self._group_word(place)) is not None and len(self._enums()) == 1:
                self.group = (self._enums()[0],)
                self.explained.update((place, *range(clue.first, clue.behind)))
            elif (token.lower == "late" and self._is_fine(place + 1)) or self._is_counted_unit(token.lower):
                self.explained.add(place)
            elif token.lower in amounts and len(numbers) == 1 and self._has("sum", "avg", "max", "min", "superlative"):
                if (numbers[0],) not in self.asked:
                    self.asked.append((numbers[0],))
                self.explained.add(place)

    def _is_counted_unit(self, word: str) -> bool:
        """Whether a word is what a field counts: `how many people fit` asks for the capacity."""
        fields = {
            stem(one) for unit in record_words().units if word in unit.words.split() for one in unit.fields.split()
        }
        asked = {stem(one) for path in self.asked for one in name_words(path[-1])}
        return bool(fields & asked) and self._has("count")

    def _is_light_verb(self, at: int, query: RecordQuery) -> bool:
        """Whether a verb adds nothing: it stands with a period or `when`, or says how linked records belong together.

        Before the noun it would be a condition, as in `paid orders`.
        """
        behind = self.items[at + 1] if at + 1 < len(self.items) else None
        if behind is not None and behind.first == self.items[at].behind and behind.of_kind("collection"):
            return False
        dated = sum(one.dates for one in self.profile.fields)
        if query.order and self._scaled(Scale(frozenset(("@date",)), up=True))[:1] == [query.order[0]]:
            return dated <= 1
        if self._has("when") or any(one.span >= 0 for one in self.items[at + 1 : at + 3]):
            return dated <= 1 or any(len(one.path) == 1 and one.op == "days" for one in query.conditions)
        valued = any(one.of_kind("value") for one in self.items[at + 1 : at + 3])
        return bool(query.linked) or valued or any(len(one.path) > 1 for one in query.conditions)

    def _reached(self, query: RecordQuery) -> set[str]:
        """Return the collections that a query leads to."""
        found: set[str] = set()
        paths = [(self.target, path) for path in (*(one.path for one in query.conditions), query.of, query.group)]
        for linked in query.linked:
            found.add(linked.collection)
            paths += [(linked.collection, one.path) for one in linked.conditions]
        for collection, path in paths:
            for link in path:
                field = self.lexicon.field(collection, link)
                if field is not None and field.links:
                    found.add(field.links)
                    collection = field.links
        return found

    def _contradicts(self, query: RecordQuery) -> bool:
        """Whether a flag would have to be yes and no, or figures of one thing would be summed up for another."""
        if query.measure in ("sum", "avg") and query.linked and self.target not in self.mentioned:
            return True
        return any(one.op == "in" and isinstance(one.value[0], bool) for one in query.conditions)

    def _says_nothing(self, query: RecordQuery) -> bool:
        """Whether nothing in the request names the collection: neither its noun, nor a field or value of it."""
        return (
            self.target not in self.mentioned
            and not query.conditions
            and not query.of
            and not query.linked
            and not query.ranked_by[0]
        )

    def _read_clue(self, at: int, item: Item) -> None:
        clue = item.clues[0]
        if (top := item.is_clue("superlative")) is not None:
            self._read_superlative(at, item, top)
        elif item.is_clue("overdue") and not self._is_field_behind(at):
            self._read_overdue(item)
        elif clue.name == "verb":
            self.verbs.append((at, item))
        elif clue.name in ("up", "down"):
            self.descending = clue.name == "up"
            self._explain(item)
        elif clue.name == "limit":
            self.limit = clue.number
            self.limits.append(item)
        elif clue.name in (
            "count",
            "sum",
            "avg",
            "max",
            "min",
            "exists",
            "when",
            "distinct",
            "often",
            "filler",
            "with",
        ):
            self._explain(item)
        elif clue.name in ("most", "least"):
            self._read_most(at, item, clue)
        elif clue.name == "spent":
            self._read_spent(item)
        elif clue.name == "contains":
            self._read_topic(at, item, clue)
        elif clue.name == "either" and self._joins_values(at):
            self._explain(item)

    def _read_superlative(self, at: int, item: Item, clue: Clue) -> None:
        behind = self.items[at + 1] if at + 1 < len(self.items) else None
        nouns = behind.of_kind("collection") if behind is not None and behind.first == item.behind else []
        if nouns and max(nouns, key=lambda one: one.weight).collection != self.target:
            return
        named = None
        if at + 1 < len(self.items) and self.items[at + 1].of_kind("field"):
            named = self._field_path(self.items[at + 1])
            if named is not None and any(one.weight > named[2] for one in self.items[at + 1].of_kind("collection")):
                named = None
        generic = any("@number" in one.fields for one in clue.scales)
        if named is not None and (named[1].kind == "number" or named[1].dates) and generic:
            self._rank_or_measure(at, item, clue, named[0], clue.scales[0].up)
            return
        for scale in clue.scales:
            fields = self._scaled(scale)
            if not fields:
                continue
            if len(fields) > 1 and "@number" in scale.fields:
                return
            if len(fields) > 1:
                self.cost += 0.3
            self.order, self.descending = (fields[0],), scale.up
            self.limit = clue.number or self.limit or 1
            self._explain(item)
            if "@next" in scale.fields:
                today = next(iter(self.context.with_text("since today").spans))
                self._add(Condition(self.order, "days", today), item)
            return

    def _rank_or_measure(self, at: int, item: Item, clue: Clue, path: Path, up: bool) -> None:
        """`products with the highest price` ranks records, `the highest price of the products` measures the field."""
        self._explain(item)
        head = self.mentioned.get(self.target)
        listed = clue.number or self.limit or (head is not None and head.first < item.first)
        if listed:
            self.order, self.descending, self.limit = path, up, clue.number or self.limit or 1
        else:
            self.measure = "max" if up else "min"
            self._ask(path, self.items[at + 1])

    def _read_spent(self, item: Item) -> None:
        """Read `who spent the most`: by the sum of an amount of linked records, if only one collection has one."""
        ways = [(key, money) for key in self.referring if (money := self._money_field(key[0]))]
        if len(ways) == 1 and not self._money_field(self.target):
            self.ranked_by, self.summed, self.descending = ways[0][0], (ways[0][1],), True
            self._explain(item)

    def _read_most(self, at: int, item: Item, clue: Clue) -> None:
        """Read `the most memory`; `the most loans` is read with the noun."""
        if at + 1 >= len(self.items):
            before = self._field_path(self.items[at - 1]) if at else None
            if before is not None and before[1].kind == "number" and before[0] in self.asked:
                self.order, self.descending, self.limit = before[0], clue.name == "most", 1
                self._explain(item)
            elif clue.name == "most" and len(self.linked) == 1:
                self.ranked_by = next(iter(self.linked))
                self.linked.clear()
                self.descending = True
                self._explain(item)
            return
        behind = self.items[at + 1]
        named = self._field_path(behind) if behind.of_kind("field") else None
        further = self.items[at + 2] if at + 2 < len(self.items) else None
        counted = behind.of_kind("value") and further is not None and further.of_kind("collection")
        if behind.of_kind("collection") or counted:
            self._explain(item)
            self.limit = self.limit or 1
        elif named is not None and named[1].kind == "number":
            self._explain(item)
            self.order, self.descending, self.limit = named[0], clue.name == "most", self.limit or 1

    def _choose_measure(self) -> Measure | None:
        numeric = [path for path in self.asked if self._is_number(path)]
        if self.ranked_by[0]:
            self.limit = self.limit or 1
            return "rank"
        if self._has("often") and len({key[0] for key in self.referring}) == 1 and not self.ranked_by[0]:
            self.ranked_by, self.descending, self.limit = self.referring[0], True, self.limit or 1
            return "rank"
        if self.measure in ("max", "min"):
            return self.measure
        for clue in ("avg", "max", "min"):
            if self._has(clue) and numeric:
                return clue
        money = self._money_field(self.target) if self._has("sum") and self.target in self.mentioned else ""
        if money and not numeric and not self.asked and not self._has("count", "avg", "max", "min"):
            self.asked = numeric = [(money,)]
        if self._has("sum") and numeric and not self._has("count") and not self.order:
            return "sum"
        if self._has("avg", "max", "min") or (self._has("sum") and not self.order and not self._has("count")):
            return None
        if self.group:
            return "groups"
        if self._has("count") and self._names_one_record() and len(self.asked) == len(numeric) == 1:
            return "list"
        if self._has("count") and self._names_one_record():
            phone = self._phone()
            if phone is None or any(one != phone for one in self.asked):
                return None
            self.asked.append(phone)
            return "list"
        if self._has("count"):
            return None if numeric else "count"
        if self._has("distinct") and len(self.asked) == 1:
            return "values"
        if self._has("either") and self._compares():
            return "compare"
        if self._asks_whether() and not self.asked:
            return "exists"
        if self._has("when") and not self.asked:
            date = self._only_date()
            if date is None:
                return None
            self.asked.append(date)
        return "list"

    def _asks_whether(self) -> bool:
        """Whether the request asks if there are any: the word stands before everything that it is about."""
        found = next((item for item in self.items if item.is_clue("exists") is not None), None)
        named = next((item.first for item in self.items if item.matches), len(self.request))
        listed = any(one.lower in ("which", "who", "list", "names", "show") for one in self.request.tokens[:named])
        return found is not None and found.first < named and not listed

    def _names_one_record(self) -> bool:
        """Whether the records are one, by its name: `the number of Anna Berg` counts nothing."""
        label = (self.profile.label,)
        return self.target not in self.mentioned and any(
            one.path == label and one.op == "eq" for one in self.conditions
        )

    def _compares(self) -> bool:
        """Whether `more A or B` compares two values of one field."""
        merged = self._merged()
        several = [one for one in merged if one.op == "in" and len(one.value) == 2]
        more = {place for place, one in enumerate(self.request.tokens) if one.lower in ("more", "or")}
        if len(several) == 1 and more and "more" in self.request.lower.split():
            self.group = self._labelled(several[0].path)
            self.explained.update(more)
            self.limit = 2
            return True
        return False

    def _measured(self, measure: Measure) -> Path:
        """Return the field that is measured or asked for. Words of fields that are neither stay unexplained."""
        if measure in ("sum", "avg", "max", "min"):
            chosen = next((path for path in self.asked if self._is_number(path)), ())
        elif measure in ("list", "values"):
            chosen = self.asked[0] if self.asked else ()
        else:
            chosen = ()
        for path, places in self.asked_places.items():
            if path != chosen:
                self.explained.difference_update(places)
        return chosen
