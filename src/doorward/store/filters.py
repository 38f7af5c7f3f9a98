"""Filters: compiles JSON such as `{"age": {"$gte": 18}}` to an SQL condition with bound parameters.

Every condition is true or false, never unknown. A field that is missing or null equals only null, so `$ne` and
`$nin` match it and comparisons do not. `$not` is the exact complement of its condition. Values compare only with
values of the same type. A table column that is null counts as missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import re2

from doorward.core.command import shorten
from doorward.core.errors import BadParams
from doorward.store import sql_functions
from doorward.store.dialect import SQLITE, Bindings, Ref
from doorward.store.values import Scalar, scalar, seconds

MAX_CONDITIONS = 200
MAX_DEPTH = 20
MAX_LIST = 1_000
MAX_VALUES = 5_000
"""Maximum over all lists of a filter: SQLite's time to prepare a statement grows with the square of this."""
MAX_PATTERN = 1_000

LOGIC = ("$and", "$or", "$not", "$nor")
OPERATORS = (
    *("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$regex", "$contains", "$like"),
    *("$ilike", "$between", "$null", "$not"),
)

_COMPARE = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class Fields(Protocol):
    """The part of a collection that a filter needs."""

    def ref(self, field: str, bind: Bindings) -> Ref:
        """The field as SQL; raises BadParams if there is no such field."""


def compile_filter(given: Mapping[str, Any] | None, fields: Fields, bind: Bindings) -> str:
    """The SQL condition for a filter. Without a filter, every row matches."""
    return _Compiler(fields, bind).filter(given or {}, 1)


