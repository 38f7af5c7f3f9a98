"""Files and what is in them, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from doorward.agents.house.telling.asked import Asked, Got
from doorward.agents.house.telling.figures import in_a_row, number, size, value, when, zone_named
from doorward.agents.house.telling.knowledge import tellers
from doorward.agents.house.telling.nouns import goes_on, in_all, items_of
from doorward.agents.house.telling.quoting import name, one_line, quoted

_MOST = 20
_HITS = 10
_FOLDERS = ("folder", "directory")
_TOPS = ("", ".", "/workspace", "./")


def files(asked: Asked, got: Got) -> str:
    """A listing: how many, their names with sizes, and how large they are together."""
    items = [one for one in items_of(got.value) or [] if isinstance(one, dict)]
    where = _where(asked, got)
    behind = "".join(f" {one}" for one in (asked.condition_says, asked.span_says) if one)
    whole = in_all(got.value, items)
    if not items and not whole:
        noun = asked.noun[1] or "files"
        if got.command.endswith("/list") and not behind and not asked.condition_says:
            return f"{where[1:].capitalize() if where else 'The folder'} is empty: there are no files in it.".replace(
                "In ", "", 1
            )
        return f"There are no {noun}{where}{behind}."
    is_one = (len(items) if whole is None else whole) == 1
    head = f"There {'is' if is_one else 'are'} {_kinds(asked, items, whole)}{where}{behind}"
    together = _together(got.value, items, whole)
    if asked.group:
        return f"{head}{_groups(asked.group, items, whole)}."
    if asked.count:
        return f"{head}{together}."
    names = [_named(one, asked, got) for one in items[:_MOST]]
    left = (whole if whole is not None else len(items)) - len(names)
    more = [f"{number(left)} more"] if left > 0 else []
    cut = " There are more than I was shown." if whole is None else ""
    if len(names) > 5 or asked.fields:
        lines = "\n".join(f"- {one}" for one in names) + (f"\n… and {more[0]}" if more else "")
        return f"{head}{together}:\n{lines}{cut}"
    return f"{head}{together}: {in_a_row([*names, *more])}.{cut}"


def _groups(by: str, items: Sequence[Mapping[str, Any]], whole: int | None) -> str:
    """How many there are of each ending or in each folder, the most first; of all only where all are shown."""
    paths = [str(one.get("path") or one.get("name") or "") for one in items if _kind(one) not in _FOLDERS]
    if by == "folder":
        groups = Counter(path.rpartition("/")[0] or "." for path in paths)
    else:
        groups = Counter(PurePosixPath(path).suffix.lower() or "(no ending)" for path in paths)
    of = "" if whole == len(items) else f"; of the {number(len(paths))} that I was shown"
    parts = [
        f"{name(group) if group != '(no ending)' else group} {number(many)}" for group, many in groups.most_common(30)
    ]
    more = f" and {number(len(groups) - 30)} more" if len(groups) > 30 else ""
    return f"{of}, by {by}: {', '.join(parts)}{more}"


def _where(asked: Asked, got: Got) -> str:
    path = got.params.get("path") or asked.path or (got.value.get("path") if isinstance(got.value, dict) else "")
    if isinstance(path, str) and path == "~":
        return " in your home folder"
    return f" in {name(path)}" if isinstance(path, str) and path not in _TOPS else ""


def _kind(one: Mapping[str, Any]) -> str:
    return str(one.get("type") or one.get("kind") or "")


def _kinds(asked: Asked, items: Sequence[Mapping[str, Any]], whole: int | None) -> str:
    count = len(items) if whole is None else whole
    folders = sum(1 for one in items if _kind(one) in _FOLDERS)
    least = "at least " if whole is None else ""
    if folders and count == len(items):
        rest = count - folders
        parts = [f"{number(rest)} file{'' if rest == 1 else 's'}"] if rest else []
        return least + in_a_row([*parts, f"{number(folders)} folder{'' if folders == 1 else 's'}"])
    noun = (asked.noun if asked.noun[0] else ("file", "files"))[0 if count == 1 else 1]
    return f"{least}{number(count)} {noun}"


def _together(result: Any, items: Sequence[Mapping[str, Any]], whole: int | None) -> str:
    """How large they are together, where every one of them is known."""
    if isinstance(result, dict) and isinstance(result.get("bytes"), int) and not result.get("cut"):
        return f", {size(result['bytes'])} together" if (whole or 0) > 1 else ""
    sizes = [one.get("size") for one in items if _kind(one) not in _FOLDERS]
    plain = [one for one in sizes if isinstance(one, int)]
    if len(plain) < 2 or len(plain) != len(sizes) or whole != len(items):
        return ""
    return f", {size(sum(plain))} together"


def _named(one: Mapping[str, Any], asked: Asked, got: Got) -> str:
    path = str(one.get("path") or one.get("name") or "")
    shown = name(f"{path.rstrip('/')}/" if _kind(one) in _FOLDERS else path)
    facts = []
    if isinstance(one.get("size"), int):
        facts.append(size(one["size"]))
    wanted = (*asked.fields, str(got.params.get("orderBy") or got.params.get("sort") or ""))
    if any("modif" in field or "time" in field or "chang" in field for field in wanted) or asked.about:
        modified = one.get("modified")
        if isinstance(modified, str):
            facts.append(f"changed {when(modified, zone_named(asked.zone))}")
    return f"{shown} ({', '.join(facts)})" if facts else shown


def file(asked: Asked, got: Got) -> str:
    """The facts of one file or folder."""
    one = got.value if isinstance(got.value, dict) else {}
    path = name(str(one.get("path") or asked.path or ""))
    kind = _kind(one) or "file"
    parts = [f"{path} is a {'folder' if kind in _FOLDERS else kind}"]
    if isinstance(one.get("size"), int):
        exact = f" ({number(one['size'])} bytes)" if one["size"] >= 1000 else ""
        parts.append(f"of {size(one['size'])}{exact}")
    if isinstance(one.get("modified"), str):
        parts.append(f"last changed on {when(one['modified'], zone_named(asked.zone))}")
    return f"{', '.join(parts)}."


def content(asked: Asked, got: Got) -> str:
    """What a file holds, quoted."""
    one = got.value if isinstance(got.value, dict) else {}
    path = name(str(one.get("path") or got.params.get("path") or asked.path or "the file"))
    text, lines = str(one.get("content") or ""), one.get("lines")
    first, last = one.get("firstLine"), one.get("lastLine")
    if one.get("encoding") == "base64":
        return f"{path} holds {_bytes(one.get('size'))} that are no text."
    if asked.count and asked.noun[0] == "line" and isinstance(lines, int):
        return f"{path} has {number(lines)} line{'' if lines == 1 else 's'}."
    whole = one.get("size")
    if isinstance(first, int) and isinstance(last, int) and isinstance(lines, int) and last - first + 1 < lines:
        return f"Lines {number(first)} to {number(last)} of the {number(lines)} lines of {path}:\n{quoted(text)}"
    facts = f" {number(whole)} byte{'' if whole == 1 else 's'}" if isinstance(whole, int) else " this"
    facts += f" in {number(lines)} line{'' if lines == 1 else 's'}" if isinstance(lines, int) else ""
    return f"{path} is empty." if whole == 0 else f"{path} holds{facts}:\n{quoted(text)}"


def _bytes(count: Any) -> str:
    return size(count) if isinstance(count, int) else "bytes"


def hits(asked: Asked, got: Got) -> str:
    """Lines that were found."""
    items = [one for one in items_of(got.value) or [] if isinstance(one, dict)]
    pattern = got.params.get("pattern")
    what = name(pattern) if isinstance(pattern, str) and pattern else "it"
    if not items:
        return f"I found {what} in no file{_where(asked, got)}."
    places = len({str(one.get("path")) for one in items})
    least = "at least " if goes_on(got.value) else ""
    lines_ = f"{least}{number(len(items))} line{'' if len(items) == 1 else 's'}"
    head = f"I found {what} in {lines_} of {number(places)} file{'' if places == 1 else 's'}{_where(asked, got)}"
    if asked.count:
        return f"{head}."
    shown = [
        f"- {name(str(one.get('path')))}, line {one.get('line')}: “{one_line(str(one.get('text') or '').strip(), 200)}”"
        for one in items[:_HITS]
    ]
    more = [f"… and {number(len(items) - _HITS)} more"] if len(items) > _HITS else []
    return "\n".join([f"{head}:", *shown, *more])


def changes(asked: Asked, got: Got) -> str:
    """What was done to files."""
    items = [one for one in items_of(got.value) or [got.value] if isinstance(one, dict)]
    if not items:
        return tellers().nothing
    did = {str(one.get("did") or "changed") for one in items}
    if len(items) == 1:
        one = items[0]
        to = f" to {name(str(one['target']))}" if one.get("target") else ""
        has = one.get("bytes")
        now = f"; it has {number(has)} byte{'' if has == 1 else 's'} now" if isinstance(has, int) else ""
        return f"I {_verb(next(iter(did)))} {name(str(one.get('path')))}{to}{now}. It can be taken back with undo."
    verb = _verb(next(iter(did))) if len(did) == 1 else "changed"
    names = [name(str(one.get("path"))) for one in items[:_MOST]]
    more = [f"{number(len(items) - _MOST)} more"] if len(items) > _MOST else []
    return f"I {verb} {number(len(items))} files: {in_a_row([*names, *more])}. It can be taken back with undo."


def _verb(did: str) -> str:
    return {"unchanged": "left as it was", "created": "made"}.get(did, did)


def tree(asked: Asked, got: Got) -> str:
    one = got.value if isinstance(got.value, dict) else {}
    folders, count = one.get("folders"), one.get("files")
    facts = f"{value('', folders)} folders and {value('', count)} files"
    return f"There are {facts}{_where(asked, got)}:\n{quoted(str(one.get('text') or ''))}"
