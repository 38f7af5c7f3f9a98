"""Answers from the rows of a table: the words of a request become its columns and values once its rows are known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import Unknown
from doorward.agents.house.request import Request
from doorward.agents.house.table_file import number_of
from doorward.agents.house.word_claims import WordClaims
from doorward.agents.house.words import name_words, same_words, stem

Row = dict[str, str]
_ROWS = 10
_GROUPS = 30
_TITLES = {"sum": "The total", "average": "The average", "maximum": "The highest", "minimum": "The lowest"}
_BY = frozenset(("per", "by", "each", "every"))


class Table(msgspec.Struct, frozen=True):
    columns: list[str]
    rows: list[Row]

    def numbers(self, column: str) -> list[float]:
        return [value for row in self.rows if (value := number_of(row.get(column, ""))) is not None]

    @property
    def measures(self) -> list[str]:
        """The columns that hold numbers in every row that has a value there."""
        return [
            one
            for one in self.columns
            if (held := [row for row in self.rows if row.get(one)]) and len(self.numbers(one)) == len(held)
        ]

    @property
    def dates(self) -> list[str]:
        """The columns that hold dates."""
        return [
            one
            for one in self.columns
            if self.rows
            and all(_moment(row.get(one, "")) for row in self.rows if row.get(one))
            and any(row.get(one) for row in self.rows)
            and one not in self.measures
        ]


class TableQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    operation: str
    """`sum`, `average`, `maximum` or `minimum`; empty for rows and their number."""
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
    conditions = [*_values(claims, table), *_period(query, table)]
    grouped, named = _columns(claims, table)
    conditions += _bounds(claims, table, named)
    distinct = claims.claim("distinct") or (query.counts and not query.rows and len(named) == 1 and not conditions)
    claims.claim("money", "per") if query.operation or grouped else claims.claim("per" if grouped else "column")
    if claims.left:
        word = sentences.name(claims.request.tokens[claims.left[0]].text)
        columns = sentences.in_a_row([sentences.name(one) for one in table.columns[:20]])
        raise Unknown(f"I do not know what {word} means in {sentences.name(query.path)}. Its columns are {columns}.")
    rows = [row for row in table.rows if all(fits(row) for _, fits in conditions)]
    where = f"{''.join(says for says, _ in conditions)} in {sentences.name(query.path)}"
    if grouped:
        return _describe_groups(
            query, table, rows, grouped, _measure(query, table, named) if query.operation else "", where
        )
    if query.operation:
        return _describe_figure(query, rows, _measure(query, table, named), where)
    head = f"There {'is' if len(rows) == 1 else 'are'} {sentences.counted(len(rows), 'row', 'rows')}{where}"
    if distinct and len(named) == 1 and not query.operation:
        values = sorted({row.get(named[0], "") for row in rows} - {""})
        many = sentences.counted(len(values), "different value", "different values")
        return f"There are {many} of {sentences.name(named[0])}{where}."
    if query.counts or not rows:
        return f"{head}."
    return f"{head}:\n{sentences.bullets([sentences.describe_record(one) for one in rows], most=_ROWS)}"


Condition = tuple[str, Callable[[Row], bool]]


def _values(claims: WordClaims, table: Table) -> list[Condition]:
    """Return the conditions that values of the table in the request make, the longest values first."""
    found: list[Condition] = []
    chosen: set[str] = set()
    words = [one.lower for one in claims.request.tokens]
    typed = [one.text.lower() for one in claims.request.tokens]
    whole: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for column in table.columns:
        for value in {row.get(column, "") for row in table.rows}:
            parts = tuple(one.text.lower() for one in Request(value).tokens)
            if parts and column not in table.measures:
                whole.setdefault(parts, set()).add((column, value))
    for parts in sorted(whole, key=len, reverse=True):
        for at in range(len(words) - len(parts) + 1):
            here = range(at, at + len(parts))
            if tuple(typed[at : at + len(parts)]) == parts and set(here) & set(claims.left):
                claims.claim_places(here)
                found.append(_equals(sorted(whole[parts]), chosen))
    for place in claims.left:
        if any(stem(part) == stem(words[place]) for one in table.columns for part in name_words(one)):
            continue
        partly = {
            pair
            for parts, pairs in whole.items()
            if any(stem(one) == stem(typed[place]) for one in parts)
            for pair in pairs
        }
        if len(partly) == 1:
            claims.claim_places((place,))
            found.append(_equals(sorted(partly), chosen))
        elif partly:
            choices = sentences.in_a_row([sentences.name(value) for _, value in sorted(partly)[:5]], "or")
            raise Unknown(f"I do not know which you mean: {choices}?")
    return found


def _equals(pairs: list[tuple[str, str]], chosen: set[str]) -> Condition:
    """Return the condition that a column has a value; `chosen` are the columns that have a condition already."""
    column, value = pairs[0]
    if column in chosen:
        raise Unknown(f"I do not know how to look for two values of {sentences.name(column)} at once.")
    chosen.add(column)
    if len(pairs) == 1:
        return f" with {sentences.name(column)} {sentences.name(value)}", lambda row: row.get(column) == value
    return f" with {sentences.name(value)}", lambda row: any(row.get(name) == one for name, one in pairs)


def _period(query: TableQuery, table: Table) -> list[Condition]:
    if len(query.spans) != 1 or len(table.dates) != 1:
        return []
    span, column = query.spans[0], table.dates[0]
    query.claims.claim_places(span.places)

    def fits(row: Row) -> bool:
        at = _moment(row.get(column, ""))
        zone = (span.since or span.until or datetime.now(UTC)).tzinfo
        moment = at.replace(tzinfo=at.tzinfo or zone) if at else None
        return (
            moment is not None
            and (span.since is None or moment >= span.since)
            and (span.until is None or moment < span.until)
        )

    return [(f" {span.says} by {sentences.name(column)}", fits)]


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if len(text) >= 10 else None
    except ValueError:
        return None


def _columns(claims: WordClaims, table: Table) -> tuple[str, list[str]]:
    """Return the column that the rows are grouped by and the other columns that the request names."""
    tokens = claims.request.tokens
    grouped, named = "", []
    for column in sorted(table.columns, key=len, reverse=True):
        parts = [stem(one) for one in name_words(column)]
        for at in range(len(tokens) - len(parts) + 1):
            here = tokens[at : at + len(parts)]
            if not parts or any(
                one.kind != "word" or not (same_words(one.stem) & same_words(part))
                for one, part in zip(here, parts, strict=True)
            ):
                continue
            if all(one.is_stop for one in here):
                continue
            before = [one.lower for one in tokens[max(0, at - 2) : at] if one.lower != "the"]
            if before and before[-1] in _BY and not grouped:
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
        column = _only([one for one in named if one in table.measures] or table.measures)
        if not column:
            raise Unknown("I do not know which column the number belongs to.")
        limit, is_over = token.number, bool(near & over)
        claims.claim_places((place, *near))
        return [_compares(column, limit, is_over=is_over)]
    return []


def _compares(column: str, limit: float, *, is_over: bool) -> Condition:
    def fits(row: Row) -> bool:
        value = number_of(row.get(column, ""))
        return value is not None and (value > limit if is_over else value < limit)

    return f" with {sentences.name(column)} {'over' if is_over else 'under'} {sentences.number(limit)}", fits


def _only(columns: list[str]) -> str:
    return columns[0] if len(columns) == 1 else ""


def _measure(query: TableQuery, table: Table, named: list[str]) -> str:
    column = _only([one for one in named if one in table.measures]) or (
        "" if any(one in table.measures for one in named) else _only(table.measures)
    )
    if not column:
        columns = sentences.in_a_row([sentences.name(one) for one in table.measures], "or") or "none"
        raise Unknown(
            f"I do not know which column of {sentences.name(query.path)} you mean. Those with numbers: {columns}."
        )
    return column


def _figure(operation: str, rows: list[Row], column: str) -> float | None:
    values = [value for row in rows if (value := number_of(row.get(column, ""))) is not None]
    if not values:
        return None
    match operation:
        case "sum":
            return round(sum(values), 6)
        case "average":
            return sum(values) / len(values)
        case "maximum":
            return max(values)
        case _:
            return min(values)


def _describe_figure(query: TableQuery, rows: list[Row], column: str, where: str) -> str:
    figure = _figure(query.operation, rows, column)
    if figure is None:
        return f"There are no rows{where}."
    head = f"{_TITLES[query.operation]} {sentences.name(column)}{where} is {sentences.number(figure)}"
    if query.operation in ("maximum", "minimum"):
        if query.most > 1:
            held = [row for row in rows if number_of(row.get(column, "")) is not None]
            held.sort(key=lambda row: number_of(row[column]) or 0, reverse=query.operation == "maximum")
            which = "highest" if query.operation == "maximum" else "lowest"
            shown = [sentences.describe_record(one) for one in held[: query.most]]
            return (
                f"The {len(shown)} rows with the {which} {sentences.name(column)}{where}:\n{sentences.bullets(shown)}"
            )
        best = [row for row in rows if number_of(row.get(column, "")) == figure]
        return f"{head}:\n{sentences.bullets([sentences.describe_record(one, leave=[column]) for one in best], most=3)}"
    return f"{head} (of {sentences.counted(len(rows), 'row', 'rows')})."


def _describe_groups(query: TableQuery, table: Table, rows: list[Row], by: str, measure: str, where: str) -> str:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.get(by, ""), []).append(row)
    figures = {key: _figure(query.operation, held, measure) if measure else len(held) for key, held in groups.items()}
    ranked = sorted(figures.items(), key=lambda one: -(one[1] or 0))
    what = f"{_TITLES[query.operation]} {sentences.name(measure)}" if measure else "The number of rows"
    lines = [f"{sentences.name(key) if key else '(none)'}: {sentences.number(value or 0)}" for key, value in ranked]
    return f"{what} per {sentences.name(by)}{where}:\n{sentences.bullets(lines, most=_GROUPS)}"
