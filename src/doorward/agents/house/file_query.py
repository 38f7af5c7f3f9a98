"""Files by folder, kind, name, size and time: what a request says of them, and the call that finds them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Generator
from datetime import datetime
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
from doorward.agents.house.word_claims import WordClaims

SHOWN = 100
"""Files that a listing fetches."""
_ALL = 10_000
_TOP = "/workspace"
_UNITS = {"": 1, "b": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)?\s*(k|m|g|t)?i?(?:b|bytes?|ilobytes?|egabytes?|igabytes?|erabytes?)?")
_LONG = re.compile(
    r"\bfor (?:over |more than |at least |the last )?(\d+|a|an|[a-z]+) (hour|day|week|month|year)s?\b|\bin (\d+|[a-z]+)"
    r" (hour|day|week|month|year)s?\b"
)


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
    span, span_says = _time(context, claims)
    larger, smaller, size_says = _size(claims)
    sort, descending, most = _order(claims)
    return FileQuery(
        folder=names.folder,
        kind=names.kind,
        suffixes=names.suffixes,
        larger=larger,
        smaller=smaller,
        size_says=size_says,
        span=span,
        span_says=span_says,
        sort=sort,
        descending=descending,
        most=most,
    )


def _time(context: RequestContext, claims: WordClaims) -> tuple[TimeSpan | None, str]:
    """Return the period in which the files were changed."""
    unchanged = claims.find("not") if claims.find("modified") or claims.request.has("unchanged", "untouched") else None
    long = _LONG.search(claims.request.lower) if unchanged else None
    if unchanged and long:
        amount, unit = long[1] or long[3], long[2] or long[4]
        now = datetime.fromtimestamp(context.now, context.zone)
        spans = find_spans(Request(f"older than {amount} {unit}s"), now)
        if spans:
            first, behind = _token_places(claims.request, long.start(), long.end())
            claims.claim_places((*unchanged, *claims.find("modified"), *range(first, behind)))
            says = spans[0].says.removeprefix("more than ").removesuffix(" ago")
            return spans[0], f" not changed for {says}"
    if len(context.spans) != 1 or (unchanged and not context.spans[0].since):
        return None, ""
    span = context.spans[0]
    claims.claim_places((*span.places, *claims.find("modified")))
    if unchanged:
        claims.claim_places(unchanged)
        return msgspec.structs.replace(span, since=None, until=span.since), f" not changed {span.says}"
    return span, f" changed {span.says}"


def _token_places(request: Request, start: int, end: int) -> tuple[int, int]:
    """Return the places of a part of the corrected text, in which one blank stands between tokens."""
    ends, at = [], 0
    for token in request.tokens:
        ends.append((at, at + len(token.lower)))
        at += len(token.lower) + 1
    inside = [place for place, (first, last) in enumerate(ends) if first < end and last > start]
    return inside[0], inside[-1] + 1


def _size(claims: WordClaims) -> tuple[int | None, int | None, str]:
    """Return the bytes above and below which files are meant, and the condition in words."""
    if claims.claim("empty"):
        return None, 1, "empty"
    over, under = claims.find("over"), claims.find("under")
    tokens = claims.request.tokens
    for place, token in enumerate(tokens):
        is_over, is_under = (any(one in set_ for one in (place - 1, place - 2)) for set_ in (over, under))
        behind = tokens[place + 1].lower if place + 1 < len(tokens) else ""
        joined = _SIZE.fullmatch(token.lower) if token.kind == "word" and token.lower[:1].isdigit() else None
        apart = _SIZE.fullmatch(behind) if token.number is not None and behind else None
        if (is_over or is_under) and (joined or apart):
            amount = float(joined[1]) if joined else float(token.number or 0)
            unit = (joined or apart)[2] or ""  # type: ignore[index]
            count = int(amount * _UNITS[unit])
            near = range(max(0, place - 3), place)
            claims.claim_places(
                (place, *((place + 1,) if apart else ()), *(one for one in near if one in over | under))
            )
            claims.claim_places(one for one in near if tokens[one].lower == "than")
            says = f"{'over' if is_over else 'under'} {sentences.size(count)}"
            return (count, None, says) if is_over else (None, count, says)
    return None, None, ""


def _order(claims: WordClaims) -> tuple[str, bool, int | None]:
    """Return the order of a superlative, whether it is descending, and how many are asked for."""
    for meaning, sort, descending in (
        ("largest", "size", True),
        ("smallest", "size", False),
        ("newest", "time", True),
        ("oldest", "time", False),
        ("sort", "size", True),
    ):
        found = claims.find(meaning)
        if found:
            top = claims.find("first") if meaning == "sort" else frozenset[int]()
            claims.claim_places(found | top)
            most = None if meaning == "sort" else 1
            tokens = claims.request.tokens
            for place in sorted({min(found) - 1, max(found) + 1, *(one + 1 for one in top)}):
                number = tokens[place].number if 0 <= place < len(tokens) else None
                if number is not None and number == int(number) and tokens[place].lower != "one":
                    claims.claim_places((place,))
                    most = int(number)
            plural = claims.request.has("files") and any(one.lower == "files" for one in tokens)
            return sort, descending, most if most != 1 or not plural or claims.request.has("which", "of") else 5
    return "", True, None


Finding = Generator[list[Step], list[ToolResult], FileList]


def find_files(context: RequestContext, query: FileQuery, *, lookup: bool = False, most: int = SHOWN) -> Finding:
    """Find the files of a query with one call; what the call cannot filter is filtered here."""
    lister = context.offered("file/list", "vfs/list")
    if query.folder == "~" and context.offered("vfs/list", "vfs/find"):
        lister = context.offered("vfs/list", "vfs/find")
    finder = context.offered("vfs/find")
    if query.is_plain and query.flat and lister:
        folder = query.folder or "."
        params: dict[str, Any] = {} if folder == "." else {"path": _place(context, folder, lister)}
        (result,) = yield [Step(lister, params, lookup)]
        return _entries(context, result, query)
    if finder:
        patterns = [query.name] if query.name else [f"*{one}" for one in query.suffixes] or [""]
        results = yield [Step(finder, _find_params(context, query, one, most), lookup) for one in patterns]
        lists = [_entries(context, one, query) for one in results]
        entries = select_entries([one for found in lists for one in found.entries], query)
        totals, sizes = [one.total for one in lists], [one.size for one in lists]
        return FileList(
            entries[: query.most],
            None if None in totals else sum(one or 0 for one in totals),
            None if None in sizes else sum(one or 0 for one in sizes),
        )
    if not lister:
        raise NotOffered("file/list")
    where = {} if query.folder in ("", ".") else {"path": _place(context, query.folder, lister)}
    (result,) = yield [Step(lister, {**where, "recursive": True, "limit": _ALL}, lookup)]
    return _entries(context, result, query)


def _place(context: RequestContext, path: str, command: str) -> str:
    """Return a path as a command takes it, before the model places it in the workspace."""
    if command.startswith("vfs/") and not path.startswith(("/", "~")):
        return _TOP if path == "." else f"{_TOP}/{path}"
    return path


def complete_path(context: RequestContext, path: str) -> Generator[list[Step], list[ToolResult], str]:
    """Return the path of a file that is named without its folder; it is looked up if not all files are known."""
    known = context.conversation.files
    if "/" in path or path in known or len(known) < MAX_KNOWN or not context.offered("vfs/find"):
        return path
    found = yield from find_files(context, FileQuery(name=path), lookup=True)
    paths = [one.path for one in found.entries]
    if len(paths) > 1 and path not in paths:
        choices = sentences.in_a_row([sentences.name(one) for one in paths[:5]], "or")
        raise Unknown(f"Which file do you mean: {choices}?")
    return paths[0] if len(paths) == 1 else path


def read_step(context: RequestContext, path: str, *, lookup: bool = False, **options: Any) -> Step:
    """Return the call that reads a file."""
    command = context.offered("file/read", "vfs/read")
    if path.startswith(("~", "/")) and context.offered("vfs/read"):
        command = "vfs/read"
    if not command:
        raise NotOffered("file/read")
    return Step(command, {"path": _place(context, path, command), **options}, lookup)


def stat_step(context: RequestContext, path: str, *, lookup: bool = False) -> Step:
    command = context.offered("file/stat", "vfs/stat")
    if path.startswith(("~", "/")) and context.offered("vfs/stat"):
        command = "vfs/stat"
    if not command:
        raise NotOffered("file/stat")
    return Step(command, {"path": _place(context, path, command)}, lookup)


def _find_params(context: RequestContext, query: FileQuery, pattern: str, most: int) -> dict[str, Any]:
    params: dict[str, Any] = {"kind": "folder" if query.folders else "file"}
    if query.folder not in ("", "."):
        params["path"] = _place(context, query.folder, "vfs/find")
    if pattern:
        params |= {"name": pattern, "ignoreCase": True}
    if query.larger is not None:
        params["larger"] = str(query.larger)
    if query.smaller is not None:
        params["smaller"] = str(query.smaller)
    if query.span:
        params |= {"newer": query.span.since_utc} if query.span.since else {}
        params |= {"older": query.span.until_utc} if query.span.until else {}
    if query.sort:
        params |= {"sort": query.sort} | ({"descending": True} if query.descending else {})
    return params | {"limit": query.most or most}


def _entries(context: RequestContext, result: ToolResult, query: FileQuery) -> FileList:
    found = [entry_of(context, one) for one in result.items if isinstance(one, dict)]
    entries = select_entries(found, query)
    filtered = len(entries) != len(found)
    total = None if result.total is None or (filtered and result.has_more) else len(entries)
    size: int | None = sum(one.size or 0 for one in entries)
    if result.has_more and isinstance(result.value, dict):
        matched, amount = result.value.get("matched"), result.value.get("bytes")
        total = matched if isinstance(matched, int) and not filtered else None
        size = amount if isinstance(amount, int) and not filtered else None
    return FileList(entries[: query.most], total, size)


def select_entries(entries: list[FileEntry], query: FileQuery) -> list[FileEntry]:
    """Return the entries that a query means, in its order."""
    fitting = [one for one in entries if _fits(one, query)]
    if query.sort:
        by_size = query.sort == "size"
        fitting.sort(key=lambda one: (one.size or 0, "") if by_size else (0, one.modified), reverse=query.descending)
    return fitting


def entry_of(context: RequestContext, item: dict[str, Any]) -> FileEntry:
    path = str(item.get("path") or item.get("name") or "")
    here = f"{_TOP}/{context.conversation.folder}".rstrip("/") if context.conversation.folder else _TOP
    for start in (f"{here}/", f"{_TOP}/"):
        path = path.removeprefix(start)
    size = item.get("size")
    kind = item.get("type") or item.get("kind")
    return FileEntry(
        path, size if isinstance(size, int) else None, str(item.get("modified") or ""), kind in ("folder", "directory")
    )


def _fits(entry: FileEntry, query: FileQuery) -> bool:
    if entry.is_folder != query.folders:
        return entry.is_folder and query.flat and query.is_plain
    base = posixpath.basename(entry.path).lower()
    moment = _moment(entry.modified) if query.span else None
    return (
        (not query.suffixes or base.endswith(query.suffixes))
        and (not query.name or fnmatchcase(base, query.name.lower()))
        and (query.larger is None or (entry.size or 0) > query.larger)
        and (query.smaller is None or (entry.size is not None and entry.size < query.smaller))
        and (
            query.span is None
            or (
                moment is not None
                and (query.span.since is None or moment >= query.span.since)
                and (query.span.until is None or moment < query.span.until)
            )
        )
    )


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
