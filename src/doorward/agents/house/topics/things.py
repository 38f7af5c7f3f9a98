"""Lists and counts of rooms, users, recipes, personas and servers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import NotOffered, Reading, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import (
    bullets,
    counted,
    describe_record,
    field_words,
    in_a_row,
    name,
    number,
    value,
)
from doorward.agents.house.topics.calls import all_of, describe_groups, within
from doorward.agents.house.topics.vocabulary import Thing, vocabulary
from doorward.agents.house.topics.wording import Wording

_MOST = 200
_SHOWN = 40


class _Query(msgspec.Struct, frozen=True, kw_only=True):
    thing: Thing
    name: str = ""
    field: str = ""
    """The field that is asked for."""
    conditions: tuple[dict[str, Any], ...] = ()
    how: str = ""
    """The conditions as they stand behind a noun."""
    span: TimeSpan | None = None
    group: str = ""
    count: bool = False
    newest: int = 0
    """How many of the newest are wanted; below 0, how many of the oldest."""


def read(context: RequestContext) -> Iterable[Reading]:
    for thing in vocabulary().things:
        wording = Wording(context)
        if not wording.find(thing.words):
            continue
        query = _read(wording, thing)
        says = f"{thing.many}{query.how}" if not query.name else f"the {thing.one} {query.name}"
        if query.field:
            says = f"the {query.field} of {says}"
        yield wording.reading(thing.many, _steps(context, query), says)


def _steps(context: RequestContext, query: _Query) -> Any:
    if query.thing.many == "recipes" and query.name:
        return lambda: _recipe(context, query.name)
    return lambda: _things(context, query)


def _read(wording: Wording, thing: Thing) -> _Query:
    group = ""
    for phrases, field in thing.fields.items():
        for one in phrases.split("|"):
            if not group and wording.take(f"by {one}|per {one}|each {one}|every {one}|grouped by {one}"):
                group = field
    grouped = set(wording.used)
    wording.take(thing.words)
    count = wording.count()
    conditions, said = [], []
    for phrases, condition in thing.values.items():
        if wording.find(phrases) - grouped:
            places = wording.find(phrases)
            negated = {one - 1 for one in places} & wording.find("not|no|non")
            wording.used |= places | negated
            conditions.append({"$not": condition} if negated else condition)
            said.append(("not " if negated else "") + phrases.partition("|")[0])
    span = wording.span()
    if span is not None:
        wording.take("create|make|add|new|open|begin|appear")
    limit = wording.limit()
    field = ""
    for phrases, one in thing.fields.items():
        if one == "createdAt" and not (span or limit or wording.has("when")):
            continue
        if wording.take(phrases) and not group and not any(one in each or "$not" in each for each in conditions):
            field = one
    wording.take(thing.may)
    conditions += _named_values(wording, thing, said)
    leads = thing.names_behind.split("|") if thing.names_behind else ()
    called = wording.name(thing.words, thing.collection, thing.label[0], leads) if wording.rest else ""
    how = "".join(f" ({one})" for one in [", ".join(said)] if one) + (f" created {span.says}" if span else "")
    newest = 0 if limit is None else (limit.most or 10) * (1 if limit.newest else -1)
    return _Query(
        thing=thing,
        name=called,
        field=field if called else "",
        conditions=tuple(conditions),
        how=how,
        span=span,
        group=group,
        count=count,
        newest=newest,
    )


def _named_values(wording: Wording, thing: Thing, said: list[str]) -> list[dict[str, Any]]:
    """Take a value beside the name of its field: `with the recipe support`, `the support recipe`."""
    found = []
    for phrases, field in thing.fields.items():
        if field not in thing.named:
            continue
        for place in sorted(wording.find(phrases)):
            beside = next((one for one in (place + 1, place - 1) if one in wording.rest), None)
            if beside is not None:
                wording.used.add(beside)
                value = wording.request.tokens[beside].text
                said.append(f"{field} {name(value)}")
                found.append({field: value})
    return found


def _things(context: RequestContext, query: _Query) -> Steps:
    thing = query.thing
    where = [*query.conditions, *within("createdAt", query.span)]
    if query.name:
        where = [{"$or": [{one: query.name} for one in thing.label]}]
    if query.group and thing.collection:
        if not context.offered("data/aggregate"):
            raise NotOffered("data/aggregate")
        params = {"collection": thing.collection, "groupBy": [query.group], **all_of(where)}
        (groups,) = yield [Step("data/aggregate", params)]
        return describe_groups(groups, query.group, f"{thing.many}{query.how}")
    if thing.collection and context.offered("data/list"):
        given = {"collection": thing.collection, **all_of(where), "limit": _MOST}
        if query.newest:
            given |= {"orderBy": "-createdAt" if query.newest > 0 else "createdAt", "limit": abs(query.newest)}
        (listed,) = yield [Step("data/list", given)]
    elif thing.command and context.offered(thing.command) and not where and not query.newest:
        (listed,) = yield [Step(thing.command)]
    else:
        raise NotOffered("data/list" if thing.collection else thing.command)
    items = [one for one in listed.items if isinstance(one, dict)]
    if query.name:
        return _describe_one(query, items)
    total = listed.total if listed.total is not None else len(items)
    names = [name(_label(one, thing)) for one in items[:_SHOWN]]
    more = [f"{number(total - len(names))} more"] if total > len(names) else []
    facts = {"is": "is" if total == 1 else "are", "counted": counted(total, thing.one, thing.many), "how": query.how}
    if not total:
        return f"I see no {thing.many}{query.how}." if query.how else thing.none.format(many=thing.many, **facts)
    head = thing.head.format(**facts)
    if query.newest:
        noun = thing.one if len(names) == 1 else thing.many
        return f"The {'newest' if query.newest > 0 else 'oldest'} {noun}: {in_a_row(names)}."
    return f"{head}." if query.count and total > _SHOWN else f"{head}: {in_a_row([*names, *more])}."


def _describe_one(query: _Query, items: list[dict[str, Any]]) -> str:
    thing = query.thing
    if not items:
        return f"There is no {thing.one} {name(query.name)} that I can see."
    one = items[0]
    if query.conditions:
        fits = all(one.get(field) == given for each in query.conditions for field, given in each.items())
        fields = [field for each in query.conditions for field in each if field in one]
        facts = in_a_row([f"{field_words(field)} {value(field, one[field])}" for field in fields])
        return f"{'Yes' if fits else 'No'}: the {thing.one} {name(query.name)} has {facts}."
    if query.field:
        said = value(query.field, one.get(query.field))
        if query.field == "createdAt":
            return f"The {thing.one} {name(query.name)} was created on {said}."
        return f"The {field_words(query.field)} of the {thing.one} {name(query.name)} is {said}."
    return f"The {thing.one} {name(query.name)}: {describe_record(one, thing.label)}."


def _label(one: dict[str, Any], thing: Thing) -> str:
    return next((str(one[field]) for field in (*thing.label, "room", "id") if one.get(field)), "(no name)")


def _recipe(context: RequestContext, id: str) -> Steps:
    if context.offered("recipe/show"):
        (result,) = yield [Step("recipe/show", {"id": id})]
        body = result.value.get("recipe") if isinstance(result.value, dict) else None
    elif context.offered("data/read"):
        (result,) = yield [Step("data/read", {"collection": "recipes", "id": id})]
        body = result.value.get("body") if isinstance(result.value, dict) else None
    else:
        raise NotOffered("recipe/show")
    if not isinstance(body, dict):
        raise Unknown(f"I do not know how to show the recipe {name(id)}.")
    strategy = body.get("strategy")
    rules = strategy.get("aiCommands") if isinstance(strategy, dict) else None
    lines = [f"{field_words(key)}: {value(key, one)}" for key, one in rules.items()] if isinstance(rules, dict) else []
    called = str(body.get("displayName") or id)
    head = f"The recipe {name(id)} is called {name(called)}: “{value('', body.get('description')).strip('“”')}”"
    return f"{head}\nIts rules for commands of AIs:\n{bullets(lines)}" if lines else head
