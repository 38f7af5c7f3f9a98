"""Requests that go on from the one before: `and by status?`, `only the failed ones`, `how big is it`."""

from __future__ import annotations

import re
from datetime import tzinfo
from typing import TYPE_CHECKING

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.plan import Plan, Step, Steps, Telling, Unknown, items
from doorward.agents.house.said import Said, clauses, said
from doorward.agents.house.telling import totals
from doorward.agents.house.wording import worded

if TYPE_CHECKING:
    from doorward.agents.house.understanding import Mind

_GOES_ON = knowledge.form("following: goes on")
_ONLY_WHICH = re.compile(
    r"(?:how many|count|which|only)(?: are| is)? (?!files|rooms)[a-z]+(?<!s)(?: ones?)?[?.! ]*$", re.IGNORECASE
)
"""Asks about some of them without saying of what: `how many open`."""
_THEM = knowledge.form("following: them")
_IT = knowledge.form("following: it")
_NTH = {
    "first": 0,
    "second": 1,
    "third": 2,
    "fourth": 3,
    "fifth": 4,
    "1st": 0,
    "2nd": 1,
    "3rd": 2,
    "last": -1,
    "top": 0,
}
_WHICH = knowledge.form("following: which")
_VERB = knowledge.form("following: verb")
_ASKS = re.compile(r"(?:when|where|how|what|which|does|is)\b", re.IGNORECASE)
_CHANGED_FILE = ("destination", "target", "path", "paths", "files")
"""The parameters of a change that name the file it leaves behind."""


def followed(mind: Mind, one: Said) -> Plan | str | None:
    """The plan for a request that only makes sense behind another; None when it stands for itself."""
    text = one.text
    goes_on = _goes_on(one)
    refers = _THEM.search(text) is not None or (
        _IT.search(text) is not None and len(one.words) <= 9 and not one.entity("path")
    )
    short = (len(one.words) <= 4 and not one.content()) or _ONLY_WHICH.match(text) is not None
    short_enough = len(one.words) <= 7 and not one.entity("path")
    nth = _WHICH.search(text) if short_enough and (_VERB.match(text) or refers or len(one.words) <= 3) else None
    if not (goes_on or refers or short or nth):
        return None
    if not goes_on and not nth and _stands(mind, one, refers):
        return None
    before = _before(mind)
    if before is None:
        return None
    chosen = picked(mind, one, before, nth)
    if chosen is not None:
        return chosen
    if _changes(mind, before):
        return _of_changed(mind, one, before)
    made = mind.planned(_joined(mind, before, one))
    return made if isinstance(made, Plan) else None


def _before(mind: Mind) -> Said | None:
    """What was asked before, with all that it went on from itself; what only picked one does not count."""
    chain: list[Said] = []
    for earlier in mind.seen.earlier:
        one = said(worded(earlier).readings[0], mind.now, mind.zone)
        chain.append(one)
        if not _leans(one) or _changes(mind, one):
            break
    if not chain:
        return None
    whole = chain.pop()
    for one in reversed(chain):
        if not _picks(one) and not _changes(mind, whole):
            whole = _joined(mind, whole, one)
    return whole


def _changes(mind: Mind, one: Said) -> bool:
    """Whether a request changes something. Nothing is joined to such a request: it could become a part of its text."""
    plan = mind.planned(one)
    return isinstance(plan, Plan) and plan.changes


def _goes_on(one: Said) -> bool:
    """Whether a request begins as one that goes on; a few words behind `and` do so as well."""
    if _GOES_ON.match(one.text) is not None:
        return True
    return (
        len(one.words) <= 3 and re.match(r"(?:and|or|but|what about|how about)\b", one.whole.strip(), re.I) is not None
    )


def _leans(one: Said) -> bool:
    """Whether a request makes no sense without the one before."""
    picks = _picks(one) and len(one.words) <= 7
    short = len(one.words) <= 4 and not one.content()
    return (
        (_goes_on(one) and len(one.words) <= 6)
        or _THEM.search(one.text) is not None
        or (not one.entity("path") and (picks or short))
    )


def _picks(one: Said) -> bool:
    """Whether a request does something to one of what was found before: `read it`, `show the second`."""
    return _VERB.match(one.text) is not None and (_WHICH.search(one.text) or _IT.search(one.text)) is not None


