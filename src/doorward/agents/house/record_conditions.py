"""The conditions that the words of a request put on records."""

from __future__ import annotations

from abc import ABC, abstractmethod

from doorward.agents.house.lexicon import Meaning
from doorward.agents.house.record_clues import Clue, Comparison, Scale, record_words
from doorward.agents.house.record_dates import RecordDates
from doorward.agents.house.record_items import Item
from doorward.agents.house.record_links import paths_to
from doorward.agents.house.record_query import Condition, Measure, Path
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import field_words, in_a_row, name
from doorward.agents.house.words import name_words, stem

_STATUS = frozenset(("status", "state"))


class RecordConditions(RecordDates, ABC):
    """Reads the values, nouns, fields, periods and comparisons of a request."""

    def __init__(self, context: RequestContext, target: str) -> None:
        super().__init__(context, target)
        self.not_linked: set[tuple[str, str]] = set()
        self.asked: list[Path] = []
        self.asked_places: dict[Path, range] = {}
        self.group: Path = ()
        self.order: Path = ()
        self.descending = False
        self.limit = 0
        self.ranked_by = ("", "")
        self.summed: Path = ()
        self.limits: list[Item] = []
        self.verbs: list[tuple[int, Item]] = []
        self.pending: list[tuple[str, Item]] = []
        """Nouns of linked collections, which count only if the query leads there."""
        self.measure: Measure | None = None

    @abstractmethod
    def _read_clue(self, at: int, item: Item) -> None:
        """Read a word of the grammar."""

    def _ask(self, path: Path, item: Item) -> None:
        """Note a field that is asked for; for a link, the label of its target."""
        path = self._labelled(path)
        self.asked.append(path)
        self.asked_places[path] = range(item.first, item.behind)
        self._explain(item)

    def _is_negated(self, at: int) -> bool:
        """Whether an item is negated: by a word before it, or by two before with a noun or filler between."""
        clue = self._clue_before(at, "not", "without")
        if clue is None and at > 1 and self.items[at - 1].is_clue("filler", "with") is not None:
            clue = self._clue_before(at - 1, "not", "without")
        if clue is not None:
            self.explained.update(range(clue.first, clue.behind))
        return clue is not None

    def _interpret(self, at: int, item: Item) -> None:
        self._read_item(at, item)
        if item.matches and item.clues and not self.explained.intersection(range(item.first, item.behind)):
            self._read_clue(at, item)

    def _read_item(self, at: int, item: Item) -> None:
        if item.span >= 0:
            self._read_span(at, item)
        elif item.comparison is not None:
            self._read_comparison(at, item, item.comparison)
        elif item.of_kind("value") and not self._prefers_noun(item):
            self._read_value(at, item)
        elif item.is_clue("overdue") and self._overdue_fields() is not None and not self._is_field_behind(at):
            self._read_overdue(item)
        elif item.of_kind("collection") and (self._field_path(item) is None or self._prefers_noun(item)):
            self._read_noun(at, item)
        elif item.state is not None and not self._is_date_with_span(at, item):
            field, state = item.state
            self._add(Condition((field,), "eq", state != self._is_negated(at)), item)
        elif item.of_kind("field"):
            self._read_field(at, item)
        elif item.clues:
            self._read_clue(at, item)

    def _is_verb_of_span(self, at: int, item: Item) -> bool:
        """Whether an inflected word such as `opened` tells when, and not that the status is `open`."""
        word = self.request.tokens[item.first].lower
        spelt = any(str(one.value).lower() == word for one in item.of_kind("value"))
        return (
            not spelt and item.is_clue("verb") is not None and any(one.span >= 0 for one in self.items[at + 1 : at + 3])
        )

    def _read_value(self, at: int, item: Item) -> None:
        if self._is_verb_of_span(at, item):
            self.verbs.append((at, item))
            return
        meanings = item.of_kind("value")
        best: dict[tuple[str, Path], list[Meaning]] = {}
        for one in meanings:
            how = self._reach(one)
            if how is not None:
                best.setdefault((how[0], (*how[1], one.field)), []).append(one)
        if not best:
            return
        if self._names_link(at, item):
            return
        costs = {key: self._value_cost(key, best[key], at) for key in best}
        direction, path = min(costs, key=lambda key: costs[key])
        chosen = best[direction, path]
        ties = [key[1] for key in costs if costs[key] == costs[direction, path] and key[1][:-1] == path[:-1]]
        if len(ties) > 1 and not self.question:
            fields = in_a_row([field_words(one[-1]) for one in ties], "or")
            self.question = f"Which do you mean: is {name(str(chosen[0].value))} the {fields}?"
        foreign = direction == "own" and len(path) > 1 and path[-1] in _STATUS
        if foreign and chosen[0].collection not in self._named_collections():
            return
        top = max(one.weight for one in chosen)
        values = list(dict.fromkeys(one.value for one in chosen if one.weight == top))
        if len(values) > 1:
            if top >= 0.9:
                return
            self.question = f"Which one do you mean: {in_a_row([name(str(one)) for one in values[:6]], 'or')}?"
        negated = self._is_negated(at)
        condition = Condition(path if direction == "own" else path[2:], "ne" if negated else "eq", values[0])
        self.cost += 1.0 - top
        self.explained.update(range(item.first, item.behind))
        if direction == "back" and negated:
            self.not_linked.add((path[0], path[1]))
            condition = Condition(path[2:], "eq", values[0])
        if direction == "own":
            self._add(condition, item, cost=0.6 * (len(path) - 1))
        else:
            self._link(path[0], path[1], condition)
            self.cost += 1.0

    def _value_cost(self, key: tuple[str, Path], meanings: list[Meaning], at: int) -> float:
        how, path = key
        cost = (len(path) - 1) * 0.2 + (1.0 if how == "back" else 0.0) + (1.0 - max(one.weight for one in meanings))
        for near in self.items[max(0, at - 2) : at + 3]:
            if any(
                one.field == meanings[0].field and one.collection == meanings[0].collection
                for one in near.of_kind("field")
            ):
                cost -= 0.5
            if any(one.collection == meanings[0].collection for one in near.of_kind("collection")):
                cost -= 0.3
        before = {one.lower for one in self.request.tokens[max(0, self.items[at].first - 2) : self.items[at].first]}
        stems = {stem(word) for word in name_words(path[-1])}
        for way in record_words().directions:
            if before & set(way.words.split()) and stems & {stem(one) for one in way.fields.split()}:
                cost -= 0.5
        return cost

    def _named_collections(self) -> set[str]:
        return {one.collection for item in self.items for one in item.of_kind("collection")}

    def _names_link(self, at: int, item: Item) -> bool:
        """Whether a word that is a value names the link to what stands beside it: `the lead in Saltwater`."""
        links = {(one.collection, one.field) for one in item.of_kind("field")} & set(self.referring)
        for other in self.items[at + 1 :] if links else ():
            ways = [how[1][:2] for one in other.of_kind("value") if (how := self._reach(one)) and how[0] == "back"]
            if links & set(ways):
                self._explain(item)
                return True
        return False

    def _read_noun(self, at: int, item: Item) -> None:
        best = max(item.of_kind("collection"), key=lambda one: one.weight + 0.05 * (one.collection == self.target))
        collection = best.collection
        chains = paths_to(self.lexicon, self.target, collection)
        backs = [key for key in self.referring if key[0] == collection]
        grouped = self._clue_before(at, "group") is not None and bool(chains)
        if collection == self.target or (grouped and self._is_field_of(at + 1, collection)):
            self._explain(item)
        elif grouped and not self.group and not self._is_agent(at):
            self.group = self._labelled(chains[0])
            self._explain(item, self._clue_before(at, "group"))
        elif backs and self._ranks(at):
            self.ranked_by = backs[0]
            self.descending = not any(one.is_clue("least") for one in self.items)
            self._explain(item)
        elif chains and self._is_asked_noun(at):
            self._ask(chains[0], item)
        elif chains and at + 1 < len(self.items) and self.items[at + 1].state is not None:
            self._explain(item)
        elif chains:
            self.pending.append((collection, item))
        elif backs and best.weight < 1 and self.request.tokens[item.behind - 1].lower.endswith("ing"):
            return  # A verb, as in `the oldest ship that is still sailing`.
        elif backs:
            if self._is_negated(at):
                self.not_linked.add(backs[0])
            self._link(*backs[0], None)
            self._explain(item)
        elif any(paths_to(self.lexicon, key[0], collection) for key in self.referring):
            self.pending.append((collection, item))
        else:
            return
        self.mentioned.setdefault(collection, item)

    def _read_field(self, at: int, item: Item) -> None:
        found = self._field_path(item)
        if found is None:
            self.pending += [(one.collection, item) for one in item.of_kind("field") if self._is_date(one)]
            return
        path, field, weight = found
        self.cost += (1.0 - weight) + 0.8 * (len(path) - 1)
        if field.links and self._names_linked(at, field):
            self._explain(item)
        elif (clue := self._clue_before(at, "sort")) is not None:
            self.order = path
            self._explain(item, clue)
        elif (clue := self._group_before(at)) is not None and field.kind not in ("number", "json"):
            self.group = self._labelled(path)
            self._explain(item, clue)
        elif (clue := self._clue_before(at, "without")) is not None and field.kind != "boolean":
            self._add(Condition(path, "none" if field.kind == "number" else "missing"), item)
            self._explain(item, clue)
        elif field.kind == "number" and (place := self._number_behind(item)):
            self._add(Condition(path, "eq", _whole(self.request.tokens[place].number or 0)), item)
            self.explained.add(place)
        elif field.kind == "number" and self._clue_before(at, "group") and self._has("superlative", "limit"):
            top = next((one for each in self.items if (one := each.is_clue("superlative"))), None)
            self.order, self.descending = path, top.scales[0].up if top else True
            self.limit = (top.number if top else 0) or self.limit or 1
            self._explain(item, self._clue_before(at, "group"))
            if top is not None:
                self.explained.update(range(top.first, top.behind))
        elif field.kind == "boolean" and not self._is_asked_field(at):
            self._add(Condition(path, "eq", not self._is_negated(at)), item)
        elif self._names_value(at, field) or self._names_span(at, field):
            self._explain(item)
        elif field.dates and self.request.tokens[item.behind - 1].lower in ("expired", "lapsed"):
            before = next(iter(self.context.with_text("before today").spans))
            self._add(Condition(path, "days", before), item)
        elif (clue := self._contains_behind(at)) is not None and field.kind in ("text", "any"):
            self._read_contains(at, path, item, clue)
        elif self._names_comparison(at):
            self._explain(item)
        else:
            self._ask(path, item)

    def _read_contains(self, at: int, path: Path, item: Item, clue: Clue) -> None:
        """Read `whose subject contains Refund`."""
        if clue.behind < len(self.request):
            token = self.request.tokens[clue.behind]
            self._add(Condition(path, "contains", token.text), item)
            self.explained.update(range(clue.first, clue.behind + 1))

    def _read_comparison(self, at: int, item: Item, found: Comparison) -> None:
        for near in (*self.items[at + 1 : at + 2], *reversed(self.items[max(0, at - 1) : at])):
            named = self._field_path(near) if near.of_kind("field") else None
            if named is not None and named[1].kind == "number":
                self._compare(item, found, named[0], found.scales[0] if found.scales else Scale(frozenset(), up=True))
                self._explain(near)
                return
        candidates: dict[Path, Scale] = {}
        for scale in found.scales or (Scale(frozenset(("@number",)), up=True),):
            for field in self._scaled(scale) if "@date" not in scale.fields else ():
                candidates.setdefault((field,), scale)
        if len(candidates) == 1:
            path, scale = next(iter(candidates.items()))
            self._compare(item, found, path, scale)
        elif not found.scales and not self.request.lower.endswith(" of"):
            money = self._scaled(
                Scale(frozenset(stem(one) for one in ("price", "cost", "amount", "total", "fee")), up=True)
            )
            if len(money) == 1:
                self.cost += 0.3
                self._compare(item, found, (money[0],), Scale(frozenset(), up=True))

    def _compare(self, item: Item, found: Comparison, path: Path, scale: Scale) -> None:
        op = found.op or ("gt" if scale.up else "lt")
        value = (_whole(found.value), _whole(found.other)) if op == "between" else _whole(found.value)
        self._add(Condition(path, op, value), item)

    def _read_topic(self, at: int, item: Item, clue: Clue) -> None:
        """Read `tickets about a refund`: a word in the text that people know the records by."""
        place = clue.behind
        while place < len(self.request) and self.request.tokens[place].is_stop:
            place += 1
        behind = self.items[at + 1] if at + 1 < len(self.items) else None
        taken = behind is not None and behind.first <= place
        if taken or place >= len(self.request) or not self.profile.label or self.target in self.lexicon.people:
            return
        self._add(Condition((self.profile.label,), "contains", self.request.tokens[place].text), item)
        self.explained.add(place)

    def _read_overdue(self, item: Item) -> None:
        found = self._overdue_fields()
        if found is None:
            return
        if self._has("when"):
            self._ask((found[0],), item)
            return
        before = next(iter(self.context.with_text("before today").spans))
        self._add(Condition((found[0],), "days", before), item)
        for flag in found[1]:
            self._add(Condition((flag,), "eq", False), item)

    def _merged(self) -> list[Condition]:
        """Join several values of one field: one of them must hold."""
        merged: list[Condition] = []
        for one in self.conditions:
            same = next(
                (k for k, other in enumerate(merged) if other.path == one.path and one.op == "eq" == other.op), -1
            )
            several = next((k for k, other in enumerate(merged) if other.path == one.path and other.op == "in"), -1)
            if same >= 0:
                merged[same] = Condition(one.path, "in", (merged[same].value, one.value))
            elif several >= 0 and one.op == "eq":
                merged[several] = Condition(one.path, "in", (*merged[several].value, one.value))
            else:
                merged.append(one)
        return merged


def _whole(number: float) -> float | int:
    """Return a number as people write it: 100 and not 100.0."""
    return int(number) if float(number).is_integer() else number
