"""What `it`, `those` and `there` in a request stand for, where something was said beside it."""

from __future__ import annotations

import re

_THINGS = "order|ticket|customer|product|file|folder|room|record|document|task|invoice|user"
_LITERAL = re.compile(
    rf"(?:(?:the |a |an |our |my )?(?:{_THINGS})s? (?:called |named |number )?)?[\ue001\ue004]\d+\ue002", re.IGNORECASE
)
_IT = re.compile(
    r"\b(?:it|them|that one|this one|that file|the file|that document|those|(?:that|this)(?![ ]\w)|"
    r"that (?=up|away|out|to|for))\b",
    re.IGNORECASE,
)
_ONES = re.compile(
    r"\b(?:which|what)(?: ones| of (?:them|those))?(?= (?:do we have|are there|exist|do we use)\b)", re.IGNORECASE
)
_MANY = re.compile(r"how many (?=do|does|did|are|have|has|of (?:them|those)|is|were)", re.IGNORECASE)
_ITS = re.compile(r"\b(?:its|that room's|that folder's|that file's) (?P<what>[\w-]+)", re.IGNORECASE)
_TWO = re.compile(r"\b(?:the two|both(?: of them)?|them)\b", re.IGNORECASE)
_ROOM = re.compile(
    r"\b(?:the )?(?P<name>[\w-]+) (?:room|channel)\b|\b(?:room|channel) (?P<other>[\w-]+)|\bthe (?P<bare>[\w-]+)$",
    re.IGNORECASE,
)
_ABOUT_ROOM = re.compile(r"who\b|(?:the |which |what )?messages|(?:the )?members", re.IGNORECASE)
_NAMED_ROOM = re.compile(r"\b(?:the )?(?P<name>[\w-]+) (?:room|channel)\b", re.IGNORECASE)
_THERE_IS = re.compile(
    r"\b(?:there (?:is|should be|must be|was|'s)|there's|remember|recall|about|somewhere) (?:a|an|this|some|the) "
    r"(?P<what>.+?)(?: lying\b.*| that\b.*| which\b.*| somewhere\b.*| around\b.*)?$",
    re.IGNORECASE,
)
_PLURAL = re.compile(r"\b[a-z]{3,}s\b")


def counted(request: str, beside: str) -> list[str]:
    """`How many do we have` and `which ones are there` with what is meant, which the talk beside it named."""
    many = list(dict.fromkeys(_PLURAL.findall(beside.lower())))[:2]
    ones = _ONES.match(request)
    if ones is not None:
        return [f"which {one}{request[ones.end() :]}" for one in many]
    found = _MANY.match(request)
    if found is None:
        return []
    rest = re.sub(r"^of (?:them|those) ", "", request[found.end() :])
    return [f"how many {one} {rest}" for one in many]


def resolved(request: str, beside: str) -> str:
    """A request in which `it` and the like are replaced by what the talk beside it named."""
    if not beside or re.search("[\ue001\ue004]", request):
        return request
    named = [found[0] for found in _LITERAL.finditer(beside)]
    if len(named) > 1 and _TWO.search(request):
        return _TWO.sub(lambda _: f"{named[0]} and {named[1]}", request, count=1)
    if named and _IT.search(request):
        return _IT.sub(lambda _: named[0], request, count=1)
    whose = _NAMED_ROOM.search(beside)
    if whose is not None and _ABOUT_ROOM.match(request):
        return re.sub(r"\b(?:it|there)\b", f"the {whose['name']} room", request, count=1, flags=re.IGNORECASE)
    its, room = _ITS.search(request), _ROOM.search(beside.rstrip(" ,.?!"))
    if its is not None and room is not None:
        name = room["name"] or room["other"] or room["bare"]
        return f"{request[: its.start()]}the {its['what']} of the room {name}{request[its.end() :]}"
    there = _THERE_IS.search(beside.rstrip(" ,.?!"))
    if there is not None and _IT.search(request):
        return _IT.sub(lambda _: f"the {there['what']}", request, count=1)
    return request
