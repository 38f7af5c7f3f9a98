"""Messages: what was said where, when, by whom and about what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import NotOffered, Reading, Step, Steps
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import bullets, counted, name, one_line, when
from doorward.agents.house.topics.calls import all_of, describe_groups, within
from doorward.agents.house.topics.vocabulary import words_of
from doorward.agents.house.topics.wording import Limit, Wording

_MOST = 20
_MOST_ABOUT = 5
_MOST_SEARCHED = 200


class _Query(msgspec.Struct, frozen=True, kw_only=True):
    room: str = ""
    sender: str = ""
    own: bool = False
    """Whether the messages of the asker are meant."""
    about: tuple[str, ...] = ()
    """Stems that the messages are to hold; the most of them."""
    span: TimeSpan | None = None
    limit: Limit | None = None
    count: bool = False
    group: str = ""

    @property
    def says(self) -> str:
        parts = [
            f"by {name(self.sender)}" if self.sender and not self.own else "",
            f"in {name(self.room)}" if self.room else "",
            self.span.says if self.span else "",
        ]
        return "".join(f" {one}" for one in parts if one)


def read(context: RequestContext) -> Iterable[Reading]:
    words = words_of("messages")
    wording = Wording(context)
    speaker = context.conversation.speaker
    nouns, decided = wording.take(words["nouns"]), wording.has(words["decided"])
    said = wording.find(words["said"]) or _verb(wording)
    if not (nouns or decided or said):
        return
    own = bool(speaker) and wording.has("did i|i say|have i|i said|i wrote|i write|my message|my messages|i tell")
    wording.used |= said
    wording.take(words["decided"])
    count = wording.count() and nouns
    group = ""
    for word, field in (("room", "room"), ("channel", "room"), ("sender", "sender"), ("person", "sender")):
        if not group and wording.take(f"per {word}|by {word}|each {word}|every {word}"):
            group = field
    span = wording.span()
    wording.take("earlier|before|so far" if not span else "earlier|so far")
    limit = wording.limit()
    markers = words["about"] + ("|for" if wording.has("search|look|find") else "")
    about = [one for one in wording.find(markers) if one not in wording.used]
    room = "" if about and not wording.has("in|room|channel|here") else _room(wording, min(about, default=10_000))
    sender = speaker if own else _sender(wording, min(about, default=10_000))
    if room and not sender:
        wording.take("contain|contains|hold|holds")
    wording.take("appear|occur|come up")
    topic = wording.behind(markers)
    if not topic and decided:
        topic = wording.behind(words["decided"])
    wording.take(words["may"])
    if own:
        wording.used |= wording.find("i|my")
    stems = tuple(dict.fromkeys(one.stem for one in topic))
    query = _Query(room=room, sender=sender, own=own, about=stems, span=span, limit=limit, count=count, group=group)
    says = f"messages{query.says}" + (f" about {' '.join(one.text for one in topic)}" if topic else "")
    yield wording.reading("messages", lambda: _messages(context, query), says)


def _verb(wording: Wording) -> set[int]:
    """Return the place of `say` or `write` in `did ben say anything`."""
    lower = [one.lower for one in wording.request.tokens]
    return {
        place
        for place, one in enumerate(lower)
        if one in ("say", "write", "post", "mention") and "did" in lower[max(place - 3, 0) : place]
    }


def _room(wording: Wording, end: int) -> str:
    """Take a room that is named before the words that the messages are about."""
    before = set(wording.used)
    room = wording.room("message|messages|post|posts|chat|conversation", ("does", "has", "to"))
    if room and min(wording.used - before, default=0) > end:
        wording.used = before
        return ""
    return room


def _sender(wording: Wording, end: int) -> str:
    known = wording.known("users", "id") | wording.known("messages", "sender")
    for place, one in enumerate(wording.request.tokens[:end]):
        before = wording.request.tokens[place - 1].lower if place else ""
        if place in wording.used or one.kind != "word" or (one.is_stop and one.lower not in known):
            continue
        if one.lower in known or before in ("did", "by", "from", "has"):
            wording.guessed_name |= one.lower not in known
            wording.used.add(place)
            return one.text
    return ""


def _messages(context: RequestContext, query: _Query) -> Steps:
    where: list[dict[str, Any]] = []
    if query.about:
        where.append({"$or": [{"text": {"$ilike": f"%{one}%"}} for one in query.about]})
    if query.sender:
        where.append({"sender": query.sender})
    if query.room:
        where.append({"room": query.room})
    where += within("at", query.span)
    if query.about and not query.sender:
        where.append({"kind": "human"})
    where.append({"deletedAt": None})
    given = {"collection": "messages", **all_of(where)}
    if query.group:
        if not context.offered("data/aggregate"):
            raise NotOffered("data/aggregate")
        (groups,) = yield [Step("data/aggregate", {**given, "groupBy": [query.group], "orderBy": "-count"})]
        return describe_groups(groups, query.group, f"messages{query.says}")
    if query.count and context.offered("data/count"):
        (count,) = yield [Step("data/count", given)]
        found = int(count.value.get("count", 0))
        about = " about that" if query.about else ""
        return f"There {'is' if found == 1 else 'are'} {counted(found, 'message', 'messages')}{about}{query.says}."
    limit = (query.limit.most if query.limit else 0) or _MOST
    newest = query.limit is None or query.limit.newest
    if context.offered("data/list"):
        most = _MOST_SEARCHED if query.about else limit + 1
        (listed,) = yield [Step("data/list", {**given, "orderBy": "-at" if newest else "at", "limit": most})]
    elif query.room and not (query.about or query.sender or query.span) and context.offered("room/messages"):
        (listed,) = yield [Step("room/messages", {"name": query.room, "limit": limit + 1})]
    else:
        raise NotOffered("data/list")
    asked = " ".join(context.conversation.whole.split())
    items = [one for one in listed.items if isinstance(one, dict) and _text(one) and _text(one) != asked]
    if query.about:
        told = [one for one in items if not _text(one).endswith("?")]
        items = _best(items if query.sender else told or items, query.about)
    return _describe(context, query, items[:limit], len(items))


def _text(one: Mapping[str, Any]) -> str:
    return " ".join(str(one.get("text") or "").split())


def _best(items: Sequence[dict[str, Any]], about: Sequence[str]) -> list[dict[str, Any]]:
    """Return the messages that hold the most of the words that were asked about."""
    ranks = [len(set(Request(_text(one)).stems) & set(about)) for one in items]
    best = max(ranks, default=0)
    return [one for one, rank in zip(items, ranks, strict=True) if rank == best]


def _describe(context: RequestContext, query: _Query, items: Sequence[dict[str, Any]], total: int) -> str:
    def line(one: dict[str, Any]) -> str:
        sender = "" if query.own else f"{name(str(one.get('sender')))} "
        return f"{sender}on {when(str(one.get('at')), context.zone)}: “{one_line(_text(one))}”"

    lines = [line(one) for one in items[: _MOST_ABOUT if query.about else None]]
    if not lines:
        if query.own:
            return f"I found no message of yours{' about that' if query.about else ''}{query.says}."
        return f"I found no message{' about that' if query.about else ''}{query.says}."
    if query.own:
        head = "You said this" if len(lines) == 1 else "You said"
    elif query.about:
        head = "I found this message about it" if len(lines) == 1 else f"I found these {len(lines)} messages about it"
    elif query.limit and query.limit.most == 1:
        head = f"The {'last' if query.limit.newest else 'first'} message"
    else:
        shown = len(lines) if total <= len(lines) else f"the newest {len(lines)}"
        head = "There is 1 message" if len(lines) == 1 else f"These are {shown} messages"
    order = ", newest first" if len(lines) > 1 and not query.about else ""
    return f"{head}{query.says}{order}:\n{bullets(lines, _MOST)}"
