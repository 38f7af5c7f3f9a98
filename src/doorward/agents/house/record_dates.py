"""The date fields that the periods of a request speak of."""

from __future__ import annotations

import re

import msgspec

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.record_clues import Clue, record_words
from doorward.agents.house.record_fields import RecordFields
from doorward.agents.house.record_items import Item
from doorward.agents.house.record_query import Condition, Path
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import in_a_row
from doorward.agents.house.words import name_words, stem

_CREATED = frozenset(stem(one) for one in ("created", "added", "made", "opened", "entered", "new", "came"))
_CHANGED = frozenset(stem(one) for one in ("changed", "updated", "modified", "edited", "touched"))
_DAY = 86_400
_MOST_OF_A_YEAR = 300


class RecordDates(RecordFields):
    """Reads the periods of a request; holds the conditions that are read."""

    def __init__(self, context: RequestContext, target: str) -> None:
        super().__init__(context, target)
        self.conditions: list[Condition] = []
        self.linked: dict[tuple[str, str], list[Condition]] = {}
        self.explained: set[int] = set()
        self.cost = 0.0
        self.question = ""

    def _add(self, condition: Condition, item: Item, cost: float = 0.0) -> None:
        if condition not in self.conditions:
            self.conditions.append(condition)
        self.explained.update(range(item.first, item.behind))
        self.cost += cost

    def _explain(self, item: Item, clue: Clue | None = None) -> None:
        self.explained.update(range(item.first, item.behind))
        if clue is not None:
            self.explained.update(range(clue.first, clue.behind))

    def _link(self, collection: str, link: str, condition: Condition | None) -> None:
        conditions = self.linked.setdefault((collection, link), [])
        if condition is not None and condition not in conditions:
            conditions.append(condition)

    def _read_span(self, at: int, item: Item) -> None:
        path = self._named_date(at)
        event = self._event() if path is None else None
        path = self._only_past_date(event[0]) if event else path or self._date_path(at)
        if path is None:
            return
        field = self.lexicon.field(event[0] if event else self._collection_of(path), path[-1])
        least, most = (str(one or "")[:10] for one in (field.least, field.most)) if field else ("", "")
        span, years = self.context.settle_span(item.span, least, most)
        if self._is_yearly(path, span):
            years, says = [], re.sub(r" \d{4}$", "", span.says)
            self._add(Condition(path, "yearly", msgspec.structs.replace(span, says=says)), item)
        elif event:
            self._link(*event, Condition(path, "days", span))
            self._explain(item)
        else:
            self._add(Condition(path, "days", span), item)
        if years:
            self.question = f"Which year do you mean: {in_a_row(years, 'or')}?"

    def _named_date(self, at: int) -> Path | None:
        """Return the date field that is named beside a period."""
        for near in (*reversed(self.items[max(0, at - 2) : at]), *self.items[at + 1 : at + 3]):
            found = self._field_path(near) if near.of_kind("field") else None
            if found is not None and (found[1].dates or found[1].kind == "time"):
                return found[0]
        return None

    def _event(self) -> tuple[str, str] | None:
        """Return the linked records of a person that a request tells of: a period is theirs."""
        if self.target not in self.lexicon.people:
            return None
        for item in self.items:
            ways = [how for one in item.of_kind("value") if (how := self._reach(one)) is not None]
            if ways and all(how[0] == "back" for how in ways):
                return ways[0][1][0], ways[0][1][1]
            for one in item.of_kind("collection") if not self._is_own(item) else ():
                for key in self.referring:
                    if key[0] == one.collection:
                        return key
        return None

    def _is_own(self, item: Item) -> bool:
        """Whether words can mean the records that are asked for, or one of their fields."""
        return any(one.collection == self.target for one in (*item.of_kind("collection"), *item.of_kind("field")))

    def _only_past_date(self, collection: str) -> Path | None:
        fields = self.lexicon.profile(collection).fields
        dated = [one.name for one in fields if one.dates and not self._is_ahead(one.name)]
        return (dated[0],) if len(dated) == 1 else None

    def _is_yearly(self, path: Path, span: TimeSpan) -> bool:
        """Whether a period means a day of every year: a birthday, and no year is named."""
        stems = {stem(word) for word in name_words(path[-1])}
        if not stems & {stem(one) for one in record_words().yearly.split()} or not span.since or not span.until:
            return False
        named = any(re.fullmatch(r"\d{4}(-.*)?", one.text) for one in self.request.tokens[span.first : span.behind])
        return not named and (span.until - span.since).days < _MOST_OF_A_YEAR

    def _date_path(self, at: int) -> Path | None:
        """Return the date field that a period speaks of where none is named: the only one that lies behind."""
        dated = [one.name for one in self.profile.fields if one.dates and not self._is_ahead(one.name)]
        ahead = [one.name for one in self.profile.fields if one.dates and self._is_ahead(one.name)]
        if not dated and ahead:
            since = self.context.spans[self.items[at].span].since
            self.cost += 0.5
            return (ahead[0],) if len(ahead) == 1 and since and since.timestamp() >= self.context.now - _DAY else None
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
        self.cost += 0.5
        return ("createdAt",) if self.lexicon.field(self.target, "createdAt") else None
