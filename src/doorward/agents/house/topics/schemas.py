"""Collections and their fields, the values that a field takes, and which records changed lately."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import NotOffered, Reading, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.sentences import counted, in_a_row, name, number, one_line, value
from doorward.agents.house.topics.calls import within
from doorward.agents.house.topics.vocabulary import words_of
from doorward.agents.house.topics.wording import Wording
from doorward.agents.house.words import name_words, stem

_MOST_VALUES = 50
_MOST_COLLECTIONS = 30
_KINDS = {"managed": "your own", "attached": "attached", "system": "Doorward's own"}


def read(context: RequestContext) -> Iterable[Reading]:
    words = words_of("schemas")
    wording = Wording(context)
    if wording.take(words["collections_whole"]) or wording.take(words["collections"]):
        count = wording.count()
        wording.take(words["may"])
        yield wording.reading("collections", lambda: _collections(context, count=count), "the collections")
    for what, phrases in (("fields", words["fields"]), ("values", words["values"])):
        wording = Wording(context)
        if wording.has("allowed to") or not wording.take(phrases):
            continue
        wording.take(words["collections"])
        wording.take(words["may"])
        in_span = frozenset(place for span in context.spans for place in span.places)
        kinds = ("word", "quoted", "path")
        named = [one for one in wording.rest if wording.request.tokens[one].kind in kinds and one not in in_span]
        if not 1 <= len(named) <= 2 or (what == "fields" and len(named) > 1):
            continue
        nouns = [wording.request.tokens[place].text for place in named]
        if context.conversation.data and not any(_profile_named(context, one) for one in nouns):
            continue
        wording.used |= set(named)
        says = f"the {what} of {' '.join(nouns)}"
        yield wording.reading(
            f"{what} of a collection",
            _described(context, what, nouns),
            says,
            0.98 if context.conversation.data else 0.8,
        )
    yield from _read_changed(context)


def _described(context: RequestContext, what: str, nouns: Sequence[str]) -> Any:
    return (lambda: _fields(context, nouns[0])) if what == "fields" else (lambda: _values(context, nouns))


def _profile_named(context: RequestContext, noun: str) -> str:
    return next((one.name for one in context.conversation.data if _is_named(one.name, noun)), "")


def _is_named(collection: str, noun: str) -> bool:
    words = [stem(one) for one in name_words(collection.rpartition(".")[2])]
    return collection.lower() == noun.lower() or words == [stem(one) for one in name_words(noun)]


def _describe_all(context: RequestContext) -> Generator[list[Step], list[ToolResult], list[dict[str, Any]]]:
    if not context.offered("data/describe"):
        raise NotOffered("data/describe")
    (result,) = yield [Step("data/describe", {}, lookup=True)]
    return [one for one in result.items if isinstance(one, dict)]


def _collections(context: RequestContext, *, count: bool) -> Steps:
    items = yield from _describe_all(context)
    parts = []
    for kind, whose in _KINDS.items():
        names = [name(str(one.get("collection"))) for one in items if one.get("kind") == kind]
        if names:
            listed = "" if count else f": {in_a_row(names[:_MOST_COLLECTIONS])}"
            parts.append(f"{counted(len(names), 'collection is', 'collections are')} {whose}{listed}.")
    return " ".join(parts) or "There are no collections."


def _find(context: RequestContext, nouns: Sequence[str]) -> Generator[list[Step], list[ToolResult], str]:
    """Return the collection that one of some words names."""
    for noun in nouns:
        known = _profile_named(context, noun)
        if known:
            return known
    items = yield from _describe_all(context)
    names = [str(one.get("collection")) for one in items]
    for noun in nouns:
        for one in names:
            if _is_named(one, noun):
                return one
    there = in_a_row([name(one) for one in names[:_MOST_COLLECTIONS]]) or "none"
    raise Unknown(f"I do not know a collection called {name(nouns[-1])}. There are {there}.")


def _describe(context: RequestContext, collection: str) -> Generator[list[Step], list[ToolResult], dict[str, Any]]:
    if not context.offered("data/describe"):
        raise NotOffered("data/describe")
    (result,) = yield [Step("data/describe", {"collection": collection})]
    return result.value if isinstance(result.value, dict) else {}


def _fields(context: RequestContext, noun: str) -> Steps:
    collection = yield from _find(context, [noun])
    found = yield from _describe(context, collection)
    fields = found.get("fields")
    if not isinstance(fields, dict):
        raise Unknown(f"I do not know the fields of {name(collection)}.")
    written = found.get("schema")
    required = set(written.get("required") or ()) if isinstance(written, dict) else set()
    parts = []
    for field, kind in fields.items():
        facts = [one_line(str(kind), 60)]
        facts += ["required"] if field in required else []
        facts += ["the key"] if field == found.get("key") else []
        parts.append(f"{name(str(field))} ({', '.join(facts)})")
    holds = f" It holds {counted(found['count'], 'record', 'records')}." if isinstance(found.get("count"), int) else ""
    return f"{name(collection)} has {counted(len(fields), 'field', 'fields')}: {', '.join(parts)}.{holds}"


def _values(context: RequestContext, nouns: Sequence[str]) -> Steps:
    collection = yield from _find(context, nouns)
    found = yield from _describe(context, collection)
    fields = found.get("fields") if isinstance(found.get("fields"), dict) else {}
    rest = [one for one in nouns if not _is_named(collection, one)]
    field = next((one for one in fields or {} for noun in rest if _same(one, noun)), "")
    if not field:
        word = rest[0] if rest else nouns[0]
        there = in_a_row([name(one) for one in fields or {}])
        raise Unknown(f"I do not know which field of {name(collection)} “{one_line(word, 60)}” means. It has {there}.")
    allowed = _allowed(found, field)
    if allowed:
        return (
            f"The {name(field)} of {name(collection)} can be {in_a_row([value(field, one) for one in allowed], 'or')}."
        )
    if not context.offered("data/aggregate"):
        raise NotOffered("data/aggregate")
    (groups,) = yield [Step("data/aggregate", {"collection": collection, "groupBy": [field], "limit": _MOST_VALUES})]
    seen = [value(field, one.get(field)) for one in groups.items if isinstance(one, dict)]
    more = " among others" if groups.has_more else ""
    return (
        f"No rule limits the {name(field)} of {name(collection)}. The records hold{more}: {', '.join(seen) or 'none'}."
    )


def _same(field: str, noun: str) -> bool:
    """Whether a word names a field: `statuses` names `status`."""
    words, said = [stem(one) for one in name_words(field)], [stem(one) for one in name_words(noun)]
    return words == said or stem("".join(said)) == stem("".join(words)) or stem(noun) == field.lower()


def _allowed(found: Mapping[str, Any], field: str) -> list[Any]:
    schema = found.get("schema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    spec = properties.get(field) if isinstance(properties, dict) else None
    if isinstance(spec, dict) and isinstance(spec.get("enum"), list):
        return list(spec["enum"])
    return [True, False] if isinstance(spec, dict) and spec.get("type") == "boolean" else []


def _read_changed(context: RequestContext) -> Iterable[Reading]:
    words = words_of("schemas")
    wording = Wording(context)
    if not wording.take(words["records"]):
        return
    changed, created = wording.take(words["changed"]), wording.take(words["created"])
    count = wording.count()
    span = wording.span()
    limit = wording.limit()
    if not (changed or created) or (span is None and (limit is None or limit.most)):
        return
    wording.take(words["may"])
    done = "changed" if changed else "been created"
    steps = lambda: _changed(context, span, done, "updatedAt" if changed else "createdAt")  # noqa: E731
    yield wording.reading(
        "changed records", steps, "the number of records that changed" if count else "changed records"
    )


def _changed(context: RequestContext, span: TimeSpan | None, done: str, field: str) -> Steps:
    if not context.offered("data/count"):
        raise NotOffered("data/count")
    if context.conversation.data:
        names = [one.name for one in context.conversation.data if one.kind == "managed"]
    else:
        items = yield from _describe_all(context)
        names = [str(one.get("collection")) for one in items if one.get("kind") == "managed"]
    says = span.says if span else "in the last day"
    if not names:
        return (
            f"No records have {done} {says}: there are no collections of your own here yet. "
            "collection/define makes one."
        )
    day = (datetime.fromtimestamp(context.now, UTC) - timedelta(days=1)).isoformat(timespec="milliseconds")
    where = within(field, span)[0] if span else {field: {"$gte": day.replace("+00:00", "Z")}}
    shown = names[:_MOST_COLLECTIONS]
    counts = yield [Step("data/count", {"collection": one, "filter": where}) for one in shown]
    found = {one: int(each.value.get("count", 0)) for one, each in zip(shown, counts, strict=True)}
    total = sum(found.values())
    left = f" I looked at {number(len(shown))} of {number(len(names))} collections." if len(names) > len(shown) else ""
    if not total:
        return f"No records have {done} {says}.{left}"
    parts = [f"{number(count)} in {name(one)}" for one, count in found.items() if count]
    has = "record has" if total == 1 else "records have"
    return f"{number(total)} {has} {done} {says}: {in_a_row(parts)}.{left}"
