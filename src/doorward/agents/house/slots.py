"""What of a request can fill a parameter, by name: its words, what was found in it, and where it was said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from doorward.agents.house import knowledge
from doorward.agents.house.entities import Compare, Comparison, Kind, Limit, Span, stem
from doorward.agents.house.said import Said
from doorward.agents.house.seen import Seen
from doorward.core.clock import to_iso

_NAMED_ROOM = knowledge.forms("slots: named room")
_IN_ROOM = knowledge.form("slots: in room")
_NO_ROOM = knowledge.words("slots: no room")
_NAME = knowledge.forms("slots: name")
_FOLDER = knowledge.forms("slots: folder")
_NO_FOLDER = knowledge.words("slots: no folder")
_IMAGES = ("images", ("*.png", "*.jpg", "*.jpeg", "*.gif", "*.webp", "*.svg", "*.bmp", "*.tif", "*.tiff", "*.ico"))
_VIDEOS = ("videos", ("*.mp4", "*.mov", "*.mkv", "*.avi", "*.webm"))
_KINDS = {"image": _IMAGES, "picture": _IMAGES, "photo": _IMAGES, "video": _VIDEOS, "movie": _VIDEOS, "clip": _VIDEOS}
_ENDING = knowledge.form("slots: ending")
FILES_CALLED = knowledge.form("slots: files called")
IN_NAME = knowledge.form("slots: in name")
_COMMANDS = knowledge.form("slots: commands")
_ABOUT = knowledge.form("slots: about")
_LIKE_A_PATH = re.compile(r"[\w./~-]*\w\.[a-zA-Z]\w{0,7}|[\w.~-]+/[\w./-]*[\w/-]")
_PERSON = knowledge.forms("slots: person")
_NO_PERSON = knowledge.words("slots: no person")


class Slots:
    """The values that a request has for parameters."""

    def __init__(self, said: Said, seen: Seen, now: float, caught: Mapping[str, str] | None = None) -> None:
        self.said = said
        self.seen = seen
        self.now = now
        self.caught = dict(caught or {})
        self.memo: dict[Any, Any] = {}
        """What was found out about the request already."""
        self.found: dict[Any, Any] = {}
        """What was looked for in the request already, and where it is."""

    def get(self, name: str) -> Any:
        """The value of a name, such as `path`, `limit` or `span:at`; None where the request has none."""
        if name in self.caught:
            return self.caught[name]
        first, _, field = name.partition(":")
        way = getattr(self, f"_{first}", None)
        if way is None:
            return None
        return way(field) if field else way()

    def has(self, name: str) -> bool:
        """Whether the request holds an entity, as intents name them behind a `#`."""
        key = f"#{name}"
        if key not in self.memo:
            self.memo[key] = self._has(name)
        return bool(self.memo[key])

    def _has(self, name: str) -> bool:
        if name == "kind":
            return bool(self.kinds())
        if name == "path":
            return self._path() is not None
        if name == "path2":
            return len(self.said.all("path")) >= 2
        if name == "filepath":
            found = self._path()
            return found is not None and "." in found.rpartition("/")[2].lstrip(".")
        if name == "size":
            return self.size() is not None
        if name == "age":
            return self.age() is not None
        if name == "inname":
            return IN_NAME.search(self.said.text) is not None or FILES_CALLED.search(self.said.text) is not None
        if name == "about":
            return _ABOUT.search(self.said.text) is not None
        if name == "person":
            return self._person() is not None
        if name == "quotedfile":
            return any("." in str(one.value) for one in self.said.all("quoted"))
        if name == "folder":
            return self.folder() is not None
        if name == "inroom":
            return self.room_named() is not None
        if name == "named":
            return self._name() is not None
        if name == "command":
            return self._command() is not None
        return self.said.entity(name) is not None

    def explains(self, name: str) -> set[int]:
        """The places of the words that an entity of this name stands in, where it is no find of the reading."""
        ways = {"person": self._person, "inroom": self.room_named, "named": self._name, "folder": self.folder}
        if name == "inname":
            named = IN_NAME.search(self.said.text) or FILES_CALLED.search(self.said.text)
            return {
                at for at, word in enumerate(self.said.words) if named and named.start() <= word.start < named.end()
            }
        if name == "kind":
            ending = _ENDING.search(self.said.text)
            return {place for place, word in enumerate(self.said.words) if ending and word.start == ending.start()}
        if name == "about":
            about = _ABOUT.search(self.said.text)
            return {
                place
                for place, word in enumerate(self.said.words)
                if about and about.start() <= word.start < about.end()
            }
        way = ways.get(name)
        held = way() if way is not None else None
        if not held:
            return set()
        words = set(re.findall(r"[\w-]+", str(held).lower()))
        return {place for place, word in enumerate(self.said.words) if word.lower.removesuffix("'s") in words}

    # what fills parameters

    def _path(self) -> str | None:
        found = next((one for one in self.said.all("path") if str(one.value).strip("./")), None)
        if found is not None:
            return clean(str(found.value))
        for one in self.said.all("quoted", "compare"):
            value = one.value.value if isinstance(one.value, Comparison) else one.value
            if isinstance(value, str) and _LIKE_A_PATH.fullmatch(value):
                return clean(value)
        return None

    def _path2(self) -> str | None:
        found = self.said.all("path")
        return clean(str(found[1].value)) if len(found) > 1 else None

    def _quoted(self) -> str | None:
        found = self.said.entity("quoted")
        return str(found.value) if found is not None else None

    def _limit(self) -> int | None:
        found = self.said.entity("limit")
        return found.value.n if found is not None and isinstance(found.value, Limit) else None

    def _pattern(self) -> str | None:
        found = self.said.entity("quoted")
        if found is not None:
            return re.escape(str(found.value))
        about = _ABOUT.search(self.said.text)
        return about[1] if about else None

    def _room(self) -> str | None:
        return self.seen.room or None

    def _speaker(self) -> str | None:
        return self.seen.speaker or None

    def _roomname(self) -> str | None:
        return self.room_named() or self.seen.room or None

    def _inroom(self) -> Any:
        return {"room": self.seen.room} if self.seen.room else None

    def _topic(self) -> str | None:
        return " ".join(self.topic()) or None

    def _rest(self) -> str | None:
        """The telling words of the request, as they were written."""
        small = knowledge.stop()
        kept = [one.text for one in self.said.words if one.stem not in small and one.stem not in ("command", "tool")]
        return " ".join(kept) or None

    def _words(self, field: str) -> Any:
        words = self.topic()
        return {"$or": [{field: {"$ilike": f"%{word}%"}} for word in words]} if words else None

    def _span(self, field: str) -> Any:
        found = self.span()
        return {field: within(found)} if found is not None else None

    def _lately(self, field: str) -> Any:
        """From when on something was said: nobody who asks what was said last week minds what was said since."""
        found = self.span()
        return {field: {"$gte": to_iso(found.since)}} if found is not None and found.since is not None else None

    def _since(self) -> str | None:
        found = self.span()
        return to_iso(found.since) if found is not None and found.since is not None else None

    def _until(self) -> str | None:
        found = self.span()
        return to_iso(found.until) if found is not None and found.until is not None else None

    def _name(self) -> str | None:
        for pattern in _NAME:
            found = pattern.search(self.said.text)
            if found is not None and found["name"].lower() not in _NO_ROOM:
                return found["name"]
        return None

    def _person(self) -> str | None:
        """Who is asked about: `what did anna do`, `anna's commands`, `by anna`, or the asker."""
        text = self.said.text
        for pattern in _PERSON:
            found = pattern.search(text)
            if found is not None and found["name"].lower() not in _NO_PERSON:
                name = found["name"]
                return self.seen.speaker if name.lower() in ("i", "my", "me") else name.lower()
        return None

    def _command(self) -> str | None:
        """The command that is named in the request, by its own name or that on the wire."""
        areas = {name.partition("/")[0] for name in self.seen.tools if "/" in name}
        for word in re.findall(r"(?<![\w./])[a-z][\w-]*/[\w/-]*\w(?![\w./])|\b[a-z]+_\w+", self.said.text):
            for name, tool in self.seen.tools.items():
                if word in (name, tool.name):
                    return name
            if (
                re.fullmatch(r"[a-z]+/[a-z_]+", word)
                and word.partition("/")[0] in areas
                and _COMMANDS.search(self.said.text)
            ):
                return str(word)
        return None

    # what planners ask for

    def span(self) -> Span | None:
        found = [one for one in self.said.all("span") if isinstance(one.value, Span)]
        found.sort(key=lambda one: one.words.lower() in ("recently", "lately", "recent", "newly"))
        return found[0].value if found else None  # type: ignore[return-value]

    def age(self) -> Compare | None:
        found = self.said.entity("age")
        return found.value if found is not None and isinstance(found.value, Compare) else self._measured("seconds")

    def size(self) -> Compare | None:
        found = self.said.entity("size")
        return found.value if found is not None and isinstance(found.value, Compare) else self._measured("bytes")

    def _measured(self, unit: str) -> Compare | None:
        """A comparison with a unit, which is one of ages or sizes wherever files are meant."""
        for one in self.said.all("compare"):
            value = one.value
            if isinstance(value, Comparison) and value.unit == unit and isinstance(value.value, int | float):
                return Compare(value.op, value.value, one.words)
        return None

    def kinds(self) -> list[Kind]:
        found = [one.value for one in self.said.all("kind") if isinstance(one.value, Kind)]
        ending = _ENDING.search(self.said.text) if not found else None
        if ending is None:
            return found
        meant = _KINDS.get(ending[1].lower().rstrip("s"))
        if meant is not None:
            return [Kind(*meant)]
        return [Kind(f"{ending[1].upper()} files", (f"*.{ending[1].lower()}",))]

    def room_named(self) -> str | None:
        """The room that is named, if one is."""
        for pattern in _NAMED_ROOM:
            for found in pattern.finditer(self.said.text):
                if found["name"].lower() not in _NO_ROOM:
                    return found["name"]
        who = re.match(r"who(?:'s| is| are| else)\b", self.said.text, re.IGNORECASE) is not None
        if who or self.said.has("member", "message", "person"):
            place = _IN_ROOM.search(self._timeless())
            near = place is not None and (place[0].lower().startswith(("in", "inside")) or not who)
            if place is not None and near and place["name"].lower() not in _NO_ROOM | {"room", "rooms"}:
                return place["name"]
        return None

    def _timeless(self) -> str:
        """The request without its times, behind which the name of a room may stand last."""
        text = self.said.text
        for one in reversed(self.said.all("span")):
            text = f"{text[: one.start].rstrip()}{text[one.end :]}"
        return text

    def folder(self) -> str | None:
        """The folder that is named, if one is."""
        for one in self.said.all("path"):
            path = str(one.value)
            if path.endswith("/") or "." not in path.rstrip("/").rpartition("/")[2].lstrip("."):
                return clean(path)
        for pattern in _FOLDER:
            for found in pattern.finditer(self.said.text):
                name = found["name"].rstrip(".")
                taken = self.said.all("span", "age", "size", "quoted", "compare", "kind")
                held = any(each.start <= found.start("name") < each.end for each in taken if each.kind != "compare")
                if name and name.lower() not in _NO_FOLDER and not held:
                    return clean(name)
        return None

    def topic(self) -> list[str]:
        """The telling words: neither small ones nor those by which it was understood as a question about messages."""
        small = knowledge.stop() | _talking()
        covered = self.said.covered() - {
            place for one in self.said.all("compare", "quoted", "path") for place in self.said.inside(one)
        }
        held = [stem(word) for one in self.said.all("quoted") for word in re.findall(r"\w+", str(one.value).lower())]
        found = [one.stem for place, one in enumerate(self.said.words) if place not in covered and one.shape == "word"]
        return list(dict.fromkeys(one for one in (*held, *found) if one not in small and len(one) >= 3))[:8]


def within(span: Span) -> dict[str, Any]:
    """A stretch of time as a condition on a field."""
    bounds: dict[str, Any] = {}
    if span.since is not None:
        bounds["$gte"] = to_iso(span.since)
    if span.until is not None:
        bounds["$lt"] = to_iso(span.until)
    return bounds


def clean(path: str) -> str:
    """A path as the file commands take it."""
    path = path.strip().strip("\"'`“”")
    if path.startswith("/workspace"):
        path = path[len("/workspace") :].lstrip("/") or "."
    return path.rstrip("/") or path


def day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _talking() -> frozenset[str]:
    words = (
        "decide decision agree agreement conclude conclusion discuss discussion say said talk mention plan settle "
        "propose suggest write wrote message conversation chat history post somebody someone anyone anybody person "
        "people find search show spoke speak word words regarding bring brought earlier remember remind add ago ask "
        "ever previously recently time two month week last told"
    )
    return frozenset(stem(word) for word in words.split())
