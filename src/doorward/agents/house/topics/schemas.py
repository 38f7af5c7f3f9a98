"""Collections and their fields, the values that a field takes, and which records changed lately."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import NotOffered, Reading, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.sentences import counted, in_a_row, name, number, one_line, value
from doorward.agents.house.topics.system_lists import within
from doorward.agents.house.topics.vocabulary import words_of
from doorward.agents.house.topics.wording import Wording
from doorward.agents.house.words import name_words, stem

_MOST = 30
_KINDS = {"managed": "your own", "attached": "attached", "system": "Doorward's own"}


def read(context: RequestContext) -> Iterable[Reading]:
    words = words_of("schemas")
    wording = Wording(context)
    if wording.take(words["collections_whole"]) or wording.take(words["collections"]):
        wording.count()
        wording.take(words["may"])
        yield wording.reading("collections", lambda: _collections(context), "the collections")
    for what, most in (("fields", 1), ("values", 2)):
        wording = Wording(context)
        if wording.has("allowed to") or not wording.take(words[what]):
            continue
        wording.take(words["collections"])
        wording.take(words["may"])
        in_span = frozenset(place for span in context.spans for place in span.places)
        nouns = [wording.request.tokens[one].text for one in wording.rest if one not in in_span]
        data = context.conversation.data
        known = any(_is_named(one.name, noun) for one in data for noun in nouns)
        if 1 <= len(nouns) <= most and (known or not data):
            wording.used |= set(wording.rest)
            says = f"the {what} of {' '.join(nouns)}"
            yield wording.reading(what, _describe(context, what, nouns), says, 0.98 if data else 0.8)
    yield from _read_changed(context)


def _is_named(collection: str, noun: str) -> bool:
    return collection.lower() == noun.lower() or _stems(collection.rpartition(".")[2]) == _stems(noun)


def _stems(text: str) -> list[str]:
    return [stem(one) for one in name_words(text)]


def _describe_all(context: RequestContext) -> Generator[list[Step], list[ToolResult], dict[str, str]]:
    """Return the collections and their kinds."""
    if context.conversation.data:
        return {one.name: one.kind for one in context.conversation.data}
    if not context.offered("data/describe"):
        raise NotOffered("data/describe")
    (result,) = yield [Step("data/describe", {}, lookup=True)]
    return {str(one.get("collection")): str(one.get("kind")) for one in result.items if isinstance(one, dict)}


def _collections(context: RequestContext) -> Steps:
    if not context.offered("data/describe"):
        raise NotOffered("data/describe")
    (result,) = yield [Step("data/describe")]
    parts = []
    for kind, whose in _KINDS.items():
        found = [name(str(one.get("collection"))) for one in result.items if one.get("kind") == kind]
        if found:
            there = counted(len(found), "collection is", "collections are")
            parts.append(f"{there} {whose}: {in_a_row(found[:_MOST])}.")
    return " ".join(parts) or "There are no collections."


def _describe(context: RequestContext, what: str, nouns: Sequence[str]) -> Callable[[], Steps]:
    def steps() -> Steps:
        names = yield from _describe_all(context)
        collection = next((one for noun in nouns for one in names if _is_named(one, noun)), "")
        if not collection:
            there = in_a_row([name(one) for one in list(names)[:_MOST]]) or "none"
            raise Unknown(f"I do not know a collection called {name(nouns[-1])}. There are {there}.")
        if not context.offered("data/describe"):
            raise NotOffered("data/describe")
        (result,) = yield [Step("data/describe", {"collection": collection})]
        found = result.value if isinstance(result.value, dict) else {}
        if not isinstance(found.get("fields"), dict):
            raise Unknown(f"I do not know the fields of {name(collection)}.")
        if what == "fields":
            return _describe_fields(collection, found)
        words = [one for one in nouns if not _is_named(collection, one)] or list(nouns)
        return (yield from _values(context, collection, found, words[0]))

    return steps


def _schema(found: dict[str, Any]) -> dict[str, Any]:
    return found["schema"] if isinstance(found.get("schema"), dict) else {}


def _describe_fields(collection: str, found: dict[str, Any]) -> str:
    parts = []
    for field, kind in found["fields"].items():
        facts = [one_line(str(kind), 60)]
        facts += ["required"] if field in (_schema(found).get("required") or ()) else []
        facts += ["the key"] if field == found.get("key") else []
        parts.append(f"{name(str(field))} ({', '.join(facts)})")
    holds = f" It holds {counted(found['count'], 'record', 'records')}." if isinstance(found.get("count"), int) else ""
    return f"{name(collection)} has {counted(len(parts), 'field', 'fields')}: {', '.join(parts)}.{holds}"


def _values(context: RequestContext, collection: str, found: dict[str, Any], word: str) -> Steps:
    said = _stems(word)
    field = next((one for one in found["fields"] if _stems(one) == said or stem(word) == one.lower()), "")
    if not field:
        there = in_a_row([name(one) for one in found["fields"]])
        raise Unknown(f"I do not know which field of {name(collection)} “{one_line(word, 60)}” means. It has {there}.")
    spec = (_schema(found).get("properties") or {}).get(field)
    allowed = spec.get("enum") if isinstance(spec, dict) else None
    if isinstance(allowed, list):
        there = in_a_row([value(field, one) for one in allowed], "or")
        return f"The {name(field)} of {name(collection)} can be {there}."
    if not context.offered("data/aggregate"):
        raise NotOffered("data/aggregate")
    (groups,) = yield [Step("data/aggregate", {"collection": collection, "groupBy": [field], "limit": _MOST})]
    seen = ", ".join(value(field, one.get(field)) for one in groups.items if isinstance(one, dict)) or "none"
    more = " among others" if groups.has_more else ""
    return f"No rule limits the {name(field)} of {name(collection)}. The records hold{more}: {seen}."


def _read_changed(context: RequestContext) -> Iterable[Reading]:
    words = words_of("schemas")
    wording = Wording(context)
    if not wording.take(words["records"]):
        return
    changed, created = wording.take(words["changed"]), wording.take(words["created"])
    wording.count()
    span = wording.span()
    if span is None or not (changed or created):
        return
    wording.take(words["may"])
    done, field = ("changed", "updatedAt") if changed else ("been created", "createdAt")
    yield wording.reading("changed records", lambda: _changed(context, span, done, field), "changed records")


def _changed(context: RequestContext, span: TimeSpan, done: str, field: str) -> Steps:
    if not context.offered("data/count"):
        raise NotOffered("data/count")
    kinds = yield from _describe_all(context)
    names = [one for one, kind in kinds.items() if kind == "managed"]
    if not names:
        none = "there are no collections of your own here yet. collection/define makes one."
        return f"No records have {done} {span.says}: {none}"
    where = within(field, span)[0]
    shown = names[:_MOST]
    counts = yield [Step("data/count", {"collection": one, "filter": where}) for one in shown]
    found = {one: int(each.value.get("count", 0)) for one, each in zip(shown, counts, strict=True)}
    total = sum(found.values())
    left = f" I looked at {number(len(shown))} of {number(len(names))} collections." if len(names) > len(shown) else ""
    if not total:
        return f"No records have {done} {span.says}.{left}"
    parts = in_a_row([f"{number(count)} in {name(one)}" for one, count in found.items() if count])
    return f"{number(total)} {'record has' if total == 1 else 'records have'} {done} {span.says}: {parts}.{left}"
