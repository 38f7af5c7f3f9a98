"""Reads a request as one query over the records of a collection and those that they are linked to."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from doorward.agents.house.lexicon import Lexicon, Match, Meaning
from doorward.agents.house.record_clues import (
    Clue,
    ClueName,
    Comparison,
    Scale,
    clues_at,
    comparison_at,
    record_words,
    state_of,
)
from doorward.agents.house.record_links import paths_to, referring
from doorward.agents.house.record_query import Condition, LinkedCondition, Measure, Path, RecordQuery
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import in_a_row, name
from doorward.agents.house.words import name_words, same_words, singular, stem
from doorward.store.collection_profiles import FieldProfile

META_FIELDS = frozenset(("id", "version", "createdAt", "updatedAt", "createdBy", "updatedBy"))
_CREATED = frozenset(stem(one) for one in ("created", "added", "made", "opened", "entered", "new", "came"))
_CHANGED = frozenset(stem(one) for one in ("changed", "updated", "modified", "edited", "touched"))
_WHO = ("who", "whose", "whom", "who's", "everybody", "everyone", "anybody", "anyone", "nobody")
_MEASURES = frozenset(
    (
        "total",
        "sum",
        "average",
        "mean",
        "much",
        "highest",
        "lowest",
        "maximum",
        "minimum",
        "biggest",
        "smallest",
        "added",
    )
)
_KINDS = frozenset(("kind", "type", "category", "class", "sort", "method"))
_NEWEST = frozenset(("newest", "latest", "last", "recent", "oldest", "first", "earliest"))
_NEGATING = ("un", "in", "non", "not-")


class RecordReading(msgspec.Struct, frozen=True, kw_only=True):
    query: RecordQuery
    explained: frozenset[int]
    score: float
    question: str = ""
    """A question back, if a name is ambiguous."""


class Item(msgspec.Struct, kw_only=True):
    """A piece of the request: matches of the same words, a clue, a comparison or a period."""

    first: int
    behind: int
    matches: tuple[Match, ...] = ()
    clues: tuple[Clue, ...] = ()
    comparison: Comparison | None = None
    span: int = -1
    state: tuple[str, bool] | None = None
    """A boolean field of the target and what the word says of it."""

    def of_kind(self, kind: str) -> list[Meaning]:
        return [one.meaning for one in self.matches if one.meaning.kind == kind]

    def is_clue(self, *names: ClueName) -> Clue | None:
        return next((one for one in self.clues if one.name in names), None)


def choose_targets(context: RequestContext) -> Iterator[tuple[str, float]]:
    """Return the collections that a request can be about, the likeliest with the highest preference."""
    lexicon, request = context.lexicon, context.request
    matches = lexicon.matches(request)
    nouns = sorted((one for one in matches if one.meaning.kind == "collection"), key=lambda one: one.first)
    heads = [one for one in nouns if not _is_grouped(request, one.first)]
    who = next((at for at, one in enumerate(request.tokens) if one.lower in _WHO), -1)
    seen: dict[str, float] = {}
    if who >= 0 and (not heads or who < heads[0].first):
        for people in lexicon.people:
            named = [each.first for each in heads if each.meaning.collection == people]
            among = any(request.tokens[max(0, at - 1)].lower in ("all", "our", "the") for at in named)
            seen[people] = (1.1 if among else 0.7) if named else 1.2
    if heads:
        first, behind_who = heads[0].first, bool(seen)
        for one in heads:
            if one.first == first:
                share = 0.8 if behind_who else 1.0
                seen[one.meaning.collection] = max(seen.get(one.meaning.collection, 0.0), share * one.meaning.weight)
        for one in heads[1:]:
            before = request.tokens[one.first - 1].lower
            if before in _NEWEST:
                seen[one.meaning.collection] = max(seen.get(one.meaning.collection, 0.0), 1.05 * one.meaning.weight)
    if not heads:
        for one in matches:
            meaning = one.meaning
            if meaning.kind != "collection":
                own = meaning.kind == "value" and meaning.field == lexicon.profile(meaning.collection).label
                linked = lexicon.field(meaning.collection, meaning.field)
                weight = 0.95 if own else 0.9 if meaning.kind == "field" else 0.85
                weight -= 0.1 if meaning.kind == "value" and linked is not None and linked.links else 0.0
                seen[meaning.collection] = max(seen.get(meaning.collection, 0.0), weight * meaning.weight)
        for other, weight in _events_between(lexicon, matches):
            seen[other] = max(seen.get(other, 0.0), weight)
        for one in nouns:
            for other, _ in referring(lexicon, one.meaning.collection):
                seen.setdefault(other, 0.7)
    else:
        # A field that only a linked collection has can make that one the subject: `total fine of gold members`.
        for one in matches if _MEASURES & {token.lower for token in request.tokens} else ():
            if one.meaning.kind == "field":
                seen.setdefault(one.meaning.collection, 0.75 * one.meaning.weight)
    yield from seen.items()


def _events_between(lexicon: Lexicon, matches: list[Match]) -> Iterator[tuple[str, float]]:
    """Return the collections that link the records that are named: a loan links a member and a book."""
    named = {one.meaning.collection for one in matches if one.meaning.kind == "value" and one.meaning.weight > 0.5}
    for one in lexicon.collections.values():
        linked = {field.links for field in one.fields if field.links} & named
        if len(linked) > 1:
            yield one.name, 1.15
        elif linked:
            yield one.name, 0.6


def _is_grouped(request: Request, at: int) -> bool:
    """Whether a noun stands behind a word such as `per`, so that it is not the subject."""
    before = [one.lower for one in request.tokens[max(0, at - 3) : at]]
    return (
        any(word in ("per", "each", "every", "by") for word in before[-2:])
        or before[-2:] == ["of", "the"]
        and ("per" in (one.lower for one in request.tokens[:at]))
    )


def _is_value(match: Match) -> bool:
    return match.meaning.kind == "value" and match.meaning.weight > 0.8


class RecordReader:
    """Reads a request as a query about one collection."""

    def __init__(self, context: RequestContext, target: str) -> None:
        self.context = context
        self.request: Request = context.request
        self.lexicon: Lexicon = context.lexicon
        self.target = target
        self.profile = self.lexicon.profile(target)
        self.referring = referring(self.lexicon, target)
        self.conditions: list[Condition] = []
        self.linked: dict[tuple[str, str], list[Condition]] = {}
        self.not_linked: set[tuple[str, str]] = set()
        self.asked: list[Path] = []
        self.asked_places: dict[Path, range] = {}
        self.group: Path = ()
        self.order: Path = ()
        self.descending = False
        self.limit = 0
        self.ranked_by = ("", "")
        self.explained: set[int] = set()
        self.cost = 0.0
        self.question = ""
        self.mentioned: dict[str, Item] = {}
        self.limits: list[Item] = []
        self.verbs: list[tuple[int, Item]] = []
        self.pending: list[tuple[str, Item]] = []
        """Nouns of linked collections, which count only if the query leads there."""
        self.measure: Measure | None = None

    def read(self, preference: float, *, followup: bool = False) -> RecordReading | None:
        """Return the query, or None if the request says nothing about the collection. A follow-up need not name it."""
        self.items = self._cover()
        for at, item in enumerate(self.items):
            self._interpret(at, item)
        self._read_categories()
        measure = self._choose_measure()
        if measure is None:
            return None
        of = self._measured(measure)
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
        return RecordReading(query=query, explained=frozenset(self.explained), score=score, question=self.question)

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
            elif token.lower == "late" and self._is_fine(place + 1):
                self.explained.add(place)
            elif token.lower in amounts and len(numbers) == 1 and self._has("sum", "avg", "max", "min", "superlative"):
                if (numbers[0],) not in self.asked:
                    self.asked.append((numbers[0],))
                self.explained.add(place)

    def _is_fine(self, place: int) -> bool:
        return place < len(self.request) and self.request.stems[place] in same_words(stem("fine"))

    def _is_stop(self, place: int) -> bool:
        return place < len(self.request) and self.request.tokens[place].is_stop

    def _is_enum_value(self, item: Item) -> bool:
        """Whether an item is one of the few values of a field."""
        for one in item.of_kind("value"):
            profile, field = self.lexicon.profile(one.collection), self.lexicon.field(one.collection, one.field)
            if field is not None and one.field != profile.label and 1 < len(field.values) <= 0.6 * profile.count:
                return True
        return False

    def _group_word(self, place: int) -> Clue | None:
        before = next((one for one in reversed(self.items) if one.behind <= place), None)
        between = self.request.tokens[before.behind : place] if before is not None else ()
        return before.is_clue("group") if before is not None and all(one.is_stop for one in between) else None

    def _enums(self) -> list[str]:
        """Return the fields of the target with few values that repeat."""
        return [
            one.name
            for one in self.profile.fields
            if one.kind == "text" and one.complete and not one.links and 1 < len(one.values) <= 0.4 * self.profile.count
        ]

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

    # The words of the request, cut into items.

    def _cover(self) -> list[Item]:
        matches: dict[int, list[Match]] = {}
        for one in self.lexicon.matches(self.request):
            if self._reach(one.meaning) is not None:
                matches.setdefault(one.first, []).append(one)
        spans = {one.first: number for number, one in enumerate(self.context.spans)}
        items: list[Item] = []
        at = 0
        while at < len(self.request):
            item = self._item_at(at, matches, spans)
            if item is not None:
                items.append(item)
            at = item.behind if item is not None else at + 1
        return items

    def _item_at(self, at: int, matches: dict[int, list[Match]], spans: dict[int, int]) -> Item | None:
        comparison = comparison_at(self.request, at)
        if at in spans:
            span = self.context.spans[spans[at]]
            named = [one for place in range(at, span.behind) for one in matches.get(place, ()) if _is_value(one)]
            if named:
                return Item(first=at, behind=named[0].behind, matches=tuple(named))
            if comparison is None or span.behind >= comparison.behind:
                return Item(first=at, behind=span.behind, span=spans[at])
        clues = clues_at(self.request, at)
        near = matches.get(at, [])
        longest = max((one.behind for one in near), default=at)
        if comparison is not None and comparison.behind > longest:
            return Item(first=at, behind=comparison.behind, comparison=comparison)
        clue_end = clues[0].behind if clues else at
        if near and longest >= clue_end:
            chosen = tuple(one for one in near if one.behind == longest)
            same = tuple(one for one in clues if one.behind == longest)
            if any(one.name in ("not", "without") for one in same) and all(one.meaning.weight < 1 for one in chosen):
                chosen = ()
            state = self._state_at(at) if longest == at + 1 else None
            return Item(first=at, behind=longest, matches=chosen, clues=same, state=state)
        number = self.request.tokens[at].number
        if number and number <= 1_000 and any(one.meaning.kind == "collection" for one in matches.get(at + 1, ())):
            limit = Clue(name="limit", first=at, behind=at + 1, number=int(number))
            return Item(first=at, behind=at + 1, clues=(limit,))
        state = self._state_at(at)
        if state is not None and clue_end <= at + 1:
            return Item(first=at, behind=at + 1, state=state, clues=tuple(clues))
        if clues:
            return Item(first=at, behind=clue_end, clues=tuple(one for one in clues if one.behind == clue_end))
        return None

    def _state_at(self, at: int) -> tuple[str, bool] | None:
        """Return the boolean field that a word such as `open`, `unpaid` or `inactive` speaks of."""
        word = self.request.tokens[at].lower
        if word == "back" and at and self.request.tokens[at - 1].lower == "due":
            return None
        found = []
        for field in self.profile.fields:
            if field.kind != "boolean":
                continue
            stems = frozenset(stem(one) for one in name_words(field.name))
            state = state_of(word, stems)
            if state is not None:
                found.append((field.name, state))
            for prefix in _NEGATING:
                bare = (
                    stem(word.removeprefix(prefix)) if word.startswith(prefix) and len(word) > len(prefix) + 3 else ""
                )
                if bare and stems & same_words(bare):
                    found.append((field.name, False))
        return found[0] if len(set(found)) == 1 else None

    # What an item means for the query.

    def _reach(self, meaning: Meaning) -> tuple[str, Path] | None:
        """Return how the target leads to a meaning: `own` with a path, or `back` with a collection and link."""
        chains = paths_to(self.lexicon, self.target, meaning.collection)
        if chains:
            return "own", chains[0]
        for collection, link in self.referring:
            inner = paths_to(self.lexicon, collection, meaning.collection)
            if inner:
                return "back", (collection, link, *inner[0])
        return None

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

    def _is_date_with_span(self, at: int, item: Item) -> bool:
        """Whether a word that could be a state names the date of a period: `opened yesterday`."""
        found = self._field_path(item) if item.of_kind("field") else None
        if found is None:
            return False
        return found[1].kind != "boolean" and (not found[1].dates or self._names_span(at, found[1]))

    def _prefers_noun(self, item: Item) -> bool:
        """Whether words that name a collection and something else mean the collection."""
        nouns = item.of_kind("collection")
        exact = any(one.weight == 1 for one in item.of_kind("value"))
        if not nouns or (exact and all(one.weight < 1 for one in nouns)):
            return False
        if self.target not in self.mentioned and any(
            one.collection == self.target and one.weight >= 0.7 for one in nouns
        ):
            return True
        others = [one for one in (*item.of_kind("field"), *item.of_kind("value")) if not self._is_link_to(one, nouns)]
        return max(one.weight for one in nouns) > max((one.weight for one in others), default=0.0)

    def _is_link_to(self, meaning: Meaning, nouns: list[Meaning]) -> bool:
        """Whether a field is the link to a collection of the same name: `client_id` beside `clients`."""
        field = self.lexicon.field(meaning.collection, meaning.field) if meaning.kind == "field" else None
        return field is not None and any(one.collection == field.links for one in nouns)

    def _add(self, condition: Condition, item: Item, cost: float = 0.0) -> None:
        if condition not in self.conditions:
            self.conditions.append(condition)
        self.explained.update(range(item.first, item.behind))
        self.cost += cost

    def _clue_before(self, at: int, *names: ClueName) -> Clue | None:
        """Return the clue right before an item; only stop words may stand between."""
        if at == 0:
            return None
        place = at - 1
        while place > 0 and self.items[place].clues and self.items[place].is_clue("filler") is not None:
            place -= 1
        before = self.items[place]
        between = self.request.tokens[before.behind : self.items[place + 1].first]
        return before.is_clue(*names) if all(one.is_stop for one in between) else None

    def _group_before(self, at: int) -> Clue | None:
        """Return a word such as `per` before a field, or before the noun right before it: `per member level`."""
        clue = self._clue_before(at, "group")
        if clue is None and at > 1 and self.items[at - 1].of_kind("collection"):
            clue = self._clue_before(at - 1, "group")
        return clue

    def _is_negated(self, at: int) -> bool:
        """Whether an item is negated: by a word before it, or by two before with a noun or filler between."""
        clue = self._clue_before(at, "not", "without")
        if clue is None and at > 1 and self.items[at - 1].is_clue("filler", "with") is not None:
            clue = self._clue_before(at - 1, "not", "without")
        if clue is not None:
            self.explained.update(range(clue.first, clue.behind))
        return clue is not None

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
        direction, path = min(best, key=lambda key: self._value_cost(key, best[key], at))
        chosen = best[direction, path]
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
        return cost

    def _link(self, collection: str, link: str, condition: Condition | None) -> None:
        conditions = self.linked.setdefault((collection, link), [])
        if condition is not None and condition not in conditions:
            conditions.append(condition)

    def _read_noun(self, at: int, item: Item) -> None:
        best = max(item.of_kind("collection"), key=lambda one: one.weight + 0.05 * (one.collection == self.target))
        collection = best.collection
        chains = paths_to(self.lexicon, self.target, collection)
        backs = [key for key in self.referring if key[0] == collection]
        if collection == self.target:
            self._explain(item)
        elif self._clue_before(at, "group") and chains and self._is_field_of(at + 1, collection):
            self._explain(item)
        elif self._clue_before(at, "group") and chains and not self.group and not self._is_agent(at):
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

    def _explain(self, item: Item, clue: Clue | None = None) -> None:
        self.explained.update(range(item.first, item.behind))
        if clue is not None:
            self.explained.update(range(clue.first, clue.behind))

    def _read_field(self, at: int, item: Item) -> None:
        found = self._field_path(item)
        if found is None:
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
            none = Condition(path, "eq", 0) if field.kind == "number" else Condition(path, "missing")
            self._add(none, item)
            self._explain(item, clue)
        elif field.kind == "number" and (place := self._number_behind(item)):
            self._add(Condition(path, "eq", self.request.tokens[place].number), item)
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
        elif (clue := self._contains_behind(at)) is not None and field.kind in ("text", "any"):
            self._read_contains(at, path, item, clue)
        elif self._names_comparison(at):
            self._explain(item)
        else:
            self._ask(path, item)

    def _ask(self, path: Path, item: Item) -> None:
        """Note a field that is asked for; for a link, the label of its target."""
        path = self._labelled(path)
        self.asked.append(path)
        self.asked_places[path] = range(item.first, item.behind)
        self._explain(item)

    def _labelled(self, path: Path) -> Path:
        field = self.lexicon.field(self._collection_of(path), path[-1])
        if field is None or field.links not in self.lexicon.collections:
            return path
        target = self.lexicon.profile(field.links)
        return (*path, target.label) if target.label and target.label != field.links_by else path

    def _collection_of(self, path: Path) -> str:
        collection = self.target
        for link in path[:-1]:
            field = self.lexicon.field(collection, link)
            collection = field.links if field else collection
        return collection

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

    def _number_behind(self, item: Item) -> int:
        """Return the place of the number of `stock 0` or `quantity of 5`; 0 if there is none."""
        place = item.behind
        while place < len(self.request) and self.request.tokens[place].lower in ("of", "is", "=", "equals"):
            place += 1
        if place >= len(self.request) or self.request.tokens[place].kind != "number":
            return 0
        return 0 if any(one.first <= place < one.behind for one in self.items if one.comparison) else place

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

    def _contains_behind(self, at: int) -> Clue | None:
        behind = self.items[at + 1] if at + 1 < len(self.items) else None
        return behind.is_clue("contains") if behind is not None else None

    def _read_contains(self, at: int, path: Path, item: Item, clue: Clue) -> None:
        """Read `whose subject contains Refund`."""
        if clue.behind < len(self.request):
            token = self.request.tokens[clue.behind]
            self._add(Condition(path, "contains", token.text), item)
            self.explained.update(range(clue.first, clue.behind + 1))

    def _read_span(self, at: int, item: Item) -> None:
        span = self.context.spans[item.span]
        path = self._date_path(at)
        if path is None:
            return
        self._add(Condition(path, "days", span), item)
        field = self.lexicon.field(self._collection_of(path), path[-1])
        years = span.other_years(str(field.least or "")[:10], str(field.most or "")[:10]) if field else []
        if years:
            self.question = f"Which year do you mean: {in_a_row(years, 'or')}?"

    def _date_path(self, at: int) -> Path | None:
        """Return the date field that a period speaks of: the one named beside it, or the only one."""
        for near in (*reversed(self.items[max(0, at - 2) : at]), *self.items[at + 1 : at + 3]):
            found = self._field_path(near) if near.of_kind("field") else None
            if found is not None and (found[1].dates or found[1].kind == "time"):
                return found[0]
        dated = [one.name for one in self.profile.fields if one.dates]
        stems = set(self.request.stems)
        first = self.items[at].first
        around = range(max(0, first - 3), min(len(self.request), self.items[at].behind + 2))
        for verbs, field in ((_CHANGED, "updatedAt"), (_CREATED, "createdAt")):
            places = [place for place in around if self.request.stems[place] in verbs]
            if places and (not dated or field == "updatedAt") and self.lexicon.field(self.target, field):
                self.explained.update(places)
                return (field,)
            if places and stems & verbs and dated:
                self.explained.update(places)
        if dated:
            if len(dated) > 1:
                self.cost += 0.5
            return (dated[0],)
        return ("createdAt",) if self.lexicon.field(self.target, "createdAt") else None

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
        elif not found.scales:
            money = self._scaled(
                Scale(frozenset(stem(one) for one in ("price", "cost", "amount", "total", "fee")), up=True)
            )
            if len(money) == 1:
                self.cost += 0.3
                self._compare(item, found, (money[0],), Scale(frozenset(), up=True))

    def _compare(self, item: Item, found: Comparison, path: Path, scale: Scale) -> None:
        op = found.op or ("gt" if scale.up else "lt")
        value = (found.value, found.other) if op == "between" else found.value
        self._add(Condition(path, op, value), item)

    def _scaled(self, scale: Scale) -> list[str]:
        """Return the fields of the target that a scale measures."""
        numbers = [one for one in self.profile.fields if one.kind == "number" and one.name not in META_FIELDS]
        if "@number" in scale.fields:
            return [one.name for one in numbers]
        if "@date" in scale.fields:
            dated = [one.name for one in self.profile.fields if one.dates]
            return dated or [one.name for one in self.profile.fields if one.name == "createdAt"]
        known = {each for one in scale.fields for each in same_words(one)}
        exact = [one.name for one in numbers if {stem(word) for word in name_words(one.name)} & scale.fields]
        return exact or [one.name for one in numbers if {stem(word) for word in name_words(one.name)} & known]

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
        elif clue.name == "contains":
            self._read_topic(at, item, clue)
        elif clue.name == "either" and self._joins_values(at):
            self._explain(item)

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

    def _joins_values(self, at: int) -> bool:
        near = [*self.items[max(0, at - 2) : at], *self.items[at + 1 : at + 3]]
        return sum(bool(one.of_kind("value")) for one in near) >= 2

    def _read_superlative(self, at: int, item: Item, clue: Clue) -> None:
        behind = self.items[at + 1] if at + 1 < len(self.items) else None
        nouns = behind.of_kind("collection") if behind is not None and behind.first == item.behind else []
        if nouns and max(nouns, key=lambda one: one.weight).collection != self.target:
            return
        named = None
        if at + 1 < len(self.items) and self.items[at + 1].of_kind("field"):
            named = self._field_path(self.items[at + 1])
        number_named = named is not None and (named[1].kind == "number" or named[1].dates)
        generic = any("@number" in one.fields for one in clue.scales)
        if number_named and generic:
            assert named is not None
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

    def _read_most(self, at: int, item: Item, clue: Clue) -> None:
        """Read `the most memory`; `the most loans` is read with the noun."""
        if at + 1 >= len(self.items):
            if clue.name == "most" and len(self.linked) == 1:
                self.ranked_by = next(iter(self.linked))
                self.linked.clear()
                self.descending = True
                self._explain(item)
            return
        behind = self.items[at + 1]
        named = self._field_path(behind) if behind.of_kind("field") else None
        if behind.of_kind("collection"):
            self._explain(item)
            self.limit = self.limit or 1
        elif named is not None and named[1].kind == "number":
            self._explain(item)
            self.order, self.descending, self.limit = named[0], clue.name == "most", self.limit or 1

    def _is_field_behind(self, at: int) -> bool:
        """Whether a field follows at once, as in `late fee`."""
        behind = self.items[at + 1] if at + 1 < len(self.items) else None
        if behind is None or behind.first != self.items[at].behind or behind.of_kind("collection"):
            return False
        return bool(behind.of_kind("field"))

    def _overdue_fields(self) -> tuple[str, list[str]] | None:
        """Return the date until which something is due, and the flag that tells that it is done."""
        due = {each for one in record_words().due.split() for each in same_words(stem(one))}
        dates = [one.name for one in self.profile.fields if one.dates and {stem(w) for w in name_words(one.name)} & due]
        flags = [one.name for one in self.profile.fields if one.kind == "boolean"]
        return (dates[0], flags) if len(dates) == 1 and len(flags) <= 1 else None

    def _read_overdue(self, item: Item) -> None:
        found = self._overdue_fields()
        if found is None:
            return
        before = next(iter(self.context.with_text("before today").spans))
        self._add(Condition((found[0],), "days", before), item)
        for flag in found[1]:
            self._add(Condition((flag,), "eq", False), item)

    # What is asked of the records.

    def _has(self, *names: ClueName) -> bool:
        return any(one.is_clue(*names) is not None for one in self.items)

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
        if self._has("sum") and numeric and not self._has("count") and not self.order:
            return "sum"
        if self._has("avg", "max", "min") or (self._has("sum") and not self.order and not self._has("count")):
            return None
        if self.group:
            return "groups"
        if self._has("count") and self._names_one_record():
            phone = self._phone()
            if phone is None:
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

    def _phone(self) -> Path | None:
        known = {stem(one) for one in ("phone", "telephone", "mobile", "cell")}
        found = [one.name for one in self.profile.fields if {stem(word) for word in name_words(one.name)} & known]
        return (found[0],) if len(found) == 1 else None

    def _only_date(self) -> Path | None:
        dated = [one.name for one in self.profile.fields if one.dates]
        return (dated[0],) if len(dated) == 1 else None

    def _is_number(self, path: Path) -> bool:
        field = self.lexicon.field(self._collection_of(path), path[-1])
        return field is not None and field.kind == "number"

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
