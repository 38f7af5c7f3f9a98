"""Finding the one record that an order names: by its id, its label, or the records that it links."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any

import msgspec

from doorward.agents.house import sentences, words
from doorward.agents.house.orders.phrases import WIDE, is_quoted, unquote
from doorward.agents.house.orders.tables import Table, is_plural, split_noun
from doorward.agents.house.plan import Declined, Step, Unknown
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult

_MAX_TABLES = 12
_MAX_WORDS = 24
_MAX_LABEL = 6
"""Words of a label at most."""
_ID = re.compile(
    r"(?:(?:number|no\.?|nr\.?|id|(?:with|whose|under)\s+(?:the\s+)?(?:id|number)(?:\s+is)?|numbered)\s+)?#?(?P<id>[\w-]*\d[\w-]*)",
    re.IGNORECASE,
)
_CONNECTORS = frozenset(
    ("of", "by", "with", "for", "on", "from", "to", "in", "at", "the", "and", "a", "an", "made", "'s", ",", ":")
)
_LINKS = re.compile(r"\b(?:of|by|with|for|on|from)\b")
_PREDICATE = re.compile(r"\s(?:is|was|are|were|has|had|have|went|came|did|does|got|arrived|needs|can)\b")
_ONE_AT_A_TIME = "I did nothing: I change one record at a time. Name it by its id or its name."
_NO_NAME = re.compile(r"[%_\\]")
Found = Generator[list[Step], list[ToolResult], "Record | None"]


class Record(msgspec.Struct, frozen=True):
    table: Table
    id: str | int
    says: str


def find_record(
    context: RequestContext, tables: Sequence[Table], said: str, *, within: Table | None = None, fact: bool = False
) -> Found:
    """Return the one record that a text names; None if it names none.

    `within` is the collection, if it is named elsewhere. `fact` says that a text may go on after the record, such as
    `was a mistake`. Raises Unknown if the text fits several records.
    """
    if WIDE.search(said):
        raise Declined(_ONE_AT_A_TIME)
    table, noun, rest = split_noun(said, tables)
    if within is not None and table is not within:
        table, noun, rest = within, "", re.sub(r"^(?:(?:the|record|entry)\s+)+", "", said.strip())
    if is_plural(noun):
        raise Declined(_ONE_AT_A_TIME)
    rest = re.sub(r"^(?:called|named|titled)\s+", "", rest.strip(" ,:"), flags=re.IGNORECASE)
    if not rest:
        return None
    candidates = [table] if table is not None else [*tables][:_MAX_TABLES]
    subject = _PREDICATE.split(rest, maxsplit=1)[0] if fact else rest
    found = yield from _named(context, candidates, subject)
    if found is None and table is not None and _LINKS.search(rest):
        found = yield from _linked(context, tables, table, rest, fact=fact)
    if found is None and not fact:
        yield from _suggest(candidates, rest)
    return found


def _named(context: RequestContext, tables: Sequence[Table], rest: str) -> Found:
    """Find a record by its id or its whole label."""
    id = _ID.fullmatch(unquote(rest))
    steps, looked = [], []
    for table in tables:
        ways: list[dict[str, Any]] = [{table.key: table.to_id(id["id"])}] if id else []
        if id and id["id"].isdigit() and len(tables) == 1:
            ways.append({table.key: {"$ilike": f"%-{id['id']}"}})
        if table.label:
            ways.append({table.label: {"$in": _spellings(unquote(rest))}})
        if ways:
            where = ways[0] if len(ways) == 1 else {"$or": ways}
            steps.append(Step("data/list", {"collection": table.name, "filter": where, "limit": 3}, lookup=True))
            looked.append(table)
    return (yield from _look(context, steps, looked))


def _look(context: RequestContext, steps: list[Step], tables: list[Table]) -> Found:
    if not steps:
        return None
    if "data/list" not in context.tools:
        raise Unknown("I do not know which record that is: I cannot look records up here.")
    results = yield steps
    found = [(table, one) for table, got in zip(tables, results, strict=True) for one in _records(got)]
    if len(found) > 1:
        named = [_describe(table, one) for table, one in found]
        raise Unknown(f"I did nothing. Which do you mean: {sentences.in_a_row(named, 'or')}?")
    if not found:
        return None
    table, one = found[0]
    return Record(table, one[table.key], _describe(table, one))


def _records(got: ToolResult) -> list[dict[str, Any]]:
    return [one for one in got.items if isinstance(one, dict)]


def _describe(table: Table, one: dict[str, Any]) -> str:
    label = one.get(table.label) if table.label else None
    known = f"the {table.one} {sentences.name(str(one.get(table.key)))}"
    return f"{known} ({sentences.name(str(label))})" if label else known


def _spellings(text: str) -> list[str]:
    return list(dict.fromkeys((text, text.title(), text.lower(), text.capitalize())))


def _suggest(tables: Sequence[Table], rest: str) -> Generator[list[Step], list[ToolResult], None]:
    """Name the records whose label holds a text. None of them is taken: a part of a name may be another's, too."""
    bare = unquote(rest)
    if len(bare) < 2 or len(bare.split()) > _MAX_LABEL:
        return
    looked = [one for one in tables if one.label]
    if not looked:
        return
    pattern = f"%{_NO_NAME.sub('', bare)}%"
    results = yield [
        Step("data/list", {"collection": one.name, "filter": {one.label: {"$ilike": pattern}}, "limit": 5}, lookup=True)
        for one in looked
    ]
    near = [_describe(table, one) for table, got in zip(looked, results, strict=True) for one in _records(got)]
    if len(near) == 1:
        raise Unknown(f"I did nothing. Do you mean {near[0]}? Then say the whole name.")
    if near:
        raise Unknown(f"I did nothing. Which do you mean: {sentences.in_a_row(near[:5], 'or')}?")