def _stands(mind: Mind, one: Said, refers: bool) -> bool:
    """Whether a request says enough by itself: it names what it is about."""
    things = [
        name
        for name in (
            "file",
            "room",
            "person",
            "log",
            "command",
            "approval",
            "git",
            "message",
            "recipe",
            "time",
            "date",
            "disk",
            "memory",
            "home",
            "workspace",
            "commit",
            "branch",
            "cpu",
        )
        if one.has(name)
    ]
    return bool(things or one.entity("path", "kind", "glob")) and not (refers and _THEM.search(one.text))


def _joined(mind: Mind, before: Said, one: Said) -> Said:
    """The request before, with what the new one says in the place of what it said about the same."""
    rest = _GOES_ON.sub("", one.text).strip(" ?.!,")
    rest = re.sub(
        r"\b(?:how many|count|number)(?: of)? (?:them|those|these|it)\b",
        lambda found: found[0].rpartition(" ")[0] + " @",
        rest,
        flags=re.IGNORECASE,
    )
    kinds = {entity.kind for entity in one.reading.found}
    kept = before.text.rstrip(" ?.!")
    parts = list(before.joined_at)
    for entity in reversed(before.reading.found):
        if entity.kind in kinds and entity.kind in ("span", "order", "limit", "size", "age", "kind"):
            kept = f"{kept[: entity.start]} {kept[entity.end :]}"
            gone = entity.end - entity.start - 1
            parts = [at - gone if at >= entity.end else min(at, entity.start) for at in parts]
    counting = re.search(r"\b(?:how many|count)\b", one.text, re.IGNORECASE)
    if counting and not re.search(r"\b(?:how many|count)\b", kept, re.IGNORECASE):
        long = len(kept)
        kept = re.sub(
            r"^(?:(?:list|show(?: me)?|which|what(?: are)?|find|give me|get)\b(?: all| the)*)? ?",
            "how many ",
            kept,
            flags=re.IGNORECASE,
        )
        parts = [at + len(kept) - long for at in parts]
    new = _bare(rest)
    new = re.sub(r"^(?:how many|count|number of)\b(?: of)?(?= (?:are|is|were)\b)", "", new, flags=re.IGNORECASE).strip()
    new = re.sub(r"^(?:how many|count|number of)\b(?: of)*", "", new, flags=re.IGNORECASE).strip()
    new = re.sub(r"^(?:are|is|were|was|that are|which are|ones?)\b ?", "that are ", new, flags=re.IGNORECASE)
    parts = [len(" ".join(kept[:at].split())) for at in parts]
    kept = " ".join(kept.split())
    if new[:1].isupper() and kept.rpartition(" ")[2][:1].isupper():
        kept += ","
    return msgspec.structs.replace(
        said(" ".join(f"{kept} {new}".split()), mind.now, mind.zone), joined_at=(*parts, len(kept))
    )


