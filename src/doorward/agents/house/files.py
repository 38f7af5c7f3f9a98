"""Requests about files: which there are, what is in them, how large and how old they are."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import structs

from doorward.agents.house import sentences
from doorward.agents.house.file_answers import answer_about_files, count_lines, describe_list, search_files
from doorward.agents.house.file_query import (
    SHOWN,
    FileEntry,
    FileList,
    entry_of,
    find_files,
    select_entries,
    stat_step,
    which_file,
)
from doorward.agents.house.file_references import Entries, FileReference, referred_files
from doorward.agents.house.file_requests import FileRequest, parse
from doorward.agents.house.plan import Reading, Steps, Unknown
from doorward.agents.house.request_context import RequestContext

_BY_WORDS = 0.85
_LOOSE = 0.8
_SHOW = ("show", "read", "open", "print", "display", "see", "say", "view", "cat", "in it", "content", "give", "one")
_AGAIN = re.compile(r"(?:and |ok |now )*(?:what about|how about|the same (?:for|in)|same for|and in|and for)\b")
_MAX_STATS = 50


def read(context: RequestContext) -> Iterable[Reading]:
    request, reference = parse(context), referred_files(context)
    if reference is not None and not (reference.loose and request):
        follow_up = parse(context, reference.places, single=reference.single)
        asks = follow_up is not None and (follow_up.intent != "read" or context.request.has(*_SHOW))
        if follow_up is not None and asks and not follow_up.names.files:
            yield _reading(context, follow_up, 1.0, reference)
            if request is not None and not (request.names.files or request.names.folder):
                return
    again = _same_for(context)
    if again is not None:
        yield _reading(context, again, 1.0)
        return
    if request is not None:
        yield _reading(context, request, _LOOSE if request.names.loose else 1.0)
    by_words = parse(context, by_words=True)
    if by_words is not None and by_words.names.by_words:
        yield _reading(context, by_words, _BY_WORDS)


def _same_for(context: RequestContext) -> FileRequest | None:
    """Return the earlier request for another folder, kind or file, as in `what about docs`."""
    if not context.earlier or not _AGAIN.match(context.request.lower):
        return None
    before = context.with_text(context.earlier[0], context.earlier[1:])
    earlier, request = parse(before) or parse(before, by_words=True), parse(context) or parse(context, by_words=True)
    if earlier is None or request is None or not before.request.meaningful <= earlier.explained:
        return None
    if bool(earlier.names.files) != bool(request.names.files) or request.intent not in ("read", "list"):
        return None
    old, new = earlier.query, request.query
    changes = {
        name: value for name in ("folder", "kind", "suffixes", "span", "span_says") if (value := getattr(new, name))
    }
    query = structs.replace(old, **changes)
    return structs.replace(earlier, names=request.names, query=query, explained=request.explained)


def _reading(
    context: RequestContext, request: FileRequest, score: float, reference: FileReference | None = None
) -> Reading:
    names = request.names
    named = reference or names.files or names.choices or names.folder or names.suffixes
    of = sentences.in_a_row([*request.names.files]) or f"{request.query.noun()}{request.query.conditions}"
    return Reading(
        name=f"{request.intent} files",
        steps=lambda: _answer(context, request, reference),
        explained=request.explained,
        score=score,
        says=f"{request.intent}: {of}",
        depends=not named and not context.request.has("file", "folder", "directory", "document", "script"),
    )


def _answer(context: RequestContext, request: FileRequest, reference: FileReference | None) -> Steps:
    """Answer about the files that the request names or describes, or about those of the reference."""
    if request.names.choices:
        raise which_file(list(request.names.choices))
    is_many = request.intent in ("list", "count", "total size", "search", "line counts")
    entries = [FileEntry(one) for one in request.names.files]
    if reference is not None:
        entries = yield from reference.find_entries()
    if not is_many:
        return (yield from answer_about_files(context, request, [one.path for one in entries]))
    if request.intent == "search":
        return (yield from search_files(context, request, [one.path for one in entries] if reference else None))
    if reference is None:
        most = 1 if request.intent in ("count", "total size") else SHOWN
        found = yield from find_files(context, request.query, lookup=request.intent == "line counts", most=most)
    else:
        entries = select_entries((yield from _with_sizes(context, entries)), request.query)
        found = FileList(entries[: request.query.most], len(entries), sum(one.size or 0 for one in entries))
    if request.intent == "line counts":
        return (yield from count_lines(context, [one.path for one in found.entries]))
    return describe_list(request, found, context)


def _with_sizes(context: RequestContext, entries: list[FileEntry]) -> Entries:
    """Return entries with their sizes and times, if they have none yet."""
    if not entries or all(one.modified for one in entries):
        return entries
    if len(entries) > _MAX_STATS:
        raise Unknown(f"I do not look at {len(entries)} files one by one. Say in one request which of them you mean.")
    results = yield [stat_step(context, one.path, lookup=True) for one in entries]
    return [entry_of(context, one.value) for one in results if isinstance(one.value, dict)]
