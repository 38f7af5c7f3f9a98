"""Lists, counts and groups of system records: the calls that find them, and the sentences about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import NotOffered, Step, Steps
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.sentences import (
    bullets,
    counted,
    describe_record,
    field_words,
    in_a_row,
    name,
    number,
    one_line,
    value,
)
from doorward.agents.house.topics.vocabulary import Quality, RecordTopic
from doorward.agents.house.topics.wording import Limit

_MOST_NAMES = 200
_SHOWN_NAMES = 40
_MOST_LINES = 20
_MOST_ABOUT = 5
_REASONS = ("note", "message", "reason", "error")
_JOINTS = {"command": "of", "room": "in"}


class RecordQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which records are asked for, and how they are shown."""

    topic: RecordTopic
    qualities: tuple[Quality, ...] = ()
    negated: frozenset[str] = frozenset()
    values: dict[str, Any] = {}
    """Fields and the values that they have."""
    person: str = ""
    own: bool = False
    """Whether the person is the asker."""
    about: tuple[str, ...] = ()
    """Stems that the text is to hold; the most of them."""
    name: str = ""
    """The name of one record."""
    field: str = ""
    """The field of it that is asked for."""
    span: TimeSpan | None = None
    limit: Limit | None = None
    group: str = ""
    count: bool = False

    @property
    def time(self) -> str:
        return next((one.time for one in self.qualities if one.time), self.topic.time)

    @property
    def collection(self) -> str:
        return next((one.collection for one in self.qualities if one.collection), self.topic.collection)

    @property
    def adjectives(self) -> str:
        said = [("not " if one.says in self.negated else "") + one.says for one in self.qualities if one.says]
        return f"{' or '.join(said)} " if said else ""

    @property
    def how(self) -> str:
        """The conditions as they stand behind the noun."""
        parts = [f"{_JOINTS.get(field, f'with {field}')} {name(str(one))}" for field, one in self.values.items()]
        parts += [f"by {'you' if self.own else name(self.person)}"] if self.person else []
        parts += ["about that"] if self.about else []
        parts += [self.span.says] if self.span else []
        return "".join(f" {one}" for one in parts)

    @property
    def says(self) -> str:
        if self.name:
            return f"the {self.topic.one} {self.name}"
        return f"{self.adjectives}{self.topic.many}{self.how}" + (f" by {self.group}" if self.group else "")

    def where(self) -> list[dict[str, Any]]:
        if self.name:
            return [{"$or": [{one: self.name} for one in self.topic.label]}]
        found = _conditions(self.qualities, self.negated)
        if self.about:
            found.append({"$or": [{"text": {"$ilike": f"%{one}%"}} for one in self.about]})
        if self.person:
            fields = [{one: self.person} for one in self.topic.people]
            found.append(fields[0] if len(fields) == 1 else {"$or": fields})
        found += [{field: one} for field, one in self.values.items()]
        found += within(self.time, self.span)
        if self.about and not self.person:
            found.append({"kind": "human"})
        return [*found, self.topic.always] if self.topic.always else found


def _conditions(qualities: Sequence[Quality], negated: frozenset[str]) -> list[dict[str, Any]]:
    """Return the conditions of qualities; several values of one field are alternatives."""
    found: dict[str, Any] = {}
    refused = []
    for quality in qualities:
        for field, one in quality.where.items():
            if quality.says in negated:
                refused.append({"$not": {field: one[0]}})
            elif isinstance(one, list) and not field.startswith("$"):
                found[field] = [*found.get(field, []), *one]
            else:
                found[field] = one
    alternatives = {field for field in found if not field.startswith("$")}
    conditions = [{field: _any_of(one) if field in alternatives else one} for field, one in found.items()]
    return conditions + refused


def _any_of(one: Any) -> Any:
    if not isinstance(one, list):
        return one
    values = list(dict.fromkeys(one))
    return values[0] if len(values) == 1 else {"$in": values}


def within(field: str, span: TimeSpan | None) -> list[dict[str, Any]]:
    """Return the condition that a time lies in a period."""
    if span is None:
        return []
    bounds = {"$gte": span.since_utc, "$lt": span.until_utc}
    return [{field: {key: value for key, value in bounds.items() if value}}]


def answer_query(context: RequestContext, query: RecordQuery) -> Steps:
    topic, where = query.topic, query.where()
    given: dict[str, Any] = {"collection": query.collection}
    if where:
        given["filter"] = where[0] if len(where) == 1 else {"$and": where}
    if query.group and topic.collection:
        if not context.offered("data/aggregate"):
            raise NotOffered("data/aggregate")
        (groups,) = yield [Step("data/aggregate", {**given, "groupBy": [query.group], "orderBy": "-count"})]
        return _describe_groups(query, groups)
    if query.count and topic.line and context.offered("data/count"):
        (count,) = yield [Step("data/count", given)]
        return _head(query, int(count.value.get("count", 0))) + "."
    most = (query.limit.most if query.limit else 0) or (_MOST_LINES if topic.line else _MOST_NAMES)
    if topic.collection and context.offered("data/list"):
        newest = query.limit is None or query.limit.newest
        order = {"orderBy": f"{'-' if newest else ''}{query.time}"} if topic.line or query.limit else {}
        asked = _MOST_NAMES if query.about else most + bool(topic.about)
        (listed,) = yield [Step("data/list", {**given, **order, "limit": asked})]
    else:
        (listed,) = yield [_list_command(context, query)]
    items = [one for one in listed.items if isinstance(one, dict) and _fits(one, query)]
    if query.name:
        return _describe_one(query, items)
    if topic.about:
        items = _messages(context, query, items)
        return _describe_lines(context, query, items[: _MOST_ABOUT if query.about else most], len(items))
    total = listed.total if listed.total is not None and not query.limit else len(items)
    return _describe_lines(context, query, items, total) if topic.line else _describe_names(query, items, total)


