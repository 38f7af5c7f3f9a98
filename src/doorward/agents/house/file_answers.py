"""Answers about files: the calls after the files are known, and the sentences about their results."""

from __future__ import annotations

import re
from typing import Any

from doorward.agents.house import sentences
from doorward.agents.house.file_query import (
    FileEntry,
    FileList,
    FileQuery,
    complete_path,
    find_files,
    read_step,
    stat_step,
)
from doorward.agents.house.file_requests import FileRequest
from doorward.agents.house.plan import NotOffered, Step, Steps, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult

_MAX_FILES = 20
_MAX_MATCHES = 1_000
_SHOWN_MATCHES = 3
_ORDERS = {("size", True): "largest", ("size", False): "smallest", ("time", True): "newest", ("time", False): "oldest"}


def answer_about_files(context: RequestContext, request: FileRequest, paths: list[str]) -> Steps:
    """Answer what is asked about the files that are named, one after another."""
    whole, answers = [], []
    for path in paths:
        whole.append((yield from complete_path(context, path)))
    if request.intent == "difference":
        return (yield from _compare(context, *whole[:2]))
    for path in whole:
        answers.append((yield from _answer_about(context, request, path)))
    return sentences.join_parts(answers)


def _compare(context: RequestContext, old: str, new: str) -> Steps:
    if not context.offered("shell/diff"):
        raise NotOffered("shell/diff")
    (result,) = yield [Step("shell/diff", {"old": old, "new": new})]
    both = f"{sentences.name(old)} and {sentences.name(new)}"
    return f"{both} differ:\n{sentences.quote(result.text)}" if result.text.strip() else f"{both} are the same."


def _answer_about(context: RequestContext, request: FileRequest, path: str) -> Steps:
    shown = sentences.name(path)
    match request.intent:
        case "lines":
            (read,) = yield [read_step(context, path, limit=1)]
            return f"{shown} has {sentences.counted(_lines(read), 'line', 'lines')}."
        case "part":
            return (yield from _read_part(context, request, path))
        case "mentions" | "count mentions":
            return (yield from _search_file(context, request, path))
        case "size" | "modified" | "checksum":
            (stat,) = yield [stat_step(context, path)]
            return _describe_stat(_value(stat), request.intent, shown, context)
        case "exists" | "locate":
            return (yield from _locate(context, path))
    (read,) = yield [read_step(context, path)]
    if request.intent == "words":
        return _count_words(read, shown)
    return _describe_content(read, shown)


def _value(result: ToolResult) -> dict[str, Any]:
    return result.value if isinstance(result.value, dict) else {}


def _describe_content(read: ToolResult, shown: str) -> str:
    value = _value(read)
    size, lines = value.get("size"), value.get("lines")
    if value.get("encoding") == "base64" or "mimeType" in value:
        return f"{shown} holds {sentences.size(size or 0)} that are no text."
    if size == 0:
        return f"{shown} is empty."
    amount = f" {sentences.counted(size, 'byte', 'bytes')}" if isinstance(size, int) else ""
    inside = f" in {sentences.counted(lines, 'line', 'lines')}" if isinstance(lines, int) else ""
    return f"{shown} holds{amount}{inside}:\n{sentences.quote(str(value.get('content') or read.text))}"


def _lines(read: ToolResult) -> int:
    lines = _value(read).get("lines")
    if not isinstance(lines, int):
        raise Unknown("I do not know how many lines it has: it is no text.")
    return lines


def _read_part(context: RequestContext, request: FileRequest, path: str) -> Steps:
    first, amount = request.first, request.amount
    if not first:
        (look,) = yield [read_step(context, path, lookup=True, limit=1)]
        first = max(1, _lines(look) - amount + 1)
    (read,) = yield [read_step(context, path, offset=first, limit=amount)]
    value = _value(read)
    last, lines = value.get("lastLine", first), value.get("lines", first)
    which = f"Line {first}" if last == first else f"Lines {first} to {last}"
    text = sentences.quote(value.get("content", ""))
    return f"{which} of the {sentences.number(lines)} of {sentences.name(path)}:\n{text}"