class _Compiler:
    def __init__(self, fields: Fields, bind: Bindings) -> None:
        self._fields = fields
        self._bind = bind
        self._conditions = 0
        self._values = 0

    def filter(self, given: Any, depth: int) -> str:
        if not isinstance(given, Mapping):
            raise BadParams(f"A filter must be an object such as {{'name': 'x'}}; given {shorten(given)}.")
        self._check_depth(depth)
        parts = [
            self._logic(key, value, depth) if key.startswith("$") else self._field(key, value, depth)
            for key, value in given.items()
        ]
        return _all(parts)

    def _logic(self, operator: str, given: Any, depth: int) -> str:
        self._count()
        if operator not in LOGIC:
            raise BadParams(
                f"Unknown operator {operator!r}; use a field name or one of {', '.join(LOGIC)} here. "
                "Operators such as $gt belong inside a field."
            )
        if operator == "$not":
            return _negated(self.filter(given, depth + 1))
        if not isinstance(given, list) or not given:
            raise BadParams(f"{operator} takes a list of at least one filter; given {shorten(given)}.")
        parts = [self.filter(one, depth + 1) for one in given]
        if operator == "$and":
            return _all(parts)
        either = f"({' OR '.join(parts)})"
        return either if operator == "$or" else _negated(either)

    def _field(self, name: str, condition: Any, depth: int) -> str:
        ref = self._fields.ref(name, self._bind)
        return self._conditions_on(ref, name, condition, depth)

    def _conditions_on(self, ref: Ref, name: str, condition: Any, depth: int) -> str:
        self._check_depth(depth)
        if not isinstance(condition, Mapping):
            return self._operator(ref, name, "$eq", condition, depth)
        if not condition:
            raise BadParams(f"The condition on {name!r} is empty; give a value or operators such as {{'$gt': 5}}.")
        return _all([self._operator(ref, name, key, value, depth) for key, value in condition.items()])

    def _operator(self, ref: Ref, name: str, operator: str, value: Any, depth: int) -> str:
        self._count()
        where = f"{operator} on {name!r}"
        if operator == "$eq":
            return self._equal(ref, self._scalar(ref, value, where))
        if operator == "$ne":
            return _negated(self._equal(ref, self._scalar(ref, value, where)))
        if operator in _COMPARE:
            return self._compare(ref, _COMPARE[operator], self._scalar(ref, value, where), where)
        if operator == "$not":
            return _negated(self._conditions_on(ref, name, value, depth + 1))
        handler = _HANDLERS.get(operator)
        if handler is None:
            hint = "" if operator.startswith("$") else f"; for a field inside {name!r} write '{name}.{operator}'"
            raise BadParams(f"Unknown operator {operator!r} on {name!r}; valid: {', '.join(OPERATORS)}{hint}.")
        return handler(self, ref, value, where)

    def _equal(self, ref: Ref, value: Scalar) -> str:
        if value is None:
            return f"({ref.value} IS NULL)"
        if isinstance(value, bool):
            return _certain(SQLITE.is_boolean(ref, value))
        kind = SQLITE.is_text(ref) if isinstance(value, str) else SQLITE.is_number(ref)
        return _certain(f"{kind} AND {ref.value} = {self._bind(value)}")

    def _compare(self, ref: Ref, sign: str, value: Scalar, where: str) -> str:
        if value is None or isinstance(value, bool):
            raise BadParams(f"{where} takes a number or a string; given {shorten(value)}.")
        kind = SQLITE.is_text(ref) if isinstance(value, str) else SQLITE.is_number(ref)
        return _certain(f"{kind} AND {ref.value} {sign} {self._bind(value)}")

    def _in(self, ref: Ref, value: Any, where: str) -> str:
        if not isinstance(value, list) or len(value) > MAX_LIST:
            size = f" of {len(value)}" if isinstance(value, list) else ""
            raise BadParams(f"{where} takes a list of at most {MAX_LIST} values; given {type(value).__name__}{size}.")
        self._values += len(value)
        if self._values > MAX_VALUES:
            raise BadParams(f"The lists of the filter have more than {MAX_VALUES} values in total; use several calls.")
        values = [self._scalar(ref, one, where) for one in value]
        texts = [one for one in values if isinstance(one, str)]
        numbers = [one for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
        parts = [self._equal(ref, one) for one in (None, True, False) if any(one is each for each in values)]
        for kind, some in ((SQLITE.is_text(ref), texts), (SQLITE.is_number(ref), numbers)):
            if some:
                parts.append(_certain(f"{kind} AND {ref.value} IN ({', '.join(map(self._bind, some))})"))
        return f"({' OR '.join(parts)})" if parts else "FALSE"

    def _not_in(self, ref: Ref, value: Any, where: str) -> str:
        return _negated(self._in(ref, value, where))

    def _between(self, ref: Ref, value: Any, where: str) -> str:
        if not isinstance(value, list) or len(value) != 2:
            raise BadParams(f"{where} takes the list [lowest, highest]; given {shorten(value)}.")
        low, high = (self._scalar(ref, one, where) for one in value)
        if isinstance(low, str) is not isinstance(high, str):
            raise BadParams(f"{where} takes two numbers or two strings; given {shorten(value)}.")
        return _all([self._compare(ref, ">=", low, where), self._compare(ref, "<=", high, where)])

    def _exists(self, ref: Ref, value: Any, where: str) -> str:
        return _if(_flag(value, where), SQLITE.exists(ref))

    def _null(self, ref: Ref, value: Any, where: str) -> str:
        return _if(_flag(value, where), f"{ref.value} IS NULL")

    def _regex(self, ref: Ref, value: Any, where: str) -> str:
        text = _pattern(value, where)
        try:
            sql_functions.pattern(text)
        except re2.error as error:
            raise BadParams(f"{where} is not a valid RE2 pattern ({error}); given {shorten(value)}.") from error
        return _certain(SQLITE.matches(ref, self._bind(text)))

    def _like(self, ref: Ref, value: Any, where: str) -> str:
        return _certain(SQLITE.matches(ref, self._bind(like_pattern(_pattern(value, where)))))

    def _ilike(self, ref: Ref, value: Any, where: str) -> str:
        return _certain(SQLITE.matches(ref, self._bind("(?i)" + like_pattern(_pattern(value, where)))))

    def _contains(self, ref: Ref, value: Any, where: str) -> str:
        one = scalar(_pattern(value, where) if isinstance(value, str) else value, where)
        parts = [SQLITE.has_text(ref, self._bind(one))] if isinstance(one, str) else []
        if ref.document:
            parts.append(SQLITE.has_element(ref, self._equal(SQLITE.element(), one)))
        return _certain(" OR ".join(parts)) if parts else "FALSE"

    def _scalar(self, ref: Ref, value: Any, where: str) -> Scalar:
        one = scalar(value, where)
        return seconds(one, where) if ref.time else one

    def _count(self) -> None:
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise BadParams(f"The filter has more than {MAX_CONDITIONS} conditions; use $in, or several calls.")

    def _check_depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise BadParams(f"The filter is nested deeper than {MAX_DEPTH} levels; use fewer levels.")


_HANDLERS: dict[str, Callable[[_Compiler, Ref, Any, str], str]] = {
    "$in": _Compiler._in,
    "$nin": _Compiler._not_in,
    "$between": _Compiler._between,
    "$exists": _Compiler._exists,
    "$null": _Compiler._null,
    "$regex": _Compiler._regex,
    "$like": _Compiler._like,
    "$ilike": _Compiler._ilike,
    "$contains": _Compiler._contains,
}


def like_pattern(text: str) -> str:
    """Convert a LIKE pattern (`%` any text, `_` one character, `\\` escapes the next) to an anchored regex."""
    pieces = []
    for one in re.findall(r"\\.|.", text, re.DOTALL):
        if one == "%":
            pieces.append("(?s:.*)")
        elif one == "_":
            pieces.append("(?s:.)")
        else:
            pieces.append(re2.escape(one[-1]))
    return rf"\A{''.join(pieces)}\z"


def _pattern(value: Any, where: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_PATTERN:
        raise BadParams(f"{where} takes a string of at most {MAX_PATTERN} characters; given {shorten(value)}.")
    scalar(value, where)
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadParams(f"{where} takes true or false; given {shorten(value)}.")
    return value


def _if(wanted: bool, condition: str) -> str:
    return f"({condition})" if wanted else f"(NOT ({condition}))"


def _certain(condition: str) -> str:
    return f"(({condition}) IS TRUE)"


def _negated(condition: str) -> str:
    """Safe because every condition here is true or false, never unknown."""
    return f"(NOT {condition})"


def _all(parts: list[str]) -> str:
    return f"({' AND '.join(parts)})" if parts else "TRUE"
