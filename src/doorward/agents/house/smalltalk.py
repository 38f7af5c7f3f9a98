"""Sentences that need no call: greetings, help, and what it does not know."""

from __future__ import annotations

from collections.abc import Sequence

from doorward.agents.house import knowledge
from doorward.agents.house.entities.entity import Span


def in_a_row(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def greeting() -> str:
    """The first words in a house where nobody has said anything yet."""
    words = knowledge.smalltalk()
    return words.greeting.format(suggestions="\n".join(f"- {one}" for one in words.suggestions))


def not_understood(near: Sequence[str] = (), *, again: bool = False) -> str:
    words = knowledge.smalltalk()
    if again:
        return words.not_understood_again
    return words.not_understood_near.format(near=in_a_row(list(near))) if near else words.not_understood


def did_nothing(why: str, ask: str = "") -> str:
    words = knowledge.smalltalk()
    how = words.how_to_ask.format(ask=ask) if ask else words.how_else
    return f"{words.did_nothing.format(why=why)}\n{how}"


def no_such_collection(name: str, names: Sequence[str]) -> str:
    return knowledge.smalltalk().no_such_collection.format(name=name, names=in_a_row(list(names)[:20]) or "none")


def no_records(done: str, span: Span | None) -> str:
    """What there is to say of records in a house that has no collection of anybody's own."""
    when = f" {span.says}" if span is not None and span.says else ""
    return knowledge.smalltalk().no_records.format(done=done, when=when)


def no_such_value(word: str, noun: str, fields: Sequence[str]) -> str:
    return knowledge.smalltalk().no_such_value.format(word=word[:60], noun=noun, fields=in_a_row(list(fields)))


def no_such_date(word: str, noun: str, *, changed: bool) -> str:
    """No field says when records came to be as they are."""
    dates = "when they were created or last changed" if changed else "when they were created"
    return knowledge.smalltalk().no_such_date.format(word=word[:60], noun=noun, dates=dates)


def unused(word: str, noun: str) -> str:
    """A word that nothing was made of."""
    return knowledge.smalltalk().unused.format(word=word[:60], noun=noun)


def nowhere(what: str, word: str, noun: str, fields: Sequence[str]) -> str:
    """No record has what was named."""
    words = knowledge.smalltalk()
    return words.nowhere.format(what=what[:80], word=word[:60], noun=noun, fields=in_a_row(list(fields)))


def beyond(why: str) -> str:
    """A figure that no command here gives."""
    words = knowledge.smalltalk()
    return f"{words.beyond.format(why=why)} {words.beyond_how}"


def not_offered(commands: str) -> str:
    return knowledge.smalltalk().not_offered.format(commands=commands)


def joined(parts: Sequence[str]) -> str:
    """Sentences side by side, and lists on lines of their own."""
    text = ""
    for part in parts:
        if part:
            text += part if not text else f"\n\n{part}" if "\n" in part or "\n" in text else f" {part}"
    return text