def _bare(text: str) -> str:
    text = _THEM.sub(" ", text)
    text = re.sub(
        r"\b(?:group|sort|order|break|list|show|split|filter|give me)\b(?= +(?:by|down|per|in|up))",
        " ",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(r"@", " ", text)
    return " ".join(text.split())


def picked(mind: Mind, one: Said, before: Said, nth: re.Match[str] | None = None) -> Plan | None:
    """Something done to one of what the request before found."""
    verb = _VERB.match(one.text) or re.match(r"(?P<verb>size)", one.text)
    single = nth is not None or _IT.search(one.text) is not None
    if not single or (one.entity("span", "group", "compare") and nth is None):
        return None
    place = _NTH[nth["nth"].lower()] if nth is not None else 0
    earlier = mind.planned(before)
    if not isinstance(earlier, Plan) or earlier.changes:
        return None
    word = verb["verb"].lower() if verb is not None else ""

    def steps() -> Steps:
        end = yield from earlier.steps
        if isinstance(end, str):
            return end
        found = [each for got in end.results for each in totals.as_told(got, items(got)) if isinstance(each, dict)]
        value = end.results[-1].value if end.results else None
        if not found and isinstance(value, dict) and value.get("path"):
            found = [value]
        if not found or not -len(found) <= place < len(found):
            raise Unknown(knowledge.smalltalk().nothing_before)
        path = str(found[place].get("path", "")).removeprefix("/workspace/")
        if not path:
            kept = msgspec.structs.replace(end.results[-1], value={"items": [found[place]]})
            return Telling(msgspec.structs.replace(end.asked, limit=1, count=False), (kept,))
        plan = _of_file(mind, path, _wish(word, one.text))
        if not isinstance(plan, Plan):
            raise Unknown(plan or knowledge.smalltalk().nothing_before)
        return (yield from plan.steps)

    return Plan("following", earlier.asked, steps(), 0.8, "what was found before", word in ("delete", "remove"))


def _of_file(mind: Mind, path: str, wish: str) -> Plan | str | None:
    """The plan for a wish about one file; None when its name cannot be written into a request."""
    if '"' in path or not path.isprintable():
        return None
    # Quoted, the name is no part of the request, whatever words it holds.
    return mind.planned(said(f'{wish} "{path}"', mind.now, mind.zone))


def _of_changed(mind: Mind, one: Said, before: Said) -> Plan | None:
    """Something done to the file that the request before changed."""
    verb, change = _VERB.match(one.text), mind.planned(before)
    if _IT.search(one.text) is None or not (verb or _ASKS.match(one.text)) or not isinstance(change, Plan):
        return None
    params = next(change.steps)[0].params
    named = next((params[key] for key in _CHANGED_FILE if params.get(key)), "")
    path = str(named[0] if isinstance(named, list) else named).removeprefix("/workspace/")
    word = verb["verb"].lower() if verb is not None else ""
    plan = _of_file(mind, path, _wish(word, one.text)) if path else None
    return plan if isinstance(plan, Plan) else None


def _wish(word: str, text: str) -> str:
    if word in ("delete", "remove"):
        return "delete"
    if re.search(r"\b(?:size|big|large|bytes|heavy)\b", text, re.IGNORECASE):
        return "how big is"
    if re.search(r"\b(?:when|old|changed|modified)\b", text, re.IGNORECASE):
        return "when was the last change of"
    return "read"


_ = Step


_BOTH = knowledge.form("following: both")
_OF_EACH = knowledge.form("following: of each")
_PLUS = knowledge.form("following: plus")
_AND_IT = knowledge.form("following: and it")
_PRONOUN = knowledge.form("following: pronoun")
_SHOWS = knowledge.form("following: shows")
_ACT = knowledge.form("following: act")


def pieces(one: Said, now: float, zone: tzinfo) -> list[Said]:
    """Each thing that is wished for, by itself."""
    each = _OF_EACH.match(one.text)
    if each is not None:
        return [said(f"how many {each[name]} are there", now, zone) for name in ("first", "second")]
    both = _BOTH.match(one.text)
    if both is not None:
        return [said(f"{both['verb']} {both[name]}{both['rest']}", now, zone) for name in ("first", "second")]
    plus = _PLUS.search(one.text)
    if plus is not None:
        return [said(part, now, zone) for part in (one.text[: plus.start()], f"what is {plus['what']}")]
    parts = clauses(one)
    if len(parts) > 1 and any(_is_empty(part) for part in parts):
        return [one]
    split = _AND_IT.search(one.text) if len(parts) < 2 else None
    if split is not None:
        return [said(part, now, zone) for part in (one.text[: split.start()], one.text[split.start("then") :])]
    return parts


def _is_empty(part: Said) -> bool:
    """Whether a clause says nothing by itself, such as a `how many` behind a question."""
    return not part.content() and len(part.words) <= 3 and not part.reading.found and not _PRONOUN.search(part.text)


def refers_to_one(part: Said) -> bool:
    return _SHOWS.match(part.text) is not None


def referring(part: Said, first: Said, now: float, zone: tzinfo) -> Said:
    """A wish with what its `their` or `it` stands for, said in the wish before."""
    if _PRONOUN.search(part.text) is None:
        return part
    path = first.entity("path")
    if path is not None and not first.entity("kind"):
        return said(_PRONOUN.sub(path.words, part.text.removesuffix(" back"), count=1), now, zone)
    thing = re.sub(r"\b(?:are there|do we have|there are|is there|exist)\b", " ", _ACT.sub("", first.text)).strip(
        " ?.!,"
    )
    text = re.sub(
        r"\b(?:their|its) (?P<what>[\w ]+?)(?=[?.!,]|$)",
        lambda found: f"{found['what']} of {thing}",
        part.text,
        flags=re.IGNORECASE,
    )
    if text == part.text:
        text = _PRONOUN.sub(thing, text, count=1)
    return said(text, now, zone)
