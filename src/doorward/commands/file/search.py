"""The command file/search."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import re2
from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.file.family import Hidden, LineMatch, SearchMatches, family, printable
from doorward.commands.file.text import is_text, split_lines
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, shorten
from doorward.core.errors import BadParams, CommandFailed, NotFound
from doorward.gate.recipes.globs import compile_glob
from doorward.sandbox.safefs import FileEntry, SafeRoot, normalize_path
from doorward.sandbox.view import strip_workspace

MOST_FILES = 20_000
MOST_ENTRIES = 200_000
MOST_BYTES = 200_000_000
MOST_SECONDS = 10.0
LONGEST_LINE = 300

_LINES_BETWEEN_LOOKS = 4_096
_TOO_LONG = f"it took longer than {MOST_SECONDS:g} seconds; search a smaller folder"


@family.command(
    "search",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=3,
    timeout=30,
    undo=READS_ONLY,
    examples=[
        Example("where is TODO written in Python files", {"pattern": "TODO", "glob": "*.py"}),
        Example(
            "find function definitions below src",
            {"pattern": "^def \\w+", "path": "src", "regex": True, "context": 2},
        ),
    ],
    related=["file/read", "file/list"],
)
async def search(
    ctx: Context,
    pattern: Annotated[str, Meta(description="The text to find, within one line", min_length=1, max_length=1_000)],
    path: Annotated[str, Meta(description="The folder or file to search, in the workspace", max_length=4096)] = ".",
    glob: Annotated[
        str,
        Meta(
            description="Only files that match, such as *.py, or src/**/*.md relative to the workspace",
            min_length=1,
            max_length=500,
        ),
    ] = "**",
    regex: Annotated[bool, Meta(description="Whether the pattern is a regular expression (RE2)")] = False,
    ignore_case: Annotated[bool, Meta(description="Ignore upper and lower case")] = False,
    limit: Annotated[int, Meta(description="Maximum number of matching lines", ge=1, le=1_000)] = 100,
    context: Annotated[int, Meta(description="Number of lines to show around each match", ge=0, le=20)] = 0,
    hidden: Hidden = False,
) -> SearchMatches:
    """Search the text files of the workspace line by line.

    Binary and very large files are skipped and counted. The result says when the search ended early.
    """
    if "\n" in pattern:
        raise BadParams("The pattern contains a line break, but each line is searched alone. Give a part of one line.")
    hunt = _FileSearch(ctx, pattern, strip_workspace(glob), regex, ignore_case, limit, context)
    return await asyncio.to_thread(hunt.run, normalize_path(path), hidden)


class _FileSearch:
    """One search, with its limits and counts of skipped files."""

    def __init__(
        self, ctx: Context, pattern: str, glob: str, regex: bool, ignore_case: bool, limit: int, context: int
    ) -> None:
        self._workspace = ctx.workspace
        self._largest = ctx.services.settings.files.largest_file
        self._steady = ctx.services.clock.steady
        self._deadline = self._steady() + MOST_SECONDS
        self._line = _compile_pattern(pattern, regex, ignore_case)
        self._matches_glob = _compile_glob_filter(glob)
        self._limit = limit
        self._context = context
        self._items: list[LineMatch] = []
        self._skipped: Counter[str] = Counter(binary=0, large=0, unreadable=0)
        self._files = 0
        self._bytes = 0

    def run(self, path: str, hidden: bool) -> SearchMatches:
        with SafeRoot(self._workspace) as root:
            start = root.stat(path, follow=True)
            if start.kind not in ("file", "folder"):
                raise BadParams(f"{path!r} is a pipe, socket or device. Give a folder or a regular file to search.")
            walk = root.walk(path, recursive=True, hidden=hidden)
            ended = self._search(root, walk if start.kind == "folder" else iter([start]))
        self._skipped["unreadable"] += walk.unreadable
        found: SearchMatches = {
            "items": self._items,
            "filesSearched": self._files,
            "skipped": dict(self._skipped),
            "cut": bool(ended),
        }
        if ended:
            found["endedBecause"] = ended
        return found

    def _search(self, root: SafeRoot, entries: Iterable[FileEntry]) -> str:
        """Search the entries. Return why the search ended early, or an empty string."""
        for number, entry in enumerate(entries):
            if self._out_of_time():
                return _TOO_LONG
            if number >= MOST_ENTRIES or self._files >= MOST_FILES:
                return f"more than {MOST_FILES} files or {MOST_ENTRIES} entries; search a smaller folder"
            if self._bytes >= MOST_BYTES:
                return f"more than {MOST_BYTES} bytes; search a smaller folder"
            name = printable(entry.path)
            if entry.kind != "file" or not self._matches_glob(name):
                continue
            for item in self._find_matches(name, self._read_text(root, entry)):
                if item is None:
                    return _TOO_LONG
                if len(self._items) == self._limit:
                    return f"there are more than {self._limit} matches; narrow the pattern or raise the limit"
                self._items.append(item)
        return ""

    def _read_text(self, root: SafeRoot, entry: FileEntry) -> str:
        if entry.status.st_size > self._largest:
            self._skipped["large"] += 1
            return ""
        try:
            content = root.read(entry.path, self._largest).data
        except (BadParams, NotFound, CommandFailed):
            self._skipped["unreadable"] += 1
            return ""
        self._bytes += len(content)
        if not is_text(content):
            self._skipped["binary"] += 1
            return ""
        self._files += 1
        return content.decode()

    def _out_of_time(self) -> bool:
        return self._steady() > self._deadline

    def _find_matches(self, path: str, text: str) -> Iterator[LineMatch | None]:
        """Yield the matching lines of one file, or None when the time is up."""
        lines = [line.removesuffix("\n").removesuffix("\r") for line in split_lines(text)]
        search = self._line.search
        for at, line in enumerate(lines):
            if at % _LINES_BETWEEN_LOOKS == 0 and self._out_of_time():
                yield None
            if not search(line):
                continue
            item: LineMatch = {"path": path, "line": at + 1, "text": _cut_line(line)}
            if self._context:
                item["before"] = [_cut_line(one) for one in lines[max(0, at - self._context) : at]]
                item["after"] = [_cut_line(one) for one in lines[at + 1 : at + 1 + self._context]]
            yield item


def _cut_line(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}… ({len(line)} characters)"


def _compile_pattern(text: str, regex: bool, ignore_case: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.literal = not regex
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace")
        raise BadParams(
            f"The pattern is not a valid regular expression ({reason}). Use RE2 syntax, which has no look-around "
            f"and no back-references; given {shorten(text)}."
        ) from error


def _compile_glob_filter(glob: str) -> Callable[[str], bool]:
    """Compile a glob. Without a slash it matches the file name, otherwise the whole path."""
    try:
        fits = compile_glob(glob)
    except ValueError as error:
        raise BadParams(f"The glob is not valid: {error}; given {shorten(glob)}.") from error
    return fits if "/" in glob or glob == "**" else lambda path: fits(path.rpartition("/")[2])
