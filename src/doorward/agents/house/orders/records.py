"""Orders that change or delete one record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.orders.new_records import read_new
from doorward.agents.house.orders.phrases import (
    END,
    WIDE,
    OrderText,
    is_path,
    is_quoted,
    make_reading,
    need,
    refuse,
    unquote,
)
from doorward.agents.house.orders.record_search import Record, find_record, is_pronoun
from doorward.agents.house.orders.tables import (
    Table,
    complete_table,
    is_only_noun,
    known_tables,
    load_tables,
    split_noun,
)
from doorward.agents.house.plan import Declined, Reading, Reply, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext

_SET = r"(?:set|change|update|edit|correct|switch|put|make|turn|move|mark|flag|flip)"
_DELETE = r"(?:delete|remove|erase|drop|discard|get\s+rid\s+of|throw\s+away|take)"
_FACT = re.compile(
    r"(?P<fact>\S.*?)(?:[.;:!,]|\s+-)\s+(?:(?:and|so|then)\s+)?(?:please\s+)?"
    r"(?P<order>(?:set|mark|flag|change|update|delete|remove|erase|assign|close|reopen|cancel|correct|discard|save|store|record|note|adjust|enter)\s.+)$",
    re.IGNORECASE | re.DOTALL,
)
_NEWS = (
    r"(?P<who>.+?)\s+(?:has|have|got|has\s+got)\s+(?:an?\s+)?(?:new|different)\s+(?P<field>[\w ]+?)\s*[:,]\s+"
    r"(?P<value>.+)",
    r"(?P<who>.+?)(?:'s|’s)\s+(?:new\s+)?(?P<field>[\w ]+?)\s+(?:is|changed\s+to|has\s+changed\s+to)\s+(?:now\s+)?"
    r"(?P<value>.+)",
    r"the\s+(?:new\s+)?(?P<field>[\w ]+?)\s+(?:of|for)\s+(?P<who>.+?)\s+is\s+(?:now\s+)?(?P<value>.+)",
)
_UPDATE_IT = (
    r"(?:update|change|correct|set|save|store)\s+(?:it|that|this|the\s+(?:record|status|state))(?:\s+accordingly)?"
)
_TO_VALUE = (
    r"\s+(?:to|as|into|=)\s+|,\s+(?:it(?:'s|’s| is| has been| was)|(?:which|that)\s+is)(?:\s+now)?\s+|,\s+now\s+"
)
_ARTICLE = re.compile(r"^(?:the|a|an|its)\s+(?:new\s+)?", re.IGNORECASE)
_FORMS = (
    r"(?:mark|make|set)\s+(?P<who>.+)\s+(?P<value>[\w-]+)",
    r"(?:update|change|edit|set)\s+(?P<who>.+?)(?::|,|\s+with|\s+to\s+have)\s+(?:the\s+|its\s+)?(?P<field>[\w ]+?)"
    r"(?::|=|\s+is|\s+to|\s+as|\s)\s*(?P<value>\S+)",
    r"give\s+(?P<who>.+?)\s+(?:the|an?)\s+(?:new\s+)?(?P<field>[\w ]+?)\s+(?:of\s+)?(?P<value>\S+)",
    r"make\s+(?P<value>.+?)\s+the\s+(?:new\s+)?(?P<field>[\w ]+?)\s+(?:of|for|on)\s+(?P<who>.+)",
)
_ASSIGN = (
    r"(?:assign|reassign|give|hand|pass|put|move|transfer|delegate|forward|allocate)(?:\s+over)?\s+(?P<who>.+?)(?:\s+over|\s+on)?\s+(?:to|on)\s+"
    r"(?P<value>.+)"
)
_TAKES = (
    r"(?:(?:let|have)\s+(?P<value>.+?)\s+(?:take(?:\s+over|\s+care\s+of)?|handle|own|work\s+on|look\s+after|deal\s+with)"
    r"|make\s+(?P<other>.+?)\s+responsible\s+for)\s+(?P<who>.+)"
)
_IS_NOW = (
    r"(?P<who>.+?)\s+(?:is|was|has\s+been|got)\s+(?:now\s+|already\s+)?(?P<value>[\w-]+)(?:\s+(?:now|already|today))?"
)
_STATES = {
    "close": "closed",
    "reopen": "open",
    "cancel": "cancelled",
    "ship": "shipped",
    "archive": "archived",
    "resolve": "resolved",
    "finish": "finished",
    "complete": "completed",
    "pay": "paid",
    "activate": "active",
    "deactivate": "inactive",
}
_PEOPLE = ("assignee", "assigned to", "owner", "agent", "responsible", "handled by", "technician")
_SEVERAL = re.compile(r"\b(?:or|but|because|then|so|since|while|though)\b", re.IGNORECASE)
_TOO_WIDE = "I change and delete records one at a time, and only those that are named."


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """One way to split an order into the record, the field and the value."""

    who: str
    value: str
    field: str = ""
    assigns: bool = False
    fact: str = ""
    """The statement before the order."""


def read(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    bare = text.bare.rstrip(" .!")
    return read_new(context, text) or _read_delete(context, bare) or _read_change(context, bare)


def _read_delete(context: RequestContext, bare: str) -> Reading | Reply | None:
    fact, said = _split_fact(bare)
    found = re.match(
        rf"{_DELETE}\s+(?P<who>.+?)(?:\s+(?:from|out\s+of)\s+(?:the\s+|our\s+)?(?P<noun>[\w ]+?)"
        rf"(?:\s+(?:table|collection|list|database))?)?{END}",
        said,
        re.I,
    )
    if found is None or (said.lower().startswith("take") and not found["noun"]):
        return None
    who, noun = re.sub(r"\s*[,;]\s+(?:it|that|this|because|since)\b.*$", "", found["who"]), found["noun"] or ""
    noun = "" if noun.lower() in ("database", "system", "records", "list", "data") else noun
    if is_pronoun(who) and (not fact or noun):
        return None
    who = fact if is_pronoun(who) else who
    if is_path(who, context) and " " not in who:
        return None
    if WIDE.search(who):
        return refuse(_TOO_WIDE)

    def steps() -> Steps:
        need(context, "data/delete")
        tables = yield from load_tables(context)
        within, _, beside = split_noun(noun, tables)
        if noun and (within is None or beside):
            raise Unknown(_not_found(f"{who} from {noun}", tables))
        named = who if not (fact and is_only_noun(who, tables)) else f"{who} of {fact}"
        record = yield from find_record(context, tables, named, within=within, fact=named != found["who"])
        if record is None:
            raise Unknown(_not_found(who, tables))
        yield [Step("data/delete", {"collection": record.table.name, "id": record.id})]
        return f"I deleted {record.says}. It can be taken back with undo."

    return make_reading(context, "delete a record", steps, f"delete {sentences.one_line(who, 80)}")


def _not_found(who: str, tables: Sequence[Table]) -> str:
    known = sentences.in_a_row([one.many for one in tables[:8]])
    there = f" I looked among {known}." if known else ""
    return f"I did nothing: I found no record that is called {sentences.name(who)}.{there}"


def _split_fact(bare: str) -> tuple[str, str]:
    """Return the statement before an order, and the order."""
    found = _FACT.fullmatch(bare)
    return (found["fact"], found["order"]) if found is not None else ("", bare)


def _read_change(context: RequestContext, bare: str) -> Reading | Reply | None:
    fact, said = _split_fact(bare)
    changes = [*_splits(said)]
    if fact:
        if re.fullmatch(_UPDATE_IT, said, re.I):
            news = [found for one in _NEWS if (found := re.fullmatch(one, fact, re.I | re.DOTALL))]
            changes = [_Change(who=one["who"], field=one["field"], value=one["value"]) for one in news]
            state = re.fullmatch(_IS_NOW, fact, re.I)
            changes += [_Change(who=state["who"], value=state["value"])] if state is not None else []
        about = [msgspec.structs.replace(one, who=fact, fact=fact) for one in changes if is_pronoun(one.who)]
        changes = about or [msgspec.structs.replace(one, fact=fact) for one in changes]
    changes = [one for one in changes if not is_pronoun(one.who)]
    tables = known_tables(context)
    if tables:
        changes = [one for one in changes if any(_is_possible(one, table) for table in tables)]
    if not changes:
        return None
    if all(WIDE.search(one.who) for one in changes):
        return refuse(_TOO_WIDE)

    def steps() -> Steps:
        return (yield from _apply(context, changes))

    return make_reading(context, "change a record", steps, f"change {sentences.one_line(changes[0].who, 80)}")


def _splits(order: str) -> Iterator[_Change]:
    """Yield the ways to split an order, the shortest names first."""
    said = re.fullmatch(rf"{_SET}\s+(?P<rest>.+)", order, re.I | re.DOTALL)
    rest = said["rest"] if said else ""
    for left, value in _cuts(rest, _TO_VALUE):
        left, value = re.sub(r"\s+from\s+\S+$|\s+over$", "", left), re.sub(r"\s+(?:now|already)$", "", value)
        for field, who in _cuts(left, r"\s+(?:of|for|on|in)\s+"):
            yield _Change(who=who, field=_ARTICLE.sub("", field), value=value)
        for who, field in (*_cuts(left, r"(?:'s|’s|(?<=s)'|(?<=s)’)\s+"), *_cuts(left, r"\s+")):
            yield _Change(who=who, field=field, value=value)
        for new, who in _cuts(value, r"\s+(?:of|for|on|in)\s+"):
            yield _Change(who=who, field=_ARTICLE.sub("", left), value=new)
            yield _Change(who=who, field=_ARTICLE.sub("", new), value=left)
        yield _Change(who=left, value=re.sub(r"^being\s+", "", value))
        for field, new in _cuts(value, r"\s+"):
            yield _Change(who=left, field=_ARTICLE.sub("", field), value=new)
    for pattern in _FORMS:
        found = re.fullmatch(pattern, order, re.I)
        if found is not None:
            yield _Change(who=found["who"], value=found["value"], field=found.groupdict().get("field") or "")
    taken = re.fullmatch(_TAKES, order, re.I)
    if taken is not None:
        yield _Change(who=taken["who"], value=taken["value"] or taken["other"], assigns=True)
    given = re.fullmatch(_ASSIGN, order, re.I)
    if given is not None:
        yield _Change(who=given["who"], value=given["value"], assigns=True)
        yield _Change(who=given["value"], value=given["who"], assigns=True)
    state = re.fullmatch(rf"(?P<verb>{'|'.join(_STATES)})\s+(?P<who>.+)", order, re.I)
    if state is not None:
        yield _Change(who=state["who"], value=_STATES[state["verb"].lower()])


def _cuts(text: str, joint: str) -> Iterator[tuple[str, str]]:
    """Yield the two sides of each place where a text can be cut."""
    for found in re.finditer(joint, text, re.I):
        left, right = text[: found.start()].strip(), text[found.end() :].strip()
        if left and right:
            yield left, right


def _is_possible(change: _Change, table: Table) -> bool:
    """Whether a collection has the field and, if no field is named, the value."""
    named = split_noun(change.who, [table])[0]
    if change.assigns:
        return _person_field(table) != ""
    if change.field:
        return table.find_field(change.field) != ""
    return table.find_value(unquote(change.value)) is not None or (named is not None and not table.complete)


def _person_field(table: Table) -> str:
    fields = (table.find_field(one) for one in _PEOPLE)
    return next((one for one in fields if one and table.fields[one].kind in ("text", "any")), "")


def _apply(context: RequestContext, changes: Sequence[_Change]) -> Steps:
    """Find the record of the first split that names one, and set its field."""
    need(context, "data/update")
    tables = yield from load_tables(context)
    refused = ""
    for change in changes:
        if not context.conversation.data and not any(_is_possible(change, one) for one in tables):
            continue
        fitting = [one for one in tables if _is_possible(change, one)] if change.field or change.assigns else tables
        try:
            record = yield from _find(context, tables, fitting, change)
        except Unknown as error:
            refused = refused or str(error)
            continue
        if record is not None:
            return (yield from _update(context, record, change))
    raise Unknown(refused or _not_found(changes[0].who, tables))


def _find(context: RequestContext, tables: Sequence[Table], fitting: Sequence[Table], change: _Change) -> Any:
    table = split_noun(change.who, tables)[0]
    if table is not None and table not in fitting:
        return None
    others = tables if table is not None else fitting
    about = change.who == change.fact
    if change.fact and is_only_noun(change.who, tables):
        return (yield from find_record(context, others, f"{change.who} of {change.fact}", fact=True))
    return (yield from find_record(context, others, change.who, fact=about))


def _update(context: RequestContext, record: Record, change: _Change) -> Steps:
    table = yield from complete_table(context, record.table)
    value = unquote(change.value)
    if not is_quoted(change.value) and _SEVERAL.search(value):
        raise Declined(
            f"I did nothing: {sentences.name(value)} is more than one value. Quotation marks keep it together."
        )
    if change.field or change.assigns:
        field = table.find_field(change.field) if change.field else _person_field(table)
        data = {field: table.coerce(context, field, value)} if field else {}
    else:
        found = table.find_value(value)
        data = {found[0]: found[1]} if found is not None else {}
    if not data:
        known = sentences.in_a_row([sentences.field_words(one) for one in table.fields])
        said = sentences.name(change.field or value)
        raise Declined(f"I did nothing: I do not know which field of {table.many} {said} means; they have {known}.")
    yield [Step("data/update", {"collection": table.name, "id": record.id, "data": data})]
    ((field, new),) = data.items()
    says = f"{sentences.field_words(field)} {sentences.value(field, new)}"
    return f"I changed {record.says}: {says}. It can be taken back with undo."
