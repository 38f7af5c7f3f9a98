"""How a request is meant: as an order, a question, a report, a condition or a prohibition.

An order is a clause that begins with a verb in the imperative. A message is judged as a whole: one part that speaks
against acting holds back every change. Quotations and paths are content and are not judged.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from doorward.agents.house.request import MAX_REQUEST, Request

_CHANGES = (
    r"(?:write|create|make|save|store|add|append|attach|insert|put|note|jot|replace|substitute|swap|change|set|update"
    r"|edit|correct|switch|rename|move|copy|duplicate|delete|remove|erase|drop|discard|trash|purge|wipe|clear|clean"
    r"|tidy|empty|destroy|overwrite|truncate|run|execute|launch|say|post|send|announce|mark|flag|assign|reassign"
    r"|register|enter|record|undo|revert|reverse|rollback|roll back|(?:roll|bring) (?:that|it|this)|pass"
    r"|take (?:that|it|this|back)|put it|get rid of"
    r"|throw (?:away|out)|close|reopen|cancel|ship|approve|deny|archive|activate|deactivate|resolve|finish|complete"
    r"|pay|confirm|touch|mkdir|mv|cp|rm|bin|dump|scrap|ditch|unlink|clone|relocate|include|stick|tack|turn|flip|hand|leave"
    r"|back up|fix|cut|rewrite|reset|stop|start|restart|shut|kill|install|give(?! (?:me|us)\b)|message the|notify the"
    r"|tell (?:the|everyone|everybody|room)|let (?:the|everyone) \w+ know"
    r"|(?:let|have) \w+ (?:take|handle|own|work on|look after|deal with)"
    r"|transfer|delegate|forward|allocate|extend|place|new (?:empty |blank )*(?:file|folder|directory)"
    r"|(?:i (?:need|want|would like)|i'd like|give me) an?"
    r" (?:(?:new|empty|blank|second) )*(?:file|folder|directory|copy))"
)
_LOOKS = r"(?:read|open|show|list|search|look|find|print|display|view|tell|count|grep|cat|check|use|call|do|ask|answer)"
_PAST = (
    r"(?:deleted|removed|erased|wrote|written|created|made|changed|moved|copied|sent|saved|edited|updated|renamed|ran"
    r"|added|set|put)"
)
_REPORTS = (
    r"(?:said|says|told|tells|asked|asks|wants|wanted|suggested|suggests|recommends|recommended|thinks|thought|begged"
    r"|insisted|insists|demanded|heard|according to|for example|for instance|would like you|needs you|expects"
    r"|(?:ordered|instructed|advised|urged|reminded|warned|requested) (?:\w+ ){1,2}to)"
)
_NAMES = r"(?:doorward|guide|keeper|assistant|house)"
_CAN_YOU = r"(?:can|could|would|will)\s+(?:you|u)(?:\s+(?:please|kindly|just|maybe|possibly|quickly|also))*"
_FRONT = re.compile(
    rf"(?:please|pls|plz|kindly|just|quickly|simply|ok|okay|hey|hi|hello|hm+|oops|whoops|oh no|oh|ah|uh|um|argh|damn"
    rf"|actually|my (?:mistake|bad)|sorry|no(?=,)|yes"
    rf"|wait(?=,)|well"
    rf"|now|so|then|also|and|alright|right|great|thanks|thank you|good (?:morning|evening|afternoon|day)"
    rf"|dear|@?{_NAMES}"
    rf"|go ahead and|go and|be so (?:kind|good) as to|do me a favou?r and|feel free to|(?P<asks>{_CAN_YOU}"
    r"|do you think you could|would you be so kind as to|is it possible for you to)"
    r"|(?:i|we) (?:want|need|would like|would love) you to|i['’]d (?:like|love) you to"
    r"|it would be (?:great|nice) if you could"
    r"|i(?: was|['’]m| am)? wonder(?:ing)? if you could|i['’]d appreciate it if you could)(?!\w)(?:[,:!.…-]*\s+|$)",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"(?:[,;]?\s+(?:please|pls|plz|thanks(?: a lot| in advance)?|thank you(?: very much| so much)?|thx"
    r"|cheers|for me|for us"
    r"|if (?:you (?:can|could|please|would|don['’]t mind)|possible|that['’]s ok(?:ay)?)|when you (?:can|get a chance)"
    r"|when you have (?:time|a (?:moment|minute))|(?:would|will|could|can) you|right now|right away|asap|at once"
    r"|immediately|now|ok|okay))(?P<marks>\s*[.!?]*\s*)$",
    re.IGNORECASE,
)
_REASONS = re.compile(
    r"\b(?:(?:do|does)(?: not|n't)|no longer) (?:need|want|use|require)s?\b"
    r"|(?:\b(?:is|are|was)|'s)(?: not|n't| no longer) (?:needed|used|required|wanted|necessary|relevant|valid)\b"
    r"|\bshould (?:now )?(?:be|become|have|say|read|hold|contain)\b"
)
"""Reasons for an order that sound as if they held it back."""
_UNTOUCHED = re.compile(
    r"(?:\b(?:have|has|was|were)(?:\s+not|n['’]t)(?:\s+been)?|\bnot)\s+(?:touched|changed|modified|updated|edited|used|opened)"
    r"\s+(?:in|for|since)(?:\s+(?:the\s+last|more\s+than|over|at\s+least))?(?=\s+(?:\d|a\s|\w+\s+(?:day|week|month|year)))",
    re.IGNORECASE,
)
_NO_ORDER = (
    r"(?:add|sum) up\b|make (?:me )?an? (?:list|table|chart|summary|report|graph|overview)\b|run (?:me )?an? report\b"
)
_STARTS = re.compile(
    rf"(?:^|[.;:!?,)]\s*|\b(?:and|then|but)\s+|…\s*)(?:(?:please|pls|just|then|and|now|also|kindly)\s+)*"
    rf"(?!{_NO_ORDER})(?P<verb>{_CHANGES})(?![\w'])"
)
_QUESTION = re.compile(
    r"(?:and |so |but )?(?:who|whose|what|what's|which|when|where|why|how|is|are|was|were|am|do|does|did|has|have|had"
    r"|can|could|may|might|shall|should|will|would)\b"
)
_WAS = re.compile(
    r"\b(?:did|was|were|had)(?:n['’]t)?\b|\b(?:has|have|['’]ve)(?:n['’]t)?\s(?:\w+\s){0,2}?(?:\w+ed|been|gone|left|sold)\b"
)
_WILL_BE = re.compile(
    r"\b(?:will|won['’]t|is|isn['’]t|are|aren['’]t|do|does|can|going\sto|upcoming|planned)\b|\b(?:wh\w+|there|it)['’]s\b"
)
_NEWS = re.compile(
    r"[^,;:?!]+\s(?:has|have|got)\s(?:an?\s)new\s[\w ]+?[,:]\s+it(?:['’]s|\sis)\s[^,;?!]+", re.IGNORECASE
)
_SECOND = re.compile(rf"(?:\b(?:and|then)\s+|[;.!?]\s+)(?:(?:then|also|please)\s+)*(?:{_CHANGES}|{_LOOKS})\b")
_CLAUSE = r"(?:^|[.;:!?,]\s*(?:and |but |so |then )?|\b(?:and|but|please|then|so|just|now|really)\s+)"

_DONT = "you say what not to do, and I do not guess what that leaves"
_WHAT_IF = "you wonder what would be, and I try nothing out to answer that"
_QUOTED = "it is a quotation, and asks me for nothing by itself"
_TOLD = "it tells what somebody says or wants, and I act only on a plain order"
_CONDITION = "there is a condition in it, and I do not weigh conditions"
_STOPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"^(?:do not|don't|under no circumstances|in no case)\b", _DONT),
        (
            rf"{_CLAUSE}(?:you )?(?:do not|don't|never|must not|mustn't|should not|shouldn't|may not|can't|cannot"
            rf"|must never"
            rf"|should never|avoid|refrain from|stop|quit|no need to)\s+(?:(?:ever|you|dare|to|even|just)\s+)*"
            rf"(?:{_CHANGES}|{_LOOKS})(?:e?ing|ting|ning)?\b",
            _DONT,
        ),
        (rf"{_CLAUSE}(?:don't|do not)[.!]*$", _DONT),
        (r"\b(?:nobody|no one) (?:may|should|must|can|is to)\b", _DONT),
        (r"\bwhat (?:would |will |could |might )?happens?\b.*\b(?:if|when|were)\b", _WHAT_IF),
        (r"^(?:and |so |but )?what if\b", _WHAT_IF),
        (
            r"^(?:suppose|supposing|imagine|hypothetically|theoretically|in theory|let's say|assume|assuming)\b",
            _WHAT_IF,
        ),
        (r"^if (?:i|you|we|one|he|she|they|somebody|someone|people)\b", _WHAT_IF),
        (rf"^(?:if|when|whenever|once|after|before|as soon as)\b[^?]*,\s*(?:then |please )?{_CHANGES}\b", _CONDITION),
        (
            rf"\b(?:(?:should|shall|must|ought) (?:i|we)(?: better| really| just| now)? (?:{_CHANGES}|{_LOOKS})"
            rf"|(?:can|could|may|might) (?:i|we)(?: safely| just| now)? {_CHANGES})\b",
            _WHAT_IF,
        ),
        (
            r"\b(?:would|is|was|might|could) it (?:be )?(?:really )?(?:ok|okay|safe|wise|bad|smart|better|fine|allowed"
            r"|dangerous|sensible|a (?:good|bad) idea)\b",
            _WHAT_IF,
        ),
        (
            r"\b(?:never ?mind|forget (?:it|that|about it)|on second thoughts?|scratch that|changed my mind"
            r"|just kidding"
            r"|(?:only|just) joking|cancel that|ignore that|rather not)\b",
            "you took it back",
        ),
        (
            r"\bexecute:\s|<\s*/?\s*(?:tool_call|function_call|invoke|tool_use)\b|\"arguments\"\s*:",
            "I run no calls that are written out in a message; ask me in plain words",
        ),
    )
)
"""Patterns that stop a request of any kind, and why."""
_REPORTED = re.compile(
    rf"(?!{_LOOKS}\b)(?:(?!(?:where|that|which|who|with|about)\b)\S+\s+){{1,5}}?{_REPORTS}\b.*\b{_CHANGES}\b", re.DOTALL
)
_HAPPENED = re.compile(
    rf"^(?:i|we|they|he|she|somebody|someone|nobody) (?:(?:have|had|just|already|was|were|also|never) )*{_PAST}\b"
)
_HOLDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (
            r"\b(?:ignore|forget|disregard|bypass|override|circumvent|pretend|jailbreak|without (?:asking|approval))\b",
            "it asks me to set rules aside, and I keep to them",
        ),
        (
            r"n't\b|\bno\b(?!\.? ?\d)|\b(?:not|nope|never|nothing(?! in it)|nobody|none|neither|nor|cannot|without"
            r"|avoid|except|hold off|wait|instead of|rather than)\b",
            'there is a "no" or a "not" in it, and I do not guess what it means',
        ),
        (
            r"\b(?:if|unless|whether|in case|provided|providing|assuming|suppose|supposing|as soon as|as long as|once"
            r"|otherwise|(?:when|whenever|after|before|until) (?:i|you|we|he|she|they|it|the|somebody|someone"
            r"|every\w+))\b",
            _CONDITION,
        ),
        (r"\?", "it is a question, and I change nothing to answer one"),
        (rf"(?<!that )(?<!which )\b{_REPORTS}\b", _TOLD),
        (
            r"\b(?:would|could|might|should|maybe|perhaps|someday|going to|about to|used to|plan to|let's|let us"
            r"|imagine)\b",
            "it says what could be done, and does not ask me to do it",
        ),
    )
)
"""Patterns that hold back an order, and why."""


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