def _list_command(context: RequestContext, query: RecordQuery) -> Step:
    """Return the call that lists records without `data/list`, if it can tell what is asked."""
    topic = query.topic
    narrow = query.span or query.limit or query.person or query.about or query.name
    if narrow or set(query.values) - {"room"} or (query.qualities and not topic.line):
        raise NotOffered("data/list" if topic.collection else topic.command)
    if not context.offered(topic.command) or (topic.about and not query.values):
        raise NotOffered("data/list" if topic.collection else topic.command)
    return Step(topic.command, {"name": query.values["room"]} if query.values else {})


def _fits(one: Mapping[str, Any], query: RecordQuery) -> bool:
    """Whether a record has the qualities; a command that lists records may not have looked at them."""
    if query.negated or query.name:
        return True
    return all(
        one[field] in given
        for quality in query.qualities
        for field, given in quality.where.items()
        if field in one and isinstance(given, list) and len(query.qualities) == 1
    )


def _head(query: RecordQuery, total: int) -> str:
    topic = query.topic
    one, many = f"{query.adjectives}{topic.one}", f"{query.adjectives}{topic.many}"
    if not total:
        return topic.none.format(many=many, how=query.how).rstrip(".")
    if query.limit and query.limit.most:
        which = "newest" if query.limit.newest else "oldest"
        return f"The {which} {one}{query.how}" if total == 1 else f"The {number(total)} {which} {many}{query.how}"
    facts = {"is": "is" if total == 1 else "are", "counted": counted(total, one, many), "how": query.how}
    return topic.head.format(**facts)


def _describe_lines(context: RequestContext, query: RecordQuery, items: Sequence[Mapping[str, Any]], total: int) -> str:
    head = _head(query, total)
    if not items or query.count:
        return f"{head}."
    line = next((one.line for one in query.qualities if one.line), query.topic.line)
    lines = [_line(context, line, one) for one in items]
    order = ", newest first" if len(lines) > 1 and (query.limit is None or query.limit.newest) else ""
    return f"{head}{order}:\n{bullets(lines, _MOST_NAMES, total)}"


def _line(context: RequestContext, line: str, one: Mapping[str, Any]) -> str:
    said = defaultdict(lambda: "(none)", {field: value(field, given, context.zone) for field, given in one.items()})
    said["text"] = f"“{one_line(str(one.get('text') or ''))}”"
    said["why"] = _describe_reason(one)
    return line.format_map(said)


def _describe_reason(one: Mapping[str, Any]) -> str:
    if str(one.get("status")) in ("done", "completed"):
        return ""
    said = next((str(one[field]) for field in _REASONS if isinstance(one.get(field), str) and one[field].strip()), "")
    if said:
        return f", because: “{one_line(said, 200)}”"
    code = str(one.get("code") or "ok")
    return "" if code == "ok" else f", because: {name(code.replace('_', ' '))}"


def _describe_names(query: RecordQuery, items: Sequence[Mapping[str, Any]], total: int) -> str:
    labels = (*query.topic.label, "room", "id")
    names = [name(next((str(one[field]) for field in labels if one.get(field)), "?")) for one in items[:_SHOWN_NAMES]]
    more = [f"{number(total - len(names))} more"] if total > len(names) else []
    return f"{_head(query, total)}: {in_a_row([*names, *more])}." if names else f"{_head(query, total)}."


def _describe_one(query: RecordQuery, items: Sequence[Mapping[str, Any]]) -> str:
    topic = query.topic
    called = f"{topic.one} {name(query.name)}"
    if not items:
        return f"There is no {called} that I can see."
    one = items[0]
    if query.qualities:
        asked = {field: given for each in query.qualities for field, given in each.where.items() if field in one}
        fits = all((one[field] in given) for field, given in asked.items()) != bool(query.negated)
        facts = in_a_row([f"{field_words(field)} {value(field, one[field])}" for field in asked])
        return f"{'Yes' if fits else 'No'}: the {called} has {facts}."
    if query.field == "createdAt":
        return f"The {called} was created on {value(query.field, one.get(query.field))}."
    if query.field:
        return f"The {field_words(query.field)} of the {called} is {value(query.field, one.get(query.field))}."
    return f"The {called}: {describe_record(one, topic.label)}."


def _describe_groups(query: RecordQuery, result: ToolResult) -> str:
    """Describe counts for each value: `Calls by command: file/read 3, file/list 1 (4 in all).`."""
    noun = f"{query.adjectives}{query.topic.many}{query.how}"
    items = [one for one in result.items if isinstance(one, dict)]
    if not items:
        return f"There are no {noun}."
    parts = [f"{value(query.group, one.get(query.group))} {number(one.get('count', 0))}" for one in items]
    total = number(sum(one.get("count", 0) for one in items))
    end = ". More than these were found." if result.has_more else f" ({total} in all)."
    return f"{noun[:1].upper()}{noun[1:]} by {query.group}: {', '.join(parts)}{end}"


def _messages(context: RequestContext, query: RecordQuery, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages that hold the most of the words that were asked about, without the request itself."""
    asked = " ".join(context.conversation.whole.split())
    texts = [(" ".join(str(one.get("text") or "").split()), one) for one in items]
    texts = [(text, one) for text, one in texts if text and text != asked]
    if not query.about:
        return [one for _, one in texts]
    if not query.person:
        texts = [(text, one) for text, one in texts if not text.endswith("?")] or texts
    ranks = [len(set(Request(text).stems) & set(query.about)) for text, _ in texts]
    return [one for (_, one), rank in zip(texts, ranks, strict=True) if rank == max(ranks)]
