"""Files that a request means by an earlier one: `it`, `the first one`, `the largest of them`.

A conversation shows texts only. So the earlier request is read again, its lookup runs again, and the file is taken from
the result, exactly as it is named there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.file_answers import find_matches, matches_of
from doorward.agents.house.file_query import FileEntry, find_files, which_file
from doorward.agents.house.file_requests import FileRequest, parse
from doorward.agents.house.plan import Step, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.word_claims import places_of

_ORDINALS = {"top": 0, "first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "bottom": -1}
_ORDINAL = re.compile(
    rf"\b(?:the )?(?P<which>{'|'.join(_ORDINALS)}) (?:one|file|document|of (?:them|those|these|the (?:list|files)))\b"
    r"|\b(?:the )?(?:one|file) at the (?P<end>top|bottom)(?: of (?:that|the|this) list)?|\bnumber (?P<number>[1-9])\b"
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
    """Raises Unknown if one file is meant and there are several, or none."""
    find_all: Callable[[], Entries]
    """Finds all files of the earlier request, before one of them was chosen."""

    def find(self) -> Generator[list[Step], list[ToolResult], list[str]]:
        """Find the files again and return their paths, exactly as they were found."""
        entries = yield from self.find_entries()
        return [one.path for one in entries]


def referred_files(context: RequestContext, depth: int = 0) -> FileReference | None:
    """Return the files that a request means by an earlier request; None if it refers to no files."""
    lower = context.request.lower
    if not context.earlier or depth > _MAX_DEPTH:
        return None
    ordinal, many, one = (pattern.search(lower) for pattern in (_ORDINAL, _ALL, _ONE))
    found = ordinal or many or one or _LOOSE.search(lower)
    before = context.with_text(context.earlier[0], context.earlier[1:])
    source = _source(before, depth, whole=bool(ordinal or many)) if found else None
    if found is None or source is None:
        return None
    single = ordinal is not None or found is one

    def find() -> Entries:
        entries = yield from source()
        if ordinal:
            index = int(ordinal["number"]) - 1 if ordinal["number"] else _ORDINALS[ordinal["which"] or ordinal["end"]]
            if not -len(entries) <= index < len(entries):
                files = sentences.counted(len(entries), "file was", "files were")
                raise Unknown(f"There is no such file: {files} found.")
            return [entries[index]]
        if single and not entries:
            raise Unknown("I do not know which file you mean: none was found.")
        if single and len(entries) > 1:
            raise which_file([path.path for path in entries])
        return entries

    return FileReference(places_of(context.request, found), single, not (ordinal or many or one), find, source)


def _source(before: RequestContext, depth: int, *, whole: bool) -> Callable[[], Entries] | None:
    """Return the lookup of the files that an earlier request was about; with `whole`, of those it chose from."""
    reference = referred_files(before, depth + 1)
    if reference is not None:
        return reference.find_all if whole and reference.single else reference.find_entries
    request = parse(before) or parse(before, by_words=True)
    if request is not None and before.request.meaningful <= request.explained:
        return lambda: _find(before, request)
    named = {one.text for one in before.request.tokens if one.kind == "path" and "@" not in one.text}
    return (lambda: _known(named)) if len(named) == 1 else None


def _known(paths: set[str]) -> Entries:
    yield from ()
    return [FileEntry(one) for one in paths]


def _find(context: RequestContext, request: FileRequest) -> Entries:
    named = request.names.files or request.names.choices
    if named:
        return [FileEntry(one) for one in named]
    if request.intent == "search":
        (result,) = yield [find_matches(context, request, lookup=True)]
        return [FileEntry(one) for one in matches_of(result, request)]
    found = yield from find_files(context, request.query, lookup=True)
    return [one for one in found.entries if not one.is_folder]
