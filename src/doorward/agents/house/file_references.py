"""Files that a request means by an earlier one: `it`, `the first one`, `the largest of them`.

A conversation shows texts only. So the earlier request is read again, its lookup runs again, and the file is taken from
the result, exactly as it is named there.

    reference = referred_files(context)
    if reference is not None:
        paths = yield from reference.find()  # the entries, exactly as they were found

`reference.places` are the places of the words that refer to the files, `reference.single` tells whether they mean one.
`find` raises Unknown if one file is meant and there are several, or none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.file_answers import find_matches, matches_of
from doorward.agents.house.file_query import FileEntry, find_files
from doorward.agents.house.file_requests import FileRequest, parse
from doorward.agents.house.plan import Step, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult

_ORDINALS = {
    "first": 0,
    "1st": 0,
    "top": 0,
    "second": 1,
    "2nd": 1,
    "third": 2,
    "3rd": 2,
    "fourth": 3,
    "4th": 3,
    "fifth": 4,
    "last": -1,
}
_ORDINAL = re.compile(
    rf"\b(?:the )?(?P<which>{'|'.join(_ORDINALS)}) (?:one|file|document|of (?:them|those|these|the (?:list|files)))\b"
    r"|\b(?:the )?(?:one|file) at the (?P<end>top|bottom)(?: of (?:that|the|this) list)?|\bnumber (?P<number>\d)\b"
)
_ONE = re.compile(
    r"\b(?:its?|that (?:file|one|document)|this (?:file|one|document)|(?:that|this)(?=\W*$)"
    r"|the file(?! (?:that|which|with|called|named|in|whose|\S+\.\w)))\b"
)
_ALL = re.compile(r"\b(?:(?:all )?of (?:them|those|these)|those|these)\b")
_LOOSE = re.compile(r"\b(?:them|they|their)\b")
_MAX_DEPTH = 4

Entries = Generator[list[Step], list[ToolResult], list[FileEntry]]


class FileReference(msgspec.Struct, frozen=True):
    places: frozenset[int]
    """The places of the words that refer to the files."""
    single: bool
    """Whether they mean one file."""
    loose: bool
    """Whether the words may also mean files that the request itself names, as in `python files and their sizes`."""
    find_entries: Callable[[], Entries]
    find_all: Callable[[], Entries]
    """Finds all files of the earlier request, before one of them was chosen."""

    def find(self) -> Generator[list[Step], list[ToolResult], list[str]]:
        """Find the files again and return their paths. Raises Unknown if the reference fits none, or several."""
        entries = yield from self.find_entries()
        return [one.path for one in entries]


def referred_files(context: RequestContext, depth: int = 0) -> FileReference | None:
    """Return the files that a request means by an earlier request; None if it refers to no files."""
    lower = context.request.lower
    if not context.earlier or depth > _MAX_DEPTH:
        return None
    ordinal, one, many = _ORDINAL.search(lower), _ONE.search(lower), _ALL.search(lower)
    found = ordinal or many or one or _LOOSE.search(lower)
    if found is None:
        return None
    before = context.with_text(context.earlier[0], context.earlier[1:])
    source = _source(before, depth, whole=ordinal is not None or many is not None)
    if source is None:
        return None
    index = None
    if ordinal:
        said = ordinal["which"] or ordinal["end"] or ordinal["number"]
        index = int(said) - 1 if said.isdigit() else _ORDINALS.get(said, -1)

    def find() -> Entries:
        entries = yield from source()
        if index is not None:
            if not -len(entries) <= index < len(entries):
                raise Unknown(
                    f"There is no such file: {sentences.counted(len(entries), 'file was', 'files were')} found."
                )
            return [entries[index]]
        if found is one and len(entries) != 1:
            if not entries:
                raise Unknown("I do not know which file you mean: none was found.")
            names = [sentences.name(path.path) for path in entries[:4]]
            raise Unknown(f"Which file do you mean: {sentences.in_a_row(names, 'or')}?")
        return entries

    return FileReference(
        _places(context, found), ordinal is not None or found is one, not (ordinal or many or one), find, source
    )


def _places(context: RequestContext, found: re.Match[str]) -> frozenset[int]:
    at, places = 0, set()
    for place, token in enumerate(context.request.tokens):
        if at < found.end() and at + len(token.lower) > found.start():
            places.add(place)
        at += len(token.lower) + 1
    return frozenset(places)


def _source(before: RequestContext, depth: int, *, whole: bool) -> Callable[[], Entries] | None:
    """Return the lookup of the files that an earlier request was about; with `whole`, of those it chose from."""
    reference = referred_files(before, depth + 1)
    if reference is not None:
        return reference.find_all if whole and reference.single else reference.find_entries
    request = parse(before) or parse(before, by_words=True)
    if request is not None and before.request.meaningful <= request.explained:
        return lambda: _find(before, request)
    entries = [one.text for one in before.request.tokens if one.kind == "path" and "@" not in one.text]
    named = dict.fromkeys(entries)
    if len(named) == 1:
        only = next(iter(named))

        def single() -> Entries:
            yield from ()
            return [FileEntry(only)]

        return single
    return None


def _find(context: RequestContext, request: FileRequest) -> Entries:
    if request.names.files:
        return [FileEntry(one) for one in request.names.files]
    if request.intent == "search":
        (result,) = yield [find_matches(context, request, lookup=True)]
        return [FileEntry(one) for one in matches_of(result, request)]
    found = yield from find_files(context, request.query, lookup=True)
    return [one for one in found.entries if not one.is_folder]
