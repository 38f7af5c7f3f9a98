"""The call that answers a query: data/list, data/count or data/aggregate, and data/query where it follows links.

The text of a SELECT is made of names of collections and fields, each quoted; values are always bound. The command runs
it read-only, and the database itself restricts it to what the caller may see.
"""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.lexicon import Lexicon
from doorward.agents.house.plan import NotOffered, Step
from doorward.agents.house.record_query import Condition, LinkedCondition, Path, RecordQuery
from doorward.agents.house.request_context import RequestContext

MAX_LISTED = 200
_SQL = {"eq": "=", "ne": "IS NOT", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class QueryBuilder:
    """Builds the call for one query."""

    def __init__(self, context: RequestContext, query: RecordQuery) -> None:
        self.context = context
        self.query = query
        self.lexicon: Lexicon = context.lexicon
        self._joins: dict[Path, str] = {}
        self._from: list[str] = []
        self._params: list[Any] = []

    def step(self, *, lookup: bool = False) -> Step:
        """Return the call. Raises NotOffered."""
        plain = self._plain()
        if plain is not None and self.context.offered(plain.command):
            return msgspec.structs.replace(plain, lookup=lookup)
        if not self.context.offered("data/query"):
            raise NotOffered(plain.command if plain is not None else "data/query")
        database = self.query.collection.rpartition(".")[0]
        params: dict[str, Any] = {"sql": self._select(), "params": self._params}
        if database:
            params["database"] = database
        return Step("data/query", {key: one for key, one in params.items() if one}, lookup)

    def _plain(self) -> Step | None:
        """Return a call without links between collections; None if the query needs them."""
        query = self.query
        paths = [*(one.path for one in query.conditions), query.of, query.group, query.order]
        if query.measure in ("list", "exists") and self._shows_ids() and self.context.offered("data/query"):
            return None
        yearly = any(one.op == "yearly" for one in query.conditions)
        if query.linked or query.ranked_by[0] or yearly or any(len(one) > 1 for one in paths):
            return None
        params: dict[str, Any] = {"collection": query.collection}
        where = self._filter(query.conditions)
        if where:
            params["filter"] = where
        if query.measure == "count":
            return Step("data/count", params)
        if query.measure in ("groups", "compare", "sum", "avg", "max", "min"):
            if query.group:
                params["groupBy"] = list(query.group)
            metric = {"count": {"count": "*"}}
            if query.of:
                metric = {query.measure: {query.measure: query.of[0]}, "count": {"count": "*"}}
            params |= {"metrics": metric, "limit": MAX_LISTED}
            return Step("data/aggregate", params)
        if query.measure == "values":
            return Step("data/aggregate", params | {"groupBy": list(query.of), "limit": MAX_LISTED})
        if query.order:
            params["orderBy"] = f"{'-' if query.descending else ''}{query.order[0]}"
            params["filter"] = {"$and": [*([where] if where else []), {query.order[0]: {"$exists": True}}]}
        params["limit"] = query.limit or MAX_LISTED
        return Step("data/list", params)

    def _shows_ids(self) -> bool:
        """Whether records without a name of their own would show ids of others, whose names people know."""
        profile = self.lexicon.profile(self.query.collection)
        return not profile.label and any(self._has_label((one.name,)) for one in profile.fields if one.links)

    def _has_label(self, path: Path) -> bool:
        """Whether a path is a link by a key to records with a label."""
        field = self._field(path)
        if field is None or field.links not in self.lexicon.collections:
            return False
        target = self.lexicon.profile(field.links)
        return bool(target.label) and target.label != field.links_by

    def _filter(self, conditions: tuple[Condition, ...]) -> dict[str, Any]:
        parts = [
            {"$or": [{one.path[0]: 0}, {one.path[0]: {"$exists": False}}]}
            if one.op == "none"
            else {one.path[0]: self._operand(one)}
            for one in conditions
        ]
        if len({next(iter(one)) for one in parts}) == len(parts):
            return {key: part for one in parts for key, part in one.items()}
        return {"$and": parts}

    def _operand(self, one: Condition) -> Any:
        if one.op == "eq":
            return one.value
        if one.op == "days":
            since, until = self._bounds(one)
            return {**({"$gte": since} if since else {}), **({"$lt": until} if until else {})}
        if one.op == "between":
            return {"$gte": one.value[0], "$lte": one.value[1]}
        if one.op in ("missing", "present"):
            return {"$exists": one.op == "present"}
        if one.op == "contains":
            return {"$ilike": f"%{one.value}%"}
        return {f"${one.op}": list(one.value) if one.op == "in" else one.value}

    def _bounds(self, one: Condition) -> tuple[str, str]:
        """Return the first moment and the one behind the last, as the field writes its times."""
        span: TimeSpan = one.value
        field = self._field(one.path)
        if field is not None and field.kind == "time":
            return span.since_utc, span.until_utc
        behind = ""
        if span.until is not None:
            # Texts compare by letters: every time of the last day comes before the next day.
            last = span.last_day
            behind = f"{last}~"
        return span.first_day, behind

    def _field(self, path: Path) -> Any:
        collection = self.query.collection
        for link in path[:-1]:
            found = self.lexicon.field(collection, link)
            collection = found.links if found else collection
        return self.lexicon.field(collection, path[-1])

    def _select(self) -> str:
        query = self.query
        counted = self._counted() if query.ranked_by[0] else ""
        linked = [one for one in query.linked if not self._is_counted(one)]
        where = [*(self._sql(one, "t") for one in query.conditions), *(self._exists(one) for one in linked)]
        what, tail = self._what(where, counted)
        tables = " ".join([f"{_quoted(_table(query.collection))} AS t", *self._from])
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        return f"SELECT {what} FROM {tables}{condition}{tail}"

    def _is_counted(self, one: LinkedCondition) -> bool:
        """Whether a condition restricts the records that are counted, as in `the most cancelled flights`."""
        return (one.collection, one.link) == self.query.ranked_by and not one.negated

    def _counted(self) -> str:
        """Return the number of linked records of each record. Its values are bound before those of the condition."""
        collection, link = self.query.ranked_by
        conditions = [each for one in self.query.linked if self._is_counted(one) for each in one.conditions]
        inner = QueryBuilder(self.context, RecordQuery(collection=collection, conditions=tuple(conditions)))
        inner._params = self._params
        parts = [self._link_match(collection, link, "r", "t"), *(inner._sql(each, "r") for each in conditions)]
        joins = "".join(f" {each}" for each in inner._from)
        what = f"coalesce(sum(r.{_quoted(self.query.of[0])}), 0)" if self.query.of else "count(*)"
        return f"(SELECT {what} FROM {_quoted(_table(collection))} AS r{joins} WHERE {' AND '.join(parts)})"

    def _what(self, where: list[str], counted: str) -> tuple[str, str]:
        query = self.query
        profile = self.lexicon.profile(query.collection)
        label = f"t.{_quoted(profile.label or profile.key)}"
        if counted:
            way = "DESC" if query.descending else "ASC"
            return f"{label} AS name, {counted} AS count", f" ORDER BY count {way} LIMIT {query.limit + 20}"
        if query.measure in ("count", "exists"):
            return "count(*) AS count", ""
        if query.group:
            shown = self._label_of(query.group)
            measured = f", {query.measure}({self._column(query.of, 't')}) AS {query.measure}" if query.of else ""
            where.append(f"{shown} IS NOT NULL")
            return f"{shown} AS name{measured}, count(*) AS count", f" GROUP BY 1 ORDER BY 1 LIMIT {MAX_LISTED}"
        if query.measure in ("sum", "avg", "max", "min"):
            return f"{query.measure}({self._column(query.of, 't')}) AS {query.measure}, count(*) AS count", ""
        if query.measure == "values":
            return f"DISTINCT {self._label_of(query.of)} AS name", f" ORDER BY 1 LIMIT {MAX_LISTED}"
        order = ""
        if query.order:
            column = self._column(query.order, "t")
            where.append(f"{column} IS NOT NULL")
            order = f" ORDER BY {column} {'DESC' if query.descending else 'ASC'}"
        names = dict.fromkeys([profile.key, *(field.name for field in profile.fields)])
        columns = [
            f"{self._label_of((one,))} AS {_quoted(one)}" if self._has_label((one,)) else f"t.{_quoted(one)}"
            for one in names
        ]
        extra = []
        for path in (query.of, query.order):
            if len(path) > 1:
                extra.append(f"{self._label_of(path)} AS {_quoted(' '.join(path))}")
        shown = ", ".join(dict.fromkeys([*columns, *extra]))
        return shown, f"{order} LIMIT {query.limit or MAX_LISTED}"

    def _label_of(self, path: Path) -> str:
        """Return the column of a path; for a link, that of the label of its target."""
        if self._has_label(path):
            return self._column((*path, self.lexicon.profile(self._field(path).links).label), "t")
        return self._column(path, "t")

    def _column(self, path: Path, alias: str) -> str:
        collection = self.query.collection
        for at in range(len(path) - 1):
            link = self.lexicon.field(collection, path[at])
            if link is None or not link.links:
                raise NotOffered("data/query")
            key = path[: at + 1]
            if key not in self._joins:
                name = f"j{len(self._joins)}"
                self._joins[key] = name
                before = self._joins.get(path[:at], alias)
                self._from.append(
                    f"LEFT JOIN {_quoted(_table(link.links))} AS {name} "
                    f"ON {name}.{_quoted(link.links_by)} = {before}.{_quoted(path[at])}"
                )
            collection = link.links
        return f"{self._joins.get(path[:-1], alias)}.{_quoted(path[-1])}"

    def _sql(self, one: Condition, alias: str) -> str:
        column = self._column(one.path, alias)
        return self._compare(column, one)

    def _compare(self, column: str, one: Condition) -> str:
        if one.op == "days":
            since, until = self._bounds(one)
            field = self._field(one.path)
            span: TimeSpan = one.value
            if field is not None and field.kind == "time":
                limits: tuple[Any, Any] = (
                    span.since.timestamp() if span.since else None,
                    span.until.timestamp() if span.until else None,
                )
            else:
                limits = (since or None, until or None)
            parts = [
                f"{column} {sign} {self._bind(limit)}" for sign, limit in zip((">=", "<"), limits, strict=True) if limit
            ]
            return " AND ".join([f"{column} IS NOT NULL", *parts])
        if one.op == "yearly":
            first, last = one.value.first_day[5:], one.value.last_day[5:]
            day, joint = f"substr({column}, 6, 5)", "AND" if first <= last else "OR"
            return f"({day} >= {self._bind(first)} {joint} {day} <= {self._bind(last)})"
        if one.op == "none":
            return f"({column} IS NULL OR {column} = 0)"
        if one.op == "between":
            return f"{column} BETWEEN {self._bind(one.value[0])} AND {self._bind(one.value[1])}"
        if one.op in ("missing", "present"):
            return f"{column} IS {'NOT ' if one.op == 'present' else ''}NULL"
        if one.op == "in":
            return f"{column} IN ({', '.join(self._bind(each) for each in one.value)})"
        if one.op == "contains":
            return f"{column} LIKE {self._bind(f'%{one.value}%')}"
        return f"{column} {_SQL[one.op]} {self._bind(one.value)}"

    def _bind(self, given: Any) -> str:
        self._params.append(given)
        return "?"

    def _exists(self, one: LinkedCondition) -> str:
        alias = f"e{len(self._params)}{self.query.linked.index(one)}"
        inner = QueryBuilder(self.context, RecordQuery(collection=one.collection, conditions=one.conditions))
        inner._params = self._params
        parts = [
            self._link_match(one.collection, one.link, alias, "t"),
            *(inner._sql(each, alias) for each in one.conditions),
        ]
        joins = "".join(f" {each}" for each in inner._from)
        # The joins of nested queries are named by their own numbers, which the scope of the subquery keeps apart.
        inside = f"SELECT 1 FROM {_quoted(_table(one.collection))} AS {alias}{joins} WHERE {' AND '.join(parts)}"
        return f"{'NOT ' if one.negated else ''}EXISTS ({inside})"

    def _link_match(self, collection: str, link: str, alias: str, outer: str) -> str:
        field = self.lexicon.field(collection, link)
        by = field.links_by if field else "id"
        return f"{alias}.{_quoted(link)} = {outer}.{_quoted(by)}"


def _table(collection: str) -> str:
    return collection.rpartition(".")[2]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
