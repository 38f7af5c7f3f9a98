"""Find every call in a text of somebody else, in any spelling.

An AI that shows a file or repeats a message can turn its content into a call by accident: a fence inside a fence is
enough. This module finds the calls that an AI may repeat, so that they can be recognised; none of them is ever run.
Unlike in an answer, nothing counts as an example or a quotation here: every place where a call may begin is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from doorward.agents.calls import fences, json_calls, lines, python_calls, react, special_tokens, tags
from doorward.agents.calls.parsed import CallMatch, ParsedCall
from doorward.agents.calls.scanner import Scanner

_OPENING = re.compile(
    rf"<(?:(?P<tags>{tags.OPENING})|(?P<token>{special_tokens.OPENING})|(?P<named>{special_tokens.NAMED_OPENING}))"
    rf"|^[ \t]*+(?:(?P<block>{fences.OPENING})|(?P<line>{lines.OPENING})|(?P<action>{react.OPENING}))"
    rf"|(?P<anywhere>\bEXECUTE:)|(?P<other_token>{special_tokens.OTHER_OPENING})|(?P<other_named>{special_tokens.OTHER_NAMED})"
    rf"|(?P<list>\[\s*+(?={python_calls.HEAD.pattern.replace('?P<name>', '?:')}))"
    rf"|(?P<json>(?=\{{\s*+[\"'](?:{'|'.join(json_calls.FIRST_KEYS)})[\"']\s*+:))",
    re.MULTILINE,
)
_QUOTES = re.compile(r"^[ \t]*+(?:>[ \t]*+)++", re.MULTILINE)
_WRAPPED = re.compile(r"(?P<tick>[`\"'*_]{1,3}+)[ \t]*+(?P<call>EXECUTE:[^`\"'*\n]*+)(?P<end>[`\"'*]{1,3}+)")
"""A call within a sentence, in backticks or quotation marks, which are not part of its last value."""
_ESCAPES = re.compile(r"\\(?P<one>[nrt\"\\/])")
_MEANINGS = {"n": "\n", "r": "\n", "t": "\t"}
_STRING_ENDS = re.compile(r"\"(?=\s*+[,}\]])")
_SCANS_PER_CHARACTER, _SCAN_ALLOWANCE = 12, 100_000
"""The cost limit: how often each character may be scanned, plus an allowance for short texts."""


class FoundCalls(msgspec.Struct, frozen=True):
    calls: tuple[ParsedCall, ...]
    whole: bool
    """Whether the whole text was read. A text that exceeds the cost limit is abandoned."""


def find_calls(text: str) -> FoundCalls:
    """Find the calls in a text of somebody else."""
    calls: list[ParsedCall] = []
    whole = True
    for one in dict.fromkeys(_variants(text)):
        page = Scanner(one)
        for found in _find_matches(page):
            calls += found.calls
        whole = whole and not _is_too_costly(page)
    return FoundCalls(tuple(calls), whole)


def _variants(text: str) -> Iterator[str]:
    """Yield the text, the text without quotation marks and, if it may hold JSON, the content of its strings."""
    yield text
    plain = _QUOTES.sub("", text)
    yield _WRAPPED.sub(r"\n\g<call>\n", plain)
    if "\\" in plain or '"' in plain:
        held = _ESCAPES.sub(lambda found: _MEANINGS.get(found["one"], found["one"]), plain)
        yield held
        yield _STRING_ENDS.sub("\n", held)


def _find_matches(page: Scanner) -> Iterator[CallMatch]:
    at = 0
    while not _is_too_costly(page) and (opening := page.search(_OPENING, at)) is not None:
        page.has_unclosed_bracket = False
        way = next(name for name in _READERS if opening[name] is not None)
        found = _READERS[way](page, opening)
        if found is not None:
            yield found
        at = max(opening.end(), opening.start() + 1)


def _is_too_costly(page: Scanner) -> bool:
    return page.characters_scanned > _SCANS_PER_CHARACTER * len(page.text) + _SCAN_ALLOWANCE


def _read_json(page: Scanner, opening: re.Match[str]) -> CallMatch | None:
    end = page.end_of_json(opening.end())
    return None if end < 0 else json_calls.read_json(page.text[opening.end() : end], end, marked=False)


def _read_list(page: Scanner, opening: re.Match[str]) -> CallMatch:
    calls: list[ParsedCall] = []
    at = opening.end()
    while (found := python_calls.read_call(page, at)) is not None and found.calls:
        calls += found.calls
        between = page.match(_BETWEEN, found.end)
        at = between.end() if between else found.end
    return CallMatch(end=at, calls=tuple(calls))


_BETWEEN = re.compile(r"[\s,;]*+")
_READERS: dict[str, Callable[[Scanner, re.Match[str]], CallMatch | None]] = {
    "tags": tags.read_tag,
    "token": special_tokens.read_marked,
    "named": special_tokens.read_named,
    "other_token": special_tokens.read_marked,
    "other_named": special_tokens.read_named,
    "block": fences.read_labelled,
    "line": lines.read_line,
    "anywhere": lines.read_after_sentence,
    "action": react.read_action,
    "list": _read_list,
    "json": _read_json,
}
