"""Which rule of the stand-in fits a message, and what of the message it is about."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doorward.agents.models.standin_asking import held_back, plain, unquoted
from doorward.agents.models.standin_rules import Rule, alternatives, book, compiled
from doorward.agents.models.standin_words import stem, stems, words

_TELLING, _MOST_WORDS = 3, 8
_LONGEST = 4_000
"""Characters of a message that are looked at: nobody asks a simple question at greater length."""
_TOO_LONG = f"it has more than {_LONGEST:,} characters, and I would not take in all of them"
_LOOKS = Rule(name="")


class Match(msgspec.Struct, frozen=True):
    rule: Rule
    caught: dict[str, str] = {}
    stopped: str = ""
    """Why nothing is done, although the message speaks of what the rule does."""


def matching(text: str, names: Sequence[str] = ()) -> Match | None:
    """The rule that fits a text: the first whose pattern does or, without one, the one with the most words in it.

    `names` are those by which the persona may be addressed.
    """
    asked = plain(text[:_LONGEST], names)
    found = _by_pattern(asked) or _mentioned(asked) or _by_words(asked)
    if found is not None and found.rule.acts == "changes" and not found.stopped and len(text) > _LONGEST:
        return Match(found.rule, stopped=_TOO_LONG)
    return found


def _by_pattern(text: str) -> Match | None:
    for rule in book().rules:
        for pattern in rule.patterns:
            found = compiled(pattern).search(text)
            if found is not None:
                caught = {key: value.strip() for key, value in found.groupdict().items() if value}
                stopped = held_back(text, rule, caught) if rule.calls else ""
                return Match(rule, {key: unquoted(value)[0] for key, value in caught.items()}, stopped)
    return None


def _mentioned(text: str) -> Match | None:
    """A change that is spoken of, in whatever way, and not asked for."""
    for rule in book().rules:
        if rule.unless_mentions and compiled(rule.unless_mentions).search(text):
            continue
        if any(compiled(pattern).search(text) for pattern in rule.mentions):
            return Match(rule, stopped=held_back(text, rule) or book().not_plain)
    return None


def _by_words(text: str) -> Match | None:
    there = stems(text)
    asks = compiled(book().asks).search(text) is not None
    stopped = held_back(text, _LOOKS)
    best: tuple[int, Rule] | None = None
    for rule in book().rules:
        if (rule.unless and there & alternatives(rule.unless)) or (rule.calls and not (asks or stopped)):
            continue
        fits = [len(one.split()) for one in rule.when if all(there & alternatives(word) for word in one.split())]
        if fits and (best is None or max(fits) > best[0]):
            best = (max(fits), rule)
    if best is None:
        return Match(_LOOKS, stopped=stopped) if stopped else None
    return Match(best[1], stopped=stopped if best[1].calls else "")


def topic(text: str, names: Sequence[str] = ()) -> list[str]:
    """The telling words of a question: neither small words nor those by which it was understood as one."""
    small = {stem(word) for word in book().stop.split()} | alternatives("@decide") | alternatives("@message")
    found = [stem(word) for word in words(plain(text[:_LONGEST], names))]
    return list(dict.fromkeys(one for one in found if one not in small and len(one) >= _TELLING))[:_MOST_WORDS]
