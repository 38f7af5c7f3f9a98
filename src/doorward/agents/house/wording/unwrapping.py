"""Where in a message the request is: what stands around it, and what its `it` and `those` stand for.

People tell why they ask, apologise, and thank in advance. A message is cut into parts, those that ask for nothing are
put aside, and what is left is freed of the words that only wrap it.
"""

from __future__ import annotations

import re

import msgspec

from doorward.agents.house.entities.knowledge import vocabulary
from doorward.agents.house.wording.knowledge import pattern, patterns, wordings
from doorward.agents.house.wording.referring import resolved

_ROUNDS = 12
_FEWEST = 2
"""Letters that a request has at least."""
_TOLD = 3
"""Words that tell something beside an order; fewer are a name, or a word for or against it."""
_ASKS = "^(?:and |so |but )?(?:{ask})"
_QUESTION = "^(?:and )?(?:{wh}|is|are|was|were|do|does|did|has|have|am)\\b"
_ORDER = "^(?:{verb})\\b"

_WONDERS = re.compile(r"would you (?!please|kindly|mind|be )", re.IGNORECASE)
"""By itself it may as well wonder what somebody would do."""
_POLITE = re.compile(r"\b(?:you|possible|chance|i|we)\b", re.IGNORECASE)


class Unwrapped(msgspec.Struct, frozen=True):
    request: str
    """What is asked for."""
    beside: str = ""
    """What was said beside it."""
    narrows: bool = False
    """Whether what was said before it may narrow the request, so that the whole is to be tried first."""
    told: bool = False
    """Whether nothing in it asks plainly, so that it rather tells of a wish."""


def unwrapped(text: str) -> Unwrapped:
    """The request in a message. What is literal in the message is masked."""
    parts = _parts(text)
    kinds = [_kind(one) for one in parts]
    asked = [number for number, kind in enumerate(kinds) if kind == "request"]
    strong = [number for number in asked if not _wishes_for(parts[number])]
    asked = strong or asked
    told = not asked
    if told:
        tagged = next((number for number, kind in enumerate(kinds) if kind == "tag" and number), 0)
        if not tagged:
            return Unwrapped(bare(text), told=True)
        before = " ".join(parts[:tagged])
        done = resolved(bare(parts[tagged]), before)
        if done != bare(parts[tagged]):
            return Unwrapped(done, before)
        asked = [tagged - 1]
    first, last = asked[0], asked[-1]
    beside = " ".join(
        (
            *parts[:first],
            *(one for one, kind in zip(parts[last + 1 :], kinds[last + 1 :], strict=True) if kind != "tag"),
        )
    )
    kept = [
        bare(one) for one, kind in zip(parts[first : last + 1], kinds[first : last + 1], strict=True) if kind != "tag"
    ]
    request = ", and ".join(one.rstrip("?.! ") for one in kept[:-1]) + (", and " if kept[1:] else "") + kept[-1]
    narrows = bool(first) and all(pattern(wordings().places).match(one) for one in parts[:first])
    return Unwrapped(resolved(request, beside), beside, narrows, told)


def ordered(text: str) -> tuple[str, str] | None:
    """The one part of a message that asks for something to be done, without its courtesy, and what stands beside it."""
    parts = _parts(text, fewest=0)
    plain = [None if _kind(one) == "tag" else _plain(one) for one in parts]
    asked = [number for number, one in enumerate(plain) if one is not None]
    if not asked and len(parts) == 1:
        return parts[0], ""
    if len(asked) != 1 or (len(parts) == 1 and _WONDERS.match(parts[0])):
        return None
    others = [one for number, one in enumerate(parts) if number != asked[0]]
    if any(len(one.split()) < _TOLD for one in others):
        return None  # a name or a `no` before it: who is meant, or whether, is not said
    beside = " ".join(others)
    return resolved(plain[asked[0]] or "", beside), beside


def _plain(part: str) -> str | None:
    """A part that asks for something to be done, without its courtesy; None for any other."""
    end = pattern(wordings().ordered)
    for one in patterns("orders"):
        found = one.match(part)
        if found is not None:
            rest = part[found.end() :]
            rest = _base(rest) if found[0].rstrip().lower().endswith("mind") else rest
            return end.sub("", rest).rstrip("? ")
    return end.sub("", part) if pattern(_ORDER).match(part) and not part.endswith("?") else None


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
        rest, polite = _ahead(text)
        if rest == text:
            break
        # A question that only asks whether somebody would do it is a request.
        text = rest.rstrip("? ") if polite else rest
    for _ in range(_ROUNDS):
        rest = next(
            (cut for one in patterns("closings") if (cut := one.sub("", text)) != text and len(cut) > _FEWEST), text
        )
        if rest == text:
            break
        text = rest.rstrip(" ,;")
    return text


def _ahead(text: str) -> tuple[str, bool]:
    """The text without one more of what wraps it, and whether that was a courtesy."""
    for one in patterns("openings"):
        found = one.match(text)
        if found is not None and len(text) - found.end() > _FEWEST:
            rest = text[found.end() :].strip(" ,;:")
            polite = _POLITE.search(found[0]) is not None
            return (_base(rest) if re.search(r"\b(?:mind|of) *$", found[0], re.IGNORECASE) else rest), polite
    return text, False


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


def _parts(text: str, fewest: int = _FEWEST) -> list[str]:
    places = sorted({found.span() for one in patterns("breaks") for found in one.finditer(text)})
    parts, at = [], 0
    for start, end in places:
        if start < at:
            continue
        parts.append(text[at:start])
        at = end
    parts.append(text[at:])
    return [one.strip() for one in parts if len(one.strip(" ?.!,;")) > fewest]


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
