"""Parses patches of several files: a unified diff, or the form that begins with `*** Begin Patch`."""

from __future__ import annotations

import functools
import re
from typing import Literal

import msgspec

from doorward.core.errors import BadParams
from doorward.sandbox.safefs import normalize_path
from doorward.sandbox.view import strip_workspace

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE, _END_OF_FILE = "*** Move to: ", "*** End of File"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"
_NOTHING = "/dev/null"
_HEADERS = ("diff ", "index ", "similarity index ", "dissimilarity index ", "rename from ", "rename to ")
_FILE_MODES = ("new file mode ", "deleted file mode ")
_MODES = ("old mode ", "new mode ")
_MOST_FILES = 200

FileAction = Literal["add", "update", "delete"]


class Hunk(msgspec.Struct, frozen=True):
    """Lines to find and the lines that take their place, each with its line end."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int | None = None
    """The line that a unified diff gives for it, counted from 1; None in the other form."""
    anchors: tuple[str, ...] = ()
    """Lines that come before it, one after the other."""
    at_end: bool = False
    """Whether it is at the end of the file."""


class FilePatch(msgspec.Struct, frozen=True):
    """The change of one file."""

    path: str
    action: FileAction
    hunks: tuple[Hunk, ...] = ()
    move_to: str = ""
    exact_end: bool = True
    """Whether a missing newline at the end of the file counts, as in a unified diff."""


@functools.lru_cache(16)
def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """The changes of a patch, in order. Raises BadParams that names the line."""
    lines = text.replace("\r\n", "\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise BadParams(f"The patch is empty. Give a unified diff, or a patch that begins with {BEGIN!r}.")
    parser = _BlockParser(lines) if first.strip() == BEGIN else _DiffParser(lines)
    patches = parser.parse()
    _check_paths(patches)
    return patches


def _check_paths(patches: tuple[FilePatch, ...]) -> None:
    if not patches:
        raise BadParams("The patch changes no file. A unified diff has '--- a/path' and '+++ b/path' lines.")
    if len(patches) > _MOST_FILES:
        raise BadParams(f"The patch changes {len(patches)} files; at most {_MOST_FILES} are allowed.")
    seen = set[str]()
    for path in (path for one in patches for path in (one.path, one.move_to) if path):
        if path in seen:
            raise BadParams(f"The patch changes {path!r} more than once. Give one part for each file.")
        seen.add(path)


class _Lines:
    """The lines of a patch with a place in them."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._next = 0

    def peek(self) -> str | None:
        """The next line, or None at the end."""
        return self._lines[self._next] if self._next < len(self._lines) else None

    def take(self) -> str:
        line = self._lines[self._next]
        self._next += 1
        return line

    def fail(self, fault: str) -> BadParams:
        shown = self.peek()
        given = "the end of the patch" if shown is None else repr(shown[:80])
        return BadParams(f"The patch is not valid at line {self._next + 1}: {fault}; given {given}.")

    def path(self, text: str) -> str:
        if text.startswith('"'):
            raise self.fail("paths in quotation marks are not supported; use plain text")
        try:
            return normalize_path(strip_workspace(text), file=True)
        except BadParams as error:
            raise BadParams(f"The patch is not valid at line {self._next}: {error.message}") from error


class _BlockParser(_Lines):
    """The form that begins with `*** Begin Patch`."""

    def parse(self) -> tuple[FilePatch, ...]:
        while self.take().strip() != BEGIN:
            pass
        patches = []
        while (line := self.peek()) is not None and line.strip() != END:
            patches.append(self._parse_file())
        if self.peek() is None:
            raise self.fail(f"it must end with {END!r}")
        self.take()
        if self.peek() is not None:
            raise self.fail(f"nothing may follow {END!r}")
        return tuple(patches)

    def _parse_file(self) -> FilePatch:
        kind = self.peek() or ""
        if kind.startswith(_ADD):
            path, added = self.path(self.take()[len(_ADD) :].strip()), []
            while (self.peek() or "").startswith("+"):
                added.append(f"{self.take()[1:]}\n")
            return FilePatch(path, "add", (Hunk((), tuple(added)),))
        if kind.startswith(_DELETE):
            return FilePatch(self.path(self.take()[len(_DELETE) :].strip()), "delete")
        if not kind.startswith(_UPDATE):
            raise self.fail(f"expected {_ADD!r}, {_UPDATE!r} or {_DELETE!r} with a path, or {END!r}")
        path, target, hunks = self.path(self.take()[len(_UPDATE) :].strip()), "", []
        if (self.peek() or "").startswith(_MOVE):
            target = self.path(self.take()[len(_MOVE) :].strip())
        while (line := self.peek()) is not None and (line == _END_OF_FILE or not line.startswith("*** ")):
            hunks.append(self._parse_hunk())
        if not hunks and not target:
            raise self.fail(f"{path!r} has no lines to change")
        return FilePatch(path, "update", tuple(hunks), target, exact_end=False)

    def _parse_hunk(self) -> Hunk:
        anchors: list[str] = []
        while (self.peek() or "").startswith("@@"):
            anchor = self.take()[2:].strip()
            anchors += [anchor] if anchor else []
        old: list[str] = []
        new: list[str] = []
        count = 0
        while (line := self.peek()) is not None and not line.startswith(("@@", "*** ")):
            sign, rest = line[:1], f"{line[1:]}\n"
            if sign not in ("", " ", "+", "-"):
                raise self.fail("a line of a hunk begins with a space, + or -")
            self.take()
            count += 1
            old += [rest] if sign != "+" else []
            new += [rest] if sign != "-" else []
        at_end = self.peek() == _END_OF_FILE
        if at_end:
            self.take()
        if not count:
            raise self.fail("a hunk needs lines that begin with a space, + or -")
        return Hunk(tuple(old), tuple(new), anchors=tuple(anchors), at_end=at_end)


