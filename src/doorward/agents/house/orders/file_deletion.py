"""Deleting the files that fit a condition: they are found first, and then exactly those are named in one call."""

from __future__ import annotations

import re
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.file_references import referred_files
from doorward.agents.house.orders.phrases import OrderText, make_reading, need, place, refuse, virtual
from doorward.agents.house.orders.program_output import describe_output
from doorward.agents.house.plan import Declined, Reading, Reply, Step, Steps
from doorward.agents.house.request_context import RequestContext

_MOST = 200
"""Files that one request deletes at most."""
_VERB = re.compile(
    r"(?P<before>in (?:the )?[\w./-]+(?: folder)?,? )?(?:delete|remove|erase|trash|purge|clear(?: out| up)?"
    r"|clean(?: out| up)?|get rid of|throw away|throw out|dump|discard)\s+",
    re.IGNORECASE,
)
_VERBS = frozenset(("delete", "remove", "erase", "trash", "discard"))
_PARTS = re.compile(
    r"(?P<kind>\*?\.(?P<dot>\w{1,10})\b|\b(?P<named>log|txt|text|csv|json|tmp|temp|bak|backup|py|python|md|markdown|pdf"
    r"|png|jpg|html|zip|gz|xml|yaml)\b(?=\s+files?\b))"
    r"|(?P<size>\b(?P<than>larger|bigger|over|more|smaller|less|under)\s+(?:than\s+)?(?P<amount>\d+(?:\.\d+)?)\s*"
    r"(?P<unit>bytes?|kb|mb|gb|tb)\b)|(?P<empty>\bempty\b)"
    r"|\b(?:in|from|inside|under|below|within)\s+(?:the\s+)?(?:folder\s+|directory\s+)?(?P<folder>~?[\w./-]*[\w/])"
    r"(?:\s+(?:folder|directory))?",
    re.IGNORECASE,
)
_FREE = re.compile(
    r"\b(?:all|every|everything|the|files?|documents?|whatever|stuff|things|what|there|for|that|which|are|is|were|was|have|has|been|ones|with|a|size|of|and"
    r"|ending|extension|changed|modified|touched|anything|any|last)\b|[\s,.!]+",
    re.IGNORECASE,
)
_ABOUT_FILES = re.compile(r"\b(?:files?|documents?|everything|anything|whatever|stuff|things)\b", re.IGNORECASE)
_ENDINGS = {"text": "txt", "temp": "tmp", "backup": "bak", "python": "py", "markdown": "md"}
_UNITS = {"b": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "t": 1_000_000_000_000}
_TOO_WIDE = (
    "I delete no files without a condition that says which ones, such as: delete files older than 30 days in tmp"
)


class _Condition(msgspec.Struct, frozen=True, kw_only=True):
    folder: str = ""
    ending: str = ""
    larger: float | None = None
    smaller: float | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def narrows(self) -> bool:
        return bool(self.ending) or any(one is not None for one in (self.larger, self.smaller, self.since, self.until))

    def fits(self, one: Any) -> bool:
        if not isinstance(one, dict) or str(one.get("type") or one.get("kind") or "file") not in ("file", ""):
            return False
        if self.ending and not fnmatchcase(str(one.get("path", "")).lower(), f"*.{self.ending}"):
            return False
        size = one.get("size")
        if self.larger is not None and not (isinstance(size, int) and size > self.larger):
            return False
        if self.smaller is not None and not (isinstance(size, int) and size < self.smaller):
            return False
        when = _time(one.get("modified"))
        if self.since is not None and (when is None or when < self.since):
            return False
        return self.until is None or (when is not None and when < self.until)


