"""Decide whether a persona answers a message: it is mentioned, asked, or the conversation pattern says so."""

from __future__ import annotations

import re
from typing import Literal, get_args

from doorward.rooms.message import Card, Message, parse_verdict, resembles_verdict
from doorward.rooms.personas.persona import Persona
from doorward.rooms.rooms import Room

ConversationPattern = Literal["on-mention", "collaborative-research", "always", "silent"]
PATTERNS: tuple[str, ...] = get_args(ConversationPattern)
"""The conversation patterns that change behaviour. Any other word is a label for people and means the default.

`silent`: personas never answer. `on-mention`: only when mentioned. `collaborative-research`: every persona also
answers questions and requests of people. `always`: every persona answers every message of a person.
"""

_ANYWHERE = re.IGNORECASE | re.MULTILINE
_QUESTION = re.compile("[?\u061f\uff1f\u037e]")
_REQUEST_START = re.compile(
    r"(?:how|what|when|where|which|who|whom|whose|why|is|are|am|was|were|do|does|did|can|could|will|would|should|shall"
    r"|may|has|have|had|please|show|list|find|count|search|read|tell|give|check|explain|describe|run|open|write|make"
    r"|create|help|summari[sz]e|compare|look|get|let|add|change|delete|remove|update|edit|move|copy|fix|test|try|say)",
    re.IGNORECASE,
)
"""First words of English questions and requests. Other languages need a question mark or a mention."""
_QUOTED_TEXT = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*(?:`|$)|^[ \t]*+>[^\n]*|\"[^\"\n]*(?:\"|$)|\u201c[^\u201c\u201d\n]*(?:\u201d|$)"
    r"|\u00ab[^\u00ab\u00bb\n]*(?:\u00bb|$)|(?<!\w)['\u2018][^'\u2018\u2019\n]*(?:['\u2019](?!\w)|$)",
    re.MULTILINE | re.DOTALL,
)
"""Code and quotations; unclosed ones run to the end of the line."""


def should_answer(
    persona: Persona, room: Room, pattern: str, message: Message, *, thinks_by_rules: bool = False
) -> bool:
    """Whether a persona answers a message. It never answers its own messages or the cards of calls.

    A persona that thinks by rules, without a language model, answers only requests, messages that its rules cover,
    and mentions. Alone with a person it answers everything but plain statements, if only to say what it understands.
    """
    if message.sender == persona.id or room.archived or pattern == "silent" or persona.id not in room.members:
        return False
    if not message.text.strip() or message.deleted_at is not None or _has_card(message):
        return False
    if message.kind != "human":
        return is_addressed(persona, message.text)
    another = addresses_someone_else(persona, room, message.text)
    if is_mentioned(persona, message.text, in_passing=not another):
        return True
    if pattern == "on-mention" or parse_verdict(message.text) is not None:
        return False
    alone = room.direct or _is_alone_with(room, persona.id)
    if thinks_by_rules and not is_request(message.text) and not _has_house_rule(message.text, persona):
        return alone and not resembles_verdict(message.text) and not _states(message.text, persona)
    if pattern == "always" or alone:
        return True
    if another:
        return False
    only = sum(one.kind == "ai" for one in room.members.values()) == 1
    return (only or pattern == "collaborative-research") and is_request(message.text)


def is_addressed(persona: Persona, text: str) -> bool:
    """Whether an AI or a program addresses a persona: @ and its id at the start of a line or sentence.

    AIs often report what others said, so a name elsewhere in their text or in a quotation does not count.
    """
    own = _QUOTED_TEXT.sub('"', text)
    id = rf"{re.escape(persona.id)}(?![\w-])"
    others = rf"(?:@(?!{id})[\w-]++(?:[ \t]*+(?:,|&|and\b)[ \t]*+|[ \t]++))*+"
    return re.search(rf"(?:^[ \t]*+|[.!?][ \t]++){others}@{id}", own, _ANYWHERE) is not None


def is_mentioned(persona: Persona, text: str, *, in_passing: bool = True) -> bool:
    """Whether a text names a persona by @id or, with `in_passing`, by its display name as a whole word."""
    at = rf"(?<![\w@.-])@{re.escape(persona.id)}(?![\w-])"
    if not in_passing:
        return re.search(at, text, re.IGNORECASE) is not None
    name = rf"(?<!\w){re.escape(persona.display_name)}(?!\w)"
    return re.search(f"{at}|{name}", text, re.IGNORECASE) is not None


def addresses_someone_else(persona: Persona, room: Room, text: str) -> bool:
    """Whether a text starts by addressing another member: `@bob`, `Bob,` or `Hi Bob:`."""
    others = "|".join(re.escape(id) for id in room.members if id != persona.id)
    begins = rf"\s*+(?:(?:hi|hey|hello|dear)\s++)?(?:@(?:{others})(?![\w-])|(?:{others})[ \t]*+[,:;!?])"
    return bool(others) and re.match(begins, text, re.IGNORECASE) is not None


def is_request(text: str) -> bool:
    """Whether a text looks like a question or a request."""
    if _QUESTION.search(text):
        return True
    words = re.findall(r"\w+", text[:200].lower())
    return bool(words) and (_REQUEST_START.fullmatch(words[0]) is not None or "please" in words)


def _has_house_rule(text: str, persona: Persona) -> bool:
    from doorward.agents.house.listening import concerns  # noqa: PLC0415 - large, and seldom needed

    return concerns(text, _persona_names(persona))


def _states(text: str, persona: Persona) -> bool:
    from doorward.agents.house.listening import states  # noqa: PLC0415 - large, and seldom needed

    return states(text, _persona_names(persona))


def _persona_names(persona: Persona) -> tuple[str, str]:
    return (persona.id, persona.display_name)


def _is_alone_with(room: Room, persona: str) -> bool:
    """Whether a persona shares a room with one other member, so that every message is for it."""
    return len(room.members) == 2 and persona in room.members


def _has_card(message: Message) -> bool:
    return any(isinstance(one, Card) for one in message.attachments)
