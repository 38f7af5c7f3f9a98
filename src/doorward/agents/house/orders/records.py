"""Orders that change or delete one record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from doorward.agents.house import mood, sentences
from doorward.agents.house.orders.calls import make_reading, need, refuse
from doorward.agents.house.orders.new_records import read_new
from doorward.agents.house.orders.phrases import END, WIDE, OrderText, is_path, is_quoted, unquote
from doorward.agents.house.orders.record_search import Record, find_record, is_pronoun, resolve_value
from doorward.agents.house.orders.tables import Table, Tables
from doorward.agents.house.plan import Declined, Reading, Reply, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.words import load_patterns

_P = load_patterns("orders.json", "records")
"""`news` are statements that tell a new value, before an order such as `please update it`."""
_FACT = re.compile(_P["fact"], re.IGNORECASE | re.DOTALL)
_ARTICLE = re.compile(r"^(?:the|a|an|its)\s+(?:new\s+)?", re.IGNORECASE)
_STATES = {"close": "closed", "reopen": "open", "cancel": "cancelled", "ship": "shipped", "archive": "archived"}
_STATES |= {"resolve": "resolved", "finish": "finished", "complete": "completed", "pay": "paid", "activate": "active"}
_STATES |= {"deactivate": "inactive", "confirm": "confirmed"}
_PEOPLE = ("assignee", "assigned to", "owner", "agent", "responsible", "handled by", "technician")
_SEVERAL = re.compile(r"\b(?:or|but|because|then|so|since|while|though)\b", re.IGNORECASE)
_TOO_WIDE = "I change and delete records one at a time, and only those that are named."


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """One way to split an order into the record, the field and the value."""

    who: str
    value: str
    field: str = ""
    assigns: bool = False


def read(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    if not context.lexicon.collections:
        return None
    bare = text.bare.rstrip(" .!")
    found = _FACT.fullmatch(bare)
    fact, said = (found["fact"], found["order"]) if found is not None else ("", bare)
    return read_new(context, bare) or _read_delete(context, fact, said) or _read_change(context, fact, said)


def _read_delete(context: RequestContext, fact: str, said: str) -> Reading | Reply | None:
    found = re.match(
        rf"{_P['delete']}\s+(?P<who>.+?)(?:\s+(?:from|out\s+of)\s+(?:the\s+|our\s+)?(?P<noun>[\w ]+?)"
        rf"(?:\s+(?:table|collection|list|database))?)?{END}",
        said,
        re.I,
    )
    if found is None or (said.lower().startswith("take") and not found["noun"]):
        return None
    who, noun = re.sub(r"\s*[,;]\s+(?:it|that|this|because|since)\b.*$", "", found["who"]), found["noun"] or ""
    noun = "" if noun.lower() in ("database", "system", "records", "list", "data") else noun
    if (is_pronoun(who) and (not fact or noun)) or (is_path(who, context) and " " not in who):
        return None
    if WIDE.search(who):
        return refuse(_TOO_WIDE)

    def steps() -> Steps:
        need(context, "data/delete")
        tables = Tables(context)
        if noun and not tables.is_noun(noun):
            raise Unknown(_not_found(f"{who} from {noun}", tables))
        record = yield from find_record(tables, tables.all, who, fact, noun)
        if record is None:
            raise Unknown(_not_found(who, tables))
        yield [Step("data/delete", {"collection": record.table.name, "id": record.id})]
        return f"I deleted {record.says}. It can be taken back with undo."

    return make_reading(context, "delete a record", steps, f"delete {sentences.one_line(who, 80)}")


def _not_found(who: str, tables: Tables) -> str:
    known = sentences.in_a_row(sorted(tables.looked)[:8])
    if not known:
        return f"I did nothing: I do not know which record {sentences.name(who)} is."
    return f"I did nothing: I found no record that is called {sentences.name(who)}. I looked among {known}."


def _read_change(context: RequestContext, fact: str, said: str) -> Reading | Reply | None:
    changes = [*_splits(said)]
    if fact and re.fullmatch(_P["update_it"], said, re.I):
        changes = [*_matches(_P["news"], fact)]
    elif mood.tells_news(said):
        changes = [*_matches(_P["news"][:1], said)]
    if any(is_pronoun(one.who) for one in changes):
        changes = [one for one in changes if is_pronoun(one.who) and fact]
    tables = Tables(context)
    changes = [one for one in changes if any(_is_possible(one, table) for table in tables.all)]
    if not changes:
        return None
    if all(WIDE.search(one.who) for one in changes):
        return refuse(_TOO_WIDE)

    def steps() -> Steps:
        need(context, "data/update")
        return (yield from _apply(tables, changes, fact))

    return make_reading(context, "change a record", steps, f"change {sentences.one_line(changes[0].who, 80)}")


def _splits(order: str) -> Iterator[_Change]:
    """Yield the ways to split an order, the shortest names first."""
    said = re.fullmatch(rf"{_P['set']}\s+(?P<rest>.+)", order, re.I | re.DOTALL)
    for left, value in _cuts(said["rest"] if said else "", _P["to_value"]):
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
    yield from _matches(_P["forms"], order)
    yield from _matches(_P["assignments"], order, assigns=True)
    state = re.fullmatch(rf"(?P<verb>{'|'.join(_STATES)})\s+(?P<who>.+)", order, re.I)
    if state is not None:
        yield _Change(who=state["who"], value=_STATES[state["verb"].lower()])


def _matches(patterns: Sequence[str], text: str, *, assigns: bool = False) -> Iterator[_Change]:
    for pattern in patterns:
        found = re.fullmatch(pattern, text, re.I | re.DOTALL)
        if found is not None:
            field = found.groupdict().get("field") or ""
            yield _Change(who=found["who"], value=found["value"], field=field, assigns=assigns)


def _cuts(text: str, joint: str) -> Iterator[tuple[str, str]]:
    """Yield the two sides of each place where a text can be cut."""
    for found in re.finditer(joint, text, re.I):
        left, right = text[: found.start()].strip(), text[found.end() :].strip()
        if left and right:
            yield left, right


def _is_possible(change: _Change, table: Table) -> bool:
    """Whether a collection has the field and, if no field is named, the value."""
    if change.assigns:
        return _person_field(table) != ""
    if change.field:
        return table.find_field(change.field) != ""
    return table.find_value(unquote(change.value)) is not None


def _person_field(table: Table) -> str:
    fields = (table.find_field(one) for one in _PEOPLE)
    return next((one for one in fields if one and table.fields[one].kind in ("text", "any")), "")


def _apply(tables: Tables, changes: Sequence[_Change], fact: str) -> Steps:
    """Find the record of the first split that names one, and set its field."""
    refused = ""
    for change in changes:
        fitting = [one for one in tables.all if _is_possible(change, one)]
        try:
            record = yield from find_record(tables, fitting, change.who, fact)
        except Unknown as error:
            refused = refused or str(error)
            continue
        if record is not None:
            return (yield from _update(tables, record, change))
    raise Unknown(refused or _not_found(changes[0].who, tables))


def _update(tables: Tables, record: Record, change: _Change) -> Steps:
    table, value = record.table, unquote(change.value)
    if not is_quoted(change.value) and _SEVERAL.search(value):
        raise Declined(
            f"I did nothing: {sentences.name(value)} is more than one value. Quotation marks keep it together."
        )
    if change.field or change.assigns:
        field = table.find_field(change.field) if change.field else _person_field(table)
        new = yield from resolve_value(tables, table, field, value)
    else:
        field, new = table.find_value(value) or ("", None)
    yield [Step("data/update", {"collection": table.name, "id": record.id, "data": {field: new}})]
    says = f"{sentences.field_words(field)} {sentences.value(field, new)}"
    return f"I changed {record.says}: {says}. It can be taken back with undo."
