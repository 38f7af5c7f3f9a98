"""Find every call in a text of somebody else, in any spelling.

An AI that shows a file or repeats a message can turn its content into a call by accident: a fence inside a fence is
enough. This module finds the calls that an AI may repeat, so that they can be recognised; none of them is ever run.
Unlike in an answer, nothing counts as an example or a quotation here: every place where a call may begin is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from doorward.agents.calls import fences, jsoncalls, lines, pythonic, react, tags, tokens
from doorward.agents.calls.found import Found
from doorward.agents.calls.page import Page
from doorward.agents.calls.wanted import Wanted

_OPENING = re.compile(
    rf"<(?:(?P<tags>{tags.OPENING})|(?P<token>{tokens.OPENING})|(?P<named>{tokens.NAMED_OPENING}))"
    rf"|^[ \t]*+(?:(?P<block>{fences.OPENING})|(?P<line>{lines.OPENING})|(?P<action>{react.OPENING}))"
    rf"|(?P<anywhere>\bEXECUTE:)|(?P<other_token>{tokens.OTHER_OPENING})|(?P<other_named>{tokens.OTHER_NAMED})"
    rf"|(?P<list>\[\s*+(?={pythonic.HEAD.pattern.replace('?P<name>', '?:')}))"
    rf"|(?P<json>(?=\{{\s*+[\"'](?:{'|'.join(jsoncalls.OPENS)})[\"']\s*+:))",
    re.MULTILINE,
)
_QUOTES = re.compile(r"^[ \t]*+(?:>[ \t]*+)++", re.MULTILINE)
_WRAPPED = re.compile(r"(?P<tick>[`\"'*_]{1,3}+)[ \t]*+(?P<call>EXECUTE:[^`\"'*\n]*+)(?P<end>[`\"'*]{1,3}+)")
"""A call within a sentence, in backticks or quotation marks, which are not part of its last value."""
_ESCAPES = re.compile(r"\\(?P<one>[nrt\"\\/])")
_MEANINGS = {"n": "\n", "r": "\n", "t": "\t"}
_STRING_ENDS = re.compile(r"\"(?=\s*+[,}\]])")
_LOOKS, _AND = 12, 100_000
"""The cost limit: how often each character may be scanned, plus an allowance for short texts."""


class Everywhere(msgspec.Struct, frozen=True):
    calls: tuple[Wanted, ...]
    whole: bool
    """Whether the whole text was read. A text that exceeds the cost limit is abandoned."""


def everywhere(text: str) -> Everywhere:
    """Find the calls in a text of somebody else."""
    calls: list[Wanted] = []
    whole = True
    for one in dict.fromkeys(_readable(text)):
        page = Page(one)
        for found in _each(page):
            calls += found.calls
        whole = whole and not _spent(page)
    return Everywhere(tuple(calls), whole)


def _readable(text: str) -> Iterator[str]:
    """Yield the text, the text without quotation marks and, if it may hold JSON, the content of its strings."""
    yield text
    plain = _QUOTES.sub("", text)
    yield _WRAPPED.sub(r"\n\g<call>\n", plain)
    if "\\" in plain or '"' in plain:
        held = _ESCAPES.sub(lambda found: _MEANINGS.get(found["one"], found["one"]), plain)
        yield held
        yield _STRING_ENDS.sub("\n", held)


def _each(page: Page) -> Iterator[Found]:
    at = 0
    while not _spent(page) and (opening := page.search(_OPENING, at)) is not None:
        page.hopeless = False
        way = next(name for name in _READERS if opening[name] is not None)
        found = _READERS[way](page, opening)
        if found is not None:
            yield found
        at = max(opening.end(), opening.start() + 1)


def _spent(page: Page) -> bool:
    return page.looked > _LOOKS * len(page.text) + _AND


def _json(page: Page, opening: re.Match[str]) -> Found | None:
    end = page.end_of_json(opening.end())
    return None if end < 0 else jsoncalls.read_json(page.text[opening.end() : end], end, marked=False)


def _listed(page: Page, opening: re.Match[str]) -> Found:
    calls: list[Wanted] = []
    at = opening.end()
    while (found := pythonic.one(page, at)) is not None and found.calls:
        calls += found.calls
        between = page.match(_BETWEEN, found.end)
        at = between.end() if between else found.end
    return Found(end=at, calls=tuple(calls))


_BETWEEN = re.compile(r"[\s,;]*+")
_READERS: dict[str, Callable[[Page, re.Match[str]], Found | None]] = {
    "tags": tags.tag,
    "token": tokens.marked,
    "named": tokens.named,
    "other_token": tokens.marked,
    "other_named": tokens.named,
    "block": fences.labelled,
    "line": lines.line,
    "anywhere": lines.behind_a_sentence,
    "action": react.action,
    "list": _listed,
    "json": _json,
}
