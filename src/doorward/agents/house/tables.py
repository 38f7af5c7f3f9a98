"""Requests about CSV and log files, whose rows are counted, summed, filtered and grouped here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.file_names import FileNames, find_names, known_words
from doorward.agents.house.plan import Reading, Steps, Unknown
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.table_answers import Table, TableQuery, answer_from_table
from doorward.agents.house.table_file import LogLine, parse_csv, parse_log, read_text
from doorward.agents.house.word_claims import WordClaims
from doorward.agents.house.words import singular

_SHOWN = 20
_LEVEL_WORDS = {
    "error": "error",
    "warning": "warning",
    "critical": "critical",
    "fatal": "critical",
    "info": "info",
    "debug": "debug",
}


def read(context: RequestContext) -> Iterable[Reading]:
    yield from _read_logs(context)
    yield from _read_tables(context)


def _file(
    context: RequestContext, names: FileNames, claims: WordClaims, suffixes: tuple[str, ...], noun: str
) -> tuple[str, float]:
    """Return the one file of a kind that a request means, and how surely."""
    if len(names.files) == 1:
        return (names.files[0], 1.1) if names.files[0].lower().endswith(suffixes) else ("", 0.0)
    fitting = [one for one in names.choices if one.lower().endswith(suffixes)]
    if len(fitting) == 1:
        return fitting[0], 1.1
    if names.files or names.choices:
        return "", 0.0
    known = [one for one in context.conversation.files if one.lower().endswith(suffixes)]
    inside = [one for one in known if names.folder in ("", ".") or one.startswith(f"{names.folder}/")]
    folder_says_it = noun == "log_file" and names.folder.rpartition("/")[2] in ("log", "logs")
    if len(inside) == 1 and (claims.find(noun) or folder_says_it):
        claims.claim(noun)
        return inside[0], 0.9 if context.offered("debug/logs") and noun == "log_file" else 1.0
    return "", 0.0


def _read_logs(context: RequestContext) -> Iterable[Reading]:
    claims = WordClaims(context.request, known_words(context))
    names = find_names(context, claims)
    path, score = _file(context, names, claims, (".log",), "log_file")
    if not path:
        return
    claims.claim("log_file", "file")
    request = claims.request
    levels = {place: level for place, one in enumerate(request.tokens) if (level := _level(one.text, request, place))}
    level = next(iter(levels.values()), "")
    claims.claim_places(place for place, one in levels.items() if one == level)
    span = context.spans[0] if len(context.spans) == 1 else None
    hour = claims.claim("busiest")
    if not (level or hour or span):
        return
    claims.claim_places(span.places if span else ())
    counts = request.has("how many", "number", "count", "how often")
    claims.claim("count", "line", "report", "total")
    newest = bool(claims.find("newest") or claims.find("last")) and not hour
    amount = 1
    if newest:
        claims.claim("newest", "last")
        several = any(one.lower in ("errors", "warnings", "lines", "entries") for one in request.tokens)
        amount = claims.claim_number() or (10 if several else 1)
    text = ""
    if claims.find("search") or claims.find("search_with"):
        claims.claim("search", "search_with", "search_noun")
        run = claims.left_run
        if run is not None:
            text = claims.text(*run)
            claims.claim_places(range(*run))
    query = LogQuery(
        path=path,
        level=level,
        span=span,
        text=text,
        asks="hour" if hour else "count" if counts else "last" if newest else "list",
        amount=amount,
    )
    yield Reading(
        name="read a log",
        steps=lambda: _answer_log(context, query),
        explained=claims.explained,
        score=score,
        says=f"{query.asks}: {query.noun()} of {path}",
    )


def _level(word: str, request: Request, place: int) -> str:
    """Return the level that a word names; `info` names one only before `lines`."""
    behind = request.tokens[place + 1].lower if place + 1 < len(request) else ""
    level = _LEVEL_WORDS.get(singular(word.lower()), "")
    return level if level not in ("info", "debug") or singular(behind) in ("line", "message", "entry") else ""


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    level: str
    span: TimeSpan | None
    text: str
    asks: str
    amount: int

    def noun(self, count: int = 2) -> str:
        noun = self.level if self.level in ("error", "warning") else f"{self.level} line".strip()
        return f"{noun if count == 1 else f'{noun}s'}"

    @property
    def conditions(self) -> str:
        about = f" mentioning {sentences.name(self.text)}" if self.text else ""
        return f"{about} in {sentences.name(self.path)}{f' {self.span.says}' if self.span else ''}"


def _answer_log(context: RequestContext, query: LogQuery) -> Steps:
    text = yield from read_text(context, query.path)
    lines = parse_log(text, context.zone)
    if query.span and not any(one.at for one in lines):
        raise Unknown(f"I do not know: the lines of {sentences.name(query.path)} have no times.")
    if query.level and not any(one.level for one in lines):
        raise Unknown(f"I do not know: the lines of {sentences.name(query.path)} name no levels.")
    fitting = [one for one in lines if _fits(one, query)]
    count = len(fitting)
    if query.asks == "hour":
        return _busiest(query, fitting)
    if not fitting:
        return f"There are no {query.noun()}{query.conditions}."
    if query.asks == "last":
        shown = fitting[-query.amount :]
        head = f"The last {query.noun(1)}" if len(shown) == 1 else f"The last {len(shown)} {query.noun()}"
        return f"{head}{query.conditions}:\n{sentences.quote(chr(10).join(one.text for one in shown))}"
    lines_says = sentences.counted(count, query.noun(1), query.noun())
    head = f"There {'is' if count == 1 else 'are'} {lines_says}{query.conditions}"
    if query.asks == "count":
        return f"{head}."
    more = f". The last {_SHOWN}" if count > _SHOWN else ""
    text = "\n".join(one.text for one in fitting[-_SHOWN:])
    return f"{head}{more}:\n{sentences.quote(text)}"


def _fits(line: LogLine, query: LogQuery) -> bool:
    if query.level and line.level != query.level:
        return False
    if query.text and query.text.lower() not in line.text.lower():
        return False
    return query.span is None or _inside(line.at, query.span)


def _inside(at: datetime | None, span: TimeSpan) -> bool:
    return at is not None and (span.since is None or at >= span.since) and (span.until is None or at < span.until)


def _busiest(query: LogQuery, lines: list[LogLine]) -> str:
    hours = Counter(one.at.replace(minute=0, second=0, microsecond=0) for one in lines if one.at)
    if not hours:
        raise Unknown(f"I do not know: the lines of {sentences.name(query.path)} have no times.")
    hour, count = hours.most_common(1)[0]
    until = hour + timedelta(hours=1)
    lines_says = sentences.counted(count, query.noun(1), query.noun())
    return f"The busiest hour{query.conditions} is {hour:%Y-%m-%d %H:%M} to {until:%H:%M}, with {lines_says}."


def _read_tables(context: RequestContext) -> Iterable[Reading]:
    claims = WordClaims(context.request, known_words(context))
    names = find_names(context, claims)
    path, score = _file(context, names, claims, (".csv", ".tsv"), "table")
    if not path or claims.find("search"):
        return
    request = claims.request
    claims.claim("table", "file")
    operation = next((one for one in ("maximum", "minimum", "average", "sum") if claims.claim(one)), "")
    counts = not operation and request.has("how many", "number", "count", "how often")
    rows = bool(claims.find("row"))
    if not operation and request.has("how much"):
        operation = "sum"
    if not operation and claims.claim("first"):
        operation = "maximum"
    most = claims.claim_number() if operation in ("maximum", "minimum") else 0
    groups = bool(claims.find("per"))
    numbers = claims.find("over") | claims.find("under")
    if not (operation or counts or groups or (rows and (claims.left or numbers))):
        return
    claims.claim("column", "row", *(["count"] if counts else []))
    if counts and rows and not claims.left and any(one.lower in ("line", "lines") for one in request.tokens):
        return
    query = TableQuery(
        path=path, operation=operation, counts=counts, rows=rows, most=most, claims=claims, spans=context.spans
    )
    sure = not any(claims.find(one) for one in ("byte", "word", "size", "modified", "checksum", "history", "long"))
    yield Reading(
        name="read a table",
        steps=lambda: _answer_table(context, query),
        explained=claims.explained | frozenset(claims.left),
        score=score * (1.0 if sure else 0.85),
        says=f"{operation or ('count' if counts else 'rows')} of {path}",
    )


def _answer_table(context: RequestContext, query: TableQuery) -> Steps:
    text = yield from read_text(context, query.path)
    columns, rows = parse_csv(text)
    if not columns:
        return f"{sentences.name(query.path)} is empty."
    return answer_from_table(query, Table(columns, rows))
