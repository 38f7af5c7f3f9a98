"""Plans about files: which are meant, in which folder, and what of them is wanted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.entities import Compare, Limit, Measure, Order, stem
from doorward.agents.house.plan import Around, NotOffered, Step, Steps, Telling, items
from doorward.agents.house.slots import FILES_CALLED, IN_NAME
from doorward.agents.house.telling import Asked, Got
from doorward.core.clock import to_iso

_MOST = 10_000
_BELOW = knowledge.form("filing: below")
_SIZES = frozenset(stem(one) for one in ["size", "sizes", "big", "large", "bytes", "weigh", "space", "heavy"])
_DELETING = knowledge.stems("filing: deleting")
_EMPTY = knowledge.form("filing: empty")
_SORTS = {"path": "name", "modified": "time", "size": "size"}
_LARGE = knowledge.form("filing: large")
_GROUPS = {name: knowledge.stems(f"filing: by {name}") for name in ("extension", "folder")}


class Wanted(msgspec.Struct, frozen=True):
    """Which files are meant."""

    folder: str = "."
    globs: tuple[str, ...] = ()
    size: Compare | None = None
    since: float | None = None
    """Changed not before this."""
    until: float | None = None
    """Changed before this."""
    folders: bool = False
    """Whether folders are meant, and not files."""
    below: bool = False
    """Whether the folders below count as well."""
    sort: str = ""
    """size, modified or path."""
    descending: bool = True
    limit: int = 0

    @property
    def narrows(self) -> bool:
        return bool(self.globs or self.size or self.since or self.until or self.folders or self.sort or self.limit)


def grouped_by(words: str) -> str:
    """What files are counted by: their endings or their folders; empty for anything else."""
    stems = {stem(one) for one in words.lower().split()}
    return next((name for name, known in _GROUPS.items() if stems & known), "")


def wanted(around: Around) -> Wanted:
    """Which files a request means."""
    slots, said = around.slots, around.slots.said
    folder = slots.folder()
    if folder is None and said.has("home") and not said.entity("path"):
        folder = "~"
    if folder is not None:
        folder = home_of(folder, slots.seen.speaker)
    globs = [glob for kind in slots.kinds() for glob in kind.globs]
    globs += [str(one.value) for one in said.all("glob")]
    if not globs:
        globs += _named(around)
    size = slots.size()
    if size is None and _EMPTY.search(said.text):
        size = Compare("eq", 0, "empty")
    since, until = _times(around)
    sort, descending, limit = _order(around)
    folders = said.has("folder") and not said.has("file") and not globs and size is None and folder is None
    if folders and re.search(r"\b(?:files|everything|what|what's|contents?|anything)\b", said.text, re.IGNORECASE):
        folders = bool(
            re.search(
                r"\b(?:which|what|how many|list|count|show)(?: \w+){0,2} (?:sub)?(?:folders|directories)\b",
                said.text,
                re.I,
            )
        )
    narrow = Wanted(folder or ".", tuple(globs), size, since, until, folders, False, sort, descending, limit)
    counting = said.has("count") or any(
        one.value.fn == "sum" for one in said.all("measure") if isinstance(one.value, Measure)
    )
    below = (narrow.narrows and not folders) or counting or bool(_BELOW.search(said.text))
    return msgspec.structs.replace(narrow, below=bool(below))


def home_of(path: str, user: str) -> str:
    """A path as the file commands take it, where home and tmp are folders of the workspace."""
    if path == "~" or path.startswith("~/"):
        return f"home/{user}{path[1:]}" if user else f"home{path[1:]}"
    return path[1:] if path.startswith(("/tmp", "/home")) else path  # noqa: S108


def virtual(path: str) -> str:
    """The same path from the top of the virtual tree."""
    if path.startswith(("/", "~")):
        return path
    first = path.partition("/")[0]
    return f"/{path}" if first in ("home", "tmp") else "/workspace" if path == "." else f"/workspace/{path}"


def explained(around: Around) -> bool:
    """Whether every word of a request to delete says which files: one that is not understood may be what matters."""
    said = around.slots.said
    folder = filing_words(around)
    known = _DELETING | folder
    return all(said.words[place].stem in known for place in said.content())


def filing_words(around: Around) -> frozenset[str]:
    """The words of the folder that was named."""
    folder = around.slots.folder() or ""
    return frozenset(stem(one) for one in re.findall(r"\w+", folder.lower()))


def _named(around: Around) -> list[str]:
    """Patterns for names that were said."""
    said = around.slots.said
    text = said.text
    name = around.slots.caught.get("filename", "")
    if name:
        return [name if "." in name else f"*{name}*"]
    found = IN_NAME.search(text)
    if found is not None:
        name = found["name"] or found["other"]
        starts = re.search(r"\b(?:starts?|begins?|beginning|starting) with\b", found[0], re.IGNORECASE)
        return [f"{name}*" if starts else f"*{name}*"]
    found = re.search(r"\b(?:called|named) [\"'“`]?(?P<name>[\w*?.-]+[\w*?])[\"'”`]?", text, re.IGNORECASE)
    if found is not None:
        name = found["name"]
        return [name if re.search(r"[.*?]", name) else f"*{name}*"]
    starting = re.search(r"\b(?:starting|beginning|start|begin)s? with [\"'“`]?(?P<name>[\w.-]+)", text, re.IGNORECASE)
    if starting is not None:
        return [f"{starting['name']}*"]
    called = FILES_CALLED.search(text)
    if called is not None:
        return [f"*{called['name'].lower().rstrip('s')}*"]
    ending = re.search(r"\b(?:ending|end|ends) (?:in|with) [\"'“`]?(?P<name>\.?\w+)", text, re.IGNORECASE)
    if ending is not None:
        return [f"*{ending['name']}" if ending["name"].startswith(".") else f"*.{ending['name']}"]
    return []


def _times(around: Around) -> tuple[float | None, float | None]:
    slots = around.slots
    age, span = slots.age(), slots.span()
    since, until = (span.since, span.until) if span is not None else (None, None)
    if age is not None:
        if age.op in ("gt", "gte"):
            until = around.now - age.amount
        else:
            since = around.now - age.amount
    if until is not None and until >= around.now:
        until = None
    return since, until


def _order(around: Around) -> tuple[str, bool, int]:
    """By what they are sorted, and how many are wanted."""
    said = around.slots.said
    limit = next((one.value for one in said.all("limit") if isinstance(one.value, Limit)), None)
    order = next((one.value for one in said.all("order") if isinstance(one.value, Order)), None)
    many = limit.n if limit is not None else 0
    if order is not None and order.field != "count":
        return _by(order.field), order.descending, many
    if limit is not None and limit.by:
        return _by(limit.by), limit.descending, many
    single = knowledge.form("filing: one by its rank").search(said.text)
    one = 1 if re.search(r"\bfile\b", said.text, re.IGNORECASE) and single and not many else many
    if re.search(
        r"\b(?:biggest|largest|heaviest|most space|take up the most|takes? the most)\b", said.text, re.IGNORECASE
    ):
        return "size", True, one
    if re.search(r"\bsmallest\b", said.text, re.IGNORECASE):
        return "size", False, one
    if knowledge.form("filing: the newest").search(said.text):
        return "modified", True, one or (10 if around.slots.span() is None else 0)
    if re.search(r"\b(?:oldest|least recent(?:ly)?)\b", said.text, re.IGNORECASE):
        return "modified", False, one
    if limit is not None and limit.end == "last":
        return "modified", True, many
    if _LARGE.search(said.text) and around.slots.size() is None:
        return "size", True, many or 10
    return "", True, many


def _by(field: str) -> str:
    known = {"size": "size", "bytes": "size", "large": "size", "big": "size", "name": "path", "path": "path"}
    return next((to for word, to in known.items() if word in field.lower()), "modified")


def found(around: Around, which: Wanted) -> Steps:
    """Find the files that are meant; ends with a result that holds just those."""
    command = around.offered("vfs/find", "file/list", "vfs/list") if which.below or which.narrows else ""
    virtual_first = which.folder.startswith(("home/", "tmp"))
    command = command or around.offered(
        *(("vfs/list",) if virtual_first else ()), "file/list", "vfs/list", "vfs/find", "shell/ls"
    )
    if not command:
        raise NotOffered("file/list")
    (got,) = yield [Step(command, _params(around, command, which))]
    if command == "shell/ls":
        return Telling(Asked(), (got,))
    kept = [one for one in items(got) if isinstance(one, dict) and _fits(one, which)]
    if which.sort:
        kept.sort(key=lambda one: _key(one, which.sort), reverse=which.descending)
    value = dict(got.value) if isinstance(got.value, dict) else {}
    value["items"] = kept = kept[: which.limit] if which.limit else kept
    if "matched" in value and (which.limit or len(kept) < len(items(got))):
        value |= {"matched": len(kept), "bytes": sum(one.get("size") or 0 for one in kept), "note": ""}
    return Telling(Asked(), (msgspec.structs.replace(got, value=value),))


def _params(around: Around, command: str, which: Wanted) -> dict[str, Any]:
    if command == "shell/ls":
        return {"arguments": ["-la", which.folder]}
    params: dict[str, Any] = {} if which.folder == "." else {"path": _spelt(command, which.folder)}
    if command == "file/list":
        return {**params, "recursive": True, "limit": _MOST} if which.below else params
    known = around.params(command)
    if command == "vfs/list":
        return {**params, "recursive": True} if which.below and "recursive" in known else params
    # What the command itself can compare it is given, and all of it is compared again behind it.
    if len(which.globs) == 1:
        params |= {"name": which.globs[0], "ignoreCase": True}
    params["kind"] = "folder" if which.folders else "file"
    if which.size is not None and which.size.op in ("gt", "gte", "lt", "lte"):
        more = which.size.op in ("gt", "gte")
        edge = {"gte": -1, "lte": 1}.get(which.size.op, 0)
        params["larger" if more else "smaller"] = str(max(0, int(which.size.amount) + edge))
    if which.since is not None:
        params["newer"] = to_iso(which.since)
    if which.until is not None:
        params["older"] = to_iso(which.until)
    if which.sort:
        params |= {"sort": _SORTS[which.sort], "descending": which.descending}
    if which.limit and len(which.globs) < 2:
        params["limit"] = which.limit
    return {key: value for key, value in params.items() if not known or key in known}


def _spelt(command: str, folder: str) -> str:
    """A folder as a command names it: virtual paths begin at the top."""
    return virtual(folder) if command.startswith("vfs/") else folder


def _fits(one: dict[str, Any], which: Wanted) -> bool:
    kind = str(one.get("type") or one.get("kind") or "file")
    folder = kind in ("folder", "directory", "dir")
    if which.folders != folder and (which.folders or which.below or which.narrows):
        return False
    name = str(one.get("path", "")).rstrip("/").rpartition("/")[2]
    if which.globs and not any(fits(name, str(one.get("path", "")), glob) for glob in which.globs):
        return False
    size = one.get("size")
    if which.size is not None and not (isinstance(size, int) and compared(size, which.size)):
        return False
    when = _time(one.get("modified"))
    if which.since is not None and (when is None or when < which.since):
        return False
    return which.until is None or (when is not None and when < which.until)


def fits(name: str, path: str, glob: str) -> bool:
    """Whether a file is like a pattern, whatever the size of the letters."""
    glob = glob.lower()
    if "/" in glob:
        return fnmatchcase(path.lower(), glob.removeprefix("**/")) or fnmatchcase(path.lower(), glob)
    return fnmatchcase(name.lower(), glob)


def only(got: Got, globs: Sequence[str]) -> Got:
    """What was found, as far as it is in files that are called so."""
    if not isinstance(got.value, dict):
        return got
    kept = [one for one in items(got) if isinstance(one, dict) and _is_called(str(one.get("path", "")), globs)]
    return msgspec.structs.replace(got, value={**got.value, "items": kept})


def _is_called(path: str, globs: Sequence[str]) -> bool:
    return any(fits(path.rpartition("/")[2], path, glob) for glob in globs)


def compared(size: float, wanted: Compare) -> bool:
    than = wanted.amount
    return {
        "gt": size > than,
        "gte": size >= than,
        "lt": size < than,
        "lte": size <= than,
        "eq": size == than,
        "ne": size != than,
    }.get(wanted.op, False)


def _key(one: dict[str, Any], field: str) -> Any:
    value = one.get(field)
    if field == "size":
        return value if isinstance(value, int | float) else -1
    return str(value or "")


def _time(value: Any) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return None


def asks_for_sizes(around: Around) -> bool:
    return any(one.stem in _SIZES for one in around.slots.said.words)


def removed(around: Around, paths: Sequence[str]) -> Step | None:
    """The one call that removes just these files; None where no command that asks a person first can do that."""
    ways: list[Step] = []
    if len(paths) == 1:
        ways.append(Step("file/delete", {"path": paths[0]}))
    ways.append(Step("shell/rm", {"paths": list(paths)}))
    return next((one for one in ways if one.command in around.tools), None)


def got_paths(got: Got) -> list[str]:
    """The paths of what was found, as the file commands take them."""
    paths = [str(one["path"]) for one in items(got) if isinstance(one, dict) and one.get("path")]
    return [_real(one) for one in paths]


def _real(path: str) -> str:
    """A virtual path as the file commands take it: home and tmp are folders of the workspace."""
    return path.removeprefix("/workspace/") if path.startswith("/workspace/") else path.lstrip("/")
