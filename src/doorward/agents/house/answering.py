"""Plans for files and for the state of the house: which calls, and what is told of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from doorward.agents.house import changing, describing, failures, filing, knowledge, smalltalk
from doorward.agents.house.counting import counted
from doorward.agents.house.entities import Group, Limit, Measure, stem
from doorward.agents.house.filling import Missing, filled
from doorward.agents.house.knowledge import Intent
from doorward.agents.house.plan import Around, NotOffered, Plan, Step, Steps, Telling, Unknown
from doorward.agents.house.slots import within
from doorward.agents.house.telling import Asked
from doorward.agents.house.telling.quoting import name as quoted_name

Planner = Callable[[Around, Intent, Asked], Steps]
_TAIL = ("last", "end", "tail", "bottom")
_QUIET = ["room/say", "room/typing", "room/messages"]
_IN_FOLDER = knowledge.form("answering: in folder")
_PLACE = knowledge.form("answering: place")
_NO_PLACE = knowledge.words("answering: no place")
_KINDS_OF_LINES = knowledge.stems("answering: kinds of lines")


def planned(intent: Intent, around: Around, score: float) -> Plan:
    """The plan of an intent. `NotOffered` and `Missing` say why there is none."""
    asked = _asked(intent, around)
    if intent.plan:
        steps = (changing.PLANNERS if intent.changes else PLANNERS)[intent.plan](around, intent, asked)
    else:
        steps = _simple(around, intent, asked)
    return Plan(intent.name, asked, steps, score, intent.name, intent.changes)


def _asked(intent: Intent, around: Around) -> Asked:
    slots, said = around.slots, around.slots.said
    span, limit = slots.span(), said.entity("limit")
    return Asked(
        act=intent.act,
        thing=intent.thing,
        count=counts(around),
        why=said.has("explain"),
        span_says=span.says if span is not None else "",
        limit=limit.value.n if limit is not None and isinstance(limit.value, Limit) else 0,
        noun=intent.noun,
        path=slots.get("path") or "",
        topic=slots.topic(),
        question=slots.seen.whole,
    )


def counts(around: Around) -> bool:
    """Whether a number is what is wanted."""
    text = around.slots.said.text
    return bool(re.search(r"\b(?:how many|count|number of|tally|how often)\b", text, re.IGNORECASE))


def _simple(around: Around, intent: Intent, asked: Asked) -> Steps:
    steps = way(intent, around)
    got = yield steps
    return Telling(asked, tuple(got))


def way(intent: Intent, around: Around) -> list[Step]:
    """The calls of an intent, by the first of its ways that is open."""
    missing: Missing | None = None
    for calls in intent.ways:
        if not all(call.command in around.tools for call in calls):
            continue
        try:
            return [Step(call.command, filled(call.params, around.slots)) for call in calls]
        except Missing as error:
            missing = error
    if missing is not None:
        raise missing
    raise NotOffered(intent.ways[0][0].command if intent.ways else intent.name)


def _files(around: Around, intent: Intent, asked: Asked) -> Steps:
    which = filing.wanted(around)
    sizes = filing.asks_for_sizes(around) or which.size is not None or which.sort == "size"
    fields = (["size"] if sizes else []) + (
        ["modified"] if which.since or which.until or which.sort == "modified" else []
    )
    summed = any(isinstance(one.value, Measure) and one.value.fn == "sum" for one in around.slots.said.all("measure"))
    summed = summed or bool(
        re.search(r"\btotal size|altogether|combined|in total\b", around.slots.said.text, re.IGNORECASE)
    )
    kinds = around.slots.kinds()
    noun = ("folder", "folders") if which.folders else ("file", "files")
    if kinds:
        noun = (describing.one_of(kinds[0].says), kinds[0].says)
    asked = msgspec.structs.replace(
        asked,
        thing="files",
        fields=fields,
        noun=noun,
        path="" if which.folder == "." else which.folder,
        limit=which.limit,
        measure="sum" if summed and sizes else "",
        span_says=describing.when(around),
        condition_says=describing.conditions(around, which),
    )
    group = next(iter(around.slots.said.all("group")[::-1]), None)
    if group is not None and isinstance(group.value, Group):
        by = filing.grouped_by(group.value.field)
        if not by:
            raise Unknown(smalltalk.beyond(f"I cannot group files by {group.value.field}"))
        asked = msgspec.structs.replace(asked, group=by, count=True)
        which = msgspec.structs.replace(which, below=True)
    end = yield from filing.found(around, which)
    if isinstance(end, str):
        return end
    return Telling(asked, end.results)


def _read_part(around: Around, intent: Intent, asked: Asked) -> Steps:
    """The first or last lines of a file."""
    slots = around.slots
    path = slots.get("path")
    if path is None:
        raise Missing("path")
    limit = slots.said.entity("limit")
    number = slots.said.entity("number")
    many = limit.value.n if limit is not None and isinstance(limit.value, Limit) else 10
    if limit is None and number is not None and isinstance(number.value, int):
        many = max(1, number.value)
    last = (
        limit.value.end == "last" if limit is not None and isinstance(limit.value, Limit) and limit.value.end else False
    )
    last = last or any(one.lower in _TAIL for one in slots.said.words)
    if not last:
        command = around.offered("file/read", "shell/head")
        params: dict[str, Any] = (
            {"path": path, "limit": many} if command == "file/read" else {"lines": many, "files": [path]}
        )
    else:
        command = around.offered("shell/tail", "vfs/read")
        params = {"lines": str(many), "files": [path]}
        if command == "vfs/read":
            params = {"path": f"/workspace/{path}", "tail": many}
    if not command:
        raise NotOffered("file/read")
    got = yield [Step(command, params)]
    return Telling(asked, tuple(got))


def _word_count(around: Around, intent: Intent, asked: Asked) -> Steps:
    """Lines, words or bytes of a file, or of each file of a kind."""
    slots = around.slots
    text = slots.said.text.lower()
    unit = "words" if "word" in text else "bytes" if "byte" in text else "chars" if "character" in text else "lines"
    nouns = {"words": ("word", "words"), "bytes": ("byte", "bytes"), "chars": ("character", "characters")}
    path = slots.get("path")
    files = [path] if path else []
    if slots.kinds() or slots.said.entity("glob"):
        end = yield from filing.found(around, msgspec.structs.replace(filing.wanted(around), below=True, limit=0))
        files = filing.got_paths(end.results[0]) if not isinstance(end, str) else []
        if not files:
            return knowledge.smalltalk().no_such_files
    if not files:
        raise Missing("path")
    asked = msgspec.structs.replace(asked, count=True, noun=nouns.get(unit, ("line", "lines")), path=path or "")
    if unit == "lines" and len(files) == 1 and "file/read" in around.tools:
        (read,) = yield [Step("file/read", {"path": files[0], "limit": 1})]
        if isinstance(read.value, dict) and isinstance(read.value.get("lines"), int):
            return Telling(asked, (read,))  # wc would leave out a last line that is not ended
    command = around.offered("shell/wc", "file/read")
    if not command:
        raise NotOffered("shell/wc")
    got = yield [Step(command, {unit: True, "files": files[:500]} if command == "shell/wc" else {"path": files[0]})]
    return Telling(asked, tuple(got))


def _checksum(around: Around, intent: Intent, asked: Asked) -> Steps:
    path = around.slots.get("path")
    if path is None:
        raise Missing("path")
    text = around.slots.said.text.lower()
    kind = (
        "shell/md5sum"
        if "md5" in text
        else "shell/sha1sum"
        if "sha1" in text
        else "shell/sha512sum"
        if "sha512" in text
        else "shell/sha256sum"
    )
    command = around.offered(kind, "file/stat")
    if not command:
        raise NotOffered(kind)
    got = yield [Step(command, {"path": path} if command == "file/stat" else {"files": [path]})]
    return Telling(asked, tuple(got))


def _search(around: Around, intent: Intent, asked: Asked) -> Steps:
    """Lines of files that hold a text."""
    slots = around.slots
    if "file/search" not in around.tools:
        raise NotOffered("file/search")
    pattern = str(slots.caught.get("pattern") or slots.get("quoted") or "").strip()
    folder = ""
    within_it = _IN_FOLDER.fullmatch(pattern)
    if within_it is not None and within_it["place"].lower() not in _NO_PLACE:
        pattern, folder = within_it["text"], within_it["place"]
    if not pattern or (slots.caught.get("weak") and _is_known(pattern)):
        raise Missing("pattern")
    if asked.count and stem(pattern.lower()) in _KINDS_OF_LINES:
        pattern = pattern.lower().rstrip("s")
    params: dict[str, Any] = {"pattern": pattern, "ignoreCase": True}
    path = folder or _place(slots.caught.get("where", "")) or _place(slots.caught.get("place", ""))
    if path:
        params["path"] = filing.home_of(path, slots.seen.speaker)
    globs = [glob for kind in slots.kinds() for glob in kind.globs] + [str(one.value) for one in slots.said.all("glob")]
    if len(globs) == 1:
        params["glob"] = globs[0]
    got = yield [Step("file/search", params)]
    if len(globs) > 1:
        got = [filing.only(one, globs) for one in got]
    return Telling(msgspec.structs.replace(asked, path=str(params.get("path", "")), topic=[pattern]), tuple(got))


def _place(words: str) -> str:
    """A folder or a file that is named as the place to look in; empty for everywhere."""
    found = _PLACE.fullmatch(words.strip())
    name = found["name"].rstrip("/") if found is not None else ""
    return "" if name.lower() in _NO_PLACE or name.startswith((".", "*")) else name


def _is_known(text: str) -> bool:
    """Whether words are no text to look for but something that the house knows, such as files or errors."""
    stems = [stem(one) for one in text.lower().split()]
    return any(one in knowledge.known_stems() for one in stems) or len(stems) > 4


def _space(around: Around, intent: Intent, asked: Asked) -> Steps:
    folder = around.slots.caught.get("foldername") or around.slots.folder() or around.slots.get("path") or "."
    if around.slots.said.has("home") and folder == ".":
        folder = "~"
    folder = filing.home_of(folder, around.slots.seen.speaker)
    if "shell/du" in around.tools:
        got = yield [Step("shell/du", {"summarize": True, "humanReadable": True, "paths": [folder]})]
        return Telling(msgspec.structs.replace(asked, path=folder), tuple(got))
    which = filing.Wanted(folder, below=True)
    end = yield from filing.found(around, which)
    if isinstance(end, str):
        return end
    asked = msgspec.structs.replace(
        asked, thing="files", measure="sum", fields=["size"], noun=("file", "files"), path=folder
    )
    return Telling(asked, end.results)


def _health(around: Around, intent: Intent, asked: Asked) -> Steps:
    first = around.offered("system/status", "ai/report")
    steps = [Step(first)] if first else []
    if "debug/logs" in around.tools:
        steps.append(Step("debug/logs", {"includeErrorsOnly": True, "tailLines": 10}))
    if not steps:
        raise NotOffered("system/status")
    got = yield steps
    return Telling(asked, tuple(got))


def _activity(around: Around, intent: Intent, asked: Asked) -> Steps:
    """What was done, by whom: not what was only looked at, unless one person or command is asked about."""
    slots, span = around.slots, around.slots.span()
    who, command = slots.get("person"), slots.get("command")
    if "data/list" not in around.tools:
        raise NotOffered("data/list")
    where: list[Any] = [{"at": within(span)}] if span is not None else []
    told = " ".join(
        [*([f"of {quoted_name(command)}"] if command else []), *([f"by {quoted_name(who)}"] if who else [])]
    )
    asked = msgspec.structs.replace(asked, condition_says=told) if asked.count else asked
    if who:
        where.append({"$or": [{"caller": who}, {"onBehalfOf": who}]})
    if command:
        where.append({"command": command})
    collection = "executions" if who or command or asked.count else "audit"
    if collection == "audit":
        where += [{"command": {"$nin": _QUIET}}, {"phase": {"$ne": "start"}}]
        where.append({"$or": [{"phase": "end"}, {"status": {"$ne": "done"}}]})
    params: dict[str, Any] = {"collection": collection, "filter": where[0] if len(where) == 1 else {"$and": where}}
    if not where:
        del params["filter"]
    if asked.count and "data/count" in around.tools:
        got = yield [Step("data/count", params)]
        return Telling(asked, tuple(got))
    limit = asked.limit or (50 if span is not None or who or command else 10)
    step = Step("data/list", {**params, "orderBy": "-at", "limit": limit})
    (listed,) = yield [step]
    if not asked.limit:
        listed = yield from counted(around, step, listed)
    return Telling(asked, (listed,))


def _members(around: Around, intent: Intent, asked: Asked) -> Steps:
    name = around.slots.get("roomname")
    if name is None:
        raise Missing("room")
    if "room/who" not in around.tools:
        raise NotOffered("room/who")
    got = yield [Step("room/who", {"name": name})]
    return Telling(asked, tuple(got))


def _room_messages(around: Around, intent: Intent, asked: Asked) -> Steps:
    name = around.slots.get("roomname")
    limit = asked.limit or 20
    span = around.slots.span()
    if name:
        asked = msgspec.structs.replace(asked, condition_says=f"in {quoted_name(name)}")
    if name and "room/messages" in around.tools and span is None:
        got = yield [Step("room/messages", {"name": name, "limit": limit})]
        return Telling(asked, tuple(got))
    if "data/list" not in around.tools:
        raise NotOffered("room/messages")
    where: dict[str, Any] = {"deletedAt": None}
    if name:
        where["room"] = name
    if span is not None:
        where["at"] = within(span)
    got = yield [Step("data/list", {"collection": "messages", "filter": where, "orderBy": "-at", "limit": limit})]
    return Telling(asked, tuple(got))


PLANNERS: Mapping[str, Planner] = {
    "files": _files,
    "read part": _read_part,
    "word count": _word_count,
    "checksum": _checksum,
    "search files": _search,
    "space": _space,
    "health": _health,
    "failures": failures.plan,
    "activity": _activity,
    "members": _members,
    "room messages": _room_messages,
}
