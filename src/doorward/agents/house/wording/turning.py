"""What ought to be done as what is asked for: `the files are to be listed` as `list the files`.

People who write with care say what should become of something, what is required, or under which condition it is
wanted. Each of these is turned into the plain request that it is; which words do so is data, in `turns.json`.
"""

from __future__ import annotations

import re
from functools import cache

from doorward.agents.house.wording.knowledge import turns

_WHERE = re.compile(
    r"(?:if|where|wherever|in case|provided that|provided)\s+(?P<told>[^?!]{3,120}?),\s+(?P<np>[^,?!]{2,60})$",
    re.IGNORECASE,
)
_ONE_OF = re.compile(
    r"(?:an?|any|some) (?P<noun>[\w-]+)(?P<in> (?:in|under|from|of) [\w./-]+)?"
    r" (?P<so>(?:is|are|was|were|has|have|had|exceeds|contains|costs|belongs)\b.+)",
    re.IGNORECASE,
)
_ITS = re.compile(r"(?:the|its) (?P<field>[\w-]+) (?P<so>.+)", re.IGNORECASE)
_THING = re.compile(r"(?:the|that|this|such an?|each|every|any) (?P<noun>[a-z]+?)s?(?: in question| concerned)?", re.I)
_THE = re.compile(r"^(?:the|this) ", re.IGNORECASE)
_NEEDED = re.compile(r"(?:{wished})\s*:\s*(?P<np>\S.+)".replace("{wished}", "needed|wanted|required|requested"), re.I)


def turned(text: str) -> str:
    """A message as a plain request, where it says what ought to be; else as it is."""
    told = text.strip()
    end = told[len(told.rstrip(" .!")) :]
    told = told.rstrip(" .!")
    named = _NEEDED.fullmatch(told)
    if named is not None:
        return f"show {_small(named['np'])}{end}"
    made = _ought(told) or _wished(told)
    return f"{made}{end}" if made else text


def _ought(told: str) -> str:
    """`in x, the y is to be shown` as `show the y in x`, and `get the y shown` as well."""
    found = _passive().fullmatch(told) or _caused().fullmatch(told)
    if found is None:
        return ""
    looks, changes = _verbs()
    did, np, rest = found["did"].lower(), found["np"], found["rest"]
    verb = looks.get(did, "")
    if verb:
        where = _WHERE.fullmatch(np)
        return _narrowed(verb, where["told"], where["np"], rest) if where is not None else _put(verb, np, rest)
    if re.search(turns().doubt, told, re.IGNORECASE) or re.match(turns().others, np, re.IGNORECASE):
        return ""
    return _put(changes[did], _THE.sub("", np), rest)


def _wished(told: str) -> str:
    """`a list of x is required` as `show a list of x`, and `the removal of x is requested` as `delete x`."""
    found = _needs().fullmatch(told)
    if found is None or re.match(turns().made, found["np"], re.IGNORECASE):
        return ""
    named = _nouns().match(found["np"])
    if named is None:
        return _put("show", found["np"], "")
    verb = next(verb for verb, nouns in turns().names.items() if named["noun"].lower() in nouns.split())
    doubtful = re.search(turns().doubt, told, re.IGNORECASE) is not None
    return "" if doubtful and verb in turns().changes else f"{verb} {found['np'][named.end() :]}"


def _put(verb: str, np: str, rest: str) -> str:
    front = _front().match(np)
    if front is None:
        return f"{verb} {_small(np)}{rest}"
    return f"{verb} {_small(np[front.end() :])}{rest} {_small(front['front'])}"


def _narrowed(verb: str, told: str, np: str, rest: str) -> str:
    """`If an order was changed, it` as `orders that were changed`: what is said of it narrows what is shown."""
    one, its, thing = _ONE_OF.fullmatch(told), _ITS.fullmatch(told), _THING.fullmatch(np)
    if one is not None:
        return f"{verb} {one['noun']}s{one['in'] or ''} that {one['so']}{rest}"
    if its is not None and thing is not None:
        return f"{verb} {thing['noun']}s whose {its['field']} {its['so']}{rest}"
    return f"{verb} {np} where {told}{rest}"


def _small(text: str) -> str:
    first = text.split(" ", 1)[0]
    return text if first.isupper() or not first.isalpha() else text[0].lower() + text[1:]


@cache
def _verbs() -> tuple[dict[str, str], dict[str, str]]:
    """The verb of each participle, of those that look and of those that change."""
    known = turns()
    looks = {did: verb for verb, many in known.looks.items() for did in many.split()}
    return looks, {did: verb for verb, many in known.changes.items() for did in many.split()}


@cache
def _passive() -> re.Pattern[str]:
    did = "|".join(one for verbs in _verbs() for one in verbs)
    return re.compile(
        rf"(?P<np>[^?!]{{2,200}}?),? (?:{turns().ought})(?: \w+ly)? (?P<did>{did})\b(?P<rest>[^?!]*)", re.IGNORECASE
    )


@cache
def _caused() -> re.Pattern[str]:
    did = "|".join(one for verbs in _verbs() for one in verbs)
    return re.compile(
        r"(?:(?:please|kindly) )?(?:get|have|i(?:'d| would) like(?: to have)?|i want(?: to have)?) "
        r"(?P<np>[^,?!]{2,90}?) "
        rf"(?P<did>{did})(?P<rest>(?: (?:to|from|in|into|as|with|by|at) [^?!]+)?(?: please| for me)?)",
        re.IGNORECASE,
    )


@cache
def _needs() -> re.Pattern[str]:
    return re.compile(rf"(?P<np>[^?!]{{3,200}}?),? (?:is|are)(?: \w+ly)? (?:{turns().wished})", re.IGNORECASE)


@cache
def _nouns() -> re.Pattern[str]:
    nouns = "|".join(one for many in turns().names.values() for one in many.split())
    return re.compile(rf"(?:the|an?) (?P<noun>{nouns}) of ", re.IGNORECASE)


@cache
def _front() -> re.Pattern[str]:
    return re.compile(rf"(?P<front>{turns().front}),\s+", re.IGNORECASE)