def delete_matching(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    """Read an order to delete the files that fit conditions; each word must belong to one of them."""
    verb = _VERB.match(text.bare)
    if verb is None or not _ABOUT_FILES.search(text.bare):
        return None
    condition = _read_condition(context.with_text(f"{text.bare[verb.end() :]} {verb['before'] or ''}"))
    if condition is None and not re.search(r"\bfiles\b", text.bare, re.IGNORECASE):
        return None
    if condition is None or not condition.narrows:
        return refuse(_TOO_WIDE)

    def steps() -> Steps:
        command = need(context, "vfs/find", "file/list")
        folder = place(condition.folder, context) if condition.folder else ""
        params: dict[str, Any] = {"kind": "file"} if command == "vfs/find" else {"recursive": True, "limit": 10_000}
        if folder:
            params["path"] = virtual(folder) if command == "vfs/find" else folder
        (got,) = yield [Step(command, params, lookup=True)]
        paths = [_real(str(one["path"])) for one in got.items if condition.fits(one)]
        if got.has_more or got.total != len(got.items):
            raise Declined("I did nothing: there are more files than I can look through. Say a smaller folder.")
        if not paths:
            return "There is nothing to delete: I found no such files."
        if len(paths) > _MOST:
            raise Declined(f"I did nothing: that would be {len(paths):,} files, and I delete at most {_MOST} at once.")
        single = len(paths) == 1 and "file/delete" in context.tools
        need(context, "file/delete" if single else "shell/rm")
        step = Step("file/delete", {"path": paths[0]}) if single else Step("shell/rm", {"paths": paths})
        (gone,) = yield [step]
        named = sentences.in_a_row([sentences.name(one) for one in paths[:10]])
        more = f" and {len(paths) - 10:,} more" if len(paths) > 10 else ""
        count = sentences.counted(len(paths), "file", "files")
        done = f"I deleted {count}: {named}{more}. It can be taken back with undo."
        return done if single else describe_output(gone, done)

    return make_reading(context, "delete files", steps, "delete the files that fit")


def delete_referred(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    """Read an order to delete a file that an earlier request found: `delete the first one`, `delete it`."""
    reference = referred_files(context)
    if reference is None or not reference.single or _VERB.match(text.bare) is None:
        return None
    verb = {place for place, one in enumerate(context.request.tokens) if one.lower in _VERBS}
    if not context.request.meaningful <= reference.places | verb:
        return None

    def steps() -> Steps:
        (path,) = yield from reference.find()
        need(context, "file/delete")
        (gone,) = yield [Step("file/delete", {"path": path})]
        return sentences.describe_change(gone) or f"I deleted {sentences.name(path)}."

    return make_reading(context, "delete a file", steps, "delete the file that was found")


def _read_condition(context: RequestContext) -> _Condition | None:
    """Return what the words say about the files; None if one of them says something else."""
    request, kept = context.request, list(context.text)
    values: dict[str, Any] = {}
    for span in context.spans:
        if "since" in values or "until" in values:
            return None
        values |= {"since": span.since, "until": span.until}
        behind = span.behind
        while behind < len(request) and request.tokens[behind].lower in ("old", "ago"):
            behind += 1
        start, end = request.tokens[span.first].start, request.tokens[behind - 1].end
        kept[start:end] = " " * (end - start)
    rest = "".join(kept)
    for found in _PARTS.finditer(rest):
        one: dict[str, Any] = {}
        if found["kind"]:
            ending = (found["dot"] or found["named"]).lower()
            one = {"ending": _ENDINGS.get(ending, ending)}
        elif found["size"]:
            amount = float(found["amount"]) * _UNITS[found["unit"][0].lower()]
            one = {"larger" if found["than"].lower() in ("larger", "bigger", "over", "more") else "smaller": amount}
        elif found["empty"]:
            one = {"smaller": 1}
        elif found["folder"]:
            one = {"folder": found["folder"]}
        if one.keys() & values.keys():
            return None
        values |= one
    left = _FREE.sub("", _PARTS.sub(" ", rest))
    if left:
        return None
    return _Condition(**values)


def _time(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _real(path: str) -> str:
    """Return a virtual path as the file commands take it."""
    return path.removeprefix("/workspace/") if path.startswith("/workspace/") else path.lstrip("/")