class _DiffParser(_Lines):
    """A unified diff, with or without the headers of git."""

    def parse(self) -> tuple[FilePatch, ...]:
        patches = []
        renamed: dict[str, str] = {}
        while (line := self.peek()) is not None:
            if line.startswith("--- "):
                patches.append(self._parse_file())
                renamed.clear()
            elif line.startswith(_MODES):
                raise self.fail("a patch cannot change file modes; use bash with chmod")
            elif line.startswith(("GIT binary patch", "Binary files ")):
                raise self.fail("a patch cannot change binary files; use file/write with encoding base64")
            elif line.startswith(("rename from ", "rename to ")):
                word, _, path = self.take().removeprefix("rename ").partition(" ")
                renamed[word] = self.path(path)
                if len(renamed) == 2 and not self._has_content():
                    patches.append(FilePatch(renamed["from"], "update", (), renamed["to"]))
                    renamed.clear()
            elif not line.strip() or line.startswith((*_HEADERS, *_FILE_MODES)):
                self.take()
            else:
                raise self.fail("expected '--- a/path' and '+++ b/path' before the lines of a file")
        return tuple(patches)

    def _has_content(self) -> bool:
        """Whether lines of the file follow its headers."""
        for line in self._lines[self._next :]:
            if line.startswith("--- "):
                return True
            if not line.startswith("index "):
                return False
        return False

    def _parse_file(self) -> FilePatch:
        before = self._name(self.take()[4:])
        if not (self.peek() or "").startswith("+++ "):
            raise self.fail("'--- path' must be followed by '+++ path'")
        after = self._name(self.take()[4:])
        if before.startswith("a/") and after.startswith("b/"):
            before, after = before[2:], after[2:]
        elif before == _NOTHING:
            after = after.removeprefix("b/")
        elif after == _NOTHING:
            before = before.removeprefix("a/")
        hunks = []
        while (self.peek() or "").startswith("@@"):
            hunks.append(self._parse_hunk())
        if before == after == _NOTHING:
            raise self.fail("one of the two paths must be a file")
        if not hunks and _NOTHING not in (before, after):
            raise self.fail("expected a hunk such as '@@ -1,3 +1,4 @@'")
        if before == _NOTHING:
            return FilePatch(self.path(after), "add", tuple(hunks))
        if after == _NOTHING:
            return FilePatch(self.path(before), "delete", tuple(hunks))
        path, target = self.path(before), self.path(after)
        return FilePatch(path, "update", tuple(hunks), target if target != path else "")

    @staticmethod
    def _name(text: str) -> str:
        return text.partition("\t")[0].rstrip()

    def _parse_hunk(self) -> Hunk:
        """One hunk. The numbers in its head decide where it ends, because a removed line may look like a header."""
        head = _HUNK.match(self.peek() or "")
        if head is None:
            raise self.fail("expected a hunk such as '@@ -1,3 +1,4 @@'")
        self.take()
        wanted_old, wanted_new = int(head[2] or 1), int(head[4] or 1)
        old: list[str] = []
        new: list[str] = []
        sides: tuple[list[str], ...] = ()
        while len(old) < wanted_old or len(new) < wanted_new or self.peek() == _NO_NEWLINE:
            line = self.peek()
            if line == _NO_NEWLINE and sides:
                self.take()
                for side in sides:
                    side[-1] = side[-1].removesuffix("\n")
                continue
            sign = line[:1] if line is not None else "end"
            sides = {"": (old, new), " ": (old, new), "-": (old,), "+": (new,)}.get(sign, ())
            if not sides:
                counts = f"{wanted_old} old and {wanted_new} new lines, but has {len(old)} and {len(new)}"
                raise self.fail(f"the hunk {head[0]!r} announces {counts}")
            self.take()
            for side in sides:
                side.append(f"{(line or '')[1:]}\n")
        if len(old) != wanted_old or len(new) != wanted_new or (self.peek() or "@").startswith((" ", "+")):
            counts = f"{wanted_old} old and {wanted_new} new lines, but has more"
            raise self.fail(f"the hunk {head[0]!r} announces {counts}")
        return Hunk(tuple(old), tuple(new), line=int(head[1]))
