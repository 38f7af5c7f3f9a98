"""Requests about the lines of a log file: how many errors it has, and which ones."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.file_names import find_names
from doorward.agents.house.file_query import is_inside, moment_of
from doorward.agents.house.plan import Reading, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.table_file import choose_file, read_text
from doorward.agents.house.word_claims import WordClaims
from doorward.agents.house.words import singular

_SHOWN = 20
_LEVELS = {
    "critical": r"\b(?:CRITICAL|FATAL)\b",
    "error": r"\b(?:ERROR|ERR|SEVERE)\b",
    "warning": r"\b(?:WARNING|WARN)\b",
    "info": r"\bINFO\b",
    "debug": r"\b(?:DEBUG|TRACE)\b",
}
_LEVEL = re.compile("|".join(f"(?P<{level}>{pattern})" for level, pattern in _LEVELS.items()))
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    level: str
    """A key of `_LEVELS`; empty for every line."""
    span: TimeSpan | None
    counts: bool
    last: int
    """How many of the last lines are asked for; 0 for all."""

    def noun(self, count: int = 2) -> str:
        noun = self.level if self.level in ("error", "warning") else f"{self.level} line".strip()
        return noun if count == 1 else f"{noun}s"

    @property
    def conditions(self) -> str:
        return f" in {sentences.name(self.path)}{f' {self.span.says}' if self.span else ''}"


def read(context: RequestContext) -> Iterable[Reading]:
    claims = WordClaims(context.request)
    path, score = choose_file(context, find_names(context, claims), claims, (".log",), "log_file")
    if not path:
        return
    claims.claim("log_file", "file")
    level = _claim_level(claims)
    span = context.spans[0] if len(context.spans) == 1 else None
    if not (level or span):
        return
    claims.claim_places(span.places if span else ())
    claims.claim("count", "line", "report", "total")
    last = 0
    if claims.claim("newest", "last"):
        several = any(one.lower in ("errors", "warnings", "lines", "entries") for one in claims.request.tokens)
        last = claims.claim_number() or (10 if several else 1)
    query = LogQuery(path=path, level=level, span=span, counts=claims.asks_count, last=last)
    yield Reading(
        name="read a log",
        steps=lambda: _answer(context, query),
        explained=claims.explained,
        score=score,
        says=f"{query.noun()}{query.conditions}",
    )


def _claim_level(claims: WordClaims) -> str:
    """Account for the first level that is named and return it; `info` names one only before `lines`."""
    words = [singular(one.text.lower()).replace("fatal", "critical") for one in claims.request.tokens]
    for place, word in enumerate(words):
        sure = word not in ("info", "debug") or words[place + 1 : place + 2] in (["line"], ["message"], ["entry"])
        if word in _LEVELS and sure:
            claims.claim_places((place,))
            return word
    return ""


def _answer(context: RequestContext, query: LogQuery) -> Steps:
    text = yield from read_text(context, query.path)
    lines = [one for one in text.splitlines() if one.strip()]
    if query.level:
        levels = [found.lastgroup if (found := _LEVEL.search(one)) else "" for one in lines]
        if not any(levels):
            raise Unknown(f"I do not know: the lines of {sentences.name(query.path)} name no levels.")
        lines = [one for one, level in zip(lines, levels, strict=True) if level == query.level]
    if query.span and lines:
        moments = [moment_of(found[0], context.zone) if (found := _MOMENT.search(one)) else None for one in lines]
        if not any(moments):
            raise Unknown(f"I do not know: the lines of {sentences.name(query.path)} have no times.")
        lines = [one for one, at in zip(lines, moments, strict=True) if is_inside(at, query.span)]
    if not lines:
        return f"There are no {query.noun()}{query.conditions}."
    count, shown = len(lines), lines[-(query.last or _SHOWN) :]
    head = f"There {'is' if count == 1 else 'are'} {sentences.counted(count, query.noun(1), query.noun())}"
    if query.counts:
        return f"{head}{query.conditions}."
    if query.last:
        head = f"The last {query.noun(1)}" if len(shown) == 1 else f"The last {len(shown)} {query.noun()}"
    more = f". The last {len(shown)}" if len(shown) < count and not query.last else ""
    return f"{head}{query.conditions}{more}:\n{sentences.quote(chr(10).join(shown))}"
