"""Where in a message the request is: what stands around it, and what its `it` and `those` stand for.

People tell why they ask, apologise, and thank in advance. A message is cut into parts, those that ask for nothing are
put aside, and what is left is freed of the words that only wrap it.
"""

from __future__ import annotations

import re

import msgspec

from doorward.agents.house.entities.knowledge import vocabulary
from doorward.agents.house.wording.knowledge import pattern, patterns, wordings

_ROUNDS = 12
_FEWEST = 2
"""Letters that a request has at least."""
_ASKS = "^(?:and |so |but )?(?:{ask})"
_QUESTION = "^(?:and )?(?:{wh}|is|are|was|were|do|does|did|has|have|am)\\b"
_ORDER = "^(?:{verb})\\b"
_NOUN = r"(?:(?:the |a |an |our |my )?(?:order|ticket|customer|product|file|folder|room|record|document|task|invoice|user)s? (?:called |named |number )?)?"
_LITERAL = re.compile(rf"{_NOUN}[\ue001\ue004]\d+\ue002", re.IGNORECASE)
_IT = re.compile(r"\b(?:it|them|that one|this one|that file|the file|that document|those|that|this)\b(?! (?:is|are|was|category|room|\w+s)\b)", re.IGNORECASE)
_ITS = re.compile(r"\b(?:its|that room's|that folder's|that file's) (?P<what>[\w-]+)", re.IGNORECASE)
_TWO = re.compile(r"\b(?:the two|both(?: of them)?|them)\b", re.IGNORECASE)
_ROOM = re.compile(r"\b(?:the )?(?P<name>[\w-]+) (?:room|channel)\b|\b(?:room|channel) (?P<other>[\w-]+)|\bthe (?P<bare>[\w-]+)$", re.IGNORECASE)
_THERE_IS = re.compile(
    r"\b(?:there (?:is|should be|must be|was|'s)|there's|remember|recall|about|somewhere) (?:a|an|this|some|the) (?P<what>.+?)(?: lying\b.*| that\b.*| which\b.*| somewhere\b.*| around\b.*)?$",
    re.IGNORECASE,
)


class Unwrapped(msgspec.Struct, frozen=True):
    request: str
    """What is asked for."""
    beside: str = ""
    """What was said beside it."""
    narrows: bool = False
    """Whether what was said before it may narrow the request, so that the whole is to be tried first."""


def unwrapped(text: str) -> Unwrapped:
    """The request in a message. What is literal in the message is masked."""
    parts = _parts(text)
    kinds = [_kind(one) for one in parts]
    asked = [number for number, kind in enumerate(kinds) if kind == "request"]
    if not asked:
        tagged = next((number for number, kind in enumerate(kinds) if kind == "tag" and number), 0)
        if not tagged:
            return Unwrapped(bare(text))
        asked = [tagged - 1]
    first, last = asked[0], asked[-1]
    beside = " ".join((*parts[:first], *(one for one, kind in zip(parts[last + 1 :], kinds[last + 1 :], strict=True) if kind != "tag")))
    kept = [bare(one) for one, kind in zip(parts[first : last + 1], kinds[first : last + 1], strict=True) if kind != "tag"]
    request = ", and ".join(one.rstrip("?.! ") for one in kept[:-1]) + (", and " if kept[1:] else "") + kept[-1]
    narrows = bool(first) and all(pattern(wordings().places).match(one) for one in parts[:first])
    return Unwrapped(_resolved(request, beside), beside, narrows)


def wishes(text: str) -> list[str]:
    """The wishes that a part tells of, such as `Finance would like the sums`, the likeliest first."""
    found = []
    for one in patterns("embedded"):
        told = one.match(text)
        if told is not None and len(told["wish"]) > _FEWEST:
            found.append(bare(told["wish"]))
    return list(dict.fromkeys(found))


def bare(text: str) -> str:
    """A request without what only wraps it, before and behind."""
    text = text.strip(" ,;:-")
    for _ in range(_ROUNDS):
        rest = _ahead(text)
        if rest == text:
            break
        text = rest
    for _ in range(_ROUNDS):
        rest = next((cut for one in patterns("closings") if (cut := one.sub("", text)) != text and len(cut) > _FEWEST), text)
        if rest == text:
            break
        text = rest.rstrip(" ,;")
    return text


def _ahead(text: str) -> str:
    for one in patterns("openings"):
        found = one.match(text)
        if found is not None and len(text) - found.end() > _FEWEST:
            rest = text[found.end() :].strip(" ,;:")
            return _base(rest) if re.search(r"\b(?:mind|of) *$", found[0], re.IGNORECASE) else rest
    return text


def _base(text: str) -> str:
    """`telling me …` as `tell me …`."""
    found = re.match(r"(\w+?)ing\b", text)
    if found is None:
        return text
    root, acts = found[1].lower(), {*vocabulary().acts, "clean", "throw", "send"}
    for word in (root, f"{root}e", root[:-1] if root[-1:] == root[-2:-1] else root):
        if word in acts:
            return word + text[found.end() :]
    return text


def _parts(text: str) -> list[str]:
    places = sorted({found.span() for one in patterns("breaks") for found in one.finditer(text)})
    parts, at = [], 0
    for start, end in places:
        if start < at:
            continue
        parts.append(text[at:start])
        at = end
    parts.append(text[at:])
    return [one.strip() for one in parts if len(one.strip(" ?.!,;")) > _FEWEST]


def _kind(part: str) -> str:
    """What a part is: a request, one that only asks to do what was said before, or talk."""
    if any(one.match(part) for one in patterns("tags")):
        return "tag"
    if pattern(_ASKS).match(part) or pattern(_QUESTION).match(part) or pattern(_ORDER).match(part):
        return "request"
    rest = bare(part)
    if rest != part.strip(" ,;:-") and (pattern(_QUESTION).match(rest) or pattern(_ORDER).match(rest)):
        return "request"
    if any(one.match(part) for one in patterns("asides")):
        return "talk"
    return "request" if rest != part.strip(" ,;:-") and _wishes_for(part) else "talk"


def _wishes_for(part: str) -> bool:
    return re.match(r"(?:i|we)(?:'d| would)? (?:like|love|need|want|be)\b", part, re.IGNORECASE) is not None


def _resolved(request: str, beside: str) -> str:
    """A request in which `it` and the like are replaced by what the talk beside it named."""
    if not beside or re.search("[\ue001\ue004]", request):
        return request
    named = [found[0] for found in _LITERAL.finditer(beside)]
    if len(named) > 1 and _TWO.search(request):
        return _TWO.sub(lambda _: f"{named[0]} and {named[1]}", request, count=1)
    if named and _IT.search(request):
        return _IT.sub(lambda _: named[0], request, count=1)
    its = _ITS.search(request)
    room = _ROOM.search(beside.rstrip(" ,.?!"))
    if its is not None and room is not None:
        name = room["name"] or room["other"] or room["bare"]
        return f"{request[: its.start()]}the {its['what']} of the room {name}{request[its.end() :]}"
    there = _THERE_IS.search(beside.rstrip(" ,.?!"))
    if there is not None and _IT.search(request):
        return _IT.sub(lambda _: f"the {there['what']}", request, count=1)
    return request