def _count_words(read: ToolResult, shown: str) -> str:
    content = _value(read).get("content")
    if read.has_more or not isinstance(content, str):
        raise Unknown(f"I do not know how many words {shown} has: it is too large to read at once.")
    return f"{shown} has {sentences.counted(len(content.split()), 'word', 'words')}."


def _describe_stat(value: dict[str, Any], intent: str, shown: str, context: RequestContext) -> str:
    size, modified, digest = value.get("size"), value.get("modified"), value.get("digest")
    if intent == "checksum" and digest:
        return f"The SHA-256 of {shown} is {digest}."
    if intent == "size" and isinstance(size, int):
        return f"{shown} is {_exact_size(size)}."
    if intent == "modified" and modified:
        return f"{shown} was last changed on {sentences.when(str(modified), context.zone)}."
    return f"I do not know: {shown} is a {value.get('type') or value.get('kind') or 'file'}, and has none."


def _exact_size(size: int) -> str:
    exact = f" ({sentences.number(size)} bytes)" if size >= 1000 else ""
    return f"{sentences.size(size)}{exact}"


def _locate(context: RequestContext, path: str) -> Steps:
    folder, _, base = path.rpartition("/")
    query = FileQuery(folder=folder, name=re.sub(r"[\[\]{}\\]", "?", base))
    found = yield from find_files(context, query)
    lines = [_entry_line(one, query, context) for one in found.entries if one.path == path] or [
        _entry_line(one, query, context) for one in found.entries
    ]
    if not lines:
        return f"No, there is no file {sentences.name(path)} here."
    if len(lines) == 1:
        return f"Yes, there is {lines[0]}."
    return f"There are {len(lines)} files of that name:\n{sentences.bullets(lines)}"


def find_matches(context: RequestContext, request: FileRequest, *, path: str = "", lookup: bool = False) -> Step:
    """Return the call that finds the lines with a text, in one file or in those of the query."""
    if not context.offered("file/search"):
        raise NotOffered("file/search")
    folder, suffixes = path or request.query.folder, request.query.suffixes
    params: dict[str, Any] = {"pattern": request.text, "ignoreCase": True, "limit": _MAX_MATCHES if path else 200}
    if request.is_word:
        params |= {"pattern": request.text if "\\" in request.text else rf"\b{request.text}(?:s|es)?\b", "regex": True}
    params |= {} if folder in ("", ".") else {"path": folder}
    params |= {"glob": f"*{suffixes[0]}"} if len(suffixes) == 1 else {}
    return Step("file/search", params, lookup)


def _search_file(context: RequestContext, request: FileRequest, path: str) -> Steps:
    (result,) = yield [find_matches(context, request, path=path)]
    count = result.total if result.total is not None else len(result.items)
    least = "at least " if count >= _MAX_MATCHES else ""
    shown, text = sentences.name(path), sentences.name(request.text)
    if not count:
        return f"No line of {shown} mentions {text}."
    verb = "mentions" if count == 1 else "mention"
    head = f"{least}{sentences.counted(count, 'line', 'lines')} of {shown} {verb} {text}"
    if request.intent == "count mentions":
        return f"{head}."
    lines = [f"{one.get('line')}: {one.get('text')}" for one in result.items if isinstance(one, dict)]
    return f"{head}:\n{sentences.quote(chr(10).join(lines), 20)}"


def search_files(context: RequestContext, request: FileRequest, paths: list[str] | None = None) -> Steps:
    """Find the files that mention a text."""
    (result,) = yield [find_matches(context, request)]
    return _describe_matches(request, matches_of(result, request, paths), cut=result.has_more)


