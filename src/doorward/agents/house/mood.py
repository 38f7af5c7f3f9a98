"""How a request is meant: as an order, a question, a report, a condition or a prohibition.

An order is a clause that begins with a verb in the imperative. A message is judged as a whole: one part that speaks
against acting holds back every change. Quotations and paths are content and are not judged.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from doorward.agents.house.request import MAX_REQUEST, Request
from doorward.agents.house.words import load_patterns

_P = load_patterns("mood.json")
_FRONT, _BACK, _UNTOUCHED, _NEWS = (
    re.compile(_P[one], re.IGNORECASE) for one in ("front", "back", "untouched", "news")
)
_STARTS, _QUESTION, _WAS, _WILL_BE, _SECOND, _HAPPENED = (
    re.compile(_P[one]) for one in ("starts", "question", "was", "will_be", "second", "happened")
)
_REASONS = re.compile(_P["reasons"])
"""Reasons for an order that sound as if they held it back."""
_REPORTED = re.compile(_P["reported"], re.DOTALL)
_STOPS: tuple[tuple[re.Pattern[str], str], ...] = tuple((re.compile(pattern), why) for pattern, why in _P["stops"])
"""Patterns that stop a request of any kind, and why."""
_HOLDS: tuple[tuple[re.Pattern[str], str], ...] = tuple((re.compile(pattern), why) for pattern, why in _P["holds"])
"""Patterns that hold back an order, and why."""
_QUOTED = "it is a quotation, and asks me for nothing by itself"
_TOLD = "it tells what somebody says or wants, and I act only on a plain order"


def reason_not_to_act(text: str) -> str:
    """Return why nothing is done, such as a prohibition or a hypothesis; empty if the request may be acted on."""
    if len(text) > MAX_REQUEST:
        return f"it is longer than the {MAX_REQUEST:,} characters that I take in, and I would not act on a part of it"
    if _is_quotation(text):
        return _QUOTED
    spoken, asks = _spoken(text)
    for pattern, why in _STOPS:
        if pattern.search(spoken):
            return why
    if not _QUESTION.match(spoken) and _REPORTED.match(spoken):
        return _TOLD
    if _STARTS.search(spoken) is None:
        return "you tell what happened, and ask me for nothing" if _HAPPENED.match(spoken) else ""
    if _QUESTION.match(spoken):
        return ""
    judged = _REASONS.sub("", re.sub(r"\?\s*$", "", spoken) if asks else spoken)
    return next((why for pattern, why in _HOLDS if pattern.search(judged)), "")


def is_order(text: str) -> bool:
    """Whether a text plainly orders a change: a clear verb at the start of a clause, nothing that holds it back."""
    spoken, _ = _spoken(text)
    orders = _STARTS.search(spoken) is not None or tells_news(text)
    return orders and not _QUESTION.match(spoken) and not reason_not_to_act(text)


def tells_news(text: str) -> bool:
    """Whether a text tells the new value of a field, which is to be noted: `Anna has a new phone number, it's 5`."""
    return _NEWS.fullmatch(text.strip()) is not None


def has_second_order(text: str) -> bool:
    """Whether a text that begins with one order goes on with another one."""
    spoken, _ = _spoken(text)
    first = _STARTS.match(spoken)
    return first is not None and _SECOND.search(spoken, first.end()) is not None


def tense(text: str) -> Literal["past", "ahead", ""]:
    """Return whether a question is about what was or about what is and will be; empty if its verbs do not say."""
    spoken = text.lower()
    return "past" if _WAS.search(spoken) else "ahead" if _WILL_BE.search(spoken) else ""


def settle_age(text: str) -> str:
    """Return a text in which what was not changed for some time is older than that."""
    return _UNTOUCHED.sub("older than", text)


def strip_front(text: str) -> str:
    """Return a request without the courtesy at its start."""
    return _strip_front(text)[0]


def strip_back(text: str) -> str:
    """Return a request without the courtesy at its end."""
    rest = text.strip()
    while True:
        found = _BACK.search(rest)
        if found is None or not rest[: found.start()].strip():
            return rest
        rest = rest[: found.start()] + ("?" if "?" in found["marks"] else "")


def _strip_front(text: str) -> tuple[str, bool]:
    """Return a request without the courtesy at its start, and whether that makes a question of an order."""
    rest, asks = text.strip(), False
    while True:
        found = _FRONT.match(rest)
        if found is None or found.end() == len(rest):
            return rest, asks
        asks = asks or found["asks"] is not None
        rest = rest[found.end() :]


def _spoken(text: str) -> tuple[str, bool]:
    """Return the words that are judged, in small letters, and whether courtesy makes a question of them.

    Nothing invisible parts a word, and quotations and paths are only an ellipsis.
    """
    text = unicodedata.normalize("NFKC", text[:MAX_REQUEST].translate(dict.fromkeys(map(ord, "’ʼ´′"), "'")))
    text = "".join(one for one in text if unicodedata.category(one) != "Cf")
    kept = list(text)
    for token in Request(text).tokens:
        if token.kind in ("quoted", "path"):
            kept[token.start : token.end] = ["…", *[""] * (token.end - token.start - 1)]
    bare = " ".join(settle_age("".join(kept)).lower().split())
    front, asks = _strip_front(bare)
    back = strip_back(front)
    return back, asks or back.rstrip("?") != front.rstrip("?")


def _is_quotation(text: str) -> bool:
    text = text.strip()
    tokens = [one for one in Request(text).tokens if one.kind != "mark"]
    return text.startswith((">", "&gt;")) or (len(tokens) == 1 and tokens[0].kind == "quoted" and " " in tokens[0].text)
