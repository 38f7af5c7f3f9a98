"""The stand-in: a model without a language model, that needs no key and no network and answers by rules.

It sees what any model sees, a prompt, and asks for commands as any model does. What it says about a result comes from
that result. Its rules and words are data in standin.json.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec

from doorward.agents.calls.reading import read_aside
from doorward.agents.models.model import Asked, Piece, Prompt, Spent, Text, Turn
from doorward.agents.models.standin_rules import Call, Match, book, matching, topic
from doorward.agents.models.standin_telling import Result, in_a_row, quoted, told, understood
from doorward.clock import iso

SUGGESTIONS = book().suggestions

_ROOM = re.compile(r"in the room '(?P<room>[^']{1,63})'")
_DAY = 86_400
_NEEDS_APPROVAL = "waits for a person's approval"


def greeting() -> str:
    """The first words in a house where nobody has said anything yet."""
    return book().greeting.format(suggestions="\n".join(f"- {one}" for one in SUGGESTIONS))


class StandIn:
    """Rules in the place of a model: deterministic, and honest about what it is."""

    name = "house"

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now

    async def answer(self, prompt: Prompt) -> AsyncIterator[Piece]:
        question, results = _latest(prompt.turns)
        found = matching(question)
        if results:
            text = self._told(found, question, results)
        elif found is None:
            text = book().not_understood
        elif not found.rule.calls:
            text = found.rule.text or _help(prompt)
        else:
            asked, text = self._asked(found, question, prompt)
            for one in asked:
                yield one
        if text:
            yield Text(await _harmless(text))
        yield Spent(self.count(prompt.instructions), self.count(text))

    def count(self, text: str) -> int:
        """A token of the stand-in is a byte, since nothing of it is ever paid for."""
        return len(text.encode(errors="replace"))

    def _asked(self, found: Match, question: str, prompt: Prompt) -> tuple[list[Asked], str]:
        """The calls of a rule, or a sentence that says which commands are missing for them."""
        offered = {tool.name: tool for tool in prompt.tools}
        asked: list[Asked] = []
        missing: list[str] = []
        for number, call in enumerate(found.rule.calls):
            if call.instead is not None:
                continue
            chosen = _chosen(found.rule.calls, number, offered)
            if chosen is None:
                missing.append(call.tools[0])
                continue
            tool, how = chosen
            params = self._params(how.params, found, question, prompt)
            asked.append(Asked(f"house-{len(asked) + 1}", tool, msgspec.json.encode(params).decode()))
        if not asked:
            if not prompt.tools:
                return [], book().no_commands
            return [], book().not_offered.format(commands=in_a_row(missing))
        waits = any(_NEEDS_APPROVAL in offered[one.name].description for one in asked)
        return asked, book().waits if waits else ""

    def _params(self, params: Mapping[str, Any], found: Match, question: str, prompt: Prompt) -> dict[str, Any]:
        room = _ROOM.search(prompt.instructions)
        known = {"room": room["room"] if room else "", "topic": " ".join(topic(question)), **found.caught}
        return {key: self._filled(value, known, question) for key, value in params.items()}

    def _filled(self, value: Any, known: Mapping[str, str], question: str) -> Any:
        if isinstance(value, str):
            return known[value[1:-1]] if value.startswith("{") and value[1:-1] in known else value
        if isinstance(value, dict):
            return {key: self._filled(one, known, question) for key, one in value.items()}
        if isinstance(value, list):
            made = [self._condition(one, known, question) for one in value]
            return [one for one in made if one is not None]
        return value

    def _condition(self, value: Any, known: Mapping[str, str], question: str) -> Any:
        """A part of a filter: `@words` for the words that were asked about, `@since` for the time that was."""
        if value == "@words":
            wanted = topic(question)
            return {"$or": [{"text": {"$ilike": f"%{word}%"}} for word in wanted]} if wanted else None
        if value == "@since":
            days = next((many for words, many in book().since_days.items() if words in question.lower()), 0)
            return {"at": {"$gte": iso(self._now() - days * _DAY)}} if days else None
        return self._filled(value, known, question)

    def _told(self, found: Match | None, question: str, results: list[Result]) -> str:
        calls = {tool: call for call in (found.rule.calls if found else ()) for tool in call.tools}
        period = next((f" ({words})" for words in book().since_days if words in question.lower()), "")
        parts: list[str] = []
        verdict = found.rule.verdict if found else None
        for result in results:
            call = calls.get(result.tool)
            if verdict is not None and result.tool == verdict.tool and result.items is not None:
                parts.insert(0, verdict.some if result.items else verdict.none)
            teller = book().teller((call.shown_as if call else "") or result.tool)
            parts.append(told(result, teller, wanted=topic(question), question=question, period=period))
        return _joined(parts)


def _latest(turns: tuple[Turn, ...]) -> tuple[str, list[Result]]:
    """What was asked last, and what came of the calls that were made for it.

    A result that belongs to no tool is advice to a model that can learn from it.
    """
    last = max((number for number, turn in enumerate(turns) if turn.role == "user"), default=-1)
    question = turns[last].text if last >= 0 else ""
    return question, [understood(turn) for turn in turns[last + 1 :] if turn.role == "result" and turn.tool]


def _chosen(calls: tuple[Call, ...], number: int, offered: Mapping[str, Any]) -> tuple[str, Call] | None:
    """The tool of a call that is offered, or of another that may be made in its place."""
    for call in (calls[number], *(one for one in calls if one.instead == number)):
        for tool in call.tools:
            if tool in offered:
                return tool, call
    return None


def _help(prompt: Prompt) -> str:
    words = book()
    if not prompt.tools:
        return words.no_commands
    areas = sorted({tool.name.partition("_")[0] for tool in prompt.tools})
    abilities = "\n".join(f"- {one}" for one in words.abilities)
    return words.help.format(abilities=abilities, count=len(prompt.tools), areas=in_a_row(areas))


def _joined(parts: list[str]) -> str:
    """Sentences side by side, and lists on lines of their own."""
    text = ""
    for part in parts:
        text += part if not text else f"\n\n{part}" if "\n" in part or "\n" in text else f" {part}"
    return text


async def _harmless(text: str) -> str:
    """What it says never holds a call: it quotes people, files and programs, and runs nothing that they wrote."""
    reading = await read_aside(text)
    return quoted(text) if reading.calls or reading.faults else text