def matches_of(
    result: ToolResult, request: FileRequest, paths: list[str] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Return the matching lines by file."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in result.items:
        path = str(one.get("path", "")) if isinstance(one, dict) else ""
        if path.lower().endswith(request.query.suffixes or ("",)) and (paths is None or path in paths):
            found.setdefault(path, []).append(one)
    return found


def _describe_matches(request: FileRequest, found: dict[str, list[dict[str, Any]]], *, cut: bool) -> str:
    text = sentences.name(request.text_says or request.text)
    verb = ("defines", "define") if request.text_says else ("mentions", "mention")
    noun, where = request.query.noun(1), request.query.conditions
    if not found:
        return f"No {noun}{where} {verb[0]} {text}."
    lines = []
    for path, matches in found.items():
        inside = "; ".join(
            f"line {one.get('line')}: {sentences.name(str(one.get('text', '')).strip(), 160)}"
            for one in matches[:_SHOWN_MATCHES]
        )
        more = f"; {len(matches) - _SHOWN_MATCHES} more" if len(matches) > _SHOWN_MATCHES else ""
        lines.append(f"{sentences.name(path)}, {inside}{more}")
    head = f"{'At least ' if cut else ''}{sentences.counted(len(found), noun, request.query.noun())}{where}"
    return f"{head} {verb[len(found) > 1]} {text}:\n{sentences.bullets(lines)}"


def count_lines(context: RequestContext, paths: list[str]) -> Steps:
    """Say how many lines each of some files has."""
    if not paths:
        return "There are no such files."
    if len(paths) > _MAX_FILES:
        raise Unknown(f"I do not count the lines of {len(paths)} files at once; name a folder or a kind of file.")
    results = yield [read_step(context, one, limit=1) for one in paths]
    counts = {path: _lines(one) for path, one in zip(paths, results, strict=True)}
    lines = [f"{sentences.name(path)}: {sentences.counted(many, 'line', 'lines')}" for path, many in counts.items()]
    return f"They have {sentences.number(sum(counts.values()))} lines together:\n{sentences.bullets(lines)}"


def describe_list(request: FileRequest, found: FileList, context: RequestContext) -> str:
    """Say which files there are, how many, or how large they are."""
    query, where = request.query, request.query.conditions
    known = found.total if found.total is not None else len(found.entries)
    least = "at least " if found.total is None else ""
    if not known:
        inside = sentences.name(query.folder) if query.folder not in ("", ".", "~") else "The folder"
        return f"{inside} is empty." if query.flat else f"There are no {query.noun()}{where}."
    if request.intent == "total size":
        if found.size is None:
            raise Unknown("I do not know how large they are together: there are too many of them.")
        files = sentences.counted(known, query.noun(1), query.noun())
        return f"The {files}{where} take up {_exact_size(found.size)}."
    order = _ORDERS.get((query.sort, query.descending), "")
    if order and query.most == 1:
        first = found.entries[0]
        fact = f", last changed on {sentences.when(first.modified, context.zone)}"
        fact = f": {_exact_size(first.size or 0)}" if query.sort == "size" else fact
        return f"The {order} {query.noun(1)}{where} is {sentences.name(first.path)}{fact}."
    shown = [_entry_line(one, query, context) for one in found.entries]
    if query.most:
        return f"The {len(shown)} {order} {query.noun(len(shown))}{where}:\n{sentences.bullets(shown, most=100)}"
    folders = sum(one.is_folder for one in found.entries) if query.flat else 0
    parts = [sentences.counted(known - folders, query.noun(1), query.noun())] if known > folders else []
    parts += [sentences.counted(folders, "folder", "folders")] if folders else []
    head = f"There {'is' if known == 1 else 'are'} {least}{' and '.join(parts)}{where}"
    if request.intent == "count":
        return f"{head}."
    return f"{head}:\n{sentences.bullets(shown, most=50, total=known)}"


def _entry_line(entry: FileEntry, query: FileQuery, context: RequestContext) -> str:
    if entry.is_folder:
        return sentences.name(f"{entry.path.rstrip('/')}/")
    facts = [sentences.size(entry.size)] if entry.size is not None else []
    if (query.span or query.sort == "time") and entry.modified:
        facts.append(f"changed {sentences.when(entry.modified, context.zone)}")
    return f"{sentences.name(entry.path)} ({', '.join(facts)})" if facts else sentences.name(entry.path)