def _linked(context: RequestContext, tables: Sequence[Table], table: Table, rest: str, *, fact: bool) -> Found:
    """Find a record by the labels of the records that it links, such as `loan of Dune by Anna Berg`."""
    request = Request(rest)
    grams = _grams(request)
    others = [one for one in tables if one.label and one is not table][:_MAX_TABLES]
    if not grams or not others or "data/list" not in context.tools:
        return None
    wanted = sorted({spelling for text in grams for spelling in (text, text.title())})
    results = yield [
        Step(
            "data/list",
            {
                "collection": one.name,
                "filter": {one.label: {"$in": wanted}},
                "fields": list(dict.fromkeys((one.key, one.label))),
                "limit": 50,
            },
            lookup=True,
        )
        for one in others
    ]
    links: dict[str, set[Any]] = {}
    for other, got in zip(others, results, strict=True):
        for one in _records(got):
            links.setdefault(str(one[other.label]).lower(), set()).update((one[other.key], one[other.label]))
    taken = _take(grams, links)
    if not taken or not _explains(
        request, {place for _, places in taken for place in places}, table, tables, fact=fact
    ):
        return None
    texts = [name for name, field in table.fields.items() if field.kind in ("text", "any", "number")]
    where = {
        "$and": [{"$or": [{name: {"$in": sorted(links[label], key=str)}} for name in texts]} for label, _ in taken]
    }
    return (
        yield from _look(
            context, [Step("data/list", {"collection": table.name, "filter": where, "limit": 3}, lookup=True)], [table]
        )
    )


def _grams(request: Request) -> dict[str, list[range]]:
    """Return the runs of words that may be a label, with their places."""
    found: dict[str, list[range]] = {}
    size = min(len(request), _MAX_WORDS)
    for first in range(size):
        for behind in range(first + 1, min(first + _MAX_LABEL, size) + 1):
            text = request.tokens[first].text if behind == first + 1 else request.between(first, behind)
            if request.tokens[first].text not in _CONNECTORS and request.tokens[behind - 1].text not in _CONNECTORS:
                found.setdefault(text, []).append(range(first, behind))
    return found


def _take(grams: dict[str, list[range]], links: dict[str, set[Any]]) -> list[tuple[str, range]]:
    """Return the labels in the text, the longest first, that do not overlap."""
    found = [(text.lower(), places) for text, every in grams.items() for places in every if text.lower() in links]
    taken: list[tuple[str, range]] = []
    for label, places in sorted(found, key=lambda one: -len(one[1])):
        if not any(set(places) & set(other) for _, other in taken):
            taken.append((label, places))
    return taken


def _explains(request: Request, places: set[int], table: Table, tables: Sequence[Table], *, fact: bool) -> bool:
    """Whether the words beside the labels only connect them; a fact may say more."""
    nouns = {words.stem(one) for other in tables for one in other.noun} | {
        words.stem(part) for name in table.fields for part in words.name_words(name)
    }
    if fact:
        return True
    for place, token in enumerate(request.tokens):
        if place in places or token.lower in _CONNECTORS or token.stem in nouns:
            continue
        after = request.tokens[place + 1].lower if place + 1 < len(request) else ""
        if not (token.lower.endswith("ed") and after in ("by", "for", "on", "with", "to")):
            return False
    return True


def is_pronoun(said: str) -> bool:
    return said.strip().lower() in (
        "it",
        "that",
        "this",
        "them",
        "that one",
        "this one",
        "him",
        "her",
        "these",
        "those",
    )


def is_name(said: str) -> bool:
    """Whether a text looks like the name of something: quoted, capitalised, or one word."""
    said = said.strip()
    return is_quoted(said) or said[:1].isupper() or any(one.isdigit() for one in said) or len(said.split()) == 1
