"""Requests about CSV and log files, whose rows are counted, summed, filtered and grouped here."""

from __future__ import annotations

from collections.abc import Iterable

from doorward.agents.house import log_lines, sentences
from doorward.agents.house.file_names import find_names
from doorward.agents.house.plan import Reading, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.table_answers import Table, TableQuery, answer_from_table
from doorward.agents.house.table_file import choose_file, parse_csv, read_text
from doorward.agents.house.word_claims import WordClaims

_OTHER_QUESTIONS = ("byte", "word", "size", "modified", "checksum", "long")


def read(context: RequestContext) -> Iterable[Reading]:
    yield from log_lines.read(context)
    claims = WordClaims(context.request)
    path, score = choose_file(context, find_names(context, claims), claims, (".csv", ".tsv"), "table")
    if not path or claims.find("search"):
        return
    request = claims.request
    claims.claim("table", "file", "idle")
    operation = next((one for one in ("maximum", "minimum", "average", "sum") if claims.claim(one)), "")
    counts = not operation and claims.asks_count
    if not operation and request.has("how much"):
        operation = "sum"
    if not operation and claims.claim("first"):
        operation = "maximum"
    most = claims.claim_number() if operation in ("maximum", "minimum") else 0
    rows = bool(claims.find("row"))
    has_condition = bool(claims.left or claims.find("over") or claims.find("under"))
    if not (operation or counts or claims.find("per") or (rows and has_condition)):
        return
    claims.claim("column", "row", *(["count"] if counts else []))
    if counts and rows and not claims.left and any(one.lower in ("line", "lines") for one in request.tokens):
        return
    query = TableQuery(
        path=path, operation=operation, counts=counts, rows=rows, most=most, claims=claims, spans=context.spans
    )
    yield Reading(
        name="read a table",
        steps=lambda: _answer(context, query),
        explained=claims.explained | frozenset(claims.left),
        score=score * (0.85 if any(claims.find(one) for one in _OTHER_QUESTIONS) else 1.0),
        says=f"{operation or ('count' if counts else 'rows')} of {path}",
    )


def _answer(context: RequestContext, query: TableQuery) -> Steps:
    text = yield from read_text(context, query.path)
    columns, rows = parse_csv(text)
    if not columns:
        return f"{sentences.name(query.path)} is empty."
    return answer_from_table(query, Table(columns, rows))
