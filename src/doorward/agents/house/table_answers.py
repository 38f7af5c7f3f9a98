"""Answers from the rows of a table: the words of a request become its columns and values once its rows are known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from statistics import fmean

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.file_query import is_inside, moment_of
from doorward.agents.house.plan import Unknown
from doorward.agents.house.record_clues import state_of
from doorward.agents.house.request import Request
from doorward.agents.house.table_file import number_of
from doorward.agents.house.word_claims import WordClaims
from doorward.agents.house.words import NO, YES, name_words, same_words, stem

Row = dict[str, str]
Condition = tuple[str, Callable[[Row], bool]]
"""A condition in words, and whether a row fulfils it."""
_ROWS = 10
_GROUPS = 30
_OPERATIONS: dict[str, tuple[str, Callable[[list[float]], float]]] = {
    "sum": ("total", lambda values: round(sum(values), 6)),
    "average": ("average", fmean),
    "maximum": ("highest", max),
    "minimum": ("lowest", min),
}


class Table(msgspec.Struct, frozen=True):
    columns: list[str]
    rows: list[Row]

    def columns_of(self, parse: Callable[[str], object]) -> list[str]:
        """Return the columns whose cells can all be parsed, as numbers or times."""
        cells = {one: [row[one] for row in self.rows if row.get(one)] for one in self.columns}
        return [one for one, held in cells.items() if held and all(parse(text) is not None for text in held)]

    @property
    def measures(self) -> list[str]:
        return self.columns_of(number_of)


class TableQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    operation: str
    """A key of `_OPERATIONS`; empty for rows and their number."""
    counts: bool
    rows: bool = False
    """Whether the request speaks of rows."""
    most: int = 0
    """How many rows of the highest or lowest numbers are asked for."""
    claims: WordClaims
    """The words of the request; those that are left must be columns or values of the table."""
    spans: tuple[TimeSpan, ...] = ()


def answer_from_table(query: TableQuery, table: Table) -> str:
    """Answer a request. Raises Unknown if a word of it is neither a column nor a value."""
    claims = query.claims
    conditions = [*_flags(claims, table), *_values(claims, table), *_period(query, table)]
    grouped, named = _columns(claims, table)
    if grouped and not query.operation and not query.counts and set(named) & set(table.measures):
        query = msgspec.structs.replace(query, operation="sum")
    conditions += _bounds(claims, table, named)
    distinct = claims.claim("distinct") or (query.counts and not query.rows and len(named) == 1 and not conditions)
    claims.claim("money", "per") if query.operation or grouped else claims.claim("column")
    path = sentences.name(query.path)
    if claims.left:
        word = sentences.name(claims.request.tokens[claims.left[0]].text)
        columns = sentences.in_a_row([sentences.name(one) for one in table.columns[:20]])
        raise Unknown(f"I do not know what {word} means in {path}. Its columns are {columns}.")
    rows = [row for row in table.rows if all(fits(row) for _, fits in conditions)]
    where = f"{''.join(says for says, _ in conditions)} in {path}"
    measure = _measure(query, table, named) if query.operation else ""
    if grouped:
        return _describe_groups(query, rows, grouped, measure, where)
    if query.operation:
        return _describe_figure(query, rows, measure, where)
    if distinct and len(named) == 1:
        values = {row.get(named[0], "") for row in rows} - {""}
        many = sentences.counted(len(values), "different value", "different values")
        return f"There are {many} of {sentences.name(named[0])}{where}."
    head = f"There {'is' if len(rows) == 1 else 'are'} {sentences.counted(len(rows), 'row', 'rows')}{where}"
    if query.counts or not rows:
        return f"{head}."
    return f"{head}:\n{sentences.bullets([sentences.describe_record(one) for one in rows], most=_ROWS)}"


def _flags(claims: WordClaims, table: Table) -> list[Condition]:
    """Return the conditions on columns that hold yes and no: `unresolved`, `not paid`, `still open`."""
    found: list[Condition] = []
    tokens = claims.request.tokens
    for column in table.columns:
        held = {row.get(column, "").lower() for row in table.rows} - {""}
        stems = frozenset(stem(one) for one in name_words(column))
        states = [(at, state_of(one.lower, stems)) for at, one in enumerate(tokens) if at in claims.left]
        states = [(at, state) for at, state in states if state is not None]
        if held and held <= YES | NO and len(states) == 1:
            at, state = states[0]
            negated = at > 0 and tokens[at - 1].lower in ("not", "never", "isn't", "aren't", "wasn't", "weren't")
            claims.claim_places((at, at - 1) if negated else (at,))
            found.append(_is_flag(column, wanted=bool(state) != negated))
    return found


def _is_flag(column: str, *, wanted: bool) -> Condition:
    known = YES if wanted else NO | {""}
    return (
        f" with {sentences.name(column)} {'yes' if wanted else 'no'}",
        lambda row: row.get(column, "").lower() in known,
    )


def _values(claims: WordClaims, table: Table) -> list[Condition]:
    """Return the conditions that values of the table in the request make, the longest values first."""
    typed = [one.text.lower() for one in claims.request.tokens]
    columns = {stem(part) for one in table.columns for part in name_words(one)}
    measures = table.measures
    known: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for column in (one for one in table.columns if one not in measures):
        for value in {row.get(column, "") for row in table.rows} - {""}:
            known.setdefault(tuple(one.text.lower() for one in Request(value).tokens), set()).add((column, value))
    found: list[set[tuple[str, str]]] = []
    for parts in sorted(known, key=len, reverse=True):
        for at in range(len(typed) - len(parts) + 1):
            here = range(at, at + len(parts))
            if tuple(typed[at : at + len(parts)]) == parts and set(here) & set(claims.left):
                claims.claim_places(here)
                found.append(known[parts])
    for place in claims.left:
        word = stem(typed[place])
        partly = {pair for parts, pairs in known.items() if word in map(stem, parts) for pair in pairs}
        if not partly or claims.request.tokens[place].stem in columns:
            continue
        if len(partly) > 1:
            choices = sentences.in_a_row([sentences.name(value) for _, value in sorted(partly)[:5]], "or")
            raise Unknown(f"I do not know which you mean: {choices}?")
        claims.claim_places((place,))
        found.append(partly)
    chosen = [min(pairs)[0] for pairs in found]
    for column in chosen:
        if chosen.count(column) > 1:
            raise Unknown(f"I do not know how to look for two values of {sentences.name(column)} at once.")
    return [_equals(sorted(pairs)) for pairs in found]


def _equals(pairs: list[tuple[str, str]]) -> Condition:
    """Return the condition that a row has one of these values in its column."""
    column, value = pairs[0]
    says = f" {sentences.name(column)}" if len(pairs) == 1 else ""
    return f" with{says} {sentences.name(value)}", lambda row: any(row.get(name) == one for name, one in pairs)


def _period(query: TableQuery, table: Table) -> list[Condition]:
    dates = table.columns_of(moment_of)
    if len(query.spans) != 1 or len(dates) != 1:
        return []
    span, column = query.spans[0], dates[0]
    query.claims.claim_places(span.places)
    limit = span.since or span.until
    zone = (limit.tzinfo if limit else None) or UTC

    def fits(row: Row) -> bool:
        return is_inside(moment_of(row.get(column, ""), zone), span)

    return [(f" {span.says} by {sentences.name(column)}", fits)]


def _columns(claims: WordClaims, table: Table) -> tuple[str, list[str]]:
    """Return the column that the rows are grouped by and the other columns that the request names."""
    tokens = claims.request.tokens
    grouped, named = "", list[str]()
    for column in sorted(table.columns, key=len, reverse=True):
        parts = [same_words(stem(one)) for one in name_words(column)]
        for at in range(len(tokens) - len(parts) + 1 if parts else 0):
            here = tokens[at : at + len(parts)]
            fits = all(one.kind == "word" and one.stem in part for one, part in zip(here, parts, strict=True))
            if not fits or all(one.is_stop for one in here):
                continue
            before = [one.lower for one in tokens[max(0, at - 2) : at] if one.lower != "the"]
            if before[-1:] and before[-1] in ("per", "by", "each", "every") and not grouped:
                grouped = column
            elif column not in named:
                named.append(column)
            claims.claim_places(range(at, at + len(parts)))
    return grouped, [one for one in named if one != grouped]


def _bounds(claims: WordClaims, table: Table, named: list[str]) -> list[Condition]:
    """Return the condition of a number behind `over` or `under`."""
    over, under = claims.find("over"), claims.find("under")
    for place, token in enumerate(claims.request.tokens):
        near = {place - 1, place - 2} & (over | under)
        if token.number is None or place in claims.places or not near:
            continue
        columns = [one for one in named if one in table.measures] or table.measures
        if len(columns) != 1:
            raise Unknown("I do not know which column the number belongs to.")
        claims.claim_places((place, *near))
        return [_compares(columns[0], token.number, is_over=bool(near & over))]
    return []


def _compares(column: str, limit: float, *, is_over: bool) -> Condition:
    def fits(row: Row) -> bool:
        value = number_of(row.get(column, ""))
        return value is not None and (value > limit if is_over else value < limit)

    return f" with {sentences.name(column)} {'over' if is_over else 'under'} {sentences.number(limit)}", fits


def _measure(query: TableQuery, table: Table, named: list[str]) -> str:
    """Return the column with the numbers that are asked for."""
    measures = table.measures
    columns = [one for one in named if one in measures] or measures
    if len(columns) == 1:
        return columns[0]
    choices = sentences.in_a_row([sentences.name(one) for one in measures], "or") or "none"
    path = sentences.name(query.path)
    raise Unknown(f"I do not know which column of {path} you mean. Those with numbers: {choices}.")


def _describe_figure(query: TableQuery, rows: list[Row], column: str, where: str) -> str:
    held = [(value, row) for row in rows if (value := number_of(row.get(column, ""))) is not None]
    if not held:
        return f"There are no rows{where}."
    title, calculate = _OPERATIONS[query.operation]
    figure = calculate([value for value, _ in held])
    if query.most > 1:
        held.sort(key=lambda one: one[0], reverse=query.operation == "maximum")
        shown = [sentences.describe_record(row) for _, row in held[: query.most]]
        return f"The {len(shown)} rows with the {title} {sentences.name(column)}{where}:\n{sentences.bullets(shown)}"
    head = f"The {title} {sentences.name(column)}{where} is {sentences.number(figure)}"
    if query.operation in ("sum", "average"):
        return f"{head} (of {sentences.counted(len(rows), 'row', 'rows')})."
    best = [sentences.describe_record(row, leave=[column]) for value, row in held if value == figure]
    return f"{head}:\n{sentences.bullets(best, most=3)}"


def _describe_groups(query: TableQuery, rows: list[Row], by: str, measure: str, where: str) -> str:
    title, calculate = _OPERATIONS[query.operation] if measure else ("number of rows", len)
    groups: dict[str, list[float]] = {}
    for row in rows:
        value = number_of(row.get(measure, "")) if measure else 1
        groups.setdefault(row.get(by, ""), []).extend([] if value is None else [value])
    figures = {key: calculate(values) if values else 0 for key, values in groups.items()}
    ranked = sorted(figures.items(), key=lambda one: -one[1])
    lines = [f"{sentences.name(key) if key else '(none)'}: {sentences.number(value)}" for key, value in ranked]
    what = f"{title} {sentences.name(measure)}".strip() if measure else title
    return f"The {what} per {sentences.name(by)}{where}:\n{sentences.bullets(lines, most=_GROUPS)}"
