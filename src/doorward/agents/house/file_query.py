"""Files by folder, kind, name, size and time: what a request says of them, and the calls that find and read them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Generator
from datetime import UTC, datetime, tzinfo
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.dates import TimeSpan, find_spans
from doorward.agents.house.file_names import MAX_KNOWN, FileNames
from doorward.agents.house.plan import NotOffered, Step, Unknown
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.word_claims import WordClaims, places_of

SHOWN = 100
"""Files that a listing fetches."""
_ALL = 10_000
_TOP = "/workspace"
_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_SIZE = re.compile(
    r"\b(?:(?P<over>over|above|more than|larger than|bigger than|greater than|at least|exceed(?:s|ing)?|beyond)"
    r"|under|below|less than|smaller than|at most|up to) (?P<amount>\d[\d,.]*) ?"
    r"(?:(?P<unit>[kmgt])(?:i?b|ilobytes?|egabytes?|igabytes?|erabytes?)?|b|bytes?)(?= |$)"
)
_LONG = re.compile(
    r"\b(?:for (?:over |more than |at least |the last )?|in )(?P<amount>\w+) (?P<unit>hour|day|week|month|year)s?\b"
)
_ORDERS = {
    "largest": ("size", True),
    "smallest": ("size", False),
    "newest": ("time", True),
    "oldest": ("time", False),
    "sort": ("size", True),
}


class FileEntry(msgspec.Struct, frozen=True):
    path: str
    """As seen from the session's folder."""
    size: int | None = None
    modified: str = ""
    is_folder: bool = False


class FileList(msgspec.Struct, frozen=True):
    entries: list[FileEntry]
    total: int | None
    """How many there are in all; None if more than were looked at."""
    size: int | None
    """The bytes of all of them together."""


class FileQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which files are meant, in which order and how many of them."""

    folder: str = ""
    kind: str = ""
    suffixes: tuple[str, ...] = ()
    name: str = ""
    """A pattern of the name, such as `*report*`."""
    name_says: str = ""
    larger: int | None = None
    smaller: int | None = None
    size_says: str = ""
    span: TimeSpan | None = None
    span_says: str = ""
    sort: str = ""
    """`size` or `time`; empty for names."""
    descending: bool = True
    most: int | None = None
    """How many of them are asked for, in the order of `sort`."""
    folders: bool = False
    """Whether folders are meant and not files."""
    flat: bool = False
    """Whether only the folder itself is meant, with its folders, and not what is below them."""

    @property
    def is_plain(self) -> bool:
        """Whether every file of the folder is meant."""
        return not (self.suffixes or self.name or self.size_says or self.span or self.sort or self.folders)

    def noun(self, count: int = 2) -> str:
        noun = f"{self.kind} file" if self.kind else "folder" if self.folders else "file"
        return f"{'empty ' if self.smaller == 1 else ''}{noun}{'' if count == 1 else 's'}"

    @property
    def conditions(self) -> str:
        """The conditions behind the noun, such as ` in docs over 1 MB changed this week`."""
        where = {"": "", ".": "", "~": " in your home folder"}.get(self.folder, f" in {sentences.name(self.folder)}")
        size = f" {self.size_says}" if self.size_says and self.smaller != 1 else ""
        return f"{where}{self.name_says}{size}{self.span_says}"


def find_query(context: RequestContext, claims: WordClaims, names: FileNames) -> FileQuery:
    """Return the files that a request describes, and account for the words that describe them."""
    conditions = _time(context, claims) | _size(claims) | _order(claims)
    return FileQuery(folder=names.folder, kind=names.kind, suffixes=names.suffixes, **conditions)


def _time(context: RequestContext, claims: WordClaims) -> dict[str, Any]:
    """Return the period in which the files were changed."""
    changed = claims.find("modified")
    unchanged = claims.find("not") if changed or claims.request.has("unchanged", "untouched") else frozenset[int]()
    long = _LONG.search(claims.request.lower) if unchanged else None
    if long:
        older = Request(f"older than {long['amount']} {long['unit']}s")
        for span in find_spans(older, datetime.fromtimestamp(context.now, context.zone)):
            claims.claim_places(unchanged | changed | places_of(claims.request, long))
            says = span.says.removeprefix("more than ").removesuffix(" ago")
            return {"span": span, "span_says": f" not changed for {says}"}
    if len(context.spans) != 1 or (unchanged and not context.spans[0].since):
        return {}
    span = context.spans[0]
    claims.claim_places(unchanged | changed | span.places)
    if unchanged:
        before = msgspec.structs.replace(span, since=None, until=span.since)
        return {"span": before, "span_says": f" not changed {span.says}"}
    return {"span": span, "span_says": f" changed {span.says}"}


def _size(claims: WordClaims) -> dict[str, Any]:
    """Return the bytes above or below which files are meant, and the condition in words."""
    if claims.claim("empty"):
        return {"smaller": 1, "size_says": "empty"}
    found = _SIZE.search(claims.request.lower)
    if not found:
        return {}
    claims.claim_places(places_of(claims.request, found))
    count = int(float(found["amount"].replace(",", "")) * _UNITS[found["unit"] or ""])
    says = f"{'over' if found['over'] else 'under'} {sentences.size(count)}"
    return {"larger" if found["over"] else "smaller": count, "size_says": says}


def _order(claims: WordClaims) -> dict[str, Any]:
    """Return the order of a superlative, and how many files are asked for."""
    tokens = claims.request.tokens
    for meaning, (sort, descending) in _ORDERS.items():
        found = claims.find(meaning)
        if not found:
            continue
        top = claims.find("first") if meaning == "sort" else frozenset[int]()
        claims.claim_places(found | top)
        most = None if meaning == "sort" else 1
        for place in sorted({min(found) - 1, max(found) + 1, *(one + 1 for one in top)}):
            number = tokens[place].number if 0 <= place < len(tokens) else None
            if number is not None and tokens[place].lower != "one":
                claims.claim_places((place,))
                most = int(number)
        plural = any(one.lower == "files" for one in tokens) and not claims.request.has("which", "of")
        return {"sort": sort, "descending": descending, "most": 5 if most == 1 and plural else most}
    return {}


Finding = Generator[list[Step], list[ToolResult], FileList]


def find_files(context: RequestContext, query: FileQuery, *, lookup: bool = False, most: int = SHOWN) -> Finding:
    """Find the files of a query; what the call cannot filter is filtered here."""
    finder, lister = context.offered("vfs/find"), context.offered("file/list", "vfs/list")
    if query.folder == "~":
        lister = context.offered("vfs/list", "vfs/find") or lister
    command = lister if lister and (query.flat or not finder) else finder
    if not command:
        raise NotOffered("file/list")
    params: dict[str, Any] = {} if query.folder in ("", ".") else {"path": _place(query.folder, command)}
    if command == finder and not query.flat:
        patterns = [query.name] if query.name else [f"*{one}" for one in query.suffixes] or [""]
        results = yield [Step(finder, _find_params(query, one, most), lookup) for one in patterns]
    else:
        results = yield [Step(command, params if query.flat else {**params, "recursive": True, "limit": _ALL}, lookup)]
    lists = [_entries(context, one, query) for one in results]
    entries = select_entries([one for found in lists for one in found.entries], query)
    totals, sizes = [one.total for one in lists], [one.size for one in lists]
    return FileList(
        entries[: query.most],
        None if None in totals else sum(one or 0 for one in totals),
        None if None in sizes else sum(one or 0 for one in sizes),
    )


def _place(path: str, command: str) -> str:
    """Return a path as a command takes it, before the model places it in the workspace."""
    if command.startswith("vfs/") and not path.startswith(("/", "~")):
        return _TOP if path == "." else f"{_TOP}/{path}"
    return path


def which_file(paths: list[str]) -> Unknown:
    """Return the question that names the files between which a request does not decide."""
    return Unknown(f"Which file do you mean: {sentences.in_a_row([sentences.name(one) for one in paths[:5]], 'or')}?")


def complete_path(context: RequestContext, path: str) -> Generator[list[Step], list[ToolResult], str]:
    """Return the path of a file that is named without its folder; it is looked up if not all files are known."""
    known = context.conversation.files
    if "/" in path or path in known or len(known) < MAX_KNOWN or not context.offered("vfs/find"):
        return path
    found = yield from find_files(context, FileQuery(name=path), lookup=True)
    paths = [one.path for one in found.entries]
    if len(paths) > 1 and path not in paths:
        raise which_file(paths)
    return paths[0] if len(paths) == 1 else path


def read_step(context: RequestContext, path: str, *, lookup: bool = False, **options: Any) -> Step:
    """Return the call that reads a file."""
    return _step(context, "read", path, lookup=lookup, **options)


def stat_step(context: RequestContext, path: str, *, lookup: bool = False) -> Step:
    """Return the call that tells the size and the time of a file."""
    return _step(context, "stat", path, lookup=lookup)


def _step(context: RequestContext, action: str, path: str, *, lookup: bool, **options: Any) -> Step:
    commands = [f"file/{action}", f"vfs/{action}"]
    command = context.offered(*(reversed(commands) if path.startswith(("~", "/")) else commands))
    if not command:
        raise NotOffered(commands[0])
    return Step(command, {"path": _place(path, command), **options}, lookup)


def _find_params(query: FileQuery, pattern: str, most: int) -> dict[str, Any]:
    span = query.span
    given: dict[str, Any] = {
        "kind": "folder" if query.folders else "file",
        "path": "" if query.folder in ("", ".") else _place(query.folder, "vfs/find"),
        "name": pattern,
        "ignoreCase": bool(pattern),
        "larger": "" if query.larger is None else str(query.larger),
        "smaller": "" if query.smaller is None else str(query.smaller),
        "newer": span.since_utc if span and span.since else "",
        "older": span.until_utc if span and span.until else "",
        "sort": query.sort,
        "descending": bool(query.sort) and query.descending,
        "limit": query.most or most,
    }
    return {key: value for key, value in given.items() if value}


def _entries(context: RequestContext, result: ToolResult, query: FileQuery) -> FileList:
    found = [entry_of(context, one) for one in result.items if isinstance(one, dict)]
    entries = select_entries(found, query)
    if not result.has_more:
        total = None if result.total is None else len(entries)
        return FileList(entries, total, sum(one.size or 0 for one in entries))
    whole = result.value if len(entries) == len(found) and isinstance(result.value, dict) else {}
    matched, size = whole.get("matched"), whole.get("bytes")
    return FileList(entries, matched if isinstance(matched, int) else None, size if isinstance(size, int) else None)


def select_entries(entries: list[FileEntry], query: FileQuery) -> list[FileEntry]:
    """Return the entries that a query means, in its order."""
    fitting = [one for one in entries if _fits(one, query)]
    if query.sort:
        by_size = query.sort == "size"
        fitting.sort(key=lambda one: (one.size or 0, "") if by_size else (0, one.modified), reverse=query.descending)
    return fitting


def entry_of(context: RequestContext, item: dict[str, Any]) -> FileEntry:
    path = str(item.get("path") or item.get("name") or "")
    here = f"{_TOP}/{context.conversation.folder}".rstrip("/")
    path = path.removeprefix(f"{here}/").removeprefix(f"{_TOP}/")
    size = item.get("size")
    is_folder = (item.get("type") or item.get("kind")) in ("folder", "directory")
    return FileEntry(path, size if isinstance(size, int) else None, str(item.get("modified") or ""), is_folder)


def _fits(entry: FileEntry, query: FileQuery) -> bool:
    if entry.is_folder != query.folders:
        return entry.is_folder and query.flat
    base = posixpath.basename(entry.path).lower()
    return (
        (not query.suffixes or base.endswith(query.suffixes))
        and (not query.name or fnmatchcase(base, query.name.lower()))
        and (query.larger is None or (entry.size or 0) > query.larger)
        and (query.smaller is None or (entry.size is not None and entry.size < query.smaller))
        and (query.span is None or is_inside(moment_of(entry.modified), query.span))
    )


def moment_of(text: str, zone: tzinfo = UTC) -> datetime | None:
    """Return the time that an ISO text names."""
    try:
        moment = datetime.fromisoformat(text.replace(",", ".")) if len(text) >= len("2026-11-18") else None
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or zone) if moment else None


def is_inside(moment: datetime | None, span: TimeSpan) -> bool:
    return (
        moment is not None
        and (span.since is None or moment >= span.since)
        and (span.until is None or moment < span.until)
    )
